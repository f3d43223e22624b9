// The copy task: the model of lesson 4 repeats a sequence of random numbers.

import {normalRows} from "./decoding.js";
import {button, h, numberTable, scrolled, valueColour} from "./elements.js";
import {openModel} from "./models.js";
import {Player} from "./player.js";

const STEPS = 6, CHANNELS = 12;
const names = Array.from({length: STEPS}, (_, i) => `step ${i + 1}`);
const columns = Array.from({length: CHANNELS}, (_, i) => i + 1);

export async function start(place) {
  let seed = 1;
  let sequence = normalRows(STEPS, CHANNELS, seed);
  const tables = h("div", {class: "x-pair"});
  const error = step => player.decoding.picked[step]
    .reduce((sum, x, j) => sum + (x - sequence[step][j]) ** 2 / CHANNELS, 0);
  const table = (caption, rows, marked) => scrolled(caption, numberTable(
    {caption, corner: "", columns, names, rows, colour: valueColour, digits: 1, marked}));
  const player = new Player({
    model: await openModel("copy"),
    numSteps: STEPS,
    begin: () => ({source: sequence, first: [Array(CHANNELS).fill(0)], pick: rows => rows}),
    isOver: () => false,
    show: ({count, decoding}) => tables.replaceChildren(
      table("Sequence that the encoder reads", sequence, count - 1),
      table("Steps that the decoder has generated", decoding.picked, count - 1)),
    labels: () => ({source: names, decoder: ["start", ...names.slice(0, -1)]}),
    tell: ({count}) => count === 0 ? "No step is generated yet."
      : `Step ${count} of ${STEPS}: mean squared error ${error(count - 1).toFixed(4)}.`,
  });
  player.toolbar.append(button("New sequence", () => {
    sequence = normalRows(STEPS, CHANNELS, ++seed);
    player.queue(() => player.restart());
  }));
  place.replaceChildren(player.toolbar, player.boxes, player.state, tables, player.attention,
    player.memory);
  await player.restart();
  return player;
}
