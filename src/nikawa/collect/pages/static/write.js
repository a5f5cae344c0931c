// Forms in which sentences or words are written, with the rules checked by the server while the worker types.
// With `labels` a text each, with `texts` so many, without either one text that is the answer itself.
import { messages, nameOf, say, settings, start } from "./form.js";
import { fields, line, showChoices, showTexts } from "./parts.js";

const { question, labels, texts } = settings;
const single = !labels && !texts;
let lines = [];

function legends() {
  if (labels) return labels.map(nameOf);
  return Array.from({ length: texts ?? 1 }, (_, place) => say("field", { number: place + 1 }));
}

start({
  live: true,
  keys: [["Enter", "key_next"]],
  show({ inputs }) {
    const { answer, begun, ...shown } = inputs; // the list marks the correct choice, the field shows the draft
    showTexts(shown);
    if (inputs.choices) showChoices({ ...inputs, answer });
    const rows = inputs.choices && texts ? 1 : 2;
    lines = legends().map((legend, place) => line(`text-${place}`, legend, rows));
    fields.replaceChildren(...lines.map(({ element }) => element));
  },
  fill(answer, { inputs }, fresh) {
    const given = single ? [fresh ? inputs.begun : answer[question]] : answer[question] ?? [];
    lines.forEach((field, place) => field.set(given[place]));
  },
  prompt: ({ inputs }) => (inputs.begun && messages.prompt_begun ? "prompt_begun" : "prompt"),
  filled: ({ inputs }) => single && Boolean(inputs.begun),
  read() {
    const given = lines.map((field) => field.get());
    return { [question]: single ? given[0] : given };
  },
});
