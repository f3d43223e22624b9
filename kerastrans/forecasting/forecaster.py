"""From frames to frames: the data, the Keras model and its intervals, held together thinly."""

import contextlib
import json
import warnings
from dataclasses import asdict
from pathlib import Path

import keras
import numpy as np
import pandas as pd

from kerastrans import heads
from kerastrans.data.clock import Clock
from kerastrans.data.covariates import KINDS, Covariates
from kerastrans.data.cuts import training_cuts
from kerastrans.data.frames import ID, TIME
from kerastrans.data.gaps import FILLS
from kerastrans.data.panel import read_panel
from kerastrans.data.panel_windows import Windows
from kerastrans.data.partitions import list_partitions, read_partition, stream_batches
from kerastrans.data.scaling import WindowScaler
from kerastrans.decoding.generation import generate_samples, is_autoregressive
from kerastrans.decoding.graph import history_input
from kerastrans.decoding.inspection import variable_importances
from kerastrans.export import export
from kerastrans.forecasting.conformal import ConformalIntervals
from kerastrans.forecasting.forecasts import Forecasts
from kerastrans.models import registry
from kerastrans.utils import distribution
from kerastrans.utils.files import load_model, new_folder
from kerastrans.utils.validation import (
    check_choice,
    check_positive_integers,
    check_prediction_length,
)

LEVELS = (80, 95)
SHORT = ("pad", "refuse")
BATCH = 256  # windows forecast at once


class Forecaster:
    """One model over many series: `fit`, `predict` and `backtest` take and return data frames.

    Frames are long, with columns "unique_id", "ds" and "y", one series behind the other; or wide,
    with a DatetimeIndex and one column a channel, for one series of several channels. Each window
    is scaled by its own context, so that series of all sizes train one model, and a new series
    needs no training. The Keras model is `model`; `fit` is its `fit`.

    Args:
        model: name of an architecture, see `kerastrans.zoo.names`, or a Keras model of the zoo's
            contract; its head says what is forecast.
        context_length, prediction_length: int, steps of history, and of the forecast.
        head: what is forecast, see `kerastrans.heads.get`; quantiles by default.
        loss: a Keras loss in place of the head's own.
        optimizer: name or Keras optimizer, used as it is.
        scaler: how a window is scaled by its context: a `kerastrans.data.WindowScaler` or its
            kind: "standard", "mean_abs", "mase" (a mean absolute error is then a MASE), or None,
            as counts need it.
        fill: what the model sees of a missing value, see `Windows`; the loss never sees it.
        past, future: names of columns that are known for the past, and also for the horizon.
        calendar: bool, whether hour, weekday and so on, as the frequency has them, are covariates.
        short: "pad" to forecast series shorter than the context, or "refuse" to leave them out.
        num_samples: int, that an autoregressive model (DeepAR) draws of each forecast.
        seed: int, of the weights, the order of windows and the samples.
        **hyperparameters: of the architecture.

    Raises:
        ValueError: an unknown name, hyperparameter or option, a size below 1.
    """

    def __init__(
        self,
        model,
        context_length,
        prediction_length,
        *,
        head="quantiles",
        loss=None,
        optimizer="adam",
        scaler="standard",
        fill=None,
        past=(),
        future=(),
        calendar=False,
        short="pad",
        num_samples=100,
        seed=0,
        **hyperparameters,
    ):
        check_positive_integers(
            context_length=context_length,
            prediction_length=prediction_length,
            num_samples=num_samples,
        )
        check_choice("short", short, SHORT)
        check_choice("fill", fill, FILLS)
        self.scaler = scaler if isinstance(scaler, WindowScaler) else WindowScaler(scaler)
        self.model = None
        if isinstance(model, keras.Model):
            check_prediction_length(model, prediction_length)
            self.model, model = model, None
            if hyperparameters:
                raise ValueError(f"a model that is built takes no {sorted(hyperparameters)}.")
        else:
            registry.check_hyperparameters(model, hyperparameters)
            head = heads.get(head)
            if isinstance(head, heads.NegativeBinomialHead) and not self.scaler.is_identity:
                raise ValueError("counts are forecast as they are: give scaler=None.")
        self.head = head
        self.loss = loss
        self.optimizer = optimizer
        self.config = {
            "architecture": model,
            "context_length": context_length,
            "prediction_length": prediction_length,
            "fill": fill,
            "past": list(past),
            "future": list(future),
            "calendar": calendar,
            "short": short,
            "num_samples": num_samples,
            "seed": seed,
            "hyperparameters": hyperparameters,
        }
        self.clock = self.covariates = self.channels = self.history = self.intervals = None
        self.faults = {}

    @property
    def prediction_length(self):
        return self.config["prediction_length"]

    @property
    def output(self):
        """What reads the model's output: its head, or samples."""
        return heads.Samples() if is_autoregressive(self.model) else heads.of(self.model)

    def fit(
        self,
        frame,
        static=None,
        *,
        freq=None,
        validation_size=0,
        stride=1,
        batch_size=32,
        distribute=None,
        **options,
    ):
        """Train the model; called again, go on training it: fine-tune it on other series.

        Args:
            frame: long or wide, in any order of rows; or the folder of Parquet files, each with a
                long frame of whole series, of which one at a time is in memory. Covariates are
                scaled, and their categories known, by the first file.
            static: frame with "unique_id" and static covariates, one row a series.
            freq: str, pandas frequency, where the time stamps do not tell it.
            validation_size: int, last steps of each series that are held out, for `val_loss`.
            stride: int, steps from one training window to the next.
            batch_size: int, windows in a training step.
            distribute: None for one device; "data" or "model" for all there are, see
                `kerastrans.distribution.distribute`.
            **options: of `keras.Model.fit`: epochs, callbacks, verbose, steps_per_epoch ...

        Returns:
            The forecaster; `history` is Keras's.

        Raises:
            ValueError: bad frames, see `read_panel`; no window to train on. RuntimeError: a backend
                that cannot distribute.
        """
        files = list_partitions(frame) if isinstance(frame, str | Path) else None
        if files:
            frame = read_partition(files[0])
        panel = self._read_first(frame, static, freq)
        self.clock = panel.clock
        sizes = {"validation_size": validation_size, "stride": stride, "batch_size": batch_size}
        devices = distribution.distribute(distribute) if distribute else contextlib.nullcontext()
        with devices:
            if not files:
                self._train(panel, **sizes, **options)
            elif self._prepare(panel):
                del frame, panel
                self._train_partitions(files, static, **sizes, **options)
        return self

    def _read_first(self, frame, static, freq=None):
        """The panel of training data; before any training its columns are those of the model."""
        if self.clock is None:
            names = {kind: self.config[kind] for kind in ("past", "future")}
            self.covariates = Covariates.of(frame, static, **names)
        panel = self._read(frame, static, freq=freq)
        if self.clock is None and ID not in frame.columns:
            self.channels = panel.names[0].tolist()
        return panel

    def _read(self, frame, static=None, future=None, freq=None):
        if self.channels is not None:
            known = [*self.channels, *self.config["past"], *self.config["future"]]
            missing = [name for name in known if name not in frame.columns]
            if missing:
                raise ValueError(f"trained on the columns {known}; {missing} are missing.")
            frame = frame[known]
        panel = read_panel(
            frame,
            clock=self.clock,
            freq=freq,
            covariates=self.covariates,
            static=static,
            future=future,
        )
        if self.config["short"] == "refuse":
            lengths = panel.cuts - panel.begins
            wanted = self.config["context_length"]
            short = np.flatnonzero(lengths < wanted)
            faults = {i: f"{lengths[i]} steps, fewer than the context's {wanted}" for i in short}
            panel = panel.without(faults)
        if self.model is not None:
            wanted = history_input(self.model).shape[-1]
            if panel.num_channels != wanted:
                raise ValueError(
                    f"the model has {wanted} channel(s), the frame {panel.num_channels}."
                )
        return panel

    def _report(self, panel):
        """Keep the faults of series that are left out, and warn of them."""
        self.faults = panel.faults
        if panel.faults:
            name, why = next(iter(panel.faults.items()))
            warnings.warn(
                f"{len(panel.faults)} series left out, see .faults: {name!r} has {why}.",
                stacklevel=4,
            )
        if not len(panel):
            raise ValueError(f"no series is left: {name!r} has {why}.")

    def _train(self, panel, validation_size=0, stride=1, batch_size=32, **options):
        self._report(panel)
        if not self._prepare(panel):
            return
        training, validation = self._cuts(panel, validation_size, stride)
        if not len(training[0]):
            raise ValueError(
                f"no window to train on: the longest series has "
                f"{(panel.cuts - panel.begins).max()} steps, {validation_size} of them held out, "
                f"and prediction_length is {self.prediction_length}."
            )
        windows = self._windows(panel, *training)
        options = {"shuffle": False, **options}
        if len(validation[0]):
            options["validation_data"] = self._windows(panel, *validation).batches(BATCH)
        self.history = self.model.fit(
            windows.batches(batch_size, shuffle=True, seed=self.config["seed"]), **options
        )

    def _train_partitions(self, files, static, validation_size, stride, batch_size, **options):
        """As `_train`, on Parquet files that are read one at a time."""

        def windows(path):
            """Those of a file that train, and those that validate."""
            panel = self._read(read_partition(path), static)
            self.faults |= panel.faults
            cuts = self._cuts(panel, validation_size, stride)
            return [self._windows(panel, *part) for part in cuts]

        self.faults = {}
        counts = [[len(part) for part in windows(path)] for path in files]

        def stream(part, size):
            """Batches without end, and how many an epoch has."""
            found = {path: both[part] for path, both in zip(files, counts, strict=True)}
            chosen = [path for path, count in found.items() if count]
            batches = stream_batches(
                chosen,
                lambda path: windows(path)[part],
                size,
                shuffle=part == 0,
                seed=self.config["seed"],
            )
            return batches, sum(-(-found[path] // min(size, found[path])) for path in chosen)

        batches, steps = stream(0, batch_size)
        if not steps:
            raise ValueError(
                f"no window to train on in the {len(files)} files of {files[0].parent}."
            )
        options = {"steps_per_epoch": steps, "shuffle": False, **options}
        if validation_size:
            options["validation_data"], options["validation_steps"] = stream(1, BATCH)
        self.history = self.model.fit(batches, **options)

    def _cuts(self, panel, validation_size, stride):
        """Training windows and validation windows, see `training_cuts`."""
        size = self.config["context_length"], self.prediction_length
        return training_cuts(panel, *size, stride, held_out=validation_size)

    def _prepare(self, panel):
        """Build and compile the model if need be; whether there is anything to train."""
        if self.model is None:
            keras.utils.set_random_seed(self.config["seed"])
            self.model = self._build(panel)
        if not self.model.compiled:
            loss = self.loss or heads.of(self.model).loss()
            optimizer = keras.optimizers.get(self.optimizer)
            # One of its own: an optimizer belongs to the weights that it has seen.
            optimizer = type(optimizer).from_config(optimizer.get_config())
            self.model.compile(optimizer, loss)
        return bool(self.model.trainable_weights)  # a baseline has none

    def _build(self, panel):
        calendar = 2 * len(panel.clock.calendar_names) if self.config["calendar"] else 0
        return registry.build(
            self.config["architecture"],
            self.config["context_length"],
            self.prediction_length,
            panel.num_channels,
            head=self.head,
            covariates=self.covariates.sizes(calendar),
            **self.config["hyperparameters"],
        )

    def _windows(self, panel, series, cuts):
        wanted = {tensor.name for tensor in self.model.inputs}
        return Windows(
            panel,
            self.config["context_length"],
            self.prediction_length,
            series,
            cuts,
            scaler=self.scaler,
            fill=self.config["fill"],
            calendar=self.config["calendar"],
            position="position" in wanted,
            decoder="decoder_inputs" in wanted,
        )

    def predict(self, frame, future=None, static=None, levels=None):
        """Forecast what comes behind each series.

        Args:
            frame: as `fit` takes it; series may be new.
            future: frame of the same kind, without values, with the future covariates of the
                `prediction_length` steps behind each series.
            static: as in `fit`.
            levels: percents of the intervals, of which each has columns "lo-80" and "hi-80";
                80 and 95 by default, where the head has quantiles or `calibrate` was called.

        Returns:
            DataFrame "unique_id", "ds", "mean" and the intervals, `prediction_length` rows a
            series and channel. "mean" is the head's point: the median of quantiles. A series with
            a fault is left out, and named in a warning and in `faults`.

        Raises:
            RuntimeError: not trained. ValueError: bad frames; quantiles that there are none of.
        """
        self._check_trained()
        panel = self._complete(self._read(frame, static, future))
        seen = self._windows(panel, np.arange(len(panel)), panel.cuts).observed()
        faults = "no value in its last {context_length} steps".format(**self.config)
        panel = panel.without(dict.fromkeys(np.flatnonzero(~seen), faults))
        self._report(panel)
        windows = self._windows(panel, np.arange(len(panel)), panel.cuts)
        levels = self._levels(levels)
        widths = None
        if self.intervals is not None:
            widths = {level: self.intervals.offsets[level][None] for level in levels}
        return self._forecast(windows).frame(levels, widths)

    def forecast_histories(self, inputs):
        """Forecast from arrays, as an exported model does.

        Args:
            inputs: dict of arrays by the names of the model's inputs: "history"
                `(batch, context_length, num_channels)` in the units of the series, NaN for a
                missing value, and what else the model asks for, as `Windows.arrays` makes it.

        Returns:
            Dict of float64 arrays: "forecast" `(batch, prediction_length, num_channels)` in the
            same units, and the head's "quantiles" or "parameters", or an autoregressive model's
            "samples", with a last axis.

        Raises:
            RuntimeError: not trained.
        """
        self._check_trained()
        history = np.asarray(inputs["history"], "float64")
        center, scale = self.scaler.statistics(history)
        scaled = np.nan_to_num((history - center) / scale).astype("float32")
        inputs = {**inputs, "history": scaled}
        if len(inputs) == 1 and not is_autoregressive(self.model):
            inputs = scaled
        parameters = self._run(inputs, len(history)).astype("float64")
        if not self.scaler.is_identity:
            parameters = self.output.rescale(parameters, center, scale)
        return self.output.outputs(parameters)

    def _complete(self, panel):
        """The panel without the series whose future covariates do not reach the horizon."""
        if not panel.future.shape[1]:
            return panel
        faults = {}
        for i, (cut, end) in enumerate(zip(panel.cuts, panel.ends, strict=True)):
            known = np.isfinite(panel.future[cut : min(end, cut + self.prediction_length)])
            if len(known) < self.prediction_length or not known.all():
                row = len(known) if known.all() else int(np.argmin(known.all(axis=1)))
                time = panel.clock.times([panel.numbers(i, cut + row)])[0]
                faults[i] = f"no future covariates for {time}"
        return panel.without(faults)

    def _check_trained(self):
        if self.clock is None:
            raise RuntimeError("this forecaster is not trained: call fit first.")

    def _levels(self, levels):
        """The levels asked for, or those that there are."""
        if self.intervals is not None:
            known = tuple(self.intervals.offsets)
            unknown = set(levels or ()) - set(known)
            if unknown:
                raise ValueError(f"calibrated for levels {known}, asked for {sorted(unknown)}.")
            return levels or known
        if not isinstance(self.output, heads.PointHead):
            return levels or LEVELS
        if levels:
            raise ValueError(
                "a point forecast has no intervals: call calibrate, or train with a head."
            )
        return ()

    def _forecast(self, windows):
        """`Forecasts` of the windows, in the units of the series."""
        parts, scales = [], []
        for start in range(0, len(windows), BATCH):
            inputs, (center, scale) = windows.arrays(slice(start, start + BATCH))
            parameters = self._run(inputs, len(scale))
            if not self.scaler.is_identity:
                parameters = self.output.rescale(parameters.astype("float64"), center, scale)
            parts.append(parameters)
            scales.append(scale)
        parameters = np.concatenate(parts)
        parameters[~windows.observed()] = np.nan  # there was nothing to forecast from
        return Forecasts(windows, self.output, parameters, np.concatenate(scales))

    def _run(self, inputs, count):
        """The model on a batch that is filled up to a power of two: few shapes to compile."""
        fill = (1 << (count - 1).bit_length()) - count
        if fill:
            inputs = keras.tree.map_structure(
                lambda x: np.concatenate([x, np.repeat(x[-1:], fill, axis=0)]), inputs
            )
        if is_autoregressive(self.model):
            *names, _ = [tensor.name for tensor in self.model.inputs]
            samples = generate_samples(
                self.model,
                [inputs[name] for name in names],
                self.prediction_length,
                self.config["num_samples"],
                self.config["seed"],
            )
            return np.moveaxis(samples, 1, -1)[:count]
        return self.model.predict_on_batch(inputs)[:count]

    def variable_importances(self, frame, static=None):
        """How much a "tft" looks at each variable in the last windows of these series.

        Args:
            frame, static: as in `fit`; the windows end where the series do.

        Returns:
            DataFrame with columns "kind", "variable" and "share", see
            `kerastrans.variable_importances`.

        Raises:
            RuntimeError: not trained. ValueError: bad frames, another architecture.
        """
        self._check_trained()
        panel = self._read(frame, static)
        self._report(panel)
        windows = self._windows(panel, np.arange(len(panel)), panel.cuts - self.prediction_length)
        shares = variable_importances(self.model, windows.arrays()[0])
        names = {kind: [c.name for c in getattr(self.covariates, kind)] for kind in KINDS}
        if self.config["calendar"]:
            waves = [
                f"{name} {wave}" for name in panel.clock.calendar_names for wave in ("sin", "cos")
            ]
            names["future"] += waves
        channels = panel.names[0] if panel.num_channels > 1 else ["y"]
        variables = {
            "past": [*channels, *names["past"], *names["future"]],
            "future": ["steps ahead", *names["future"]],
            "static": names["static"],
        }
        rows = [
            (kind, variable, share)
            for kind in shares
            for variable, share in zip(variables[kind], shares[kind], strict=True)
        ]
        return pd.DataFrame(rows, columns=["kind", "variable", "share"])

    def backtest(
        self,
        frame,
        windows=5,
        step=None,
        *,
        static=None,
        levels=None,
        refit=False,
        train_size=None,
        **options,
    ):
        """Forecast the end of each series from several origins, each from what lies before it.

        Args:
            frame, static: as in `fit`.
            windows: int, origins; the last leaves `prediction_length` steps to forecast.
            step: int, steps from one origin to the next; `prediction_length` by default.
            levels: percents of the intervals, as in `predict`.
            refit: bool, whether a new model is trained at each origin on what lies before it;
                otherwise the trained one forecasts all, and `frame` should end behind its
                training data. The forecaster keeps the last model.
            train_size: int, for `refit`: steps that each is trained on (a sliding window); None
                for all that lies before (an expanding window).
            **options: for `refit`, those of `fit`.

        Returns:
            DataFrame "unique_id", "ds", "cutoff" (the last step known), "y", "mean" and the
            intervals. Adaptive intervals learn from each origin's outcomes once they are known.

        Raises:
            RuntimeError: neither trained nor `refit`. ValueError: bad frames; a series is too
                short for the first origin.
        """
        step = step or self.prediction_length
        check_positive_integers(windows=windows, step=step)
        if not refit:
            self._check_trained()
        panel = self._read_first(frame, static)
        lengths = panel.cuts - panel.begins
        before = self._origins(panel, windows, step)[0] - panel.begins
        wanted = 1 + (self.config["context_length"] if self.config["short"] == "refuse" else 0)
        panel = panel.without(
            {
                i: f"{lengths[i]} steps, too few for {windows} origins"
                for i in np.flatnonzero(before < wanted)
            }
        )
        self._report(panel)
        origins = self._origins(panel, windows, step)
        series = np.arange(len(panel))
        if refit:
            parts = [self._refit(panel, cuts, train_size, options) for cuts in origins]
        chosen = self._windows(panel, np.tile(series, windows), origins.ravel())
        if refit:
            arrays = ([getattr(part, x) for part in parts] for x in ("parameters", "scale"))
            found = Forecasts(chosen, self.output, *map(np.concatenate, arrays))
        else:
            found = self._forecast(chosen)
        levels = self._levels(levels)
        widths = self.intervals and found.followed_widths(self.intervals, levels)
        rows = found.frame(levels, widths, is_backtest=True)
        return rows.sort_values([ID, "cutoff", TIME], ignore_index=True)

    def _origins(self, panel, windows, step):
        """Cuts `(windows, series)`, the last so that a whole forecast lies behind it."""
        back = self.prediction_length + step * np.arange(windows)[::-1]
        return panel.cuts - back[:, None]

    def _refit(self, panel, cuts, train_size, options):
        """Forecasts of a new model that knows what lies before `cuts`."""
        fresh = self.clone()
        fresh.covariates, fresh.clock, fresh.channels = self.covariates, panel.clock, self.channels
        known = panel.until(cuts, train_size)
        fresh._train(known, **options)
        self.model, self.clock = fresh.model, fresh.clock
        return fresh._forecast(fresh._windows(panel, np.arange(len(panel)), cuts))

    def clone(self):
        """A forecaster with the same settings that is not trained."""
        config = dict(self.config)
        name = config.pop("architecture")
        if name is None:
            raise ValueError("a model that came built cannot be trained anew: give its name.")
        return type(self)(
            name,
            config.pop("context_length"),
            config.pop("prediction_length"),
            head=self.head,
            loss=self.loss,
            optimizer=self.optimizer,
            scaler=self.scaler,
            **config.pop("hyperparameters"),
            **config,
        )

    def calibrate(self, frame, windows, step=1, *, static=None, levels=LEVELS, method="split"):
        """Measure on data that were not trained on how wide the intervals have to be.

        Args:
            frame, static: as in `backtest`; the last `windows` origins, `step` apart, calibrate.
            levels: percents that the intervals are to cover.
            method: "split", for one width from now on, or "adaptive", which `backtest` goes on
                adapting to outcomes as they become known. See `kerastrans.conformal`.

        Returns:
            The forecaster; `predict` and `backtest` now put out these intervals.

        Raises:
            ValueError: too few windows for a level; as `backtest`.
        """
        self._check_trained()
        check_positive_integers(windows=windows, step=step)
        panel = self._read(frame, static)
        cuts = self._origins(panel, windows, step).ravel()
        series = np.tile(np.arange(len(panel)), windows)
        inside = cuts > panel.begins[series]
        chosen = self._windows(panel, series[inside], cuts[inside])
        scores, _, times = self._forecast(chosen).scores(levels)
        self.intervals = ConformalIntervals.fit(scores, times, method)
        return self

    def save(self, path, *, optimizer=True):
        """Write the forecaster to a new folder: model.keras and forecaster.json.

        Args:
            path: folder to write, which must not exist.
            optimizer: bool, whether the optimizer's state is kept, to go on training where it
                stopped; without it the file is a third of the size.

        Raises:
            FileExistsError: `path` exists. RuntimeError: not trained.
        """
        self._check_trained()
        config = {
            "config": self.config,
            "scaler": asdict(self.scaler),
            "channels": self.channels,
            "clock": asdict(self.clock),
            "covariates": self.covariates.to_dict(),
            "intervals": self.intervals and self.intervals.to_dict(),
        }
        model = self.model
        if not optimizer:
            model = type(model).from_config(model.get_config())
            model.set_weights(self.model.get_weights())
        with new_folder(path) as folder:
            model.save(folder / "model.keras")
            (folder / "forecaster.json").write_text(json.dumps(config, indent=2) + "\n")

    def export(self, path, **options):
        """Write what takes raw histories outside of Python, see `kerastrans.export.export`.

        NaN in a history is a missing value, in front of a short series too; covariates enter
        encoded, as `Windows.arrays` makes them. Conformal intervals stay in Python.

        Args:
            path: to write, which must not exist: a name with .onnx or .tflite at its end, or that
                of a SavedModel's folder.
            **options: of the format, such as `quantize` for .tflite.

        Raises:
            RuntimeError: not trained. ValueError: a model or a `fill` that cannot be exported.
            FileExistsError: `path` exists.
        """
        self._check_trained()
        if self.config["fill"] is not None:
            raise ValueError(f"export knows no fill={self.config['fill']!r}: train with fill=None.")
        return export(self.model, path, scaler=self.scaler, metadata=self.metadata, **options)

    @property
    def metadata(self):
        """What an exported or served model says of itself beyond its shapes."""
        return {
            "architecture": self.config["architecture"],
            "channels": self.channels or ["y"],
            "frequency": self.clock.freq,
        }

    @classmethod
    def load(cls, path):
        """Read a forecaster back; it forecasts the same, and can be fine-tuned.

        Raises:
            FileNotFoundError: no forecaster at `path`. ValueError: a model that cannot be loaded,
                or that holds code.
        """
        path = Path(path)
        if not (path / "forecaster.json").is_file():
            raise FileNotFoundError(f"{path} holds no forecaster.")
        stored = json.loads((path / "forecaster.json").read_text())
        config = {k: v for k, v in stored["config"].items() if k != "hyperparameters"}
        config.pop("architecture")
        model = load_model(path / "model.keras")
        loaded = cls(model, scaler=WindowScaler(**stored["scaler"]), **config)
        loaded.config = stored["config"]
        loaded.channels = stored["channels"]
        loaded.head = heads.of(loaded.model)
        loaded.clock = Clock(**stored["clock"])
        loaded.covariates = Covariates.from_dict(stored["covariates"])
        intervals = stored["intervals"]
        loaded.intervals = intervals and ConformalIntervals.from_dict(intervals)
        return loaded
