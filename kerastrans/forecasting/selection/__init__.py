"""Model selection: comparison on held-out data, ensembles and hyperparameter search."""

from kerastrans.utils.lazy import names_of

__getattr__, __dir__, __all__ = names_of(
    __name__, {"combination": ("Selected", "combine"), "search": ("select",), "tuning": ()}
)
