"""Pictures of forecasts. Every function returns a matplotlib Figure and draws on no screen."""

from matplotlib.figure import Figure

OBSERVED = "#444444"
COLOURS = ("#d1495b", "#2e86ab", "#66a182", "#edae49")


def plot_forecast(history, forecasts, actual=None, title=None, unit=None):
    """Draw the end of a history and the forecasts behind it, one panel per channel.

    Args:
        history: DataFrame with a DatetimeIndex, one column per channel.
        forecasts: dict of name -> DataFrame with the same columns, behind `history`; the first
            is drawn strongest.
        actual: DataFrame of what really came, or None.
        title: of the figure.
        unit: of the values, for the vertical axis.

    Returns:
        `matplotlib.figure.Figure`.
    """
    channels = list(history.columns)
    figure = Figure(figsize=(10, 1.2 + 2.2 * len(channels)), layout="constrained")
    panels = figure.subplots(len(channels), 1, sharex=True, squeeze=False)[:, 0]
    for panel, channel in zip(panels, channels, strict=True):
        observed = history if actual is None else _concat(history, actual)
        panel.plot(observed.index, observed[channel], color=OBSERVED, lw=1.4, label="observed")
        for i, (name, frame) in enumerate(forecasts.items()):
            joined = _concat(history.iloc[-1:], frame)  # so that the line starts where history ends
            style = {"lw": 2.2} if i == 0 else {"lw": 1.2, "ls": "--"}
            colour = COLOURS[i % len(COLOURS)]
            panel.plot(joined.index, joined[channel], color=colour, label=name, **style)
        panel.axvline(history.index[-1], color=OBSERVED, lw=0.8, ls=":")
        panel.set_ylabel(f"{channel}\n[{unit}]" if unit else str(channel))
        panel.grid(alpha=0.25)
        panel.spines[["top", "right"]].set_visible(False)
    panels[0].legend(loc="upper left", ncols=4, frameon=False, bbox_to_anchor=(0, 1.25))
    panels[-1].set_xlabel("time")
    if title:
        figure.suptitle(title)
    return figure


def _concat(first, second):
    import pandas as pd

    return pd.concat([first, second[first.columns]])
