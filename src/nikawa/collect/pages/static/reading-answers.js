// The answer to a question, marked in the passage, or that the passage has none.
import { changed, make, messages, settings, start, tell } from "./form.js";
import { answerBox, showPassage } from "./passage.js";
import { fields } from "./parts.js";

const { question } = settings;
const NONE = { text: "", start: -1 };
let passage = null;
let box = null;
let none = null;
let answer = null;

function draw() {
  none.setAttribute("aria-pressed", String(answer !== null && !answer.text));
  box.set(answer && !answer.text ? messages.no_answer : answer?.text);
  passage.show(answer);
}

function choose(value, words) {
  answer = value;
  none.setAttribute("aria-pressed", String(!value.text));
  box.set(words);
  if (!value.text) { getSelection().removeAllRanges(); passage.show(answer); }
  tell(words);
  changed();
}

start({
  keys: [["← →", "key_move"], ["Shift+→", "key_select"], ["n", "key_none"]],
  show({ inputs }) {
    answer = null;
    passage = showPassage(inputs, ["question", "title", "context"], {
      pick(start, end, text) { if (start < end) choose({ text, start }, text); },
      left: () => passage.show(answer),
      touch: (_, char) => tell(char),
    });
    box = answerBox(0, messages.answer_field, messages.answer_none);
    none = make("button", { type: "button", class: "choice", "aria-keyshortcuts": "n", "aria-pressed": "false" },
      make("kbd", { "aria-hidden": "true" }, "n"), make("span", {}, messages.no_answer));
    none.addEventListener("click", () => choose({ ...NONE }, messages.no_answer));
    fields.replaceChildren(box.element, make("div", { class: "field" }, none));
  },
  fill(given) {
    const value = given[question];
    answer = typeof value?.text === "string" ? { text: value.text, start: value.start } : null;
    draw();
  },
  read: () => (answer === null ? {} : { [question]: answer }),
  key(event) {
    if (event.key !== "n") return false;
    choose({ ...NONE }, messages.no_answer);
    return true;
  },
});
