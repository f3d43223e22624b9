"""From frames to frames: the data, the Keras model and its intervals, held together thinly."""

import contextlib
from typing import Any, Self

import pandas as pd

from kerastrans.data.sampling import Sampling
from kerastrans.forecasting.evaluated import Evaluated
from kerastrans.forecasting.inference.config import Config
from kerastrans.forecasting.inference.model import build_for
from kerastrans.forecasting.inference.reader import open_training
from kerastrans.forecasting.inference.state import Fitted
from kerastrans.forecasting.predicted import Predicted
from kerastrans.forecasting.stored import Stored
from kerastrans.forecasting.training import fit as training
from kerastrans.forecasting.training.fine_tuning import kept_facts, settled, trainee
from kerastrans.forecasting.training.validation import read_validation, what_is_held_out
from kerastrans.utils.distribution import distribute as distributed
from kerastrans.utils.types import Columns, HeadOrName, ModelOrName, PathLike


class Forecaster(Predicted, Evaluated, Stored):
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
        **hyperparameters: Of the architecture.

    Attributes:
        config: `Config`, the arguments, frozen; after `fit` with the context that it chose.
        fitted: `Fitted`, what training left, frozen; None before `fit`.
        faults: dict of series that the last call left out -> why.

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
        **hyperparameters: Any,
    ) -> None:
        self._given = self.config = Config(
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
        config = self.config
        held_out = what_is_held_out(config, frame, validation, validation_size, epochs)
        reader, panels = open_training(config, self.fitted, frame, static, freq, held_out.of_all)
        config = reader.config
        validation = read_validation(reader, frame, panels, validation, static)
        with distributed(distribute) if distribute else contextlib.nullcontext():
            model = trainee(config, self.fitted) if self.fitted else build_for(config, reader)
            options |= {"batch_size": batch_size, "checkpoint": checkpoint, **kwargs}
            options |= {"validation": validation}
            found = training.train(reader, model, panels, held_out, sampling, **options)
        examples, trained, history = found
        self._report(examples)
        model = settled(self.fitted, model)
        chosen_by = examples.chosen_by if epochs is None or kwargs.get("callbacks") else {}
        seen = training.rows_seen(self.fitted, trained, chosen_by, history)
        self.config = config
        seen |= kept_facts(self.fitted) | {"history": history}
        self.fitted = Fitted(model, reader.clock, reader.covariates, reader.channels, **seen)
        return self
