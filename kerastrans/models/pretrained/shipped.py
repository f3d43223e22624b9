"""Published weights that are part of the package."""

from pathlib import Path

from kerastrans.data.time.seasons import daily_season, yearly_season
from kerastrans.models.pretrained.hub import resolve_hub_name
from kerastrans.models.pretrained.licences import card_of

_HERE = Path(__file__).parents[2]
# An installed package contains the presets; a checkout has them at its top level.
FOLDER = next(
    (path for path in (_HERE / "saved_models", _HERE.parent / "saved_models") if path.is_dir()),
    _HERE / "saved_models",
)
# Checkpoints in the package -> names of their cards.
SHIPPED = {
    "fracast_0": "ztxtech/fracast-0",
    "kerastrans_zero": "kerastrans_zero",
    "kerastrans_zero_2": "kerastrans_zero_2",
}
DEFAULT = "kerastrans_zero_2"  # what forecasts if no model is named


def options_for(name, freq):
    """Return the options of a checkpoint in the package for a frequency.

    kerastrans_zero_2 has a `season` for steps of five minutes to an hour, a day, and for steps of
    whole months, a year.

    Args:
        name: Name of the checkpoint.
        freq: str, pandas frequency; None if it is unknown.
    """
    if name != "kerastrans_zero_2" or freq is None:
        return {}
    season = yearly_season(freq) or daily_season(freq)
    return {} if season is None else {"season": season}


def resolve_checkpoint(source, revision=None):
    """Return the folder of published weights and their card, see `kerastrans.from_pretrained`."""
    if source in SHIPPED and not Path(source).is_dir():
        folder, card = resolve_hub_name(FOLDER / source, revision)
        return folder, card | card_of(SHIPPED[source])
    return resolve_hub_name(source, revision)
