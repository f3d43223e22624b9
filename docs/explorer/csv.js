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
  let times = null, ids = null;
  const columns = new Map();
  header.forEach((name, i) => {
    const cells = column(i);
    const areYears = i === 0 && header.length > 1 && cells.every(cell => /^[12]\d{3}$/.test(cell.trim()));
    if (areYears) times = cells.map(cell => timeOf(`${cell.trim()}-01`));
    else if (name.trim() === "unique_id") ids = cells;
    else if (!times && cells.every(cell => Number.isFinite(timeOf(cell)))) times = cells.map(timeOf);
    else if (cells.some(isNumber) && cells.every(cell => isNumber(cell) || isMissing(cell))) {
      columns.set(name.trim(), cells.map(cell => numberOf(cell, comma)));
    }
  });
  if (!columns.size) throw new Error(
    `No column of numbers was found in ${header.slice(0, 5).map(x => x.slice(0, 20)).join(", ")}: one is expected.`);
  return {times, columns, ids};
}

const DATE = /^(\d{4})[-/](\d\d?)(?:[-/](\d\d?))?(?:[ T](\d\d?):(\d\d)(?::(\d\d)(?:\.0*)?)?)?$/;

/**
 * Milliseconds of a date with the year first, NaN for another text: 01/02/2024 has two meanings.
 *
 * Times are read as UTC, so that no hour is missing or double.
 */
function timeOf(cell) {
  const found = DATE.exec(cell.trim().replace(/Z$/, ""));
  if (!found) return NaN;
  const [year, month, day = 1, hour = 0, minute = 0, second = 0] = found.slice(1).map(
    x => x === undefined ? x : Number(x));
  const time = new Date(Date.UTC(year, month - 1, day, hour, minute, second));
  return time.getUTCMonth() === month - 1 && time.getUTCDate() === day ? time.getTime() : NaN;
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
  const distances = units.slice(1).map((x, i) => x - units[i]);
  const repeated = distances.indexOf(0);
  if (repeated >= 0) throw new Error(`The time ${textOf(sorted[repeated])} occurs more than once: ` +
    "one row per time is expected.");
  const step = mostFrequent(distances);
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
