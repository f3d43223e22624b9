"""Models without their top: a full model is its top applied to its features."""

import keras
import numpy as np
import pytest
from keras import ops

from kerastrans import zoo
from kerastrans.decoding.graph import read_calls, run_calls
from kerastrans.models.parts.features import head_inputs
from tests.helpers.architectures import (
    CHANNELS,
    CONTEXT,
    HORIZON,
    NAMES,
    SMALL,
    build,
    example_inputs,
    walks,
)

WITH_FEATURES = [name for name in NAMES if zoo.info(name).features]
QUICK = ("patchtst", "segrnn", "tcn", "xpatch")
# What a head reads, from features `(batch, channels, tokens, features)`.
UNDO = {
    "b c f": lambda x: x.reshape(*x.shape[:2], -1),
    "b f c": lambda x: x.reshape(*x.shape[:2], -1).transpose(0, 2, 1),
    "b t f": lambda x: x[:, 0],
    "b f": lambda x: x[:, 0, 0],
    "b c t f": lambda x: x,
    "bc t f": lambda x: x.reshape(-1, *x.shape[2:]),
    "bc f": lambda x: x.reshape(x.shape[0] * x.shape[1], -1),
}


def by_tier(quick):
    return [pytest.param(x, marks=() if x in quick else pytest.mark.slow) for x in WITH_FEATURES]


def apply_top(model, inputs, name, features):
    """Return the forecast of a model whose heads read these features."""
    pattern, axes = zoo.info(name).features.split(": ")
    given = inputs if isinstance(inputs, dict) else {model.inputs[0].name: inputs}
    symbols = {id(x): x for x in model.inputs}
    tensors = {id(x): ops.convert_to_tensor(given[x.name]) for x in model.inputs}
    calls = list(read_calls(model, symbols))
    read = [symbols[id(x)] for x in head_inputs(model, pattern)]
    per_head = np.split(features, np.cumsum([tokens(x, axes, features) for x in read])[:-1], axis=2)
    given = {id(x): UNDO[axes](part) for x, part in zip(read, per_head, strict=True)}
    for call in calls:
        run_calls([call], tensors)
        for x in call.outputs:
            if id(x) in given:
                assert given[id(x)].shape[1:] == tuple(x.shape[1:])
                tensors[id(x)] = ops.convert_to_tensor(given[id(x)])
    return ops.convert_to_numpy(tensors[id(symbols[id(model.outputs[0])])])


def tokens(x, axes, features):
    """Number of tokens of a channel that a head reads."""
    channels = 1 if axes.startswith("bc") else features.shape[1]
    return int(np.prod(x.shape[1:])) // features.shape[3] // channels


@pytest.mark.parametrize("name", by_tier(QUICK))
def test_a_model_is_its_top_applied_to_its_features(name, model):
    inputs = example_inputs(model, walks(2))
    body = zoo.info(name).remove_top(model)
    shape = zoo.info(name).feature_shape(CONTEXT, HORIZON, CHANNELS, **SMALL.get(name, {}))
    assert body.output_shape == (None, shape[0] * shape[1], shape[2])
    features = ops.convert_to_numpy(body(inputs)).reshape(2, *shape)
    expected = ops.convert_to_numpy(model(inputs))
    np.testing.assert_allclose(apply_top(model, inputs, name, features), expected, atol=1e-6)
    assert abs(apply_top(model, inputs, name, features[::-1]) - expected).max() > 1e-4


@pytest.mark.parametrize("name", by_tier(QUICK[2:3]))
def test_features_of_a_loaded_model(name, model, tmp_path):
    inputs = example_inputs(model, walks(2))
    expected = ops.convert_to_numpy(zoo.info(name).remove_top(model)(inputs))
    model.save(tmp_path / "model.keras")
    loaded = zoo.info(name).remove_top(keras.models.load_model(tmp_path / "model.keras"))
    np.testing.assert_allclose(ops.convert_to_numpy(loaded(inputs)), expected, atol=1e-6)
    loaded.save(tmp_path / "body.keras")
    body = keras.models.load_model(tmp_path / "body.keras")
    np.testing.assert_allclose(ops.convert_to_numpy(body(inputs)), expected, atol=1e-6)


def test_more_than_thirty_architectures_have_features():
    assert len(WITH_FEATURES) >= 35


def test_pooling_is_by_channel():
    model = build("patchtst")
    whole = ops.convert_to_numpy(zoo.info("patchtst").remove_top(model)(walks(2))).reshape(
        2, CHANNELS, -1, 16
    )
    pools = {"avg": whole.mean(axis=2), "max": whole.max(axis=2), "last": whole[:, :, -1]}
    for pooling, expected in pools.items():
        pooled = ops.convert_to_numpy(zoo.info("patchtst").remove_top(model, pooling)(walks(2)))
        np.testing.assert_allclose(pooled, expected.reshape(2, -1), atol=1e-6)


def test_channels_are_outermost():
    body = build("patchtst", include_top=False)
    history = walks(1)
    other = history + np.array([0, 1, 0]) * np.linspace(0, 3, CONTEXT)[None, :, None] ** 2
    change = (
        abs(ops.convert_to_numpy(body(other)) - ops.convert_to_numpy(body(history)))
        .reshape(CHANNELS, -1)
        .max(axis=1)
    )
    assert (change > 1e-3).tolist() == [False, True, False]


@pytest.mark.parametrize(
    ("name", "options", "shape"),
    [
        ("patchtst", {"moving_average": 5}, (None, 48, 16)),  # the tokens of season and trend
        ("segrnn", {"decoding": "recurrent"}, (None, 6, 24)),
        ("tide", {"covariates": {"future": (0,)}, "covariate_dim": 2}, (None, 36, 6)),
        ("patchtst", {"pooling": "avg"}, (None, 48)),
        ("tqnet", {}, (None, 3, 16)),
    ],
)
def test_features_with_options(name, options, shape):
    assert build(name, include_top=False, **options).output_shape == shape


def test_features_in_half_precision():
    keras.mixed_precision.set_dtype_policy("mixed_float16")
    try:
        body = build("patchtst", include_top=False, pooling="last")
    finally:
        keras.mixed_precision.set_dtype_policy("float32")
    features = ops.convert_to_numpy(body(walks(2)))
    assert (features.dtype, features.shape) == (np.float16, (2, 48))
    assert np.isfinite(features).all()


@pytest.mark.slow
def test_a_body_trains_with_another_top():
    body = build("frets", include_top=False, pooling="last")
    outputs = keras.layers.Dense(2, activation="softmax")(body.output)
    model = keras.Model(body.input, outputs)
    model.compile("adam", "sparse_categorical_crossentropy")
    before = body.get_weights()
    model.fit(walks(8), np.arange(8) % 2, epochs=1, verbose=0)
    assert all(np.any(old != new) for old, new in zip(before, body.get_weights(), strict=True))


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("dlinear", {"include_top": False}, "dlinear has no features"),
        ("seasonal_naive", {"include_top": False}, "seasonal_naive has no features"),
        ("deepar", {"include_top": False}, "deepar has no features"),
        ("tcn", {"include_top": False, "head": "normal"}, "leave out head='normal'"),
        ("tcn", {"include_top": False, "pooling": "mean"}, "pooling must be .*'avg'"),
        ("tcn", {"pooling": "avg"}, "requires include_top=False"),
        ("tcn", {"include_top": "no"}, "include_top must be"),
        ("timemixer", {"include_top": False, "mix_channels": True}, "no features with these opt"),
        (
            "tcn",
            {"include_top": False, "covariates": {"future": (0,)}},
            "no features of covariates",
        ),
    ],
)
def test_bad_input(name, options, message):
    with pytest.raises(ValueError, match=message):
        build(name, **options)


def test_bad_input_of_builders_and_models():
    with pytest.raises(ValueError, match="leave out head='normal'"):
        zoo.info("tcn").builder(24, 12, 3, include_top=False, head="normal")
    with pytest.raises(ValueError, match="dlinear has no features"):
        zoo.info("dlinear").feature_shape(24, 12, 3)
    with pytest.raises(ValueError, match=r"dlinear\w* has no features"):
        zoo.info("tcn").remove_top(build("dlinear"))
    with pytest.raises(ValueError, match="<lambda> has no features"):
        zoo.build(lambda a, b, c: build("tcn"), 24, 12, 3, include_top=False)
