"""kerastrans: sequence-forecasting architectures as plain Keras 3 functional models."""

import importlib
import sys

from kerastrans.utils.lazy import Later, names_of, use_only_backend
from kerastrans.version import __version__ as __version__

_HOMES = {
    "data": (),
    "datasets": (),
    "decoding.generation": ("generate", "generate_steps", "generate_tokens"),
    "decoding.inspection": ("attention_scores", "variable_importances"),
    "decoding.samplers": ("BeamSampler", "GreedySampler", "RandomSampler"),
    "decoding.sampling": ("generate_samples",),
    "evaluation": ("ForecastError",),
    "evaluation.backtesting": (),
    "evaluation.scores.metrics": (),
    "evaluation.scores.path_scores": (),
    "evaluation.plotting": (),
    "evaluation.report": (),
    "export": ("export_litert", "export_onnx", "export_pt2", "export_savedmodel"),
    "forecasting.conformal": (),
    "forecasting.forecaster": ("Forecaster", "Training"),
    "forecasting.partitions": (),
    "forecasting.paths": (
        "aggregate_paths",
        "backtest_aggregates",
        "find_first_passages",
        "find_peaks",
    ),
    "forecasting.presets": (),
    "forecasting.presets.pretrained": ("from_pretrained",),
    "forecasting.presets.upload": ("upload_preset",),
    "forecasting.selection": ("select",),
    "forecasting.selection.combination": ("combine",),
    "forecasting.selection.tuning": (),
    "heads": (),
    "layers": (
        "CachedMultiHeadAttention",
        "LearntPositionalEncoding",
        "PositionalEncoding",
        "TransformerDecoder",
        "TransformerEncoder",
    ),
    "layers.masks": ("combine_masks", "create_look_ahead_mask", "create_padding_mask"),
    "lessons": (),
    "models": ("build_seq2seq_transformer", "build_transformer_model"),
    "layers.transformer.blocks": ("transformer_decoder", "transformer_encoder"),
    "models.parts.regression": ("regress",),
    "models.parts.sublayers": ("position_wise_ffn",),
    "serving": (),
    "testing": (),
    "text": (),
    "utils.distribution": (),
    "utils.precision": (),
    "zoo": (),
}
# Classes that are saved with models, besides those of `_ROOMS`.
_SAVED = {
    "decoding.generation": ("AutoregressiveModel", "TokenModel"),
    "decoding.rollout": ("Rollout", "SampledQuantiles"),
    "layers.initializers": ("FanInUniform",),
    "text.metrics": ("TokenAccuracy",),
}
_ROOMS = ("heads", "layers", "models")
use_only_backend()
__getattr__, __dir__, __all__ = names_of(__name__, _HOMES)


class _KerasFinder:
    """Finder of the import system that calls `_register` as soon as Keras has been imported."""

    def find_spec(self, name, path=None, target=None):
        """Return the spec of Keras that the other finders find, None for any other module."""
        others = (finder for finder in sys.meta_path if finder is not self and name == "keras")
        spec = next(filter(None, (finder.find_spec(name, path, target) for finder in others)), None)
        if spec is not None:
            execute = spec.loader.exec_module

            def execute_and_register(module):
                execute(module)
                if module.__name__ == "keras":  # the loader of an archive loads other modules too
                    _register(module)

            spec.loader.exec_module = execute_and_register
        return spec


def _register(keras):
    """Make our classes known to `keras.saving.load_model` as soon as there is a Keras.

    A class replaces its stand-in when its module is imported.
    """
    importlib.import_module("kerastrans.utils.keras_internals").leave_tensorflow_out()
    rooms = {room: importlib.import_module(f"kerastrans.{room}").HOMES for room in _ROOMS}
    homes = {f"{room}.{module}": names for room in rooms for module, names in rooms[room].items()}
    objects = keras.saving.get_custom_objects()
    for module, names in {**homes, **_SAVED}.items():
        for name in names:
            objects.setdefault(f"kerastrans>{name}", Later(f"kerastrans.{module}", name))


if "keras" in sys.modules:
    _register(sys.modules["keras"])
else:
    sys.meta_path.insert(0, _KerasFinder())
