"""Registry entries of architectures, read from the source of their files without importing."""

import ast
import functools
import importlib
import inspect
import json
import re
import tomllib
from dataclasses import dataclass, field
from importlib.resources import files

from kerastrans.models.parts.contract import OPTIONS

EQUIVARIANCES = ("shift", "scale", "affine")
HORIZONS = (96, 192, 336, 720)  # of papers on long horizons, in steps
HORIZONS_OF = {"illness": (24, 36, 48, 60)}  # of data sets that have others
# By docs/comparison.md and docs/guide/choose-a-model.md; all others are "for comparison".
TIERS = {
    "start with": (
        "nlinear",
        "tide",
        "nhits",
        "patchtst",
        "duet",
        "segrnn",
        "time_series_transformer",
        "decoder_transformer",
    ),
    "classics": (
        "last_value",
        "seasonal_naive",
        "moving_average",
        "linear_regression",
        "dlinear",
        "nbeats",
        "tsmixer",
        "direct_transformer",
        "informer",
        "autoformer",
        "fedformer",
        "itransformer",
        "tft",
        "timesnet",
        "tcn",
        "lstm_seq2seq",
        "deepar",
    ),
}
COMPARISON = "for comparison"
HEADING = re.compile(r"(.+?): .+? \((.+?), (\d{4})")  # of a file: its title, idea and paper
_FOLDER = __name__.rpartition(".")[0]


@dataclass(frozen=True)
class Architecture:
    """Registry entry of an architecture.

    Attributes:
        name: Name of the architecture, as `build` takes it.
        title: Name of the architecture in its paper, from the first line of the docstring of the
            file, as the next two.
        source: Authors of the paper.
        year: int, year of the paper.
        summary: Description in a few words.
        tags: Tuple of str. The first tags are the families: "baseline", "linear", "mlp",
            "attention", "convolution", "recurrent". "mixes channels" or "channel independent" says
            whether the forecast of a channel depends on the other channels. "shift", "scale" or
            "affine" (both) is the equivariance: adding a constant to a window, or multiplying the
            window by a constant, does the same to its forecast. "past covariates", "future
            covariates" and "static covariates" are the kinds that the builder supports itself.
            "takes heads" means that the builder has the argument `head`; "autoregressive", that the
            model forecasts step by step if its head is a distribution.
        license: SPDX identifier of the license of the published code that the architecture agrees
            with, see docs/parity.md; "" if it was compared with a paper only.
        paper_url: URL of the paper, from the line "Paper:" of the docstring of the file.
        code_url: URL of the published code at the commit that the architecture agrees with, from
            the line "Code:" there; "" if it was compared with a paper only.
        head: Name of the head that a `Forecaster` trains by default, if the builder takes heads.
        inputs: Names of the model's inputs: "history" `(batch, context_length, num_channels)`,
            and "position" `(batch,)`, the number of the window's first step in the series.
        features: Names and axes of the tensors that `build(name, ..., include_top=False)` returns,
            "" if the architecture has no features. "head: b c f" is what the layer "head" reads:
            batch, channels, and the features of all tokens; "t" is an axis of tokens, "bc" the
            channels in the batch. A pattern, as in `re`, names several layers.
        paper: Dict of hyperparameter -> value in the paper, for hyperparameters whose default is
            smaller so that the model trains on a laptop. `build(name, ..., **info(name).paper)`
            has the size of the paper. The dict is empty if no default is smaller, as for N-HiTS, or
            if the paper chooses a size for each data set, as for TiDE: then see `sizes`.
        variants: Dict of name -> hyperparameters of a further model of the paper, such as
            "interpretable" for N-BEATS.
        parameters: Dict of the keyword arguments of the builder and their defaults.

    Example:
        >>> from kerastrans import zoo
        >>> nhits = zoo.info("nhits")
        >>> nhits.title, nhits.year, nhits.equivariance, nhits.mixes_channels
        ('N-HiTS', 2023, '', False)
        >>> nhits.tier, nhits.paper_url
        ('start with', 'https://arxiv.org/abs/2201.12886')
        >>> nhits.defaults["pool_sizes"]
        (2, 2, 1)
        >>> zoo.info("patchtst").feature_shape(96, 24, 7)
        (7, 12, 16)
    """

    name: str
    title: str
    source: str
    year: int
    summary: str
    tags: tuple
    license: str = ""
    paper_url: str = ""
    code_url: str = ""
    head: str = "quantiles"
    inputs: tuple = ("history",)
    features: str = ""
    paper: dict = field(default_factory=dict, repr=False, compare=False)
    variants: dict = field(default_factory=dict, repr=False, compare=False)
    parameters: dict = field(default_factory=dict, repr=False, compare=False)

    @property
    def mixes_channels(self):
        """True if the forecast of a channel depends on the other channels."""
        return "mixes channels" in self.tags

    @property
    def tier(self):
        """The tier: "start with", "classics" or "for comparison"."""
        return next((tier for tier, names in TIERS.items() if self.name in names), COMPARISON)

    @property
    def equivariance(self):
        """The tag "shift", "scale" or "affine", or "" if the architecture has none of them."""
        return next((tag for tag in self.tags if tag in EQUIVARIANCES), "")

    @property
    def sizes(self):
        """Dict of size -> hyperparameters other than the defaults.

        "laptop" is the default and "paper" the size in the paper, which is the default if `paper`
        is empty. The names of `variants` follow. "etth1_96" and others are those of the authors'
        scripts for a data set and a number of steps to forecast, see `settings`.

        Example:
            >>> from kerastrans import zoo
            >>> zoo.info("softs").sizes["etth1_720"]["ff_dim"]
            512
        """
        sizes = {"laptop": {}, "paper": dict(self.paper), **self.variants}
        for script in _read_settings(self.name).get("scripts", ()):  # "etth1" or "etth1.96"
            dataset, _, horizon = script.partition(".")
            for steps in [horizon] if horizon else HORIZONS_OF.get(dataset, HORIZONS):
                settings = _settings_of(self.name, dataset, steps)
                sizes[f"{dataset}_{steps}"] = settings["hyperparameters"]
        return sizes

    @property
    def search_space(self):
        """Dict of hyperparameter -> values worth trying; empty for a model without weights."""
        return _read_search_spaces().get(self.name, {})

    def settings(self, dataset, prediction_length):
        """Return the settings of the authors' script for a data set, to train as in the paper.

        For a data set or a number of steps without a script, they are those of the first script.

        Args:
            dataset: Name of a data set, see `kerastrans.datasets.names`.
            prediction_length: int, number of steps to forecast.

        Returns:
            Dict of context_length, batch_size, learning_rate, epochs, patience, schedule and
            "hyperparameters". Some have a loss other than "mse", a beta_1 of Adam other than 0.9,
            and arguments of the schedule, see `benchmarks/accuracy/long_horizon.py`. The files in
            `kerastrans/models/settings` name their sources.

        Raises:
            ValueError: If the architecture has no file of settings, or the data set is unknown.

        Example:
            >>> from kerastrans import zoo
            >>> settings = zoo.info("itransformer").settings("etth1", 720)
            >>> settings["learning_rate"], settings["hyperparameters"]["d_model"]
            (0.0001, 512)
        """
        from kerastrans import datasets

        datasets.info(dataset)
        if not _read_settings(self.name):
            raise ValueError(f"{self.name} has no settings of a script yet.")
        return _settings_of(self.name, dataset, prediction_length)

    @property
    def builder(self):
        """The function that builds the architecture."""
        module = importlib.import_module(f"{_FOLDER}.{self.name}")
        return getattr(module, f"build_{self.name}_model")

    @property
    def defaults(self):
        """Dict of the hyperparameters and their defaults."""
        return {
            name: default
            for name, default in self.parameters.items()
            if name not in (*OPTIONS, "name")
        }

    def count_params(self, context_length, prediction_length, num_channels, **hyperparameters):
        """Return the number of weights of the model at this size."""
        model = self.builder(context_length, prediction_length, num_channels, **hyperparameters)
        return model.count_params()

    def feature_shape(self, context_length, prediction_length, num_channels, **hyperparameters):
        """Return the numbers of channels, tokens of each channel, and features of each token.

        The number of channels is 1 if each token holds all channels.

        Raises:
            ValueError: If the architecture has no features.
        """
        from kerastrans.models.parts.features import check_top, feature_grid

        check_top(self.name, self.features, False, None, None)
        model = self.builder(context_length, prediction_length, num_channels, **hyperparameters)
        return feature_grid(model, self.features).shape[1:]

    def remove_top(self, model, pooling=None):
        """Return a model of the features of a given model, which has the same layers and weights.

        Args:
            model: Model of this architecture, as `kerastrans.zoo.build` returns it, trained or not.
            pooling: None, "avg", "max" or "last", see `kerastrans.zoo.build`.

        Raises:
            ValueError: If the architecture or the model has no features.
        """
        from kerastrans.models.parts.features import check_top, remove_top

        check_top(self.name, self.features, False, pooling, None)
        return remove_top(model, self.features, pooling)


def read_architecture(name):
    """Return the `Architecture` that a module declares, or None if it declares none.

    Args:
        name: Name of a module in `kerastrans.models`.
    """
    source = files(_FOLDER) / f"{name}.py"
    if not source.is_file():  # only compiled files were installed
        values = vars(importlib.import_module(f"{_FOLDER}.{name}"))
        text = values["__doc__"] or ""
    else:
        tree = ast.parse(source.read_text("utf-8"))
        text = ast.get_docstring(tree) or ""
        nodes = {ast.unparse(x.targets[0]): x.value for x in tree.body if isinstance(x, ast.Assign)}
        values = {x: ast.literal_eval(nodes[x]) for x in nodes.keys() & {"ARCHITECTURE"}}
        values |= {x.name: x.args for x in tree.body if isinstance(x, ast.FunctionDef)}
    if "ARCHITECTURE" not in values:
        return None
    # Without docstrings (python -OO) and sources, an architecture has its name as a title.
    title, authors, year = HEADING.match(text).groups() if text else (name, "", 0)
    urls = dict(re.findall(r"^(Paper|Code): (\S+)$", text, re.MULTILINE))
    return Architecture(
        name,
        title,
        authors,
        int(year),
        **values["ARCHITECTURE"],
        paper_url=urls.get("Paper", ""),
        code_url=urls.get("Code", ""),
        parameters=_keyword_defaults(values[f"build_{name}_model"]),
    )


def _keyword_defaults(builder):
    """Return a dict of the keyword arguments of a function, or of its `ast.arguments`."""
    if isinstance(builder, ast.arguments):
        defaults = map(ast.literal_eval, builder.kw_defaults)
        return {x.arg: default for x, default in zip(builder.kwonlyargs, defaults, strict=True)}
    parameters = inspect.signature(builder).parameters.values()
    return {x.name: x.default for x in parameters if x.kind is x.KEYWORD_ONLY}


@functools.cache
def _read_settings(name):
    """Return the settings of an architecture as a dict, which is empty without a file."""
    path = files(_FOLDER) / "settings" / f"{name}.toml"
    return _with_tuples(tomllib.loads(path.read_text("utf-8"))) if path.is_file() else {}


@functools.cache
def _read_search_spaces():
    path = files(_FOLDER) / "settings" / "search_spaces.json"
    return _with_tuples(json.loads(path.read_text("utf-8")))


def _settings_of(name, dataset, prediction_length):
    """Return the settings of a file for a data set and a number of steps, see `settings`."""
    table = _read_settings(name)
    own = table.get(dataset, {})
    settings, hyperparameters = {}, {}
    for layer in (table, own, own.get(str(prediction_length), {})):  # each replaces the former
        settings |= {name: x for name, x in layer.items() if not isinstance(x, dict)}
        hyperparameters |= layer.get("hyperparameters", {})
    settings.pop("scripts", None)
    return settings | {"hyperparameters": hyperparameters}


def _with_tuples(table):
    """Return a table whose lists are tuples, as in the defaults of the builders."""
    if isinstance(table, dict):
        return {name: _with_tuples(value) for name, value in table.items()}
    return tuple(map(_with_tuples, table)) if isinstance(table, list) else table
