"""The registry of architectures: what there is, where it comes from, how to build it."""

import importlib
import inspect
from dataclasses import dataclass

from kerastrans.utils.validation import suggest

OPTIONS = ("head", "covariates")  # of what is forecast, and from what: no hyperparameters
CONTRACT = ("context_length", "prediction_length", "num_channels")  # first in every builder


@dataclass(frozen=True)
class Architecture:
    """What is known of an architecture.

    Attributes:
        name: as `build` knows it.
        title: the name its paper gives it.
        source: authors of the paper.
        year: int, of the paper.
        summary: what it is, in a few words.
        mixes_channels: bool, whether a channel's forecast depends on the other channels.
        equivariance: what may be done to a window so that the same is done to its forecast:
            "" for nothing, "shift" (a constant added), "scale" (multiplied), or "affine", both.
        inputs: names of the model's inputs: "history" `(batch, context_length, num_channels)`,
            and "position" `(batch,)`, the number of the window's first step in the series.
        file: module under `kerastrans.models` that holds the builder, `build_<file>_model`.
    """

    name: str
    title: str
    source: str
    year: int
    summary: str
    mixes_channels: bool = False
    equivariance: str = ""
    inputs: tuple = ("history",)
    file: str = ""

    @property
    def builder(self):
        """The function that builds it."""
        file = self.file or self.name
        module = importlib.import_module(f"kerastrans.models.{file}")
        return getattr(module, f"build_{file}_model")

    @property
    def defaults(self):
        """Dict of the hyperparameters and their defaults."""
        parameters = inspect.signature(self.builder).parameters
        return {
            name: parameter.default
            for name, parameter in parameters.items()
            if name not in (*CONTRACT, *OPTIONS, "name")
        }

    @property
    def search_space(self):
        """Dict of hyperparameter -> values worth trying, as the model's file declares it."""
        module = importlib.import_module(self.builder.__module__)
        return dict(getattr(module, "SEARCH_SPACE", {}))

    def count_params(self, context_length, prediction_length, num_channels, **hyperparameters):
        """Number of weights that the model has at this size."""
        model = build(self.name, context_length, prediction_length, num_channels, **hyperparameters)
        return model.count_params()


_BOOK = "Hyndman, Athanasopoulos"
_ARCHITECTURES = {
    architecture.name: architecture
    for architecture in (
        # Baselines.
        Architecture("last_value", "naive", _BOOK, 2021, "last value, repeated", False, "affine"),
        Architecture(
            "seasonal_naive",
            "seasonal naive",
            _BOOK,
            2021,
            "last period, repeated",
            False,
            "affine",
        ),
        Architecture(
            "moving_average", "average", _BOOK, 2021, "mean of the context", False, "affine"
        ),
        Architecture("linear_regression", "Linear", "Zeng et al.", 2023, "one matrix over time"),
        # Linear models and multilayer perceptrons.
        Architecture(
            "nlinear", "NLinear", "Zeng et al.", 2023, "linear, from the last value", False, "shift"
        ),
        Architecture("dlinear", "DLinear", "Zeng et al.", 2023, "linear, of trend and season"),
        Architecture(
            "rlinear",
            "RLinear",
            "Li et al.",
            2023,
            "linear, of normalised windows",
            False,
            "affine",
        ),
        Architecture(
            "tide", "TiDE", "Das et al.", 2023, "dense encoder and decoder", False, "affine"
        ),
        Architecture(
            "tsmixer",
            "TSMixer",
            "Chen et al.",
            2023,
            "dense over time, then channels",
            True,
            "affine",
        ),
        Architecture("nbeats", "N-BEATS", "Oreshkin et al.", 2020, "residual blocks of curves"),
        Architecture("nhits", "N-HiTS", "Challu et al.", 2023, "N-BEATS at several rates"),
        Architecture(
            "timemixer", "TimeMixer", "Wang et al.", 2024, "mixed resolutions", False, "affine"
        ),
        Architecture(
            "sparsetsf", "SparseTSF", "Lin et al.", 2024, "linear, period to period", False, "shift"
        ),
        Architecture(
            "cyclenet",
            "CycleNet",
            "Lin et al.",
            2024,
            "learnt cycle and linear rest",
            False,
            "affine",
            inputs=("history", "position"),
        ),
        # Attention.
        Architecture(
            "transformer",
            "Transformer",
            "Vaswani et al.",
            2017,
            "encoder-decoder, whole horizon at once",
            True,
            file="direct_transformer",
        ),
        Architecture("informer", "Informer", "Zhou et al.", 2021, "ProbSparse, distilling", True),
        Architecture(
            "autoformer", "Autoformer", "Wu et al.", 2021, "auto-correlation", True, "shift"
        ),
        Architecture(
            "fedformer", "FEDformer", "Zhou et al.", 2022, "Fourier blocks", True, "shift"
        ),
        Architecture(
            "patchtst", "PatchTST", "Nie et al.", 2023, "Transformer over patches", False, "affine"
        ),
        Architecture(
            "itransformer",
            "iTransformer",
            "Liu et al.",
            2024,
            "Transformer over channels",
            True,
            "affine",
        ),
        Architecture(
            "timexer", "TimeXer", "Wang et al.", 2024, "patches that ask channels", True, "affine"
        ),
        Architecture("tft", "TFT", "Lim et al.", 2021, "variable selection, LSTM, attention", True),
        # Convolution and recurrence.
        Architecture("tcn", "TCN", "Bai et al.", 2018, "dilated causal convolutions", True),
        Architecture(
            "timesnet", "TimesNet", "Wu et al.", 2023, "images of periods", True, "affine"
        ),
        Architecture(
            "lstm_seq2seq", "LSTM", "Sutskever et al.", 2014, "encoder-decoder, attention", True
        ),
        Architecture(
            "deepar", "DeepAR", "Salinas et al.", 2020, "LSTM on its own forecasts", False, "scale"
        ),
        Architecture("segrnn", "SegRNN", "Lin et al.", 2023, "GRU over segments", False, "shift"),
    )
}


def names():
    """Names of all architectures, baselines first."""
    return list(_ARCHITECTURES)


def info(name):
    """The `Architecture` of this name.

    Raises:
        ValueError: an unknown name; the nearest known one is suggested.
    """
    if name not in _ARCHITECTURES:
        raise ValueError(f"unknown model {name!r}: {suggest(name, _ARCHITECTURES)}")
    return _ARCHITECTURES[name]


def build(
    name,
    /,
    context_length,
    prediction_length,
    num_channels,
    *,
    head=None,
    covariates=None,
    **hyperparameters,
):
    """Build an architecture by its name.

    Args:
        name: one of `names()`.
        context_length: int, steps of history.
        prediction_length: int, steps to forecast.
        num_channels: int, values at each step.
        head: what is forecast: None for points, or a head of `kerastrans.heads` or its name.
        covariates: dict of "past", "future", "static": for each column 0 if it holds numbers, or
            how many categories there are. An architecture that has no place for them gets them
            by `kerastrans.covariates.regress`.
        **hyperparameters: of the builder; see `info(name).defaults`.

    Returns:
        A functional Keras model `(batch, context_length, num_channels)` ->
        `(batch, prediction_length, num_channels)`, with a last axis for the parameters of a head;
        where `info(name).inputs` has more than "history", or with covariates, its input is a dict.

    Raises:
        ValueError: an unknown name or hyperparameter, a value that the builder refuses, a head for
            a baseline that has no weights.
    """
    from kerastrans import heads  # Keras is imported to build, not to list
    from kerastrans.models import covariates as covariate_models

    architecture = info(name)
    check_hyperparameters(name, hyperparameters)
    takes = inspect.signature(architecture.builder).parameters
    size = context_length, prediction_length, num_channels
    if "head" in takes:
        hyperparameters["head"] = head
    elif not isinstance(heads.get(head), heads.PointHead):
        raise ValueError(
            f"{name} has no weights to learn a head: put conformal intervals around it."
        )
    if covariates and "covariates" in takes:
        hyperparameters["covariates"] = covariates
    model = architecture.builder(*size, **hyperparameters)
    if not covariates or "covariates" in takes:
        return model
    return covariate_models.regress(model, covariates)


def check_hyperparameters(name, hyperparameters):
    """Raise ValueError for an unknown architecture, or a hyperparameter that it does not have."""
    known = [*info(name).defaults, "name"]
    for hyperparameter in hyperparameters:
        if hyperparameter not in known:
            hint = suggest(hyperparameter, [*known, *OPTIONS])
            raise ValueError(f"{name} has no hyperparameter {hyperparameter!r}: {hint}")
