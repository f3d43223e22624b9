// A chart of a series and its forecast, in SVG.

import {s} from "./elements.js";

const HEIGHT = 260, LEFT = 44, BOTTOM = 24;

export class Chart {
  /** count: number of steps on the horizontal axis. range: lowest and highest value. */
  constructor({count, range, name, tick}) {
    // Letters keep their size on a phone, where the chart is narrow.
    this.width = window.innerWidth < 600 ? 360 : 720;
    Object.assign(this, {count, range, tick});
    this.element = s("svg", {viewBox: `0 0 ${this.width} ${HEIGHT}`, class: "x-chart", role: "img",
      "aria-label": name});
  }

  x(step) { return LEFT + (this.width - LEFT - 8) * step / Math.max(1, this.count - 1); }

  y(value) {
    const [low, high] = this.range;
    return 8 + (HEIGHT - BOTTOM - 16) * (high - value) / (high - low);
  }

  /** The step and the value at a place of the pointer. */
  at(event) {
    const box = this.element.getBoundingClientRect();
    const x = (event.clientX - box.left) * this.width / box.width;
    const y = (event.clientY - box.top) * HEIGHT / box.height;
    const [low, high] = this.range;
    return {
      step: Math.round((x - LEFT) / (this.width - LEFT - 8) * (this.count - 1)),
      value: high - (y - 8) / (HEIGHT - BOTTOM - 16) * (high - low),
    };
  }

  /** Axes with a label at each step for which `tick` has one, then the given elements. */
  draw(...shapes) {
    const [low, high] = this.range;
    const parts = [];
    const unit = 10 ** Math.floor(Math.log10((high - low) / 3 || 1));
    const gap = [1, 2, 5, 10].map(k => k * unit).find(k => (high - low) / k <= 6);
    for (let value = Math.ceil(low / gap) * gap; value <= high; value += gap) {
      parts.push(s("line", {x1: LEFT, x2: this.width - 8, y1: this.y(value), y2: this.y(value), class: "x-grid"}),
        text(LEFT - 5, this.y(value) + 4, Number(value.toPrecision(6)), "end"));
    }
    for (let step = 0; step < this.count; step++) {
      const label = this.tick(step);
      if (label) parts.push(text(this.x(step), HEIGHT - 8, label, "middle"),
        s("line", {x1: this.x(step), x2: this.x(step), y1: HEIGHT - BOTTOM, y2: 8, class: "x-grid"}));
    }
    this.element.replaceChildren(...parts, ...shapes);
  }

  /** A line through values from a step on; null is a gap. */
  line(values, first, style) {
    let path = "", pen = "M";
    values.forEach((value, i) => {
      if (value === null || Number.isNaN(value)) { pen = "M"; return; }
      path += `${pen}${this.x(first + i).toFixed(1)} ${this.y(value).toFixed(1)}`;
      pen = "L";
    });
    return s("path", {d: path, class: style});
  }

  /** The area between two lines from a step on. */
  band(low, high, first) {
    const points = [...high.map((value, i) => [first + i, value]),
      ...low.map((value, i) => [first + i, value]).reverse()];
    const path = points.map(([step, value]) =>
      `${this.x(step).toFixed(1)} ${this.y(value).toFixed(1)}`).join("L");
    return s("path", {d: `M${path}Z`, class: "x-band"});
  }

  dot(step, value, radius, style) {
    return s("circle", {cx: this.x(step), cy: this.y(value), r: radius, class: style});
  }
}

function text(x, y, content, anchor) {
  const element = s("text", {x, y, "text-anchor": anchor});
  element.textContent = content;
  return element;
}
