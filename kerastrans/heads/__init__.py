"""Forecast heads: points, quantiles and distributions, and the losses that train them.

A head is the last layer of a model. It converts `size` raw numbers for each step and channel to the
parameters of a forecast, `(batch, prediction_length, num_channels, size)`, in the units of the
history: locations are shifted and scaled as the window was, and spreads are scaled. Afterwards the
same object reads these parameters as NumPy arrays with `point`, `median`, `quantile`, `cdf` and
`sample`.

    model = zoo.build("patchtst", 336, 96, 7, head=QuantileHead([0.1, 0.5, 0.9]))
    model.compile("adam", heads.of(model).loss())
"""

from kerastrans.utils.lazy import names_of

HOMES = {
    "base": ("Head", "centered_log_steps"),
    "counts": ("CountHead", "HurdleNegativeBinomialHead", "NegativeBinomialHead", "PoissonHead"),
    "lookup": ("get", "names", "of"),
    "losses": ("CRPS", "KnownTargets", "NegativeLogLikelihood", "Pinball"),
    "mixture": ("MixtureHead",),
    "normal": ("NormalHead",),
    "point": ("PointError", "PointHead"),
    "quantile": ("GivenQuantiles", "QuantileHead"),
    "samples": ("Samples",),
    "student_t": ("StudentTHead",),
    "tweedie": ("TweedieHead",),
}
__getattr__, __dir__, __all__ = names_of(__name__, HOMES, with_modules=False)
