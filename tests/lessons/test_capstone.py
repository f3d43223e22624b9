"""The scorer of the capstone: the empty, wrong and right answers, and what it says about them."""

import numpy as np
import pytest

import kerastrans
from kerastrans.lessons import load_capstone, score_capstone
from kerastrans.lessons.capstone import exported, rubric
from kerastrans.lessons.capstone.sales import HISTORY, HORIZON, PROMOTION_EFFECT, make_sales

HISTORY_FRAME, FUTURE = load_capstone()


def by_week(frame, origin=HISTORY, effect=PROMOTION_EFFECT):
    """Mean of the last four same days of the week, with the promotions taken out and put back."""
    forecasts = []
    for _, rows in frame.groupby("unique_id"):
        lift = 1 + effect * rows["promotion"].to_numpy()
        weeks = (rows["y"].to_numpy()[: len(rows)] / lift)[origin - 28 : origin].reshape(4, 7)
        weeks = weeks.mean(axis=0)
        forecasts.append(np.tile(weeks, 2) * lift[origin : origin + HORIZON])
    return np.stack(forecasts)


@pytest.fixture(scope="module")
def right():
    point = by_week(make_sales()).ravel()
    return FUTURE[["unique_id", "ds"]].assign(
        **{"mine": point, "mine-lo-80": 0.88 * point, "mine-hi-80": 1.12 * point}
    )


@pytest.fixture
def file(monkeypatch):
    """Let a function of the inputs take the place of an exported model."""

    def put(run, future=("promotion",)):
        metadata = {
            "inputs": {"history": [], "future_covariates": []},
            "columns": {"future_covariates": list(future)},
        }
        monkeypatch.setattr(rubric, "open_export", lambda path: (metadata, run))
        return "model.onnx"

    return put


def right_file(history, future_covariates):
    origin = history.shape[1]
    return by_week(make_sales(), origin)[..., None]


def test_history_ends_before_the_days_to_forecast():
    assert HISTORY_FRAME["ds"].max() < FUTURE["ds"].min()
    assert FUTURE["ds"].nunique() == HORIZON
    assert "y" not in FUTURE
    assert "visitors" not in FUTURE
    assert (HISTORY_FRAME.groupby("unique_id")["y"].min() > 0).all()


def test_nothing_has_no_points():
    for answer in (None, ...):
        card = score_capstone(answer, answer, promotion_effect=answer, expected_skill=answer)
        assert (card.points, card.possible) == (0, 18)
        assert all("missing" in criterion.message for criterion in card.criteria)


def test_right_answer_has_all_points(right, file):
    card = score_capstone(right, file(right_file), promotion_effect=0.38, expected_skill=0.5)
    assert card.points == 18, card
    assert repr(card).endswith("total      18 of 18")
    assert "The sales were made with 40%." in card["effect"].message


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda x: x.assign(ds=x["ds"] - np.timedelta64(14, "D")), "All dates are in the history"),
        (lambda x: x.assign(ds=x["ds"] + np.timedelta64(1, "D")), "are the windows off by one?"),
        (
            lambda x: x[x["unique_id"] != "Elm"],
            "14 of 112 forecasts are missing, such as Elm, 2025",
        ),
        (lambda x: x.replace({"Elm": "Oak"}), "14 of 112 forecasts are missing, such as Elm"),
        (lambda x: x.replace({"Elm": "Dock"}), "A shop has two forecasts for the same day."),
        (lambda x: x.assign(mine=np.inf), "Some forecasts are infinite."),
        (lambda x: x.assign(mine=np.nan), "112 of 112 forecasts are missing"),
    ],
)
def test_wrong_rows_are_named(right, spoil, message):
    card = score_capstone(spoil(right))
    assert message in card["format"].message
    assert card.points == 0


@pytest.mark.parametrize(
    ("values", "points", "message"),
    [
        (lambda x: x / x.mean(), 0, "are they still scaled, or logarithms?"),
        (lambda x: np.roll(x, 1, axis=1), None, "one day late: are the windows off by one?"),
        (lambda x: np.roll(x, -1, axis=1), None, "one day early: are the windows off by one?"),
        (
            lambda x: by_week(make_sales(), effect=0),
            None,
            "is the promotion an input of the model?",
        ),
        (lambda x: week_before(), 0, "This is the week before, repeated."),
    ],
)
def test_wrong_forecasts_are_named(right, values, points, message):
    made = values(right["mine"].to_numpy().reshape(8, HORIZON)).ravel()
    accuracy = score_capstone(right.assign(mine=made))["accuracy"]
    assert message in accuracy.message
    assert accuracy.points < 6
    assert points is None or accuracy.points == points


def week_before():
    sales = make_sales().pivot(index="unique_id", columns="ds", values="y").to_numpy()
    return np.tile(sales[:, HISTORY - 7 : HISTORY], (1, 2))


def test_a_right_forecast_has_no_mistake(right):
    assert score_capstone(right)["accuracy"].message.endswith("of 8 shops.")


def test_intervals_that_cross_or_do_not_cover_are_named(right):
    low, high, point = right["mine-lo-80"], right["mine-hi-80"], right["mine"]
    crossed = right.assign(**{"mine-lo-80": high, "mine-hi-80": low})
    assert "The quantiles cross: 112 forecasts" in score_capstone(crossed)["intervals"].message
    narrow = right.assign(**{"mine-lo-80": 0.999 * point, "mine-hi-80": 1.001 * point})
    assert score_capstone(narrow)["intervals"].points == 2
    assert "They are too narrow." in score_capstone(narrow)["intervals"].message
    wide = right.assign(**{"mine-lo-80": 0 * point, "mine-hi-80": 9 * point})
    assert "They are too wide." in score_capstone(wide)["intervals"].message
    points = right[["unique_id", "ds", "mine"]]
    assert '"-lo-80" and "-hi-80" are missing' in score_capstone(points)["intervals"].message


def test_bounds_that_are_missing_and_forecasts_of_text_are_named(right):
    criterion = score_capstone(right.assign(**{"mine-lo-80": np.nan})).criteria[2]
    assert criterion.points == 0
    assert criterion.message == "Some bounds are missing or infinite."
    with pytest.raises(ValueError, match=r"expected numbers, got .* in 'mine'"):
        score_capstone(right.assign(mine="many"))


def test_exported_models_that_look_ahead_or_differ_are_named(right, file):
    card = score_capstone(right, file(right_file, future=["promotion", "visitors"]))
    assert card["export"].points == 0
    assert "The model looks ahead: it reads visitors" in card["export"].message
    other = file(lambda **inputs: 1.05 * right_file(**inputs))
    assert "It differs from the forecast by up to" in score_capstone(right, other)["export"].message
    short = file(lambda **inputs: right_file(**inputs)[:, :7])
    assert "forecasts 7 days, expected 14" in score_capstone(right, short)["export"].message
    zero = file(lambda **inputs: 0 * right_file(**inputs))
    assert score_capstone(right, zero)["export"].points == 0


@pytest.mark.parametrize(
    ("estimate", "message"),
    [(1.4, "the factor"), (40, "per cent"), (0.1, "larger"), (0.9, "smaller")],
)
def test_wrong_effects_are_named(estimate, message):
    effect = score_capstone(promotion_effect=estimate)["effect"]
    assert message in effect.message
    assert effect.points == 0


def test_expectations_that_are_too_good_are_named(right):
    honesty = score_capstone(right, expected_skill=0.95)["honesty"]
    assert honesty.points == 0
    assert "Did the backtest see days that the model was trained on?" in honesty.message


def test_other_kinds_of_answers_are_refused(right, tmp_path):
    with pytest.raises(TypeError, match="forecast: expected a DataFrame, got ndarray"):
        score_capstone(np.ones(3))
    with pytest.raises(ValueError, match=r"one column of forecasts, got ds, mine"):
        score_capstone(right[["ds", "mine"]])
    with pytest.raises(TypeError, match="promotion_effect: expected a number"):
        score_capstone(promotion_effect="large")
    with pytest.raises(FileNotFoundError, match=r"export: .* does not exist"):
        score_capstone(export=tmp_path / "model")
    with pytest.raises(ValueError, match=r"SavedModel folder or an \.onnx file"):
        score_capstone(export=tmp_path)


@pytest.mark.slow
@pytest.mark.tensorflow
@pytest.mark.parametrize("name", ["model", "model.onnx"])
def test_exported_models_are_run(name, tmp_path):
    if name.endswith("onnx"):
        pytest.importorskip("onnxruntime", reason="the extra onnx is not installed")
    forecaster = kerastrans.Forecaster("nlinear", 28, 14, future=["promotion"], calendar=True)
    forecaster.fit(HISTORY_FRAME, epochs=1, validation_size=28, verbose=0)
    path = forecaster.export(tmp_path / name)
    forecast = forecaster.predict(HISTORY_FRAME, future=FUTURE)
    card = score_capstone(forecast, path)
    assert card["format"].points == 2
    assert "differs" not in card["export"].message, card
    metadata, _ = exported.open_export(path)
    assert metadata["columns"]["future_covariates"] == ["promotion"]
