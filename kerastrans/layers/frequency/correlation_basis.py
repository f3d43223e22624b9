"""The eigenvectors of the temporal correlation matrix of the training series, as a basis."""

import keras
import numpy as np
from keras import ops

from kerastrans.utils.keras_internals import all_layers
from kerastrans.utils.model_files import serializable

CONSTANT = 1e-12  # variance of a position of the windows, in units of the series', that is zero


@serializable
class CorrelationBasis(keras.layers.Layer):
    """Coefficients of windows in an orthonormal basis that decorrelates their steps, or back.

    The vectors of the basis are the eigenvectors of the correlation matrix of the steps of a
    window, that of the largest eigenvalue first. They are not trained: `adapt` computes them from
    training rows, as in `keras.layers.Normalization`, and they are saved with the model. Before
    that they are the cosines of the DCT-II, which the eigenvectors of a stationary series with
    strongly correlated steps resemble. A `Forecaster` adapts a new model before it trains it.

    Args:
        inverse: bool, whether the layer maps coefficients to values; otherwise values to
            coefficients.

    Call arguments:
        inputs: `(..., length)`, values at the steps of a window, or coefficients.

    Returns:
        `(..., length)`.

    Example:
        >>> import numpy as np
        >>> layer = CorrelationBasis()
        >>> np.asarray(layer(np.ones((1, 4)))).round(3).tolist()
        [[2.0, 0.0, 0.0, 0.0]]
        >>> layer.adapt([np.random.default_rng(0).normal(size=(99, 2)).cumsum(axis=0)])
        >>> layer.is_adapted
        True

    Source: Yue et al. (2025), OLinear, "OrthoTrans"; Ahmed, Natarajan, Rao (1974),
    "Discrete cosine transform", for the cosines.
    """

    adapts_to_training_rows = True  # see `adapt_layers`

    def __init__(self, inverse=False, **kwargs):
        super().__init__(**kwargs)
        self.inverse = inverse
        self.is_loaded = False  # whether the basis was read from a file

    def build(self, inputs_shape):
        length = inputs_shape[-1]
        self.basis = self.add_weight(
            shape=(length, length),
            initializer=lambda shape, dtype=None: ops.convert_to_tensor(cosines(shape[0]), dtype),
            trainable=False,
            name="basis",
        )

    def call(self, inputs):
        basis = self.basis if self.inverse else ops.transpose(self.basis)
        return ops.matmul(inputs, basis)

    @property
    def is_adapted(self):
        """True if the basis was computed from training rows."""
        basis = ops.convert_to_numpy(self.basis)
        return not np.array_equal(basis, cosines(len(basis)).astype(basis.dtype))

    def adapt(self, series):
        """Compute the basis from training rows.

        The correlation matrices of all channels and series are averaged, weighted by their numbers
        of windows. A window with a missing value does not count, and neither does a channel that
        does not vary. If no two windows are left, the basis is not changed.

        Args:
            series: Array `(time, num_channels)`, NaN where missing, or an iterable of such arrays,
                one per series.

        Raises:
            ValueError: If the layer is not built, or an array does not have two axes.
        """
        if not self.built:
            raise ValueError(
                "the layer has to be built before adapt, by a call or as a part of a model: the "
                "length of its windows is unknown."
            )
        length = self.basis.shape[0]
        total = np.zeros((length, length))
        for rows in [series] if getattr(series, "ndim", 0) == 2 else series:
            rows = np.asarray(rows, "float64")
            if rows.ndim != 2:
                raise ValueError(f"series must be (time, num_channels), got shape {rows.shape}.")
            for values in rows.T:
                correlation, count = correlate_steps(values, length)
                total += count * correlation
        if total.any():
            self.basis.assign(eigenvectors(total))

    def load_own_variables(self, store):
        super().load_own_variables(store)
        self.is_loaded = True

    def compute_output_shape(self, inputs_shape):
        return inputs_shape


def cosines(length):
    """Return the orthonormal basis of the DCT-II, `(length, length)`, one vector per row."""
    step = np.arange(length)
    basis = np.sqrt(2 / length) * np.cos(np.pi / length * np.outer(step, step + 0.5))
    basis[0] /= np.sqrt(2)
    return basis


def eigenvectors(matrix):
    """Return the eigenvectors of a symmetric matrix as rows, that of the largest eigenvalue first.

    The sign of an eigenvector is free. Here the first value is not negative, as for the cosines.
    """
    vectors = np.linalg.eigh(matrix)[1].T[::-1]
    return np.where(vectors[:, :1] < 0, -vectors, vectors)


def correlate_steps(values, length):
    """Return the correlation matrix of the steps of all windows of a series, and their number.

    Args:
        values: `(time,)`, NaN where missing.
        length: int, number of steps of a window.

    Returns:
        `(length, length)` and an int; zeros and 0 if they have no correlation.
    """
    none = np.zeros((length, length)), 0
    known = values[np.isfinite(values)]
    if not known.size or np.ptp(known) == 0:
        return none
    values = (values - known.mean()) / known.std()
    count, sums, products = 0, np.zeros(length), np.zeros((length, length))
    ends = np.flatnonzero(~np.isfinite(values))
    for run in np.split(values, np.unique([*ends, *(ends + 1)])):  # of known values, or one gap
        if len(run) < length or not np.isfinite(run[0]):
            continue
        windows = len(run) - length + 1
        count += windows
        sums += _sliding_sums(run, windows)
        for lag in range(length):
            step = np.arange(length - lag)
            products[step, step + lag] += _sliding_sums(run[: len(run) - lag] * run[lag:], windows)
    mean = sums / max(count, 1)
    upper = np.triu(products / max(count, 1)) - np.triu(np.outer(mean, mean))
    covariance = upper + np.triu(upper, 1).T
    variance = np.diag(covariance)
    if count < 2 or variance.min() < CONSTANT:
        return none
    return covariance / np.sqrt(np.outer(variance, variance)), count


def _sliding_sums(x, count):
    """Return the sum of `count` successive values, for each first one."""
    total = np.concatenate([[0.0], np.cumsum(x)])
    return total[count:] - total[:-count]


def adapt_layers(model, read_series):
    """Compute the weights of the layers that have `adapts_to_training_rows`.

    A layer that was adapted before is not changed: the weights after it were trained with its own.
    A model without such layers is not changed, and its training rows are not read.

    Args:
        model: Keras model.
        read_series: Function without arguments that returns the training rows, an iterable of
            arrays `(time, num_channels)`, one per series, NaN where missing. It is called once for
            each layer.

    Example:
        >>> import numpy as np
        >>> from kerastrans import zoo
        >>> model = zoo.build("olinear", 8, 4, 2, d_model=8)
        >>> rows = np.random.default_rng(0).normal(size=(99, 2)).cumsum(axis=0)
        >>> adapt_layers(model, lambda: [rows])
        >>> model.get_layer("context_basis").is_adapted
        True
    """
    for layer in all_layers(model):
        if getattr(layer, "adapts_to_training_rows", False) and not layer.is_adapted:
            layer.adapt(read_series())
