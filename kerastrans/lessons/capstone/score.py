"""Score of a capstone on the days that were held back."""

from typing import Any

import numpy as np

from kerastrans.lessons.capstone import rubric
from kerastrans.lessons.capstone.rubric import Scorecard
from kerastrans.lessons.capstone.sales import load_capstone, make_sales

ENDS = ("-lo-80", "-hi-80")


def score_capstone(
    forecast: Any = None,
    export: Any = None,
    *,
    promotion_effect: float | None = None,
    expected_skill: float | None = None,
) -> Scorecard:
    """Score a capstone on sales that were held back.

    What is missing, None or `...`, has no points.

    Args:
        forecast: DataFrame of the 14 days after the history, as `Forecaster.predict` returns it:
            "unique_id", "ds", one column of forecasts, and for intervals of 80 % the same name with
            "-lo-80" and "-hi-80".
        export: Path of the exported model, a SavedModel folder or an .onnx file, which is run from
            four origins.
        promotion_effect: float, what a promotion adds to the sales, 0.1 for 10 %.
        expected_skill: float, 1 minus the ratio of the mean absolute errors of the forecast and of
            the week before, as it was estimated on the history.

    Returns:
        `Scorecard`.

    Raises:
        TypeError: If `forecast` is not a DataFrame, or a number is something else.
        ValueError: If the columns of the forecast or the kind of the file are not understood.
        FileNotFoundError: If the exported model does not exist.
        ImportError: If the runtime of the exported model is not installed.

    Example:
        >>> score_capstone()
        format      0 of 2   The forecast is missing.
        accuracy    0 of 6   A valid forecast is missing.
        intervals   0 of 4   A valid forecast is missing.
        export      0 of 4   The exported model is missing.
        effect      0 of 1   The estimate of the promotions' effect is missing.
        honesty     0 of 1   The expected skill is missing.
        total       0 of 18
    """
    forecast, export, promotion_effect, expected_skill = (
        None if value is ... else value
        for value in (forecast, export, promotion_effect, expected_skill)
    )
    for name, value in (("promotion_effect", promotion_effect), ("expected_skill", expected_skill)):
        if value is not None and not isinstance(value, int | float | np.number):
            raise TypeError(f"{name}: expected a number, such as 0.1 for 10 %, got {value!r}.")
    frame, future = make_sales(), load_capstone()[1]
    sales = {name: _by_shop(frame, name) for name in ("y", "promotion")}
    table = None if forecast is None else _named(forecast)
    form = rubric.score_format(table, future)
    point = bounds = None
    if form.points:
        point = _by_shop(table, "forecast")
        if set(ENDS) <= set(table):
            bounds = [_by_shop(table, end) for end in ENDS]
    return Scorecard(
        (
            form,
            rubric.score_accuracy(point, sales),
            rubric.score_intervals(point, bounds, sales),
            rubric.score_export(export, point, frame, sales),
            rubric.score_effect(promotion_effect),
            rubric.score_honesty(expected_skill, point, sales),
        )
    )


def _named(table):
    """The forecasts with the columns "unique_id", "ds", "forecast", and the two ends if any."""
    import pandas as pd

    if not isinstance(table, pd.DataFrame):
        raise TypeError(f"forecast: expected a DataFrame, got {type(table).__name__}.")
    others = [name for name in table if name not in {"unique_id", "ds", "cutoff", "y"}]
    points = [x for x in others if not any(f"-{end}-" in str(x) for end in ("lo", "hi"))]
    if not {"unique_id", "ds"} <= set(table) or len(points) != 1:
        raise ValueError(
            'forecast: expected the columns "unique_id", "ds" and one column of forecasts, got '
            f"{', '.join(map(str, table))}."
        )
    names = {points[0]: "forecast", **{f"{points[0]}{end}": end for end in ENDS}}
    words = [x for x in names if x in table and not pd.api.types.is_numeric_dtype(table[x])]
    if words:
        raise ValueError(
            f"forecast: expected numbers, got {table[words[0]].dtype} in {words[0]!r}."
        )
    return table.rename(columns=names).astype({"ds": "datetime64[ns]"})


def _by_shop(table, column):
    """Array (shops, days) of a column."""
    return table.pivot(index="unique_id", columns="ds", values=column).to_numpy("float64")
