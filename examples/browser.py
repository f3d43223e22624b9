"""
Title: From Keras to the browser
Author: The kerastrans contributors
Date created: 2026/11/23
Last modified: 2026/11/23
Description: Export a forecaster as an ONNX file, and run it in a web page without a server.
Accelerator: None
"""

"""
## Introduction

A forecast in the browser needs no server, and the numbers never leave the visitor's machine.
kerastrans exports a forecaster as one ONNX file that takes the raw history and returns the
forecast, so that the page needs no scaling code. It requires `pip install ".[onnx]"`.

How far this is tested: the page runs in a headless Chromium with onnxruntime-web 1.30, and its
forecast equals that of Python (`tests/examples/test_browser.py`). Other browsers were not tried.
LiteRT files (`forecaster.export("x.tflite")`) have a runtime for the web too, which we have not
tried. Export to TensorFlow.js is not possible, because its converter does not read Keras 3 models.
"""

import json
from pathlib import Path

import numpy as np
import onnxruntime

import kerastrans

PAGE = Path("browser")  # must be a new folder, so that nothing is overwritten
PAGE.mkdir()

"""
## The forecaster

We use a preset that was trained on the flights of New York's three airports and forecasts 24 hours
from 168 hours of history. It is included in the package; your own forecasters export the same way.
"""

flights = kerastrans.datasets.load("nyc_departures")
forecaster = kerastrans.zoo.from_preset("nhits_nyc_departures_24")
forecaster.export(PAGE / "forecaster.onnx")
print(f"{(PAGE / 'forecaster.onnx').stat().st_size / 1024:.0f} KiB")

"""
## The file returns the same as Keras

Inputs and outputs have names. The batch size and the length of the history are variable: the last
168 hours are read. `quantiles` contains the bounds of the intervals and the quantiles between them,
in the order given in the metadata.
"""

history = flights[-168:].to_numpy("float32")[None]  # (batch, context_length, num_channels)
session = onnxruntime.InferenceSession(PAGE / "forecaster.onnx")
forecast, quantiles = session.run(["forecast", "quantiles"], {"history": history})
metadata = json.loads(session.get_modelmeta().custom_metadata_map["kerastrans"])
print("channels:", metadata["channels"], "quantiles:", metadata["quantiles"])
expected = forecaster.predict(flights)
difference = np.abs(forecast[0].T.ravel() - expected["nhits"].to_numpy()).max()
print(f"largest difference: {difference:.1e} flights")
assert difference < 1e-3

"""
## The page

The page loads onnxruntime-web, the file and a history, runs the model and draws the three forecasts
as lines. Put `ort.wasm.min.js`, `ort-wasm-simd-threaded.mjs` and `ort-wasm-simd-threaded.wasm` of
the npm package `onnxruntime-web` (in its folder `dist`) into the same folder, so that nothing is
loaded from elsewhere, and serve the folder with
`python -m http.server --directory browser --bind 127.0.0.1`.
"""

(PAGE / "history.json").write_text(json.dumps(history[0].tolist()))
HTML = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>A forecast in the browser</title>
<h1>The next 24 hours</h1>
<p id="state">loading</p>
<svg id="plot" viewBox="0 0 640 240" role="img" aria-label="Two days and the forecast"></svg>
<script src="ort.wasm.min.js"></script>
<script>
let forecast;  // hours after hours, in each the three airports
async function main() {
  const history = await (await fetch("history.json")).json();
  const channels = history[0].length;
  const session = await ort.InferenceSession.create("forecaster.onnx");
  const input = new ort.Tensor(
    "float32", Float32Array.from(history.flat()), [1, history.length, channels]);
  const started = performance.now();
  const outputs = await session.run({history: input});
  const milliseconds = (performance.now() - started).toFixed(1);
  forecast = outputs.forecast.data;
  draw(history.slice(-48), Array.from(forecast), channels);
  document.getElementById("state").textContent =
    `${outputs.forecast.dims[1]} hours of ${channels} airports in ${milliseconds} ms`;
}
function draw(past, values, channels) {
  const steps = values.length / channels;
  const top = Math.max(...past.flat(), ...values);
  const x = i => 640 * i / (past.length + steps - 1);
  const y = v => 230 - 220 * v / top;
  const colours = ["#1b6ca8", "#b5541c", "#3a7d44"];
  let lines = "";
  for (let c = 0; c < channels; c++) {
    const seen = past.map((row, i) => `${x(i)},${y(row[c])}`);
    const next = Array.from({length: steps}, (_, i) =>
      `${x(past.length + i)},${y(values[i * channels + c])}`);
    lines += `<polyline points="${seen.join(" ")}" fill="none" stroke="${colours[c % 3]}"/>`;
    lines += `<polyline points="${next.join(" ")}" fill="none" stroke="${colours[c % 3]}"` +
      ` stroke-width="3"/>`;
  }
  document.getElementById("plot").innerHTML = lines;
}
main().catch(error => { document.getElementById("state").textContent = error; });
</script>
</html>
"""
(PAGE / "index.html").write_text(HTML)
print("written:", *sorted(path.name for path in PAGE.iterdir()))

"""
## Conclusions

One file and sixty lines of HTML are enough. In your own page, let visitors drop a CSV file and pass
its rows. Missing values are passed as NaN, which the file accepts. A model with calendar features
has a second input, `last_time`, a `BigInt64Array` with the seconds since 1970 of the last row.
"""
