"""Install a wheel with all files in an environment of its own, outside of the checkout; use it.

python -m tools.checks.wheel dist/kerastrans-0.3.0-py3-none-any.whl

The environment sees the packages of the one that runs this, but no other kerastrans. A program is
checked by its types with the wheel, and with an editable install in its place.
"""

import os
import subprocess
import sys
import sysconfig
import tempfile
import time
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
NOTEBOOKS = ROOT / "notebooks"
USES = {
    "installed": "import kerastrans; print(kerastrans.__version__, kerastrans.__file__)",
    "presets": """
from kerastrans import datasets, zoo
for name in zoo.presets():
    print(name, zoo.from_preset(name).prediction_length)
rows = zoo.from_preset("nhits_air_passengers_12").predict(datasets.load("air_passengers"))
assert len(rows) == 12 and (rows["nhits-lo-80"] < rows["nhits-hi-80"]).all()
""",
    "published weights": """
import kerastrans
frame = kerastrans.datasets.load("nyc_departures")
rows = kerastrans.from_pretrained("kerastrans_zero_2", 24).predict(frame)
assert len(rows) == 72 and rows["kerastrans_zero_2"].notna().all()
""",
}
OWN = """
import numpy as np, pandas as pd
times = pd.date_range("2024-01-01", periods=600, freq="h", name="date")
shops = 50 + 20 * np.sin(np.arange(600)[:, None] * np.pi / 12 + [0, 2])
pd.DataFrame(shops, times, ["north", "south"]).to_csv("my.csv")
"""
NAME = "kerastrans_zero_2"
FORECAST = f"forecast {NAME} my.csv --prediction-length 24 --output next.csv --plot next.png"
COMMANDS = ("--help", "zoo", "presets", FORECAST, "demo")
LESSON = "01_positional_encoding"


def main():
    wheel = Path(sys.argv[1]).resolve()
    listed = ["git", "ls-files", "kerastrans"]
    tracked = subprocess.run(listed, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    if missing := sorted({*tracked.split()} - {*zipfile.ZipFile(wheel).namelist()}):
        raise SystemExit(f"{wheel.name} lacks {', '.join(missing)}")
    with tempfile.TemporaryDirectory() as parent:
        python = _environment(Path(parent, "venv"), wheel)
        work = Path(parent, "work")
        work.mkdir()
        for name, code in {**USES, "a CSV of one's own": OWN}.items():
            _run(name, [python, "-c", code], work)
        for command in COMMANDS:
            _run(f"kerastrans {command}", [python.with_name("kerastrans"), *command.split()], work)
        header = (work / "next.csv").read_text().splitlines()[0]
        bounds = [f"{NAME}-{end}-{level}" for level in (80, 95) for end in ("lo", "hi")]
        assert header == ",".join(["unique_id", "ds", NAME, *bounds]), header
        (work / f"{LESSON}.py").write_text((NOTEBOOKS / f"{LESSON}.py").read_text())
        _run(f"lesson {LESSON}", [python, f"{LESSON}.py"], work)
        (work / "program.py").write_text((ROOT / "tests" / "typing" / "public_api.py").read_text())
        mypy = [sys.executable, "-m", "mypy", "--python-executable", python]
        mypy += ["--ignore-missing-imports", "--warn-unused-ignores", "program.py"]
        _run("types of the wheel", mypy, work)
        pip = [sys.executable, "-m", "pip", "--python", python, "install", "-q", "--no-deps"]
        _run("editable install", [*pip, "-e", ROOT], work)
        _run("types of the editable install", mypy, work)
        _run("presets of the editable install", [python, "-c", USES["presets"]], work)


def _environment(folder, wheel):
    """The Python of a new environment with the wheel, and with what this one has installed."""
    venv.create(folder, with_pip=False, symlinks=os.name != "nt")
    binaries = folder / ("Scripts" if os.name == "nt" else "bin")
    python = binaries / ("python.exe" if os.name == "nt" else "python")
    install = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        python,
        "install",
        "--no-deps",
        "--no-index",
    ]
    subprocess.run([*install, "-q", wheel], check=True)
    # A line of a .pth file adds a folder, and not what .pth files in it add: no editable install.
    asked = "import sysconfig; print(sysconfig.get_path('purelib'))"
    own = subprocess.run([python, "-c", asked], check=True, capture_output=True, text=True)
    packages = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    Path(own.stdout.strip(), "packages.pth").write_text("\n".join(sorted(packages)) + "\n")
    return python


def _run(name, command, folder):
    """Run a command without the checkout in sight; SystemExit with its output where it fails."""
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    environment |= {"MPLBACKEND": "Agg", "TF_CPP_MIN_LOG_LEVEL": "3"}
    start = time.perf_counter()
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"{name} failed:\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}")
    print(f"{name}: {time.perf_counter() - start:.1f} s", flush=True)


if __name__ == "__main__":
    main()
