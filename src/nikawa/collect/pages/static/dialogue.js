// A dialogue with a goal: one worker writes both sides, and marks the states. Turns alternate, the user begins.
import { changed, make, messages, say, settings, start, submit } from "./form.js";
import { fields, problemPlace } from "./parts.js";
import { searchPanel } from "./entity-search.js";
import { entriesIn, stateBoard } from "./states.js";
import { showGoal } from "./goal.js";

const { question } = settings;
let item = null;
let goal = null;
let rows = []; // { role, area, element }
let list = null;
let panel = null;
let active = 0;

const textOf = (place) => rows[place]?.area.value ?? "";
const board = stateBoard({ offers });

// After a turn of the user: goals not said yet whose value is written there, other values written there or just before.
function offers(k) {
  const place = 2 * k;
  const context = `${textOf(place - 1)}\n${textOf(place)}`;
  const written = entriesIn(context, (slot) => goal.concerns(slot));
  return [...goal.open(board.state(k)).filter((entry) => written.includes(entry)), ...written.filter((entry) => goal.fits(entry)), ...goal.open(board.state(k))];
}

const roleAt = (place) => (place % 2 ? "sys" : "user");

function addRow(text = "") {
  const place = rows.length;
  const role = roleAt(place);
  const where = `turn-${place}`;
  const number = Math.floor(place / 2) + 1;
  const area = make("textarea", { id: `field-${where}`, rows: "2", "data-where": where, maxlength: "2000", dir: "auto", spellcheck: "true",
    "aria-describedby": `problem-${where}`, enterkeyhint: "next" });
  area.value = text;
  const label = make("label", { for: `field-${where}` }, say("turn_of", { role: messages[`role_${role}`], number }));
  const element = make("li", { class: `turn ${role}` }, label, area, problemPlace(where));
  rows.push({ role, area, element });
  if (role === "user") element.append(board.editor(place / 2));
  area.addEventListener("input", () => {
    if (/[\r\n]/.test(area.value)) area.value = area.value.replace(/\s*[\r\n]+\s*/g, " ");
    board.draw();
    changed();
  });
  area.addEventListener("keydown", (event) => { if (isEnter(event)) { event.preventDefault(); if (!event.repeat) next(place); } });
  element.addEventListener("focusin", () => activate(place));
  list.append(element);
}

function isEnter(event) {
  return event.key === "Enter" && !event.isComposing && event.keyCode !== 229 && !event.ctrlKey && !event.metaKey && !event.shiftKey;
}

// Enter ends a turn and begins the other's; an empty last turn submits.
function next(place) {
  if (!textOf(place).trim()) { if (place === rows.length - 1) submit(); return; }
  if (place === rows.length - 1) { addRow(); changed(); }
  rows[place + 1].area.focus();
}

function activate(place) {
  active = place;
  rows.forEach(({ element }, n) => element.classList.toggle("active", n === place || (n === place - 1 && roleAt(place) === "sys")));
  if (!panel) return;
  panel.element.hidden = roleAt(place) !== "sys";
  if (roleAt(place) === "sys") {
    if (panel.element.parentElement === rows[place].element) return; // a click on it must still find it
    rows[place].element.append(panel.element);
    panel.follow(board.state((place - 1) / 2));
  }
}

function read() {
  const states = board.get();
  const turns = rows.map(({ role, area }, place) => ({ role, text: area.value.trim(), ...(role === "user" ? { state: states[place / 2] ?? [] } : {}) }));
  while (turns.length && !turns.at(-1).text) turns.pop();
  return { [question]: { how: "self", turns } };
}

function insert(name) {
  const { area } = rows[active];
  area.setRangeText(name, area.selectionStart, area.selectionEnd, "end");
  area.focus();
  changed();
}

const self = {
  live: true,
  keys: [["Enter", "key_next"], ["1–9", "key_offered"]],
  show(given) {
    item = given;
    goal = showGoal(item.inputs);
    list = make("ol", { class: "turns", "aria-label": messages.dialogue });
    const more = make("button", { type: "button", id: "add-turn", "data-where": "goal" }, messages.turn_send);
    more.addEventListener("click", () => next(rows.length - 1));
    panel = searchPanel({ lease: () => item.lease, state: () => board.state(Math.floor((active - 1) / 2)), use: insert });
    fields.replaceChildren(list, more, problemPlace("goal"));
  },
  fill(answer) {
    const turns = answer[question]?.turns ?? [];
    rows = [];
    list.replaceChildren();
    board.reset(turns.filter(({ role }) => role === "user").map(({ state }) => state ?? []));
    for (const { text } of turns) addRow(text);
    if (rows.length % 2 === 0) addRow();
    activate(rows.length - 1);
    this.after();
  },
  after() { goal.draw(board.get().at(-1) ?? []); if (panel && !panel.element.hidden) panel.soon(); },
  read() { this.after(); return read(); },
  checked(problems) {
    if (problems.some(({ code }) => code === "answer_invalid")) return; // nothing else was looked at
    goal.answer(problems.filter(({ code }) => code === "ask_open").map(({ values }) => values.slot));
  },
  key({ key }) {
    const k = Math.floor(active / 2);
    return /^[1-9]$/.test(key) && board.press(k, Number(key) - 1);
  },
};

// On the owner's page a dialogue of two is shown as one that a worker wrote.
// Only a project with live dialogues loads their script.
const isLive = settings.mode === "live" && document.getElementById("work").dataset.base;
start(isLive ? (await import("./dialogue-live.js")).live : self);
