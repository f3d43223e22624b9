// Numbers in words: a token model translates them from English to French.

import {draw, probabilities, randomNumbers, wordsOf} from "./decoding.js";
import {button, field, h} from "./elements.js";
import {facts, openModel} from "./models.js";
import {Player} from "./player.js";

const WORDS = 10, START = 1, END = 2, SHOWN = 5;

export async function start(place) {
  const {english, french} = (await facts).numbers;
  let number = 97, temperature = 0, seed = 1;
  let words, shares, random;
  const sentences = h("div", {class: "x-words"});
  const chances = h("div", {});
  const fault = h("p", {class: "x-fault", role: "alert"});
  const shown = tokens => tokens.map(token => french[token]);
  const player = new Player({
    model: await openModel("numbers"),
    numSteps: WORDS,
    begin: () => {
      words = [...wordsOf(number), "<eos>"];
      random = randomNumbers(seed);
      return {
        type: "int32",
        source: words.map(word => english.indexOf(word)),
        first: [START],
        pick: ([logits]) => {
          shares = probabilities(logits, temperature);
          return [draw(shares, random())];
        },
      };
    },
    isOver: picked => picked.at(-1) === END,
    show: ({count, decoding}) => {
      const chips = list => h("span", {class: "x-chips"}, list.map(word => h("span", {}, word)));
      sentences.replaceChildren(
        h("p", {}, h("span", {class: "x-label"}, "English"), chips(words)),
        h("p", {}, h("span", {class: "x-label"}, "French"), chips(shown(decoding.picked))));
      chances.replaceChildren(count ? chanceTable(shares, french, decoding.picked.at(-1)) : "");
    },
    labels: ({decoding}) => ({source: words, decoder: ["<bos>", ...shown(decoding.picked)]}),
    tell: ({count, decoding}) => {
      if (!count) return "No word is generated yet.";
      const word = french[decoding.picked.at(-1)];
      const share = (100 * shares[decoding.picked.at(-1)]).toFixed(1);
      return `Word ${count}: ${word}, with a probability of ${share} %.`;
    },
  });
  const chosen = field("Number, 0 to 999",
    {type: "number", min: 0, max: 999, step: 1, value: number}, value => {
      const isRight = Number.isInteger(value) && value >= 0 && value <= 999;
      fault.textContent = isRight ? ""
        : `A whole number from 0 to 999 is expected, not ${chosen.input.value || "this"}.`;
      if (isRight) {
        number = value;
        player.queue(() => player.restart());
      }
    });
  const heat = field("Temperature", {type: "range", min: 0, max: 5, step: 0.1, value: 0},
    value => { temperature = value; player.queue(() => player.repeat()); });
  player.toolbar.append(button("Other random numbers", () => { seed += 1; player.queue(() => player.repeat()); }));
  place.replaceChildren(h("div", {class: "x-toolbar"}, chosen.label, heat.label), fault,
    player.toolbar, player.boxes, player.state, sentences, chances, player.attention, player.memory);
  await player.restart();
  return player;
}

/** The most probable words of a step, with the chosen one marked. */
function chanceTable(shares, french, chosen) {
  const order = shares.map((_, i) => i).sort((a, b) => shares[b] - shares[a])
    .filter((token, place) => place < SHOWN || token === chosen);
  const row = token => h("tr", {class: token === chosen ? "x-marked" : undefined},
    h("th", {scope: "row"}, french[token] + (token === chosen ? " (chosen)" : "")),
    h("td", {}, `${(100 * shares[token]).toFixed(1)} %`),
    h("td", {"aria-hidden": "true"},
      h("span", {class: "x-bar", style: `width: ${(8 * shares[token]).toFixed(2)}rem`})));
  const head = ["word", "probability", ""].map(
    x => x ? h("th", {scope: "col"}, x) : h("td", {}));
  return h("table", {class: "x-chances"}, h("caption", {}, "Probabilities of the newest word"),
    h("thead", {}, h("tr", {}, head)), h("tbody", {}, order.map(row)));
}
