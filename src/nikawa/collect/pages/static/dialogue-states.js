// The states of a dialogue that others wrote: read it, and mark what the user has asked for by each turn.
import { make, messages, settings, start } from "./form.js";
import { fields, problemPlace } from "./parts.js";
import { entriesIn, stateBoard } from "./states.js";

const { question } = settings;
let turns = [];
let users = [];
let active = 0;

const context = (k) => [turns[users[k] - 1]?.text ?? "", turns[users[k]].text].join("\n"); // the turn, and what it answers
const board = stateBoard({ offers: (k) => entriesIn(context(k)) });

function activate(k, focus = false) {
  active = Math.max(0, Math.min(users.length - 1, k));
  for (const row of fields.querySelectorAll(".turn.user")) row.classList.toggle("active", Number(row.dataset.user) === active);
  const row = fields.querySelector(".turn.active");
  if (focus) { row.focus(); row.scrollIntoView({ block: "nearest" }); }
}

function rowOf(turn, place) {
  const k = users.indexOf(place);
  const row = make("li", { class: `turn ${turn.role}`, tabIndex: -1 }, make("h3", {}, messages[`role_${turn.role}`]), make("p", { class: "text", dir: "auto" }, turn.text));
  if (k >= 0) {
    row.dataset.user = String(k);
    row.append(board.editor(k));
    row.addEventListener("focusin", () => activate(k));
    row.addEventListener("click", () => activate(k));
  }
  return row;
}

start({
  keys: [["1–9", "key_offered"], ["n p", "key_turn"]],
  show(item) {
    turns = item.inputs.turns;
    users = turns.flatMap(({ role }, place) => (role === "user" ? [place] : []));
    active = 0;
    document.getElementById("item").replaceChildren(make("p", { class: "text" }, `${messages.dialogue}: ${turns.length}`));
    document.getElementById("item").hidden = true;
  },
  fill(answer, item, fresh) {
    const given = (fresh ? item.inputs.states : answer[question]) ?? [];
    board.reset(users.map((_, k) => given[k] ?? []));
    fields.replaceChildren(make("ol", { class: "turns", "data-where": question, "aria-label": messages.dialogue }, ...turns.map(rowOf)), problemPlace(question));
    activate(0);
  },
  filled: ({ inputs }) => Boolean(inputs.states),
  read: () => ({ [question]: board.get() }),
  key({ key }) {
    if (key === "n" || key === "p") { activate(active + (key === "n" ? 1 : -1), true); return true; }
    return /^[1-9]$/.test(key) && board.press(active, Number(key) - 1);
  },
});
