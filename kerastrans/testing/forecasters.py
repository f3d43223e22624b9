"""Contract checks of a forecaster, with the user's options and data."""

import functools
import inspect
import tempfile
import warnings
from pathlib import Path

from kerastrans.forecasting.forecaster import Forecaster
from kerastrans.testing import leak_checks, state_checks
from kerastrans.testing.cases import keep_generators
from kerastrans.testing.frames import is_long, target_columns
from kerastrans.testing.reports import checks_of, not_exported, run_checks

CHECKS = checks_of(leak_checks, state_checks)


class ForecasterCase:
    """A forecaster under test, and its data.

    Attributes:
        untrained: The given forecaster, which the checks do not train.
        frame: DataFrame of the series, see `Forecaster.fit`.
        static: DataFrame of static covariates, or None.
        future: DataFrame of future covariates, or None, see `Forecaster.predict`.
    """

    def __init__(self, forecaster, frame, static, future, fit_options):
        self.untrained = forecaster
        self.frame, self.static, self.future = frame, static, future
        self.originals = [x.copy(deep=True) for x in self.given]
        self._fit_options = {"epochs": 1, "verbose": 0, **fit_options}

    @property
    def given(self):
        """List of the frames that were given."""
        return [x for x in (self.frame, self.static, self.future) if x is not None]

    def fit(self, forecaster=None, frame=None, callbacks=(), **options):
        """Train `forecaster`, by default a clone of the given one, on `frame`."""
        forecaster = self.untrained.clone() if forecaster is None else forecaster
        frame = self.frame if frame is None else frame
        options = {**self._fit_options, **options}
        callbacks = [*options.pop("callbacks", ()), *callbacks]
        return forecaster.fit(frame, static=self.static, callbacks=callbacks, **options)

    @functools.cached_property
    def trained(self):
        """The trained forecaster that the checks share and do not change."""
        return self.fit()

    @functools.cached_property
    def forecast(self):
        """The forecast of the trained forecaster."""
        return self.predict(self.trained)

    def predict(self, forecaster, frame=None, future=None):
        """Forecast with the static covariates, and with future covariates if there are any."""
        frame = self.frame if frame is None else frame
        future = self.future if future is None else future
        return forecaster.predict(frame, future=future, static=self.static)

    @functools.cached_property
    def backtested(self):
        """The backtest of the trained forecaster from two origins."""
        return self.backtest(self.trained)

    @functools.cached_property
    def refitted(self):
        """The backtest from two origins with models trained at these origins."""
        return self.backtest(self.trained, refit=True)

    def backtest(self, forecaster, frame=None, refit=False):
        """Forecast from two origins; with `refit` a model is trained at each of them."""
        frame = self.frame if frame is None else frame
        options = {"refit": True, **self._fit_options} if refit else {}
        return forecaster.backtest(frame, windows=2, static=self.static, **options)

    def option(self, name):
        """Return a constructor option of the forecaster."""
        return getattr(self.untrained.config, name)

    @property
    def targets(self):
        """Names of the columns to forecast."""
        return target_columns(self.frame, [*self.option("past"), *self.option("future")])

    @property
    def is_long(self):
        """True if the frame is long, with a series name in each row."""
        return is_long(self.frame)

    def reload(self, forecaster):
        """Return the forecaster after saving and loading it."""
        with tempfile.TemporaryDirectory() as folder:
            forecaster.save(Path(folder) / "forecaster")
            return type(forecaster).load(Path(folder) / "forecaster")


def check_forecaster(
    forecaster,
    frame,
    *,
    static=None,
    future=None,
    export=False,
    skip=(),
    raise_failures=True,
    **fit_options,
):
    """Check that a forecaster keeps its contract on the given data, and raise an error if not.

    Clones are trained almost thirty times; the forecaster itself is not changed. Every check runs,
    even if others fail. A frame of a few series with about two hundred steps is enough.

    Args:
        forecaster: `kerastrans.Forecaster` that was created with the name of an architecture.
        frame: Long or wide DataFrame, as in `Forecaster.fit`.
        static: DataFrame of static covariates with one row per series, or None.
        future: DataFrame of future covariates for the steps after each series, or None.
        export: bool, whether to write and read a SavedModel too, which takes seconds.
        skip: Names of the checks to skip, as shown in the report.
        raise_failures: bool, whether to raise an error if a check fails; with False the report is
            returned in any case.
        **fit_options: Arguments of `Forecaster.fit`; one epoch by default.

    Returns:
        A `CheckReport`; `print` shows it as a table.

    Raises:
        AssertionError: If a check fails; the message lists all failures with their reasons.
        TypeError: If `forecaster` is not a `Forecaster`.
        ValueError: If a check is unknown.

    Example:
        >>> from kerastrans import Forecaster, datasets
        >>> from kerastrans.testing import check_forecaster
        >>> frame = datasets.load("air_passengers")
        >>> naive = Forecaster("seasonal_naive", 12, 12, season=12)
        >>> report = check_forecaster(naive, frame, skip=["export"])
        >>> report["order of rows"].status
        'passed'
    """
    if not isinstance(forecaster, Forecaster):
        given = forecaster if inspect.isclass(forecaster) else type(forecaster)
        raise TypeError(f"forecaster must be a kerastrans.Forecaster, got {given.__name__}.")
    case = ForecasterCase(forecaster, frame, static, future, fit_options)
    with keep_generators(), warnings.catch_warnings():
        # Scoring training rows and series that are too short are intended here.
        warnings.simplefilter("ignore", UserWarning)
        report = run_checks("forecaster", CHECKS, case, not_exported(skip, export))
    if raise_failures:
        report.raise_for_failures()
    return report
