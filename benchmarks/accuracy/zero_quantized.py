"""What int8 weights cost kerastrans_zero_2: LiteRT files on the validation windows.

    KERAS_BACKEND=tensorflow python -m benchmarks.accuracy.zero_quantized

One row a set and precision is added to results/zero_quantized.csv: the MASE of the medians, divided
by that of the seasonal naive forecast, and the size of the file in bytes.
"""

import tempfile
from pathlib import Path

import numpy as np
from ai_edge_litert.interpreter import Interpreter

from benchmarks.accuracy.task_list import TASKS
from benchmarks.accuracy.zero_validation import BATCH, SETS, naive_quantiles, scale_of, windows_of
from benchmarks.common import RESULTS, append_row, keys_of
from kerastrans.export import export_litert
from kerastrans.models.pretrained import load
from kerastrans.models.pretrained.shipped import FOLDER

PATH = RESULTS / "zero_quantized.csv"
KEY = ("set", "precision")
COLUMNS = (*KEY, "mase", "bytes")
PRECISIONS = ("float32", "int8")


def main():
    model = load(FOLDER / "kerastrans_zero_2")
    for name in SETS:
        task = TASKS[name]
        windows = windows_of(task)
        actual = np.stack([x.future for x in windows])
        scale = np.array([scale_of(x.past, task.season) for x in windows])[:, None]
        naive = np.stack([naive_quantiles(x.past, task.horizon, task.season) for x in windows])
        base = np.nanmean(np.abs(actual - naive[..., 4]) / scale)
        for precision in PRECISIONS:
            if (name, precision) not in keys_of(PATH, KEY):
                found, size = medians(model, windows, task.horizon, precision)
                mase = np.nanmean(np.abs(actual - found) / scale) / base
                row = dict(zip(COLUMNS, (name, precision, f"{mase:.4f}", size), strict=True))
                append_row(PATH, COLUMNS, row)
                print(*row.values(), flush=True)


def medians(model, windows, horizon, precision):
    """Medians `(rows, horizon)` by files for each length of window, and the size of the largest."""
    lengths = np.array([model.padded_length(len(x.past)) for x in windows])
    found, sizes = np.empty((len(windows), horizon)), []
    for length in np.unique(lengths):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "zero.tflite"
            quantize = None if precision == "float32" else precision
            network = model.build(int(length), horizon)
            export_litert(network, path, quantize=quantize, batch_size=BATCH)
            sizes.append(path.stat().st_size)
            run = Interpreter(model_path=str(path)).get_signature_runner()
            rows = np.flatnonzero(lengths == length)
            for start in range(0, len(rows), BATCH):
                part = rows[start : start + BATCH]
                block = np.full((BATCH, length, 1), np.nan, "float32")
                pivots = [np.nanmean(windows[i].past[-length:]) for i in part]
                for j, i in enumerate(part):
                    past = windows[i].past[-length:] - pivots[j]
                    block[j, length - len(past) :, 0] = past
                forecast = run(history=block)["forecast"][: len(part), :, 0]
                found[part] = forecast + np.array(pivots)[:, None]
    return found, max(sizes)


if __name__ == "__main__":
    main()
