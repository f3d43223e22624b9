"""Forecasts of the authors' packages, for comparison with the ports.

Each function takes the folder of a checkpoint, a list of arrays `(variates, time)` and the horizon,
and returns a list of arrays `(variates, prediction_length, 10)`: the point forecast, and then the
deciles. None of the packages is a dependency.
"""

import functools
import importlib
from dataclasses import dataclass

import numpy as np

from kerastrans.models.pretrained.arrays import DECILES
from kerastrans.models.pretrained.checkpoint import WEIGHTS


@dataclass(frozen=True)
class Reference:
    """The authors' package of published weights.

    Attributes:
        module: Name that the package is imported as.
        package: Name that the package is installed as.
        forecast: Function that forecasts with the package, see the docstring of this module.
        source: str, what pip installs; the name of the package if it is on PyPI.
    """

    module: str
    package: str
    forecast: callable
    source: str = ""

    def check(self):
        """Raise ImportError if the package cannot be imported."""
        try:
            importlib.import_module(self.module)
        except ImportError as error:
            raise ImportError(
                f"the reference package {self.package} cannot be imported ({error}): pip install "
                f"{self.source or self.package}."
            ) from None


def reference_of(name):
    """Return the `Reference` of a port by its name.

    Raises:
        ValueError: If the port has no known reference.
    """
    if name not in REFERENCES:
        raise ValueError(
            f"no reference package is known for {name}, only for {', '.join(REFERENCES)}."
        )
    return REFERENCES[name]


def _by_rows(forecast):
    """Convert a function of rows `(time,)` into one of series `(variates, time)`."""

    @functools.wraps(forecast)
    def by_task(folder, series, steps):
        rows = np.stack([*forecast(folder, [row for task in series for row in task], steps)])
        return np.split(rows, np.cumsum([len(task) for task in series])[:-1])

    return by_task


def _chronos(folder, series, steps):
    """Forecast with Chronos-2, for series of several variates, or Chronos-Bolt, for rows."""
    import torch
    from chronos import BaseChronosPipeline

    pipeline = BaseChronosPipeline.from_pretrained(folder, device_map="cpu", torch_dtype="float32")
    inputs = [torch.tensor(values) for values in series]
    levels = list(DECILES)
    options = {"prediction_length": steps, "quantile_levels": levels}
    pairs = zip(*pipeline.predict_quantiles(inputs, **options), strict=True)
    return [np.concatenate([np.asarray(y)[..., None], np.asarray(x)], axis=-1) for x, y in pairs]


def _timesfm(folder, rows, steps):
    import timesfm

    model = timesfm.TimesFM_2p5_200M_torch.from_pretrained(folder, torch_compile=False)
    sizes = model.model.config
    options = timesfm.ForecastConfig(
        max_context=sizes.context_limit - sizes.output_quantile_len,
        max_horizon=steps,
        normalize_inputs=True,
        use_continuous_quantile_head=True,
        force_flip_invariance=True,
        infer_is_positive=True,
        fix_quantile_crossing=True,
        per_core_batch_size=len(rows),
    )
    model.compile(options)
    points, channels = model.forecast(steps, rows)
    return np.concatenate([points[..., None], channels[..., 1:]], axis=-1)


def _granite(kind, folder, rows, steps, **options):
    import torch

    model = kind.from_pretrained(folder).eval()
    with torch.no_grad():
        for row in rows:
            outputs = model(torch.tensor(row)[None, :, None], prediction_length=steps, **options)
            # Both possibly have a channel axis.
            points = np.asarray(outputs.prediction_outputs).reshape(1, steps)
            deciles = np.asarray(outputs.quantile_outputs).reshape(-1, steps)
            yield np.concatenate([points, deciles]).T


def _flowstate(folder, rows, steps):
    from tsfm_public.models.flowstate import FlowStateForPrediction as Kind

    return _granite(Kind, folder, rows, steps, scale_factor=1.0, batch_first=True)


def _patchtst_fm(folder, rows, steps):
    from tsfm_public.models.patchtst_fm import PatchTSTFMForPrediction as Kind

    return _granite(Kind, folder, rows, steps, quantile_levels=list(DECILES))


def _fracast(folder, rows, steps):
    from fracast import FracastModel

    model = FracastModel.from_pretrained(folder, weights="fp32")
    for row in rows:
        deciles = model.forecast(row, horizon=steps)
        yield np.concatenate([deciles[:, 4:5], deciles], axis=-1)


def _tinycast(folder, rows, steps):
    import pandas as pd
    from tinycast import TinyCastPredictor

    predictor = TinyCastPredictor(steps, f"{folder}/{WEIGHTS}", device="cpu")
    start = pd.Period("2000-01-01", "D")  # of every series, and not used
    forecasts = predictor.predict([{"target": row, "start": start} for row in rows])
    deciles = np.stack([forecast.forecast_array.T for forecast in forecasts])
    return np.concatenate([deciles[..., 4:5], deciles], axis=-1)


REFERENCES = {
    "chronos_bolt": Reference("chronos", "chronos-forecasting", _by_rows(_chronos)),
    "chronos_2": Reference("chronos", "chronos-forecasting", _chronos),
    "timesfm": Reference("timesfm", "timesfm", _by_rows(_timesfm)),
    "flowstate": Reference("tsfm_public", "granite-tsfm", _by_rows(_flowstate)),
    "patchtst_fm": Reference("tsfm_public", "granite-tsfm", _by_rows(_patchtst_fm)),
    "fracast": Reference("fracast", "fracast", _by_rows(_fracast)),
    "tinycast": Reference(
        *("tinycast", "tinycast", _by_rows(_tinycast)),
        "git+https://github.com/raws-labs/tinycast.git",
    ),
}
