"""Conformal intervals inside of an exported file."""

from dataclasses import dataclass

import numpy as np
from keras import ops

from kerastrans.heads.point import PointHead
from kerastrans.heads.quantile import QuantileHead
from kerastrans.heads.samples import Samples


@dataclass(frozen=True)
class Widths:
    """Offsets of conformal intervals, of all series and of groups of them.

    Attributes:
        offsets: Dict of level -> `(1 + groups, prediction_length, num_channels, 2)`, offsets of the
            lower and the upper bound in units of the scale; the first for unknown groups.
        by: Name of the input with the group of each window; None without groups.
        groups: Tuple of the keys of the groups.
        sizes: `(1 + series, num_channels)`, factors of the scale; the first for unknown series.
            None for 1.
        series: Tuple of the keys of the series with a size.
    """

    offsets: dict
    by: str | None = None
    groups: tuple = ()
    sizes: np.ndarray | None = None
    series: tuple = ()

    @property
    def levels(self):
        """Percents of the intervals, increasing."""
        return tuple(sorted(self.offsets))

    @property
    def keys(self):
        """Dict of the inputs that name the group or the series of a window -> known keys."""
        keys = {} if self.sizes is None else {"unique_id": self.series}
        if self.by is not None:
            known = dict.fromkeys((*keys.get(self.by, ()), *self.groups))
            keys[self.by] = tuple(known)
        return keys

    def bounds(self, head, parameters, scale, inputs, limit):
        """Return the dict of "lower" and "upper" bounds of the intervals, and of a moved median.

        Args:
            head: Head of the model.
            parameters: Its parameters, in the units of the series.
            scale: Scale of each window, `(batch, 1, num_channels)`.
            inputs: Dict of tensors with the codes of `keys`.
            limit: Function that keeps a dict of tensors within the bounds of the series.

        Returns:
            Dict of tensors `(batch, prediction_length, num_channels, levels)`; and "forecast", in
            the narrowest interval, if the point of the head is the median.
        """
        if self.sizes is not None:
            sizes = self._of_keys("unique_id", self.series, self.sizes, inputs)
            scale = scale * sizes[:, None]
        ends = []
        for level in self.levels:
            tail = (1 - level / 100) / 2
            both = (parameters, parameters)
            if not isinstance(head, PointHead):
                both = [head.at_level(parameters, x) for x in (tail, 1 - tail)]
            low, high = limit(dict(zip("lu", both, strict=True))).values()
            offsets = self._of_keys(self.by, self.groups, self.offsets[level], inputs)
            low, high = low - offsets[..., 0] * scale, high + offsets[..., 1] * scale
            middle = (low + high) / 2
            ends += [ops.minimum(low, middle), ops.maximum(high, middle)]
        # A wider interval contains a narrower one: all bounds are put in order.
        ends, count = _in_order(ends), len(self.levels)
        lower, upper = ends[:count][::-1], ends[count:]
        found = {"lower": ops.stack(lower, axis=-1), "upper": ops.stack(upper, axis=-1)}
        if isinstance(head, PointHead) or head.point_is_median:
            middle = head.outputs(parameters)["forecast"]
            found["forecast"] = ops.minimum(ops.maximum(middle, lower[0]), upper[0])
        return limit(found)

    def _of_keys(self, name, keys, values, inputs):
        """Return the values of the window's key, the first of them for an unknown key."""
        values = np.asarray(values, "float32")
        if name is None:
            return ops.convert_to_tensor(values[:1])
        places = [0, *(keys.index(key) + 1 if key in keys else 0 for key in self.keys[name])]
        return ops.take(ops.convert_to_tensor(values[places]), inputs[name], axis=0)


def _in_order(tensors):
    """Return tensors whose values are sorted at each place; not all formats can sort."""
    tensors = list(tensors)
    for last in range(len(tensors) - 1, 0, -1):
        for i in range(last):
            low, high = tensors[i], tensors[i + 1]
            tensors[i : i + 2] = ops.minimum(low, high), ops.maximum(low, high)
    return tensors


def check_head(head):
    """Raise ValueError for a distribution, whose quantiles a file cannot compute."""
    if not isinstance(head, QuantileHead | Samples | PointHead):
        raise ValueError(
            f"conformal intervals of a {type(head).__name__} cannot be exported: train with "
            "head='quantiles' or head='point', or export before calibrate."
        )
