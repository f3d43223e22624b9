// A forecaster: a Transformer over patches of a week of departures, whose history can be dragged.

import {Decoding} from "./decoding.js";
import {button, checkbox, field, h} from "./elements.js";
import {Chart} from "./chart.js";
import {Maps} from "./maps.js";
import {facts, openModel} from "./models.js";

const CONTEXT = 168, PATCH = 12, HORIZON = 48;
const DAYS = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];

export async function start(place) {
  const {series, start: first} = (await facts).departures;
  const model = await openModel("departures");
  const timeOf = hour => new Date(Date.parse(first) + 3_600_000 * hour);
  const nameOf = hour => `${DAYS[timeOf(hour).getUTCDay()]} ${timeOf(hour).getUTCHours()}:00`;
  const halfDay = (_, i) => `${DAYS[timeOf(i * PATCH).getUTCDay()]} ${i % 2 ? "pm" : "am"}`;
  const halfDays = Array.from({length: (CONTEXT + HORIZON) / PATCH}, halfDay);
  const highest = 1.5 * Math.max(...Object.values(series).flat());
  const switches = {lookAhead: true, scaled: true};
  let airport = Object.keys(series)[1];
  let history, hour = 156, forecast = [], unchanged = null;

  const chart = new Chart({
    count: CONTEXT + HORIZON,
    range: [0, highest],
    name: "Departures per hour: a week of history, and the forecast of two days",
    tick: step => step % 24 === 12 ? DAYS[timeOf(step).getUTCDay()] : "",
  });
  const maps = new Maps();
  const state = h("p", {class: "x-state", role: "status"});

  const draw = () => {
    const actual = series[airport];
    chart.draw(
      chart.line(actual, 0, "x-actual"),
      chart.line(history, 0, "x-history"),
      chart.line([history.at(-1), ...forecast], CONTEXT - 1, "x-forecast"),
      chart.dot(hour, history[hour], 6, "x-dot"));
    hours.input.value = hour;
    hours.input.setAttribute("aria-valuetext", nameOf(hour));
    hours.label.querySelector("output").textContent = nameOf(hour);
    flights.input.value = Math.round(history[hour]);
    flights.show();
  };

  // The newest change is forecast; those that came while the model ran are left out.
  let isWanted = false, running = null;
  const update = () => {
    draw();
    isWanted = true;
    running ??= (async () => {
      while (isWanted) {
        isWanted = false;
        await predict();
      }
      running = null;
    })();
    return running;
  };
  const predict = async () => {
    const column = history.map(value => [value]);
    const decoding = new Decoding({...model, source: column, first: column.slice(-PATCH),
      pick: rows => rows, switches});
    let outputs;
    while (decoding.picked.length < HORIZON) outputs = await decoding.step();
    forecast = decoding.picked.map(([value]) => value);
    unchanged ??= forecast;
    const sum = values => values.reduce((a, b) => a + b);
    const change = sum(forecast) - sum(unchanged);
    state.textContent = `Forecast of two days: ${sum(forecast).toFixed(0)} flights, ` +
      `${Math.abs(change).toFixed(0)} ${change < 0 ? "fewer" : "more"} than at first.`;
    maps.update(outputs, {source: halfDays.slice(0, CONTEXT / PATCH),
      decoder: halfDays.slice(CONTEXT / PATCH - 1)});
    draw();
  };
  const restore = () => {
    history = series[airport].slice(0, CONTEXT);
    unchanged = null;
    return update();
  };
  const change = value => {
    history[hour] = Math.min(highest, Math.max(0, value));
    return update();
  };

  const hours = field("Hour", {type: "range", min: 0, max: CONTEXT - 1, value: hour},
    value => { hour = value; draw(); });
  const flights = field("Flights", {type: "range", min: 0, max: Math.floor(highest), value: 0}, change);
  const choice = h("select", {onchange: () => { airport = choice.value; restore(); }},
    Object.keys(series).map(name => h("option", {selected: name === airport}, name)));
  const toggle = name => value => { switches[name] = value; update(); };

  let isDragged = false;
  chart.element.addEventListener("pointerdown", event => {
    const {step} = chart.at(event);
    if (step < 0 || step >= CONTEXT) return;
    hour = step;
    isDragged = true;
    chart.element.setPointerCapture(event.pointerId);
    draw();
  });
  chart.element.addEventListener("pointermove", event => {
    if (isDragged) change(chart.at(event).value);
  });
  for (const name of ["pointerup", "pointercancel"]) {
    chart.element.addEventListener(name, () => { isDragged = false; });
  }

  place.replaceChildren(
    h("div", {class: "x-toolbar"}, h("label", {class: "x-field"}, "Airport", choice),
      hours.label, flights.label, button("Restore the week", restore)),
    h("div", {class: "x-toolbar", role: "group", "aria-label": "Parts of attention"},
      checkbox("look-ahead mask", true, toggle("lookAhead")),
      checkbox("scores divided by √d", true, toggle("scaled"))),
    state, chart.element,
    h("p", {class: "x-label"}, "Thin line: history. Thick blue line: forecast. Dashed: what was counted."),
    h("div", {}, h("h3", {}, "Attention"), maps.element));
  await restore();
  return {get forecast() { return forecast; }, get history() { return history; }, settled: () => running};
}
