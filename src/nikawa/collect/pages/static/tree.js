// A dependency tree: each word gets its head and its relation, by keys, by clicks, by dragging, or from lists.
// Heads are kept as in the answer: numbers from 1, 0 for the root, null where none is set.
import { crossing, drawArcs, drawLine, picture } from "./arcs.js";
import { changed, make, messages, nameOf, say, settings, start, tell } from "./form.js";
import { problemPlace } from "./problems.js";

const { question, labels: known, root_label: rootLabel, head_final: headFinal } = settings;
const place = document.getElementById("item");
const fields = document.getElementById("fields");
const column = matchMedia("(max-width: 40rem)");
const FAR = 6; // pixels a pointer moves before it drags
const EDGE = 60; // pixels from the edge where dragging scrolls
const STEPS_BACK = 200;
let words = [];
let heads = [];
let labels = [];
let answers = []; // of workers, on the page of the owner
let now = 0; // the current word
let picking = false; // whether the next word chosen becomes its head
let target = null; // the word the keys or the pointer point at meanwhile
let all = false; // whether all relations are listed
let past = [];
let drag = null;
let swallow = false; // the click at the end of a drag is ignored
let drawnDown = null; // whether the arcs were drawn for a column
let parts = {};

const indexes = () => words.map((_, n) => n);
const isOpen = (n) => heads[n] === null || labels[n] === null;
const headName = (head) => (head === null ? messages.unset : head === 0 ? messages.root : `${head} ${words[head - 1].form}`);
const labelName = (label) => (label === null ? messages.unset : nameOf(label));
const arcsNow = () => indexes().filter((n) => heads[n]).map((n) => ({ from: n, to: heads[n] - 1 }));

// Whether following the heads from one word leads to another.
function leadsTo(from, to) {
  for (let n = from, steps = 0; n !== null && n >= 0 && steps <= words.length; steps += 1) {
    if (n === to) return true;
    n = heads[n] === null ? null : heads[n] - 1;
  }
  return false;
}

function remember() {
  past = [...past.slice(-STEPS_BACK), { heads: [...heads], labels: [...labels], now }];
}

function note(text) {
  document.querySelector(`[data-problem="${CSS.escape(question)}"]`).textContent = text;
  tell(text);
}

// Sets a head: a place, or -1 for the root. A cycle is refused; another root loses its place. Returns whether it was set.
function setHead(child, head) {
  if (head === child) return false;
  if (head >= 0 && leadsTo(head, child)) {
    note(say("cycle", { head: words[head].form, form: words[child].form }));
    return false;
  }
  heads[child] = head + 1;
  if (rootLabel && head >= 0 && labels[child] === rootLabel) labels[child] = null;
  if (head >= 0) { tell(say("head_set", { form: words[child].form, head: headName(head + 1) })); return true; }
  if (rootLabel) labels[child] = rootLabel;
  const old = heads.findIndex((one, n) => one === 0 && n !== child);
  if (old < 0) { tell(say("head_set", { form: words[child].form, head: messages.root })); return true; }
  heads[old] = null;
  if (rootLabel) labels[old] = null;
  tell(say("root_moved", { form: words[child].form, old: words[old].form }));
  return true;
}

function attach(child, head) {
  remember();
  if (!setHead(child, head)) { past.pop(); draw(); return; }
  stopPicking();
  changed();
  draw();
  button(now).focus({ preventScroll: true });
}

// Once a word is complete, the next one that is not becomes the current one.
function setLabel(label) {
  remember();
  labels[now] = label;
  changed();
  tell(say("label_set", { form: words[now].form, label: nameOf(label) }));
  if (!isOpen(now)) goOn(1, false);
  draw();
  button(now).focus({ preventScroll: true });
}

function clear() {
  remember();
  [heads[now], labels[now]] = [null, null];
  stopPicking();
  changed();
  tell(say("cleared", { form: words[now].form }));
  draw();
}

function stepBack() {
  const last = past.pop();
  if (!last) return;
  ({ heads, labels, now } = last);
  stopPicking();
  changed();
  draw();
  tell(messages.step_back);
}

function startPicking() {
  [picking, target] = [true, null];
  draw();
  tell(say("pick_now", { form: words[now].form }));
}

function stopPicking() { [picking, target] = [false, null]; }

function select(n, focus = true) {
  stopPicking();
  [now, all] = [n, false];
  draw();
  if (focus) { button(n).focus({ preventScroll: true }); bringIntoView(n); }
}

// The next word, or the one before, that has no head or no relation.
function goOn(way, announce = true) {
  const order = indexes().map((n) => (now + way * (n + 1) + 2 * words.length) % words.length);
  const next = order.find((n) => isOpen(n) && n !== now);
  if (next !== undefined) select(next);
  else if (announce) tell(isOpen(now) ? parts.count.textContent : messages.none_open);
}

function touch(n) {
  if (swallow) return;
  if (picking && n !== now) { attach(now, n); return; }
  if (picking) { stopPicking(); draw(); tell(messages.pick_stopped); return; }
  select(n);
  if (heads[n] === null) startPicking();
}

// -- the words --

const button = (n) => parts.buttons[n];

function bringIntoView(n) {
  const box = button(n).getBoundingClientRect();
  const host = parts.host.getBoundingClientRect();
  if (!column.matches) {
    if (box.left < host.left || box.right > host.right) parts.host.scrollLeft += (box.left + box.right - host.left - host.right) / 2;
    return;
  }
  const floor = parts.panel.getBoundingClientRect().top;
  if (box.bottom > floor) scrollBy(0, box.bottom - floor + 8);
  else if (box.top < 0) scrollBy(0, box.top - 8);
}

function makeWord(word, n) {
  const grip = make("span", { class: "grip", "aria-hidden": "true", title: say("drag_from", { form: word.form }) }, "⠿");
  const shown = make("button", { type: "button", class: "word", id: `word-${n}` }, make("span", { class: "number" }, String(n + 1)),
    make("bdi", { class: "form" }, word.form), make("small", { class: "pos" }, word.pos), make("span", { class: "to" }), make("span", { class: "as" }));
  shown.addEventListener("click", () => touch(n));
  shown.addEventListener("pointerdown", (event) => { if (event.pointerType !== "touch") grab(event, n); });
  grip.addEventListener("pointerdown", (event) => grab(event, n));
  grip.addEventListener("touchmove", (event) => event.preventDefault(), { passive: false }); // else the next tap only ends a fling
  return { shown, row: make("li", {}, shown, grip) };
}

function drawWord(n, crossed) {
  const shown = button(n);
  const leftward = headFinal && heads[n] !== null && heads[n] > 0 && heads[n] < n + 1;
  const disputed = disputesOf(n).length > 1;
  shown.querySelector(".to").textContent = heads[n] === null ? "→ ?" : heads[n] === 0 ? `→ ${messages.root}` : `→ ${heads[n]}`;
  shown.querySelector(".as").textContent = labels[n] === null ? "?" : nameOf(labels[n]);
  for (const [name, on] of Object.entries({ open: isOpen(n), target: target === n, odd: crossed.has(n) || leftward, disputed })) shown.classList.toggle(name, on);
  shown.classList.toggle("picking", picking && n === now);
  if (n === now) shown.setAttribute("aria-current", "true"); else shown.removeAttribute("aria-current");
  shown.tabIndex = n === (target ?? now) ? 0 : -1;
  const said = [say("word_is", { n: n + 1, form: `${words[n].form} ${words[n].pos}`.trim(), head: headName(heads[n]), label: labelName(labels[n]) })];
  if (crossed.has(n)) said.push(messages.word_crosses);
  if (leftward) said.push(messages.word_leftward);
  if (disputed) said.push(messages.word_disputed);
  shown.setAttribute("aria-label", said.join(" "));
}

function drawPicture() {
  const down = column.matches;
  if (down !== drawnDown) { // the picture of the other layout would take the room of the words
    for (const name of ["width", "height"]) parts.picture.setAttribute(name, "0");
    drawnDown = down;
  }
  const frame = parts.list.getBoundingClientRect();
  const middles = parts.buttons.map((one) => {
    const box = one.getBoundingClientRect();
    return down ? box.top + box.height / 2 - frame.top : box.left + box.width / 2 - frame.left;
  });
  const arcs = arcsNow();
  const crossed = crossing(arcs);
  const kinds = arcs.map((arc) => ({ ...arc, kind: [arc.from === now ? "own" : "", crossed.has(arc.from) ? "crossed" : ""].filter(Boolean).join(" ") || "plain" }));
  const root = heads.indexOf(0);
  drawArcs(parts.picture, { middles, size: Math.ceil(down ? frame.height : frame.width), arcs: kinds, root: root < 0 ? null : root, column: down, most: down ? 96 : 420 });
}

function draw() {
  const crossed = crossing(arcsNow());
  for (const n of indexes()) drawWord(n, crossed);
  parts.root.disabled = !picking;
  parts.host.classList.toggle("picking", picking);
  drawPicture();
  drawPanel();
}

// -- the panel of the current word --

function headList() {
  const list = make("select", { id: "tree-head" });
  list.addEventListener("change", () => {
    if (list.value === "") { remember(); heads[now] = null; stopPicking(); changed(); draw(); } else attach(now, Number(list.value) - 1);
    list.focus();
  });
  return list;
}

function makePanel() {
  const pick = make("button", { type: "button", id: "pick-head", "aria-pressed": "false" }, messages.pick_head, " ", make("kbd", { "aria-hidden": "true" }, "h"));
  pick.addEventListener("click", () => { if (picking) { stopPicking(); draw(); } else startPicking(); });
  const next = make("button", { type: "button", id: "next-open" }, messages.next_open, " ", make("kbd", { "aria-hidden": "true" }, "n"));
  next.addEventListener("click", () => goOn(1));
  const [list, title, count] = [headList(), make("h3", { id: "tree-now" }), make("p", { class: "count" })];
  const group = make("div", { class: "choices palette", role: "group", "aria-label": messages.relation });
  const search = make("input", { type: "search", id: "filter", autocomplete: "off" });
  search.addEventListener("input", filter);
  const more = make("button", { type: "button", id: "show-all", "aria-keyshortcuts": "a" }, messages.all_labels, " ", make("kbd", { "aria-hidden": "true" }, "a"));
  more.addEventListener("click", showAll);
  const field = make("div", { class: "field" }, make("label", { for: "filter" }, messages.filter), search);
  const sides = make("div", { class: "choices sides-of", role: "group", "aria-label": messages.of_workers });
  const panel = make("section", { class: "tree-panel", "aria-labelledby": "tree-now" }, make("div", { class: "head" }, title, count),
    make("div", { class: "controls" }, make("label", { for: "tree-head" }, messages.head), list, pick, next), sides, field, group);
  return { panel, pick, head: list, title, count, group, search, more, field, sides };
}

function drawPanel() {
  const { pick, head, title, count, group, more, field, sides } = parts;
  title.textContent = `${now + 1} ${words[now].form}`;
  const open = indexes().filter(isOpen).length;
  count.textContent = open ? say("open_words", { count: open }) : messages.none_open;
  pick.setAttribute("aria-pressed", String(picking));
  head.replaceChildren(new Option(messages.unset, ""), new Option(messages.root, "0"),
    ...indexes().filter((n) => n !== now).map((n) => new Option(`${n + 1} ${words[n].form}`, String(n + 1))));
  head.value = heads[now] === null ? "" : String(heads[now]);
  const likely = words[now].likely;
  const listed = all || !likely.length ? known : [...likely, ...(labels[now] && !likely.includes(labels[now]) ? [labels[now]] : [])];
  field.hidden = !(all && known.length > 12);
  more.hidden = listed.length >= known.length;
  const choices = listed.map((label, n) => {
    const one = make("button", { type: "button", class: "choice", "data-value": label, "aria-pressed": String(labels[now] === label) },
      make("kbd", { "aria-hidden": "true" }, n < 9 ? String(n + 1) : ""), nameOf(label));
    one.addEventListener("click", () => setLabel(label));
    return one;
  });
  group.replaceChildren(...choices, more);
  const disputes = disputesOf(now);
  sides.hidden = disputes.length < 2;
  sides.replaceChildren(...(sides.hidden ? [] : disputes.map(sideOf)));
}

function showAll() {
  all = true;
  parts.search.value = "";
  draw();
  (parts.field.hidden ? relations()[0] : parts.search).focus();
}

const relations = () => [...parts.group.querySelectorAll("[data-value]")];

function filter() {
  const wanted = parts.search.value.trim().toLowerCase();
  const entries = relations();
  for (const one of entries) one.hidden = !`${one.dataset.value} ${one.textContent}`.toLowerCase().includes(wanted);
  tell(say("filter_count", { count: entries.filter((one) => !one.hidden).length }));
}

// -- the owner's page: what workers agree on is taken, each other word is decided by itself --

// The different arcs that workers gave a word: [{ head, label, workers }].
function disputesOf(n) {
  const found = new Map();
  for (const { worker, tree } of answers) {
    const arc = { head: tree.heads[n] ?? null, label: tree.labels[n] ?? null };
    const key = JSON.stringify(arc);
    if (!found.has(key)) found.set(key, { ...arc, workers: [] });
    found.get(key).workers.push(worker);
  }
  return [...found.values()];
}

function sideOf({ head, label, workers }) {
  const isTaken = heads[now] === head && labels[now] === label;
  const one = make("button", { type: "button", class: "choice", "aria-pressed": String(isTaken) },
    make("span", { dir: "auto" }, say("of_worker", { worker: workers.join(", "), head: headName(head), label: labelName(label) })));
  one.addEventListener("click", () => {
    remember();
    if (head !== null && !setHead(now, head - 1)) { past.pop(); return; }
    labels[now] = label;
    stopPicking();
    changed();
    goOn(1, false);
    draw();
  });
  return one;
}

function agreedTree() {
  const same = (name, n) => (answers.every(({ tree }) => tree[name][n] === answers[0].tree[name][n]) ? answers[0].tree[name][n] : null);
  return { heads: indexes().map((n) => same("heads", n)), labels: indexes().map((n) => same("labels", n)) };
}

function readAnswers(item) {
  const earlier = (item.inputs.answers ?? []).map((tree, n) => ({ worker: String(n + 1), answer: { [question]: tree } }));
  const trees = (item.answers ?? earlier).map(({ worker, answer }) => ({ worker, tree: answer[question] }));
  return trees.filter(({ tree }) => tree?.heads?.length === words.length && tree.labels?.length === words.length);
}

// -- dragging --

function grab(event, n) {
  if (event.button !== 0 || drag) return;
  drag = { from: n, x: event.clientX, y: event.clientY, at: event, live: false, id: event.pointerId };
}

function wordAt(x, y) {
  const found = document.elementFromPoint(x, y)?.closest(".tree li");
  return found ? [...parts.list.children].indexOf(found) - 1 : null; // the root comes first: -1
}

function moved(event) {
  if (!drag || event.pointerId !== drag.id) return;
  drag.at = event;
  if (!drag.live && Math.hypot(event.clientX - drag.x, event.clientY - drag.y) < FAR) return;
  if (!drag.live) {
    drag.live = true;
    select(drag.from, false);
    getSelection().removeAllRanges();
    parts.host.classList.add("dragging");
    parts.root.disabled = false;
    follow();
  }
  event.preventDefault();
  drawDrag();
}

function drawDrag() {
  const frame = parts.picture.getBoundingClientRect();
  const box = button(drag.from).getBoundingClientRect();
  const from = column.matches ? { x: box.left - frame.left, y: box.top + box.height / 2 - frame.top } : { x: box.left + box.width / 2 - frame.left, y: box.top - frame.top };
  drawLine(parts.picture, from, { x: drag.at.clientX - frame.left, y: drag.at.clientY - frame.top });
  const over = wordAt(drag.at.clientX, drag.at.clientY);
  parts.buttons.forEach((one, n) => one.classList.toggle("target", n === over && n !== drag.from));
  parts.root.classList.toggle("target", over === -1);
}

// While the pointer is near an edge, what lies beyond comes nearer.
function follow() {
  if (!drag?.live) return;
  const { clientX: x, clientY: y } = drag.at;
  const frame = parts.host.getBoundingClientRect();
  if (column.matches) {
    const floor = parts.panel.getBoundingClientRect().top;
    scrollBy(0, y < EDGE ? -8 : y > floor - EDGE ? 8 : 0);
  } else parts.host.scrollLeft += x < frame.left + EDGE ? -10 : x > frame.right - EDGE ? 10 : 0;
  drawDrag();
  requestAnimationFrame(follow);
}

function dropped(event) {
  if (!drag || event.pointerId !== drag.id) return;
  const { from, live } = drag;
  endDrag();
  if (!live) return;
  swallowClick();
  const head = event.type === "pointerup" ? wordAt(event.clientX, event.clientY) : null;
  if (head !== null && head !== from) attach(from, head); else draw();
}

function swallowClick() {
  swallow = true;
  setTimeout(() => { swallow = false; });
}

function endDrag() {
  drag = null;
  parts.host.classList.remove("dragging");
  drawLine(parts.picture, null, null);
  parts.root.classList.remove("target");
}

// -- keys --

function step(way) {
  const n = Math.max(0, Math.min(words.length - 1, (picking ? target ?? now : now) + way));
  if (!picking) { select(n); tell(""); return; }
  target = n;
  draw();
  button(n).focus({ preventScroll: true });
  bringIntoView(n);
}

function wayOf(name) {
  if (name === "ArrowRight" || (column.matches && name === "ArrowDown")) return 1;
  return name === "ArrowLeft" || (column.matches && name === "ArrowUp") ? -1 : 0;
}

function key({ key: name }) {
  const way = wayOf(name);
  if (way) { step(way); return true; }
  if (name === "Escape" && drag) { endDrag(); swallowClick(); draw(); return true; }
  if (name === "Escape" && picking) { stopPicking(); draw(); button(now).focus(); tell(messages.pick_stopped); return true; }
  const shown = relations()[Number(name) - 1];
  if (/^[1-9]$/.test(name) && shown) { setLabel(shown.dataset.value); return true; }
  const run = { 0: () => attach(now, -1), h: startPicking, n: () => goOn(1), p: () => goOn(-1), a: showAll, Delete: clear, Backspace: clear, z: stepBack }[name];
  run?.();
  return Boolean(run);
}

start({
  keys: [["← →", "key_word"], ["h", "key_head"], ["0", "key_root"], ["1–9", "key_label"], ["n p", "key_open"], ["a", "key_all"], ["Delete", "key_clear"], ["z", "key_back"]],
  show(item) {
    ({ words } = item.inputs);
    [past, picking, target, all, drag] = [[], false, null, false, null];
    answers = readAnswers(item);
    const made = words.map(makeWord);
    const root = make("button", { type: "button", class: "word root-word", disabled: true }, messages.root);
    root.addEventListener("click", () => { if (picking && !swallow) attach(now, -1); });
    const list = make("ol", { class: "words", "aria-label": messages.words }, make("li", {}, root), ...made.map(({ row }) => row));
    const host = make("div", { class: "tree" }, make("div", { class: "inner" }, picture(), list));
    drawnDown = null;
    parts = { ...makePanel(), host, list, root, picture: host.querySelector("svg"), buttons: made.map(({ shown }) => shown) };
    place.replaceChildren(make("p", { class: "text", dir: "auto" }, item.inputs.text), host, parts.panel);
    fields.replaceChildren(problemPlace(question));
    new ResizeObserver(() => { if (list.isConnected) drawPicture(); }).observe(list);
  },
  fill(answer, item, fresh) {
    const given = fresh && answers.length ? agreedTree() : fresh ? item.inputs.tree : answer[question];
    heads = indexes().map((n) => given?.heads?.[n] ?? null);
    labels = indexes().map((n) => given?.labels?.[n] ?? null);
    [past, now] = [[], Math.max(0, indexes().findIndex(isOpen))];
    draw();
  },
  filled: (item) => Boolean(item.inputs.tree),
  read: () => ({ [question]: { heads: [...heads], labels: [...labels] } }),
  key,
});
document.addEventListener("pointermove", moved, { passive: false });
document.addEventListener("pointerup", dropped);
document.addEventListener("pointercancel", dropped);
column.addEventListener("change", () => { if (parts.list?.isConnected) draw(); });
