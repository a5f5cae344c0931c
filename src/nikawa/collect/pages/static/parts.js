// Parts of forms: texts of an item, groups of choices, fields to write in.
import { LONG, changed, make, messages, nameOf, say, settings, submit } from "./form.js";
import { marked } from "./marks.js";
import { problemPlace } from "./problems.js";

export { problemPlace };

const item = document.getElementById("item");
export const fields = document.getElementById("fields");

export function inputName(name) {
  return settings.names?.[name] ?? messages[`input_${name}`] ?? name;
}

// The spans of a text as marks that bear the names of their labels; a label keeps its colour from item to item.
function marksOf(spans) {
  const known = [...Object.keys(settings.names ?? {}), ...spans.map(({ label }) => label).sort()];
  const kind = (label) => (["subject", "object"].includes(label) ? label : `hue-${known.indexOf(label) % 12}`);
  return spans.map(({ start, end, label }) => ({ start, end, label: nameOf(label), kind: kind(label) }));
}

function textOf(text, spans) {
  const element = make("p", { class: "text", dir: "auto" }, ...(spans?.length ? marked(text, marksOf(spans)) : [text]));
  if (text.length > LONG) { element.classList.add("long"); element.tabIndex = 0; }
  return element;
}

const listOf = (words) => make("ul", { class: "given" }, ...words.map((word) => make("li", {}, make("bdi", {}, word))));

// Texts and lists of an item, each under its name where there are several; spans are drawn into the text they belong to.
export function showTexts(inputs, names = Object.keys(inputs)) {
  const lists = (name) => Array.isArray(inputs[name]) && inputs[name].length && inputs[name].every((one) => typeof one === "string");
  const shown = names.filter((name) => typeof inputs[name] === "string" || (!["choices", "candidates"].includes(name) && lists(name)));
  item.replaceChildren(...shown.map((name) => {
    const content = typeof inputs[name] === "string" ? textOf(inputs[name], name === "text" ? inputs.spans : null) : listOf(inputs[name]);
    const title = shown.length > 1 || ["title", "source"].includes(name) || Array.isArray(inputs[name]) ? [make("h3", {}, inputName(name))] : [];
    return make("div", { class: `block block-${name}` }, ...title, content);
  }));
  return item;
}

export function showChoices(inputs) {
  const entries = inputs.choices.map((choice) => {
    const right = choice === inputs.answer;
    return make("li", { class: right ? "right" : undefined }, make("bdi", {}, choice), right ? ` (${messages.right_choice})` : "");
  });
  item.append(make("div", { class: "block" }, make("h3", {}, inputName("choices")), make("ul", { class: "given" }, ...entries)));
}

// A group of radio buttons; `entries` are { value, name, key, said? }, the last for screen readers, where it is not the name. Gives { element, get, set, press }.
export function radios(question, legend, entries, quick = false) {
  const inputs = entries.map(() => null);
  const labels = entries.map((entry, place) => {
    inputs[place] = make("input", { type: "radio", name: `q-${question}`, value: String(place), "aria-label": entry.said });
    const label = make("label", { class: "choice" }, inputs[place],
      make("kbd", { "aria-hidden": "true" }, entry.key ?? ""), make("span", { dir: "auto" }, entry.name));
    if (quick) label.addEventListener("click", (event) => { if (event.detail === 1) setTimeout(submit); }); // not by a key, nor by the second half of a double click
    return label;
  });
  const element = make("fieldset", { "data-where": question, "aria-describedby": `problem-${question}` },
    make("legend", { class: legend ? "" : "unseen" }, legend || document.getElementById("prompt").textContent),
    make("div", { class: "choices" }, ...labels), problemPlace(question));
  element.addEventListener("change", changed);
  return {
    element,
    get() { const place = inputs.findIndex((input) => input.checked); return place < 0 ? null : entries[place].value; },
    set(value) { inputs.forEach((input, place) => { input.checked = entries[place].value === value; }); },
    press(key) {
      const place = entries.findIndex((entry) => entry.key === key);
      if (place < 0) return false;
      inputs[place].checked = true;
      inputs[place].focus();
      changed();
      if (quick) submit();
      return true;
    },
  };
}

export const digits = (labels, from = 1) => labels.map((label, place) => ({
  value: label, name: nameOf(label), key: place + from <= 9 ? String(place + from) : "",
}));

// A field for one line of text: Enter goes to the next field and after the last submits. With `lines`, Enter makes a new line.
export function line(where, legend, rows = 2, lines = false) {
  const area = make("textarea", { id: `field-${where}`, rows: String(rows), "data-where": where, maxlength: "2000",
    "aria-describedby": `problem-${where} count-${where}`, enterkeyhint: lines ? "enter" : "next", dir: "auto", spellcheck: "true" });
  const count = make("span", { class: "count", id: `count-${where}` });
  const counted = () => { count.textContent = say("characters", { count: [...area.value.trim()].length }); };
  area.addEventListener("input", () => {
    if (!lines && /[\r\n]/.test(area.value)) area.value = area.value.replace(/\s*[\r\n]+\s*/g, " ");
    counted();
    changed();
  });
  area.addEventListener("keydown", (event) => {
    if (lines || event.key !== "Enter" || event.isComposing || event.keyCode === 229 || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    if (event.repeat) return;
    const all = [...fields.querySelectorAll("textarea")];
    const next = all[all.indexOf(area) + 1];
    if (next) next.focus(); else submit();
  });
  const head = make("div", { class: "head" }, make("label", { for: `field-${where}` }, legend), count);
  counted();
  return { element: make("div", { class: "field" }, head, area, problemPlace(where)), area,
    get: () => area.value.trim(), set(value) { area.value = typeof value === "string" ? value : ""; counted(); } };
}

let backwards = false; // whether the focus moves by Shift+Tab
document.addEventListener("keydown", (event) => { backwards = event.key === "Tab" && event.shiftKey; }, true);
document.addEventListener("pointerdown", () => { backwards = false; }, true);

// Runs when a worker turns to a part of the answer. The way back to the passage by Shift+Tab leads through earlier parts, which does not count.
export function whenEntered(element, run) {
  element.addEventListener("focusin", () => { if (!backwards) run(); });
  for (const event of ["click", "input"]) element.addEventListener(event, run);
}
