"""The zoo: architectures by name, and the presets that were trained with them."""

from typing import TYPE_CHECKING

from kerastrans.models.registry import Architecture, build, check_contract, info, names
from kerastrans.utils.types import PathLike

if TYPE_CHECKING:
    from kerastrans.forecasting.forecaster import Forecaster

__all__ = [
    "Architecture",
    "build",
    "check_contract",
    "from_preset",
    "info",
    "names",
    "presets",
]


def presets() -> list[str]:
    """Names of the trained forecasters that are installed, see `from_preset`.

    Example:
        >>> "nhits_air_passengers_12" in presets()
        True
    """
    from kerastrans.forecasting import presets as trained

    return trained.names()


def from_preset(
    source: PathLike,
    checksum: str | None = None,
    *,
    revision: str | None = None,
    verbose: bool = True,
) -> "Forecaster":
    """A trained `kerastrans.Forecaster`: it forecasts at once, and `fit` trains it further.

    Args:
        source: one of `presets()`, a preset's folder, a .zip or .tar archive of one, or its URL; or
            "hf://user/name" on the Hugging Face hub, which needs `pip install "kerastrans[hub]"`
            and is downloaded once.
        checksum: sha256 of the archive, without which no URL is read; on the hub of the preset's
            card.json, which holds those of the other files.
        revision: str, commit, branch or tag on the hub; the newest by default.
        verbose: bool, whether licence, commit and checksum of what comes from the hub are printed.

    Raises:
        FileNotFoundError: No such name on the hub, or no network and no copy of it.
        ImportError: A name on the hub, and no `huggingface_hub`.
        ValueError: An unknown name; the nearest known one is suggested.
        ValueError: A preset of another format.
        ValueError: A file whose checksum is not the one of its card.
        ValueError: An archive with a path outside its folder.
        ValueError: A model that holds code.
        ValueError: A licence on the hub that forbids commercial use.

    Example:
        >>> from_preset("nhits_air_passengers_12").prediction_length
        12
    """
    from kerastrans.forecasting import presets as trained

    return trained.load(source, checksum, revision=revision, verbose=verbose)
