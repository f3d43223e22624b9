// Your own series: a CSV file is read here, and kerastrans-zero forecasts it here.

import {button, field, h, scrolled} from "./elements.js";
import {Chart} from "./chart.js";
import {regular, tableOf} from "./csv.js";
import {openModel} from "./models.js";
import {forecast, summary} from "./zero.js";

const CONTEXT = 1024, SHOWN = 8, LONGEST = 512;

export async function start(place) {
  const model = await openModel("zero");
  let table, name, series, found, steps = 12, step = 1, seconds;

  const fault = h("p", {class: "x-fault", role: "alert"});
  const state = h("p", {class: "x-state", role: "status"});
  const results = h("div", {});
  const selects = h("span", {class: "x-toolbar"});
  const file = h("input", {
    type: "file",
    accept: ".csv,.txt,.tsv,text/csv",
    onclick: () => { file.value = ""; }, // so that a file that was changed can be chosen again
    onchange: async () => {
      if (file.files.length) await read(await file.files[0].text(), file.files[0].name);
    },
  });
  const pasted = h("textarea", {rows: 5, cols: 40, spellcheck: "false"});
  const ahead = field("Steps to forecast", {type: "number", min: 1, max: LONGEST, value: steps}, value => {
    const isRight = Number.isInteger(value) && value >= 1 && value <= LONGEST;
    fault.textContent = isRight ? "" : `A whole number of steps from 1 to ${LONGEST} is expected.`;
    if (isRight) {
      steps = value;
      return predict();
    }
  });

  /** Do what may fail because of the file; the fault is one line, and the old forecast goes. */
  const attempt = async action => {
    fault.textContent = "";
    try {
      await action();
    } catch (error) {
      fault.textContent = error.message;
      state.textContent = "";
      results.replaceChildren();
    }
  };
  const read = (text, source) => attempt(async () => {
    table = tableOf(text);
    name = source;
    const ids = table.ids && [...new Set(table.ids)];
    const select = (label, options) => {
      const element = h("select", {onchange: () => predict()}, options.map(x => h("option", {}, x)));
      return {element, label: h("label", {class: "x-field"}, label, element)};
    };
    table.column = select("Column", [...table.columns.keys()]);
    table.series = ids && select("Series", ids);
    selects.replaceChildren(table.column.label, table.series?.label ?? "");
    await predict(true);
  });
  const predict = isThrown => isThrown ? predictNow() : attempt(predictNow);
  const predictNow = async () => {
    const begun = performance.now();
    const isOurs = i => !table.series || table.ids[i] === table.series.element.value;
    const pick = list => list && list.filter((_, i) => isOurs(i));
    series = regular(pick(table.times), pick(table.columns.get(table.column.element.value)));
    found = await forecast(model, series.values, steps);
    seconds = (performance.now() - begun) / 1000;
    step = Math.min(step, steps);
    draw();
  };

  const draw = () => {
    const {values, nameOf, isRegular} = series;
    const first = Math.max(0, values.length - CONTEXT);
    const shown = values.slice(first);
    const numbers = [...shown.filter(x => !Number.isNaN(x)), ...found.low, ...found.high];
    const low = Math.min(...numbers), high = Math.max(...numbers), margin = 0.05 * (high - low) || 1;
    const every = Math.ceil((shown.length + steps) / (window.innerWidth < 600 ? 3 : 5));
    const chart = new Chart({
      count: shown.length + steps,
      range: [low - margin, high + margin],
      name: `Last ${shown.length} values, and the forecast of ${steps} steps with its interval`,
      tick: i => i % every === Math.floor(every / 2) ? nameOf(first + i) : "",
    });
    const explained = h("div", {});
    const explain = () => {
      const rows = summary(found.parts[step - 1], SHOWN);
      const visible = rows.past.filter(row => row.place >= first);
      chart.draw(
        chart.band(found.low, found.high, shown.length),
        chart.line(shown, 0, "x-history"),
        chart.line(found.median, shown.length, "x-forecast"),
        ...visible.map(row => chart.dot(row.place - first, row.value, 2 + 8 * Math.sqrt(row.share), "x-dot")),
        chart.dot(shown.length + step - 1, found.median[step - 1], 5, "x-end"));
      explained.replaceChildren(scrolled("Parts of the forecast", partTable(rows, nameOf,
        nameOf(values.length + step - 1), found.median[step - 1])));
    };
    const slider = field("Step to explain", {type: "range", min: 1, max: steps, value: step},
      value => { step = value; explain(); });
    explain();
    const all = h("details", {}, h("summary", {}, "All steps as a table"),
      scrolled("Forecast", forecastTable(found, place => nameOf(values.length + place))));
    results.replaceChildren(chart.element,
      h("p", {class: "x-label"}, "Thin line: history. Thick blue line: median, in the interval of " +
        "80 %. Red: past values that the chosen step consists of, by their shares."),
      h("h3", {}, "What a step consists of"), h("div", {class: "x-toolbar"}, slider.label), explained, all);
    const gaps = shown.filter(Number.isNaN).length;
    state.textContent = `${name}: ${values.length} values, ${steps} steps forecast in ` +
      `${seconds.toFixed(2)} s.` + (gaps ? ` ${gaps} values are missing.` : "") +
      (isRegular ? "" : " No regular times such as 2024-01-31 were found: the rows are " +
        "taken one after the other.");
  };

  place.addEventListener("dragover", event => event.preventDefault());
  place.addEventListener("drop", async event => {
    event.preventDefault();
    const [dropped] = event.dataTransfer.files;
    if (dropped) await read(await dropped.text(), dropped.name);
  });
  const example = async () => {
    const text = await (await fetch(new URL("air_passengers.csv", import.meta.url))).text();
    await read(text, "air_passengers.csv");
  };
  place.replaceChildren(
    h("div", {class: "x-toolbar"}, h("label", {class: "x-field"}, "CSV file", file),
      button("Example", example)),
    h("p", {class: "x-label"}, "A file can also be dropped here. It is read in this page and not sent."),
    h("details", {}, h("summary", {}, "Paste values instead"),
      h("label", {class: "x-field"}, "Rows of a CSV, or one value per line", pasted),
      button("Forecast these", () => read(pasted.value, "pasted values"))),
    h("div", {class: "x-toolbar"}, ahead.label, selects), fault, state, results);
  await example();
  return {read, get found() { return found; }};
}

const shortly = value => Number.isFinite(value) ? String(Number(value.toPrecision(5))) : "";

function partTable({past, rest, others}, nameOf, when, median) {
  const row = (name, value, share, contribution) => h("tr", {}, h("th", {scope: "row"}, name),
    h("td", {}, shortly(value)),
    h("td", {}, share === undefined ? "" : `${(100 * share).toFixed(1)} %`),
    h("td", {}, shortly(contribution)));
  const rows = [
    ...past.map(x => row(nameOf(x.place), x.value, x.share, x.contribution)),
    ...[...rest, ...others].map(x => row(x.part, x.value, x.share, x.contribution)),
    row("median", undefined, undefined, median),
  ];
  return h("table", {class: "x-chances"},
    h("caption", {}, `${when}: values, their shares, and corrections sum to the median.`),
    h("thead", {}, h("tr", {}, ["part", "value", "share", "contribution"].map(
      x => h("th", {scope: "col"}, x)))),
    h("tbody", {}, rows));
}

function forecastTable({median, low, high}, nameOf) {
  const rows = median.map((value, i) => h("tr", {}, h("th", {scope: "row"}, nameOf(i)),
    [value, low[i], high[i]].map(x => h("td", {}, shortly(x)))));
  return h("table", {class: "x-chances"}, h("caption", {}, "Median, and interval of 80 %"),
    h("thead", {}, h("tr", {}, ["step", "median", "lower", "upper"].map(
      x => h("th", {scope: "col"}, x)))),
    h("tbody", {}, rows));
}
