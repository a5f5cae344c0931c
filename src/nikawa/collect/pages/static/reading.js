// Questions of given types on a passage, each with its answer marked in it, and how much of each is copied.
import { changed, make, messages, nameOf, say, settings, start, tell } from "./form.js";
import { copied } from "./copied.js";
import { answerBox, placeOf, showPassage } from "./passage.js";
import { fields, line, whenEntered } from "./parts.js";

const { question, most_copied: most } = settings;
let blocks = [];
let active = 0;
let passage = null;
let context = "";

const percent = (share) => Math.round(100 * share);

function meter(place) {
  const bar = make("meter", { min: "0", max: "1", high: String(Math.max(0.01, most)), "aria-hidden": "true" });
  const words = make("span", { class: "hint", id: `copied-${place}` });
  return {
    element: make("p", { class: "copied" }, bar, words),
    set(share) {
      bar.value = share;
      words.textContent = say("copied_share", { share: percent(share), most: percent(most) });
      words.classList.toggle("over", share > most);
    },
  };
}

function block(type, place, count) {
  const number = count > 1 ? place + 1 : "";
  const wrong = type === "unanswerable";
  const field = line(`text-${place}`, say("field", { number }).trim());
  const bar = meter(place);
  const box = answerBox(place, say(wrong ? "wrong_field" : "answer_field", { number }).trim(), messages[wrong ? "wrong_none" : "answer_none"]);
  const head = make("h3", { id: `type-${place}`, class: "type" }, make("b", {}, nameOf(type)), " ", messages[`type_${type}`]);
  field.area.setAttribute("aria-describedby", `type-${place} copied-${place} ${field.area.getAttribute("aria-describedby")}`);
  const element = make("div", { class: "pair", role: "group", "aria-labelledby": `type-${place}` }, head, field.element, bar.element, box.element);
  const made = { type, field, bar, box, element, answer: null, marks: [] };
  field.area.addEventListener("input", () => { measure(made); if (blocks[active] === made) drawPassage(); });
  whenEntered(element, () => activate(place));
  return made;
}

function measure(one) {
  const { share, marks } = copied(one.field.get(), context);
  one.marks = marks;
  one.bar.set(share);
}

function activate(place) {
  if (active === place) return;
  active = place;
  draw();
}

const drawPassage = () => passage.show(blocks[active].answer, blocks[active].marks);

function draw() {
  blocks.forEach((one, place) => {
    one.element.classList.toggle("active", blocks.length > 1 && place === active);
    one.box.set(one.answer?.text);
  });
  drawPassage();
}

function pick(start, end, text) {
  if (start >= end) return;
  blocks[active].answer = { text, start };
  blocks[active].box.set(text);
  tell(text);
  changed();
}

start({
  live: true,
  keys: [["← →", "key_move"], ["Shift+→", "key_select"], ["Enter", "key_write"]],
  show({ inputs }) {
    context = inputs.context;
    active = 0;
    passage = showPassage(inputs, ["title", "context"], {
      pick,
      left: drawPassage,
      touch: (_, char) => tell(char),
      key(event) {
        if (event.key !== "Enter" || event.ctrlKey) return false;
        blocks[active].field.area.focus();
        return true;
      },
    });
    blocks = inputs.types.map((type, place) => block(type, place, inputs.types.length));
    fields.replaceChildren(...blocks.map(({ element }) => element));
  },
  fill(answer) {
    const given = answer[question] ?? [];
    blocks.forEach((one, place) => {
      const found = given[place] ?? {};
      one.field.set(found.question);
      one.answer = found.answer ? { text: found.answer, start: found.start ?? placeOf(context, found.answer) } : null;
      measure(one);
    });
    draw();
  },
  read() {
    const one = ({ type, field, answer }) => ({ type, question: field.get(), ...(answer ? { answer: answer.text, start: answer.start } : { answer: "" }) });
    return { [question]: blocks.map(one) };
  },
});
