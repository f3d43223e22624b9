"""A served preset under load on loopback, with and without a client that sends the worst CSV files.

    python -m benchmarks.scale.serving                    # three minutes each; writes serving.json
    python -m benchmarks.scale.serving --seconds 10       # shorter, printed only

The server is a process of its own (`kerastrans serve`); 32 clients send one window each, one after
the other, and compare every answer with the forecaster's own. By turns, another client sends CSV
files at the limits of the service. Clients and server share the cores.
"""

import argparse
import asyncio
import collections
import itertools
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import httpx
import numpy as np
import pandas as pd

from benchmarks.common import RESULTS
from kerastrans import datasets, presets
from kerastrans.serving import Settings
from kerastrans.utils.environment import environment

PRESET, CLIENTS, WINDOWS, TURNS = "nhits_nyc_departures_24", 32, 64, 6
SECONDS = 180  # of each kind
JSON, CSV = "application/json", "text/csv"


def wide_csv(rows, cell, sep=","):
    """A CSV of as many columns as the service reads, with the same cell everywhere."""
    columns = Settings().max_columns
    dates = pd.date_range("2020", periods=rows, freq="h").strftime("%Y-%m-%d %H:%M:%S")
    lines = [["date", *(f"x{number}" for number in range(columns))]]
    lines += [[date, *[cell] * columns] for date in dates]
    return "\n".join(map(sep.join, lines)).encode()[: Settings().max_bytes]


def long_csv(rows):
    """A CSV of as many series as the service reads."""
    dates = pd.date_range("2020", periods=rows, freq="h").strftime("%Y-%m-%d %H:%M")
    lines = ["unique_id,ds,y"]
    lines += [f"s{i},{date},1" for i in range(Settings().max_series) for date in dates]
    return "\n".join(lines).encode()[: Settings().max_bytes]


def worst_csvs():
    """Dict of CSV files that take the most time, in the process that reads them or in the model."""
    return {
        "long": long_csv(320),
        "numbers": wide_csv(980, "1"),
        "words": wide_csv(980, "abcdef"),
        "decimal commas": wide_csv(980, "1 234,5", ";"),
        "header": b"date," + b",".join(b"x%d" % number for number in range(40_000)),
    }


async def client(http, url, bodies, expected, until, times, wrong):
    number = 0
    while time.perf_counter() < until:
        number = (number + 1) % len(bodies)
        started = time.perf_counter()
        answer = await http.post(url, content=bodies[number], headers={"content-type": JSON})
        times.append(time.perf_counter() - started)
        if answer.status_code != 200:
            wrong.append(answer.text)
            continue
        found = np.array(answer.json()["predictions"][0]["forecast"])
        if not np.allclose(found, expected[number], rtol=1e-4, atol=1e-4):
            wrong.append(number)


async def send_csvs(http, address, csvs, until, statuses):
    url = f"{address}/v1/forecast"
    while time.perf_counter() < until:
        name, body = next(csvs)
        try:
            answer = await http.post(url, content=body, headers={"content-type": CSV})
            statuses[f"{name}: {answer.status_code}"] += 1
        except httpx.TransportError as error:
            statuses[f"{name}: {type(error).__name__}"] += 1


def resident(process):
    """Resident memory of a process, in MiB."""
    for line in Path(f"/proc/{process.pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    raise RuntimeError("the server is gone.")


async def server_seconds(http, address):
    """Processor time of the server's main process."""
    lines = (await http.get(f"{address}/metrics")).text.splitlines()
    line = next(line for line in lines if line.startswith("process_cpu_seconds_total "))
    return float(line.split()[1])


async def turn(http, address, histories, seconds, csvs, total):
    """Add the figures of one turn to `total`; return its 99th percentile."""
    bodies, expected = histories
    url = f"{address}/v1/models/{PRESET}:predict"
    times, wrong = [], []
    started, own = time.perf_counter(), time.process_time()
    server = await server_seconds(http, address)
    until = started + seconds
    sending = send_csvs(http, address, csvs, until, total["csvs"]) if csvs else asyncio.sleep(0)
    sender = asyncio.create_task(sending)
    jobs = [client(http, url, bodies, expected, until, times, wrong) for _ in range(CLIENTS)]
    await asyncio.gather(*jobs)
    total["wall"] += time.perf_counter() - started
    total["own"] += time.process_time() - own
    total["server"] += await server_seconds(http, address) - server
    await sender  # the last CSV is not in the next turn
    total["times"] += times
    total["wrong"] += len(wrong)
    return 1e3 * float(np.quantile(times, 0.99))


def figures(total):
    """The figures of the turns of one kind."""
    times, wall = total["times"], total["wall"]
    found = {
        "requests": len(times),
        "requests_per_second": len(times) / wall,
        "p50_ms": 1e3 * float(np.quantile(times, 0.5)),
        "p99_ms": 1e3 * float(np.quantile(times, 0.99)),
        "wrong_answers": total["wrong"],
        "clients_cpu_share": total["own"] / wall,
        "server_cpu_share": total["server"] / wall,
    }
    return found | ({"csv_answers": dict(total["csvs"])} if total["csvs"] else {})


async def measure(address, process, started, seconds):
    limits = httpx.Limits(max_connections=CLIENTS + 4, keepalive_expiry=1)
    async with httpx.AsyncClient(limits=limits, timeout=120) as http:
        while (await http.get(f"{address}/ready")).status_code != 200:
            await asyncio.sleep(0.05)
        first = {"ready_after_seconds": time.perf_counter() - started}
        values = datasets.load("nyc_departures").to_numpy()
        facts = (await http.get(f"{address}/v1/models/{PRESET}/metadata")).json()["metadata"]
        context = facts["context_length"]
        histories = np.stack([values[i : i + context] for i in range(0, 100 * WINDOWS, 100)])
        bodies = [json.dumps({"instances": [x.tolist()]}).encode() for x in histories]
        wide = datasets.load("nyc_departures")[-context:]
        for name, path, body, kind in (
            ("first_forecast_seconds", f"models/{PRESET}:predict", bodies[0], JSON),
            ("first_csv_seconds", "forecast", wide.to_csv().encode(), CSV),
        ):
            sent = time.perf_counter()
            answer = await http.post(
                f"{address}/v1/{path}", content=body, headers={"content-type": kind}
            )
            answer.raise_for_status()
            first[name] = time.perf_counter() - sent
        forecaster = presets.load(PRESET)
        expected = forecaster.forecast_histories({"history": histories})["forecast"]
        csvs = itertools.cycle(worst_csvs().items())  # goes on from turn to turn
        memory, p99s = [], []
        zeros = {"wrong": 0, "wall": 0, "own": 0, "server": 0}
        totals = [{**zeros, "times": [], "csvs": collections.Counter()} for _ in range(2)]
        for number in range(TURNS):
            pair = {}
            for with_csvs in (False, True) if number % 2 == 0 else (True, False):
                pair[with_csvs] = await turn(
                    http,
                    address,
                    (bodies, expected),
                    seconds / TURNS,
                    csvs if with_csvs else None,
                    totals[with_csvs],
                )
                memory.append(resident(process))
            p99s.append((pair[False], pair[True]))
            print(number, p99s[-1], f"load {os.getloadavg()[0]:.1f}", flush=True)
    without, with_csvs = map(figures, totals)
    return {
        "preset": PRESET,
        "clients": CLIENTS,
        "seconds": seconds,
        **first,
        "without_csvs": without,
        "with_csvs": with_csvs,
        "p99_ratio": with_csvs["p99_ms"] / without["p99_ms"],
        "p99_ratios_of_turns": [y / x for x, y in p99s],
        "memory_mib_first_turns": memory[1],
        "memory_mib_last_turns": memory[-1],
        "load_average": os.getloadavg()[2],
        "environment": environment(),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=SECONDS, help="of each kind")
    options = parser.parse_args()
    command = [sys.executable, "-m", "kerastrans.cli.main", "serve", PRESET, "--port", "0"]
    command.append("--no-access-log")
    started = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        address = process.stdout.readline().split()[-1]
        found = asyncio.run(measure(address, process, started, options.seconds))
    finally:
        process.terminate()
        process.wait()
    print(json.dumps(found, indent=2))
    if options.seconds == SECONDS:
        (RESULTS / "serving.json").write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
