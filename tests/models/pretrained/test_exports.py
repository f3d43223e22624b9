"""Pretrained models forecast the same without kerastrans, past their native horizon too."""

import numpy as np
import pytest
from keras import ops

from kerastrans import heads
from kerastrans.export import export_litert, export_onnx, export_savedmodel
from kerastrans.export.savedmodel import run_savedmodel
from kerastrans.models.pretrained import load
from kerastrans.models.pretrained.chronos import bolt_port as chronos_bolt
from kerastrans.models.pretrained.chronos import v2_network as chronos_2_network
from kerastrans.models.pretrained.chronos import v2_port as chronos_2
from kerastrans.models.pretrained.patchtst_fm import port as patchtst_fm
from kerastrans.models.pretrained.timesfm import port as timesfm
from tests.helpers import cases
from tests.helpers.checkpoints import (
    CHRONOS_2,
    CHRONOS_BOLT,
    PATCHTST_FM,
    TIMESFM,
    random_flowstate,
    random_fracast,
    random_patchtst_fm,
    random_tensors,
    random_timesfm,
    random_toto,
)
from tests.helpers.weights import ZERO_1

pytestmark = [pytest.mark.slow, pytest.mark.tensorflow]


def bolt():
    tensors = random_tensors(chronos_bolt.build_network(CHRONOS_BOLT)[1])
    return chronos_bolt.load(CHRONOS_BOLT, tensors)


def second():
    own, core = chronos_2_network.read_own(CHRONOS_2), chronos_2_network.read_core(CHRONOS_2)
    tensors = random_tensors(chronos_2_network.build_network(core, own)[1])
    return chronos_2.load(CHRONOS_2, tensors)


def times():
    return timesfm.load(TIMESFM, random_timesfm())


def patches():
    return patchtst_fm.load(PATCHTST_FM, random_patchtst_fm(PATCHTST_FM))


def zero():
    return load(ZERO_1)


def reverso():
    return load(cases.ROOT / "reverso")


def tinycast():
    return load(cases.ROOT / "tinycast")


def run_onnx(path, history):
    onnxruntime = pytest.importorskip("onnxruntime")
    return onnxruntime.InferenceSession(path).run(["forecast"], {"history": history})[0]


def run_litert(path, history):
    interpreter = pytest.importorskip("ai_edge_litert.interpreter")
    runner = interpreter.Interpreter(model_path=str(path)).get_signature_runner()
    return runner(history=history)["forecast"]


EXPORTS = {
    "model": (export_savedmodel, run_savedmodel),
    "model.onnx": (export_onnx, run_onnx),
    "model.tflite": (lambda *files: export_litert(*files, batch_size=2), run_litert),
}


MODELS = (
    *(bolt, zero, second, times, patches),
    *(random_flowstate, random_fracast, random_toto, tinycast, reverso),
)
# Every file of the first two, and ONNX of the others. `make contract` has the rest, and Reverso.
CHOSEN = {(make, name) for make in MODELS[:2] for name in EXPORTS}
CHOSEN |= {(make, "model.onnx") for make in MODELS if make is not reverso}


@pytest.mark.parametrize(
    ("make", "name"),
    [
        pytest.param(make, name, marks=() if (make, name) in CHOSEN else pytest.mark.exhaustive)
        for make in MODELS
        for name in EXPORTS
    ],
)
def test_an_export_forecasts_the_same(make, name, tmp_path):
    model = make().build(13, 11, num_channels=2)
    history = np.random.default_rng(0).normal(3, 2, (2, 13, 2)).astype("float32")
    history[0, [1, 5], 0] = np.nan
    expected = ops.convert_to_numpy(heads.of(model).point(model(history)))
    write, run = EXPORTS[name]
    write(model, tmp_path / name)
    np.testing.assert_allclose(run(tmp_path / name, history), expected, rtol=1e-4, atol=1e-4)
