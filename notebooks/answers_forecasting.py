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
# # Answers to the exercises on forecasting
#
# The solutions of lessons 5 to 5d, checked, and the measurements behind the predictions of lesson
# 5. The other solutions are in [answers.ipynb](answers.ipynb). The notebook runs in about two
# minutes.

# %%
# %matplotlib inline
import inspect
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import matplotlib.pyplot as plt
import numpy as np

import kerastrans
from kerastrans import evaluation
from kerastrans.data import chronological_split, sliding_windows, window_dataset


def show(number):
    """Print a solution, and the verdict of its check."""
    solution = kerastrans.lessons.solution(number)
    print(repr(solution) if isinstance(solution, str) else inspect.getsource(solution))
    print(kerastrans.lessons.check(number, solution), "\n")


# %% [markdown]
# ## 5. Forecasting

# %%
for number in kerastrans.lessons.numbers("5"):
    show(number)

# %% [markdown]
# The three changes, each trained as in the lesson with its three seeds; all bounds leave a margin
# of three standard deviations of the seeds. <!-- claim: dropout --> **Dropout of 0.2** makes the
# error more than 0.2 flights larger. <!-- claim: lags --> **The week before** as an input of the
# decoder changes it by less than 0.05: the encoder has it among its seven tokens.
# <!-- claim: nlinear --> **NLinear** is worse, by less than 0.15 flights: most of what can be
# forecast here is a linear function of the week.

# %%
EPOCHS = 6
SEEDS = 3
series = kerastrans.datasets.load("nyc_departures")
train, _, test = chronological_split(series.to_numpy("float32"), (0.7, 0.1, 0.2), 168)
contexts, targets = sliding_windows(test, 168, 24)


def errors_of(build, **options):
    """Errors of all seeds. The model is compiled once and starts again with new weights."""
    model, errors = build(), []
    batches = len(window_dataset(train, 168, 24, **options))
    rate = keras.optimizers.schedules.CosineDecay(3e-3, EPOCHS * batches)
    model.compile(keras.optimizers.Adam(rate), "mae")
    model.optimizer.build(model.trainable_variables)
    start = [keras.ops.convert_to_numpy(x) for x in model.optimizer.variables]
    for seed in range(SEEDS):
        keras.utils.set_random_seed(seed)
        windows = window_dataset(train, 168, 24, shuffle=True, seed=seed, **options)
        model.set_weights(build().get_weights())
        for variable, value in zip(model.optimizer.variables, start, strict=True):
            variable.assign(value)
        model.fit(windows, epochs=EPOCHS, shuffle=False, verbose=0)
        forecasts = evaluation.forecast_windows(model, contexts, 24)
        errors.append(np.abs(forecasts - targets).mean())
    return np.array(errors)


def transformer(dropout=0.0, lags=()):
    return kerastrans.build_transformer_model(
        (168, 3),
        patch_length=24,
        lags=lags,
        num_heads=4,
        key_dim=16,
        ff_dim=128,
        num_encoder_blocks=1,
        num_decoder_blocks=1,
        dropout=dropout,
    )


forced = {"teacher_forcing": True, "patch_length": 24}
errors = {"the lesson's": errors_of(transformer, **forced)}

# %%
errors["dropout 0.2"] = errors_of(lambda: transformer(dropout=0.2), **forced)

# %%
errors["lags (168,)"] = errors_of(lambda: transformer(lags=(168,)), **forced)

# %%
errors["nlinear"] = errors_of(lambda: kerastrans.zoo.build("nlinear", 168, 24, 3))
print(f"the week before  {np.abs(contexts[:, :24] - targets).mean():.2f}")
for name, values in errors.items():
    print(f"{name:16} {values.round(3)}")

# Alt text: Errors of three seeds for the lesson's model, with dropout, with the week before as an
# input, and for NLinear; those with dropout are far to the right of the others.
figure, panel = plt.subplots(figsize=(7, 2.4), layout="constrained")
for row, values in enumerate(errors.values()):
    panel.plot(values, [row] * len(values), "o", color="#d1495b", alpha=0.6)
panel.set_yticks(range(len(errors)), errors)
panel.invert_yaxis()
panel.set_xlabel("mean absolute error of each seed [flights per hour]")
plt.show()
if SEEDS > 1:  # trained in full
    lesson = errors["the lesson's"]
    change = {name: values.mean() - lesson.mean() for name, values in errors.items()}
    margin = {
        name: 3 * max(values.std(ddof=1), lesson.std(ddof=1)) for name, values in errors.items()
    }
    assert change["dropout 0.2"] - margin["dropout 0.2"] > 0.2  # claim: dropout
    assert abs(change["lags (168,)"]) + margin["lags (168,)"] < 0.05  # claim: lags
    assert change["nlinear"] > margin["nlinear"]  # claim: nlinear
    assert change["nlinear"] + margin["nlinear"] < 0.15  # claim: nlinear

# %% [markdown]
# ## 5b. At once or step by step

# %%
for number in kerastrans.lessons.numbers("5b"):
    show(number)

# %% [markdown]
# ## 5c. More than one series

# %%
for number in kerastrans.lessons.numbers("5c"):
    show(number)

# %% [markdown]
# ## 5d. Honest evaluation

# %%
for number in kerastrans.lessons.numbers("5d"):
    show(number)
