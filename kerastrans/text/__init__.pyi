"""The public names, which are imported on first use."""

from . import metrics as metrics
from .metrics import TokenAccuracy as TokenAccuracy, bleu as bleu, corpus_bleu as corpus_bleu
from . import pairs as pairs
from .pairs import load_pairs as load_pairs, number_pairs as number_pairs
from . import tokens as tokens
from .tokens import (
    END as END,
    PAD as PAD,
    SPECIAL_TOKENS as SPECIAL_TOKENS,
    START as START,
    UNKNOWN as UNKNOWN,
    decode as decode,
    encode as encode,
    train_tokenizer as train_tokenizer,
    translation_arrays as translation_arrays,
)
