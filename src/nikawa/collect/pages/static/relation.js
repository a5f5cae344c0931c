// Relation of two marked entities: few candidates first, all on request.
import { LONG, make, messages, nameOf, say, settings, start, tell } from "./form.js";
import { digits, fields, inputName, radios } from "./parts.js";
import { marked } from "./marks.js";

const { question, labels, quick } = settings;
const place = document.getElementById("item");
let group = null;
let all = false;
let shown = [];

const part = (inputs, name) => [...inputs.text].slice(inputs[name].start, inputs[name].end).join("");

function entities({ inputs }) {
  const marks = ["subject", "object"].map((name) => ({ ...inputs[name], label: inputName(name), kind: name }));
  const text = make("p", { class: "text", dir: "auto" }, ...marked(inputs.text, marks));
  if (inputs.text.length > LONG) { text.classList.add("long"); text.tabIndex = 0; }
  place.replaceChildren(text);
}

function draw(keep) {
  group = radios(question, "", digits(shown), quick);
  group.element.classList.add("many");
  const parts = [group.element];
  if (!all && shown.length < labels.length) parts.push(expander());
  if (all && labels.length > 12) parts.unshift(filter());
  fields.replaceChildren(...parts);
  group.set(keep);
}

function expander() {
  const button = make("button", { type: "button", id: "show-all", "aria-keyshortcuts": "a" }, messages.show_all, " ",
    make("kbd", { "aria-hidden": "true" }, "a"));
  button.addEventListener("click", expand);
  return button;
}

function filter() {
  const input = make("input", { type: "search", id: "filter", autocomplete: "off" });
  input.addEventListener("input", () => {
    const wanted = input.value.trim().toLowerCase();
    const entries = [...group.element.querySelectorAll(".choice")];
    entries.forEach((entry, n) => {
      entry.hidden = !`${shown[n]} ${nameOf(shown[n])}`.toLowerCase().includes(wanted);
    });
    tell(say("filter_count", { count: entries.filter((entry) => !entry.hidden).length }));
  });
  return make("div", { class: "field" }, make("label", { for: "filter" }, messages.filter), input);
}

function expand() {
  if (all) return;
  const keep = group.get();
  all = true;
  shown = labels;
  draw(keep);
  (document.getElementById("filter") ?? group.element.querySelector("input")).focus();
}

start({
  keys: [["1–9", "key_choose"], ["a", "key_all"]],
  values: ({ inputs }) => ({ subject: part(inputs, "subject"), object: part(inputs, "object") }),
  show(item) {
    entities(item);
    shown = item.inputs.candidates;
    all = shown.length >= labels.length;
    draw(null);
  },
  fill(answer) {
    if (answer[question] && !shown.includes(answer[question])) { all = true; shown = labels; draw(null); }
    group.set(answer[question]);
  },
  read() { const value = group.get(); return value === null ? {} : { [question]: value }; },
  key(event) {
    if (event.key === "a" && !all) { expand(); return true; }
    return event.key.length === 1 && group.press(event.key);
  },
});
