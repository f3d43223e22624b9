// Runs the page's own functions in Node: one JSON of requests in, one of results out.

import {readFileSync} from "node:fs";
import {pathToFileURL} from "node:url";

const [page, runtime] = process.argv.slice(2).map(path => pathToFileURL(`${path}/`));
const {Decoding, draw, probabilities, wordsOf} = await import(new URL("decoding.js", page));
const {regular, tableOf} = await import(new URL("csv.js", page));
const {forecast} = await import(new URL("zero.js", page));
const ort = await import(new URL("ort.wasm.min.mjs", runtime));
ort.env.wasm.numThreads = 1;
ort.env.wasm.wasmBinary = readFileSync(new URL("ort-wasm-simd-threaded.wasm", runtime));

async function openModel(name) {
  const file = new Uint8Array(readFileSync(new URL(`${name}.onnx`, page)));
  const session = await ort.InferenceSession.create(file);
  return {ort, run: inputs => session.run(inputs)};
}

/** The steps of a model, and the outputs of the last one. */
async function decode({model, steps, temperature, uniform, ...options}) {
  const shares = [];
  const chosen = ([logits]) => {
    shares.push(probabilities(logits, temperature));
    return [draw(shares.at(-1), uniform[shares.length - 1])];
  };
  const pick = temperature === undefined ? rows => rows : chosen;
  const decoding = new Decoding({...await openModel(model), pick, ...options});
  let outputs;
  while (decoding.picked.length < steps) outputs = await decoding.step();
  const arrays = Object.entries(outputs).map(
    ([name, {dims, data}]) => [name, {shape: dims, values: Array.from(data)}]);
  return {picked: decoding.picked, shares, outputs: Object.fromEntries(arrays)};
}

/** What the page shows for the text of a CSV: an error, or the series and its forecast. */
async function read({text, column, steps}) {
  try {
    const {times, columns} = tableOf(text);
    const {values, nameOf, isRegular} = regular(times, columns.get(column ?? [...columns.keys()][0]));
    const names = [values.length - 1, values.length].map(nameOf);
    const found = steps && await forecast(await openModel("zero"), values, steps);
    const texts = values.map(String); // JSON has no NaN
    return {columns: [...columns.keys()], values: texts, names, isRegular, ...found};
  } catch (error) {
    return {error: error.message};
  }
}

const {decodings = [], files = [], numbers = []} = JSON.parse(readFileSync(0, "utf8"));
const results = {decodings: [], files: [], words: numbers.map(wordsOf)};
for (const request of decodings) results.decodings.push(await decode(request));
for (const request of files) results.files.push(await read(request));
process.stdout.write(JSON.stringify(results));
