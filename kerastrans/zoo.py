"""The zoo: architectures by name, and presets trained with them."""

from typing import TYPE_CHECKING

from kerastrans.models.registry import Architecture, build, check_contract, info, names
from kerastrans.utils.types import PathLike

if TYPE_CHECKING:
    from kerastrans.forecasting.forecaster import Forecaster

__all__ = ["Architecture", "build", "check_contract", "from_preset", "info", "names", "presets"]


def presets() -> list[str]:
    """Return the names of the installed presets, which are trained forecasters.

    See `from_preset`.

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
    """Load a trained `kerastrans.Forecaster` that can forecast, or be trained further with `fit`.

    Args:
        source: One of `presets()`, the folder of a preset, which comes first, a .zip or .tar
            archive of one, or its URL; or "hf://user/name" on the Hugging Face hub, which requires
            `pip install ".[hub]"` and is downloaded once.
        checksum: str, sha256 of the archive, which is required for URLs. For the hub, folders and
            names, the sha256 of the preset's card.json, which contains those of the other files.
        revision: str, commit, branch or tag on the hub; the newest by default.
        verbose: bool, whether to print the licence, commit and checksum of presets from the hub.

    Raises:
        FileNotFoundError: If the hub has no such name, or there is neither a network nor a copy.
        ImportError: If a name on the hub is given and `huggingface_hub` is not installed.
        ValueError: If the name is unknown; the nearest known name is suggested.
        ValueError: If the preset has another format.
        ValueError: If the checksum of a file differs from that in the card.
        ValueError: If an archive contains a path outside its folder.
        ValueError: If the model contains code.
        ValueError: If the licence on the hub forbids commercial use.

    Example:
        >>> from_preset("nhits_air_passengers_12").prediction_length
        12
    """
    from kerastrans.forecasting import presets as trained

    return trained.load(source, checksum, revision=revision, verbose=verbose)
