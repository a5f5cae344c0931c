// Questions on a paragraph with their answers marked in it; without fields to write in, further answers.
import { changed, make, messages, say, settings, start, tell } from "./form.js";
import { fields, inputName, line, problemPlace, showTexts, whenEntered } from "./parts.js";
import { selectable, textBox } from "./marks.js";

const writes = document.getElementById("work").dataset.form === "write-question";
const count = writes ? settings.texts : 1;
let blocks = [];
let active = 0;
let paragraph = null;
let context = "";

const placeOf = (text) => [...context.slice(0, Math.max(0, context.indexOf(text)))].length; // if the answer does not say it

function answerBox(place) {
  const shown = make("output", { class: "answer", "data-where": `answer-${place}`, tabindex: "-1" });
  const head = make("h3", {}, say("answer_field", { number: count > 1 ? place + 1 : "" }).trim());
  return { shown, element: make("div", { class: "field" }, head, shown, problemPlace(`answer-${place}`)) };
}

function block(place) {
  const field = writes ? line(`text-${place}`, say("field", { number: count > 1 ? place + 1 : "" }).trim()) : null;
  const box = answerBox(place);
  const element = make("div", { class: "pair" }, ...(field ? [field.element] : []), box.element);
  whenEntered(element, () => activate(place));
  return { field, box, element, answer: null };
}

function activate(place) {
  if (active === place) return;
  active = place;
  draw();
}

function draw() {
  blocks.forEach((one, place) => {
    one.element.classList.toggle("active", count > 1 && place === active);
    one.box.shown.textContent = one.answer?.text ?? messages.answer_none;
    one.box.shown.classList.toggle("empty", !one.answer);
  });
  const { answer } = blocks[active];
  const marks = answer ? [{ start: answer.start, end: answer.start + [...answer.text].length, label: "", kind: "answer" }] : [];
  paragraph.show(context, marks);
}

function pick(start, end, text) {
  if (start >= end) return;
  blocks[active].answer = { text, start };
  blocks[active].box.shown.textContent = text;
  blocks[active].box.shown.classList.remove("empty");
  tell(text);
  changed();
}

function showParagraph(inputs) {
  const place = showTexts(inputs, ["question", "title", "context"]);
  const host = textBox(inputName("context"));
  const box = place.querySelector(".block-context");
  box.querySelector(".text").replaceWith(host);
  paragraph = selectable(host, {
    pick,
    left: draw,
    touch: (_, char) => tell(char),
    key(event) {
      if (event.key !== "Enter" || event.ctrlKey || !writes) return false;
      blocks[active].field.area.focus();
      return true;
    },
  });
}

start({
  live: true,
  keys: [["← →", "key_move"], ["Shift+→", "key_select"]],
  show({ inputs }) {
    context = inputs.context;
    active = 0;
    showParagraph(inputs);
    blocks = Array.from({ length: count }, (_, place) => block(place));
    fields.replaceChildren(...blocks.map(({ element }) => element));
  },
  fill(answer) {
    const given = writes ? answer[settings.question] ?? [] : [{ answer: answer[settings.question], start: answer.start }];
    blocks.forEach((one, place) => {
      const found = given[place] ?? {};
      one.field?.set(found.question);
      one.answer = found.answer ? { text: found.answer, start: found.start ?? placeOf(found.answer) } : null;
    });
    draw();
  },
  read() {
    const given = blocks.map(({ answer }) => (answer ? { answer: answer.text, start: answer.start } : { answer: "" }));
    if (writes) return { [settings.question]: given.map((one, place) => ({ question: blocks[place].field.get(), ...one })) };
    const [{ answer, start: place }] = given;
    return answer ? { [settings.question]: answer, start: place } : {};
  },
});
