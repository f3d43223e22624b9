"""The loss that trains a forecaster, and what it asks of the scaler."""

from kerastrans import heads
from kerastrans.data.scaling import SHIFTING
from kerastrans.heads.point_error import POINT_ERRORS, RELATIVE
from kerastrans.utils.user_warnings import warn_user


def loss_of(config, head):
    """The loss of a config, or else of a head, as Keras trains with it.

    Args:
        config: `Config`.
        head: of the model.

    Raises:
        ValueError: a name that is neither one of `heads.PointError` nor of Keras.
    """
    loss = config.loss or head.loss()
    if isinstance(loss, str) and loss in POINT_ERRORS:
        return heads.PointError(loss)
    if head.has_parameter_axis or isinstance(loss, heads.PointError):
        return loss
    return heads.KnownTargets(loss)


def check_loss(config):
    """Refuse a loss that does not read the forecast, or errs in the units of the config's scaler.

    Args:
        config: `Config`.

    Raises:
        ValueError: a loss for another head.
        ValueError: "smape" or "mape", and a scaler that shifts a series.
        ValueError: "mase", and another scaler than that.
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
            f"loss {error!r} and scaler={kind!r} exclude each other: it is relative to a size that "
            "this scaler shifts, give scaler='mean_abs' or None."
        )
    if error == "mase" and kind != "mase":
        raise ValueError(
            f"loss 'mase' and scaler={kind!r} exclude each other: it is the absolute error of "
            "what scaler=kerastrans.data.WindowScaler('mase', season) has scaled."
        )


def report_zeros(loss, zeros):
    """Warn of values that a loss leaves out.

    Args:
        loss: of the model.
        zeros: int, values of the training data that are 0.
    """
    if zeros and getattr(loss, "error", None) == "mape":
        warn_user(
            f"loss 'mape' leaves out {zeros} values that are 0: no error is relative to them.",
        )
