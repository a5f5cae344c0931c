// The dialogs of a worker's page, and the keys that work everywhere on it.
import { held, keyOf } from "./keys.js";

const byId = (name) => document.getElementById(name);
const messages = JSON.parse(byId("work").dataset.messages);
let act = null;

export function open(name) {
  const dialog = byId(name);
  if (dialog.open) return;
  if (name === "report") { byId("report-form").reset(); byId("send-report").disabled = true; }
  dialog.showModal(); // the browser keeps the focus inside, and gives it back
  dialog.scrollTop = 0; // a long guideline opens at its start, although the focus is on the button below it
}

export function wireDialogs(report) {
  for (const name of ["guideline", "keys"]) byId(`open-${name}`).addEventListener("click", () => open(name));
  byId("open-report").addEventListener("click", () => open("report"));
  for (const dialog of document.querySelectorAll("dialog")) {
    dialog.addEventListener("click", (event) => {
      if (event.target === dialog || event.target.closest(".close")) dialog.close();
    });
  }
  const form = byId("report-form");
  form.addEventListener("change", () => { byId("send-report").disabled = !form.elements.code.value; });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (!form.elements.code.value) return;
    byId("report").close();
    report(form.elements.code.value, byId("report-comment").value);
  });
}

export function fillKeys(own) {
  const rows = [...own, ["Enter", "submit"], ["Ctrl+Enter", "key_submit"], ["u", "undo"], ["r", "report"],
    ["c", "comment"], ["g", "guideline"], ["?", "keyboard"], ["Esc", "key_leave"]];
  byId("keys-list").replaceChildren(...rows.map(([key, message]) => {
    const row = document.createElement("tr");
    const [head, cell] = [document.createElement("th"), document.createElement("td")];
    head.scope = "row";
    for (const part of key.split(" ")) {
      const shown = document.createElement("kbd");
      shown.textContent = part;
      head.append(shown, " ");
    }
    cell.textContent = messages[message] ?? message;
    row.append(head, cell);
    return row;
  }));
}

const TYPING = "textarea, select, input:not([type=radio]):not([type=checkbox])";

function inReport(event) {
  const place = Number(keyOf(event)) - 1;
  const choices = byId("report-form").querySelectorAll("input[type=radio]");
  if (event.target.matches(TYPING) || !(place in choices)) return;
  choices[place].click();
  choices[place].focus();
}

function inPage(event, key) {
  const run = { u: act.undo, g: () => open("guideline"), "?": () => open("keys"),
    r: () => open("report"), c: act.comment }[key];
  if (key === "Enter" && !event.target.closest("button, summary, a, input")) {
    event.preventDefault();
    act.submit();
  } else if (run && ("g?u".includes(key) || act.ready())) {
    event.preventDefault();
    run();
  }
}

// Input methods send keys of their own while a word is composed: those are never ours.
function pressed(event) {
  if (event.isComposing || event.keyCode === 229 || event.defaultPrevented) return;
  const shown = document.querySelector("dialog[open]");
  if (shown) { if (shown.id === "report") inReport(event); return; }
  if (held(event) && !event.target.matches(TYPING)) { event.preventDefault(); return; }
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    if (!event.repeat) act.submit();
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.matches(TYPING)) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  if (act.off() && event.key.length === 1) return;
  const key = keyOf(event);
  if (act.form({ key })) { event.preventDefault(); return; }
  inPage(event, key);
}

export function bind(actions) {
  act = actions;
  byId("keys-on").checked = !act.off();
  byId("keys-on").addEventListener("change", (event) => act.switchKeys(event.target.checked));
  document.addEventListener("keydown", pressed);
}
