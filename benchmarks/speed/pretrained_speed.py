"""A published model beside its own package on PyTorch: the same weights, the same series.

Weights are random, of the published sizes: the time does not depend on their values. Each backend
and the reference is a process that stays alive, on one core with one thread; all are asked in turn,
round after round, and CPU time is what counts, so that other work on the machine distorts little. A
forecast is a whole call on arrays: `forecast` here, `predict_quantiles` there; context 512, horizon
64, deciles. On PyTorch, "recorded" are calls after those that `kerastrans.utils.compilation` waits
for. kerastrans_zero_2, with its own weights, has no other package.

    pip install -e ".[jax,torch]" chronos-forecasting
    python -m benchmarks.speed.pretrained_speed          # writes results/pretrained_speed.csv
"""

import contextlib
import csv
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.common import RESULTS

CONTEXT, HORIZON, ROUNDS = 512, 64, {1: 7, 64: 3}
ZERO = "kerastrans_zero_2"
DECILES = [k / 10 for k in range(1, 10)]
KINDS = ("reference", "jax", "tensorflow", "torch")
COLUMNS = ("model", "batch", "backend", "cpu_milliseconds", "reference_ms", "times_faster")
# The sizes of amazon/chronos-bolt-small.
MODELS = {
    "chronos-bolt-small": {
        "architectures": ["ChronosBoltModelForForecasting"],
        "chronos_pipeline_class": "ChronosBoltPipeline",
        "model_type": "t5",
        **{"d_model": 512, "d_kv": 64, "d_ff": 2048, "num_heads": 8, "num_layers": 6},
        **{"num_decoder_layers": 6, "vocab_size": 2, "feed_forward_proj": "relu"},
        **{"relative_attention_num_buckets": 32, "relative_attention_max_distance": 128},
        **{"initializer_factor": 0.05, "pad_token_id": 0, "decoder_start_token_id": 0},
        "chronos_config": {
            **{"context_length": 2048, "prediction_length": 64, "use_reg_token": True},
            **{"input_patch_size": 16, "input_patch_stride": 16, "quantiles": DECILES},
        },
    },
}


def write(folder, config):
    """A folder as it is published, with random weights."""
    from safetensors.numpy import save_file

    from kerastrans.models.pretrained.chronos import bolt_port as chronos_bolt

    layout = chronos_bolt.build_network(config)[1]
    rng, tensors = np.random.default_rng(0), {}
    for key, target in layout.items():
        variable, convert = target if isinstance(target, tuple) else (target, np.asarray)
        values = 0.02 * rng.standard_normal(variable.shape, "float32")
        tensors[key] = np.ascontiguousarray(convert(values))
    (folder / "config.json").write_text(json.dumps(config))
    save_file(tensors, folder / "model.safetensors")


def reference(folder):
    import torch
    from chronos import BaseChronosPipeline

    pipeline = BaseChronosPipeline.from_pretrained(folder, device_map="cpu", torch_dtype="float32")

    def forecast(rows):
        inputs = [torch.tensor(row) for row in rows]
        options = {"prediction_length": HORIZON, "quantile_levels": DECILES}
        found, _ = pipeline.predict_quantiles(inputs, **options)
        return np.stack([np.asarray(x).reshape(HORIZON, -1) for x in found])

    return forecast


def ours(folder):
    import keras

    from kerastrans.models import pretrained
    from kerastrans.utils.compilation import shapes_that_come_often

    if keras.backend.backend() == "torch":
        import torch

        torch.set_num_threads(1)
    model = pretrained.load(folder)
    # JAX optimises at the first call; PyTorch is measured before and after it records.
    at_once = keras.backend.backend() == "jax"

    def forecast(rows):
        with shapes_that_come_often() if at_once else contextlib.nullcontext():
            found = model.forecast(rows, HORIZON, DECILES)
        return np.stack([x["quantiles"][0] for x in found])

    return forecast


def work(kind, folder):
    """Answer each batch size on stdin by the CPU seconds of one call and some of its forecast.

    "N until recorded" calls the function before until PyTorch runs a recorded program.
    """
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    forecast = (reference if kind == "reference" else ours)(folder)
    rng = np.random.default_rng(1)
    series = [*rng.normal(10, 2, (max(ROUNDS), CONTEXT)).astype("float32").cumsum(axis=1)]
    for line in sys.stdin:
        batch, *until_recorded = line.split()
        if until_recorded:
            from kerastrans.utils.compilation import RECORD_AFTER

            for _ in range(RECORD_AFTER):
                forecast(series[: int(batch)])
        started = time.process_time()
        found = forecast(series[: int(batch)])
        seconds = time.process_time() - started
        answer = {"seconds": seconds, "values": found[0, ::16, 4].tolist()}
        print("answer", json.dumps(answer), flush=True)


def ask(process, batch):
    process.stdin.write(f"{batch}\n")
    process.stdin.flush()
    while not (line := process.stdout.readline()).startswith("answer "):
        if not line:
            raise RuntimeError(f"{process.args} has ended.")
    return json.loads(line.partition(" ")[2])


def measure(name, folder):
    processes = {}
    kinds = KINDS[1:] if name == ZERO else KINDS
    for kind in kinds:
        backend = "torch" if kind == "reference" else kind
        env = {**os.environ, "KERAS_BACKEND": backend, "OMP_NUM_THREADS": "1"}
        command = [sys.executable, "-m", "benchmarks.speed.pretrained_speed", kind, str(folder)]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        processes[kind] = subprocess.Popen(command, env=env, stderr=subprocess.DEVNULL, **pipes)
    rows = []
    for batch, rounds in ROUNDS.items():
        warm = [ask(process, batch)["values"] for process in processes.values()]
        for values in warm:
            np.testing.assert_allclose(values, warm[0], rtol=1e-3)
        medians = {}
        for suffix in ("", ", recorded"):
            asked = processes if not suffix else {"torch": processes["torch"]}
            answers = {kind + suffix: [] for kind in asked}
            for _ in range(rounds):
                for kind, process in asked.items():
                    answers[kind + suffix].append(ask(process, batch)["seconds"])
            medians |= {kind: 1e3 * statistics.median(found) for kind, found in answers.items()}
            if not suffix:
                ask(processes["torch"], f"{batch} until recorded")
        reference = medians.get("reference")
        for kind, median in medians.items():
            ratio = reference and reference / median
            rows.append((name, batch, kind, median, reference, ratio))
            print(*(f"{x:.3g}" if isinstance(x, float) else x for x in rows[-1]), flush=True)
    for process in processes.values():
        process.stdin.close()
        process.wait()
    return rows


def main():
    if len(sys.argv) > 2:
        work(*sys.argv[1:])
        return
    rows = []
    for name in sys.argv[1:] or (*MODELS, ZERO):
        if name == ZERO:
            rows += measure(name, Path(__file__).parents[2] / "saved_models" / ZERO)
            continue
        with tempfile.TemporaryDirectory() as folder:
            write(Path(folder), MODELS[name])
            rows += measure(name, folder)
    with (RESULTS / "pretrained_speed.csv").open("w", newline="") as file:
        text = [[f"{x:.4g}" if isinstance(x, float) else x for x in row] for row in rows]
        csv.writer(file, lineterminator="\n").writerows([COLUMNS, *text])
    for kind in (*KINDS[1:], "torch, recorded"):
        ratios = [row[5] for row in rows if row[2] == kind and row[5]]
        mean = statistics.geometric_mean(ratios)
        print(f"{kind}: {mean:.2f} times as fast as the reference, geometric mean")


if __name__ == "__main__":
    main()
