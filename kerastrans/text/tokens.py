"""Sentences as arrays of tokens, by Hugging Face's `tokenizers` (the extra `text`).

Padding, start, end and unknown words have the numbers 0 to 3 in every vocabulary.
"""

import numpy as np

from kerastrans.utils.validation import check_positive_integers, import_extra

SPECIAL_TOKENS = ["<pad>", "<bos>", "<eos>", "<unk>"]
PAD, START, END, UNKNOWN = range(4)  # their numbers


def train_tokenizer(sentences, min_frequency=1):
    """A vocabulary of lower-case words and punctuation marks, as a `tokenizers.Tokenizer`.

    No-break spaces are spaces; the marks , . ! ? and ; : are words of their own.

    Args:
        sentences: iterable of str, in one language.
        min_frequency: int, how often a word must occur; rarer ones are unknown.

    Returns:
        `tokenizers.Tokenizer` that puts the end token after each sentence; its `save(path)` and
        `Tokenizer.from_file(path)` write and read JSON.

    Raises:
        ImportError: the extra is not installed.
        ValueError: no word occurs `min_frequency` times.
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
    """Sentences as tokens, each with the end token, padded to `num_steps`.

    Args:
        tokenizer: as `train_tokenizer` makes it.
        sentences: sequence of str.
        num_steps: int, tokens in a row, the end token among them.
        truncate: bool, whether the end of a longer sentence is cut off.
        allow_unknown: bool, whether words outside the vocabulary become <unk>.

    Returns:
        int32 arrays: tokens `(batch, num_steps)`, and valid lengths `(batch,)`.

    Raises:
        ValueError: an empty sentence, one longer than `num_steps` without `truncate`, an unknown
            word without `allow_unknown`; it names the sentence.
    """
    check_positive_integers(num_steps=num_steps)
    tokens = np.full((len(sentences), num_steps), PAD, "int32")
    lengths = np.zeros(len(sentences), "int32")
    for row, encoding in enumerate(tokenizer.encode_batch(sentences)):
        ids, said = encoding.ids, f"sentence {row}, {sentences[row]!r}"
        if len(ids) == 1:
            raise ValueError(f"{said}, is empty.")
        if len(ids) > num_steps and not truncate:
            raise ValueError(
                f"{said}, has {len(ids)} tokens with <eos>, the limit is num_steps={num_steps}: "
                "raise it, or pass truncate=True."
            )
        if not allow_unknown and (unknown := _unknown_words(tokenizer, encoding, sentences[row])):
            raise ValueError(f"{said}, has unknown words: {', '.join(unknown)}.")
        if len(ids) > num_steps:
            ids = [*ids[: num_steps - 1], ids[-1]]
        tokens[row, : len(ids)], lengths[row] = ids, len(ids)
    return tokens, lengths


def decode(tokenizer, tokens):
    """Tokens `(batch, steps)` as sentences: words and marks parted by spaces, <unk> shown."""
    return [
        " ".join(
            tokenizer.id_to_token(int(token)) for token in row if token not in (PAD, START, END)
        )
        for row in tokens
    ]


def translation_arrays(source, source_lengths, target):
    """What `fit` of a `build_seq2seq_transformer` takes: `(inputs, targets)`.

    Args:
        source: tokens of the source sentences, from `encode`.
        source_lengths: their valid lengths, from `encode`.
        target: of the target sentences, from `encode`.

    Returns:
        `((source, source_lengths, decoder_inputs), target)`: the decoder sees the start token
        and all of the target but its last step.
    """
    start = np.full((len(target), 1), START, target.dtype)
    return (source, source_lengths, np.concatenate([start, target[:, :-1]], axis=1)), target


def _unknown_words(tokenizer, encoding, sentence):
    pairs = zip(encoding.ids, encoding.offsets, strict=True)
    return [sentence[start:end] for token, (start, end) in pairs if token == UNKNOWN]
