"""The Forecaster: fit a Keras model on data frames and predict data frames with intervals."""

import contextlib
import inspect
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import pandas as pd

from kerastrans.data.sampling import Sampling
from kerastrans.export import export
from kerastrans.forecasting.inference import calibration, preset_files, rolling_origins
from kerastrans.forecasting.inference.config import Config
from kerastrans.forecasting.inference.contamination import warn_if_seen
from kerastrans.forecasting.inference.forecast import forecast_arrays, predict_frame
from kerastrans.forecasting.inference.importances import importances_frame
from kerastrans.forecasting.inference.model import build_for, reinitialise
from kerastrans.forecasting.inference.model_card import facts_of
from kerastrans.forecasting.inference.reader import Reader, report_faults
from kerastrans.forecasting.inference.serialization import (
    read_arguments,
    read_files,
    write_arguments,
    write_files,
)
from kerastrans.forecasting.inference.state import LEVELS, FittedState
from kerastrans.forecasting.inference.univariate import adapt_to_frame
from kerastrans.forecasting.training import fine_tuning
from kerastrans.forecasting.training import fit as training
from kerastrans.forecasting.training.data import open_training
from kerastrans.forecasting.training.validation import read_validation, what_is_held_out
from kerastrans.utils.distribution import distribute as distributed
from kerastrans.utils.files import new_folder
from kerastrans.utils.types import Columns, HeadOrName, Levels, ModelOrName, PathLike
from kerastrans.utils.validation import check_percents


class Forecaster:
    """One model over many series: `fit`, `predict` and `backtest` take and return data frames.

    Frames are long, with columns "unique_id", "ds" and "y", one series after the other; or wide,
    with a DatetimeIndex and one column a channel, for one series of several channels. Each window
    is scaled by its own context, so that series of all sizes train one model, and a new series
    needs no training.

    Args:
        model: Name of an architecture, see `kerastrans.zoo.names`; by default "auto", with which
            `fit` chooses one, and the calendar, see `training.defaults.resolved`. Or a functional
            Keras model of the same inputs and outputs, or a function `(context_length,
            prediction_length, num_channels, **hyperparameters)` that builds one.
        context_length: int, steps of history. By default `fit` chooses it by the frequency and the
            lengths of the series, see `training.defaults.resolved`; a built model has its own.
        prediction_length: int, steps to forecast; a built model has its own.
        head: What is forecast, see `kerastrans.heads.get`. By default quantiles; Student's t for
            DeepAR, which draws, points without weights, and the head that a built model has.
        loss: In place of the head's own: a Keras loss, or of points a name of `heads.PointError`.
        optimizer: Name or Keras optimizer. A model that is compiled keeps its own loss and
            optimizer where neither is given.
        scaler: How a window is scaled by its context: a `kerastrans.data.WindowScaler` or its
            kind: "standard", "mean_abs", "mase" (a mean absolute error is then a MASE), or None,
            as counts need it.
        fill: What the model sees of a missing value: None for the mean of the context, "last" for
            the last value before it in the context, "zero". The loss leaves missing targets out.
        past: Names of columns that are known for the past.
        future: Names of columns that are also known for the steps to forecast. The effect of a
            covariate is in units of each window's scale; in those of the series, and the same for
            all, where `scaler` is None, see `kerastrans.models.parts.regression.regress`.
        calendar: bool, whether hour, weekday ... are covariates; by default for "auto" alone.
        short: "pad" to forecast series shorter than the context, "refuse" to leave them out.
        num_samples: int, draws of each forecast of an autoregressive model (DeepAR).
        seed: int, of the weights, the order of windows and the samples.
        alias: Name of the forecast's columns; the architecture's by default.
        bounds: Pair of the least and the greatest value that the series can have, such as (0, None)
            for what cannot be negative. No point, quantile, sample or interval leaves them, in an
            exported file neither; a mean is the mean of the bounded distribution.
        **hyperparameters: Of the architecture.

    Attributes:
        config: `Config`, the given arguments, which never change.
        fitted: `FittedState`, which holds all that a forecast is made from, with the `config` that
            `fit` resolved; None before `fit`.
        faults: Dict of the series that the last call left out -> the reason.

    Raises:
        ValueError: An unknown name, hyperparameter or option, a size below 1.
        ValueError: Options that exclude each other; both are named.

    Example:
        >>> import kerastrans
        >>> frame = kerastrans.datasets.load("air_passengers")
        >>> forecaster = kerastrans.Forecaster("nlinear", 24, 12)
        >>> rows = forecaster.fit(frame, epochs=1, verbose=0).predict(frame)
        >>> list(rows.columns[:4])
        ['unique_id', 'ds', 'nlinear', 'nlinear-lo-80']
    """

    def __init__(
        self,
        model: ModelOrName = "auto",
        context_length: int | None = None,
        prediction_length: int | None = None,
        *,
        head: HeadOrName | None = None,
        loss: Any = None,
        optimizer: Any = "adam",
        scaler: Any = "standard",
        fill: str | None = None,
        past: Columns = (),
        future: Columns = (),
        calendar: bool | None = None,
        short: str = "pad",
        num_samples: int = 100,
        seed: int = 0,
        alias: str | None = None,
        bounds: Sequence[float | None] | None = None,
        **hyperparameters: Any,
    ) -> None:
        self.config = Config(
            model=model,
            context_length=context_length,
            prediction_length=prediction_length,
            head=head,
            loss=loss,
            optimizer=optimizer,
            scaler=scaler,
            fill=fill,
            past=past,
            future=future,
            calendar=calendar,
            short=short,
            num_samples=num_samples,
            seed=seed,
            alias=alias,
            bounds=bounds,
            hyperparameters=hyperparameters,
        )
        self.fitted = None
        self.faults = {}
        self._told = set()  # names of data sets, see `warn_if_seen`

    def fit(
        self,
        frame: pd.DataFrame | PathLike,
        *,
        static: pd.DataFrame | None = None,
        freq: str | None = None,
        validation: pd.DataFrame | None = None,
        validation_size: int | None = None,
        stride: int = 1,
        batch_size: int = 32,
        epochs: int | None = None,
        time_limit: float | None = 900,
        sampling: str = "windows",
        window_sampling_limit: int | None = None,
        distribute: str | None = None,
        checkpoint: PathLike | None = None,
        **kwargs: Any,
    ) -> Self:
        """Train the model; called again, go on training it: fine-tune it on other series.

        A fit that fails changes nothing. Conformal intervals of an earlier fit are dropped.

        Args:
            frame: Long or wide, in any order of rows; or the folder of Parquet files, each with a
                long frame of whole series, of which one at a time is in memory. Covariates are
                scaled, and their categories known, by the rows that train, of the first file.
            static: Frame with "unique_id" and static covariates, one row a series.
            freq: str, pandas frequency, where the time stamps do not tell it.
            validation: Frame whose rows do not train, but are held out, for `val_loss`: those that
                follow the rows of the same series, which are their context, or other series.
            validation_size: int, last steps of each series that are held out instead.
            stride: int, steps from one training window to the next.
            batch_size: int, windows in a training step.
            epochs: int. By default the end of each series is held out, or some of many short ones,
                see `training.defaults.held_out`. Where the loss there has not
                improved for 3 to 10 epochs, of at most 250 steps each, training goes back to the
                best epoch with a lower rate, and the third time ends with it; after 100 epochs at
                the latest. The forecast's spread is then scaled by the one number that suits the
                held-out part best, so that its intervals cover. At last that part trains too, for
                a tenth of the steps, at most 500, at the last rate, and the forecast stays as wide
                there; `validation` and `validation_size` never train. A given optimizer keeps its
                rate: training ends the first time, and what was held out does not train.
            time_limit: float, seconds after which no further epoch begins where `epochs` is not
                given, before the last steps on what was held out; None for none.
            sampling: "windows" to train on each window once an epoch; "series" to draw as many, so
                that every series is as likely as every other; "scale" so that a window is the more
                likely the larger its series' mean size, see `kerastrans.data.sampling`.
            window_sampling_limit: int, last steps of each series in which the forecasts begin that
                train, up to the very last; steps not known yet do not count. None for all.
            distribute: None for one device; "data" or "model" for all there are, see
                `kerastrans.distribution.distribute`.
            checkpoint: Folder where the state of the training is saved after every epoch. A fit
                that was interrupted is resumed by the same call, and ends with the same weights,
                bit for bit, as an uninterrupted one.
            **kwargs: Of `keras.Model.fit`: callbacks, verbose, steps_per_epoch ...

        Returns:
            The forecaster; `history` is Keras's.

        Raises:
            ValueError: Bad frames, see `kerastrans.data.panel.read_panel`; no window to train on;
                weights that are no longer finite.
            ValueError: A checkpoint of a training with other arguments; they are named.
            ValueError: A folder of several files, of which windows are to be drawn by series.
            RuntimeError: A backend that cannot distribute.
        """
        sampling = Sampling(stride, sampling, window_sampling_limit)
        options = {"validation_size": validation_size, "epochs": epochs, "time_limit": time_limit}
        training.check_options(self.config, **options, batch_size=batch_size, kwargs=kwargs)
        before = self.fitted
        config = before.config if before else self.config
        held_out = what_is_held_out(config, frame, validation, validation_size, epochs)
        reader, panels = open_training(config, before, frame, static, freq, held_out.of_all)
        validation = read_validation(reader, frame, panels, validation, static)
        with distributed(distribute) if distribute else contextlib.nullcontext():
            if before:
                model = fine_tuning.prepare_for_fine_tuning(before)
            else:
                model = build_for(reader.config, reader)
            options |= {"batch_size": batch_size, "checkpoint": checkpoint, **kwargs}
            options |= {"validation": validation}
            found = training.train(reader, model, panels, held_out, sampling, **options)
        examples, trained, history = found
        self._report(examples)
        model = fine_tuning.merge_adapters(before, model)
        chosen_by = examples.chosen_by if epochs is None or kwargs.get("callbacks") else {}
        facts = training.rows_seen(before, trained, chosen_by, history)
        facts |= fine_tuning.facts_that_stay(before) | {"history": history}
        parts = reader.clock, reader.covariates, reader.channels
        self.fitted = FittedState(reader.config, model, *parts, **facts)
        return self

    def __repr__(self):
        given = self.config.arguments()
        first = [repr(self.config.architecture or self.config.name)]
        first += [str(given[name]) for name in ("context_length", "prediction_length")]
        defaults = inspect.signature(type(self)).parameters
        shown = [
            f"{name}={value!r}"
            for name, value in given.items()
            if name not in ("model", "context_length", "prediction_length")
            and (name not in defaults or defaults[name].default != value)
            and not (name == "scaler" and value.kind == "standard")
        ]
        return f"Forecaster({', '.join(first + shown)})"

    @property
    def context_length(self) -> int | None:
        """Steps of history; before `fit` None if it is to choose them."""
        return self._resolved.context_length

    @property
    def prediction_length(self) -> int:
        """Steps of a forecast."""
        return self.config.prediction_length

    @property
    def alias(self) -> str:
        """Name of the forecast's columns; after `fit` that of the architecture it chose."""
        return self._resolved.name

    @property
    def model(self) -> Any:
        """The Keras model; None before `fit`, unless it was given."""
        if self.fitted is not None:
            return self.fitted.model
        return self.config.model if self.config.is_built else None

    @property
    def history(self) -> Any:
        """History of `keras.Model.fit`, None for a forecaster that was loaded."""
        return self.fitted and self.fitted.history

    @property
    def card(self) -> Any:
        """Dict of the origin of published weights; None for a model without."""
        return self.fitted and self.fitted.card

    @property
    def reader(self) -> Any:
        """`Reader` of frames as the training data were read."""
        return Reader.like(self._trained())

    def predict(
        self,
        frame: pd.DataFrame,
        *,
        future: pd.DataFrame | None = None,
        static: pd.DataFrame | None = None,
        levels: Levels | None = None,
    ) -> pd.DataFrame:
        """Forecast what comes after each series.

        A model that treats channels apart also takes frames of other columns than those it was
        trained on, and long ones: each series is then forecast by itself.

        Args:
            frame: As `fit` takes it; series may be new.
            future: Frame of the same kind, without values, with the future covariates of the
                `prediction_length` steps after each series.
            static: As in `fit`; with the column that `calibrate` was given as `by`, if any.
            levels: Percents of the intervals; 80 and 95 by default, as far as the head has them or
                `calibrate` was called. Those that a head of quantiles was not trained on are read
                between its quantiles, or extrapolated beyond them, see `QuantileHead`.

        Returns:
            DataFrame "unique_id", "ds", the forecast, named by `alias`, and for each level its
            interval "<alias>-lo-80", "<alias>-hi-80"; `prediction_length` rows a series and
            channel. The forecast is the head's point: the median of quantiles, the mean of
            distributions; "<alias>-median" accompanies a mean that is not the median. A series
            with a fault is left out, and named in a warning and in `faults`.

        Raises:
            RuntimeError: Not trained.
            ValueError: Bad frames; levels that there are none of.
        """
        state = adapt_to_frame(self._trained(), frame)
        levels = state.levels(levels)
        forecasts = predict_frame(state, frame, future, static, self._report)
        warn_if_seen(self.card, frame, self._told)
        forecasts, widths = forecasts.conformal(state.intervals, levels, static)
        return forecasts.frame(levels, widths, alias=self.alias)

    def forecast_histories(self, inputs: Any) -> Any:
        """Forecast from arrays, as an exported model does.

        Args:
            inputs: Dict of arrays by the names of the model's inputs: "history"
                `(batch, context_length, num_channels)` in the units of the series, NaN for a
                missing value, and what else the model asks for, as `Windows.arrays` makes it.

        Returns:
            Dict of float64 arrays: "forecast" `(batch, prediction_length, num_channels)` in the
            same units, and the head's "quantiles" or "parameters", or an autoregressive model's
            "samples", with a last axis.

        Raises:
            RuntimeError: Not trained.
        """
        state = self._trained()
        return state.output.outputs(forecast_arrays(state, inputs)[0])

    def backtest(
        self,
        frame: pd.DataFrame,
        *,
        windows: int = 5,
        step: int | None = None,
        static: pd.DataFrame | None = None,
        levels: Levels | None = None,
        refit: bool | int = False,
        train_size: int | None = None,
        **kwargs: Any,
    ) -> pd.DataFrame:
        """Forecast the end of each series from several origins, each from what lies before it.

        Args:
            frame: As in `fit`.
            windows: int, origins; the last leaves `prediction_length` steps to forecast.
            step: int, steps from one origin to the next; `prediction_length` by default.
            static: As in `fit`.
            levels: Percents of the intervals, as in `predict`.
            refit: bool, whether a new model is trained at each origin on what lies before it; the
                forecaster itself stays as it is. Otherwise the trained one forecasts all, and
                `frame` should end after its training data; a warning says where it does not.
            train_size: int, for `refit`: steps that each is trained on (a sliding window); None
                for all that lies before (an expanding window).
            **kwargs: For `refit`, arguments of `fit`.

        Returns:
            DataFrame "unique_id", "ds", "cutoff" (the last step known), "y", the forecast and its
            intervals. Adaptive intervals learn from each origin's outcomes once they are known.

        Raises:
            RuntimeError: Neither trained nor `refit`.
            ValueError: Bad frames; a series is too short for the first origin.
            ValueError: Arguments of `refit` without it; `validation` with it.
        """
        levels = levels if levels is None else check_percents(levels)
        origins = {"windows": windows, "step": step}
        if refit:
            options = {"static": static, "train_size": train_size, "fit_options": kwargs}
            run = rolling_origins.refit_origins(self, frame, **origins, **options)
        else:
            rolling_origins.check_not_refitted(train_size, kwargs)
            state = adapt_to_frame(self._trained(), frame)
            state.levels(levels)  # refused before any work
            run = rolling_origins.forecast_origins(state, frame, **origins, static=static)
        self._report(run.panel)
        warn_if_seen(self.card, frame, self._told)
        return run.rows(levels, static, self.alias)

    def calibrate(
        self,
        frame: pd.DataFrame,
        *,
        windows: int,
        step: int | None = None,
        static: pd.DataFrame | None = None,
        levels: Levels = LEVELS,
        method: str = "split",
        symmetric: bool | None = None,
        by: str | None = None,
        scale: str = "window",
    ) -> Self:
        """Measure on data that were not trained on how wide the intervals have to be.

        What is promised is a mean over the series that calibrate, or over those of a group, and
        over their origins; see `kerastrans.conformal`. An interval of 80 % needs 4 windows, one of
        95 % 19, and as many origins that do not overlap for the promise to be worth something: a
        warning says where there are fewer.

        Args:
            frame: As in `backtest`; the last `windows` origins, `step` apart, calibrate.
            windows: int, origins.
            step: int, steps from one origin to the next. By default the largest, up to
                `prediction_length`, at which all origins have a whole context and forecast rows
                that the model has not seen, in every series that has room for them; or else 1.
            static: As in `fit`.
            levels: Percents that the intervals are to cover.
            method: "split", for one width from now on, or "adaptive", which `backtest` goes on
                adapting to outcomes as they become known; `predict` has the width that the last of
                the calibration's outcomes left, and promises what "split" does.
            symmetric: bool, whether both bounds move alike. Otherwise each has its own offset, and
                is a quantile itself; that takes twice as many windows. By default it is False where
                the errors are skewed and the windows suffice; `fitted.intervals.symmetric` tells.
            by: "unique_id", or a column of `static`, for offsets of each series, or each group of
                them; others are given those of all series, and named in a warning.
            scale: "window", for offsets in units of each window's scale, or "residuals", for
                offsets that are also proportional to the mean absolute residual of each series:
                a noisy series is given wider intervals, of fewer windows than `by` asks for.

        Returns:
            The forecaster; `predict` and `backtest` now return these intervals.

        Raises:
            RuntimeError: Not trained.
            ValueError: Too few windows for a level, in all or in a group, which is named.
            ValueError: No such column in `static`; as `backtest`.
        """
        state = adapt_to_frame(self._trained().with_intervals(None), frame)
        found = calibration.calibrate(
            state,
            frame,
            windows=windows,
            step=step,
            static=static,
            levels=levels,
            method=method,
            symmetric=symmetric,
            by=by,
            scale=scale,
        )
        self._report(found.panel)
        warn_if_seen(self.card, frame, self._told)
        self.fitted = state.with_intervals(found.intervals)
        return self

    def variable_importances(
        self, frame: pd.DataFrame, *, static: pd.DataFrame | None = None
    ) -> Any:
        """How much a "tft" looks at each variable in the last windows of these series.

        Args:
            frame: As in `fit`; the windows end where the series do.
            static: As in `fit`.

        Returns:
            DataFrame with columns "kind", "variable" and "share", see
            `kerastrans.variable_importances`.

        Raises:
            RuntimeError: Not trained.
            ValueError: Bad frames, another architecture.
        """
        state = self._trained()
        panel = self.reader.panel(frame, static)
        self._report(panel)
        return importances_frame(state, panel)

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments as a dict of what JSON holds; `from_config` reads it.

        Raises:
            ValueError: A loss or a builder that Keras cannot write: register it with
                `keras.saving.register_keras_serializable`.
        """
        return write_arguments(self.config.arguments())

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Self:
        """A forecaster, not trained, of what `get_config` returned."""
        return cls(**read_arguments(config))

    def clone(self) -> Self:
        """A forecaster with the same arguments that is not trained.

        A given Keras model is re-initialised. Published weights are kept, and forecast at once.

        Raises:
            ValueError: The published weights are gone, since `fit` has trained them.
            ValueError: `kerastrans.select` made it: its members cannot be trained again together.
        """
        arguments = self.config.arguments()
        if self.card is not None:
            state = fine_tuning.copy_published_state(self.fitted)
            clone = type(self)(**{**arguments, "model": state.model})
            clone.fitted = replace(state, config=clone.config)
            return clone
        if self.fitted is not None and self.fitted.made_by is not None:
            raise ValueError(
                f"{self.alias} was made by {self.fitted.made_by}, whose members cannot be trained "
                "again as one model: call it on the rows before each origin."
            )
        if self.config.is_built:
            arguments["model"] = reinitialise(self.config.model, self.config.seed)
        return type(self)(**arguments)

    def save(self, path: PathLike, *, optimizer: bool = True) -> None:
        """Write the forecaster to a new folder: model.keras and forecaster.json.

        Args:
            path: Folder to write, which must not exist.
            optimizer: bool, whether the optimizer's state is kept, to go on training where it
                stopped; without it the file is a third of the size.

        Raises:
            FileExistsError: `path` exists.
            RuntimeError: Not trained.
            ValueError: A loss that Keras cannot write.
        """
        state = self._trained()
        with new_folder(path) as folder:
            write_files(self.config, state, folder, optimizer)

    def save_to_preset(
        self,
        folder: PathLike,
        *,
        licence: str | None = None,
        metrics: Any = None,
        dataset: str | None = None,
    ) -> None:
        """Write a preset: what `save` writes without the optimizer, checksums, and a model card.

        `kerastrans.zoo.from_preset` reads it back, `kerastrans.upload_preset` publishes it. The
        card is a README.md with the metadata that the Hugging Face hub reads, to be completed.

        Args:
            folder: Folder to write, which must not exist; its name is the preset's.
            licence: str, the hub's name of a licence, such as "apache-2.0"; by default that of the
                published weights, if the forecaster began with such, or else none is stated.
            metrics: Mapping from names of scores to numbers, such as a row of
                `kerastrans.backtesting.score`; those that are not finite are left out.
            dataset: str, name of the data that `metrics` are of.

        Raises:
            FileExistsError: `folder` exists.
            RuntimeError: Not trained.
            ValueError: Not the name of a licence.
            ValueError: Scores that are no numbers; one of `metrics` and `dataset` alone.

        Example:
            >>> import tempfile
            >>> from kerastrans import zoo
            >>> forecaster = zoo.from_preset("nhits_air_passengers_12")
            >>> with tempfile.TemporaryDirectory() as parent:
            ...     forecaster.save_to_preset(f"{parent}/passengers", licence="apache-2.0")
            ...     zoo.from_preset(f"{parent}/passengers").prediction_length
            12
        """
        facts = facts_of(self, licence, metrics, dataset)
        preset_files.write(self, folder, **facts)

    @classmethod
    def load(cls, path: PathLike) -> Self:
        """Read a forecaster back: every method gives what it gave before.

        Raises:
            FileNotFoundError: No forecaster at `path`.
            ValueError: A damaged file, a newer format, or a model that holds code.
        """
        arguments, restore = read_files(Path(path))
        loaded = cls(**arguments)
        loaded.fitted = restore(loaded.config)
        return loaded

    def export(self, path: PathLike, **kwargs: Any) -> Path:
        """Write what takes raw histories outside of Python, see `kerastrans.export.export`.

        NaN in a history is a missing value, before the start of a short series too; covariates
        enter encoded, as `metadata` describes. Conformal intervals stay in Python. It sees a
        context alone: where that hardly moves, `predict` has the scale of the whole series.

        Args:
            path: To write, which must not exist: a name that ends in .onnx or .tflite, or that of
                a SavedModel's folder.
            **kwargs: Of the format, such as `quantize` for .tflite.

        Raises:
            RuntimeError: Not trained.
            ValueError: A model that cannot be exported.
            FileExistsError: `path` exists.
        """
        state = self._trained()
        return export(
            state.model,
            path,
            scaler=state.config.scaler,
            fill=state.config.fill,
            bounds=state.config.bounds,
            short=state.config.short,
            metadata=self.metadata,
            **kwargs,
        )

    @property
    def metadata(self) -> dict[str, Any]:
        """Metadata of an exported or served model, beyond its shapes."""
        fitted = self._trained()
        covariates = fitted.covariates.to_dict()
        facts = {
            "architecture": fitted.config.architecture,
            "channels": list(fitted.channels or ["y"]),
            "frequency": fitted.freq,
        }
        if any(covariates.values()):
            facts["covariates"] = covariates
        if fitted.config.calendar:
            facts["calendar"] = list(fitted.clock.calendar_names)
        return facts

    @property
    def _resolved(self):
        """The config that `fit` resolved, or the given one before."""
        return self.config if self.fitted is None else self.fitted.config

    def _trained(self):
        if self.fitted is None:
            raise RuntimeError("this forecaster is not trained: call fit first.")
        return self.fitted

    def _report(self, panel):
        """Keep the faults of series that are left out, and warn of them."""
        self.faults = dict(panel.faults)
        report_faults(self.faults, len(panel))
