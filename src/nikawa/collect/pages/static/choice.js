import { call, messages, settings } from "./collect.js";

const item = document.getElementById("item");
const choices = document.getElementById("choices");
const status = document.getElementById("status");
const undo = document.getElementById("undo");
let current = null;

function show(state) {
  current = state.item;
  undo.hidden = !state.can_undo;
  status.textContent = current ? "" : [messages[`stage_${state.stage}`], state.code || ""].join(" ");
  item.replaceChildren(...Object.entries(current ? current.inputs : {}).map(([name, text]) => {
    const paragraph = document.createElement("p");
    paragraph.textContent = text;
    paragraph.dataset.input = name;
    return paragraph;
  }));
  choices.hidden = !current;
}

async function send(label) {
  if (!current) return;
  const answer = { [settings.question]: label };
  const reply = await call("answer", { lease: current.lease, key: crypto.randomUUID(), answer });
  if (reply.status === 200) show(reply.body.state); else status.textContent = reply.body.message;
}

for (const label of settings.labels) {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = label;
  button.addEventListener("click", () => send(label));
  choices.append(button);
}
undo.addEventListener("click", async () => show((await call("undo", { key: crypto.randomUUID() })).body.state));
show((await call("next")).body);
