// Controls that step through decoding, for every model that decodes step by step.

import {Decoding, largestChange} from "./decoding.js";
import {button, checkbox, h} from "./elements.js";
import {Cache, Maps} from "./maps.js";

export class Player {
  /**
   * model: what openModel returned. numSteps: most steps.
   * begin: function -> {type, source, first, pick}, of a new decoding.
   * isOver: function (picked) -> whether the last step was the last one.
   * show: function (player), draws what the model has generated.
   * labels: function (player) -> {source, decoder}, names of the positions.
   * tell: function (player) -> what the last step did, in words.
   */
  constructor(options) {
    Object.assign(this, options);
    this.switches = {lookAhead: true, scaled: true};
    this.last = Promise.resolve();
    this.maps = new Maps(options.chosen);
    this.cache = new Cache(this.numSteps);
    this.state = h("p", {class: "x-state", role: "status"});
    this.changes = h("p", {});
    this.controls = {
      step: button("Step", () => this.queue(() => this.go(1)), {class: "x-button x-first"}),
      back: button("Back", () => this.queue(() => this.back())),
      finish: button("All steps", () => this.queue(() => this.go(this.numSteps))),
      restart: button("Start again", () => this.queue(() => this.restart())),
    };
    this.toolbar = h("div", {class: "x-toolbar", role: "group", "aria-label": "Decoding"},
      Object.values(this.controls));
    const change = name => value => this.queue(() => {
      this.switches[name] = value;
      return this.repeat();
    });
    this.boxes = h("div", {class: "x-toolbar", role: "group", "aria-label": "Parts of attention"},
      checkbox("look-ahead mask", true, change("lookAhead")),
      checkbox("scores divided by √d", true, change("scaled")));
    this.attention = h("div", {}, h("h3", {}, "Attention"), this.maps.element);
    this.memory = h("div", {}, h("h3", {}, "Cache of the decoder"), this.cache.element, this.changes);
  }

  get count() { return this.decoding.picked.length; }

  get ended() { return this.count >= this.numSteps || this.isOver(this.decoding.picked); }

  /** Run an action of the reader after those before it: each takes several calls of the model. */
  queue(action) {
    this.last = this.last.then(action);
    return this.last;
  }

  /** A new decoding, from the source; the maps of the encoder are there before the first step. */
  async restart() {
    this.decoding = new Decoding({...this.model, ...this.begin(), switches: this.switches});
    this.outputs = this.before = null;
    await this.draw();
  }

  async go(steps) {
    for (let i = 0; i < steps && !this.ended; i++) {
      this.before = this.outputs;
      this.outputs = await this.decoding.step();
    }
    await this.draw();
  }

  async back() {
    await this.repeat(Math.max(0, this.count - this.decoding.patch));
  }

  /** The same number of steps again, after something was changed. */
  async repeat(count = this.count) {
    await this.restart();
    await this.go(count);
  }

  async draw() {
    const {step, back, finish, restart} = this.controls;
    // Not `disabled`, which would take the focus of the keyboard away.
    for (const control of [step, finish]) control.setAttribute("aria-disabled", this.ended);
    for (const control of [back, restart]) control.setAttribute("aria-disabled", this.count === 0);
    this.show(this);
    this.maps.update(this.outputs ?? await this.decoding.look(), this.labels(this));
    if (this.outputs) this.cache.update(this.outputs);
    else this.cache.clear();
    this.changes.textContent = this.#changes();
    this.state.textContent = this.tell(this);
  }

  #changes() {
    if (!this.before) return "Each step adds one row of keys and one of values to each block.";
    const change = Math.max(...["cache_keys", "cache_values"].map(
      name => largestChange(this.before[name], this.outputs[name])));
    const told = `In this step the earlier rows changed by at most ${change.toFixed(4)}.`;
    return told + (change < 1e-4 ? " They can be kept: a cache is right."
      : " Earlier steps saw the new one, so that their rows changed: a cache would be wrong.");
  }
}
