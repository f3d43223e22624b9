"""What int8 weights cost kerastrans_zero_2: LiteRT files on the validation windows.

    KERAS_BACKEND=tensorflow python -m benchmarks.accuracy.zero_quantized

One row a set and precision is added to results/zero_quantized.csv: the MASE of the medians, divided
by that of the seasonal naive forecast, and the size of the largest file in bytes.
"""

import tempfile
from pathlib import Path

import numpy as np
from ai_edge_litert.interpreter import Interpreter

from benchmarks.accuracy.task_list import TASKS
from benchmarks.accuracy.zero_validation import BATCH, SETS, Quantiles, measure
from benchmarks.common import RESULTS, append_row, keys_of
from kerastrans.export import export_litert
from kerastrans.models.pretrained import load
from kerastrans.models.pretrained.shipped import FOLDER

PATH = RESULTS / "zero_quantized.csv"
KEY = ("set", "precision")
COLUMNS = (*KEY, "mase", "bytes")
PRECISIONS = {"float32": None, "int8": "int8"}


def main():
    for precision in PRECISIONS:
        forecaster = Files(load(FOLDER / "kerastrans_zero_2"), PRECISIONS[precision])
        for name in SETS:
            if (name, precision) not in keys_of(PATH, KEY):
                forecaster.largest = 0
                mase = measure(forecaster, TASKS[name])["mase"]
                row = {"set": name, "precision": precision, "mase": mase}
                append_row(PATH, COLUMNS, {**row, "bytes": forecaster.largest})
                print(*row.values(), forecaster.largest, flush=True)


class Files(Quantiles):
    """Medians by a file for each length and horizon, in the place of every quantile."""

    def __init__(self, model, quantize):
        super().__init__(model)
        self.quantize, self.largest = quantize, 0

    def _run(self, block, horizon):
        sizes = block.shape[1], horizon
        if sizes not in self.compiled:
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "zero.tflite"
                options = {"quantize": self.quantize, "batch_size": BATCH}
                export_litert(self.model.build(*sizes), path, **options)
                run = Interpreter(model_content=path.read_bytes()).get_signature_runner()
                self.compiled[sizes] = run, path.stat().st_size
        run, size = self.compiled[sizes]
        self.largest = max(self.largest, size)
        median = run(history=block[..., None])["forecast"]
        return np.repeat(median, len(self.model.levels), axis=-1)


if __name__ == "__main__":
    main()
