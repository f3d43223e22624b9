"""Warning about published weights that were trained on the series that they forecast."""

from kerastrans.utils.user_warnings import warn_user


def warn_if_seen(card, frame, warned):
    """Warn, once per data set, if weights were trained on the data set of a frame.

    Args:
        card: Dict that describes the origin of the weights, see `models.pretrained.licences`; None
            for a model without published weights.
        frame: DataFrame; `kerastrans.datasets.load` sets `attrs["dataset"]` to its name.
        warned: Set of the names that were warned about; the name is added to it.
    """
    name = getattr(frame, "attrs", {}).get("dataset")
    if card is None or name in warned or name not in card.get("seen", ()):
        return
    warned.add(name)
    warn_user(
        f"{card['name']} was trained on {name!r} ({card['seen_source']}): its errors there say "
        "nothing about new series.",
    )
