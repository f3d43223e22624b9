import keras
import numpy as np
import pytest

import kerastrans
from kerastrans.text.metrics import TokenAccuracy
from kerastrans.text.tokens import PAD, translation_arrays
from tests.conftest import XLA, to_numpy

SIZES = {"d_model": 16, "num_heads": 4, "ff_dim": 32}
LOSS = {"from_logits": True, "ignore_class": PAD}


def build(**options):
    return kerastrans.build_seq2seq_transformer(
        11, 13, **SIZES, num_encoder_blocks=2, num_decoder_blocks=2, **options
    )


@pytest.fixture
def batch():
    """Three source sentences of 7, 4 and 1 tokens, and five steps of the target."""
    random = np.random.default_rng(0)
    source = random.integers(4, 11, (3, 7)).astype("int32")
    return [source, np.array([7, 4, 1], "int32"), random.integers(4, 13, (3, 5)).astype("int32")]


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("tied", [False, True])
def test_shapes_and_parameters(batch, norm, tied):
    model = build(norm=norm, tied_embeddings=tied)
    assert model(batch).shape == (3, 5, 13)
    d, ff = 16, 32
    attention, ffn, norms = 4 * (d * d + d), 2 * d * ff + ff + d, 2 * d
    encoder = attention + ffn + 2 * norms
    decoder = 2 * attention + ffn + 3 * norms
    ends = 2 * norms if norm == "pre" else 0
    embeddings = (11 + 13) * d + (0 if tied else 13 * d)
    assert model.count_params() == 2 * encoder + 2 * decoder + ends + embeddings


def test_padding_changes_nothing(batch):
    model = build()
    source, lengths, target = batch
    before = to_numpy(model(batch))
    for row, length in enumerate(lengths):
        source[row, length:] = (source[row, length:] + 3) % 11
    np.testing.assert_allclose(to_numpy(model([source, lengths, target])), before, atol=1e-6)
    longer = np.pad(source, ((0, 0), (0, 4)))
    np.testing.assert_allclose(to_numpy(model([longer, lengths, target])), before, atol=1e-5)
    source[1, 3] = (source[1, 3] + 3) % 11  # the last token that counts
    after = to_numpy(model([source, lengths, target]))
    assert np.abs(after - before).max(axis=(1, 2))[1] > 1e-3


def test_a_step_sees_no_later_target(batch):
    model = build()
    before = to_numpy(model(batch))
    batch[2][:, 3:] = 4
    after = to_numpy(model(batch))
    np.testing.assert_allclose(after[:, :3], before[:, :3], atol=1e-6)
    assert np.abs(after[:, 3:] - before[:, 3:]).max() > 1e-3


def test_loss_and_accuracy_ignore_padding(batch):
    model = build()
    targets = np.array([[5, 6, 2, 0, 0], [7, 2, 0, 0, 0], [4, 4, 4, 4, 2]], "int32")
    logits = to_numpy(model(batch)).astype("float64")
    log_probabilities = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    picked = np.take_along_axis(log_probabilities, targets[..., None], -1)[..., 0]
    counts = targets != PAD
    loss = keras.losses.SparseCategoricalCrossentropy(**LOSS)(targets, model(batch))
    np.testing.assert_allclose(float(loss), -picked[counts].mean(), rtol=1e-5)
    accuracy = TokenAccuracy()
    accuracy.update_state(targets, model(batch))
    expected = (logits.argmax(-1) == targets)[counts].mean()
    np.testing.assert_allclose(float(accuracy.result()), expected, rtol=1e-6)


@pytest.mark.slow
@pytest.mark.exhaustive
def test_learns_to_reverse_and_reloads(tmp_path):
    random = np.random.default_rng(1)
    lengths = random.integers(2, 6, 256).astype("int32")
    source, target = np.zeros((256, 5), "int32"), np.zeros((256, 6), "int32")
    for row, length in enumerate(lengths):
        source[row, :length] = random.integers(4, 9, length)
        target[row, : length + 1] = [*source[row, :length][::-1], 2]
    model = build(dropout=0.0)
    model.compile(
        keras.optimizers.Adam(3e-3),
        keras.losses.SparseCategoricalCrossentropy(**LOSS),
        metrics=[TokenAccuracy()],
        **XLA,
    )
    inputs, targets = translation_arrays(source, lengths, target)
    model.fit(inputs, targets, batch_size=64, epochs=45, verbose=0)
    found = model.generate(source, lengths, 6)
    assert (found == target).all(axis=1).mean() > 0.9
    model.save(tmp_path / "model.keras")
    reloaded = keras.saving.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(reloaded.generate(source, lengths, 6), found)


@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16"])
@pytest.mark.parametrize("tied", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_half_precision_is_finite_with_float32_logits(batch, policy, tied):
    keras.config.set_dtype_policy(policy)
    logits = build(tied_embeddings=tied)(batch)
    assert keras.backend.standardize_dtype(logits.dtype) == "float32"
    assert np.isfinite(to_numpy(logits)).all()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"num_heads": 3}, "num_heads must divide d_model=16, got 3"),
        ({"d_model": 0}, "d_model must be an integer of at least 1, got 0"),
        ({"source_vocab_size": 0}, "source_vocab_size must be an integer of at least 1"),
        ({"dropout": 1.0}, r"dropout must be a number in \[0, 1\)"),
        ({"norm": "middle"}, "norm must be one of 'pre', 'post'"),
    ],
)
def test_bad_arguments(changes, message):
    sizes = {"source_vocab_size": 11, "target_vocab_size": 13, **SIZES}
    with pytest.raises(ValueError, match=message):
        kerastrans.build_seq2seq_transformer(
            **{**sizes, "num_encoder_blocks": 1, "num_decoder_blocks": 1, **changes}
        )
