"""Criteria of the capstone and their points: what is measured on the held-back days."""

from dataclasses import dataclass

import numpy as np

from kerastrans.lessons.capstone.exported import inputs_of, open_export
from kerastrans.lessons.capstone.sales import (
    HISTORY,
    HORIZON,
    ORIGINS,
    PROMOTION_EFFECT,
    SHOPS,
    WEEK,
)


@dataclass(frozen=True)
class Criterion:
    """One line of the rubric.

    Attributes:
        name: str, what is scored.
        points: int, points of the answer.
        possible: int, most points of this line.
        message: str, what was measured, and what is wrong.

    Example:
        >>> Criterion("export", 0, 4, "The exported model is missing.").possible
        4
    """

    name: str
    points: int
    possible: int
    message: str


@dataclass(frozen=True)
class Scorecard:
    """Points of a capstone. Notebooks show it as one line per criterion.

    Attributes:
        criteria: tuple of `Criterion`.

    Example:
        >>> missing = Criterion("export", 0, 4, "The exported model is missing.")
        >>> card = Scorecard((Criterion("accuracy", 3, 6, "The skill is 10 %."), missing))
        >>> card
        accuracy    3 of 6   The skill is 10 %.
        export      0 of 4   The exported model is missing.
        total       3 of 10
        >>> card.points, card["accuracy"].message
        (3, 'The skill is 10 %.')
    """

    criteria: tuple[Criterion, ...]

    @property
    def points(self) -> int:
        """Sum of the points."""
        return sum(line.points for line in self.criteria)

    @property
    def possible(self) -> int:
        """Sum of the possible points."""
        return sum(line.possible for line in self.criteria)

    def __getitem__(self, name: str) -> Criterion:
        return {line.name: line for line in self.criteria}[name]

    def __repr__(self):
        rows = (*self.criteria, Criterion("total", self.points, self.possible, ""))
        return "\n".join(
            f"{x.name:10} {x.points:>2} of {x.possible:<3} {x.message}".rstrip() for x in rows
        )


def score_format(table, expected):
    """Points for one finite forecast per shop and day to forecast.

    Args:
        table: DataFrame with "unique_id", "ds" and "forecast", or None.
        expected: DataFrame of the days to forecast.
    """
    fault = "The forecast is missing." if table is None else _format_fault(table, expected)
    return Criterion("format", 0 if fault else 2, 2, fault or "One row per shop and day.")


def _format_fault(table, expected):
    first, last = expected["ds"].min(), expected["ds"].max()
    days = f"The days to forecast are {first.date()} to {last.date()}"
    if table["ds"].max() < first:
        return f"All dates are in the history. {days}."
    if table.duplicated(["unique_id", "ds"]).any():
        return "A shop has two forecasts for the same day."
    if table["ds"].min() != first or table["ds"].max() != last:
        found = f"{table['ds'].min().date()} to {table['ds'].max().date()}"
        return f"{days}, got {found}: are the windows off by one?"
    rows = expected.merge(table, on=["unique_id", "ds"], how="left")
    missing = rows[rows["forecast"].isna()]
    if len(missing):
        example = missing.iloc[0]
        shop, day = example["unique_id"], example["ds"].date()
        return f"{len(missing)} of {len(rows)} forecasts are missing, such as {shop}, {day}."
    if len(table) > len(rows):
        return f"Expected the shops {', '.join(SHOPS)} only."
    if not np.isfinite(rows["forecast"]).all():
        return "Some forecasts are infinite."
    return None


def score_accuracy(forecast, sales):
    """Points for a smaller error than that of the week before.

    Args:
        forecast: Array (shops, days), or None.
        sales: dict of column -> array (shops, all days).
    """
    if forecast is None:
        return Criterion("accuracy", 0, 6, "A valid forecast is missing.")
    truth, naive = _truth(sales), _week_before(sales)
    errors, baseline = (np.abs(x - truth).mean(axis=1) for x in (forecast, naive))
    skill = 1 - errors.mean() / baseline.mean()
    wins = int((errors < baseline).sum())
    measured = (
        f"Mean absolute error {errors.mean():.1f}, of the week before {baseline.mean():.1f}: skill "
        f"{skill:.0%}, better for {wins} of {len(SHOPS)} shops."
    )
    points = 0 if skill <= 0 else 3 + (wins >= 6) + 2 * (skill >= 0.25)
    return Criterion("accuracy", points, 6, " ".join([measured, *_mistakes(forecast, sales)]))


def _mistakes(forecast, sales):
    """Typical mistakes that the numbers of a forecast show."""
    truth, naive = _truth(sales), _week_before(sales)
    recent = sales["y"][:, HISTORY - 28 : HISTORY].mean()
    if np.allclose(forecast, naive, rtol=1e-3):
        yield "This is the week before, repeated."
    elif not recent / 3 < forecast.mean() < recent * 3:
        yield (
            f"The mean of the forecasts is {forecast.mean():.3g}, of the last four weeks "
            f"{recent:.3g}: are they still scaled, or logarithms?"
        )
    else:
        moved = {
            "early": np.abs(forecast[:, :-1] - truth[:, 1:]).mean(),
            "late": np.abs(forecast[:, 1:] - truth[:, :-1]).mean(),
        }
        error = np.abs(forecast - truth).mean()
        for side, value in moved.items():
            if value < 0.75 * error:
                yield f"The forecasts are one day {side}: are the windows off by one?"
        promoted = sales["promotion"][:, HISTORY : HISTORY + HORIZON] == 1
        share = forecast[promoted].mean() / truth[promoted].mean()
        if share < 0.85 and share < 0.9 * forecast[~promoted].mean() / truth[~promoted].mean():
            yield (
                f"On days with a promotion they are {1 - share:.0%} too small: is the promotion an "
                "input of the model?"
            )


def score_intervals(forecast, bounds, sales):
    """Points for intervals of 80 % that contain about 80 % of the sales.

    Args:
        forecast: Array (shops, days), or None.
        bounds: Arrays (shops, days) of the lower and of the upper bound, or None.
        sales: dict of column -> array (shops, all days).
    """
    if forecast is None:
        return Criterion("intervals", 0, 4, "A valid forecast is missing.")
    if bounds is None:
        return Criterion(
            "intervals", 0, 4, 'The columns that end in "-lo-80" and "-hi-80" are missing.'
        )
    low, high = bounds
    if not np.isfinite([low, high]).all():
        return Criterion("intervals", 0, 4, "Some bounds are missing or infinite.")
    crossed = int(((low > forecast) | (forecast > high)).sum())
    truth = _truth(sales)
    coverage = ((low <= truth) & (truth <= high)).mean()
    if crossed:
        message = f"The quantiles cross: {crossed} forecasts are outside of their own intervals."
        return Criterion("intervals", 0, 4, message)
    right = 0.65 <= coverage <= 0.93
    message = f"The intervals of 80 % contain {coverage:.0%} of the sales."
    if not right:
        message += " They are too narrow." if coverage < 0.8 else " They are too wide."
        message += " Calibrate them on days that the model was not trained on."
    return Criterion("intervals", 4 if right else 2, 4, message)


def score_export(path, forecast, frame, sales):
    """Points for an exported model that repeats the forecast, and is better at all origins.

    Args:
        path: Path of the exported model, or None.
        forecast: Array (shops, days), or None.
        frame: DataFrame of the history and of the held-back days.
        sales: dict of column -> array (shops, all days).
    """
    if path is None:
        return Criterion("export", 0, 4, "The exported model is missing.")
    metadata, run = open_export(path)
    future = metadata.get("columns", {}).get("future_covariates", ())
    unknown = [name for name in future if name != "promotion"]
    if unknown:
        message = (
            f"The model looks ahead: it reads {', '.join(unknown)} of the days to forecast, which "
            "is counted on the day."
        )
        return Criterion("export", 0, 4, message)
    if metadata.get("num_channels", 1) != 1:
        message = "The model forecasts all shops as one series: train it on the long frame."
        return Criterion("export", 0, 4, message)
    errors, baseline = [], []
    for origin in HISTORY + HORIZON * np.arange(ORIGINS):
        outputs = run(**inputs_of(metadata, frame, origin, HORIZON))[..., 0]  # (shops, days)
        if outputs.shape[1] != HORIZON:
            message = f"The model forecasts {outputs.shape[1]} days, expected {HORIZON}."
            return Criterion("export", 0, 4, message)
        if origin == HISTORY and forecast is not None:
            gap = np.abs(outputs - forecast).max() / np.abs(forecast).mean()
        errors.append(np.abs(outputs - _truth(sales, origin)).mean())
        baseline.append(np.abs(_week_before(sales, origin) - _truth(sales, origin)).mean())
    skill = 1 - np.mean(errors) / np.mean(baseline)
    message = f"From {ORIGINS} origins the skill is {skill:.0%}."
    if forecast is None:
        return Criterion(
            "export",
            2 * int(skill > 0),
            4,
            f"{message} The forecast that it should repeat is missing.",
        )
    if gap > 1e-3:
        message += f" It differs from the forecast by up to {gap:.1%} of its mean."
    return Criterion("export", 2 * int(skill > 0) + 2 * int(gap <= 1e-3), 4, message)


def score_effect(estimate):
    """One point for the effect of a promotion, within a quarter of the true one."""
    if estimate is None:
        message = "The estimate of the promotions' effect is missing."
        return Criterion("effect", 0, 1, message)
    if 1.2 < estimate < 1.6:
        message = "This is the factor: 1.1 is an effect of 0.1."
    elif estimate > 2:
        message = "Expected a fraction of the sales, 0.1 for 10 %: this is per cent, or sales."
    elif abs(estimate - PROMOTION_EFFECT) <= PROMOTION_EFFECT / 4:
        return Criterion("effect", 1, 1, f"The sales were made with {PROMOTION_EFFECT:.0%}.")
    else:
        message = "The effect is " + ("smaller." if estimate > PROMOTION_EFFECT else "larger.")
    return Criterion("effect", 0, 1, message)


def score_honesty(expected, forecast, sales):
    """One point for an expected skill within 0.15 of the measured one."""
    if expected is None:
        return Criterion("honesty", 0, 1, "The expected skill is missing.")
    if forecast is None:
        return Criterion("honesty", 0, 1, "A valid forecast is missing.")
    truth = _truth(sales)
    measured = 1 - np.abs(forecast - truth).mean() / np.abs(_week_before(sales) - truth).mean()
    message = f"You expected a skill of {expected:.0%}, the held-back days give {measured:.0%}."
    if expected - measured > 0.15:
        message += " Did the backtest see days that the model was trained on?"
    return Criterion("honesty", int(abs(expected - measured) <= 0.15), 1, message)


def _truth(sales, origin=HISTORY):
    return sales["y"][:, origin : origin + HORIZON]


def _week_before(sales, origin=HISTORY):
    return np.tile(sales["y"][:, origin - WEEK : origin], HORIZON // WEEK)
