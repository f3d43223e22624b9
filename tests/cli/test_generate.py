"""`generate`: a CSV file of numbers is continued by a model's file."""

import numpy as np
import pandas as pd
import pytest

from kerastrans.cli import main as cli

pytestmark = pytest.mark.tensorflow


def test_generate_continues_plain_numbers(small_model, tmp_path, refuse):
    small_model.save(tmp_path / "m.keras")
    sequence = np.random.default_rng(0).standard_normal((8, 3)).astype("float32")
    pd.DataFrame(sequence, columns=list("xyz")).to_csv(tmp_path / "in.csv", index=False)
    arguments = ["generate", str(tmp_path / "m.keras"), str(tmp_path / "in.csv")]
    arguments += ["--num-steps=4", f"--output={tmp_path / 'out.csv'}"]
    assert "expected a finite number, got 'nan'" in refuse(*arguments, "--start-token=nan")
    assert cli.main([*arguments, "--start-token=0"]) == 0
    result = pd.read_csv(tmp_path / "out.csv")
    assert list(result.columns) == list("xyz")
    expected = small_model.generate(sequence[None], 4, start_token=0.0)[0]
    np.testing.assert_allclose(result.to_numpy(), expected, atol=1e-5)
    assert "out.csv exists" in refuse(*arguments)
    pd.DataFrame(sequence, columns=list("xyz")).assign(note="a").to_csv(tmp_path / "in.csv")
    (tmp_path / "out.csv").unlink()
    assert cli.main([*arguments, "--start-token=0", "--exclude=note"]) == 0
    np.testing.assert_allclose(pd.read_csv(tmp_path / "out.csv"), expected, atol=1e-5)
    (tmp_path / "out.csv").unlink()
    for text, message in (
        ("when,x\nnow,1\n", "column 'when' must be numeric, got text, such as 'now'."),
        ("x,y\n1,2\n3,4,5\n", "line 3: 3 fields, but the header has 2"),
        ("x\n1,5\n", "line 2: 2 fields, but the header has 1"),
        ("x\n1\n\n2\n1e300\n", "row 3: 'x' must be a number in the range of float32, got 1e+300"),
        ("x,y\n1,\n", "line 2: column 'y' has no value"),
        ("", "is not a table: it has no line"),
    ):
        (tmp_path / "in.csv").write_text(text)
        assert message in refuse(*arguments)
