"""The zoo: architectures by name, and the presets that were trained with them."""

from kerastrans.forecasting import presets as trained
from kerastrans.models.registry import Architecture, build, info, names

__all__ = ["Architecture", "build", "from_preset", "info", "names", "presets"]


def presets():
    """Names of the trained forecasters that are installed, see `from_preset`."""
    return trained.names()


def from_preset(source, checksum=None):
    """A trained `kerastrans.Forecaster`: it forecasts at once, and `fit` goes on training it.

    Args:
        source: one of `presets()`, a preset's folder, a .zip or .tar archive of one, or its URL.
        checksum: sha256 of the archive; a URL is not read without it.

    Raises:
        ValueError: an unknown name (the nearest is suggested); a preset of another format; a file
            whose checksum is not the one of its card; an archive with a path outside its folder;
            a model that holds code.
    """
    return trained.load(source, checksum)
