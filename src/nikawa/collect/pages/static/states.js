// The states of a dialogue: what the user has asked for by each turn. A state is a list of "domain-slot-value".
import { changed, make, messages, nameOf, say, settings, tell } from "./form.js";

const OFFERED = 9; // suggestions of a turn, each with a digit as its key
const UNSPOKEN = new Set(["yes", "no", "dontcare"]); // values that stand for something else in a text

// { slot, values, kind } of everything a state may hold, by domain.
const domains = Object.entries(settings.ontology.domains).map(([domain, { slots }]) => [domain, Object.entries(slots)
  .map(([name, { kind = "find", values = [] }]) => ({ slot: `${domain}-${name}`, name, kind, values }))
  .filter(({ kind }) => kind !== "ask")]);
const slots = new Map(domains.flatMap(([, rows]) => rows.map((row) => [row.slot, row])));

export function split(entry) {
  const at = entry.lastIndexOf("-");
  return [entry.slice(0, at), entry.slice(at + 1)];
}

export const nameSlot = (slot) => slot.replace("-", " ");

export function nameEntry(entry) {
  const [slot, value] = split(entry);
  return `${nameSlot(slot)}: ${nameOf(value)}`;
}

// As the server searches for values: width, case, blanks and hyphens do not count; lines stay apart.
const fold = (text) => text.normalize("NFKC").toLowerCase().replace(/[^\S\n]|-/g, "");

// Entries whose value is written in a text, the longest values first: "East Station" goes before "East".
export function entriesIn(text, filter = () => true) {
  const written = fold(text);
  const found = [];
  for (const { slot, values } of slots.values()) {
    for (const value of values) {
      if (!UNSPOKEN.has(value) && written.includes(fold(value)) && filter(slot)) found.push(`${slot}-${value}`);
    }
  }
  const isBooked = (entry) => slots.get(split(entry)[0]).kind === "book"; // "to the Rose Inn" comes after the inn itself
  return found.sort((one, other) => split(other)[1].length - split(one)[1].length || isBooked(one) - isBooked(other));
}

// board({ offers(k): entries that may be new after the k-th turn of the user }): an editor for each of these turns.
export function stateBoard({ offers }) {
  let states = [];
  let editors = [];

  const at = (k, slot) => states[k].find((entry) => split(entry)[0] === slot);

  // An entry is carried over to the turns after it, up to one where the slot has another value already.
  function put(k, entry) {
    const [slot] = split(entry);
    const before = at(k, slot);
    for (let n = k; n < states.length; n += 1) {
      const here = at(n, slot);
      if (n > k && here !== undefined && here !== before) break;
      states[n] = [...states[n].filter((one) => one !== here), entry];
    }
    finish(messages.state_added ? say("state_added", { entry: nameEntry(entry) }) : "");
  }

  function drop(k, entry) {
    for (let n = k; n < states.length && states[n].includes(entry); n += 1) states[n] = states[n].filter((one) => one !== entry);
    finish(say("state_removed", { entry: nameEntry(entry) }));
  }

  function finish(text) {
    draw();
    changed();
    tell(text);
  }

  function offered(k) {
    return [...new Set(offers(k))].filter((entry) => !states[k].includes(entry)).slice(0, OFFERED);
  }

  function drawOne(k) {
    const { list, offer } = editors[k];
    const kept = new Set(k > 0 ? states[k - 1] : []);
    const rows = states[k].map((entry) => {
      const remove = make("button", { type: "button", class: "remove", "aria-label": say("state_remove", { entry: nameEntry(entry) }) }, "×");
      remove.addEventListener("click", () => drop(k, entry));
      return make("li", { class: kept.has(entry) ? "carried" : "new" }, make("span", { class: "tag", dir: "auto" }, nameEntry(entry)), remove);
    });
    list.replaceChildren(...(rows.length ? rows : [make("li", { class: "empty" }, messages.state_none)]));
    const entries = offered(k);
    offer.hidden = entries.length === 0;
    offer.replaceChildren(make("span", { class: "hint" }, messages.state_offered), ...entries.map((entry, place) => {
      const button = make("button", { type: "button", class: "choice" }, make("kbd", { "aria-hidden": "true" }, String(place + 1)), make("span", { dir: "auto" }, nameEntry(entry)));
      button.addEventListener("click", () => put(k, entry));
      return button;
    }));
  }

  const draw = () => editors.forEach((_, k) => drawOne(k));

  // Any slot with any value: two lists and a button.
  function picker(k) {
    const slot = make("select", { "aria-label": messages.state_slot }, ...domains.map(([domain, rows]) =>
      make("optgroup", { label: domain }, ...rows.map((row) => make("option", { value: row.slot }, row.name)))));
    const value = make("select", { "aria-label": messages.state_value });
    const fill = () => {
      const { values, kind } = slots.get(slot.value);
      value.replaceChildren(...[...values, ...(kind === "offer" ? [] : ["dontcare"])].map((one) => make("option", { value: one }, nameOf(one))));
    };
    slot.addEventListener("change", fill);
    fill();
    const add = make("button", { type: "button" }, messages.state_add);
    add.addEventListener("click", () => put(k, `${slot.value}-${value.value}`));
    return make("details", { class: "more" }, make("summary", {}, messages.state_more), make("div", { class: "row" }, slot, value, add));
  }

  return {
    // The editor of a turn; made in the order of the turns.
    editor(k) {
      const heading = `state-${k}`;
      const list = make("ul", { class: "tags", "aria-labelledby": heading });
      const offer = make("div", { class: "offered", role: "group", "aria-label": messages.state_offered });
      editors[k] = { list, offer };
      states[k] ??= k > 0 ? [...states[k - 1]] : [];
      drawOne(k);
      return make("div", { class: "state" }, make("h3", { id: heading, "aria-label": say("state_of", { number: k + 1 }) }, messages.state), list, offer, picker(k));
    },
    reset(given) { states = given.map((state) => [...state]); editors = []; },
    get: () => states.map((state) => [...state]),
    state: (k) => [...(states[k] ?? [])],
    cut(count) { states.length = Math.min(states.length, count); editors.length = Math.min(editors.length, count); },
    draw,
    press(k, place) {
      const entry = editors[k] && offered(k)[place];
      if (entry) put(k, entry);
      return Boolean(entry);
    },
  };
}
