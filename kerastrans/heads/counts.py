"""Base class of heads for counts and other amounts that are not negative."""

import numpy as np
from keras import ops

from kerastrans.heads.base import FLOOR, Head


class CountHead(Head):
    """Base class of heads for counts; the first parameter is a mean.

    The series must not be scaled, because scaled counts are not counts. Models divide their windows
    by a mean instead, see `kerastrans.models.parts.normalized_window.open_window`. A subclass
    defines `assemble`, `log_prob`, `draw`, `cdf` and `_inverse_cdf`.

    Attributes:
        window_scale: str, scale that windows are divided by: "mean_abs", or "mean_nonzero", the
            mean of the values that are not zero.
        requirement: str, description of valid values, for messages.
    """

    takes_scaled_windows = False
    is_discrete = True
    lower_bound = 0.0
    window_scale = "mean_abs"
    requirement = "counts (0, 1, 2, ...)"

    def positive_mean(self, locations, scale):
        """Return the positive means of locations `(..., 1)`, linear if they are large."""
        return scale * ops.softplus(locations / scale) + FLOOR

    def check_targets(self, values, names=None):
        """Raise ValueError for values that this head cannot forecast, see `Head.check_targets`.

        Raises:
            ValueError: If a value is negative, fractional or infinite.

        Example:
            >>> from kerastrans.heads import PoissonHead
            >>> PoissonHead().check_targets(np.array([[3.0], [np.nan], [2.5]]), ["shop"])
            Traceback (most recent call last):
            ...
            ValueError: a PoissonHead requires counts (0, 1, 2, ...): 'shop' has 2.5.
        """
        values = np.asarray(values, "float64")
        is_valid = (values >= 0) & (values < np.inf)
        if self.is_discrete:
            is_valid &= values == np.floor(values)
        invalid = np.argwhere(~(is_valid | np.isnan(values)))
        if len(invalid):
            place = tuple(invalid[0])
            name = "the series" if names is None else repr(str(names[place[-1]]))
            raise ValueError(
                f"a {type(self).__name__} requires {self.requirement}: {name} has "
                f"{float(values[place])!r}."
            )

    def rescale(self, parameters, center, scale):
        """Raise ValueError, because scaled counts are not counts.

        Raises:
            ValueError: Always.
        """
        raise ValueError("counts cannot be rescaled: train this head with scaler=None.")

    def shift(self, parameters, amount):
        """Return the parameters with the first one times exp(amount), which keeps it positive."""
        mean = parameters[..., :1] * ops.exp(ops.expand_dims(amount, -1))
        return ops.concatenate([mean, parameters[..., 1:]], axis=-1)
