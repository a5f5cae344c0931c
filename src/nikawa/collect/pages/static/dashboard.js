// The dashboard: asks for figures every few seconds and draws the parts that changed.
import { currencyName } from "./currency.js";
import { showGate } from "./gate.js";
import {
  ask, draw, empty, fine, flags, foreign, get, make, number, owner, percent, post, questionName, reasonOf, reportName, say, table,
  whisker, words,
} from "./owner.js";

const EVERY = 5000; // milliseconds
const KEPT = 2100; // for this long the server may answer with cached figures
const byId = (name) => document.getElementById(name);
const drawn = {};

function show(name, data, parts) {
  const text = JSON.stringify(data);
  if (drawn[name] === text) return; // parts that did not change keep their position, focus and scrolling
  drawn[name] = text;
  byId(name).querySelector(".content").replaceChildren(...parts());
}

// How many answers adaptive effort has saved so far.
function savings({ rule, items, sure, bought }) {
  const facts = { most: number(rule.most), sure: number(sure), bought: number(bought), full: number(items * rule.most) };
  return make("p", { id: "effort" }, say("effort", facts));
}

function progress(found) {
  const { per_item: each } = found.pay;
  const currency = currencyName(found.pay.currency, document.documentElement.lang);
  const paid = each || found.pay.paid ? [[say("per_item", { currency }), each], [say("paid", { currency }), found.pay.paid]] : [];
  const rows = ["in_hand", "set_aside", "withdrawn", "uncounted"].map((name) => [words[name], found[name]]);
  const counts = [[words.answers, found.done], [words.asked, found.asked], ...rows]; // compared with each other
  const facts = [...counts, [words.hours, found.hours], ...paid];
  const summary = say("complete", { complete: number(found.complete), items: number(found.items) });
  return [make("progress", { max: String(found.asked || 1), value: String(found.done), "aria-label": words.progress }), make("p", { id: "complete" }, summary), ...(found.effort ? [savings(found.effort)] : []),
    make("dl", { class: "facts" }, ...facts.map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, number(value)))))];
}

// Only alpha comes at several levels.
function measureName({ name, level }) {
  const title = words[`measure_${name}`] ?? name;
  return name === "alpha" ? `${title} (${words[`level_${level}`] ?? level})` : title;
}

function agreement({ found, writes }) {
  if (!found.length) return [empty(writes ? "agreement_free" : "agreement_none")];
  return found.flatMap((one) => [
    make("h3", {}, foreign(say("agreement_of", { question: questionName(one.question), items: number(one.items), workers: number(one.workers), answers: number(one.answers) }))),
    one.measures.length ? table([words.measure, words.value, words.interval, ""], one.measures.map((row) => [
      measureName(row), fine(row.value), row.low === null ? "–" : `${fine(row.low)}\u00a0–\u00a0${fine(row.high)}`, whisker(row)])) : empty("agreement_none"),
  ]);
}

function map(rows) {
  const placed = rows.filter((row) => row.seconds > 0 && row.agreement !== null);
  if (!placed.length) return "";
  const speeds = placed.map((row) => Math.log(row.seconds));
  const [least, most, top] = [Math.min(...speeds) - .2, Math.max(...speeds) + .2, Math.max(...placed.map((row) => row.answers))];
  const x = (seconds) => 46 + 440 * (Math.log(seconds) - least) / (most - least);
  const y = (share) => 210 - 195 * share;
  const lines = [0, .25, .5, .75, 1].flatMap((share) => [draw("line", { class: "axis", x1: "46", x2: "486", y1: y(share), y2: y(share) }),
    draw("text", { x: "40", y: y(share) + 4, "text-anchor": "end" }, percent(share))]);
  const ticks = [0, .5, 1].map((part) => { const seconds = Math.exp(least + part * (most - least));
    return draw("text", { x: x(seconds), y: "226", "text-anchor": "middle" }, number(seconds)); });
  const dots = placed.map((row) => draw("circle", { class: row.flags.length ? "dot odd" : "dot", cx: x(row.seconds), cy: y(row.agreement), r: 3 + 6 * Math.sqrt(row.answers / top) },
    draw("title", {}, `${row.worker}: ${percent(row.agreement)}, ${say("seconds_of", { seconds: number(row.seconds) })}`)));
  return make("figure", {}, draw("svg", { id: "map", class: "chart", viewBox: "0 0 500 250", role: "img", "aria-label": words.map_of }, ...lines, ...ticks,
    draw("text", { x: "266", y: "244", "text-anchor": "middle" }, words.map_speed), ...dots), make("figcaption", {}, words.map_of));
}

async function change(path, heading, body) {
  const reason = await ask(heading);
  if (reason && await post(path, { ...body, reason })) setTimeout(refresh, KEPT);
}

// Names that look alike are shown with the characters in which they differ.
const codes = (name, group) => [...new Set(name)].filter((one) => !group.every((other) => other.includes(one))).map((one) => `U+${one.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}`).join(" ");

// Models and simulations are no workers: their answers are stored, and no figure counts them.
function models(rows) {
  const cells = rows.map((row) => [foreign(row.name), words[`kind_${row.kind}`] ?? row.kind, number(row.answers)]);
  return rows.length ? [make("h3", {}, words.models), table([words.worker, words.kind, words.answers], cells, 20)] : [];
}

function workers({ rows, judged, alike, machines }) {
  const known = Object.fromEntries(judged.map((row) => [row.worker, row]));
  const act = (row) => {
    const path = ["excluded", "failed"].includes(row.state) ? "reinstate" : "exclude";
    return make("button", { type: "button", onclick: () => change(`/owner/${path}`, `${words[path]}: ${row.name}`, { worker: row.name }) }, words[path]);
  };
  const cells = [...rows].sort((a, b) => (known[b.name]?.flags.length ?? 0) - (known[a.name]?.flags.length ?? 0) || b.answered - a.answered).map((row) => {
    const one = known[row.name] ?? { agreement: null, seconds: row.mean_seconds, flags: [] };
    const share = one.agreement === null ? "–" : `${percent(one.agreement)} (${percent(one.low)}\u00a0–\u00a0${percent(one.high)})`;
    return [foreign(row.name), make("span", {}, make("span", { class: "state" }, words[`state_${row.state}`] ?? row.state), row.reason ? make("small", { class: "why", dir: "auto" }, reasonOf(row.reason)) : ""), number(row.answered), share, number(one.seconds),
      row.gold ? `${percent(row.gold_accuracy)} (${row.gold})` : "–", number(row.earned), row.code ? make("code", {}, row.code) : "–", flags(one.flags), owner ? act(row) : ""];
  });
  const notes = alike.map((group) => make("li", {}, ...group.flatMap((name, place) => [place ? ", " : "", foreign(name), ` (${codes(name, group)})`])));
  const warning = notes.length ? [make("p", { class: "notice" }, words.look_alikes), make("ul", { id: "look-alikes" }, ...notes)] : [];
  return [...warning, map(judged), table([words.worker, words.state, words.answers, words.map_agreement, words.seconds, words.control, words.earned, words.code, words.flags, ""], cells), ...models(machines)];
}

function time({ under, items }) {
  const counts = Object.entries(under);
  const most = Math.max(1, ...counts.map(([, count]) => count));
  const bars = counts.map(([limit, count]) => [limit === "512" ? say("over", { seconds: 256 }) : say("under", { seconds: limit }),
    draw("svg", { class: "bar-chart", viewBox: "0 0 200 12", preserveAspectRatio: "none", "aria-hidden": "true" }, draw("rect", { width: 200 * count / most, height: "12" })), number(count)]);
  if (!items) return [table([words.time_answers, "", words.answers], bars)];
  return [make("p", {}, say("time_of", { median: number(items.median), low: number(items.low), high: number(items.high) })),
    table([words.time_answers, "", words.answers], bars), make("h3", {}, words.slowest),
    table([words.item, words.seconds], items.slowest.map((row) => [look(row.ref), number(row.seconds)]), 5)];
}

const look = (ref) => make("a", { href: `/owner/adjudicate?ref=${encodeURIComponent(ref)}` }, foreign(ref));

function flagged({ items, reports, recheck }) {
  const acts = (row) => make("span", { class: "acts" }, ...(row.flags.includes("set-aside") ? ["reopen"] : row.reports ? ["drop"] : []).map((action) =>
    make("button", { type: "button", onclick: () => change("/owner/resolve", `${words[action]}: ${row.ref}`, { ref: row.ref, action }) }, words[action])));
  const said = reports.map((row) => [look(row.ref), foreign(row.worker), reportName(row.code), foreign(row.comment)]);
  const doubtful = recheck?.answers ? [make("p", { id: "doubtful" }, make("a", { href: "/owner/adjudicate?recheck=1" },
    say("recheck_count", { answers: number(recheck.answers), items: number(recheck.items) })))] : [];
  return [...doubtful, table([words.item, words.flags, words.reports, ""], items.map((row) => [look(row.ref), flags(row.flags), number(row.reports), acts(row)]), 20),
    ...(said.length ? [make("h3", {}, words.reports), table([words.item, words.worker, words.why, words.comment], said, 20)] : [])];
}

const clock = (date) => date.toLocaleTimeString(document.documentElement.lang);

// The oldest analysis counts: everything on the page is at least as new.
function analysed(analyses) {
  if (!analyses.length) return "";
  const working = analyses.some((one) => one.working);
  if (analyses.some((one) => one.at === null)) return working ? words.analysing_first : "";
  return say(working ? "analysing" : "analysed", { time: clock(new Date(1000 * Math.min(...analyses.map((one) => one.at)))) });
}

async function refresh() {
  const data = await get("/owner/data");
  if (!data) return;
  const judged = data.analyses.judged ?? { writes: false, agreement: [], workers: [], time: null, flagged: { items: [] } };
  const done = { ...data.progress, pay: data.pay, hours: data.time.hours, effort: data.effort ?? null };
  show("progress", done, () => progress(done));
  const waited = (name) => data.analysed[name]?.at === null && data.analysed[name].working; // the first time: nothing can be said yet
  const agreed = { found: judged.agreement, writes: judged.writes };
  if (!waited("judged")) show("agreement", agreed, () => agreement(agreed));
  const people = { rows: data.workers, judged: judged.workers, alike: data.look_alikes ?? [], machines: data.machines ?? [] };
  show("workers", people, () => workers(people));
  const times = { under: data.time.under, items: judged.time };
  show("time", times, () => time(times));
  const odd = { items: judged.flagged.items, reports: data.reports, recheck: data.analyses.recheck ?? null };
  show("flagged", odd, () => flagged(odd));
  const gate = data.analyses.gate ?? { texts: 0 };
  if (!waited("gate")) show("gate", gate, () => showGate(gate));
  byId("updated").textContent = say("updated", { time: clock(new Date()) });
  byId("analysed").textContent = analysed(Object.values(data.analysed));
}

byId("make-links")?.addEventListener("submit", async (event) => {
  event.preventDefault();
  const names = byId("names").value.split("\n").map((name) => name.trim()).filter(Boolean);
  const made = names.length ? await post("/owner/links", { names }) : null;
  if (made) byId("made").replaceChildren(...made.links.map((one) => make("li", {}, foreign(one.worker), " ", make("code", {}, location.origin + one.path))));
});

document.querySelector("#audit details")?.addEventListener("toggle", async (event) => {
  const rows = event.target.open ? await get("/owner/audit?latest=1") : null;
  if (!rows) return;
  const worded = (name, value) => (name === "role" ? words[`role_${value}`] ?? value : name === "reason" ? reasonOf(value) : value);
  const detailText = (detail) => Object.entries(detail).map(([name, value]) => `${words[`detail_${name}`] ?? name}: ${worded(name, value)}`).join(", ");
  const actor = (who) => (["command", "server"].includes(who) ? words[`who_${who}`] : who);
  byId("audit").querySelector(".content").replaceChildren(table([words.at, words.who, words.what, words.detail],
    rows.map((row) => [new Date(row.at).toLocaleString(document.documentElement.lang), foreign(actor(row.who)), words[`did_${row.what.replaceAll(" ", "-")}`] ?? row.what, foreign(detailText(row.detail))]), 20));
});

async function keepOn() {
  if (!document.hidden) await refresh();
  setTimeout(keepOn, EVERY);
}
document.addEventListener("visibilitychange", () => { if (!document.hidden) refresh(); });
await keepOn();
