"""Variable importances of a Temporal Fusion Transformer, by the names of the columns."""

import numpy as np
import pandas as pd

from kerastrans.data.covariates import KINDS
from kerastrans.decoding.inspection import variable_importances
from kerastrans.forecasting.inference.windows import windows_of


def importances_frame(state, panel):
    """Return a frame "kind", "variable", "share" of the last window of each series."""
    config = state.config
    cuts = panel.cuts - config.prediction_length
    windows = windows_of(state, panel, np.arange(len(panel)), cuts)
    shares = variable_importances(state.model, windows.arrays()[0])
    names = {kind: [c.name for c in getattr(state.covariates, kind)] for kind in KINDS}
    if config.calendar:
        names["future"] += [f"{n} {wave}" for n in panel.clock.calendar_names for wave in _WAVES]
    channels = list(panel.names[0]) if panel.num_channels > 1 else ["y"]
    variables = {
        "past": [*channels, *names["past"], *names["future"]],
        "future": ["steps ahead", *names["future"]],
        "static": names["static"],
    }
    rows = [
        (kind, variable, share)
        for kind in shares
        for variable, share in zip(variables[kind], shares[kind], strict=True)
    ]
    return pd.DataFrame(rows, columns=["kind", "variable", "share"])


_WAVES = ("sin", "cos")
