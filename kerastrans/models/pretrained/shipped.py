"""Published weights that are part of the package."""

from pathlib import Path

from kerastrans.data.time.seasons import phase_season
from kerastrans.models.pretrained.hub import resolve_hub_name
from kerastrans.models.pretrained.licences import card_of

_HERE = Path(__file__).parents[2]
# An installed package contains the presets; a checkout has them at its top level.
FOLDER = next(
    (path for path in (_HERE / "saved_models", _HERE.parent / "saved_models") if path.is_dir()),
    _HERE / "saved_models",
)
DEFAULT = "kerastrans_zero_2"  # the checkpoint in the package, which forecasts if none is named


def options_for(name, freq):
    """Return the options of published weights for a frequency.

    kerastrans_zero_2 has the `season` of `kerastrans.data.time.seasons.phase_season`: a day for
    steps of five minutes to an hour, and a year for steps of whole months.

    Args:
        name: Name of the checkpoint.
        freq: str, pandas frequency; None if it is unknown.
    """
    if name != DEFAULT or freq is None:
        return {}
    season = phase_season(freq)
    return {} if season is None else {"season": season}


def resolve_checkpoint(source, revision=None):
    """Return the folder of published weights and their card, see `kerastrans.from_pretrained`."""
    if source == DEFAULT and not Path(source).is_dir():
        folder, card = resolve_hub_name(FOLDER / source, revision)
        return folder, card | card_of(source)
    return resolve_hub_name(source, revision)
