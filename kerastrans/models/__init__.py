"""One architecture a file, each with one `build_<name>_model`."""

from kerastrans.models.transformer import build_transformer_model

__all__ = ["build_transformer_model"]
