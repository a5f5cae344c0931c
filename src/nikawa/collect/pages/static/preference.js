// Which of two texts is better, by how much, and why. The place of the texts is drawn; the answer names the inputs.
import { changed, make, messages, nameOf, say, settings, start } from "./form.js";
import { fields, inputName, problemPlace, radios, showTexts } from "./parts.js";
import { places } from "./places.js";

const SIDES = ["a", "b"];
const { question, ties, by, steps, why, reasons } = settings;
const degrees = !by ? [[1, 2]] : steps === 2 ? [[2, 3], [1, 1]] : [[3, 3], [2, 2], [1, 1]]; // the step, and its wording
let group = null;
let chosen = [];
let buttons = [];

// From the first text far ahead to the second far ahead; `better` and `by` are one choice.
function entries([first, second]) {
  const title = (place) => messages[`text_${place + 1}`];
  const side = (name, place, [step, wording]) => ({ value: `${name} ${by ? step : ""}`, name: say(`prefer_${wording}`, { text: title(place) }) });
  const rows = [...degrees.map((degree) => side(first, 0, degree)), ...(ties ? [{ value: "tie 0", name: messages.about_equal }] : []),
    ...degrees.toReversed().map((degree) => side(second, 1, degree))];
  return rows.map((row, place) => ({ ...row, key: String(place + 1) }));
}

function draw() {
  buttons.forEach((button, place) => button.setAttribute("aria-pressed", String(chosen.includes(reasons[place]))));
}

function toggle(reason) {
  chosen = chosen.includes(reason) ? chosen.filter((one) => one !== reason) : [...chosen, reason];
  draw();
  changed();
}

function reasonButtons(from) {
  buttons = reasons.map((reason, place) => {
    const key = from + place <= 10 ? String((from + place) % 10) : "";
    return make("button", { type: "button", class: "choice", "aria-pressed": "false", onclick: () => toggle(reason) },
      make("kbd", { "aria-hidden": "true" }, key), make("span", { dir: "auto" }, nameOf(reason)));
  });
  return make("fieldset", { "data-where": "why", class: "many", "aria-describedby": "problem-why" }, make("legend", {}, messages.question_why),
    make("div", { class: "choices" }, ...buttons), problemPlace("why"));
}

const count = degrees.length * 2 + (ties ? 1 : 0);

start({
  keys: [[`1–${count}`, "key_choose"], ...(why && count < 9 ? [[`${count + 1}–${count + reasons.length > 9 ? 0 : count + reasons.length}`, "key_why"]] : [])],
  show(item) {
    const { a, b, ...rest } = item.inputs;
    const order = places(item, 2).map((place) => SIDES[place]);
    const texts = order.map((name, place) => make("div", { class: "block" }, make("h3", {}, messages[`text_${place + 1}`]),
      make("p", { class: "text", dir: "auto" }, { a, b }[name])));
    const host = showTexts(rest);
    const only = Object.keys(rest);
    if (only.length === 1 && !host.querySelector("h3")) host.firstChild.prepend(make("h3", {}, inputName(only[0])));
    host.append(make("div", { class: "columns" }, ...texts));
    group = radios(question, "", entries(order));
    group.element.append(problemPlace("by"));
    chosen = [];
    fields.replaceChildren(group.element, ...(why ? [reasonButtons(count + 1)] : []));
  },
  fill(answer) {
    const better = answer[question];
    group.set(better === undefined ? null : `${better} ${better === "tie" ? 0 : by ? answer.by : ""}`);
    chosen = why && Array.isArray(answer.why) ? answer.why.filter((reason) => reasons.includes(reason)) : [];
    draw();
  },
  read() {
    const value = group.get();
    const [better, step] = value === null ? [] : value.split(" ");
    const named = reasons.filter((reason) => chosen.includes(reason));
    return { ...(better ? { [question]: better } : {}), ...(better && by ? { by: Number(step) } : {}), ...(why && named.length ? { why: named } : {}) };
  },
  key(event) {
    if (event.key.length !== 1) return false;
    const place = (Number(event.key) || 10) - 1 - count; // 0 comes after 9
    if (event.key !== "0" && !Number(event.key)) return false;
    if (why && place in buttons && place >= 0) { toggle(reasons[place]); return true; }
    return group.press(event.key);
  },
});
