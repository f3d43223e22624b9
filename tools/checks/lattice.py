"""Measure that a forecast is the same by every door, for every kind of forecaster and of values.

    KERAS_BACKEND=tensorflow python -m tools.checks.lattice

Writes the largest differences to benchmarks/results/lattice.csv and the table of docs/doors.md.
"""

import argparse
import asyncio
import csv
import tempfile
import warnings
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd

import kerastrans
from kerastrans import Forecaster, heads
from kerastrans.data.frames import ID, is_wide, to_long
from kerastrans.forecasting.inference.forecast import read_windows
from kerastrans.heads.bounded import bound_inputs

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results" / "lattice.csv"
WEIGHTS = ROOT / "tests" / "fixtures" / "weights" / "kerastrans_zero"
PAGE = ROOT / "docs" / "doors.md"
CONTEXT, HORIZON, LENGTH = 28, 7, 140
SIZE = CONTEXT, HORIZON
SEED = 0
PYTHON_LIMIT = 1e-5  # of the amplitude of a series
CONSTANT_LIMIT = 1e-6  # of the level of a constant series
FILE_LIMIT = 1e-4  # of the amplitude, for a file that computes in float32
SPACINGS = 4  # at the level, in float32, for such a file


def example_series():
    """Return a wide frame with one column per kind of values."""
    rng, steps = np.random.default_rng(SEED), np.arange(LENGTH)
    ordinary = 50 + 10 * np.sin(2 * np.pi * steps / 7) + rng.normal(size=LENGTH)
    missing = np.where(rng.uniform(size=LENGTH) < 0.2, np.nan, ordinary + steps / 10)
    values = {
        "ordinary": ordinary,
        "1e8 + small": 1e8 + ordinary,
        "1e-8": 1e-8 * ordinary,
        "constant": np.full(LENGTH, 5.0),
        "missing": missing,
        "counts": rng.poisson(3 + 2 * (steps % 7 > 4), LENGTH).astype(float),
    }
    return pd.DataFrame(values, pd.date_range("2024-01-01", periods=LENGTH))


@dataclass(frozen=True)
class Data:
    """A long or wide frame, and what `predict` takes beside it.

    Attributes:
        frame: Frame of series.
        names: Tuple of the series, or channels, that are compared.
        future: Frame of future covariates, or None.
        static: Frame of static covariates, or None.
    """

    frame: pd.DataFrame
    names: tuple
    future: pd.DataFrame | None = None
    static: pd.DataFrame | None = None

    def map(self, change, *parts):
        """Return the data with changed frames; by default all of them are changed."""
        parts = parts or ("frame", "future", "static")
        return replace(self, **{x: change(getattr(self, x)) for x in parts if self.has(x)})

    def has(self, part):
        """Return whether there is such a frame."""
        return getattr(self, part) is not None

    def only(self, names):
        """Return some of the series."""
        if is_wide(self.frame):
            others = [name for name in self.names if name not in names]
            return replace(self.map(lambda x: x.drop(columns=others), "frame"), names=tuple(names))
        chosen = self.map(lambda x: x[x[ID].isin(names)])
        return replace(chosen, names=tuple(names))

    def given(self):
        """Return the arguments of `predict` beside the frame."""
        return {x: getattr(self, x) for x in ("future", "static") if self.has(x)}


WIDE = example_series()
LONG = Data(to_long(WIDE, []), tuple(WIDE))


def as_trained(forecaster, data):
    """Return the data in the form that a forecaster was trained on."""
    return replace(LONG, frame=WIDE) if data is LONG and forecaster.fitted.channels else data


def trained():
    """Return a forecaster of long frames."""
    return Forecaster("nlinear", *SIZE).fit(LONG.frame, epochs=2, verbose=0)


def wide_as_long():
    """Return a forecaster of a wide frame that forecasts its channels one by one."""
    return Forecaster("nlinear", *SIZE).fit(WIDE, epochs=2, verbose=0)


def combined():
    """Return the mean of two forecasters."""
    members = [Forecaster(name, *SIZE) for name in ("nlinear", "rlinear")]
    members = [member.fit(LONG.frame, epochs=2, verbose=0) for member in members]
    return kerastrans.combine(members, "mean")


def selected():
    """Return the best ensemble of a few seconds."""
    return kerastrans.select(LONG.frame, HORIZON, time_limit=5, verbose=False)


def published():
    """Return published weights."""
    return kerastrans.from_pretrained(WEIGHTS, HORIZON, CONTEXT, verbose=False)


def fine_tuned():
    """Return published weights that were fine-tuned."""
    return published().fit(LONG.frame, epochs=1, verbose=0, restore_published=False)


def own_model():
    """Return a forecaster of a Keras model of one's choice."""
    import keras

    history = keras.Input((CONTEXT, 1), name="history")
    head = heads.QuantileHead()
    x = keras.layers.Dense(HORIZON * head.size)(keras.layers.Flatten()(history))
    x = keras.layers.Reshape((HORIZON, 1, head.size))(x)
    model = keras.Model(history, head(x))
    return Forecaster(model, *SIZE, alias="own").fit(LONG.frame, epochs=2, verbose=0)


KINDS = {
    "trained": trained,
    "wide as long": wide_as_long,
    "combined": combined,
    "selected": selected,
    "published": published,
    "fine-tuned": fine_tuned,
    "own Keras model": own_model,
}


def read_rows(forecaster, rows, names):
    """Return the point and, if there are any, the bounds of 80 %, `(series, steps, 1 or 3)`."""
    columns = [forecaster.alias, *(f"{forecaster.alias}-{side}-80" for side in ("lo", "hi"))]
    columns = [name for name in columns if name in rows]
    parts = dict(iter(rows.groupby(ID, observed=True)))
    return np.stack([parts[name][columns].to_numpy() for name in names])


def forecast(forecaster, data, **options):
    """Return what `predict` forecasts, see `read_rows`."""
    rows = forecaster.predict(data.frame, **data.given(), **options)
    return read_rows(forecaster, rows, data.names)


def read_outputs(forecaster, outputs, data):
    """Return the same of the outputs of an array call, a service or a file."""
    parts = [np.asarray(outputs["forecast"], "float64")]
    if "quantiles" in outputs and forecaster.fitted.intervals is None:
        levels = np.asarray(heads.of(forecaster.model).levels)
        quantiles = np.asarray(outputs["quantiles"], "float64")
        places = [int(np.abs(levels - level).argmin()) for level in (0.1, 0.9)]
        if np.allclose(levels[places], (0.1, 0.9)):
            parts += [quantiles[..., i] for i in places]
    stacked = np.stack(parts, axis=-1)  # (batch, steps, channels, parts)
    stacked = stacked.transpose(0, 2, 1, 3)
    return stacked.reshape(len(data.names), stacked.shape[2], len(parts))


def model_inputs(forecaster, data):
    """Return the last windows of the series, as arrays by the names of the model's inputs.

    The typical scales of the series are left out: neither arrays nor requests have series.
    """
    state, data = forecaster.fitted, as_trained(forecaster, data)
    windows = read_windows(state, data.frame, data.future, data.static, lambda panel: None)
    inputs = {name: x for name, x in windows.histories().items() if name != "typical"}
    rows = windows.cuts[:, None] + np.arange(windows.prediction_length)
    bounds = zip(
        ("lower_bound", "upper_bound"), state.config.bounds_in(windows.panel, rows), strict=True
    )
    asked = bound_inputs(state.config.bounds)
    inputs |= {name: np.asarray(x) for name, x in bounds if name in asked}
    order = np.argsort([data.names.index(x) for x in windows.panel.names[:, 0]])
    return {name: x[order] for name, x in inputs.items()}


def file_inputs(forecaster, data):
    """Return the last windows of the series, as an exported file takes them."""
    inputs = {"history": model_inputs(forecaster, data)["history"].astype("float32")}
    if forecaster.fitted.config.calendar:
        panel = forecaster.reader.panel(as_trained(forecaster, data).frame)
        last = panel.numbers(np.arange(len(panel)), panel.cuts) - 1
        order = np.argsort([data.names.index(x) for x in panel.names[:, 0]])
        inputs["last_time"] = panel.clock.times(last).as_unit("s").asi8[order]
    return inputs


def by_predict(forecaster, data, folder):
    """Forecast each series by itself."""
    if is_wide(data.frame) and forecaster.fitted.config.mixes_channels:
        raise ValueError("the model mixes channels")
    parts = [forecast(forecaster, data.only([name])) for name in data.names]
    return np.concatenate(parts)


def by_arrays(forecaster, data, folder):
    """Forecast arrays."""
    outputs = forecaster.forecast_histories(model_inputs(forecaster, data))
    return read_outputs(forecaster, outputs, data)


def by_service(forecaster, data, folder):
    """Forecast by the REST route of the service, in this process."""
    import httpx

    from kerastrans.serving import create_app

    app = create_app(forecaster, "model", warm_up=False)
    inputs = {name: x.astype("float64") for name, x in model_inputs(forecaster, data).items()}
    inputs = {name: np.where(np.isnan(x), None, x).tolist() for name, x in inputs.items()}
    rows = zip(*inputs.values(), strict=True)
    body = {"instances": [dict(zip(inputs, row, strict=True)) for row in rows]}

    async def ask():
        transport = httpx.ASGITransport(app)
        async with (
            app.router.lifespan_context(app),
            httpx.AsyncClient(transport=transport, base_url="http://localhost") as client,
        ):
            return await client.post("/v1/models/model:predict", json=body)

    answer = asyncio.run(ask()).json()
    if "error" in answer:
        raise ValueError(answer["error"])
    rows = answer["predictions"]
    if isinstance(rows[0], list):  # a model of points has one output, whose name is left out
        rows = [{"forecast": row} for row in rows]
    outputs = {name: [row[name] for row in rows] for name in rows[0]}
    return read_outputs(forecaster, outputs, data)


def by_file(suffix, run):
    """Return the door of an exported file that `run` reads."""

    def door(forecaster, data, folder):
        path = folder / f"exported{suffix}"
        forecaster.export(path)
        return read_outputs(forecaster, run(path, file_inputs(forecaster, data)), data)

    return door


def run_savedmodel(path, inputs):
    """Run a SavedModel."""
    import tensorflow as tf

    serve = tf.saved_model.load(str(path)).signatures["serving_default"]
    inputs = {name: tf.constant(x) for name, x in inputs.items()}
    return {name: x.numpy() for name, x in serve(**inputs).items()}


def run_onnx(path, inputs):
    """Run an ONNX file."""
    import onnxruntime

    session = onnxruntime.InferenceSession(str(path))
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, inputs), strict=True))


def run_litert(path, inputs):
    """Run a LiteRT file."""
    from ai_edge_litert.interpreter import Interpreter

    return Interpreter(model_path=str(path)).get_signature_runner()(**inputs)


def by_reloading(forecaster, data, folder):
    """Forecast after a round trip through a folder."""
    forecaster.save(folder / "saved")
    return forecast(type(forecaster).load(folder / "saved"), data)


def by_refit(forecaster, data, folder):
    """Forecast by a clone that is trained again, as it was; published weights stay as they are."""
    clone, static = forecaster.clone(), data.static
    frame = as_trained(forecaster, data).frame
    if clone.fitted is None:
        clone.fit(frame, static=static, verbose=0)
    if forecaster.config.is_built and not forecaster.card:  # its start weights are drawn again
        other = forecaster.clone().fit(frame, static=static, verbose=0)
        return forecast(forecaster, data) + forecast(clone, data) - forecast(other, data)
    return forecast(clone, data)


PYTHON = {
    "predict": by_predict,
    "arrays": by_arrays,
    "service": by_service,
    "reloaded": by_reloading,
    "cloned and refitted": by_refit,
}
FILES = {
    "SavedModel": by_file("", run_savedmodel),
    "ONNX": by_file(".onnx", run_onnx),
    "LiteRT": by_file(".tflite", run_litert),
}
DOORS = PYTHON | FILES


def measure(forecaster, door, folder):
    """Return a dict of kind of values -> `(difference, limit)`, relative; or the refusal.

    Args:
        forecaster: `Forecaster`.
        door: Name of a door.
        folder: Path of an empty folder.
    """
    reference = forecast(forecaster, LONG)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = DOORS[door](forecaster, LONG, folder)
    except ValueError as error:
        return str(error)
    window = WIDE.to_numpy()[-forecaster.context_length :]
    cells = {}
    for number, name in enumerate(WIDE):
        values = window[:, number]
        level, amplitude = np.nanmax(np.abs(values)), np.nanmax(values) - np.nanmin(values)
        unit = amplitude or level
        limit = PYTHON_LIMIT if amplitude else CONSTANT_LIMIT
        if door in FILES:
            limit = FILE_LIMIT + SPACINGS * float(np.spacing(np.float32(level))) / unit
        difference = np.abs(found[number] - reference[number, :, : found.shape[2]]).max() / unit
        cells[name] = float(difference), limit
    return cells


def main():
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    rows, beyond = [], []
    for kind, make in KINDS.items():
        forecaster = make()
        for door in DOORS:
            with tempfile.TemporaryDirectory() as folder:
                cells = measure(forecaster, door, Path(folder))
            row = {"kind": kind, "door": door}
            if isinstance(cells, str):
                row["refused"] = cells
            else:
                row |= {name: f"{difference:.0e}" for name, (difference, _) in cells.items()}
                beyond += [
                    (kind, door, name) for name, (x, limit) in cells.items() if not x <= limit
                ]
            print(row, flush=True)
            rows.append(row)
    with RESULTS.open("w", newline="") as file:
        names = ["kind", "door", *WIDE, "refused"]
        writer = csv.DictWriter(file, names, restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    write_page(rows)
    if beyond:
        raise SystemExit(f"beyond the limits: {beyond}")


def write_page(rows):
    """Write the table between the marks of the page."""
    lines = [f"| forecaster | door | {' | '.join(WIDE)} |", "|---" * (2 + len(WIDE.columns)) + "|"]
    for row in rows:
        cells = [row.get(name, "") for name in WIDE]
        if "refused" in row:
            cells = [f"refused: {row['refused']}", *[""] * (len(cells) - 1)]
        lines.append(f"| {row['kind']} | {row['door']} | {' | '.join(cells)} |")
    head, rest = PAGE.read_text().split("<!-- lattice -->\n")
    tail = rest.split("<!-- /lattice -->")[1]
    table = "\n".join(lines)
    PAGE.write_text(f"{head}<!-- lattice -->\n{table}\n<!-- /lattice -->{tail}")


if __name__ == "__main__":
    main()
