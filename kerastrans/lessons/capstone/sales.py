"""Daily sales of eight made shops, whose last days are held back."""

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

SHOPS = ("Abbey", "Bridge", "Castle", "Dock", "Elm", "Forge", "Garden", "Harbour")
WEEK, HISTORY, HORIZON, ORIGINS = 7, 730, 14, 4  # days, days, days, held-back forecasts
PROMOTION_EFFECT = 0.4  # a promotion makes the sales 40 % larger
SEED = 20251125


def load_capstone() -> tuple["pd.DataFrame", "pd.DataFrame"]:
    """Return the sales of eight made shops, and what is known about the days to forecast.

    Returns:
        `(history, future)`. The history has 730 days per shop and the columns "unique_id", "ds",
        "y" (sales), "promotion" (0 or 1, planned in advance) and "visitors" (counted on the day).
        The future has "unique_id", "ds" and "promotion" of the 14 days after the history.

    Example:
        >>> history, future = load_capstone()
        >>> len(history), len(future), list(future)
        (5840, 112, ['unique_id', 'ds', 'promotion'])
    """
    frame = make_sales()
    day = frame.groupby("unique_id").cumcount()
    future = frame[(day >= HISTORY) & (day < HISTORY + HORIZON)].drop(columns=["y", "visitors"])
    return frame[day < HISTORY].reset_index(drop=True), future.reset_index(drop=True)


def make_sales():
    """Return the history and the held-back days, one row per shop and day.

    Sales are the product of the shop's level, a pattern of the week, a season of the year, the
    effect of promotions, and noise that resembles that of the day before.
    """
    import pandas as pd

    days = HISTORY + HORIZON * ORIGINS
    random = np.random.default_rng(SEED)
    times = pd.date_range("2023-01-02", periods=days)
    frames = []
    for shop in SHOPS:
        level = random.uniform(50, 500)
        week = np.exp(random.normal(0, 0.25, WEEK))[np.arange(days) % WEEK]
        year = 1 + 0.2 * np.sin(2 * np.pi * (np.arange(days) / 365.25 + random.uniform()))
        promotion = (random.random(days // 4 + 1) < 0.25).repeat(4)[:days].astype(float)
        noise, step = np.zeros(days), random.normal(0, 0.06, days)
        for day in range(1, days):
            noise[day] = 0.7 * noise[day - 1] + step[day]
        sales = level * week * year * (1 + PROMOTION_EFFECT * promotion) * np.exp(noise)
        visitors = (sales * random.uniform(2, 4) * np.exp(random.normal(0, 0.02, days))).round()
        columns = {"y": sales.round(), "promotion": promotion, "visitors": visitors}
        frames.append(pd.DataFrame({"unique_id": shop, "ds": times, **columns}))
    return pd.concat(frames, ignore_index=True)
