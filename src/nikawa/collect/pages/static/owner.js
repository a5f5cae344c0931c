// What the owner's pages share: words, elements, charts, requests, and asking for a reason.
const main = document.querySelector("main.owner");
const byId = (name) => document.getElementById(name);
export const words = JSON.parse(main.dataset.words);
export const owner = main.dataset.role === "owner";
const messages = JSON.parse(main.dataset.messages);
const settings = JSON.parse(main.dataset.settings);
const language = document.documentElement.lang;
const plain = new Intl.NumberFormat(language, { maximumFractionDigits: 1 });
const three = new Intl.NumberFormat(language, { minimumFractionDigits: 3, maximumFractionDigits: 3 });
const parts = new Intl.NumberFormat(language, { style: "percent", maximumFractionDigits: 1 });

export const number = (value) => (value === null || value === undefined ? "–" : plain.format(value));
export const fine = (value) => (value === null || value === undefined ? "–" : three.format(value));
export const percent = (value) => (value === null || value === undefined ? "–" : parts.format(value));

export function say(key, values = {}) {
  return (words[key] ?? key).replace(/\{(\w+)\}/g, (_, name) => values[name] ?? "");
}

export const labelName = (label) => settings.names?.[label] ?? messages[`label_${label}`] ?? String(label);
export const reportName = (code) => settings.names?.[`report_${code}`] ?? messages[`report_${code}`] ?? code;

// Names that files use, such as those of questions, are English: other pages have words for them.
export const isEnglish = language === "en";
export function questionName(question) {
  if (isEnglish) return question;
  return words[`question_${question}`] ?? (question === settings.question ? words.question_main : question);
}

// Why a rule excluded somebody is stored as a sentence; an owner's reason is their own.
export function reasonOf(text) {
  const rule = /^(\d+) of (\d+) (?:control items right|answers under ([\d.e+-]+) s)( since they were taken back)?$/.exec(text);
  if (!rule) return text;
  const [, right, of, seconds, since] = rule;
  const reason = say(seconds === undefined ? "reason_control" : "reason_quick", { right, of, seconds });
  return since ? say("reason_since", { reason }) : reason;
}

function filled(element, given, children) {
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "onclick") element.addEventListener("click", value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children);
  return element;
}

export const make = (tag, given = {}, ...children) => filled(document.createElement(tag), given, children);
export const draw = (tag, given = {}, ...children) =>
  filled(document.createElementNS("http://www.w3.org/2000/svg", tag), given, children);
export const foreign = (text) => make("bdi", {}, String(text)); // names and texts of others, whatever their direction
export const empty = (key = "none") => make("p", { class: "empty" }, say(key));
export const flags = (found) => make("span", { class: "flags" }, ...found.map((flag) => make("span", { class: "flag" }, say(`flag_${flag}`))));

// A table that scrolls in its own box; cells are texts or elements.
export function table(heads, rows, most = 50) {
  if (!rows.length) return empty();
  const body = (shown) => shown.map((row) => make("tr", {}, ...row.map((cell) => make("td", {}, cell ?? "–"))));
  const inside = make("tbody", {}, ...body(rows.slice(0, most)));
  const box = make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": heads[0] },
    make("table", {}, make("thead", {}, make("tr", {}, ...heads.map((head) => make("th", { scope: "col" }, head)))), inside));
  if (rows.length <= most) return box;
  const button = make("button", { type: "button", onclick: () => { inside.append(...body(rows.slice(most))); button.remove(); } },
    say("more", { count: number(rows.length - most) }));
  return make("div", {}, box, button);
}

// A dot with its interval, on a line from 0 to 1.
export function whisker(row) {
  if (row.value === null || row.low === null || row.low < -1 || row.high > 1) return "";
  const at = (value) => String(4 + 112 * Math.min(1, Math.max(0, value)));
  return draw("svg", { class: "whisker", viewBox: "0 0 120 16", "aria-hidden": "true" },
    draw("line", { class: "axis", x1: "4", x2: "116", y1: "8", y2: "8" }),
    draw("line", { class: "range", x1: at(row.low), x2: at(row.high), y1: "8", y2: "8" }),
    draw("circle", { class: "dot", cx: at(row.value), cy: "8", r: "4" }));
}

export function complain(text) {
  const place = byId("alert");
  place.textContent = text;
  place.hidden = !text;
}

async function reply(path, given, problems = false) {
  let answer;
  try {
    answer = await fetch(path, { cache: "no-store", ...given });
  } catch {
    complain(say("unreachable"));
    return null;
  }
  if (answer.status === 401) { location.assign("/login"); return null; }
  const body = await answer.json().catch(() => ({}));
  if (answer.ok || (problems && body.problems)) { complain(""); return body; }
  complain(body.message ?? String(answer.status));
  return null;
}

export const get = (path) => reply(path, {});
const sent = (body) => ({
  method: "POST", headers: { "Content-Type": "application/json", "X-CSRF-Token": main.dataset.csrf }, body: JSON.stringify(body),
});
export const post = (path, body) => reply(path, sent(body));
export const send = (path, body) => reply(path, sent(body), true); // also gives what is wrong with an answer

// Ask for a reason; null where the question is cancelled.
export function ask(heading) {
  const dialog = byId("ask");
  byId("ask-heading").textContent = heading;
  byId("ask-reason").value = "";
  dialog.returnValue = "";
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes" ? byId("ask-reason").value.trim() : null), { once: true });
  });
}

byId("ask-cancel")?.addEventListener("click", () => byId("ask").close(""));
byId("logout").addEventListener("click", async () => { if (await post("/logout", {})) location.assign("/login"); });
