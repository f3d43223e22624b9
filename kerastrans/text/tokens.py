"""Conversion of sentences to arrays of tokens with Hugging Face's `tokenizers` (extra `text`).

The padding, start, end and unknown tokens have the numbers 0 to 3 in every vocabulary.
"""

import numpy as np

from kerastrans.utils.validation import check_positive_integers, import_extra

SPECIAL_TOKENS = ["<pad>", "<bos>", "<eos>", "<unk>"]
PAD, START, END, UNKNOWN = range(4)  # numbers of the special tokens


def train_tokenizer(sentences, min_frequency=1):
    """Return a tokenizer whose vocabulary is the lower-case words and punctuation marks.

    No-break spaces are treated as spaces; the marks , . ! ? and ; : are separate words.

    Args:
        sentences: Iterable of str in one language.
        min_frequency: int, minimum number of occurrences of a word; rarer words are unknown.

    Returns:
        `tokenizers.Tokenizer` that appends the end token to each sentence. Save it as JSON with
        `save(path)` and load it with `Tokenizer.from_file(path)`.

    Raises:
        ImportError: If the extra `text` is not installed.
        ValueError: If no word occurs `min_frequency` times.
    """
    check_positive_integers(min_frequency=min_frequency)
    tokenizers = import_extra("tokenizers", "text", "text")
    normalizers, pre_tokenizers = tokenizers.normalizers, tokenizers.pre_tokenizers
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel(unk_token="<unk>"))
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Lowercase()])
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(tokenizers.Regex(r"[,.!?;:]"), "isolated"),
            pre_tokenizers.WhitespaceSplit(),
        ]
    )
    trainer = tokenizers.trainers.WordLevelTrainer(
        min_frequency=min_frequency, special_tokens=SPECIAL_TOKENS, show_progress=False
    )
    tokenizer.train_from_iterator(sentences, trainer)
    if tokenizer.get_vocab_size() == len(SPECIAL_TOKENS):
        raise ValueError(f"the vocabulary is empty: no word occurs {min_frequency} times.")
    tokenizer.post_processor = tokenizers.processors.TemplateProcessing(
        single="$A <eos>", special_tokens=[("<eos>", END)]
    )
    return tokenizer


def encode(tokenizer, sentences, num_steps, *, truncate=False, allow_unknown=True):
    """Convert sentences to tokens, each with the end token and padded to `num_steps`.

    Args:
        tokenizer: Tokenizer returned by `train_tokenizer`.
        sentences: Sequence of str.
        num_steps: int, number of tokens in a row, including the end token.
        truncate: bool, whether longer sentences are truncated.
        allow_unknown: bool, whether words outside the vocabulary are replaced by <unk>.

    Returns:
        Tuple of int32 arrays: tokens `(batch, num_steps)` and valid lengths `(batch,)`.

    Raises:
        ValueError: If a sentence is empty, is longer than `num_steps` and `truncate` is False, or
            has an unknown word and `allow_unknown` is False. The message names the sentence.
    """
    check_positive_integers(num_steps=num_steps)
    tokens = np.full((len(sentences), num_steps), PAD, "int32")
    lengths = np.zeros(len(sentences), "int32")
    for row, encoding in enumerate(tokenizer.encode_batch(sentences)):
        ids, subject = encoding.ids, f"sentence {row}, {sentences[row]!r}"
        if len(ids) == 1:
            raise ValueError(f"{subject}, is empty.")
        if len(ids) > num_steps and not truncate:
            raise ValueError(
                f"{subject}, has {len(ids)} tokens including <eos>, but num_steps={num_steps}: "
                "increase it, or pass truncate=True."
            )
        if not allow_unknown and (unknown := _unknown_words(tokenizer, encoding, sentences[row])):
            raise ValueError(f"{subject}, has unknown words: {', '.join(unknown)}.")
        if len(ids) > num_steps:
            ids = [*ids[: num_steps - 1], ids[-1]]  # keep the end token
        tokens[row, : len(ids)], lengths[row] = ids, len(ids)
    return tokens, lengths


def decode(tokenizer, tokens):
    """Convert tokens `(batch, steps)` to sentences separated by spaces; unknown words are <unk>."""
    return [
        " ".join(
            tokenizer.id_to_token(int(token)) for token in row if token not in (PAD, START, END)
        )
        for row in tokens
    ]


def translation_arrays(source, source_lengths, target):
    """Return the arrays `(inputs, targets)` for `fit` of a `build_seq2seq_transformer` model.

    Args:
        source: Tokens of the source sentences, from `encode`.
        source_lengths: Valid lengths of the source sentences, from `encode`.
        target: Tokens of the target sentences, from `encode`.

    Returns:
        `((source, source_lengths, decoder_inputs), target)`. The decoder inputs are the start token
        followed by the target without its last step.
    """
    start = np.full((len(target), 1), START, target.dtype)
    return (source, source_lengths, np.concatenate([start, target[:, :-1]], axis=1)), target


def _unknown_words(tokenizer, encoding, sentence):
    """Return the words of a sentence that are not in the vocabulary."""
    pairs = zip(encoding.ids, encoding.offsets, strict=True)
    return [sentence[start:end] for token, (start, end) in pairs if token == UNKNOWN]
