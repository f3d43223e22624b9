"""Training loss of a forecaster, and the scalers that it requires."""

from kerastrans import heads
from kerastrans.data.scaling import SHIFTING
from kerastrans.heads.point import POINT_ERRORS, RELATIVE
from kerastrans.utils.user_warnings import warn_user


def loss_of(config, head):
    """Return the training loss of a config, by default that of the head, for Keras.

    Args:
        config: `Config`.
        head: Head of the model.

    Raises:
        ValueError: If the name is neither one of `heads.PointError` nor of Keras.
    """
    loss = config.loss or head.loss()
    if isinstance(loss, str) and loss in POINT_ERRORS:
        return heads.PointError(loss)
    if head.has_parameter_axis or isinstance(loss, heads.PointError):
        return loss
    return heads.KnownTargets(loss)


def check_loss(config):
    """Raise ValueError for a loss that does not suit the head or the scaler of a config.

    Args:
        config: `Config`.

    Raises:
        ValueError: If the loss belongs to another head.
        ValueError: If the loss is "smape" or "mape" and the scaler shifts the series.
        ValueError: If the loss is "mase" and the scaler is not.
    """
    head = config.resolved_head
    if config.loss is not None:
        head.check_loss(config.loss)
    if head.has_parameter_axis:
        return
    is_compiled = config.loss is None and config.is_built and config.model.compiled
    loss = config.model.loss if is_compiled else loss_of(config, head)
    kind, error = config.scaler.kind, getattr(loss, "error", None)
    if error in RELATIVE and kind in SHIFTING:
        raise ValueError(
            f"loss {error!r} and scaler={kind!r} cannot be combined: the loss is relative to a "
            "value that this scaler shifts, give scaler='mean_abs' or None."
        )
    if error == "mase" and kind != "mase":
        raise ValueError(
            f"loss 'mase' and scaler={kind!r} cannot be combined: the loss is the absolute "
            "error after scaling, give scaler=kerastrans.data.WindowScaler('mase', season)."
        )


def report_zeros(loss, zeros):
    """Warn about values that a loss leaves out.

    Args:
        loss: Loss of the model.
        zeros: int, number of values of the training data that are 0.
    """
    if zeros and getattr(loss, "error", None) == "mape":
        warn_user(
            f"loss 'mape' leaves out {zeros} values that are 0, whose relative error is undefined."
        )
