// Forms answered by radio buttons: each question of an item is a group.
import { messages, start } from "./form.js";
import { fields, showTexts } from "./parts.js";

// groups(item) -> [{ question, group }] as `radios` makes them; more: what else the form does.
export function choose(groups, more = {}) {
  let current = [];
  start({
    keys: [["1–9", "key_choose"]],
    show(item) {
      showTexts(item.inputs);
      current = groups(item);
      fields.replaceChildren(...current.map(({ group }) => group.element));
    },
    fill(answer) { for (const { question, group } of current) group.set(answer[question]); },
    read() {
      const given = current.map(({ question, group }) => [question, group.get()]);
      return Object.fromEntries(given.filter(([, value]) => value !== null));
    },
    key: (event) => event.key.length === 1 && current.some(({ group }) => group.press(event.key)),
    ...more,
  });
}

export const legend = (question) => messages[`question_${question}`] ?? "";
