// The runtime and the models of the page, which the folder of the page holds.

const runtime = import("./runtime/ort.wasm.min.mjs").then(ort => {
  ort.env.wasm.numThreads = 1; // threads need headers that a plain file server does not send
  ort.env.wasm.wasmPaths = new URL("runtime/", import.meta.url).href;
  return ort;
});

/** The runtime and a function from inputs to outputs that runs one call after the other. */
export async function openModel(name) {
  const ort = await runtime;
  const file = await fetch(new URL(`${name}.onnx`, import.meta.url));
  if (!file.ok) throw new Error(`${name}.onnx: ${file.status}`);
  const session = await ort.InferenceSession.create(new Uint8Array(await file.arrayBuffer()));
  let last = Promise.resolve();
  const run = inputs => {
    last = last.catch(() => {}).then(() => session.run(inputs));
    return last;
  };
  return {ort, run};
}

/** What is known of the models: sizes, errors, words. */
export const facts = fetch(new URL("models.json", import.meta.url)).then(file => file.json());
