"""A served preset under load on loopback: requests a second, latency, memory, wrong answers.

    python -m benchmarks.scale.serving                    # 10 minutes; writes results/serving.json
    python -m benchmarks.scale.serving --seconds 20       # shorter, printed only

The server is a process of its own (`kerastrans serve`); 16 clients send one window each, one after
the other, and compare every answer with the forecaster's own. Client and server share the cores.
"""

import argparse
import asyncio
import json
import subprocess
import sys
import time
from pathlib import Path

import httpx
import numpy as np

from benchmarks.common import RESULTS
from kerastrans import datasets, presets
from kerastrans.utils.environment import environment

PRESET, CLIENTS, WINDOWS = "nhits_nyc_departures_24", 16, 64


async def client(http, url, bodies, expected, until, times, wrong):
    number = 0
    while time.perf_counter() < until:
        number = (number + 1) % len(bodies)
        started = time.perf_counter()
        answer = await http.post(url, content=bodies[number])
        times.append(time.perf_counter() - started)
        if answer.status_code != 200:
            wrong.append(answer.text)
            continue
        found = np.array(answer.json()["predictions"][0]["forecast"])
        if not np.allclose(found, expected[number], rtol=1e-4, atol=1e-4):
            wrong.append(number)


def resident(process):
    """Resident memory of a process, in MiB."""
    for line in Path(f"/proc/{process.pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    raise RuntimeError("the server is gone.")


async def load(address, process, seconds):
    forecaster = presets.load(PRESET)
    values = datasets.load("nyc_departures").to_numpy()
    context = forecaster.context_length
    histories = np.stack([values[i : i + context] for i in range(0, 100 * WINDOWS, 100)])
    expected = forecaster.forecast_histories({"history": histories})["forecast"]
    bodies = [json.dumps({"instances": [x.tolist()]}).encode() for x in histories]
    url = f"{address}/v1/models/{PRESET}:predict"
    times, wrong, memory = [], [], []
    limits = httpx.Limits(max_connections=CLIENTS)
    async with httpx.AsyncClient(limits=limits, timeout=60) as http:
        for body in bodies[:4]:
            await http.post(url, content=body)
        until = time.perf_counter() + seconds
        jobs = [client(http, url, bodies, expected, until, times, wrong) for _ in range(CLIENTS)]
        running = asyncio.gather(*jobs)
        while not running.done():
            memory.append(resident(process))
            await asyncio.wait([running], timeout=max(1.0, seconds / 60))
        await running
    tenth = max(1, len(memory) // 10)
    return {
        "preset": PRESET,
        "clients": CLIENTS,
        "seconds": seconds,
        "requests": len(times),
        "requests_per_second": len(times) / seconds,
        "p50_ms": 1e3 * float(np.quantile(times, 0.5)),
        "p99_ms": 1e3 * float(np.quantile(times, 0.99)),
        "wrong_answers": len(wrong),
        "memory_mib_first_tenth": float(np.median(memory[:tenth])),
        "memory_mib_last_tenth": float(np.median(memory[-tenth:])),
        "memory_mib_peak": max(memory),
        "environment": environment(),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=600)
    options = parser.parse_args()
    command = [sys.executable, "-m", "kerastrans.cli.main", "serve", PRESET, "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        address = process.stdout.readline().split()[-1]
        found = asyncio.run(load(address, process, options.seconds))
    finally:
        process.terminate()
        process.wait()
    print(json.dumps(found, indent=2))
    if options.seconds == 600:
        (RESULTS / "serving.json").write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
