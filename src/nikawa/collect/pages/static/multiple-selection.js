// Multiple selection: check boxes; a label of `alone` removes the others, and they remove it.
import { changed, make, messages, nameOf, say, settings, start, tell } from "./form.js";
import { fields, problemPlace, showTexts } from "./parts.js";

const { question, labels, alone } = settings;
const most = settings.at_most || labels.length;
let boxes = [];

const chosen = () => labels.filter((_, place) => boxes[place].checked);

function toggled(place) {
  const label = labels[place];
  if (boxes[place].checked) {
    boxes.forEach((box, other) => {
      if (other !== place && (alone.includes(label) || alone.includes(labels[other]))) box.checked = false;
    });
    if (chosen().length > most) {
      boxes[place].checked = false;
      tell(say("select_most", { most }));
      return;
    }
  }
  changed();
  tell(chosen().map(nameOf).join(", ") || messages.select_none);
}

start({
  keys: [["1–9", "key_toggle"]],
  show(item) {
    showTexts(item.inputs);
    boxes = labels.map((label, place) => make("input", { type: "checkbox", name: `q-${question}`, value: String(place) }));
    const entries = labels.map((label, place) => {
      boxes[place].addEventListener("change", () => toggled(place));
      return make("label", { class: "choice" }, boxes[place], make("kbd", { "aria-hidden": "true" }, place < 9 ? String(place + 1) : ""),
        make("span", { dir: "auto" }, nameOf(label)));
    });
    fields.replaceChildren(make("fieldset", { class: "many", "data-where": question, "aria-describedby": `problem-${question}` },
      make("legend", { class: "unseen" }, document.getElementById("prompt").textContent),
      make("div", { class: "choices" }, ...entries), problemPlace(question)));
  },
  fill(answer) {
    const given = Array.isArray(answer[question]) ? answer[question] : [];
    boxes.forEach((box, place) => { box.checked = given.includes(labels[place]); });
  },
  read: () => ({ [question]: chosen() }),
  key(event) {
    const place = Number(event.key) - 1;
    if (event.key.length !== 1 || !(place in boxes)) return false;
    boxes[place].checked = !boxes[place].checked;
    boxes[place].focus();
    toggled(place);
    return true;
  },
});
