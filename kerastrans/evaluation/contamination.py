"""Statements that the weights of a model were, or were not, trained on the series of a backtest."""

from kerastrans.data.native_frames import takes_any_frame
from kerastrans.evaluation.columns import split_models
from kerastrans.utils.types import Backtests

CONTAMINATION = "contamination"  # key in the `attrs` of the rows of `Forecaster.backtest`


@takes_any_frame
def contamination_lines(backtests: Backtests) -> list[str]:
    """Return one line per model: whether its weights were trained on the series of its backtest.

    Args:
        backtests: Dict of name -> DataFrame returned by `Forecaster.backtest`, or one backtest of
            one or several models. The statement is in `attrs` of the rows, which copies and slices
            keep, and files, merged frames and other kinds of frames do not.

    Returns:
        List of str.

    Example:
        >>> import kerastrans
        >>> frame = kerastrans.datasets.load("air_passengers")
        >>> zero = kerastrans.from_pretrained("kerastrans_zero", 12, verbose=False)
        >>> lines = contamination_lines(zero.backtest(frame, windows=1))
        >>> lines[0].partition(" (")[0]
        "kerastrans_zero was not trained on 'air_passengers'"
    """
    lines = []
    for name, frame in split_models(backtests).items():
        stated = frame.attrs.get(CONTAMINATION, {})
        line = stated.get(name) or next(iter(stated.values()), None)
        lines.append(
            line
            or f"It is not recorded whether {name} was trained on these series: its rows do not "
            "come from Forecaster.backtest, or were merged or read from a file."
        )
    return lines
