# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 10. Capstone: forecast, export, explain
#
# Eight shops, two years of daily sales, and two weeks to forecast. You choose the model, measure it
# honestly, export it and say what it has learnt. The scorer has the sales of the days after the
# history; nobody else has seen them. Plan three hours.
#
# The data are made by a formula, so that some questions have a known answer. Each row has a shop, a
# day, the sales, and two more columns: `promotion` is planned weeks in advance, `visitors` are
# counted on the day.

# %%
import subprocess
import sys

WHEEL = ""  # in Colab: path or address of a wheel of kerastrans
if WHEEL:
    subprocess.run([sys.executable, "-m", "pip", "install", "-q", WHEEL], check=True)
import kerastrans

if tuple(map(int, kerastrans.__version__.split(".")[:2])) < (0, 2):
    print(f"This lesson is for kerastrans 0.2 or later; {kerastrans.__version__} is installed.")

# %%
# %matplotlib inline
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import matplotlib.pyplot as plt
import numpy as np

import kerastrans
from kerastrans import plotting

history, future = kerastrans.lessons.load_capstone()
print(f"{history['unique_id'].nunique()} shops, {history['ds'].nunique()} days")
print(f"to forecast: {future['ds'].min():%Y-%m-%d} to {future['ds'].max():%Y-%m-%d}")
history.tail(3)

# %% [markdown]
# ## Look first
#
# Ten weeks of two shops; days with a promotion are grey. The forecast to beat repeats the week
# before. <!-- claim: week --> On the last two weeks of the history it is better than the last value
# of each shop: the days of the week differ.

# %%
# Alt text: Sales of two shops over ten weeks, with a pattern that repeats each week and higher
# values on days with a promotion, which are shaded.
figure, panels = plt.subplots(2, 1, figsize=(8.5, 4.4), sharex=True, layout="constrained")
for panel, (shop, rows) in zip(panels, history.groupby("unique_id"), strict=False):
    rows = rows.tail(70)
    panel.plot(rows["ds"], rows["y"], "o-", ms=3, color=plotting.COLOURS[0])
    for day in rows["ds"][rows["promotion"] == 1]:
        panel.axvspan(day - np.timedelta64(12, "h"), day + np.timedelta64(12, "h"), color="#dddddd")
    panel.set_ylabel(f"{shop}\n[sales per day]")
plt.show()

sales = history.pivot(index="ds", columns="unique_id", values="y").to_numpy()
last_weeks = sales[-14:]
week_before = np.abs(np.tile(sales[-21:-14], (2, 1)) - last_weeks).mean()
last_value = np.abs(sales[-15] - last_weeks).mean()
print(f"mean absolute error: week before {week_before:.1f}, last value {last_value:.1f} sales")
assert week_before < last_value  # claim: week

# %% [markdown]
# ## What you hand in, and its points
#
# | criterion | points | what is scored |
# |---|---:|---|
# | format | 2 | one finite forecast per shop and day, on the right days |
# | accuracy | 6 | skill above 0: 3; better for six shops or more: 1; skill of 25 % or more: 2 |
# | intervals | 4 | no crossing quantiles: 2; 80 % intervals contain 65 to 93 % of the sales: 2 |
# | export | 4 | skill above 0 from four origins: 2; the file repeats your forecast: 2 |
# | effect | 1 | what a promotion adds to the sales, within a quarter of the truth |
# | honesty | 1 | your expected skill, within 0.15 of the measured one |
# | explanation | 2 | read by your instructor: what the forecast uses, and how you know |
#
# The skill is 1 minus the mean absolute error divided by that of the week before. Measure it on the
# history, on days that the model was not trained on ([lesson 5d](05d_honest_evaluation.ipynb)); the
# difference between what you expect and what the scorer finds shows whether your evaluation was
# honest. `Forecaster`, `backtest`, `calibrate` and `export` do the work
# ([lessons 5b](05b_direct_or_step_by_step.ipynb) and [5c](05c_more_than_one_series.ipynb)); any
# other model is as welcome, if you write a frame with the same columns. The exported model is a
# SavedModel folder or an .onnx file.
#
# The scorer may be asked as often as you like, and each time you look at the held-back days you use
# them up a little: choose on the history.

# %% [markdown]
# ## Your work
#
# [One way](answers_capstone.ipynb) to all 18 points is worked out; do your own first.

# %%
forecast = ...  # frame with unique_id, ds, your forecast, and the same name with -lo-80 and -hi-80
export = ...  # path of the exported model
promotion_effect = ...  # 0.1 if a promotion adds 10 % to the sales
expected_skill = ...  # 0.1 if you expect an error 10 % below that of the week before

# %% [markdown]
# **Explanation** (about 150 words): Which inputs does the forecast use, and how did you find out?
# Which comparison is within the spread of the seeds? When will the forecast fail?

# %%
kerastrans.lessons.score_capstone(
    forecast, export, promotion_effect=promotion_effect, expected_skill=expected_skill
)
