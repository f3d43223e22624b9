"""The table of architectures whose function changed."""

import pandas as pd

from benchmarks.accuracy import changed


def test_only_seeds_with_both_functions_are_compared(tmp_path, monkeypatch):
    rows = [
        ("before", "tft", 0, 0.5, 0.4),
        ("after", "tft", 0, 0.4, 0.4),
        ("before", "tft", 1, 0.7, 0.6),
        ("after", "tft", 1, 0.4, 0.5),
        ("after", "tft", 2, 0.1, 0.1),
        ("before", "timexer", 0, 0.3, 0.3),
    ]
    path = tmp_path / "changed.csv"
    pd.DataFrame(rows, columns=["code", "model", "seed", "mse", "mae"]).to_csv(path, index=False)
    monkeypatch.setattr(changed, "PATH", path)
    (row,) = changed.comparison().to_dict("records")
    assert (row["architecture"], row["seeds"]) == ("TFT", 2)
    assert row["MSE before"] == "0.6000 ± 0.1414"
    assert row["MSE after"] == "0.4000 ± 0.0000"
    assert row["change of the MSE"] == "-0.2000 ± 0.1414"
    assert row["change of the MAE"] == "-0.0500 ± 0.0707"


def test_the_code_of_this_checkout_is_the_one_after_the_change():
    assert changed.CODE == "after"
