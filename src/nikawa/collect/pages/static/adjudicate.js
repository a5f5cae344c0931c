// Disagreements: the answers side by side, and the form itself to give the right one in, with a reason. Nothing is overwritten.
import { attend, messages, promptOf } from "./form.js";
import { held, keyOf } from "./keys.js";
import { foreign, get, make, number, say, send, words } from "./owner.js";
import { clearProblems, refuse } from "./problems.js";
import { answerText } from "./answer-text.js";

const byId = (name) => document.getElementById(name);
let form = null;
let cases = [];
let current = null;
let after = "";
let busy = false;
let touched = false; // whether the answer in the form is the owner's work

// The answers given, equal ones together: { answer, sides }.
function sides(answers) {
  const found = new Map();
  for (const one of answers) {
    const key = JSON.stringify(one.answer);
    if (!found.has(key)) found.set(key, { answer: one.answer, sides: [] });
    found.get(key).sides.push(one);
  }
  return [...found.values()].sort((a, b) => b.sides.length - a.sides.length);
}

function side(one) {
  const people = one.sides.map((each) => make("li", {}, foreign(each.worker),
    each.seconds === null ? "" : ` (${say("seconds_of", { seconds: number(each.seconds) })})`,
    current.doubtful?.includes(each.worker) ? make("span", { class: "flag" }, say("flag_contradicted")) : "", each.comment ? make("q", { dir: "auto" }, each.comment) : ""));
  const take = make("button", { type: "button", class: "choice", "aria-pressed": "false", onclick: () => fill(one.answer, take) },
    make("span", { dir: "auto" }, ...answerText(one.answer, current)));
  const faults = (one.sides[0].problems ?? []).map((problem) => make("li", { class: "problem" }, problem));
  return make("div", { class: "side" }, take, make("p", { class: "count" }, say("times_given", { count: one.sides.length })),
    make("ul", {}, ...people, ...faults));
}

function press(button) {
  for (const one of byId("sides").querySelectorAll(".choice")) one.setAttribute("aria-pressed", String(one === button));
}

// An answer somebody gave is put into the form, where it can be changed before it is decided.
function fill(answer, button) {
  clearProblems();
  form.fill(answer, current, false);
  touched = true;
  press(button);
}

// What is begun for a case is there again when the owner comes back to it.
function putAside() {
  const reason = byId("reason").value;
  if (current && (touched || reason.trim())) current.begun = { answer: form.read(), reason };
}

function decision(row) {
  return make("div", { class: "decision" }, make("p", {}, make("strong", {}, foreign(say("decided", { person: row.person }))), " ", make("span", { dir: "auto" }, ...answerText(row.answer, current))),
    make("p", { dir: "auto" }, row.reason), make("time", { datetime: row.at, class: "hint" }, new Date(row.at).toLocaleString(document.documentElement.lang)));
}

function report(row) {
  return make("li", {}, foreign(row.worker), ": ", messages[`report_${row.code}`] ?? row.code, row.comment ? make("q", { dir: "auto" }, row.comment) : "");
}

function show(row, focus = true) {
  putAside();
  current = row;
  const begun = row.begun;
  history.replaceState(null, "", `?ref=${encodeURIComponent(row.ref)}${rechecks() ? "&recheck=1" : ""}`);
  byId("case").hidden = false;
  byId("case").dataset.ref = row.ref;
  byId("ref").replaceChildren(foreign(row.ref));
  byId("prompt").textContent = promptOf(form, row);
  byId("past").replaceChildren(...row.decisions.map(decision));
  byId("reported").hidden = row.reports.length === 0;
  byId("reports").replaceChildren(...row.reports.map(report));
  byId("reason").value = begun?.reason ?? "";
  clearProblems();
  form.show(row);
  form.fill(begun?.answer ?? row.decision?.answer ?? {}, row, !begun && row.decision === null);
  touched = Boolean(begun);
  byId("sides").replaceChildren(...sides(row.answers).map(side));
  byId("models").hidden = !row.machines?.length;
  byId("model-answers").replaceChildren(...(row.machines ?? []).map((one) =>
    make("li", {}, foreign(one.worker), ": ", make("span", { dir: "auto" }, ...answerText(one.answer, row)))));
  list();
  if (focus) byId("ref").focus();
}

function entry(row) {
  const state = row.decision ? ` (${words.done})` : "";
  return make("li", {}, make("button", { type: "button", class: row.decision ? "decided" : undefined, "aria-current": row === current ? "true" : undefined,
    "data-ref": row.ref, onclick: () => show(row) }, foreign(row.ref), state));
}

function list() {
  const shown = cases.filter((row) => row === current || !(row.decision && byId("hide").checked));
  byId("cases").replaceChildren(...shown.map(entry));
  byId("nothing").hidden = cases.length > 0;
  byId("nothing").textContent = say(rechecks() ? "no_recheck" : "no_disagreement");
}

function taken(row, answer, reason) {
  row.decision = { person: document.querySelector(".bar .facts span").textContent, answer, reason, at: new Date().toISOString() };
  row.decisions.unshift(row.decision);
  delete row.begun;
  if (row !== current) { list(); return; } // the owner has gone on meanwhile
  byId("reason").value = "";
  touched = false;
  show(cases.slice(cases.indexOf(row) + 1).find((one) => !one.decision) ?? row);
}

// One decision at a time: a double click is one.
async function decide() {
  const why = byId("reason").value.trim();
  if (!why) { byId("reason").value = ""; byId("reason").reportValidity(); return; }
  if (busy) return;
  busy = true;
  const [row, answer] = [current, form.read()];
  const reply = await send("/owner/decide", { ref: row.ref, answer, reason: why });
  busy = false;
  if (reply?.problems) { if (row === current) refuse(reply.problems, reply.message); return; }
  if (!reply) return;
  taken(row, answer, why);
  byId("status").textContent = say("saved");
}

// Whether the list holds what a model and the other workers contradict, in the order of doubt.
const rechecks = () => byId("recheck")?.checked ?? false;

async function load() {
  const [asked, place] = [rechecks(), after];
  const found = await get(`/owner/${asked ? "recheck" : "disagreements"}?after=${encodeURIComponent(place)}`);
  if (!found || asked !== rechecks() || place !== after) return; // the owner has changed the list meanwhile
  if (found.working) { byId("status").textContent = say("analysing_first"); setTimeout(load, 2000); return; }
  const known = new Set(cases.map((row) => row.ref));
  cases.push(...found.cases.filter((row) => !known.has(row.ref)));
  if (asked) { // what the address named has no marks of the queue yet
    const marks = new Map(found.cases.map((row) => [row.ref, row]));
    for (const row of cases) Object.assign(row, { doubtful: marks.get(row.ref)?.doubtful ?? row.doubtful, machines: marks.get(row.ref)?.machines ?? row.machines });
  } else cases.sort((a, b) => (a.ref < b.ref ? -1 : 1)); // the one the address names may be of a later page
  after = found.after ?? after;
  byId("next").hidden = found.after === null;
  list();
}

function pressed(event) {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && current) { event.preventDefault(); if (!event.repeat) decide(); return; }
  if (event.defaultPrevented || event.isComposing || event.ctrlKey || event.metaKey || event.altKey || !current) return;
  if (event.target.matches("textarea, select, input:not([type=radio]):not([type=checkbox])")) return;
  if (held(event) || form.key?.({ key: keyOf(event) })) event.preventDefault();
}

async function change() {
  putAside();
  cases = [];
  current = null;
  after = "";
  byId("case").hidden = true;
  byId("recheck-hint").hidden = !rechecks();
  await load();
  const first = cases.find((row) => !row.decision) ?? cases[0];
  if (first) show(first, false);
  else list();
}

async function begin(given) {
  form = given;
  byId("answer").addEventListener("submit", (event) => { event.preventDefault(); decide(); });
  byId("hide").addEventListener("change", list);
  byId("next").addEventListener("click", load);
  byId("recheck")?.addEventListener("change", change);
  document.addEventListener("keydown", pressed);
  const address = new URLSearchParams(location.search);
  const wanted = address.get("ref");
  if (byId("recheck") && address.get("recheck") === "1") { byId("recheck").checked = true; byId("recheck-hint").hidden = false; }
  const asked = wanted === null ? null : await get(`/owner/case?ref=${encodeURIComponent(wanted)}`);
  if (asked) cases.push(asked);
  await load();
  const first = asked ?? cases.find((row) => !row.decision) ?? cases[0];
  if (first) show(first, false);
}

attend({
  begin,
  changed() { clearProblems(); press(null); touched = true; },
  submit() {}, // a decision is made with its button: it needs a reason
  tell(text) { byId("status").textContent = text; },
});
