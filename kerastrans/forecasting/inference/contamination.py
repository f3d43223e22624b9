"""Statements about published weights that were trained on the series that they forecast."""

from kerastrans.utils.user_warnings import warn_user

SEEN, NOT_SEEN, UNKNOWN = "seen", "not seen", "unknown"
EVERY = "*"  # in the list "not_seen" of a card


def status_of(card, dataset):
    """Return whether weights were trained on a data set: "seen", "not seen" or "unknown".

    Args:
        card: Dict that describes the origin of the weights, see `models.pretrained.licences`.
        dataset: Name of a data set of `kerastrans.datasets`; None for other series.

    Example:
        >>> status_of({"seen": ["etth1"], "not_seen": ["hospital"]}, "hospital")
        'not seen'
    """
    if dataset in card.get("seen", ()):
        return SEEN
    return NOT_SEEN if {dataset, EVERY} & set(card.get("not_seen", ())) else UNKNOWN


def describe_contamination(state, alias, frame):
    """Return one line of text: whether a model was trained on the series of a frame.

    Args:
        state: `FittedState`.
        alias: Name of the model.
        frame: DataFrame; `kerastrans.datasets.load` sets `attrs["dataset"]` to its name.
    """
    card, dataset = state.card, getattr(frame, "attrs", {}).get("dataset")
    series = "these series" if dataset is None else repr(dataset)
    if card is None:  # members of ensembles have none either, but kerastrans_zero
        return f"{alias} was trained on no other series than those that were given to it."
    source = f" ({card['seen_source']})" if card.get("seen_source") else ""
    line = {
        SEEN: f"{card['name']} was trained on {series}{source}: its errors there say nothing about "
        "new series.",
        NOT_SEEN: f"{card['name']} was not trained on {series}{source}.",
        UNKNOWN: f"It is not known whether {card['name']} was trained on {series}{source}.",
    }[status_of(card, dataset)]
    return f"{line} It was then trained on the series given to `fit`." if state.trained else line


def warn_if_seen(state, alias, frame, warned):
    """Warn, once per data set, if weights were trained on the data set of a frame.

    Args:
        state: See `describe_contamination`, as the following.
        alias: Name of the model.
        frame: DataFrame.
        warned: Set of the names that were warned about; the name is added to it.
    """
    name = getattr(frame, "attrs", {}).get("dataset")
    if state is None or state.card is None or name in warned:
        return
    if status_of(state.card, name) == SEEN:
        warned.add(name)
        warn_user(describe_contamination(state, alias, frame))
