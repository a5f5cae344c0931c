// Tools for the script of a form: messages, elements, and the page that shows it (the worker's or the owner's).
// A script calls start({ show, fill, read, ... }); nothing here knows which form it is.
const work = document.getElementById("work");
export const messages = JSON.parse(work.dataset.messages);
export const settings = JSON.parse(work.dataset.settings);
export const language = document.documentElement.lang;
export const textLanguage = work.dataset.texts;
export const LONG = 1200; // characters after which a text scrolls in its own box
let form = null;
let desk = null;

export function say(key, values = {}) {
  const text = messages[key] ?? key;
  return text.replace(/\{(\w+)\}/g, (_, name) => values[name] ?? settings[name] ?? "");
}

export function nameOf(label) {
  return settings.names?.[label] ?? messages[`label_${label}`] ?? String(label);
}

export function make(tag, given = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined || value === null || value === false) continue;
    if (name in element && typeof value !== "string") element[name] = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children);
  return element;
}

// form: { show(item), fill(answer, item, fresh), read(), live?, filled?(item), key?({ key }), keys?: [[key, message]],
// prompt?(item): the message that asks, where it is not "prompt"; values?(item): what that message names }
// ends?(): whether the item may be submitted now; checked?(problems): what the rules of a live form say of what is written
// filled: whether a fresh item comes with something that could be sent without changes
export function start(given) {
  form = given;
  desk?.begin(form);
}

// desk: { begin(form), changed(), submit(), tell(text) }, and on a worker's page what server() tells
export function attend(given) {
  desk = given;
  if (form) desk.begin(form);
}

export const changed = () => desk.changed(); // forms call it after each change
export const submit = () => desk.submit();
export const tell = (text) => desk.tell(text);
// A page that talks to the server while an item is in hand: { call, insist, refresh, newKey, kept } of a worker's page.
export const server = () => desk;
export const promptOf = (given, item) => settings.prompt || say(given.prompt?.(item) ?? "prompt", { ...item.inputs, ...given.values?.(item) });
