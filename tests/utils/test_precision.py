"""Mixed precision: builds, trains and generates, and forecasts what float32 does."""

import keras
import numpy as np
import pytest

import kerastrans
from kerastrans.data import random_sequences, teacher_forcing_pairs
from kerastrans.utils import backend, precision
from tests.conftest import XLA

POLICIES = ["mixed_float16", "mixed_bfloat16"]


def wave(num_series, length):
    """Sines of random phase, which a small model learns to continue."""
    phase = np.random.default_rng(0).uniform(0, 2 * np.pi, (num_series, 1, 1))
    return np.sin(np.arange(length)[None, :, None] * 0.5 + phase).astype("float32")


def trained(policy, epochs=30):
    keras.utils.set_random_seed(0)
    keras.config.set_dtype_policy(policy)
    model = kerastrans.build_transformer_model(
        (16, 1),
        num_heads=2,
        key_dim=8,
        ff_dim=32,
        num_encoder_blocks=1,
        num_decoder_blocks=1,
        dropout=0.0,
        d_model=16,
    )
    series = wave(256, 24)
    contexts, futures = series[:, :16], series[:, 16:]
    decoder_inputs, targets = teacher_forcing_pairs(futures, contexts[:, -1:])
    model.compile(keras.optimizers.Adam(3e-3), "mse", **XLA)
    losses = model.fit(
        [contexts, decoder_inputs], targets, epochs=epochs, batch_size=64, verbose=0
    ).history["loss"]
    return model, losses


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.slow
def test_trains_and_generates_within_two_percent_of_float32(policy):
    model, losses = trained(policy)
    assert np.isfinite(losses).all()
    assert losses[-1] < 0.1 * losses[0]
    assert model.outputs[0].dtype == "float32"
    contexts = wave(32, 16)
    forecasts = model.generate(contexts, 8)
    assert forecasts.dtype == np.float32
    keras.config.set_dtype_policy("float32")
    same = kerastrans.build_transformer_model(
        (16, 1),
        num_heads=2,
        key_dim=8,
        ff_dim=32,
        num_encoder_blocks=1,
        num_decoder_blocks=1,
        dropout=0.0,
        d_model=16,
    )
    same.set_weights(model.get_weights())
    expected = same.generate(contexts, 8)
    error = np.sqrt(np.mean((forecasts - expected) ** 2) / np.mean(expected**2))
    assert error < 0.02, f"relative RMSE {error:.4f}"


@pytest.mark.slow
@pytest.mark.parametrize(
    "policy", [pytest.param("mixed_float16", marks=pytest.mark.slow), "mixed_bfloat16"]
)
def test_model_reloads_with_its_policy(policy, tmp_path):
    keras.config.set_dtype_policy(policy)
    model = kerastrans.build_transformer_model(
        (8, 3), num_heads=2, key_dim=4, ff_dim=16, num_encoder_blocks=1, num_decoder_blocks=1
    )
    inputs = random_sequences(2, 8, 3, seed=0)
    model.save(tmp_path / "model.keras")
    keras.config.set_dtype_policy("float32")
    reloaded = keras.saving.load_model(tmp_path / "model.keras")
    assert reloaded.get_layer("decoder_0_self_attention").compute_dtype == policy.removeprefix(
        "mixed_"
    )
    np.testing.assert_allclose(reloaded.generate(inputs, 4), model.generate(inputs, 4), atol=1e-3)


@pytest.mark.parametrize(
    ("name", "policy"),
    [
        ("float32", "float32"),
        ("tf32", "float32"),
        ("bfloat16", "mixed_bfloat16"),
        ("float16", "mixed_float16"),
    ],
)
def test_format_is_selected_by_name(name, policy):
    assert precision.use(name) == name
    assert keras.config.dtype_policy().name == policy
    precision.use("float32")


@pytest.mark.parametrize(
    ("kind", "capability", "best"),
    [
        ("gpu", (9, 0), "bfloat16"),
        ("gpu", (8, 0), "bfloat16"),
        ("gpu", (7, 5), "float16"),
        ("gpu", (6, 1), "float32"),
        ("tpu", (0, 0), "bfloat16"),
        ("cpu", (0, 0), "float32"),
    ],
)
def test_auto_selects_the_format_for_the_device(kind, capability, best, monkeypatch):
    monkeypatch.setattr(backend, "accelerator", lambda: (kind, capability))
    assert precision.use("auto") == best
    precision.use("float32")


def test_float16_scales_the_loss_and_an_unknown_name_is_refused():
    precision.use("float16")
    model = kerastrans.zoo.build("dlinear", 8, 4, 1)
    model.compile("adam", "mse")
    assert isinstance(model.optimizer, keras.optimizers.LossScaleOptimizer)
    precision.use("float32")
    with pytest.raises(ValueError, match="precision must be one of 'auto', 'float32'"):
        precision.use("float8")
