"""
Title: Forecasting electricity prices with covariates known ahead
Author: The kerastrans contributors
Date created: 2026/11/23
Last modified: 2026/11/23
Description: The day-ahead price from past prices and from forecasts of load and wind.
Accelerator: None
"""

"""
## Introduction

On the eve of each day the power exchange asks for bids, and by then the grid's operator has
published how much load and how much wind it expects for every hour of that day. A forecast of the
price may know both. This example trains one model without and one with these two columns, and
asks what they are worth.

The prices of Nord Pool, 2013 to 2018, are those of Lago et al. (2021). They have no public copy
with known bytes: point `KERASTRANS_DATA_DIR` at a folder that holds `epf/NP.csv`. Without it the
example makes a series of its own, in which load raises and wind lowers the price.
"""

import os

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import kerastrans
from kerastrans import Forecaster, backtesting, plotting

SMALL = os.environ.get("KERASTRANS_EXAMPLES") == "small"  # as the tests run it
COVARIATES = ["Grid load forecast", "Wind power forecast"]
CONTEXT, STEPS = 168, 24  # a week of hours, and a day


def made_prices(days):
    """Hourly prices that follow a made load and a made wind; noise no model can know."""
    random = np.random.default_rng(0)
    hours = np.arange(24 * days)
    load = 40 + 8 * np.sin((hours - 7) * np.pi / 12) - 5 * (hours // 24 % 7 >= 5)
    wind = 10 + 6 * np.repeat(random.standard_normal(days), 24)
    load = load + 2 * np.repeat(random.standard_normal(days), 24)
    price = 1.2 * load - 0.8 * wind + 1.5 * random.standard_normal(len(hours))
    times = pd.date_range("2013-01-01", periods=len(hours), freq="h")
    columns = {"unique_id": "made", "ds": times, "y": price}
    return pd.DataFrame({**columns, COVARIATES[0]: load, COVARIATES[1]: wind})


"""
## The data

A long frame: which series, when, the value `y`, and the covariates beside it. The last eight
weeks are the test part; nothing is fitted to them.
"""

try:
    prices = kerastrans.datasets.load("epf_np")
except FileNotFoundError:
    prices = made_prices(days=400)
if SMALL:
    prices = prices.tail(24 * 120)
test_days = 14 if SMALL else 56
train = prices[: -24 * test_days]
print(f"{prices['unique_id'].iloc[0]}: {len(train):,} hours to train, {24 * test_days:,} to test")

"""
## Two forecasters

`future=` names the columns that are known for the hours to forecast. N-HiTS has no place for
covariates of its own; a regression on them is put around it, and the network forecasts what it
leaves. `calendar` adds hour and weekday, which are always known.
"""

forecasters = {}
for title, future in {"prices alone": [], "with load and wind": COVARIATES}.items():
    forecaster = Forecaster("nhits", CONTEXT, STEPS, future=future, calendar=True, hidden_dim=64)
    forecaster.fit(train, epochs=2 if SMALL else 10, stride=6, batch_size=64, verbose=0)
    forecasters[title] = forecaster
    print(f"{title}: trained")

"""
## What the covariates are worth

A backtest forecasts every day of the test part from its eve. The yardstick is the same hour a
week before: whoever cannot beat that has learnt nothing.
"""

naive = Forecaster("seasonal_naive", CONTEXT, STEPS, season=168, head="point").fit(train)
backtests = {
    title: forecaster.backtest(prices, windows=test_days)
    for title, forecaster in [*forecasters.items(), ("a week ago", naive)]
}
scores = pd.concat({title: backtesting.score(rows) for title, rows in backtests.items()})
print(scores.droplevel(1)[["mae", "rmse", "crps", "coverage-80"]].round(3))

"""
## The last day

The columns for the day to forecast come in a frame of their own, without `y`. Here they are the
test part's last day, so that the truth can be drawn beside the forecast.
"""

known, ahead = prices[:-STEPS], prices[-STEPS:].drop(columns="y")
forecast = forecasters["with load and wind"].predict(known, future=ahead)
figure = plotting.plot_fan(forecast, prices.tail(5 * STEPS), title="The price of the last day")
figure.savefig("electricity_prices.png", dpi=100)
plt.close(figure)
print(forecast.head(3))

"""
## Conclusions

The columns can say what the past does not: days with much wind are cheap, and no history tells
them in advance. Whether they do on your market is the table's to say, not ours. In earnest the
columns are themselves forecasts, and a backtest must be given the ones that were known on the eve,
as here, never the load and wind that came to be.
"""
