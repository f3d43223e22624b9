"""Text for token Transformers: vocabularies, sentence pairs, accuracy and BLEU."""

from kerastrans.utils.lazy import names_of

__getattr__, __dir__, __all__ = names_of(
    __name__,
    {
        "metrics": ("TokenAccuracy", "bleu", "corpus_bleu"),
        "pairs": ("load_pairs", "number_pairs"),
        "tokens": (
            "END",
            "PAD",
            "SPECIAL_TOKENS",
            "START",
            "UNKNOWN",
            "decode",
            "encode",
            "train_tokenizer",
            "translation_arrays",
        ),
    },
)
