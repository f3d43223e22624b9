"""
Title: Fine-tuning a pretrained forecaster
Author: The kerastrans contributors
Date created: 2026/11/23
Last modified: 2026/11/23
Description: Forecast with published weights without training, and measure what training adds.
Accelerator: None
"""

"""
## Introduction

kerastrans-zero has 88,732 weights, was trained on synthetic series, and forecasts real series
without training. Yet every domain has its own patterns. This example measures the zero-shot
forecast, trains the model further on the flights of New York's airports, once with all weights and
once with LoRA adapters, and measures again.
"""

import os

import keras
import pandas as pd

import kerastrans
from kerastrans import Forecaster, backtesting, zoo

SMALL = os.environ.get("KERASTRANS_EXAMPLES") == "small"  # smaller sizes for the tests
CONTEXT, STEPS = (336, 24) if SMALL else (1024, 24)
WINDOWS = 2 if SMALL else 28

"""
## The data

The data are 8,760 hours of three airports. The last four weeks are the test part; only the hours
before them are used for training.
"""

flights = kerastrans.datasets.load("nyc_departures")
train = flights[: -STEPS * WINDOWS]
if SMALL:
    train = train[-400:]

"""
## The zero-shot forecast

`from_pretrained` returns a `Forecaster` that can forecast without `fit`. It prints one line with
the origin and the licence of the weights. Read there which data they were trained on, because a
score on such series is meaningless.
"""

forecasters = {"zero-shot": kerastrans.from_pretrained("kerastrans_zero_2", STEPS, CONTEXT)}

"""
## Fine-tuning

`"all"` trains every weight. `"lora"` trains two thin matrices for each dense layer and adds their
product to the weights at the end. It has fewer numbers to fit, which helps if there are few
training data.
"""

epochs, stride = (1, 24) if SMALL else (3, 6)
for trainable in ("all", "lora"):
    forecaster = kerastrans.from_pretrained(
        "kerastrans_zero_2",
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
## Comparison

Each model forecasts from every day of the test part. The baseline repeats the same hour of the
week before, which is the strongest naive forecast here.
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
## Saving

`save_to_preset` writes the trained forecaster with a card that has its licence and its scores;
`kerastrans.upload_preset("hf://user/flights", "flights")` publishes it.
"""

best = forecasters["trained: all"]
errors = scores["trained: all"].iloc[0]
best.save_to_preset("flights", metrics=errors, dataset="nyc_departures")
print(zoo.from_preset("flights").predict(flights).head(3))

"""
## Conclusions

Fine-tuning takes little: one to three epochs, a small learning rate, and a test part that is used
once. If the zero-shot score is good enough, leave it.
"""
