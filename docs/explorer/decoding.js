// Decoding step by step, without a page: what tests/docs/test_explorer.py compares with Python.

/** An array as an input of a file; `rows` are numbers, or arrays of one width. */
export function tensor(ort, rows, type) {
  const width = rows[0].length;
  const kind = type === "int32" ? Int32Array : Float32Array;
  const shape = width === undefined ? [1, rows.length] : [1, rows.length, width];
  return new ort.Tensor(type, kind.from(rows.flat()), shape);
}

/** Rows of the first two axes of an output, as plain arrays. */
export function rowsOf({data, dims}) {
  const width = dims[1];
  return Array.from({length: dims[0]}, (_, i) => Array.from(data.slice(i * width, (i + 1) * width)));
}

/** One map (queries, keys) of an output (blocks, heads, queries, keys). */
export function mapOf({data, dims}, block, head) {
  const [, heads, queries, keys] = dims;
  const start = (block * heads + head) * queries * keys;
  return rowsOf({data: data.slice(start, start + queries * keys), dims: [queries, keys]});
}

/**
 * A loop that feeds each output back as the next input.
 *
 * The page computes all steps again at each step, because it shows them; `kerastrans.generate`
 * computes the newest one only, and takes the keys and values of earlier steps from a cache.
 */
export class Decoding {
  /**
   * run: async function from inputs to outputs.
   * pick: function (newest rows of the output) -> array of the next inputs.
   */
  constructor({ort, run, type = "float32", source, first, pick, switches}) {
    Object.assign(this, {ort, run, type, source, pick, switches});
    this.inputs = [...first];
    this.patch = first.length;
    this.picked = [];
  }

  /** Outputs for the inputs so far. */
  async look() {
    const scalar = value => new this.ort.Tensor("bool", Uint8Array.of(value), []);
    return this.run({
      encoder_inputs: tensor(this.ort, this.source, this.type),
      decoder_inputs: tensor(this.ort, this.inputs, this.type),
      look_ahead: scalar(this.switches.lookAhead),
      scaled: scalar(this.switches.scaled),
    });
  }

  /** One step: returns the outputs, after adding what was picked to `picked`. */
  async step() {
    if (this.picked.length) this.inputs.push(...this.picked.slice(-this.patch));
    const outputs = await this.look();
    this.picked.push(...this.pick(rowsOf(outputs.outputs).slice(-this.patch)));
    return outputs;
  }
}

/** Probabilities of the tokens but the excluded ones; a temperature of 0 is the limit. */
export function probabilities(logits, temperature, excluded = [0, 1]) {
  const possible = logits.map((x, i) => excluded.includes(i) ? -Infinity : x);
  const highest = Math.max(...possible);
  if (temperature === 0) {
    const best = possible.indexOf(highest);
    return possible.map((_, i) => Number(i === best));
  }
  const powers = possible.map(x => Math.exp((x - highest) / temperature));
  const sum = powers.reduce((a, b) => a + b);
  return powers.map(x => x / sum);
}

/** The token of a uniform random number in [0, 1), the most probable tokens first. */
export function draw(shares, uniform) {
  const order = shares.map((_, i) => i).sort((a, b) => shares[b] - shares[a] || a - b);
  let total = 0;
  for (const token of order) {
    total += shares[token];
    if (uniform < total) return token;
  }
  return order[0];
}

/** Random numbers in [0, 1) from a seed (mulberry32). */
export function randomNumbers(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let x = Math.imul(state ^ (state >>> 15), 1 | state);
    x = (x + Math.imul(x ^ (x >>> 7), 61 | x)) ^ x;
    return ((x ^ (x >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** A sequence of standard normal numbers, as rows (Box-Muller). */
export function normalRows(numRows, width, seed) {
  const random = randomNumbers(seed);
  const normal = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
  return Array.from({length: numRows}, () => Array.from({length: width}, normal));
}

const UNITS = ("zero one two three four five six seven eight nine ten eleven twelve thirteen " +
  "fourteen fifteen sixteen seventeen eighteen nineteen").split(" ");
const TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split(" ");

/** English words of a whole number from 0 to 999. */
export function wordsOf(number) {
  if (number < 20) return [UNITS[number]];
  if (number < 100) {
    return [TENS[Math.floor(number / 10) - 2], ...(number % 10 ? [UNITS[number % 10]] : [])];
  }
  const rest = number % 100;
  return [UNITS[Math.floor(number / 100)], "hundred", ...(rest ? ["and", ...wordsOf(rest)] : [])];
}

/** The largest difference of two arrays (blocks, heads, steps, width) in the steps of the first. */
export function largestChange(before, after) {
  const [blocks, heads, steps, width] = before.dims;
  let largest = 0;
  for (let part = 0; part < blocks * heads; part++) {
    for (let i = 0; i < steps * width; i++) {
      const newer = after.data[part * after.dims[2] * width + i];
      largest = Math.max(largest, Math.abs(newer - before.data[part * steps * width + i]));
    }
  }
  return largest;
}
