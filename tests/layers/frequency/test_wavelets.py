import numpy as np
import pytest

from kerastrans.layers.frequency.wavelets import (
    check_wavelet,
    coefficient_lengths,
    decompose,
    reconstruct,
    wavelet_filters,
)
from tests.conftest import to_numpy

SERIES = np.random.default_rng(0).standard_normal((2, 3, 24)).astype("float32")


@pytest.mark.parametrize("wavelet", ["haar", "db3", "sym4", "sym11", "bior3.1", "bior2.4"])
def test_coefficients_restore_the_series(wavelet):
    approximation, details = decompose(SERIES, wavelet, levels=2)
    assert [x.shape[-1] for x in details] == coefficient_lengths(24, wavelet, levels=2)
    restored = to_numpy(reconstruct(approximation, details, wavelet))
    np.testing.assert_allclose(restored, SERIES, atol=1e-5)


@pytest.mark.parametrize(
    ("wavelet", "filter_"),
    [
        ("haar", [1, 1]),
        ("db2", [0.6830, 1.1830, 0.3170, -0.1830]),
        ("sym2", [0.6830, 1.1830, 0.3170, -0.1830]),
        ("bior3.1", [0.25, 0.75, 0.75, 0.25]),
    ],
)
def test_filters_of_synthesis_have_known_values(wavelet, filter_):
    _, synthesis = wavelet_filters(wavelet)
    np.testing.assert_allclose(synthesis * np.sqrt(2), filter_, atol=1e-4)


@pytest.mark.parametrize("order", [4, 7, 10])
def test_symlets_are_orthonormal_and_nearly_symmetric(order):
    symlet, daubechies = (wavelet_filters(f"{family}{order}")[0] for family in ("sym", "db"))
    for shift in range(order):
        product = symlet[: 2 * order - 2 * shift] @ symlet[2 * shift :]
        assert product == pytest.approx(float(shift == 0), abs=1e-8)

    def overlap(filter_):  # with the filter from its end, at the best shift; 1 if symmetric
        return np.abs(np.convolve(filter_, filter_)).max()

    assert overlap(symlet) > 0.9 > overlap(daubechies)


@pytest.mark.parametrize("wavelet", ["db0", "sym1", "bior3.2", "coif5", "", None, ["db2"]])
def test_unknown_wavelets_are_refused(wavelet):
    with pytest.raises(ValueError, match="unknown wavelet"):
        check_wavelet(wavelet)
