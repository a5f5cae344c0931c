// The page of a worker: asks for items, keeps what is half-written, sends answers until they are acknowledged.
import { currencyName } from "./currency.js";
import { bind, fillKeys, wireDialogs } from "./dialogs.js";
import { attend, language, messages, promptOf, say } from "./form.js";
import { clearProblems, mark, refuse } from "./problems.js";

const byId = (name) => document.getElementById(name);
const { base } = document.getElementById("work").dataset;

const TRIES = [1000, 2000, 4000, 8000, 15000]; // milliseconds between attempts while there is no connection
const SILENT = new Set(["text_missing", "answer_missing", "choose_one", "answer_invalid", "turn_missing", "turn_short", "turns_few", "slot_missing", "ask_open"]); // no blame while typing
let form = null;
let state = null;
let item = null;
let busy = true;
let spent = 0; // milliseconds the item was in sight
let since = null;
let timers = {};
let checks = 0;
let touched = false; // whether the worker has changed the answer on the page, or the page has no answer yet
let shownAt = 0;

const GLANCE = 1000; // milliseconds: what comes filled in and is sent sooner was not looked at

const DRAFTS = 5; // kept on this device: an undo may put an item aside that is half-written

// What a browser without storage cannot keep is still on the server, as a draft.
const kept = {
  name: (key) => `nikawa:${base}:${key}`,
  get(key) { try { return JSON.parse(localStorage.getItem(this.name(key))); } catch { return null; } },
  set(key, value) { try { localStorage.setItem(this.name(key), JSON.stringify(value)); } catch { /* full or forbidden */ } },
  remove(key) { try { localStorage.removeItem(this.name(key)); } catch { /* forbidden */ } },
};

function keepDraft(value) {
  const others = (kept.get("drafts") ?? []).filter((one) => one.lease !== item.lease);
  kept.set("drafts", [...others, value].slice(-DRAFTS));
}

function forgetDraft(lease) {
  kept.set("drafts", (kept.get("drafts") ?? []).filter((one) => one.lease !== lease));
}

async function call(path, body, keepalive = false) {
  const headers = { "Accept-Language": document.documentElement.lang }; // the worker's choice, not the browser's
  const given = body === undefined ? { headers } : {
    method: "POST", headers: { ...headers, "Content-Type": "application/json" }, body: JSON.stringify(body), keepalive,
  };
  try {
    const reply = await fetch(`${base}/${path}`, { ...given, cache: "no-store" });
    return { status: reply.status, body: await reply.json() };
  } catch {
    return { status: 0, body: {} };
  }
}

const lost = (reply) => reply.status === 0 || reply.status >= 500 || reply.status === 429;

function tell(text) {
  const place = byId("status");
  place.textContent = "";
  setTimeout(() => { place.textContent = text; }, 30); // the same text twice is announced twice
}

function connection(away) {
  const place = byId("offline");
  if (place.hidden === away) {
    place.textContent = away ? messages.offline : "";
    place.hidden = !away;
  }
}

function pause(attempt) {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, TRIES[Math.min(attempt, TRIES.length - 1)]);
    addEventListener("online", () => { clearTimeout(timer); resolve(); }, { once: true });
  });
}

async function insist(path, body) {
  for (let attempt = 0; ; attempt += 1) {
    const reply = await call(path, body);
    connection(lost(reply));
    if (!lost(reply)) return reply;
    await pause(attempt);
  }
}

// One submission at a time: it is stored before it is sent, so that a reload sends it again with the same key.
async function deliver(pending) {
  setBusy(true);
  kept.set("pending", pending);
  tell(messages.sending);
  const reply = await insist(pending.path, pending.body);
  kept.remove("pending");
  if (reply.status === 200) {
    if (pending.path !== "undo") forgetDraft(pending.body.lease);
    show(reply.body.state, messages[pending.path === "undo" ? "undone" : "saved"]);
    return;
  }
  const current = item && item.lease === pending.body.lease;
  if (!current || reply.status !== 422) await refresh();
  if (!item) return;
  setBusy(false);
  refuse(reply.body.problems ?? [], reply.body.message ?? messages.server_error);
  tell("");
}

async function refresh(note = "") {
  const reply = await insist("next");
  if (reply.status === 200) show(reply.body, note);
  else stop(reply.body.message ?? messages.server_error);
}

// The link is of no use any more: nothing to answer, nothing to undo.
function stop(message) {
  item = null;
  byId("answer").hidden = true;
  byId("ended").hidden = false;
  byId("ended-heading").textContent = message;
  byId("ended-heading").focus();
  tell("");
}

function setBusy(value) {
  busy = value;
  byId("answer").inert = value;
  byId("answer").setAttribute("aria-busy", String(value));
}

function facts() {
  const { answered, left, more, pilot_left: trial } = state.progress;
  const parts = [say("progress", { answered: count(answered) })];
  if (left !== null) parts.push(say(more ? "left_more" : "left", { left: count(left) }));
  byId("progress").textContent = state.stage === "pilot" ? say("left", { left: count(trial) }) : parts.join(" · ");
  byId("progress").title = left && state.stage !== "pilot" ? messages.left_why : "";
  byId("stage").hidden = byId("note").hidden = state.stage !== "pilot";
  const bar = byId("bar");
  bar.hidden = left === null || more || state.stage === "pilot";
  bar.value = left === null ? 0 : answered / Math.max(1, answered + left);
  const { amount, currency: code, per_item: each } = state.earned;
  const currency = currencyName(code, language);
  byId("earned").textContent = amount || each ? say("earned", { amount: money(amount), each: money(each), currency }) : "";
  byId("undo").disabled = !state.can_undo;
}

const count = (number) => new Intl.NumberFormat(language).format(number);
const money = (amount) => new Intl.NumberFormat(language, { maximumFractionDigits: 4 }).format(amount);

function show(next, note = "") {
  state = next;
  item = next.item;
  byId("kept").textContent = "";
  facts();
  byId("answer").hidden = !item;
  byId("ended").hidden = Boolean(item);
  clearProblems();
  if (item) showItem(note); else showEnd(note);
  scrollTo(0, 0);
}

function showItem(note) {
  const { value, comment, seconds } = remembered();
  spent = (seconds ?? 0) * 1000;
  since = document.hidden ? null : performance.now();
  byId("comment").value = comment ?? "";
  byId("comment-box").open = Boolean(comment);
  byId("prompt").textContent = promptOf(form, item);
  form.show(item);
  const suggested = item.prelabel !== null; // a machine's answer, to be checked
  const fresh = value === undefined;
  form.fill(value ?? item.prelabel ?? {}, item, fresh && !suggested);
  byId("suggested").hidden = !suggested;
  touched = !fresh || !(suggested || form.filled?.(item));
  shownAt = performance.now();
  setBusy(false);
  if (form.checked && !fresh) later("check", 0, check);
  byId("prompt").focus({ preventScroll: true });
  const restored = value !== undefined && !item.previous ? messages.restored : "";
  tell([note, restored, byId("progress").textContent].filter(Boolean).join(" "));
}

// The draft of this device or of the server, whichever is later; after an undo, the answer that was withdrawn.
function remembered() {
  const here = (kept.get("drafts") ?? []).find((one) => one.lease === item.lease);
  const drafts = [item.draft, here].filter((one) => one && one.value);
  drafts.sort((one, other) => (other.at ?? 0) - (one.at ?? 0));
  if (drafts.length) return drafts[0];
  return item.previous ? { value: item.previous } : {};
}

function showEnd(note) {
  const text = messages[`stage_${state.stage}`] ?? "";
  byId("ended-heading").textContent = text;
  byId("code").hidden = !state.code;
  byId("code-text").textContent = state.code ?? "";
  byId("again").hidden = state.stage !== "waiting";
  byId("undo-ended").hidden = !state.can_undo;
  busy = false;
  byId("ended-heading").focus();
  tell(note);
}

function draft() {
  return { lease: item.lease, value: form.read(), comment: byId("comment").value, seconds: seconds(), at: Date.now() };
}

function seconds() {
  return Math.round((spent + (since === null ? 0 : performance.now() - since)) / 100) / 10;
}

function later(name, wait, action) {
  clearTimeout(timers[name]);
  timers[name] = setTimeout(action, wait);
}

// Forms call this after each change: on this device at once, on the server soon, the rules in between.
function changed() {
  if (!item || busy) return;
  touched = true;
  byId("kept").textContent = "";
  keepDraft(draft());
  later("draft", 1200, saveDraft);
  if (form.live) later("check", 250, check);
  else clearProblems();
}

async function saveDraft(keepalive = false) {
  clearTimeout(timers.draft);
  timers.draft = null;
  if (!item || busy) return;
  const body = draft();
  const { lease } = body;
  const reply = await call("draft", { lease, draft: body }, keepalive);
  if (reply.status === 200 && item?.lease === lease) byId("kept").textContent = messages.draft_saved;
}

async function check() {
  const mine = ++checks;
  const { lease } = item;
  const reply = await call("check", { lease, answer: form.read() });
  if (mine !== checks || busy || item?.lease !== lease || reply.status !== 200) return;
  clearProblems();
  mark(reply.body.problems.filter((problem) => !SILENT.has(problem.code)));
  form.checked?.(reply.body.problems);
}

function submit() {
  if (busy || !item || form.ends?.() === false) return;
  if (!touched && performance.now() - shownAt < GLANCE) { tell(messages.look_first); return; } // a second click, say
  clearTimeout(timers.draft);
  clearTimeout(timers.check);
  checks += 1;
  keepDraft(draft());
  const body = { lease: item.lease, key: newKey(), answer: form.read(), comment: byId("comment").value, seconds: seconds() };
  deliver({ path: "answer", body });
}

function newKey() {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

function undo() {
  if (!busy && state?.can_undo) deliver({ path: "undo", body: { key: newKey() } });
}

function report(code, comment) {
  if (!busy && item) deliver({ path: "report", body: { lease: item.lease, key: newKey(), code, comment } });
}

async function changeLanguage(event) {
  if (item && !busy) { keepDraft(draft()); }
  const reply = await call("language", { language: event.target.value });
  if (reply.status === 200) location.reload();
  else { connection(lost(reply)); event.target.value = language; }
}

function seen() {
  if (document.hidden) {
    if (since !== null) spent += performance.now() - since;
    since = null;
    if (timers.draft) saveDraft(true);
  } else since = performance.now();
}

function wire() {
  byId("answer").addEventListener("submit", (event) => { event.preventDefault(); submit(); });
  byId("comment").addEventListener("input", changed);
  for (const button of document.querySelectorAll(".undo")) button.addEventListener("click", undo);
  byId("again").addEventListener("click", () => refresh());
  byId("language").addEventListener("change", changeLanguage);
  byId("copy-code").addEventListener("click", async () => {
    try { await navigator.clipboard.writeText(state.code); tell(messages.copied); } catch { getSelection().selectAllChildren(byId("code-text")); }
  });
  document.addEventListener("visibilitychange", seen);
  addEventListener("pagehide", () => { if (timers.draft) saveDraft(true); });
  wireDialogs(report);
  bind({
    submit, undo, comment() { byId("comment-box").open = true; byId("comment").focus(); },
    form: (event) => !busy && item && form.key?.(event), ready: () => Boolean(item) && !busy,
    off: () => kept.get("keys") === false, switchKeys: (on) => kept.set("keys", on),
  });
}

function begin(given) {
  form = given;
  wire();
  fillKeys(form.keys ?? [["1–9", "key_choose"]]);
  const pending = kept.get("pending");
  if (pending) deliver(pending); else refresh();
}

attend({ begin, changed, submit, tell, insist, call, refresh, newKey, kept });
