"""Windows of a panel with the inputs of a model."""

from kerastrans.data.panel_windows import Windows
from kerastrans.decoding.contract import patch_length_of
from kerastrans.decoding.graph import history_input, missing_inputs
from kerastrans.models.parts.forecast_graph import least_inputs


def windows_of(owner, panel, series, cuts, ends=None, weights=None, limits=None):
    """Return the `Windows` of a panel for a model.

    Args:
        owner: `FittedState`, or training data, with a `config` and a `model`.
        panel: `Panel`.
        series: Array `(windows,)`, see `Windows`, as the following.
        cuts: Row of each first target.
        ends: Rows before which values set the typical scale of a series.
        weights: Probabilities of the windows when they are shuffled.
        limits: Rows after the last known target.
    """
    config, model = owner.config, owner.model
    names = {tensor.name for tensor in model.inputs}
    return Windows(
        panel,
        config.context_length,
        config.prediction_length,
        series,
        cuts,
        scaler=config.scaler,
        fill=config.fill,
        calendar=config.calendar,
        position="position" in names,
        decoder_patch=patch_length_of(model) if "decoder_inputs" in names else 0,
        history=history_input(model).name,
        missing=missing_inputs(model),
        ends=ends,
        weights=weights,
        limits=limits,
        relative=getattr(owner, "relative", ""),
        least=least_inputs(model),
    )
