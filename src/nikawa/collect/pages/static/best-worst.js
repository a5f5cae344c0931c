// Best-worst scaling: of a few texts the best and the worst. The order is drawn; the answer names the letters of the item.
import { changed, make, messages, say, settings, start, tell } from "./form.js";
import { fields, problemPlace, showTexts } from "./parts.js";
import { places } from "./places.js";

const POLES = [settings.question, "worst"];
const nameOfPole = (pole) => settings.names?.[pole] ?? (pole === "worst" ? messages.title_worst : messages.title_best);
let rows = []; // { letter, inputs } in the order of the page
const letterOf = (place) => String.fromCharCode(65 + place);

function set(pole, letter) {
  for (const row of rows) {
    row.inputs[pole].checked = row.letter === letter;
    row.element.dataset.pole = POLES.find((one) => row.inputs[one].checked) ?? "";
  }
}

const get = (pole) => rows.find((row) => row.inputs[pole].checked)?.letter ?? null;

// One text is not both: the other pole gives way.
function give(pole, letter) {
  const other = POLES.find((one) => one !== pole);
  if (get(other) === letter) set(other, null);
  set(pole, letter);
  changed();
}

function rowOf(text, letter, place) {
  const row = { letter, inputs: {} };
  const poles = POLES.map((pole) => {
    const input = make("input", { type: "radio", name: `q-${pole}`, value: letter, "aria-label": say("pole", { pole: nameOfPole(pole), text }),
      "data-where": place === 0 ? pole : undefined, "aria-describedby": `problem-${pole}` });
    input.addEventListener("change", () => give(pole, letter));
    row.inputs[pole] = input;
    return make("label", { class: `choice pole pole-${pole === "worst" ? "worst" : "best"}` }, input, make("span", {}, nameOfPole(pole)));
  });
  const body = make("p", { class: "text", dir: "auto" }, make("kbd", { "aria-hidden": "true" }, place < 9 ? String(place + 1) : ""), make("span", {}, text));
  row.element = make("li", { class: "contender" }, body, make("div", { class: "poles" }, ...poles));
  rows.push(row);
  return row.element;
}

start({
  keys: [["1–9", "key_poles"]],
  show(item) {
    const { choices, ...rest } = item.inputs;
    showTexts(rest);
    document.getElementById("item").hidden = Object.keys(rest).length === 0;
    rows = [];
    const list = places(item, choices.length).map((from, place) => rowOf(choices[from], letterOf(from), place));
    fields.replaceChildren(make("fieldset", {}, make("legend", { class: "unseen" }, document.getElementById("prompt").textContent),
      make("ol", { class: "contenders" }, ...list), ...POLES.map(problemPlace)));
  },
  fill(answer) { for (const pole of POLES) set(pole, answer[pole] ?? null); },
  read: () => Object.fromEntries(POLES.map((pole) => [pole, get(pole)]).filter(([, letter]) => letter !== null)),
  key(event) {
    const row = event.key.length === 1 ? rows[Number(event.key) - 1] : undefined;
    if (!row) return false;
    const taken = POLES.find((pole) => get(pole) === row.letter);
    const pole = taken ?? POLES.find((one) => get(one) === null) ?? "worst";
    if (taken) { set(taken, null); changed(); } else give(pole, row.letter);
    tell(POLES.filter(get).map((one) => say("pole", { pole: nameOfPole(one), text: choiceText(get(one)) })).join(" "));
    return true;
  },
});

function choiceText(letter) {
  return rows.find((row) => row.letter === letter).element.querySelector(".text span").textContent;
}
