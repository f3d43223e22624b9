"""
Title: Fine-tuning a pretrained forecaster
Author: The kerastrans contributors
Date created: 2026/11/23
Last modified: 2026/11/23
Description: Published weights that forecast without training, and what training adds.
Accelerator: None
"""

"""
## Introduction

kerastrans-zero has 88,732 weights, was trained on made series, and forecasts any real one without
training. Your series have habits of their own, though: this example measures the forecast as it
comes, then trains it further on the flights of New York's airports, all weights and as LoRA
adapters, and measures again.
"""

import os

import keras
import pandas as pd

import kerastrans
from kerastrans import Forecaster, backtesting, zoo

SMALL = os.environ.get("KERASTRANS_EXAMPLES") == "small"  # as the tests run it
CONTEXT, STEPS = (336, 24) if SMALL else (1024, 24)
WINDOWS = 2 if SMALL else 28

"""
## The data

8,760 hours of three airports. The last four weeks are the test part; only what comes before
trains.
"""

flights = kerastrans.datasets.load("nyc_departures")
train = flights[: -STEPS * WINDOWS]
if SMALL:
    train = train[-400:]

"""
## As it comes

`from_pretrained` returns a `Forecaster` that needs no `fit`. One line says where the weights come
from and under which licence; read there what they were trained on, for a score on such series
says nothing.
"""

forecasters = {"as it comes": kerastrans.from_pretrained("kerastrans_zero", STEPS, CONTEXT)}

"""
## Trained further

`"all"` trains every weight. `"lora"` trains two thin matrices beside each dense layer and adds
them to the weights in the end: fewer numbers to fit, which helps where there is little to train
on.
"""

epochs, stride = (1, 24) if SMALL else (3, 6)
for trainable in ("all", "lora"):
    forecaster = kerastrans.from_pretrained(
        "kerastrans_zero",
        STEPS,
        CONTEXT,
        trainable=trainable,
        optimizer=keras.optimizers.Adam(1e-3, clipnorm=1.0),
        verbose=False,
    )
    counts = (forecaster.card["trainable_parameters"], forecaster.card["parameters"])
    forecaster.fit(train, epochs=epochs, stride=stride, verbose=0)
    forecasters[f"trained: {trainable}"] = forecaster
    print(f"{trainable}: {counts[0]:,} of {counts[1]:,} weights trained")

"""
## Measured

From every day of the test part, beside the same hour a week before, the strongest naive forecast
here.
"""

forecasters["a week ago"] = Forecaster(
    "seasonal_naive", CONTEXT, STEPS, season=168, head="point"
).fit(train)
scores = {
    name: backtesting.score(forecaster.backtest(flights, windows=WINDOWS))
    for name, forecaster in forecasters.items()
}
print(pd.concat(scores).droplevel(1)[["mae", "rmse", "crps", "coverage-80"]].round(3))

"""
## Kept

`save_to_preset` writes the trained forecaster with a card that has its licence and its scores;
`kerastrans.upload_preset("hf://user/flights", "flights")` publishes it.
"""

best = forecasters["trained: all"]
errors = scores["trained: all"].iloc[0]
best.save_to_preset("flights", metrics=errors, dataset="nyc_departures")
print(zoo.from_preset("flights").predict(flights).head(3))

"""
## Conclusions

Fine-tuning begins where training anew ends: an epoch or three, a small learning rate, a test part
that is read once. If the score as it comes is good enough, leave it.
"""
