"""kerastrans as a forecasting model of the package `fev`, for fev-bench."""

import numpy as np

from kerastrans.leaderboards.forecasting import MEDIAN, MODELS, forecast_quantiles, train
from kerastrans.models.pretrained.shipped import DEFAULT
from kerastrans.utils.validation import check_choice, import_extra

fev = import_extra("fev", "the adapter for fev", "leaderboards")
datasets = import_extra("datasets", "the adapter for fev", "leaderboards")


class KerastransModel(fev.ForecastingModel):
    """Model of `fev` that forecasts with kerastrans.

    Targets of a multivariate task are forecast separately. A model that is trained is trained once,
    on the rows before the first window, and forecasts all windows; the point forecast is the
    median. All models use covariates.

    Args:
        model: "kerastrans_zero_2", "auto" or "select", see `leaderboards.forecasting.train`.
        seed: int.
        time_limit: float, seconds of a training.

    Raises:
        ImportError: If the extra `leaderboards` is not installed.
        ValueError: If the model is unknown.

    Source: Shchur et al. (2025), "fev-bench"; the package fev 0.10.
    """

    model_name = "kerastrans"
    trained_on_datasets = ()  # kerastrans_zero_2: only made series

    def __init__(self, model=DEFAULT, seed=0, time_limit=900):
        super().__init__()
        check_choice("model", model, MODELS)
        self.model, self.seed, self.time_limit = model, seed, time_limit

    def _fit_predict(self, task):
        task.load_full_dataset()
        forecaster, predictions = None, []
        for window in task.iter_windows():
            past, future, static = fev.convert_input_data(
                window, adapter="nixtla", as_univariate=True
            )
            if forecaster is None:
                with self._record_training_time():
                    forecaster = self._train(task, past, static)
            with self._record_inference_time():
                predictions.append(self._predict(task, window, forecaster, past, future, static))
        return predictions

    def _train(self, task, past, static):
        """Return the forecaster that was trained on the rows before the first window."""
        return train(
            self.model,
            past,
            task.horizon,
            task.freq,
            past=task.past_dynamic_columns,
            future=task.known_dynamic_columns,
            static=static,
            seed=self.seed,
            time_limit=self.time_limit,
        )

    def _predict(self, task, window, forecaster, past, future, static):
        """Return the predictions of one window in the format of fev."""
        takes = forecaster.fitted.covariates
        known = {"future": future if takes.future else None}
        known["static"] = static if takes.static else None
        levels = [*task.quantile_levels, MEDIAN]
        _, found = forecast_quantiles(forecaster, past, levels, **known)
        found = np.moveaxis(found, -1, 0)  # (levels, series, steps)
        names = [*map(str, task.quantile_levels), "predictions"]
        rows = dict(zip(names, map(list, found), strict=True))
        return fev.utils.combine_univariate_predictions_to_multivariate(
            datasets.Dataset.from_dict(rows), target_columns=window.target_columns
        )
