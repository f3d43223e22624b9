// The forecast of kerastrans-zero without a page: what Forecaster.predict and explain compute.

const CONTEXT = 1024, LEVELS = {low: 2, median: 6, high: 10}; // places of 0.1, 0.5 and 0.9
const SLOPES = [8, 32, 128, 1024]; // last steps that slopes are fitted to

/** Values minus a pivot and divided by a unit, as kerastrans.data.pivot does in float64. */
export function pivot(values) {
  const known = values.filter(x => !Number.isNaN(x));
  const powerOf = size => size > 0
    ? 2 ** Math.min(1000, Math.max(-1000, Math.floor(Math.log2(size)))) : 1;
  const whole = powerOf(Math.max(0, ...known.map(Math.abs)));
  const scaled = known.map(x => x / whole);
  const magnitude = Math.max(0, ...scaled.map(Math.abs));
  const highest = Math.max(...scaled), lowest = Math.min(...scaled);
  const size = Math.max(0, highest / 2 - lowest / 2);
  const isConstant = size <= 4 * Number.EPSILON * magnitude;
  const middle = isConstant ? highest : highest / 2 + lowest / 2;
  const smallest = 2.2250738585072014e-308 / whole; // `unit * whole` is a normal number
  const unit = Math.min(Number.MAX_VALUE / 2 / whole,
    Math.max(smallest, isConstant ? magnitude || 1 : powerOf(size)));
  return {
    windows: values.map(x => Number.isNaN(x) ? x : isConstant ? 0 : (x / whole - middle) / unit),
    pivot: middle * whole,
    unit: unit * whole,
  };
}

/**
 * Forecast of so many steps after the values (NaN where missing), and what it consists of.
 *
 * Returns {median, low, high, parts}: `parts[step]` is a list of {part, lag, place, value, share,
 * contribution}, as the rows of `explain`; `place` counts in `values`.
 */
export async function forecast({ort, run}, values, steps) {
  const used = values.slice(-CONTEXT);
  if (used.every(Number.isNaN)) throw new Error("The last 1,024 values are all missing.");
  const {windows, pivot: level, unit} = pivot(used);
  const history = new Float32Array(CONTEXT).fill(NaN);
  history.set(windows, CONTEXT - used.length);
  const ahead = Float32Array.from({length: steps}, (_, i) => i + 1);
  const outputs = await run({
    history: new ort.Tensor("float32", history, [1, CONTEXT]),
    steps: new ort.Tensor("float32", ahead, [1, steps]),
  });
  const numLevels = outputs.quantiles.dims[1];
  const quantile = place => Array.from({length: steps},
    (_, step) => level + unit * outputs.quantiles.data[step * numLevels + place]);
  const parts = Array.from({length: steps}, (_, step) => partsOf(outputs, step, values, level, unit));
  return {...Object.fromEntries(Object.entries(LEVELS).map(([name, place]) => [name, quantile(place)])),
    parts};
}

function partsOf({shares, places, lags, mean, changes, slopes, offset}, step, values, level, unit) {
  const [, octaves, cycles] = shares.dims;
  const found = [];
  let rest = 1;
  for (let i = 0; i < octaves * cycles; i++) {
    const share = shares.data[step * octaves * cycles + i];
    rest -= share;
    if (share === 0) continue;
    const place = values.length - 1 + Number(places.data[step * octaves * cycles + i]);
    const value = values[place];
    const lag = Number(lags.data[Math.floor(i / cycles)]);
    found.push({part: "past value", lag, place, value, share, contribution: share * value});
  }
  const average = level + unit * mean.data[0];
  found.push({part: "mean", value: average, share: rest, contribution: rest * average});
  for (let i = 0; i < octaves; i++) {
    const change = unit * changes.data[step * octaves + i];
    if (change) found.push({part: "recent changes", lag: Number(lags.data[i]), contribution: change});
  }
  SLOPES.forEach((lag, i) => {
    const slope = unit * slopes.data[step * SLOPES.length + i];
    if (slope) found.push({part: "slope", lag, contribution: slope});
  });
  found.push({part: "offset", contribution: unit * offset.data[step]});
  return found;
}

/** Parts of one step for a table: past values at one place together, the largest first. */
export function summary(parts, most) {
  const past = new Map(), others = new Map();
  for (const x of parts) {
    const [group, key] = x.part === "past value" ? [past, x.place] : [others, x.part];
    const sum = group.get(key) ?? {...x, share: x.share === undefined ? undefined : 0, contribution: 0};
    if (x.share !== undefined) sum.share += x.share;
    sum.contribution += x.contribution;
    group.set(key, sum);
  }
  const ordered = [...past.values()].sort((a, b) => b.share - a.share);
  const left = ordered.slice(most);
  const total = (rows, name) => rows.reduce((sum, row) => sum + row[name], 0);
  return {
    past: ordered.slice(0, most),
    rest: left.length ? [{part: `${left.length} other past values`, share: total(left, "share"),
      contribution: total(left, "contribution")}] : [],
    others: [...others.values()],
  };
}
