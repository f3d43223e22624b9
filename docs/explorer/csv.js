// Series from the text of a CSV file.

/** Cells of the text, by row; the delimiter is the most frequent of the first line. */
export function cellsOf(text) {
  const first = text.split(/\r?\n/, 1)[0];
  const count = mark => first.split(mark).length;
  const delimiter = [",", ";", "\t"].sort((a, b) => count(b) - count(a))[0];
  const rows = [];
  let row = [], cell = "", isQuoted = false;
  for (let i = 0; i < text.length; i++) {
    const mark = text[i];
    if (isQuoted) {
      if (mark !== '"') cell += mark;
      else if (text[i + 1] === '"') cell += text[++i];
      else isQuoted = false;
    } else if (mark === '"') isQuoted = true;
    else if (mark === delimiter) { row.push(cell); cell = ""; }
    else if (mark === "\n") { rows.push([...row, cell]); row = []; cell = ""; }
    else if (mark !== "\r") cell += mark;
  }
  if (cell || row.length) rows.push([...row, cell]);
  const comma = delimiter === ";"; // decimal commas
  return {rows: rows.filter(cells => cells.some(x => x.trim())), comma};
}

const MISSING = ["", "na", "nan", "null", "none"];

function numberOf(cell, comma) {
  const text = cell.trim();
  if (MISSING.includes(text.toLowerCase())) return NaN;
  return Number(comma ? text.replace(",", ".") : text);
}

/**
 * Columns of a CSV: {times, columns: Map of name -> values, ids}; throws an Error of one line.
 *
 * Times are milliseconds, null without a column of times. `ids` are the cells of `unique_id`.
 */
export function tableOf(text) {
  const {rows, comma} = cellsOf(text);
  if (!rows.length) throw new Error("The file is empty: rows of numbers are expected.");
  const isNumber = cell => Number.isFinite(numberOf(cell, comma));
  const isMissing = cell => MISSING.includes(cell.trim().toLowerCase());
  const hasHeader = !rows[0].some(isNumber);
  const header = hasHeader ? rows.shift() : rows[0].map((_, i) => `column ${i + 1}`);
  if (!rows.length) throw new Error("The file has a header only: rows of numbers are expected.");
  const column = i => rows.map(cells => cells[i] ?? "");
  const timeOf = cell => /[-/:T]/.test(cell) ? Date.parse(utc(cell.trim())) : NaN;
  let times = null, ids = null;
  const columns = new Map();
  header.forEach((name, i) => {
    const cells = column(i);
    if (name.trim() === "unique_id") ids = cells;
    else if (!times && cells.every(cell => Number.isFinite(timeOf(cell)))) times = cells.map(timeOf);
    else if (cells.some(isNumber) && cells.every(cell => isNumber(cell) || isMissing(cell))) {
      columns.set(name.trim(), cells.map(cell => numberOf(cell, comma)));
    }
  });
  if (!columns.size) throw new Error(
    `No column of numbers was found in ${header.slice(0, 5).join(", ")}: one is expected.`);
  return {times, columns, ids};
}

/** A date without a time zone in UTC, so that no hour is missing or double. */
function utc(cell) {
  const isIso = /^\d{4}-\d\d(-\d\d([ T]\d\d:\d\d(:\d\d(\.\d+)?)?)?)?$/.test(cell);
  return isIso ? `${cell.replace(" ", "T")}${cell.includes(":") ? "Z" : ""}` : `${cell} UTC`;
}

/**
 * Values on a regular grid, NaN where a time is missing, and the function from a place to a time.
 *
 * The grid has the most frequent distance of neighbours, in months or in milliseconds. Without one
 * the rows are taken one after the other, and `isRegular` is false.
 */
export function regular(times, values) {
  const numbered = {values, nameOf: place => `row ${place + 1}`, isRegular: false};
  if (!times || times.length < 2) return numbered;
  const order = times.map((_, i) => i).sort((a, b) => times[a] - times[b]);
  const sorted = order.map(i => times[i]);
  const dates = sorted.map(time => new Date(time));
  const months = dates.map(date => 12 * date.getUTCFullYear() + date.getUTCMonth());
  const isMonthly = dates.every(date => date.getUTCDate() === dates[0].getUTCDate() &&
    date.getTime() % 86_400_000 === dates[0].getTime() % 86_400_000) && months[1] > months[0];
  const units = isMonthly ? months : sorted;
  const step = mostFrequent(units.slice(1).map((x, i) => x - units[i]));
  if (step <= 0) throw new Error(`The time ${textOf(sorted[units.findIndex((x, i) => x === units[i + 1])])} ` +
    "occurs more than once: one row per time is expected.");
  const places = units.map(x => (x - units[0]) / step);
  if (!places.every(Number.isInteger) || places.at(-1) > 100 * values.length) return numbered;
  const filled = Array(places.at(-1) + 1).fill(NaN);
  order.forEach((row, i) => { filled[places[i]] = values[row]; });
  const timeAt = place => isMonthly
    ? new Date(dates[0]).setUTCMonth(dates[0].getUTCMonth() + step * place)
    : sorted[0] + step * place;
  return {values: filled, nameOf: place => textOf(timeAt(place)), isRegular: true};
}

function textOf(time) {
  const text = new Date(time).toISOString();
  return text.slice(11, 16) === "00:00" ? text.slice(0, 10) : text.slice(0, 16).replace("T", " ");
}

function mostFrequent(numbers) {
  const counts = new Map();
  for (const x of numbers) counts.set(x, (counts.get(x) ?? 0) + 1);
  return [...counts].sort((a, b) => b[1] - a[1] || a[0] - b[0])[0][0];
}
