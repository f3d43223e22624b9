"""Published weights that were trained on the very series that they forecast."""

import warnings


def warn_if_seen(card, frame, told, stacklevel=3):
    """Warn, once for each data set, where weights were trained on the data set of a frame.

    Args:
        card: dict of where the weights come from, see `models.pretrained.licences`; None of
            a model that has none.
        frame: DataFrame; its `attrs["dataset"]` is the name that `kerastrans.datasets.load` read it
            by, where it did.
        told: set of the names that were warned of, which grows.
        stacklevel: int, of the warning.
    """
    name = getattr(frame, "attrs", {}).get("dataset")
    if card is None or name in told or name not in card.get("seen", ()):
        return
    told.add(name)
    warnings.warn(
        f"{card['name']} was trained on {name!r} ({card['seen_source']}): its errors there say "
        "nothing about new series.",
        stacklevel=stacklevel,
    )
