"""Histories of other lengths than the context, and channels without a value, in every format."""

import numpy as np
import pytest

from kerastrans.data import WindowScaler
from kerastrans.export import export
from tests.helpers.architectures import (
    CHANNELS,
    CONTEXT,
    NAMES,
    build_shallow,
    encoder_decoder,
    walks,
)
from tests.helpers.runtimes import RUNTIMES

pytestmark = pytest.mark.tensorflow
SLOW = pytest.mark.slow
QUICK_RUNTIMES = ["SavedModel", *(pytest.param(x, marks=SLOW) for x in ("ONNX", "LiteRT"))]
LENGTHS = 1, CONTEXT - 1, CONTEXT + 1, 2 * CONTEXT
RECURRENT = "tft", "lstm_seq2seq", "deepar"
# One of each way into the graph; `make contract` runs the others.
REPRESENTATIVE = (
    *("last_value", "nlinear", "cyclenet", "patchtst", "tcn"),
    *("decoder_transformer", "encoder-decoder", *RECURRENT),
)
# A SavedModel is the graph as it is: few ways need be seen there.
SAVED = "last_value", "cyclenet", "patchtst", "deepar"


def tier(name, runtime):
    chosen = SAVED if runtime == "SavedModel" else REPRESENTATIVE
    return [SLOW, *([] if name in chosen else [pytest.mark.exhaustive])]


def build_or_loop(name):
    if name == "encoder-decoder":
        return encoder_decoder(), {"prediction_length": 4}
    return build_shallow(name), {}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "runtime"),
    [
        ("rlinear", "SavedModel"),
        ("cyclenet", "ONNX"),
        *(
            pytest.param(name, runtime, marks=tier(name, runtime))
            for name in (*NAMES, "encoder-decoder")
            for runtime in RUNTIMES
        ),
    ],
)
def test_the_last_steps_are_read_and_fewer_are_refused(name, runtime, tmp_path):
    model, options = build_or_loop(name)
    if runtime == "LiteRT" and name in RECURRENT:
        options["batch_size"] = 2
    suffix, run = RUNTIMES[runtime]
    path = export(model, tmp_path / f"m{suffix}", scaler=WindowScaler(), **options)
    history = walks(2, 2 * CONTEXT).astype("float32")
    has_position = "position" in {x.name for x in model.inputs}
    inputs = {"position": np.arange(2, dtype="int32")} if has_position else {}
    wanted = run(path, **{**inputs, "history": history[:, -CONTEXT:]})["forecast"]
    for length in LENGTHS:
        given = {**inputs, "history": history[:, -length:]}
        if length < CONTEXT:
            with pytest.raises(Exception, match=r"(?i)dimension|concat|prepare|reshape"):
                run(path, **given)
        else:
            np.testing.assert_array_equal(run(path, **given)["forecast"], wanted)
    with pytest.raises(Exception, match=r"(?i)dimension|concat|prepare|reshape|shape|signature"):
        run(path, **{**inputs, "history": history[:, :, :1]})


@pytest.mark.parametrize("runtime", QUICK_RUNTIMES)
def test_a_short_history_is_padded_as_in_python(runtime, tmp_path):
    suffix, run = RUNTIMES[runtime]
    model = build_shallow("rlinear")
    path = export(model, tmp_path / f"m{suffix}", scaler=WindowScaler(), short="pad")
    history = walks(2, 2 * CONTEXT).astype("float32")
    for length in LENGTHS:
        last = history[:, -min(length, CONTEXT) :]
        before = np.full((2, CONTEXT - last.shape[1], CHANNELS), np.nan, "float32")
        wanted = run(path, np.concatenate([before, last], axis=1))["forecast"]
        found = run(path, history[:, -length:])["forecast"]
        assert np.isfinite(wanted).all()
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("runtime", QUICK_RUNTIMES)
def test_a_channel_without_a_value_has_no_forecast(runtime, tmp_path):
    suffix, run = RUNTIMES[runtime]
    model = build_shallow("rlinear")
    path = export(model, tmp_path / f"m{suffix}", scaler=WindowScaler(), bounds=(-1000, None))
    history = walks(2).astype("float32")
    wanted = run(path, history)["forecast"]
    history[1, :, 0] = np.nan
    found = run(path, history)["forecast"]
    assert np.isnan(found[1, :, 0]).all()
    np.testing.assert_array_equal(found[0], wanted[0])
    np.testing.assert_array_equal(found[1, :, 1:], wanted[1, :, 1:])


@pytest.mark.parametrize("runtime", QUICK_RUNTIMES)
def test_a_history_ends_at_its_last_known_value(runtime, tmp_path):
    suffix, run = RUNTIMES[runtime]
    model = build_shallow("rlinear")
    path = export(model, tmp_path / f"m{suffix}", scaler=WindowScaler())
    history = walks(3, 2 * CONTEXT).astype("float32")
    whole = run(path, history)["forecast"]
    earlier = run(path, history[:, :-1])["forecast"]
    history[1, -1] = np.nan  # all channels
    history[2, -1, 0] = np.nan  # a plain model may mix channels: they have one end
    found = run(path, history)["forecast"]
    np.testing.assert_array_equal(found[0], whole[0])
    np.testing.assert_allclose(found[1, :-1], earlier[1, 1:], rtol=1e-6)
    assert np.isnan(found[1, -1]).all()
    assert np.isfinite(found[2]).all()
