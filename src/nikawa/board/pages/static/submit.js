// The page to submit: every file is sent and checked by itself; only the button makes a submission of them.
const form = document.getElementById("submission");
const words = JSON.parse(form.dataset.words);
const csrf = form.dataset.csrf;
const max = { bytes: Number(form.dataset.maxBytes), seeds: Number(form.dataset.maxSeeds) };
const finals = JSON.parse(form.dataset.finals); // the sets that are scored once, after the board closes
const byId = (name) => document.getElementById(name);
const plain = new Intl.NumberFormat(document.documentElement.lang);
const files = []; // {file, row, state: "waiting" | "checking" | "fine" | "wrong", reply}
let key = "";
let running = false;

const say = (name, values = {}) => (words[name] ?? name).replace(/\{(\w+)\}/g, (_, value) => values[value] ?? "");

function make(tag, given = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(given)) {
    if (name === "onclick") element.addEventListener("click", value);
    else if (value !== undefined && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children);
  return element;
}

function newKey() {
  key = Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function complain(text, cure = "") {
  byId("alert").textContent = cure ? `${text} — ${cure}` : text;
  byId("alert").hidden = !text;
  if (text) byId("alert").scrollIntoView({ block: "nearest" });
}

// Send something, with progress; answers {status, body}, status 0 where the connection failed.
function send(path, body, type, onSent = () => {}) {
  return new Promise((resolve) => {
    const request = new XMLHttpRequest();
    request.open("POST", path);
    request.setRequestHeader("X-CSRF-Token", csrf);
    request.setRequestHeader("Content-Type", type);
    request.setRequestHeader("Accept", "application/json");
    request.upload.addEventListener("progress", (event) => event.lengthComputable && onSent(event.loaded / event.total));
    request.addEventListener("loadend", () => {
      if (request.status === 401) location.assign("/log-in?next=/submit");
      let reply = {};
      try { reply = JSON.parse(request.responseText); } catch { /* no answer of ours */ }
      resolve({ status: request.status, body: reply });
    });
    request.send(body);
  });
}

function show(entry, text, state) {
  entry.state = state;
  entry.row.className = state;
  entry.row.querySelector(".result").replaceChildren(text);
  summarise();
}

function addFile(file) {
  const isSame = (other) => ["name", "shownName", "size", "lastModified"].every((part) => other[part] === file[part]);
  if (files.some((entry) => entry.state !== "wrong" && isSame(entry.file))) return;
  const remove = make("button", { type: "button", class: "remove", "aria-label": say("remove_file", { name: file.name }) }, say("remove"));
  const row = make("tr", {},
    make("td", { class: "file" }, make("bdi", {}, file.shownName ?? file.name), make("small", {}, say("size", { kilobytes: plain.format(Math.max(1, Math.round(file.size / 1024))) }))),
    make("td", { class: "result" }), make("td", {}, remove));
  const entry = { file, row, state: "waiting", reply: null };
  remove.addEventListener("click", () => {
    files.splice(files.indexOf(entry), 1);
    row.remove();
    newKey();
    summarise();
    byId("pick").focus();
  });
  files.push(entry);
  byId("files").append(row);
  newKey();
  if (file.size > max.bytes) show(entry, say("file_too_large", { megabytes: plain.format(max.bytes / 1e6) }), "wrong");
  else show(entry, say("waiting"), "waiting");
}

async function check(entry) {
  show(entry, say("sending", { percent: 0 }), "checking");
  const query = new URLSearchParams({ name: entry.file.name, task: byId("task").value });
  const { status, body } = await send(`/api/v1/uploads?${query}`, entry.file, "application/octet-stream", (share) => {
    entry.row.querySelector(".result").textContent = share < 1 ? say("sending", { percent: Math.round(100 * share) }) : say("checking");
  });
  if (!files.includes(entry)) return;
  if (status === 200) {
    entry.reply = body;
    const facts = make("span", {}, make("b", {}, say("fine")), " ", say("answers", { task: body.task, split: body.split, count: plain.format(body.answers) }));
    const notes = (body.warnings ?? []).map((text) => make("small", { class: "warning" }, text));
    show(entry, make("div", {}, facts, ...notes), "fine");
    return;
  }
  const message = body.message ?? say(status ? "refused" : "unreachable", { status });
  const parts = [make("span", {}, message)];
  if (body.cure) parts.push(make("small", {}, body.cure));
  const again = make("button", { type: "button", onclick: () => { check(entry); } }, say("again"));
  if (!status || status >= 500 || status === 429) parts.push(again);
  show(entry, make("div", {}, ...parts), "wrong");
}

async function checkAll() {
  if (running) return;
  running = true;
  for (let entry = files.find((one) => one.state === "waiting"); entry; entry = files.find((one) => one.state === "waiting")) await check(entry);
  running = false;
}

function summarise() {
  const count = (state) => files.filter((entry) => entry.state === state).length;
  const seeds = {};
  for (const entry of files.filter((one) => one.state === "fine")) {
    const place = `${entry.reply.task}:${entry.reply.split}`;
    seeds[place] = (seeds[place] ?? 0) + 1;
  }
  const parts = Object.entries(seeds).map(([place, number]) => say(number > 1 ? "part_seeds" : "part", { place, count: plain.format(number) }));
  const crowded = Object.values(seeds).some((number) => number > max.seeds);
  let text = parts.length ? say("ready", { parts: parts.join(say("comma")) }) : say("nothing");
  if (crowded) text = say("seeds_over", { seeds: max.seeds });
  if (count("wrong")) text = say("wrong_left");
  if (count("waiting") + count("checking")) text = say("busy");
  byId("summary").textContent = text;
  byId("send").disabled = !parts.length || crowded || count("wrong") + count("waiting") + count("checking") > 0;
  const missing = finals.filter(({ task, split }) => !byId("send").disabled && !seeds[`${task}:${split}`] && Object.keys(seeds).some((place) => place.startsWith(`${task}:`)));
  byId("missing").textContent = missing.length ? say("no_final", { parts: missing.map(({ task, split }) => `${task}:${split}`).join(say("comma")) }) : "";
  byId("missing").hidden = !missing.length;
  byId("table").hidden = !files.length;
}

// Files of a folder that was dropped; of a run folder of `nikawa run` only the answers.
async function listFolder(entry) {
  if (entry.isFile) return [await new Promise((resolve, reject) => entry.file(resolve, reject))];
  const reader = entry.createReader();
  const inside = [];
  for (let part = await readPart(reader); part.length; part = await readPart(reader)) inside.push(...part);
  const isRun = inside.some((one) => one.name === "run.json");
  const wanted = inside.filter((one) => !one.name.startsWith(".") && (!isRun || one.name === "predictions"));
  const found = [];
  for (const one of wanted) {
    for (const file of await listFolder(one)) {
      file.shownName = `${entry.name}/${file.shownName ?? file.name}`;
      found.push(file);
    }
  }
  return found;
}
const readPart = (reader) => new Promise((resolve, reject) => reader.readEntries(resolve, reject));

async function take(list) {
  const splits = new Set(JSON.parse(form.dataset.splits));
  for (const file of list) {
    const run = /(?:^|\/)predictions\/([^/]+)\.jsonl$/.exec(file.shownName ?? "");
    if (!run || splits.has(run[1])) addFile(file); // a run answers splits that the board does not score
  }
  await checkAll();
}

const drop = byId("drop");
drop.addEventListener("dragover", (event) => { event.preventDefault(); drop.classList.add("over"); });
drop.addEventListener("dragleave", () => drop.classList.remove("over"));
drop.addEventListener("drop", async (event) => {
  event.preventDefault();
  drop.classList.remove("over");
  const entries = [...event.dataTransfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
  if (!entries.length) { await take(event.dataTransfer.files); return; }
  const found = [];
  for (const entry of entries) found.push(...(await listFolder(entry)));
  await take(found);
});
byId("pick").addEventListener("change", async (event) => {
  const chosen = [...event.target.files];
  event.target.value = "";
  await take(chosen);
});
byId("task").addEventListener("change", async () => {
  for (const entry of files.filter((one) => one.state !== "checking")) show(entry, say("waiting"), "waiting");
  newKey();
  await checkAll();
});

function facts() {
  const read = (name) => byId(name).value.trim();
  const links = read("links").split("\n").map((line) => line.trim()).filter(Boolean).map((line) => {
    const at = line.search(/https?:\/\//);
    return { title: at > 0 ? line.slice(0, at).trim() : "", address: line.slice(Math.max(at, 0)) };
  });
  return {
    name: read("name"), description: read("description"), links, licence: read("licence"), parameters: read("parameters"),
    training_data: read("training_data"), anonymous: byId("anonymous").checked, publish: byId("publish").checked,
  };
}

function chosenSystem() {
  return form.querySelector("[name=system]:checked")?.value ?? "";
}

function showFacts() {
  byId("facts").hidden = chosenSystem() !== "";
  byId("name").required = chosenSystem() === "";
}
for (const choice of form.querySelectorAll("[name=system]")) choice.addEventListener("change", () => { showFacts(); newKey(); });

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  if (!form.reportValidity()) return;
  complain("");
  byId("send").disabled = true;
  const body = { uploads: files.map((entry) => entry.reply.upload), key };
  if (chosenSystem()) body.system = chosenSystem();
  else body.new_system = facts();
  const { status, body: reply } = await send("/api/v1/submissions", JSON.stringify(body), "application/json");
  if (status === 200) { location.assign(`/me?submitted=${encodeURIComponent(reply.submission)}`); return; }
  complain(reply.message ?? say(status ? "refused" : "unreachable_submission", { status }), reply.cure);
  byId("send").disabled = false;
});

newKey();
showFacts();
summarise();
