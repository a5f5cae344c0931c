// Stretches of characters with labels, starting from those made before.
import { changed, make, messages, nameOf, say, settings, start, tell } from "./form.js";
import { fields, problemPlace } from "./parts.js";
import { selectable, textBox } from "./marks.js";

const { question, labels } = settings;
const place = document.getElementById("item");
let spans = [];
let text = "";
let area = null;
let list = null;

const order = () => spans.sort((one, other) => one.start - other.start);
const hue = (label) => `hue-${labels.indexOf(label) % 12}`;

function draw() {
  order();
  area.show(text, spans.map(({ start: from, end, label }) => ({ start: from, end, label: nameOf(label), kind: hue(label) })));
  const rows = spans.map((span) => {
    const shown = area.slice(span.start, span.end);
    const find = make("button", { type: "button", class: "tag" }, make("bdi", {}, shown), " ",
      make("b", { class: `mark-${hue(span.label)}` }, nameOf(span.label)));
    find.addEventListener("click", () => area.select(span.start, span.end));
    const remove = make("button", { type: "button", class: "remove", "aria-label": say("tag_remove", { text: shown }) }, "×");
    remove.addEventListener("click", () => drop(span));
    return make("li", {}, find, remove);
  });
  list.replaceChildren(...(rows.length ? rows : [make("li", { class: "empty" }, messages.tags_none)]));
}

function drop(span) {
  spans = spans.filter((one) => one !== span);
  draw();
  changed();
  tell(say("tag_removed", { text: area.slice(span.start, span.end) }));
}

// A label on what is selected; on a stretch that has it already it is taken away. Overlapping spans give way.
function tag(label) {
  const { start: from, end } = area.range();
  if (from >= end) { tell(messages.select_first); return; }
  const same = spans.find((span) => span.start === from && span.end === end && span.label === label);
  if (same) { drop(same); return; }
  spans = spans.filter((span) => span.end <= from || end <= span.start);
  spans.push({ start: from, end, label });
  area.drop();
  draw();
  changed();
  tell(say("tag_added", { text: area.slice(from, end), label: nameOf(label) }));
}

function touched(at) {
  const found = spans.find((span) => span.start <= at && at < span.end);
  if (found) area.select(found.start, found.end);
}

function removeHere() {
  const { start: from } = area.range();
  const found = spans.find((span) => span.start <= from && from < span.end) ?? spans.find((span) => span.end === from);
  if (found) drop(found);
}

function jump(back) {
  const { start: from, end } = area.range();
  const found = back ? spans.findLast((span) => span.end <= from) : spans.find((span) => span.start >= end);
  if (!found) return;
  area.select(found.start, found.end);
  tell(`${area.slice(found.start, found.end)} ${nameOf(found.label)}`);
}

function key(event) {
  const n = Number(event.key) - 1;
  if (event.key.length === 1 && n in labels) { tag(labels[n]); return true; }
  if (event.key === "Delete" || event.key === "Backspace") { removeHere(); return true; }
  if (event.key === "n" || event.key === "p") { jump(event.key === "p"); return true; }
  return false;
}

function buttons() {
  return labels.map((label, n) => {
    const button = make("button", { type: "button", class: `choice mark-${hue(label)}` },
      make("kbd", { "aria-hidden": "true" }, n < 9 ? String(n + 1) : ""), nameOf(label));
    button.addEventListener("pointerdown", (event) => event.preventDefault()); // keeps what is selected
    button.addEventListener("mousedown", (event) => event.preventDefault());
    button.addEventListener("click", () => tag(label));
    return button;
  });
}

start({
  keys: [["← →", "key_move"], ["Shift+→", "key_select"], ["1–9", "key_tag"], ["Delete", "key_remove"], ["n p", "key_jump"]],
  show(item) {
    text = item.inputs.text;
    const host = textBox(messages.input_text);
    area = selectable(host, {
      pick: (from, end, chosen) => tell(chosen), touch: (_, char) => tell(char), click: touched,
    });
    list = make("ul", { class: "tags" });
    place.replaceChildren(host);
    fields.replaceChildren(
      make("div", { class: "choices palette", role: "group", "aria-label": messages.labels }, ...buttons()),
      make("h3", { id: "tags-heading" }, messages.tags), list, problemPlace(question));
    list.setAttribute("aria-labelledby", "tags-heading");
  },
  fill(answer, item, fresh) {
    spans = (fresh ? item.inputs.spans : answer[question] ?? []).map((span) => ({ ...span }));
    draw();
  },
  filled: () => true, // no tag at all is an answer too
  read: () => ({ [question]: order().map(({ start: from, end, label }) => ({ start: from, end, label })) }),
  key,
});
