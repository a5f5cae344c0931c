// An answer of any form as text: labels by their names, spans by their text, choices by their wording.
import { make, messages, nameOf, settings } from "./form.js";

const slice = (text, start, end) => [...text].slice(start, end).join("");

function line(...parts) {
  return make("span", { class: "answer-text" }, ...parts);
}

// Of a tree the words on which the answers differ, or all where there is one answer alone.
function arcs({ heads, labels }, { inputs, answers = [] }) {
  const others = answers.flatMap(({ answer }) => Object.values(answer)).filter((tree) => Array.isArray(tree?.heads));
  const differs = (n) => others.length < 2 || others.some((tree) => tree.heads[n] !== others[0].heads[n] || tree.labels[n] !== others[0].labels[n]);
  const form = (n) => inputs.words?.[n]?.form ?? String(n + 1);
  const head = (n) => (heads[n] === null ? "?" : heads[n] === 0 ? messages.root : form(heads[n] - 1));
  const shown = heads.map((_, n) => n).filter(differs);
  return shown.map((n) => line(`${form(n)} → ${head(n)} `, make("b", {}, labels[n] === null ? "?" : nameOf(labels[n]))));
}

// A letter names one of the choices of an item; steps of a comparison have words.
function named(question, value, { inputs }) {
  if (Array.isArray(inputs.choices) && /^[A-Z]$/.test(value)) return inputs.choices[value.charCodeAt(0) - 65] ?? value;
  if (question === "by") return messages[`by_${settings.steps === 2 && value === 2 ? 3 : value}`] ?? String(value);
  return null;
}

// Which question a part of an answer is about, where the form has words for it.
function titled(question, parts, count) {
  const title = count > 1 ? messages[`title_${question}`] && (settings.names?.[question] ?? messages[`title_${question}`]) : null;
  return title ? [line(make("b", {}, title), " ", ...parts)] : parts;
}

function one(value, { inputs }, place, count) {
  if (typeof value === "number") return line(inputs.choices?.[value] ?? String(value));
  if (typeof value === "string") {
    const label = settings.labels && settings.labels.length === count && !settings.labels.includes(value) ? settings.labels[place] : null;
    return line(...(label === null ? [] : [make("b", {}, nameOf(label)), " "]), nameOf(value));
  }
  if (typeof value?.start === "number" && typeof value.end === "number") {
    return line(slice(inputs.text ?? "", value.start, value.end), " ", make("b", {}, nameOf(value.label ?? "")));
  }
  if (typeof value?.question === "string") return line(...(value.type ? [make("b", {}, nameOf(value.type)), " "] : []), value.question, " → ", make("b", {}, value.answer ?? ""));
  if (typeof value?.text === "string" && typeof value.start === "number") return line(value.text || make("b", {}, messages.no_answer ?? "–"));
  if (Array.isArray(value)) return line(`${place + 1}. `, value.map((entry) => nameOf(entry)).join(", ") || "–"); // the states of a dialogue
  if (Array.isArray(value?.turns)) return line(value.turns.map(({ text }) => text).join(" / "));
  return line(JSON.stringify(value));
}

// The form itself shows the place of an answer, so `start` is skipped.
export function answerText(answer, item) {
  const entries = Object.entries(answer).filter(([question]) => question !== "start");
  const parts = entries.flatMap(([question, value]) => titled(question, named(question, value, item) !== null ? [line(named(question, value, item))] : (Array.isArray(value?.heads) ? arcs(value, item) : Array.isArray(value) ? value.map((each, place) => one(each, item, place, value.length)) : [one(value, item)]), entries.length));
  return parts.length ? parts : ["–"];
}
