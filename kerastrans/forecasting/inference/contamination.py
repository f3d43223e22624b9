"""Published weights that were trained on the very series that they forecast."""

from kerastrans.utils.user_warnings import warn_user


def warn_if_seen(card, frame, told):
    """Warn, once for each data set, where weights were trained on the data set of a frame.

    Args:
        card: dict of where the weights come from, see `models.pretrained.licences`; None of
            a model that has none.
        frame: DataFrame; its `attrs["dataset"]` is the name that `kerastrans.datasets.load` read it
            by, where it did.
        told: set of the names that were warned of, which grows.
    """
    name = getattr(frame, "attrs", {}).get("dataset")
    if card is None or name in told or name not in card.get("seen", ()):
        return
    told.add(name)
    warn_user(
        f"{card['name']} was trained on {name!r} ({card['seen_source']}): its errors there say "
        "nothing about new series.",
    )
