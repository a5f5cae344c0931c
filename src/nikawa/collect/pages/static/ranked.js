// Ranked choice: press the labels in the order of how well they fit; again takes one back.
import { changed, make, messages, nameOf, say, settings, start, tell } from "./form.js";
import { fields, problemPlace, showTexts } from "./parts.js";

const { question, labels, most } = settings;
let ranking = [];
let buttons = [];

function draw() {
  buttons.forEach((button, place) => {
    const rank = ranking.indexOf(labels[place]);
    button.setAttribute("aria-pressed", String(rank >= 0));
    const badge = button.querySelector(".rank");
    badge.textContent = rank < 0 ? "" : say("rank_place", { place: rank + 1 });
  });
}

function toggle(label) {
  const place = ranking.indexOf(label);
  if (place >= 0) ranking.splice(place, 1);
  else if (ranking.length < most) ranking.push(label);
  else { tell(say("rank_most", { most })); return; }
  draw();
  changed();
  tell(ranking.map((name, rank) => `${say("rank_place", { place: rank + 1 })} ${nameOf(name)}`).join(", ") || messages.rank_none);
}

start({
  show(item) {
    showTexts(item.inputs);
    buttons = labels.map((label, place) => {
      const key = place < 9 ? String(place + 1) : "";
      const button = make("button", { type: "button", class: "choice" }, make("kbd", { "aria-hidden": "true" }, key),
        make("span", { dir: "auto" }, nameOf(label)), make("b", { class: "rank" }));
      button.addEventListener("click", () => toggle(label));
      return button;
    });
    fields.replaceChildren(make("div", { class: "choices ranked", role: "group", "aria-labelledby": "prompt", "data-where": question },
      ...buttons), problemPlace(question));
  },
  fill(answer) {
    ranking = Array.isArray(answer[question]) ? answer[question].filter((label) => labels.includes(label)) : [];
    draw();
  },
  read: () => ({ [question]: [...ranking] }),
  key(event) {
    const place = Number(event.key) - 1;
    if (event.key.length !== 1 || !(place in buttons)) return false;
    toggle(labels[place]);
    return true;
  },
});
