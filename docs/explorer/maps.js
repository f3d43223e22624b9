// Maps of attention by block and head, and the cache of a decoder.

import {mapOf} from "./decoding.js";
import {h, numberTable, paint, scrolled, valueColour, weightColour} from "./elements.js";

const KINDS = {
  encoder_self: ["Encoder", "source", "source"],
  decoder_self: ["Decoder", "decoder", "decoder"],
  cross: ["Cross-attention", "decoder", "source"],
};

/** Buttons with a picture of each map, and the chosen map as a table. */
export class Maps {
  constructor(chosen = {kind: "cross", block: 0, head: 0}) {
    this.chosen = chosen;
    this.overview = h("div", {class: "x-maps"});
    this.table = scrolled("Attention weights");
    this.element = h("div", {}, this.overview, this.table,
      h("p", {class: "x-label"}, "A row is a query, and its weights sum to 1. An empty cell has a " +
        "weight of exactly 0."));
    this.buttons = new Map();
  }

  /** labels: {source: [...], decoder: [...]}, names of the positions. */
  update(outputs, labels) {
    this.outputs = outputs;
    this.labels = labels;
    for (const [kind, [title]] of Object.entries(KINDS)) {
      const [blocks, heads] = outputs[kind].dims;
      if (!this.buttons.has(kind)) this.#add(kind, title, blocks, heads);
      for (const {block, head, canvas} of this.buttons.get(kind)) {
        paint(canvas, mapOf(outputs[kind], block, head), weightColour);
      }
    }
    this.#show();
  }

  #add(kind, title, blocks, heads) {
    const buttons = [];
    const rows = Array.from({length: blocks}, (_, block) => h("div", {class: "x-heads"},
      Array.from({length: heads}, (_, head) => {
        const canvas = h("canvas", {"aria-hidden": "true"});
        const name = `${title}, block ${block + 1}, head ${head + 1}`;
        const element = h("button", {type: "button", class: "x-map", "aria-label": name,
          title: name, onclick: () => { this.chosen = {kind, block, head}; this.#show(); }}, canvas);
        buttons.push({kind, block, head, canvas, element});
        return element;
      })));
    this.buttons.set(kind, buttons);
    this.overview.append(h("div", {role: "group", "aria-label": `${title} by block and head`},
      h("p", {class: "x-label"}, title), rows));
  }

  #show() {
    const {kind, block, head} = this.chosen;
    const [title, queries, keys] = KINDS[kind];
    for (const other of [...this.buttons.values()].flat()) {
      const isChosen = other.kind === kind && other.block === block && other.head === head;
      other.element.setAttribute("aria-pressed", isChosen);
    }
    const rows = mapOf(this.outputs[kind], block, head);
    this.table.replaceChildren(numberTable({
      caption: `${title}, block ${block + 1}, head ${head + 1}`,
      corner: "query \\ key",
      columns: this.labels[keys],
      names: this.labels[queries].slice(0, rows.length),
      rows,
      colour: weightColour,
    }));
  }
}

/** Keys and values of each block of the decoder, one row per step. */
export class Cache {
  constructor(numSteps) {
    this.numSteps = numSteps;
    this.element = h("div", {class: "x-cache"});
  }

  update(outputs) {
    const {dims} = outputs.cache_keys;
    const parts = Array.from({length: dims[0]}, (_, block) =>
      [["keys", outputs.cache_keys], ["values", outputs.cache_values]].map(([name, cache]) => {
        const heads = Array.from({length: dims[1]}, (_, head) => mapOf(cache, block, head));
        const rows = Array.from({length: this.numSteps}, (_, step) =>
          heads.flatMap(map => map[step] ?? Array(dims[3]).fill(null)));
        const canvas = h("canvas", {role: "img", "aria-label":
          `${name} of block ${block + 1}: ${dims[2]} of ${this.numSteps} rows are filled`});
        return h("div", {}, h("p", {class: "x-label"}, `Block ${block + 1}, ${name}`),
          paint(canvas, rows, valueColour));
      }));
    this.element.replaceChildren(...parts.flat());
  }

  clear() {
    this.element.replaceChildren(h("p", {}, "The cache is empty."));
  }
}
