"""The peers of transformer_peers.py, in a process and an environment of their own.

python transformer_peer.py PEER CASE     # reads a pickled case, writes the forecasts over it

Each peer is trained as its documentation shows, on one core, until its own early stopping or the
time limit. Forecasts have a column a quantile.
"""

import json
import logging
import math
import sys
import time
import warnings
from importlib.metadata import version

import numpy as np
import pandas as pd
import torch

NUM_SAMPLES, CHECK_STEPS, PATIENCE, MAX_STEPS = 100, 100, 5, 4000
WEEK_OF_LAGS = [*range(1, 8), *(24 * day + hour for day in range(1, 8) for hour in (-1, 0, 1))]


def neuralforecast(case):
    """VanillaTransformer, which forecasts the whole horizon at once: its defaults, Student t."""
    from neuralforecast import NeuralForecast, models
    from neuralforecast.losses.pytorch import DistributionLoss

    model = models.VanillaTransformer(
        h=case["horizon"],
        input_size=case["context"],
        loss=DistributionLoss("StudentT", quantiles=case["quantiles"], return_params=False),
        futr_exog_list=list(case["future"]) or None,
        scaler_type="standard",
        windows_batch_size=128,
        inference_windows_batch_size=128,
        max_steps=MAX_STEPS,
        val_check_steps=CHECK_STEPS,
        early_stop_patience_steps=PATIENCE,
        random_seed=case["seed"],
        max_time={"seconds": case["time_limit"]},
        **_QUIET,
        enable_checkpointing=False,
    )
    forecaster = NeuralForecast([model], freq=case["freq"])
    forecaster.fit(case["train"], val_size=case["held_out"])
    yield
    for past, ahead in _windows(case):
        known = ahead[["unique_id", "ds", *case["future"]]]
        found = forecaster.predict(past, futr_df=known if case["future"] else None)
        found = found.sort_values(["unique_id", "ds"])
        columns = [c for c in found if "_ql" in c or "-lo-" in c or "-hi-" in c or "-median" in c]
        values = np.sort(found[columns].to_numpy(), axis=1)
        yield _rows(case, past, ahead, values[:, -len(case["quantiles"]) :])


def darts(case):
    """TransformerModel, which forecasts the whole horizon at once: its defaults, quantiles."""
    from darts import TimeSeries
    from darts.models import TransformerModel
    from darts.utils.likelihood_models.torch import QuantileRegression
    from pytorch_lightning.callbacks import EarlyStopping

    def series_of(frame):
        parts = [part for _, part in frame.groupby("unique_id")]
        return [
            TimeSeries.from_dataframe(x, "ds", "y", freq=case["freq"]).astype("float32")
            for x in parts
        ]

    model = TransformerModel(
        case["context"],
        case["horizon"],
        likelihood=QuantileRegression(case["quantiles"]),
        use_reversible_instance_norm=True,
        random_state=case["seed"],
        n_epochs=1000,
        save_checkpoints=True,
        force_reset=True,
        work_dir=case["folder"],
        model_name="peer",
        pl_trainer_kwargs={
            **_QUIET,
            "max_steps": MAX_STEPS,
            "max_time": {"seconds": case["time_limit"]},
            "val_check_interval": CHECK_STEPS,
            "check_val_every_n_epoch": None,
            "callbacks": [EarlyStopping("val_loss", patience=PATIENCE)],
        },
    )
    train = series_of(case["train"])
    last = case["held_out"]
    model.fit([x[:-last] for x in train], val_series=[x[-last - case["context"] :] for x in train])
    model = TransformerModel.load_from_checkpoint("peer", case["folder"], best=True)
    yield
    for past, ahead in _windows(case):
        found = model.predict(
            case["horizon"],
            series_of(past),
            predict_likelihood_parameters=True,
            verbose=False,
        )
        yield _rows(case, past, ahead, np.concatenate([x.values() for x in found]))


def transformers(case):
    """TimeSeriesTransformer, step by step: sizes, optimiser and lags of its authors' tutorial."""
    from transformers import TimeSeriesTransformerConfig, TimeSeriesTransformerForPrediction

    horizon, series = case["horizon"], sorted(case["frame"]["unique_id"].unique())
    shortest = case["train"].groupby("unique_id").size().min()
    lags = WEEK_OF_LAGS if case["freq"].lower() == "h" else [*range(1, 8), 11, 12, 13]
    context = min(2 * horizon, case["context"])
    lags = [lag for lag in lags if lag <= max(7, shortest - context - horizon)]
    data = _Arrays(case, context + max(lags))
    config = TimeSeriesTransformerConfig(
        prediction_length=horizon,
        context_length=context,
        lags_sequence=lags,
        num_time_features=data.features.shape[-1],
        num_static_categorical_features=1,
        cardinality=[len(series)],
        embedding_dimension=[2],
        encoder_layers=4,
        decoder_layers=4,
        d_model=32,
        num_parallel_samples=NUM_SAMPLES,
    )
    model = TimeSeriesTransformerForPrediction(config)
    optimizer = torch.optim.AdamW(model.parameters(), lr=6e-4, betas=(0.9, 0.95), weight_decay=0.1)
    rng, started = np.random.default_rng(case["seed"]), time.perf_counter()
    model.train()
    for _ in range(MAX_STEPS):
        rows = rng.integers(len(series), size=256)
        ends = rng.integers(context, data.train_ends[rows] - horizon + 1)
        optimizer.zero_grad()
        model(**data.batch(rows, ends, with_targets=True)).loss.backward()
        optimizer.step()
        if time.perf_counter() - started > case["time_limit"]:
            break
    yield
    model.eval()
    rows = np.arange(len(series))
    for window, (past, ahead) in enumerate(_windows(case)):
        ends = data.train_ends + window * horizon
        values = []
        with torch.no_grad():
            for part in np.array_split(rows, math.ceil(len(rows) / 64)):
                samples = model.generate(**data.batch(part, ends[part])).sequences
                values.append(np.quantile(samples.numpy(), case["quantiles"], axis=1))
        values = np.concatenate(values, 1).transpose(1, 2, 0)
        yield _rows(case, past, ahead, values.reshape(-1, len(case["quantiles"])))


class _Arrays:
    """Values and features of all series, with the inputs of `transformers` cut from them."""

    def __init__(self, case, history):
        self.history, self.horizon = history, case["horizon"]
        parts = [part for _, part in case["frame"].groupby("unique_id")]
        longest = max(map(len, parts))
        self.lengths = np.array([len(part) for part in parts])
        self.train_ends = case["train"].groupby("unique_id").size().to_numpy()
        self.values = np.full((len(parts), history + longest), np.nan, "float32")
        self.features = np.zeros((*self.values.shape, 5 + len(case["future"])), "float32")
        for row, part in enumerate(parts):
            self.values[row, history : history + len(part)] = part["y"]
            known = part[list(case["future"])]
            before = known[: self.train_ends[row]]
            known = (known - before.mean()) / before.std()
            columns = np.column_stack([_time_features(part["ds"]), known])
            self.features[row, history : history + len(part)] = columns

    def batch(self, rows, ends, with_targets=False):
        """Inputs of windows whose history ends before `ends` (steps from the series' start)."""
        past = ends[:, None] + np.arange(self.history)
        future = ends[:, None] + self.history + np.arange(self.horizon)
        rows = np.asarray(rows)[:, None]
        tensors = {
            "past_values": np.nan_to_num(self.values[rows, past]),
            "past_time_features": self.features[rows, past],
            "past_observed_mask": np.isfinite(self.values[rows, past]).astype("float32"),
            "static_categorical_features": rows.astype("int64"),
            "future_time_features": self.features[rows, future],
        }
        if with_targets:
            tensors["future_values"] = self.values[rows, future]
        return {name: torch.from_numpy(np.ascontiguousarray(x)) for name, x in tensors.items()}


def _time_features(times):
    """Hour, weekday, day of month, day of year, between -.5 and .5, and the logarithm of age."""
    t = times.dt
    parts = [t.hour / 23, t.dayofweek / 6, (t.day - 1) / 30, (t.dayofyear - 1) / 365]
    age = np.log10(2.0 + np.arange(len(times)))
    return np.column_stack([*(part - 0.5 for part in parts), age])


def _windows(case):
    """The rows before and of each window."""
    frame, steps = case["frame"], case["horizon"]
    back = frame.groupby("unique_id").cumcount(ascending=False).to_numpy()
    for window in reversed(range(case["windows"])):
        after = window * steps
        yield frame[back >= after + steps], frame[(back >= after) & (back < after + steps)]


def _rows(case, past, ahead, quantiles):
    """A window's forecast: `(rows, quantiles)` in the order of its rows."""
    cutoffs = ahead["unique_id"].map(past.groupby("unique_id")["ds"].last())
    table = ahead[["unique_id", "ds", "y"]].assign(cutoff=cutoffs).reset_index(drop=True)
    columns = [f"q{q:g}" for q in case["quantiles"]]
    return table.join(pd.DataFrame(quantiles, columns=columns))


_QUIET = {
    "enable_progress_bar": False,
    "enable_model_summary": False,
    "logger": False,
    "accelerator": "cpu",
}
PEERS = {peer.__name__: peer for peer in (neuralforecast, darts, transformers)}


def main():
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    peer, path = sys.argv[1:]
    case = pd.read_pickle(path)
    torch.manual_seed(case["seed"])
    torch.set_num_threads(1)
    started = time.perf_counter()
    parts = PEERS[peer](case)
    next(parts)  # trains
    fitted = time.perf_counter()
    rows = pd.concat(parts, ignore_index=True)
    rows.to_pickle(path)
    seconds = {"fit": fitted - started, "forecast": time.perf_counter() - fitted}
    print(json.dumps(seconds | {"version": version(peer)}))


if __name__ == "__main__":
    main()
