// Forms in which sentences or words are written, with the rules checked by the server while the worker types.
import { nameOf, say, settings, start } from "./collect.js";
import { fields, line, showChoices, showTexts } from "./parts.js";

const single = document.getElementById("work").dataset.form === "concept-question";
const short = document.getElementById("work").dataset.form === "distractors";
const { question, labels, texts } = settings;
let lines = [];

function legends() {
  if (labels) return labels.map(nameOf);
  const count = single ? 1 : texts;
  return Array.from({ length: count }, (_, place) => say("field", { number: place + 1 }));
}

start({
  live: true,
  keys: [["Enter", "key_next"]],
  show({ inputs }) {
    const { answer, ...shown } = inputs; // the right choice is told in the list
    showTexts(shown);
    if (inputs.choices) showChoices({ ...inputs, answer });
    lines = legends().map((legend, place) => line(`text-${place}`, legend, short ? 1 : 2));
    fields.replaceChildren(...lines.map(({ element }) => element));
  },
  fill(answer) {
    const given = single ? [answer[question]] : answer[question] ?? [];
    lines.forEach((field, place) => field.set(given[place]));
  },
  read() {
    const given = lines.map((field) => field.get());
    return { [question]: single ? given[0] : given };
  },
});

