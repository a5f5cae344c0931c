// The goal of a dialogue: its sentences, each with whether it has been said.
import { make, messages, settings } from "./form.js";
import { inputName } from "./parts.js";
import { nameSlot, split } from "./states.js";

// showGoal(inputs): { draw(state), answer(open), open(state), fits(entry), concerns(slot) } of the goal that it shows.
export function showGoal({ goal, constraints, asks }) {
  const marks = goal.map((_, place) => ([...constraints, ...asks].some(({ sentence }) => sentence === place) ? make("span", { class: "met" }) : null));
  const list = make("ol", { class: "goal" }, ...goal.map((text, place) => make("li", {}, make("span", { dir: "auto" }, text), ...(marks[place] ? [" ", marks[place]] : []))));
  const place = document.getElementById("item");
  place.hidden = false;
  place.replaceChildren(make("h3", {}, inputName("goal")), list);
  const bySlot = new Map(constraints.map((one) => [one.slot, one]));
  const domains = new Set([...constraints, ...asks].map(({ slot }) => slot.split("-")[0]));
  let unanswered = asks.map(({ slot }) => nameSlot(slot));
  let last = [];
  const valueOf = (one, state) => one.value ?? state.map(split).find(([slot]) => slot === one.same)?.[1];
  const isMet = (one, state) => state.some((entry) => split(entry)[0] === one.slot);
  const isRight = (one, state) => isMet(one, state) && (!one.value || state.includes(`${one.slot}-${one.value}`));
  return {
    draw(state) {
      last = state;
      marks.forEach((mark, sentence) => {
        if (!mark) return;
        const met = constraints.filter((one) => one.sentence === sentence).every((one) => isRight(one, state))
          && !asks.some((one) => one.sentence === sentence && unanswered.includes(nameSlot(one.slot)));
        mark.textContent = met ? messages.goal_met : messages.goal_open;
        mark.classList.toggle("done", met);
      });
    },
    // The server knows which questions are answered: pages do not have the table.
    answer(open) { unanswered = open; this.draw(last); },
    // Entries of the goal that a state does not have yet.
    open: (state) => constraints.filter((one) => !isMet(one, state) && valueOf(one, state)).map((one) => `${one.slot}-${valueOf(one, state)}`),
    fits: (entry) => { const one = bySlot.get(split(entry)[0]); return !one || !one.value || `${one.slot}-${one.value}` === entry; },
    concerns: (slot) => bySlot.has(slot) || (domains.has(slot.split("-")[0]) && isOffer(slot)),
  };
}

function isOffer(slot) {
  const [domain, name] = slot.split("-");
  return settings.ontology.domains[domain]?.slots[name]?.kind === "offer";
}
