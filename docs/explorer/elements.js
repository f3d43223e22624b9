// Elements of the page: controls, tables and pictures of numbers.

/** An element; attributes that start with "on" are listeners. */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children.flat());
  return element;
}

/** An element of SVG. */
export function s(tag, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

export function button(text, onclick, attributes = {}) {
  return h("button", {type: "button", class: "x-button", onclick, ...attributes}, text);
}

export function checkbox(text, checked, onchange) {
  const box = h("input", {type: "checkbox", checked, onchange: () => onchange(box.checked)});
  return h("label", {class: "x-check"}, box, text);
}

/** A labelled input; `onchange` gets its number. */
export function field(text, attributes, onchange, unit = "") {
  const shown = h("output", {}, `${attributes.value}${unit}`);
  const event = attributes.type === "range" ? "oninput" : "onchange";
  const input = h("input", {...attributes, [event]: () => {
    shown.textContent = `${input.value}${unit}`;
    onchange(input.valueAsNumber);
  }});
  const label = h("label", {class: "x-field"}, h("span", {}, text), input);
  if (attributes.type === "range") label.append(shown);
  return {label, input, show: () => { shown.textContent = `${input.value}${unit}`; }};
}

/** A box that scrolls sideways, for the keyboard too. */
export function scrolled(name, ...children) {
  return h("div", {class: "x-scroll", role: "region", tabindex: "0", "aria-label": name}, children);
}

/** White to indigo for 0 to 1; nothing for exactly 0. */
export function weightColour(weight) {
  if (weight === 0) return [255, 255, 255, 0];
  const mix = (from, to) => Math.round(from + (to - from) * Math.sqrt(weight));
  return [mix(238, 40), mix(240, 53), mix(250, 147), 255];
}

/** Blue for negative numbers, white for 0, red for positive ones. */
export function valueColour(value) {
  const share = Math.min(1, Math.abs(value) / 2.5);
  const end = value < 0 ? [46, 110, 171] : [196, 62, 82];
  return [...end.map(x => Math.round(250 + (x - 250) * share)), 255];
}

/** Black or white on a colour: the one with the greater contrast, by WCAG at least 4.5. */
function styleOf([red, green, blue, alpha]) {
  if (alpha === 0) return "";
  const linear = x => (x / 255 <= 0.04 ? x / 255 / 12.92 : ((x / 255 + 0.055) / 1.055) ** 2.4);
  const luminance = 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue);
  return `background: rgb(${red} ${green} ${blue}); color: ${luminance < 0.18 ? "#fff" : "#000"}`;
}

/** A number with so many digits; nothing for exactly 0, and no minus before a rounded 0. */
function textOf(value, digits) {
  return value === 0 ? "" : value.toFixed(digits).replace(/^-(0\.0+)$/, "$1");
}

/** A table of numbers with coloured cells; rows may be shorter than the header. */
export function numberTable({caption, corner, columns, rows, names, colour, digits = 2, marked}) {
  const cell = value => value === undefined || value === null
    ? h("td", {class: "x-empty"})
    : h("td", {style: styleOf(colour(value))}, textOf(value, digits));
  const head = h("tr", {}, h("th", {scope: "col"}, corner), columns.map(x => h("th", {scope: "col"}, x)));
  const body = names.map((name, i) => h("tr", {class: i === marked ? "x-marked" : undefined},
    h("th", {scope: "row"}, name), columns.map((_, j) => cell(rows[i]?.[j]))));
  return h("table", {class: "x-numbers"}, h("caption", {}, caption), h("thead", {}, head),
    h("tbody", {}, body));
}

/** Numbers as a picture of one pixel each; null is left out. */
export function paint(canvas, rows, colour) {
  canvas.width = Math.max(1, ...rows.map(row => row.length));
  canvas.height = rows.length;
  const context = canvas.getContext("2d");
  const picture = context.createImageData(canvas.width, canvas.height);
  rows.forEach((row, i) => row.forEach((value, j) => {
    if (value !== null) picture.data.set(colour(value), 4 * (i * canvas.width + j));
  }));
  context.putImageData(picture, 0, 0);
  return canvas;
}
