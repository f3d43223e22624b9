"""Random forecasters for tools/checks/fuzz: what is drawn of each, its series, and its training.

A `Recipe` is all that is drawn. Its fields have the simplest values as defaults, so that a failure
can be made smaller by giving it back its defaults one by one.
"""

import functools
import warnings
from dataclasses import dataclass, fields

import numpy as np
import pandas as pd
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

import kerastrans
from kerastrans import Forecaster, heads, zoo
from kerastrans.data.frames import ID, TARGET, TIME
from tests.helpers.architectures import SMALL
from tools.checks.lattice import CONTEXT, HORIZON, WEIGHTS, Data

ROWS = 100
PUBLISHED = "kerastrans_zero", "kerastrans_zero_2"
OFTEN = "nlinear", "tide", "nhits", "tsmixer", "deepar", "ensemble", *PUBLISHED
CALIBRATIONS = "no", "no", "split", "adaptive", "unique_id", "residuals"
COUNTS = "negative_binomial", "poisson", "hurdle_negative_binomial", "tweedie"
KINDS = "wave", "walk", "growth", "spikes", "constant", "outage", "holes", "late", "short"
MAGNITUDES = 1.0, 1e-8, 1e-3, 1e4, 1e8
FREQUENCIES = "D", "h", "MS", "W", "15min", "QS", "B"


@dataclass(frozen=True)
class Recipe:
    """What is drawn of one forecaster and its series.

    Attributes:
        model: Name of an architecture or of published weights, or "ensemble".
        kinds: Kinds of the series after the first, which is a wave.
        magnitudes: A factor for each of them.
        head: Name of a head, None for the default.
        scaler: Kind of the scaler.
        fill: As in `Forecaster`, like the following.
        past: Whether there is a numeric past covariate.
        future: Whether there is a numeric future covariate.
        category: Whether there is a future covariate of texts.
        static: Whether there are static covariates.
        calendar: Whether there are calendar features.
        bounds: "no", "numbers" or "columns".
        wide: Whether the frame has a column for each series.
        calibration: "no", or how intervals are calibrated.
        freq: Frequency of the time stamps.
        seed: Seed of the series and of the forecaster.
    """

    model: str = "nlinear"
    kinds: tuple = ("wave",)
    magnitudes: tuple = (1.0,)
    head: str | None = None
    scaler: str | None = "standard"
    fill: str | None = None
    past: bool = False
    future: bool = False
    category: bool = False
    static: bool = False
    calendar: bool = False
    bounds: str = "no"
    wide: bool = False
    calibration: str = "no"
    freq: str = "D"
    seed: int = 0

    def __str__(self):
        given = {x.name: getattr(self, x.name) for x in fields(self)}
        chosen = [f"{x}={y!r}" for x, y in given.items() if y != DEFAULTS[x]]
        return f"Recipe({', '.join(chosen)})"

    @property
    def is_published(self):
        """Whether the weights are published."""
        return self.model in PUBLISHED


DEFAULTS = {x.name: x.default for x in fields(Recipe)}


@st.composite
def recipes(draw):
    """Draw a `Recipe` that can be made."""
    model = draw(st.sampled_from(OFTEN if draw(st.booleans()) else zoo.names()))
    count = draw(st.integers(1, 3))
    chosen = {
        "model": model,
        "kinds": tuple(draw(st.lists(st.sampled_from(KINDS), min_size=count, max_size=count))),
        "magnitudes": tuple(
            draw(st.lists(st.sampled_from(MAGNITUDES), min_size=count, max_size=count))
        ),
        "freq": draw(st.sampled_from(FREQUENCIES)),
        "calibration": draw(st.sampled_from(CALIBRATIONS)),
        "seed": draw(st.integers(0, 99)),
    }
    has_covariates = model not in ("kerastrans_zero", "ensemble")
    if has_covariates:
        chosen |= {x: draw(st.booleans()) for x in ("future", "category")}
        chosen["past"] = model != "deepar" and draw(st.booleans())
    if model in PUBLISHED:
        return Recipe(**chosen)
    tags = zoo.info("nlinear" if model == "ensemble" else model).tags
    if "takes heads" in tags and model != "ensemble":
        head = draw(st.sampled_from(heads.names())) if draw(st.booleans()) else None
        chosen["head"] = head
        chosen["scaler"] = draw(st.sampled_from(("standard", "standard", "mean_abs", "mase", None)))
        if head in COUNTS:
            chosen |= {"scaler": None, "kinds": ("spikes",) * count, "magnitudes": (1.0,) * count}
    chosen["fill"] = draw(st.sampled_from((None, None, "last", "zero")))
    chosen["calendar"] = draw(st.booleans())
    chosen["wide"] = draw(st.booleans()) and chosen["calibration"] not in ("unique_id", "residuals")
    chosen["static"] = has_covariates and not chosen["wide"] and draw(st.booleans())
    if chosen.get("head") not in COUNTS and model != "ensemble":
        chosen["bounds"] = draw(st.sampled_from(("no", "no", "numbers", "columns")))
    return Recipe(**chosen)


def draw_recipes(count, number):
    """Return `count` recipes that belong to a seed, each drawn for itself."""
    return [_draw_recipe(1000 * number + place) for place in range(count)]


def _draw_recipe(number):
    """Return the second recipe that hypothesis draws: the first one is the simplest of all."""
    found = []

    @seed(number)
    @settings(
        max_examples=2,
        phases=[Phase.generate],
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(recipes())
    def collect(recipe):
        found.append(recipe)

    collect()
    return found[-1]


def make_series(kind, magnitude, rng):
    """Return the values of a series, with those of the horizon."""
    steps = np.arange(ROWS + HORIZON)
    noise = rng.normal(size=len(steps))
    values = 20 + 5 * np.sin(2 * np.pi * steps / 7 + rng.uniform(0, 6)) + noise
    if kind == "walk":
        values = 100 + noise.cumsum()
    elif kind == "growth":
        values = 10 * np.exp(0.02 * steps + 0.05 * noise)
    elif kind == "spikes":
        values = np.where(rng.uniform(size=len(steps)) < 0.7, 0.0, 1.0 + rng.poisson(4, len(steps)))
    elif kind == "constant":
        values = np.full(len(steps), 12.0)
    elif kind == "outage":
        values[ROWS - 15 : ROWS - 6] = np.nan
    elif kind == "holes":
        values[rng.uniform(size=len(steps)) < 0.15] = np.nan
    elif kind == "late":
        values[ROWS - 3 : ROWS] = np.nan
    elif kind == "short":
        values[: ROWS - 22] = np.nan
    return magnitude * values


def make_data(recipe):
    """Return the `Data` of a recipe."""
    rng = np.random.default_rng(recipe.seed)
    times = pd.date_range("2021-01-04", periods=ROWS + HORIZON, freq=recipe.freq)
    first = "spikes" if recipe.head in COUNTS else "wave"
    names = tuple(f"s{i}" for i in range(1 + len(recipe.kinds)))
    factors = (1.0, *recipe.magnitudes)
    values = {
        name: make_series(kind, factor, rng)
        for name, kind, factor in zip(names, (first, *recipe.kinds), factors, strict=True)
    }
    columns = {
        "past": rng.normal(size=len(times)),
        "known": rng.normal(size=len(times)),
        "kind": rng.choice(["a", "b"], len(times)),
        "cap": np.full(len(times), 1e11),
    }
    used = dict(zip(columns, (recipe.past, recipe.future, recipe.category), strict=False))
    used["cap"] = recipe.bounds == "columns"
    kept = {name: columns[name] for name, is_used in used.items() if is_used}
    if recipe.wide:
        frame = pd.DataFrame(values | kept, times.rename(TIME))
        future = frame.iloc[ROWS:].drop(columns=[*names, *(["past"] if recipe.past else [])])
        return Data(frame.iloc[:ROWS], names, future if len(future.columns) else None)
    parts, ahead = [], []
    for number, name in enumerate(names):
        own = {x: np.roll(y, number) for x, y in kept.items()}
        part = pd.DataFrame({ID: name, TIME: times, TARGET: values[name]} | own)
        begin = max(0, part[TARGET].first_valid_index())
        parts.append(part.iloc[begin:ROWS])
        ahead.append(part.iloc[ROWS:].drop(columns=[TARGET, *(["past"] if recipe.past else [])]))
    future = pd.concat(ahead, ignore_index=True)
    size = np.arange(len(names)) % 3
    static = pd.DataFrame({ID: list(names), "size": size + 0.5, "group": [f"g{x}" for x in size]})
    has_future = bool(future.columns.difference([ID, TIME]).size)
    return Data(
        pd.concat(parts, ignore_index=True),
        names,
        future if has_future else None,
        static if recipe.static else None,
    )


def make_untrained(recipe, model=None):
    """Return the forecaster of a recipe before `fit`."""
    model = model or recipe.model
    columns = {"past": ["past"] * recipe.past, "future": ["known"] * recipe.future}
    columns["future"] = columns["future"] + ["kind"] * recipe.category
    options = {"head": recipe.head, "scaler": recipe.scaler, "fill": recipe.fill}
    bounds = {"no": None, "numbers": (0, None), "columns": (0, "cap")}[recipe.bounds]
    options |= {"calendar": recipe.calendar, "seed": recipe.seed, "bounds": bounds}
    sizes = SMALL.get(model, {})
    training = kerastrans.Training(epochs=1, batch_size=64)
    return Forecaster(
        model, CONTEXT, HORIZON, **columns, **options, num_samples=20, training=training, **sizes
    )


def make_forecaster(recipe, data):
    """Return the forecaster of a recipe, trained on these data, and calibrated.

    Raises:
        ValueError: If the options of the recipe cannot be combined.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        forecaster = _trained(recipe, data)
        if recipe.calibration != "no":
            calibrate(recipe, forecaster, data)
    return forecaster


def calibrate(recipe, forecaster, data):
    """Calibrate a forecaster as a recipe says."""
    options = {
        "split": {},
        "adaptive": {"method": "adaptive"},
        "unique_id": {"by": "unique_id"},
        "residuals": {"scale": "residuals"},
    }[recipe.calibration]
    options |= {"windows": 12, "step": 2, "levels": [50, 80], "static": data.static}
    forecaster.calibrate(data.frame, **options)


def _trained(recipe, data):
    if recipe.is_published:
        columns = {}
        if recipe.past or recipe.future or recipe.category:
            columns = {"past": ["past"] * recipe.past}
            columns["future"] = ["known"] * recipe.future + ["kind"] * recipe.category
            columns["categories"] = {"kind": ["a", "b"]} if recipe.category else None
        source = WEIGHTS if recipe.model == "kerastrans_zero" else recipe.model
        return kerastrans.from_pretrained(source, HORIZON, verbose=False, **columns)
    fit = functools.partial(Forecaster.fit, frame=data.frame, static=data.static, verbose=0)
    if recipe.model == "ensemble":
        members = [fit(make_untrained(recipe, name)) for name in ("nlinear", "nhits")]
        return kerastrans.combine(members, "mean")
    return fit(make_untrained(recipe))
