"""Written by tools/checks/stubs.py from kerastrans/text/__init__.py."""

from kerastrans.text import metrics as metrics
from kerastrans.text.metrics import TokenAccuracy as TokenAccuracy, bleu as bleu, corpus_bleu as corpus_bleu
from kerastrans.text import pairs as pairs
from kerastrans.text.pairs import load_pairs as load_pairs, number_pairs as number_pairs
from kerastrans.text import tokens as tokens
from kerastrans.text.tokens import END as END, PAD as PAD, SPECIAL_TOKENS as SPECIAL_TOKENS, START as START, UNKNOWN as UNKNOWN, decode as decode, encode as encode, train_tokenizer as train_tokenizer, translation_arrays as translation_arrays
