import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kerastrans import text

SENTENCES = ["Go.", "I'm home!", "Where are you?", "Go home, you.", "Go."]


@pytest.fixture(scope="module")
def tokenizer():
    return text.train_tokenizer(SENTENCES)


def test_words_are_lower_case_and_marks_stand_alone(tokenizer):
    words = set(tokenizer.get_vocab()) - set(text.SPECIAL_TOKENS)
    assert words == {"go", ".", "i'm", "home", "!", "where", "are", "you", "?", ","}


def test_special_tokens_have_their_numbers(tokenizer):
    assert [tokenizer.token_to_id(t) for t in text.SPECIAL_TOKENS] == [0, 1, 2, 3]
    assert (text.PAD, text.START, text.END, text.UNKNOWN) == (0, 1, 2, 3)


def test_rare_words_are_unknown():
    tokenizer = text.train_tokenizer(SENTENCES, min_frequency=2)
    words = set(tokenizer.get_vocab()) - set(text.SPECIAL_TOKENS)
    assert words == {"go", "home", "you", "."}
    tokens, _ = text.encode(tokenizer, ["Where you go!"], 6)
    assert text.decode(tokenizer, tokens) == ["<unk> you go <unk>"]


def test_no_break_spaces_part_words():
    tokenizer = text.train_tokenizer(["Va\u202f!", "O\u00f9\xa0?"])
    assert text.decode(tokenizer, text.encode(tokenizer, ["Va!", "o\u00f9 ?"], 4)[0]) == [
        "va !",
        "o\u00f9 ?",
    ]


def test_rows_end_and_are_padded(tokenizer):
    tokens, lengths = text.encode(tokenizer, ["Go.", "I'm home!"], 6)
    assert tokens.dtype == lengths.dtype == np.int32
    assert lengths.tolist() == [3, 4]
    assert tokens[:, 2:].tolist() == [[text.END, 0, 0, 0], [tokens[1, 2], text.END, 0, 0]]


def test_truncation_keeps_the_end_token(tokenizer):
    tokens, lengths = text.encode(tokenizer, ["Go home, you."], 4, truncate=True)
    assert tokens[0, -1] == text.END
    assert lengths.tolist() == [4]
    assert text.decode(tokenizer, tokens) == ["go home ,"]


@given(
    st.lists(
        st.lists(st.sampled_from(["go", "home", "you", "?", "."]), min_size=1, max_size=7),
        min_size=1,
    )
)
def test_encoding_and_decoding_is_the_identity(tokenizer, rows):
    sentences = [" ".join(row) for row in rows]
    tokens, lengths = text.encode(tokenizer, sentences, 8)
    assert text.decode(tokenizer, tokens) == sentences
    assert lengths.tolist() == [len(row) + 1 for row in rows]
    assert ((tokens != text.PAD).sum(axis=1) == lengths).all()


def test_arrays_for_training(tokenizer):
    source, lengths = text.encode(tokenizer, ["Go."], 4)
    inputs, targets = text.translation_arrays(source, lengths, source)
    assert inputs[0] is source
    assert inputs[1] is lengths
    assert targets is source
    assert inputs[2].tolist() == [[text.START, *source[0, :-1]]]


def test_tokenizer_is_saved_and_read(tokenizer, tmp_path):
    from tokenizers import Tokenizer

    tokenizer.save(str(tmp_path / "t.json"))
    again = Tokenizer.from_file(str(tmp_path / "t.json"))
    for one, other in zip(*(text.encode(t, SENTENCES, 6) for t in (tokenizer, again)), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    ("sentence", "options", "message"),
    [
        ("", {}, "sentence 1, '', is empty"),
        (" \n", {}, "is empty"),
        ("go go go go go", {}, "has 6 tokens including <eos>, but num_steps=5"),
        ("Go, zebra", {"allow_unknown": False}, "has unknown words: zebra"),
    ],
)
def test_bad_sentences_are_named(tokenizer, sentence, options, message):
    with pytest.raises(ValueError, match=message):
        text.encode(tokenizer, ["Go.", sentence], 5, **options)


@pytest.mark.parametrize(("sentences", "frequency"), [([], 1), (["", " "], 1), (["a b", "c"], 2)])
def test_empty_vocabulary_is_refused(sentences, frequency):
    with pytest.raises(ValueError, match="the vocabulary is empty"):
        text.train_tokenizer(sentences, frequency)


def test_missing_extra_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "tokenizers", None)
    with pytest.raises(ImportError, match=r'pip install "\.\[text\]"'):
        text.train_tokenizer(SENTENCES)
