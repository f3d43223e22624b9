"""Training data, the training loop and what surrounds it."""

from kerastrans.utils.lazy import names_of

__getattr__, __dir__, __all__ = names_of(
    __name__,
    {
        "comparison": (),
        "data": ("TrainingData",),
        "fallback": (),
        "fine_tuning": (),
        "fit": (),
        "loop": (),
        "time_limit": ("TimeLimit",),
    },
)
