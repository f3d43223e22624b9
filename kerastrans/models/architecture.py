"""An architecture's entry: read from the source of its file, without importing it."""

import ast
import importlib
from dataclasses import dataclass, field

EQUIVARIANCES = ("shift", "scale", "affine")
OPTIONS = ("head", "covariates")  # of what is forecast, and from what: no hyperparameters


@dataclass(frozen=True)
class Architecture:
    """What is known of an architecture: the entry in its file, and what follows from it.

    Attributes:
        name: as `build` knows it.
        title: the name its paper gives it.
        source: authors of the paper.
        year: int, of the paper.
        summary: what it is, in a few words.
        tags: tuple of str. First what it is made of: "baseline", "linear", "mlp", "attention",
            "convolution", "recurrent". Then "mixes channels" or "channel independent": whether a
            channel's forecast depends on the other channels. "shift" (a constant added), "scale"
            (multiplied) or "affine" (both): what may be done to a window so that the same is done
            to its forecast. "past covariates", "future covariates", "static covariates": those it
            has a place for itself. "takes heads"; "autoregressive": with a distribution as its
            head it forecasts step by step.
        inputs: names of the model's inputs: "history" `(batch, context_length, num_channels)`,
            and "position" `(batch,)`, the number of the window's first step in the series.
        paper: dict of hyperparameter -> value at which the model has the size of its paper, where
            the defaults, which a laptop bears, are smaller: `build(name, ..., **info(name).paper)`.
        parameters: dict of the builder's arguments by keyword, and their defaults.
        search_space: dict of hyperparameter -> values worth trying.

    Example:
        >>> from kerastrans import zoo
        >>> nhits = zoo.info("nhits")
        >>> nhits.title, nhits.year, nhits.equivariance, nhits.mixes_channels
        ('N-HiTS', 2023, '', False)
        >>> nhits.defaults["pool_sizes"]
        (2, 2, 1)
    """

    name: str
    title: str
    source: str
    year: int
    summary: str
    tags: tuple
    inputs: tuple = ("history",)
    paper: dict = field(default_factory=dict, repr=False, compare=False)
    parameters: dict = field(default_factory=dict, repr=False, compare=False)
    search_space: dict = field(default_factory=dict, repr=False, compare=False)

    @property
    def mixes_channels(self):
        """Whether a channel's forecast depends on the other channels."""
        return "mixes channels" in self.tags

    @property
    def equivariance(self):
        """The tag "shift", "scale" or "affine", or "" for none of them."""
        return next((tag for tag in self.tags if tag in EQUIVARIANCES), "")

    @property
    def builder(self):
        """The function that builds it."""
        module = importlib.import_module(f"kerastrans.models.{self.name}")
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
        """Number of weights that the model has at this size."""
        model = self.builder(context_length, prediction_length, num_channels, **hyperparameters)
        return model.count_params()


def read(path):
    """The `Architecture` that a file's source declares; None where it declares none."""
    tree = ast.parse(path.read_text("utf-8"))
    assigned = {ast.unparse(x.targets[0]): x.value for x in tree.body if isinstance(x, ast.Assign)}
    if "ARCHITECTURE" not in assigned:
        return None
    functions = {x.name: x.args for x in tree.body if isinstance(x, ast.FunctionDef)}
    arguments = functions[f"build_{path.stem}_model"]
    defaults = map(ast.literal_eval, arguments.kw_defaults)
    names = [argument.arg for argument in arguments.kwonlyargs]
    return Architecture(
        path.stem,
        **ast.literal_eval(assigned["ARCHITECTURE"]),
        parameters=dict(zip(names, defaults, strict=True)),
        search_space=ast.literal_eval(assigned.get("SEARCH_SPACE", "{}")),
    )
