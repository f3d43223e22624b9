"""Fit when kerastrans-zero believes in the effects of covariates, to made series.

    KERAS_BACKEND=jax python -m tools.presets.zero2.trust

Series are those of `benchmarks.accuracy.zero_covariates`, of eight lengths, with other seeds. Each
is forecast with five amounts of trust in the effects; the errors with other amounts are
interpolated. A logistic function of `evidence` sets the amount. Its three numbers minimise the mean
of the errors over those without covariates, in which covariates without effect count four times:
with this weight they cost about 1 % on series of another seed. The numbers are `TRUST_BIAS` and
`TRUST_FACTORS` of `kerastrans.layers.covariates.covariate_effects`.
"""

import functools
from unittest import mock

import jax
import numpy as np
from keras import ops
from scipy.optimize import minimize

from benchmarks.accuracy.zero_covariates import CATEGORIES, MADE, USELESS, made_series
from kerastrans.layers.covariates import covariate_effects
from kerastrans.models.pretrained import load
from kerastrans.models.pretrained.scaling import place_of
from kerastrans.models.pretrained.shipped import FOLDER
from kerastrans.models.pretrained.zero.network import shorten
from kerastrans.models.pretrained.zero.windows import forecast_windows

SHAPES = (  # steps, horizon, season
    *((24, 4, 1), (30, 6, 1), (48, 6, 4), (60, 12, 12), (120, 12, 12)),
    *((200, 7, 7), (400, 24, 24), (1000, 24, 24)),
)
TRUSTS = np.linspace(0, 1, 5)
NUM_SERIES, FITTED, TESTED = 40, (0, 1, 2), 3  # of a case; seeds
WEIGHT_OF_USELESS = 4.0


def main():
    zero = load(FOLDER / "kerastrans_zero_2")
    cases = {
        seed: [Case(zero, kind, *shape, seed) for shape in SHAPES for kind in MADE]
        for seed in (*FITTED, TESTED)
    }
    fitted = [case for seed in FITTED for case in cases[seed]]
    found = minimize(loss, [0, 1, -5], (fitted,), "Nelder-Mead", options={"maxiter": 1000})
    print("bias and factors:", *(f"{x:.2f}" for x in found.x), f"mean error {found.fun:.4f}")
    published = covariate_effects.TRUST_BIAS, *covariate_effects.TRUST_FACTORS
    for label, numbers in (("found", found.x), ("published", published)):
        changes = [case.error(numbers) - 1 for case in cases[TESTED]]
        for kind in MADE:
            own = [x for x, case in zip(changes, cases[TESTED], strict=True) if case.kind == kind]
            print(label, kind, f"{np.mean(own):+.2%}", flush=True)


class Case:
    """Made series of a kind: evidence `(series, 2)`, and errors `(series, trusts)`."""

    def __init__(self, zero, kind, length, horizon, season, seed):
        self.kind = kind
        rng = np.random.default_rng([77, seed, MADE.index(kind), length])
        frames = [made_series(kind, length, horizon, season, rng, i) for i in range(NUM_SERIES)]
        names = [name for name in frames[0] if name not in ("unique_id", "ds", "y")]
        if kind == "category":
            codes = {text: code for code, text in enumerate(CATEGORIES, 1)}
            frames = [frame.assign(x0=frame["x0"].map(codes)) for frame in frames]
        y = np.stack([frame["y"] for frame in frames])
        known = np.stack([frame[names] for frame in frames]).astype("float32")
        where = "past" if kind == "past" else "future"
        sizes = (len(CATEGORIES) + 1 if kind == "category" else 0,) * len(names)
        run = compiled(zero, length, horizon, where, sizes)
        known = known[:, :length] if where == "past" else known
        medians, evidence = run(y[:, :length].astype("float32"), known)
        scale = np.mean(np.abs(y[:, season:length] - y[:, : length - season]), axis=1)
        errors = np.abs(np.asarray(medians) - y[:, None, length:]).mean(axis=2)
        self.errors = errors / scale[:, None]
        self.evidence = np.concatenate(evidence, axis=1)

    def error(self, numbers):
        """The mean error with a trust over that without covariates."""
        trust = 1 / (1 + np.exp(-(numbers[0] + self.evidence @ np.asarray(numbers[1:]))))
        found = [np.interp(x, TRUSTS, row) for x, row in zip(trust, self.errors, strict=True)]
        return np.mean(found) / np.mean(self.errors[:, 0])


@functools.cache
def compiled(zero, length, horizon, where, sizes):
    """A function of histories and covariates: medians with each trust, and the evidence."""
    layer = covariate_effects.CovariateEffects(horizon, **{where: sizes})
    window = zero.padded_length(length)
    network = shorten(zero.network, window)
    middle, seen = place_of(zero.levels, 0.5), []

    def whole(*arguments):
        seen.append(covariate_effects.evidence(*arguments))
        return ops.ones_like(arguments[2])

    @jax.jit
    def run(history, known):
        padding = [[0, 0], [window - length, 0]]
        history = ops.pad(history, padding, constant_values=np.nan)
        known = ops.pad(known, [*padding, [0, 0]], constant_values=np.nan)
        with mock.patch.object(covariate_effects, "_trust", whole):
            rest, ahead, *_ = layer(history, **{f"{where}_covariates": known})
        effects, ahead = history - rest, ops.sum(ahead, axis=2)
        medians = [
            forecast_windows(network, history - trust * effects, horizon)[..., middle]
            + trust * ahead
            for trust in TRUSTS
        ]
        return ops.stack(medians, axis=1), seen.pop()

    return run


def loss(numbers, cases):
    """The mean of the errors over those without covariates."""
    weights = [WEIGHT_OF_USELESS if case.kind in USELESS else 1.0 for case in cases]
    return np.average([case.error(numbers) for case in cases], weights=weights)


if __name__ == "__main__":
    main()
