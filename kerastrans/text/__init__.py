"""Text for token Transformers: vocabularies, sentence pairs, accuracy and BLEU."""

from kerastrans.utils.lazy import names_of

__getattr__, __dir__, __all__ = names_of(__name__)
