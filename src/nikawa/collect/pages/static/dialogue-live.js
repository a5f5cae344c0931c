// A dialogue that two workers write at the same time: one is the user and sees the goal, the other the agent, who searches
// the table and marks the state. A turn is kept on this device until the server has acknowledged it.
import { changed, make, messages, say, server, tell } from "./form.js";
import { fields, problemPlace } from "./parts.js";
import { clearProblems, mark, refuse } from "./problems.js";
import { searchPanel } from "./entity-search.js";
import { entriesIn, stateBoard } from "./states.js";
import { showGoal } from "./goal.js";

const WAIT = 8; // seconds for which the server holds a request for news
const SILENT = new Set(["turn_missing", "turn_short", "state_first"]); // no blame while typing
const WHERE = "turn";
const title = document.title;
const byId = (name) => document.getElementById(name);
let item = null;
let talk = null; // as the server sent it last
let epoch = 0; // of the item in hand: what belongs to an earlier one is dropped
let drawn = 0;
let goal = null;
let sending = false;
let timer = null;
let checks = 0;
let marks = null; // the state that a draft had, and the turn it was of
let searched = ""; // the state that the table was searched for
let part = {};

const roleAt = (place) => (place % 2 ? "sys" : "user");
const place = () => talk.turns.length;
const isMine = () => Boolean(talk) && (talk.role === "both" || talk.role === roleAt(place()));
const lastUser = () => Math.floor((place() - 1) / 2);
const marksState = () => isMine() && roleAt(place()) === "sys";
const board = stateBoard({ offers });

function offers(k) {
  const at = 2 * k;
  const context = `${talk?.turns[at - 1]?.text ?? ""}\n${talk?.turns[at]?.text ?? ""}`;
  if (!goal) return entriesIn(context);
  const open = goal.open(board.state(k));
  const written = entriesIn(context, (slot) => goal.concerns(slot));
  return [...open.filter((entry) => written.includes(entry)), ...written.filter((entry) => goal.fits(entry)), ...open];
}

function build() {
  const area = make("textarea", { id: "field-turn", rows: "2", "data-where": WHERE, maxlength: "2000", dir: "auto", spellcheck: "true",
    "aria-describedby": `problem-${WHERE}`, enterkeyhint: "send" });
  const label = make("label", { for: "field-turn" });
  const send = make("button", { type: "button", id: "send-turn", class: "main", "data-where": "goal" }, messages.turn_send);
  const partner = make("p", { id: "partner", class: "note", role: "status" });
  const alone = make("button", { type: "button", id: "alone", hidden: true }, messages.alone);
  const turns = make("ol", { class: "turns", role: "log", "aria-label": messages.dialogue });
  const wrong = make("ul", { class: "wrong", "aria-live": "polite" });
  const state = make("div", { class: "turn user active", hidden: true });
  const compose = make("div", { class: "turn compose" }, label, area, problemPlace(WHERE), make("p", { class: "row" }, send));
  const panel = searchPanel({ lease: () => item.lease, state: () => board.state(lastUser()), use: insert });
  if (panel) panel.element.hidden = true; // until the server has said whose turn it is
  part = { area, label, send, partner, alone, turns, wrong, state, compose, panel };
  area.addEventListener("input", typed);
  area.addEventListener("keydown", (event) => { if (isEnter(event)) { event.preventDefault(); if (!event.repeat) sendTurn(); } });
  send.addEventListener("click", sendTurn);
  alone.addEventListener("click", goAlone);
  fields.replaceChildren(turns, problemPlace("goal"), wrong, partner, alone, state, compose, ...(panel ? [panel.element] : []));
}

function isEnter(event) {
  return event.key === "Enter" && !event.isComposing && event.keyCode !== 229 && !event.ctrlKey && !event.metaKey && !event.shiftKey;
}

function typed() {
  const { area } = part;
  if (/[\r\n]/.test(area.value)) area.value = area.value.replace(/\s*[\r\n]+\s*/g, " ");
  clearProblems();
  changed();
  clearTimeout(timer);
  if (isMine() && area.value.trim()) timer = setTimeout(check, 400);
}

function insert(name) {
  const { area } = part;
  area.setRangeText(name, area.selectionStart, area.selectionEnd, "end");
  area.focus();
  typed();
}

function bodyOf(more) {
  const text = part.area.value.trim();
  return { lease: item.lease, key: server().newKey(), place: place(), text, ...(marksState() ? { state: board.state(lastUser()) } : {}), ...more };
}

const shown = (problems) => problems.map((problem) => (problem.where?.startsWith("turn-") ? { ...problem, where: WHERE } : problem));

async function check() {
  if (!isMine()) return; // the item or the turn changed while the timer ran
  const mine = ++checks;
  const reply = await server().call("turn", bodyOf({ check: true }));
  if (mine !== checks || sending || reply.status !== 200) return;
  clearProblems();
  mark(shown(reply.body.problems).filter(({ code }) => !SILENT.has(code)));
}

function sendTurn() {
  if (sending || !isMine()) { if (!sending) tell(messages.turn_theirs); return; }
  if (!part.area.value.trim()) { part.area.focus(); return; }
  deliver(bodyOf({}));
}

// The turn is stored before it is sent, so that a page that was closed sends it again with the same key.
async function deliver(body) {
  const mine = epoch;
  sending = true;
  checks += 1;
  clearTimeout(timer);
  server().kept.set("turn", body);
  part.area.readOnly = true;
  part.send.disabled = true;
  tell(messages.sending);
  const reply = await server().insist("turn", body);
  server().kept.remove("turn");
  sending = false;
  if (mine !== epoch) return;
  part.area.readOnly = false;
  part.send.disabled = !isMine();
  clearProblems();
  if (reply.status === 200) {
    if (part.area.value.trim() === body.text) part.area.value = "";
    tell(messages.turn_sent);
    changed();
  } else {
    refuse(shown(reply.body.problems ?? []), reply.body.message ?? messages.server_error);
    tell("");
  }
}

async function goAlone() {
  part.alone.disabled = true;
  const reply = await server().insist("alone", { lease: item.lease });
  part.alone.disabled = false;
  if (reply.status !== 200) tell(reply.body.message ?? messages.server_error);
  part.area.focus();
}

// Asks for news for as long as the item is in hand: each request is answered when there are some, or after a while.
async function follow(mine) {
  let wait = 0;
  while (mine === epoch) {
    const query = new URLSearchParams({ lease: item.lease, mark: talk?.mark ?? "", wait: String(wait) });
    const reply = await server().insist(`talk?${query}`);
    if (mine !== epoch) return;
    if (reply.status !== 200 || reply.body.stage !== "open") {
      epoch += 1;
      document.title = title;
      server().refresh({ over: messages.partner_over, lost: messages.seat_lost }[reply.body.stage] ?? "");
      return;
    }
    if (reply.body.mark !== talk?.mark) draw(reply.body);
    wait = WAIT;
  }
}

function draw(reply) {
  const before = talk;
  talk = reply;
  if (!before || before.role !== talk.role) drawRole();
  for (const turn of talk.turns.slice(drawn)) part.turns.append(rowOf(turn, drawn++));
  if (!before || before.turns.length !== place() || before.role !== talk.role) drawTurn(before);
  drawPartner(before);
  goal?.draw(talk.turns.findLast(({ state }) => state)?.state ?? []);
  goal?.answer(talk.open_asks);
  const list = talk.problems.map(({ message }) => make("li", { class: "problem" }, message));
  part.wrong.replaceChildren(...(list.length ? [make("li", {}, messages.misunderstood)] : []), ...list);
  if (before && drawn > before.turns.length && part.compose.contains(document.activeElement)) part.compose.scrollIntoView({ block: "nearest" });
}

function drawRole() {
  byId("prompt").textContent = messages[{ user: "prompt_user", sys: "prompt_sys", both: "prompt" }[talk.role]];
  if (talk.goal) goal = showGoal(talk.goal);
  else { goal = null; byId("item").hidden = true; byId("item").replaceChildren(); }
  const end = byId("submit");
  end.hidden = talk.role === "sys";
  end.replaceChildren(messages.dialogue_end, " ", make("kbd", { "aria-hidden": "true" }, "Ctrl+Enter"));
  byId("undo").hidden = true;
}

function rowOf({ role, text, own }, number) {
  const name = messages[`role_${role}`];
  return make("li", { class: `turn ${role}${own ? " own" : ""}` }, make("h3", {}, say("turn_of", { role: name, number: Math.floor(number / 2) + 1 })),
    make("p", { class: "text", dir: "auto" }, text), problemPlace(`turn-${number}`));
}

// Whose turn it is has changed: the field, the state to mark, and the table.
function drawTurn(before) {
  const role = roleAt(place());
  const mine = isMine();
  const number = Math.floor(place() / 2) + 1;
  part.label.textContent = say("turn_of", { role: messages[`role_${talk.role === "both" ? role : talk.role}`], number });
  part.send.disabled = !mine || sending;
  part.compose.classList.toggle("active", mine);
  part.compose.classList.toggle("sys", talk.role === "sys" || (talk.role === "both" && role === "sys"));
  part.state.hidden = !marksState();
  if (part.panel) part.panel.element.hidden = talk.role === "user" || !marksState();
  if (marksState()) {
    const states = talk.turns.filter((turn) => turn.role === "user").map(({ state }) => state);
    const carried = marks?.place === place() ? marks.state : (states.at(-2) ?? []);
    board.reset([...states.slice(0, -1).map((state) => state ?? []), carried]);
    part.state.replaceChildren(board.editor(lastUser()));
    part.panel?.follow(board.state(lastUser()));
  }
  marks = null;
  clearProblems();
  document.title = mine && document.hidden ? `● ${title}` : title;
  if (before && mine) tell(messages.turn_yours);
}

function drawPartner(before) {
  const { partner: now } = talk;
  const turn = isMine() ? messages.turn_yours : messages.turn_theirs;
  const text = { here: turn, away: messages.partner_away, none: messages.partner_none, alone: messages.alone_now }[now];
  if (part.partner.textContent !== text) part.partner.textContent = text;
  part.partner.dataset.partner = now;
  part.alone.hidden = now === "here" || now === "alone";
  if (before && now === "here" && before.partner !== "here") tell(messages.partner_here);
}

document.addEventListener("visibilitychange", () => { if (!document.hidden) document.title = title; });

export const live = {
  keys: [["Enter", "key_send"], ["1–9", "key_offered"]],
  show(given) {
    item = given;
    talk = null;
    drawn = 0;
    epoch += 1;
    clearTimeout(timer);
    build();
    byId("prompt").textContent = messages.prompt_wait;
    part.send.disabled = true;
  },
  fill(answer) {
    part.area.value = answer.text ?? "";
    marks = answer.state ? answer : null;
    const pending = server().kept.get("turn");
    if (pending?.lease === item.lease && !sending) { part.area.value = pending.text; deliver(pending); } else server().kept.remove("turn");
    follow(epoch);
  },
  read() {
    if (!talk || !marksState()) return { text: part.area.value };
    const state = board.state(lastUser());
    if (String(state) !== searched) { searched = String(state); part.panel?.soon(); }
    return { text: part.area.value, place: place(), state };
  },
  ends() {
    if (!talk || talk.role === "sys") return false;
    if (!part.area.value.trim()) return true;
    refuse([{ where: WHERE, message: messages.turn_unsent }], messages.turn_unsent);
    return false;
  },
  key({ key }) { return /^[1-9]$/.test(key) && Boolean(talk) && marksState() && board.press(lastUser(), Number(key) - 1); },
};
