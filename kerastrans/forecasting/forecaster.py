"""The Forecaster: fit a Keras model on data frames and predict data frames with intervals."""

import inspect
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self, Unpack

import keras
from narwhals.typing import IntoDataFrame, IntoDataFrameT

from kerastrans.data.frames import ID, TIME
from kerastrans.data.native_frames import takes_any_frame
from kerastrans.data.tables.reader import read_as_of
from kerastrans.data.time.frequency import check_same_frequency
from kerastrans.evaluation.columns import CONTAMINATION, CUTOFF
from kerastrans.forecasting import inference, paths, training
from kerastrans.forecasting.inference.config import AUTO, Config
from kerastrans.forecasting.inference.contamination import describe_contamination, warn_if_seen
from kerastrans.forecasting.inference.forecast import forecast_outputs, forecast_table, read_windows
from kerastrans.forecasting.inference.horizon import with_horizon
from kerastrans.forecasting.inference.model import reinitialise
from kerastrans.forecasting.inference.model_card import facts_of
from kerastrans.forecasting.inference.reader import Reader, report_faults
from kerastrans.forecasting.inference.recipe import (
    Training,
    TrainingChanges,
    resolve_training,
    training_of,
    warn_not_repeated,
)
from kerastrans.forecasting.inference.state import LEVELS
from kerastrans.utils.files import new_folder
from kerastrans.utils.types import Columns, HeadOrName, Levels, ModelOrName, PathLike
from kerastrans.utils.user_warnings import warn_user
from kerastrans.utils.validation import (
    check_percents,
    check_positive_integers,
    check_seed,
    check_thresholds,
)


class Forecaster:
    """One model for many series, fitted on data frames and predicting data frames.

    Frames are long, with the columns "unique_id", "ds" and "y"; or wide, with a DatetimeIndex and
    one column per channel of a single series. They may be polars or pyarrow frames, whose forecasts
    are frames of the same kind; a wide one has the column "ds" instead of an index. Each window is
    scaled by its own context, so that one model is trained on series of all sizes, and forecasts
    new series without training.

    Args:
        model: Name of an architecture, see `kerastrans.zoo.names`. By default "auto": `fit` chooses
            an architecture and the calendar, see `training.defaults.resolve_config`, or uses
            "kerastrans_zero_2" without training, or the average of both, see
            `training.comparison.Comparison.decide`. Or a functional Keras model with the same
            inputs and outputs, or a function `(context_length, prediction_length, num_channels,
            **hyperparameters)` that builds one.
        context_length: int, number of steps of history. By default `fit` chooses it from the
            frequency and the lengths of the series, see `training.defaults.resolve_config`; taken
            from the model if a Keras model is given.
        prediction_length: int, number of steps to forecast; taken from the model if a Keras model
            is given.
        head: Output head, see `kerastrans.heads.get`. By default quantiles; Student's t for
            DeepAR, which draws samples; points for models without weights.
        loss: Loss that replaces that of the head: a Keras loss, or, for points, a name of
            `heads.PointError`.
        optimizer: Name or Keras optimizer. A compiled model keeps its loss and its optimizer if
            neither is given.
        scaler: How a window is scaled by its context: a `kerastrans.data.WindowScaler` or its
            kind: "standard", "mean_abs", "mase" (a mean absolute error is then a MASE), or None,
            which is required for count data.
        fill: Value that replaces a missing value in the model's input: None for the mean of the
            context, "last" for the last value before it in the context, or "zero". The loss
            ignores missing targets.
        past: Names of columns that are known for the past.
        future: Names of columns that are also known for the steps to forecast. The effect of a
            covariate is measured in the scale of each window; if `scaler` is None, in units of
            the series, and the same for all, see `kerastrans.models.parts.regression.regress`.
        calendar: bool, whether calendar features (hour, weekday ...) are covariates; by default
            only for "auto".
        short: "pad" to forecast series shorter than the context, "refuse" to leave them out.
        num_samples: int, number of samples per forecast of an autoregressive model.
        seed: int, seed of the weights, the order of windows and the samples.
        alias: Name of the forecast column; by default that of the architecture.
        bounds: Pair of the smallest and the largest value that the series can have, such as
            (0, None) for series that cannot be negative, or (0, "capacity") for a column of the
            frames that is also known for the steps to forecast. Points, quantiles, samples and
            intervals stay within the bounds, in exported files too; a mean is the mean of the
            bounded distribution.
        size: Name of a size of the architecture, one of `kerastrans.zoo.info(model).sizes`:
            "laptop", "paper", or that of the authors' script for a data set and a number of steps,
            such as "etth1_96". It has the hyperparameters of the script only, not its context,
            learning rate or epochs. By default the defaults of the builder.
        training: `kerastrans.Training`, how `fit` trains the model.
        **hyperparameters: Hyperparameters of the architecture, which replace those of `size`.

    Attributes:
        config: `Config`, the given arguments, which never change.
        fitted: `FittedState`, everything that a forecast is made from, with the `config` that
            `fit` resolved; None before `fit`.
        faults: Dict of series that the last call left out -> reason.

    Raises:
        ValueError: If a name, size, hyperparameter or option is unknown, or a length is below 1.
        ValueError: If options cannot be combined; the message names both.

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
        bounds: Sequence[float | str | None] | None = None,
        size: str | None = None,
        training: Training = Training(),
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
            size=size,
            training=training,
            hyperparameters=hyperparameters,
        )
        self.fitted = None
        self.faults = {}
        self._told = set()  # names of data sets, see `warn_if_seen`
        self._was_trained = False  # whether the given Keras model was, before `fit`

    @takes_any_frame
    def fit(
        self,
        frame: IntoDataFrame | PathLike,
        *,
        static: IntoDataFrame | None = None,
        freq: str | None = None,
        validation: IntoDataFrame | None = None,
        distribute: str | None = None,
        checkpoint: PathLike | None = None,
        callbacks: Any = None,
        verbose: Any = None,
        **changes: Unpack[TrainingChanges],
    ) -> Self:
        """Train the model; if called again, continue to train it, for example on other series.

        A fit that fails changes nothing. Conformal intervals of an earlier fit are dropped. How the
        model is trained is said by `config.training`, and by the fields of it that this call
        changes, as in `fit(frame, epochs=3)`; `fitted.fits` has what each call has followed.

        The first call trains the Keras model that was passed, if any. A later one trains a copy,
        which becomes `model` at its end: forecasts in other threads come from the former weights
        meanwhile.

        Args:
            frame: Long or wide frame, with rows and series in any order, which changes nothing; or
                path of a folder of Parquet files, each with a long frame of whole series, one of
                which is in memory at a time, in the order of their paths.
                Covariate scales and categories are computed from the training rows of the first
                file, and from whole series that are held out.
            static: Frame with "unique_id" and static covariates, one row per series.
            freq: str, pandas frequency, if it cannot be inferred from the time stamps.
            validation: Frame of validation rows, for `val_loss`: rows that follow those of the same
                series, which serve as their context, or other series.
            distribute: None for one device; "data" or "model" for all devices, see
                `kerastrans.distribution.distribute`.
            checkpoint: Path of a folder where the state of the training is saved after every
                epoch. If a fit was interrupted, the same call resumes it, and results in exactly
                the weights of an uninterrupted one.
            callbacks: Callback of Keras, or list of them.
            verbose: See `keras.Model.fit`; None for a line for each epoch of early stopping.
            **changes: Fields of `kerastrans.Training`, for this call.

        Returns:
            The forecaster, with the history of Keras as `history`.

        Raises:
            ValueError: If frames are invalid, see `kerastrans.data.panel.read_panel`, there is no
                window to train on, or weights are no longer finite.
            ValueError: If the checkpoint belongs to a training with other arguments, which the
                message names.
            ValueError: If windows are to be drawn by series from a folder of several files.
            TypeError: If an argument is unknown; the nearest known one is suggested.
            RuntimeError: If the backend cannot distribute.
        """
        arguments = inspect.signature(Forecaster.fit).parameters.keys() - {"self", "changes"}
        recipe = resolve_training(self.config.training, changes, arguments)
        recipe.check_horizon(self.prediction_length)
        if self.config.is_built:  # known before it is compiled again, with a new optimizer
            self._was_trained = self._was_trained or training.loop.was_trained(self.config.model)
        frames = {"static": static, "freq": freq, "validation": validation}
        options = {"checkpoint": checkpoint, "callbacks": callbacks, "verbose": verbose}
        options |= {"distribute": distribute, "was_trained": self._was_trained}
        options |= {"read_as": read_as_of(frame) or self.read_as}
        fitted = training.fit.fit(self.config, self.fitted, frame, recipe, frames, **options)
        self.fitted, source = fitted
        self._report(source)  # a warning can be an error, which finds a trained forecaster
        return self

    def __repr__(self):
        given = self.config.arguments()
        first = [repr(self.config.architecture or self.config.name)]
        first += [str(given[name]) for name in ("context_length", "prediction_length")]
        defaults = inspect.signature(type(self)).parameters
        shown = [
            f"{name}={_short_repr(value)}"
            for name, value in given.items()
            if name not in ("model", "context_length", "prediction_length")
            and (name not in defaults or defaults[name].default != value)
            and not (name == "scaler" and value.kind == "standard")
        ]
        is_chosen = self.fitted is not None and self.config.model == AUTO
        chosen = f"  # {self.alias}, {self.context_length} steps of context" if is_chosen else ""
        return f"Forecaster({', '.join(first + shown)}){chosen}"

    @property
    def context_length(self) -> int | None:
        """Number of steps of history; None before `fit` if it was not given."""
        return self._resolved.context_length

    @property
    def prediction_length(self) -> int:
        """Number of steps to forecast."""
        return self.config.prediction_length

    @property
    def alias(self) -> str:
        """Name of the forecast column; after `fit` that of the chosen architecture."""
        return self._resolved.name

    @property
    def model(self) -> keras.Model:
        """The Keras model; None before `fit` unless it was given."""
        if self.fitted is not None:
            return self.fitted.model
        return self.config.model if self.config.is_built else None

    @property
    def history(self) -> Any:
        """History of `keras.Model.fit`; None for a loaded forecaster."""
        return self.fitted and self.fitted.history

    @property
    def card(self) -> Any:
        """Dict that describes the origin of published weights; None for other models."""
        return self.fitted and self.fitted.card

    @property
    def fine_tuning(self) -> Any:
        """Dict of which weights `fit` kept: "published", "trained", or the "average" of "auto".

        "loss_change" is the relative change of the quantile loss of so many held-out "windows" by
        training, "standard_error" its error, and "average_change" that of the average; "reason"
        says why nothing was compared, if so. None for other models and before `fit`.
        """
        return self.fitted and self.fitted.fine_tuning

    @property
    def read_as(self) -> dict[str, str] | None:
        """Dict of how the training data were read, the `like` of `kerastrans.data.read_table`.

        Files that the command line and the service read, and text in the column "ds" of frames,
        are read in the same way if they can be read in two ways. None if it is not known.
        """
        return self.fitted and self.fitted.read_as

    @property
    def reader(self) -> Any:
        """`Reader` that reads frames as the training data were read."""
        return Reader.like(self._trained())

    @takes_any_frame
    def predict(
        self,
        frame: IntoDataFrameT,
        *,
        future: IntoDataFrame | None = None,
        static: IntoDataFrame | None = None,
        levels: Levels | None = None,
        prediction_length: int | None = None,
        freq: str | None = None,
        exceeds: float | Sequence[float] = (),
    ) -> IntoDataFrameT:
        """Forecast the steps after the end of each series.

        A model that does not mix channels also takes long frames, and wide frames with other
        columns than those it was trained on: each series is then forecast by itself.

        The forecast of a series begins after its last known value. If values are missing at the end
        of its rows, they are a part of the horizon, and the steps after the last row are returned:
        those within the horizon of the model are its own, and others are continued from sample
        paths. With `fill="zero"` a missing value is a value.

        Args:
            frame: As in `fit`; it may hold new series. Rows without a value at the end of a series
                have its future covariates.
            future: Frame of the same kind, without values, with the future covariates of the
                `prediction_length` steps after the last row of each series.
            static: As in `fit`; with the column that was given to `calibrate` as `by`, if any.
            levels: Percents of the intervals; by default 80 and 95, if the head provides them or
                `calibrate` was called. Levels that a quantile head was not trained on are
                interpolated between its quantiles, or extrapolated beyond them, see
                `QuantileHead`.
            prediction_length: int, number of steps, by default the trained one. For fewer steps,
                the first ones are returned. For more, an autoregressive model decodes more steps;
                another model forecasts again after `num_samples` sample paths of its forecast, so
                that its intervals grow, see
                `kerastrans.forecasting.inference.continuation.Continuation`. Conformal intervals
                for the trained number of steps are repeated in each of these forecasts.
            freq: str, pandas frequency, for published weights, which read any; required if it
                cannot be inferred from the time stamps.
            exceeds: Threshold, or several, in the units of the series. For each, a column such as
                "<alias>-exceeds-3" has the probability of a value above it, by the distribution of
                the head, its quantiles, its samples or the conformal intervals.

        Returns:
            DataFrame with the columns "unique_id", "ds", the forecast, named by `alias`, and for
            each level its interval "<alias>-lo-80", "<alias>-hi-80"; it has `prediction_length`
            rows per series and channel. The forecast is the point of the head: the median of
            quantiles, the mean of distributions; if a mean is not the median, there is a column
            "<alias>-median". Invalid series are left out, and named in a warning and in `faults`.

        Raises:
            RuntimeError: If the forecaster is not trained.
            ValueError: If frames are invalid, or levels are not available.
            ValueError: If covariates or conformal intervals are not known for a later step.
            ValueError: If a threshold is not a finite number, or the forecast is a point without
                conformal intervals.

        Warns:
            UserWarning: If series end with missing values, and how many of them with more than
                `prediction_length`; if past covariates after the last known value are not used.
        """
        thresholds = check_thresholds(exceeds)
        state = with_horizon(self._state_for(frame, future, freq), prediction_length)
        levels = state.levels(levels)
        if thresholds:
            state.check_has_distribution("exceeds")
        windows = read_windows(state, frame, future, static, self._report)
        rows = forecast_table(state, windows, static, levels, thresholds, self.alias)
        warn_if_seen(self.fitted, self.alias, frame, self._told)
        return rows

    @takes_any_frame
    def simulate(
        self,
        frame: IntoDataFrameT,
        *,
        num_paths: int = 100,
        seed: int = 0,
        future: IntoDataFrame | None = None,
        static: IntoDataFrame | None = None,
        prediction_length: int | None = None,
        freq: str | None = None,
    ) -> IntoDataFrameT:
        """Draw sample paths of the steps after the end of each series.

        Sums, peaks and other functions of several steps or series are computed path by path, see
        `kerastrans.paths`. At each step, the quantiles of the paths are those that
        `predict` reports, up to `1 / num_paths`, within conformal intervals and bounds.

        Steps and series depend on each other as the errors of the model did: on the rows that
        `calibrate` used, or that `fit` held out; if neither learnt it, in the given history, see
        `kerastrans.forecasting.dependence.Dependence`. The paths of an autoregressive model are its
        own draws, independent from series to series. Each patch is drawn given those before it, and
        its steps depend on each other as the errors of the network did, see
        `kerastrans.layers.UnfoldPatches`. Channels that such a model mixes are drawn together.

        Args:
            frame: As in `predict`.
            num_paths: int, number of paths of each series.
            seed: int, seed of the paths. The paths of a series do not depend on the other series
                in the frame, unless the dependence is learnt from it.
            future: As in `predict`.
            static: As in `predict`.
            prediction_length: As in `predict`.
            freq: As in `predict`.

        Returns:
            DataFrame with the columns "unique_id", "ds", "path", an int from 0, and the values,
            named by `alias`. Rows with the same path belong together, also those of different
            series. 64 bytes per row are needed in memory.

        Raises:
            RuntimeError: If the forecaster is not trained.
            ValueError: If frames are invalid, or the paths need too much memory.
            ValueError: If the forecast is a point without conformal intervals.

        Warns:
            UserWarning: If the model draws patches of several steps.

        Source: Gneiting, Stanberry, Grimit, Held, Johnson (2008); Packham, Schmidt (2010) for
        paths whose quantiles are exact.

        Example:
            >>> import kerastrans
            >>> forecaster = kerastrans.zoo.from_preset("nhits_air_passengers_12")
            >>> frame = kerastrans.datasets.load("air_passengers")
            >>> paths = forecaster.simulate(frame, num_paths=5)
            >>> list(paths.columns), len(paths)
            (['unique_id', 'ds', 'path', 'nhits'], 60)
        """
        check_positive_integers(num_paths=num_paths)
        check_seed(seed)
        state = with_horizon(self._state_for(frame, future, freq), prediction_length)
        state = state.with_samples(num_paths, seed)
        windows = read_windows(state, frame, future, static, self._report)
        num_series = windows.panel.names.size
        paths.simulation.check_memory(num_paths, windows.prediction_length, num_series)
        drawn = paths.simulation.simulate(state, windows, num_paths, seed, static, self.alias)
        warn_if_seen(self.fitted, self.alias, frame, self._told)
        return drawn

    def forecast_histories(self, inputs: Any) -> Any:
        """Forecast from arrays, as an exported model does.

        Args:
            inputs: Dict of arrays by the names of the model's inputs: "history"
                `(batch, context_length, num_channels)` in the units of the series, NaN for a
                missing value; the other inputs as `Windows.arrays` encodes them; and
                "lower_bound" or "upper_bound" `(batch, prediction_length, 1)` if that bound is a
                column.

        Returns:
            Dict of float64 arrays: "forecast" `(batch, prediction_length, num_channels)` in the
            same units, NaN for as many last steps as values are missing at the end of the history,
            and, with a last axis, the "quantiles" or "parameters" of the head, or the
            "samples" of an autoregressive model.

        Raises:
            RuntimeError: If the forecaster is not trained.
        """
        return forecast_outputs(self._trained(), inputs)

    @takes_any_frame
    def backtest(
        self,
        frame: IntoDataFrameT,
        *,
        windows: int = 5,
        step: int | None = None,
        static: IntoDataFrame | None = None,
        levels: Levels | None = None,
        refit: bool | int = False,
        train_size: int | None = None,
        prediction_length: int | None = None,
        exceeds: float | Sequence[float] = (),
        freq: str | None = None,
        **kwargs: Any,
    ) -> IntoDataFrameT:
        """Forecast the end of each series from several origins, each with the rows before it.

        Args:
            frame: As in `fit`.
            windows: int, number of origins; the last one is `prediction_length` steps before the
                end of each series. A series with rows for fewer of them has the last ones.
            step: int, number of steps from one origin to the next; by default `prediction_length`.
            static: As in `fit`.
            levels: Percents of the intervals, as in `predict`.
            refit: bool, whether to train a new model at each origin, on the rows before it; or
                int, number of origins after which a new one is trained: 7 trains at every seventh
                origin, from the first one on, and forecasts the others with the last model. The
                forecaster itself does not change. If False, the trained model makes all forecasts,
                and a warning says if it was trained on rows that it forecasts.
            train_size: int, for `refit`: number of steps to train each model on (a sliding
                window); None for all rows before the origin (an expanding window).
            prediction_length: As in `predict`; it cannot be combined with `refit`.
            exceeds: As in `predict`.
            freq: As in `predict`.
            **kwargs: Arguments of `fit`, for `refit`. Fields of `kerastrans.Training` replace those
                of the first `fit` from new weights, which are used otherwise.

        Returns:
            DataFrame with the columns "unique_id", "ds", "cutoff" (the step before the origin), "y"
            and the forecast, which begins after the last known value up to the cutoff, with its
            intervals. Adaptive intervals are updated at each origin with the
            outcomes known by then. `attrs["contamination"]` says whether the weights were trained
            on these series, see `kerastrans.report.contamination_lines`.

        Raises:
            RuntimeError: If the forecaster is not trained, unless `refit` is given.
            ValueError: If frames are invalid, or all series are too short for an origin.
            ValueError: If arguments of `fit` are given without `refit`, or `validation` with it.
            ValueError: If a threshold is not a finite number, or the forecast is a point without
                conformal intervals.

        Warns:
            UserWarning: If series have fewer origins than `windows`.
        """
        thresholds = check_thresholds(exceeds)
        check_positive_integers(windows=windows, **({} if step is None else {"step": step}))
        levels = levels if levels is None else check_percents(levels)
        origins = {"windows": windows, "step": step, "static": static}

        def table(state, cuts):
            options = state.levels(levels), thresholds, self.alias
            return forecast_table(state, cuts, static, *options, is_backtest=True)

        if refit is not False:
            inference.rolling_origins.check_trained_horizon(prediction_length)
            options = {"train_size": train_size, "fit_options": kwargs | {"freq": freq}}
            options["every"] = 1 if refit is True else refit
            run = inference.rolling_origins.refit_origins(self, frame, table, **origins, **options)
        else:
            inference.rolling_origins.check_not_refitted(train_size, kwargs)
            state = with_horizon(self._state_for(frame, None, freq), prediction_length)
            state.levels(levels)  # refused before any work
            if thresholds:
                state.check_has_distribution("exceeds")
            run = inference.rolling_origins.forecast_origins(state, frame, table, **origins)
        self._report(run.panel)
        warn_if_seen(self.fitted, self.alias, frame, self._told)
        rows = run.rows.sort_values([ID, CUTOFF, TIME], ignore_index=True)
        line = describe_contamination(run.state, self.alias, frame)
        rows.attrs[CONTAMINATION] = {self.alias: line}
        return rows

    @takes_any_frame
    def calibrate(
        self,
        frame: IntoDataFrame,
        *,
        windows: int,
        step: int | None = None,
        static: IntoDataFrame | None = None,
        levels: Levels = LEVELS,
        method: str = "split",
        symmetric: bool | None = None,
        by: str | None = None,
        scale: str = "window",
        prediction_length: int | None = None,
        freq: str | None = None,
    ) -> Self:
        """Calibrate conformal intervals on data that the model was not trained on.

        Coverage is guaranteed on average over the calibration series (or a group of them) and
        their origins, see `kerastrans.conformal`. An interval of 80 % requires 4 windows, one of
        95 % 19 windows, and the same number of non-overlapping origins for the guarantee to be
        meaningful; a warning says if there are fewer.

        Args:
            frame: As in `backtest`; the last `windows` origins, `step` apart, are used. Calibrated
                on other series, a forecaster of a wide frame forecasts single series from then on.
            windows: int, number of origins.
            step: int, number of steps from one origin to the next. By default the largest number,
                up to `prediction_length`, for which all origins have a complete context and
                forecast rows that the model was not trained on, in every series that is long
                enough for them; otherwise 1.
            static: As in `fit`.
            levels: Percents of the intervals to calibrate.
            method: "split", for fixed offsets, or "adaptive", for offsets that `backtest` continues
                to update as outcomes become known. `predict` uses the offsets after the last
                calibration outcome, with the guarantee of "split".
            symmetric: bool, whether both bounds of an interval have the same offset. If False, each
                bound has its own offset and is a valid quantile, which requires twice as many
                windows. By default False if the errors are skewed and there are enough windows;
                `fitted.intervals.symmetric` has the choice.
            by: "unique_id", or a column of `static`, to calibrate each series, or each group of
                series, separately. Unknown series and groups are given the offsets of all series,
                with a warning.
            scale: "window", for offsets in units of the scale of each window, or "residuals", for
                offsets that are also proportional to the mean absolute residual of each series:
                noisy series are given wider intervals, from fewer windows than `by` requires.
            prediction_length: int, number of steps to calibrate, by default the trained one, whose
                intervals also apply to longer forecasts. Intervals for more steps are measured on
                such forecasts; intervals for fewer steps are those of shorter forecasts only.
            freq: As in `predict`.

        Returns:
            The forecaster; `predict`, `backtest` and `simulate` now use these intervals. A median
            outside of the narrowest one is moved to its nearest bound. It also
            has the dependence of the errors on the calibration rows, see `simulate`, unless it was
            calibrated for fewer steps than it was trained for.

        Raises:
            RuntimeError: If the forecaster is not trained.
            ValueError: If there are too few windows for a level, in all or in a group, which the
                message names.
            ValueError: If `static` does not have the column; as for `backtest`.
        """
        state = inference.adaptation.adapt_to_frame(self._trained().with_intervals(None), frame)
        found = inference.calibration.calibrate(
            with_horizon(self._at_clock(state, frame, None, freq), prediction_length),
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
        warn_if_seen(self.fitted, self.alias, frame, self._told)
        self.fitted = inference.calibration.with_calibration(state, found, static)
        return self

    @takes_any_frame
    def covariate_importances(
        self,
        frame: IntoDataFrameT,
        *,
        windows: int = 20,
        step: int | None = None,
        repeats: int = 5,
        static: IntoDataFrame | None = None,
        seed: int = 0,
    ) -> IntoDataFrameT:
        """Return by how much the error of forecasts grows without the information of a covariate.

        The values of a covariate are exchanged at random between the windows of a backtest, so that
        they no longer belong to the series they are given with. This works for every model with
        covariates. Covariates that depend on each other share their importance.

        Args:
            frame: As in `fit`; best with rows that the model was not trained on.
            windows: int, number of origins, see `backtest`.
            step: int, see `backtest`.
            repeats: int, number of exchanges of each covariate.
            static: As in `fit`.
            seed: int, seed of the exchanges.

        Returns:
            DataFrame with the columns "kind", "variable"; "increase", the increase of the mean
            absolute error in units of the scales of the windows, as a share of the error; and
            "low" and "high", its 95 % interval over the origins. The largest increase is first.

        Raises:
            RuntimeError: If the forecaster is not trained.
            ValueError: If frames are invalid, the model has no covariates, or no series is long
                enough.

        Source: Breiman (2001); Fisher, Rudin, Dominici (2019).
        """
        check_positive_integers(windows=windows, repeats=repeats, step=1 if step is None else step)
        check_seed(seed)
        state = self._trained()
        if not any(state.covariates.sizes().values()):
            raise ValueError("the forecaster has no covariates: give past, future or static.")
        step = step or state.config.prediction_length
        state = inference.adaptation.adapt_to_clock(state, frame)
        panel = Reader.like(state).panel(frame, static)
        panel = inference.rolling_origins.long_enough(state.config, panel, windows, step)
        self._report(panel)
        cuts = inference.rolling_origins.origins(
            panel, state.config.prediction_length, windows, step
        )
        return inference.importances.permutation_importances(state, panel, cuts, repeats, seed)

    @takes_any_frame
    def variable_importances(
        self, frame: IntoDataFrame, *, static: IntoDataFrame | None = None
    ) -> Any:
        """Return how much a "tft" uses each variable in the last windows of these series.

        Args:
            frame: As in `fit`; the last window of each series is used.
            static: As in `fit`.

        Returns:
            DataFrame with columns "kind", "variable" and "share", see
            `kerastrans.variable_importances`.

        Raises:
            RuntimeError: If the forecaster is not trained.
            ValueError: If frames are invalid, or the architecture is not "tft".
        """
        state = self._trained()
        panel = self.reader.panel(frame, static)
        panel = inference.rolling_origins.long_enough(state.config, panel, 1, 1)
        self._report(panel)
        return inference.importances.importances_frame(state, panel)

    @takes_any_frame
    def explain(
        self, frame: IntoDataFrameT, *, future: IntoDataFrame | None = None, freq: str | None = None
    ) -> IntoDataFrameT:
        """Return the past values and corrections that each forecast of kerastrans-zero sums.

        The forecast, a median, is a weighted mean of past values and of the mean of the window,
        whose shares sum to 1, plus corrections. The network chooses all of them from the same
        window, so that a share is an exact part of this forecast; it is not the derivative of the
        forecast by the value.

        Args:
            frame: As in `predict`.
            future: As in `predict`.
            freq: As in `predict`.

        Returns:
            DataFrame with one row per series, step and part, and the columns "unique_id"; "ds", the
            step that is forecast; "part"; "lag"; "source", the time stamp of a past value; "value",
            "share" and "contribution". The contributions of a step sum to its forecast, before
            `bounds` are applied. The parts are:

            - "past value": a value of the same phase, one to six cycles of `lag` steps ago. Its
              contribution is `share * value`. Values with a share of 0 are left out.
            - "mean": the mean of the window, with the remaining share. With the option `season`,
              the mean of this value and of the mean of the values of the same phase.
            - "recent changes": a multiple of the mean recent differences from the values `lag`
              steps earlier.
            - "slope": a multiple of the trend of the last `lag` steps, continued to this step.
            - "offset": what the network adds by itself.
            - "regression", only with the option `season`: how far a regression on earlier cycles
              moves the forecast. For seasons of less than 24 steps it is "drift": how far a
              seasonal naive forecast and exponential smoothing with drift move it.
            - "covariate wind", one part for each covariate by its name: its effect. Past values and
              their mean are then those of the series without the effects of all covariates.

        Raises:
            RuntimeError: If the forecaster is not trained.
            ValueError: If the model is not kerastrans_zero, or frames are invalid.

        Example:
            >>> import kerastrans
            >>> frame = kerastrans.datasets.load("air_passengers")
            >>> zero = kerastrans.from_pretrained("kerastrans_zero_2", 12, verbose=False)
            >>> rows = zero.explain(frame)
            >>> january = rows[rows["ds"] == "1961-01-01"]
            >>> [round(float(january[x].sum()), 2) for x in ("share", "contribution")]
            [1.0, 445.06]
        """
        from kerastrans.forecasting.inference.explanation import check_explains, explanation_frame

        state = self._trained()
        check_explains(state, self.alias)
        state = self._at_clock(state, frame, future, freq)
        windows = read_windows(state, frame, future, None, self._report)
        return explanation_frame(state, windows)

    def get_config(self) -> dict[str, Any]:
        """Return the constructor arguments as a dict ready for JSON, which `from_config` reads.

        Raises:
            ValueError: If Keras cannot serialize a loss or a builder: register it with
                `keras.saving.register_keras_serializable`.
        """
        return inference.serialization.write_arguments(self.config.arguments())

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Self:
        """Return an untrained forecaster with the arguments that `get_config` returned."""
        return cls(**inference.serialization.read_arguments(config))

    def clone(self) -> Self:
        """Return an untrained forecaster with the same arguments.

        Its `training` is that of the first `fit` from new weights. If a Keras model was passed, it
        is re-initialised. Published weights are kept, so that the clone can predict without
        training.

        Warns:
            UserWarning: If there were later calls of `fit`, or callbacks or a frame of validation
                rows, which are not repeated.

        Raises:
            ValueError: If `fit` has changed the published weights.
            ValueError: If `select` or `combine` made the forecaster: its members cannot be trained
                again as one model.
        """
        arguments = self.config.arguments() | {"training": training_of(self.config, self.fitted)}
        if self.card is not None and self.config.model != AUTO:
            state = training.fine_tuning.copy_published_state(self.fitted)
            size = {"context_length": state.config.context_length}
            clone = type(self)(**{**arguments, "model": state.model, **size})
            clone.fitted = replace(state, config=clone.config)
            return clone
        if self.fitted is not None and self.fitted.made_by is not None:
            raise ValueError(
                f"{self.alias} was made by {self.fitted.made_by}, whose members cannot be trained "
                "again as one model: call it on the rows before each origin."
            )
        warn_not_repeated(self.fitted)
        if self.config.is_built:
            arguments["model"] = reinitialise(self.config.model, self.config.seed)
        return type(self)(**arguments)

    def save(self, path: PathLike, *, optimizer: bool = True) -> None:
        """Write the forecaster to a new folder: model.keras and forecaster.json.

        Args:
            path: Path of the folder, which must not exist.
            optimizer: bool, whether to write the state of the optimizer, which is needed to
                continue the training as if it had not stopped; without it, the file is a third of
                the size.

        Raises:
            FileExistsError: If `path` exists.
            RuntimeError: If the forecaster is not trained.
            ValueError: If Keras cannot serialize a loss.
        """
        state = self._trained()
        with new_folder(path) as folder:
            inference.serialization.write_files(self.config, state, folder, optimizer)

    def save_to_preset(
        self,
        folder: PathLike,
        *,
        licence: str | None = None,
        metrics: Any = None,
        dataset: str | None = None,
    ) -> None:
        """Write a preset: the files of `save` without the optimizer, checksums and a model card.

        `kerastrans.zoo.from_preset` reads a preset, `kerastrans.upload_preset` publishes it. The
        card is a README.md with the metadata that the Hugging Face hub reads, to be completed.

        Args:
            folder: Path of the folder, which must not exist; its name is that of the preset.
            licence: str, name of a licence on the hub, such as "apache-2.0"; by default that of the
                published weights the forecaster began with, if any.
            metrics: Mapping from names of scores to numbers, such as a row of
                `kerastrans.backtesting.score`; scores that are not finite are left out.
            dataset: str, name of the data of `metrics`.

        Raises:
            FileExistsError: If `folder` exists.
            RuntimeError: If the forecaster is not trained.
            ValueError: If `licence` is not the name of a licence.
            ValueError: If scores are not numbers, or only one of `metrics` and `dataset` is given.

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
        inference.preset_files.write(self, folder, **facts)

    @classmethod
    def load(cls, path: PathLike) -> Self:
        """Read a forecaster that `save` wrote; all of its methods give the same results.

        Raises:
            FileNotFoundError: If there is no forecaster at `path`.
            ValueError: If a file is damaged or of a newer format, or the model contains code.
        """
        arguments, restore = inference.serialization.read_files(Path(path))
        loaded = cls(**arguments)
        loaded.fitted = restore(loaded.config)
        return loaded

    def export(self, path: PathLike, **kwargs: Any) -> Path:
        """Write a file that takes raw histories outside of Python, see `kerastrans.export.export`.

        The file has inputs for everything that the forecaster reads: "history" of any length, of
        which the last steps are read, with NaN for a missing value; "last_time", int64 seconds
        since 1970 of the last step, if it has calendar features; covariates as numbers and, in
        `future_categories` and the like, as texts (codes in LiteRT and .pt2); the "unique_id" or
        the "group" of intervals that were calibrated by it. `metadata` in the file describes them.
        Encodings, calendar, conformal intervals and bounds are inside. The file does not see the
        series of a window: if most values of a context are equal, `predict` knows how much the
        series changes otherwise, the file does not.

        Args:
            path: Path to write, which must not exist: a name that ends in .onnx, .tflite or .pt2,
                or the name of a folder for a SavedModel.
            **kwargs: Arguments of the format, such as `quantize` for .tflite.

        Raises:
            FileExistsError: If `path` exists.
            RuntimeError: If the forecaster is not trained.
            ValueError: If the model, its calendar or its intervals cannot be exported; the message
                names what to change.
        """
        from kerastrans.export import export

        state = self._trained()
        if inference.adaptation.chooses_by_clock(state) and state.given_freq is None:
            warn_user(
                f"{state.card['name']} chooses its season by the frequency of the data, which a "
                "file does not know: this one has none. Give from_pretrained(..., freq='h'), or "
                "kerastrans export --freq h."
            )
        options = {**inference.artefact.export_options(state), "metadata": self.metadata, **kwargs}
        return export(state.model, path, **options)

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
        if fitted.config.bounds:
            facts["bounds"] = list(fitted.config.bounds)
        if fitted.config.calendar:
            facts["calendar"] = list(fitted.clock.calendar_names)
        return facts

    @property
    def _resolved(self):
        """The config that `fit` resolved; before `fit` the given one."""
        return self.config if self.fitted is None else self.fitted.config

    def _trained(self):
        if self.fitted is None:
            raise RuntimeError("this forecaster is not trained: call fit first.")
        return self.fitted

    def _state_for(self, frame, future=None, freq=None):
        """Return the state that forecasts a frame, see `adapt_to_frame` and `adapt_to_clock`."""
        state = inference.adaptation.adapt_to_frame(self._trained(), frame)
        return self._at_clock(state, frame, future, freq)

    def _at_clock(self, state, frame, future, freq):
        """Return the state that forecasts at a frequency, see `adapt_to_clock`."""
        if freq is not None:
            check_same_frequency(freq, state.freq, self.alias)
            state = replace(state, given_freq=freq)
        return inference.adaptation.adapt_to_clock(state, frame, future)

    def _report(self, panel):
        """Store the faults of series that are left out, and warn about them."""
        self.faults = dict(panel.faults)
        report_faults(self.faults, len(panel))


def _short_repr(value):
    """Return the repr of an argument; of an object without one, the name of its class."""
    text = repr(value)
    return f"{type(value).__name__}()" if " object at 0x" in text else text
