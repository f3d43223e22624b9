import keras
import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view
from scipy.fft import dct

from kerastrans.layers import CorrelationBasis
from tests.conftest import to_numpy

LENGTH = 12


def autoregressive(num_steps, num_channels, seed=0):
    """Series whose steps are correlated, so that no two eigenvalues are equal."""
    noise = np.random.default_rng(seed).normal(size=(num_steps, num_channels))
    values = np.zeros_like(noise)
    for i in range(1, num_steps):
        values[i] = 0.8 * values[i - 1] + noise[i]
    return values


def definition(series, length=LENGTH):
    """Eigenvectors by the definition of the paper, as rows: lagged series and `np.corrcoef`."""
    total = 0.0
    for rows in series:
        for values in rows.T:
            windows = sliding_window_view(values, length)
            windows = windows[np.isfinite(windows).all(axis=1)]
            if len(windows) > 1:
                total = total + len(windows) * np.corrcoef(windows, rowvar=False)
    return np.linalg.eigh(total)[1].T[::-1]


def adapted(series, length=LENGTH, **options):
    layer = CorrelationBasis(**options)
    layer.build((None, length))
    layer.adapt(series)
    return layer


def check_equal(layer, expected):
    basis = to_numpy(layer.basis)
    np.testing.assert_allclose((basis * expected).sum(axis=1) ** 2, 1.0, atol=1e-5)
    assert (basis[:, 0] >= 0).all()


@pytest.mark.parametrize("length", [1, 2, 7, 24])
def test_the_basis_is_the_dct_before_it_is_adapted(length):
    x = np.random.default_rng(0).normal(size=(3, length)).astype("float32")
    layer = CorrelationBasis()
    np.testing.assert_allclose(to_numpy(layer(x)), dct(x, norm="ortho"), atol=1e-5)
    assert not layer.is_adapted
    assert not layer.trainable_weights


def test_the_basis_has_the_eigenvectors_of_the_correlation_matrix():
    rows = autoregressive(400, 3) * [1.0, 1e6, 1e-6] + [0.0, 1e9, 5.0]  # units have no effect
    layer = adapted([rows])
    assert layer.is_adapted
    check_equal(layer, definition([rows]))
    z = (rows - rows.mean(axis=0)) / rows.std(axis=0)
    found = to_numpy(layer(sliding_window_view(z, LENGTH, axis=0).astype("float32")))
    variances = found.var(axis=(0, 1))
    assert (np.diff(variances) < 0).all()
    correlation = np.abs(np.corrcoef(found.reshape(-1, LENGTH), rowvar=False) - np.eye(LENGTH))
    assert correlation.max() < 0.02  # 0 for one channel


def test_series_weigh_by_their_windows_and_those_with_a_gap_do_not_count():
    first, second = autoregressive(60, 2, seed=1), autoregressive(300, 2, seed=2)
    second[[40, 41, 100, 290], 0] = np.nan
    second[0, 1] = second[-1, 1] = np.nan
    check_equal(adapted([first, second]), definition([first, second]))
    check_equal(adapted(iter([second, first])), definition([first, second]))


def test_rows_without_a_correlation_do_not_change_the_basis():
    constant = np.full((50, 1), 0.1)
    late = np.where(np.arange(50) < 48, 0.1, 5.0)[:, None]  # the first step of a window is constant
    short, holes = autoregressive(LENGTH, 2), autoregressive(50, 1)
    holes[::LENGTH] = np.nan
    useless = [constant, late, short, holes, np.full((50, 1), np.nan), np.zeros((0, 2))]
    assert not adapted(useless).is_adapted
    rows = autoregressive(200, 1)
    check_equal(adapted([*useless, rows]), definition([rows]))


def test_the_inverse_of_the_same_basis_undoes_it():
    rows = [autoregressive(400, 2)]
    x = np.random.default_rng(0).normal(size=(4, 3, LENGTH)).astype("float32")
    inverse = adapted(rows, inverse=True)
    np.testing.assert_allclose(to_numpy(inverse(adapted(rows)(x))), x, atol=1e-5)
    assert CorrelationBasis.from_config(inverse.get_config()).inverse


def test_the_basis_is_saved_with_a_model(tmp_path):
    inputs = keras.Input((LENGTH,))
    model = keras.Model(inputs, CorrelationBasis(name="basis")(inputs))
    model.get_layer("basis").adapt([autoregressive(400, 2)])
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras").get_layer("basis")
    assert loaded.is_adapted
    np.testing.assert_array_equal(to_numpy(loaded.basis), to_numpy(model.get_layer("basis").basis))


def test_one_array_is_one_series():
    rows = autoregressive(90, 2)
    np.testing.assert_array_equal(to_numpy(adapted(rows).basis), to_numpy(adapted([rows]).basis))


def test_what_cannot_be_adapted_is_refused():
    with pytest.raises(ValueError, match="has to be built before adapt"):
        CorrelationBasis().adapt([autoregressive(90, 2)])
    with pytest.raises(ValueError, match=r"must be \(time, num_channels\), got shape \(90,\)"):
        adapted([autoregressive(90, 2)[:, 0]])
