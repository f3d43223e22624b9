"""The fitted state of a Forecaster, and forecasts made from it."""

from kerastrans.utils.lazy import names_of

__getattr__, __dir__, __all__ = names_of(
    __name__,
    {
        "adaptation": (),
        "artefact": (),
        "calibration": (),
        "importances": (),
        "preset_files": (),
        "rolling_origins": (),
        "serialization": (),
    },
)
