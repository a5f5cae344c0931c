// Disagreements side by side: take one of the answers or another, with a reason. Nothing is overwritten.
import { complain, foreign, get, make, number, post, say, words } from "./owner.js";

const byId = (name) => document.getElementById(name);
const main = byId("adjudicate");
const messages = JSON.parse(main.dataset.messages);
const settings = JSON.parse(main.dataset.settings);
const FIRST = ["title", "context", "text", "premise", "sentence1", "question"]; // what is read before the rest
const PAGE = 20; // cases the server sends at a time
let after = "";

const labelName = (label) => settings.names?.[label] ?? messages[`label_${label}`] ?? String(label);
const inputName = (name) => settings.names?.[name] ?? messages[`input_${name}`] ?? name;

function shown(value) {
  if (Array.isArray(value)) return value.map(shown).join(" / ");
  return value !== null && typeof value === "object" ? JSON.stringify(value) : labelName(value);
}
const told = (answer) => Object.values(answer).map(shown).join(" · ");

function texts(inputs) {
  const place = ([name]) => (FIRST.indexOf(name) + FIRST.length + 1) % (FIRST.length + 1);
  const rows = Object.entries(inputs).sort((a, b) => place(a) - place(b));
  return make("div", { class: "item" }, ...rows.map(([name, value]) => make("div", { class: "block" },
    make("h3", {}, inputName(name)), make("p", { class: "text", dir: "auto" }, typeof value === "string" ? value : shown(value)))));
}

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

function choice(name, place, one) {
  const people = one.sides.map((side) => make("li", {}, foreign(side.worker),
    side.seconds === null ? "" : ` (${number(side.seconds)} s)`, side.comment ? make("q", { dir: "auto" }, side.comment) : ""));
  return make("div", { class: "side" }, make("label", { class: "choice" }, make("input", { type: "radio", name, value: String(place) }),
    make("span", { dir: "auto" }, told(one.answer))), make("p", { class: "count" }, say("times_given", { count: one.sides.length })), make("ul", {}, ...people));
}

// Another answer: a label the form knows, or the answer as JSON.
function another(name, given) {
  const [question, ...others] = Object.keys(given);
  const single = settings.labels && !others.length && typeof given[question] === "string";
  const field = single ? make("select", { "aria-label": words.other }, ...settings.labels.map((label) => make("option", { value: label }, labelName(label))))
    : make("textarea", { rows: "2", "aria-label": words.other_json, spellcheck: "false" });
  if (!single) field.value = JSON.stringify(given);
  const radio = make("input", { type: "radio", name, value: "other" });
  field.addEventListener("input", () => { radio.checked = true; });
  return { element: make("div", { class: "side" }, make("label", { class: "choice" }, radio, single ? words.other : words.other_json), field),
    read: () => (single ? { [question]: field.value } : JSON.parse(field.value)) };
}

function decision(row) {
  return make("div", { class: "decision" }, make("p", {}, make("strong", {}, foreign(say("decided", { person: row.person, answer: told(row.answer) })))),
    make("p", { dir: "auto" }, row.reason), make("time", { datetime: row.at, class: "hint" }, new Date(row.at).toLocaleString(document.documentElement.lang)));
}

function mark(element, decided) {
  element.classList.toggle("decided", decided);
  element.hidden = decided && byId("hide").checked;
}

function caseOf(row) {
  const name = `case-${row.ref}`;
  const given = sides(row.answers);
  const other = another(name, given[0].answer);
  const reason = make("textarea", { rows: "2", required: true, maxlength: "2000", "aria-label": words.why, placeholder: words.why });
  const status = make("span", { class: "status", role: "status" });
  const form = make("form", {}, make("fieldset", {}, make("legend", { class: "unseen" }, row.ref), make("div", { class: "sides" }, ...given.map((one, place) => choice(name, place, one)), other.element)),
    make("div", { class: "field" }, reason), make("p", { class: "actions" }, status, make("button", { class: "main" }, words.decide)));
  const past = make("div", { class: "past" }, ...row.decisions.map(decision));
  const element = make("article", { class: "case", "data-ref": row.ref }, make("h3", {}, foreign(row.ref)), texts(row.inputs), past, form);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const chosen = form.querySelector("input:checked")?.value;
    if (chosen === undefined) { status.textContent = words.choose_answer; return; }
    let answer;
    try { answer = chosen === "other" ? other.read() : given[Number(chosen)].answer; } catch { complain(messages.answer_invalid); return; }
    const why = reason.value.trim();
    if (!why) { reason.value = ""; reason.reportValidity(); return; }
    if (!await post("/owner/decide", { ref: row.ref, answer, reason: why })) return;
    const person = document.querySelector(".bar .facts span").textContent;
    past.prepend(decision({ person, answer, reason: why, at: new Date().toISOString() }));
    reason.value = "";
    status.textContent = words.saved;
    mark(element, true);
  });
  mark(element, row.decision !== null);
  return element;
}

async function load() {
  const rows = await get(`/owner/disagreements?after=${encodeURIComponent(after)}`);
  if (!rows) return;
  byId("cases").append(...rows.map(caseOf));
  after = rows.at(-1)?.ref ?? after;
  byId("next").hidden = rows.length < PAGE;
  byId("nothing").hidden = byId("cases").childElementCount > 0;
}

byId("hide").addEventListener("change", () => { for (const one of document.querySelectorAll(".case")) mark(one, one.classList.contains("decided")); });
byId("next").addEventListener("click", load);
await load();
