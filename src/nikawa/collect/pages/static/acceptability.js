// Is a sentence acceptable: its minimal pair is next to it, with the place where they differ.
import { make, messages, settings } from "./form.js";
import { choose } from "./choose.js";
import { digits, inputName, radios } from "./parts.js";
import { marked } from "./marks.js";

const { question, labels, other, quick } = settings;

function sentence(title, text, [start, end]) {
  const parts = start < end ? marked(text, [{ start, end, label: "", kind: "hue-2" }]) : [text];
  return make("div", { class: "block" }, make("h3", {}, title), make("p", { class: "text", dir: "auto" }, ...parts));
}

// Both sentences in place of the plain ones.
function showPair({ text, other: second, difference }) {
  const title = (name, alone, both) => settings.names?.[name] ?? messages[other ? both : alone] ?? inputName(name);
  const pair = make("div", { class: "columns" }, sentence(title("text", "to_judge", "title_label"), text, difference.text),
    sentence(title("other", "to_compare", "title_other"), second, difference.other));
  const item = document.getElementById("item");
  for (const name of ["text", "other"]) item.querySelector(`.block-${name}`).remove();
  item.append(pair);
}

const isPair = (inputs) => typeof inputs.other === "string";

choose(({ inputs }) => {
  if (isPair(inputs)) showPair(inputs);
  const both = isPair(inputs) && other;
  const first = { question, group: radios(question, both ? messages.title_label : "", digits(labels), quick && !both) };
  if (!both) return [first];
  return [first, { question: "other", group: radios("other", messages.title_other, digits(labels, labels.length + 1)) }];
}, { prompt: ({ inputs }) => (isPair(inputs) && other ? "prompt_both" : "prompt") });
