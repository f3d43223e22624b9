"""Conversion of the values of a series to tokens of a vocabulary and back."""

import numpy as np


class ValueTokens:
    """Converts values, in units of their mean absolute value, to the numbers of their bins.

    The bins have equal width between two limits; values beyond a limit are in the outer bin. A
    missing value becomes the padding token and is masked.

    Args:
        low: float, centre of the first bin.
        high: float, centre of the last bin.
        num_tokens: int, size of the vocabulary.
        num_special: int, number of tokens that do not represent a bin.
        padding: int, token of a missing value.
        end: int, token that ends a history, or None.

    Source: Ansari et al. (2024), "Chronos: Learning the language of time series", section 3.1.
    """

    def __init__(self, low, high, num_tokens, num_special, padding, end):
        self.centers = np.linspace(low, high, num_tokens - num_special - 1)
        self.num_special = num_special
        self.padding = padding
        self.end = end

    def encode(self, history):
        """Return tokens and mask, each `(batch, time)`, and the scale `(batch,)`.

        Args:
            history: `(batch, time)`, NaN where missing.
        """
        observed = ~np.isnan(history)
        total = np.nansum(np.abs(history), axis=1)
        mean = total / np.maximum(observed.sum(axis=1), 1).astype(history.dtype)
        scale = np.where(mean > 0, mean, np.ones_like(mean))
        centers = self.centers.astype(history.dtype)
        # The first bin begins at minus infinity, and the last one ends at infinity.
        edges = (centers[1:] + centers[:-1]) / 2
        bins = np.searchsorted(edges, history / scale[:, None], side="right")
        tokens = np.where(observed, bins + self.num_special + 1, self.padding).astype("int32")
        if self.end is not None:
            tokens = np.pad(tokens, [(0, 0), (0, 1)], constant_values=self.end)
            observed = np.pad(observed, [(0, 0), (0, 1)], constant_values=True)
        return tokens, observed, scale

    def decode(self, tokens, scale):
        """Return the values `(batch, ...)` of tokens; special tokens count as the first bin."""
        bins = np.clip(tokens - self.num_special - 1, 0, len(self.centers) - 1)
        scale = scale.reshape(-1, *(1,) * (tokens.ndim - 1))
        return self.centers.astype(scale.dtype)[bins] * scale
