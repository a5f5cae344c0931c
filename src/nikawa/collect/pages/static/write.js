// Forms in which sentences or words are written, with the rules checked by the server while the worker types.
// With `labels` a text each, with `texts` so many, without either one text that is the answer itself.
import { language, messages, nameOf, say, settings, start } from "./form.js";
import { fields, line, showChoices, showTexts } from "./parts.js";

const { question, labels, texts } = settings;
const single = !labels && !texts;
let lines = [];

const { source, source_language: from, target_language: into } = settings;
const known = (tag) => tag && tag !== "und";
const languageName = (tag) => new Intl.DisplayNames([language], { type: "language" }).of(tag);

// Each text of a translation in its language: for fonts, for screen readers, and by name.
function markLanguages(place) {
  const block = place.querySelector(`.block-${CSS.escape(source)}`);
  if (block && known(from)) block.querySelector(".text").lang = from;
  const title = block?.querySelector("h3");
  if (known(from) && title?.textContent === source) title.textContent = languageName(from);
  if (known(into)) lines[0].area.lang = into;
}

function legends() {
  if (known(into) && messages.field_in) return [say("field_in", { language: languageName(into) })];
  if (labels) return labels.map(nameOf);
  if (single && messages.field_one) return [messages.field_one];
  return Array.from({ length: texts ?? 1 }, (_, place) => say("field", { number: place + 1 }));
}

start({
  live: true,
  keys: settings.lines ? [] : [["Enter", "key_next"]],
  show({ inputs }) {
    const { answer, begun, ...shown } = inputs; // the list marks the correct choice, the field shows the draft
    const place = showTexts(shown);
    if (inputs.choices) showChoices({ ...inputs, answer });
    const rows = settings.lines ? 6 : inputs.choices && texts ? 1 : 2;
    lines = legends().map((legend, place) => line(`text-${place}`, legend, rows, settings.lines));
    fields.replaceChildren(...lines.map(({ element }) => element));
    if (into) markLanguages(place);
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
