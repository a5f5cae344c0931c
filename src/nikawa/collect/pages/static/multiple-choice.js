// Answer a multiple choice: the number of the choice, from 0.
import { settings } from "./form.js";
import { choose } from "./choose.js";
import { radios } from "./parts.js";

const { question, quick } = settings;
choose(({ inputs }) => {
  const entries = inputs.choices.map((name, value) => ({ value, name, key: value < 9 ? String(value + 1) : "" }));
  return [{ question, group: radios(question, "", entries, quick) }];
});
