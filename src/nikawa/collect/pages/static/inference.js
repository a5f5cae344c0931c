// Three-way inference, and which sentence is unnatural where that is asked.
import { settings } from "./form.js";
import { choose, legend } from "./choose.js";
import { digits, radios } from "./parts.js";

const RELATIONS = ["entailment", "contradiction", "neutral"];
const NATURALNESS = ["natural", "premise", "hypothesis", "both"];
const { question, naturalness, quick } = settings;

choose(() => {
  const relation = { question, group: radios(question, "", digits(RELATIONS), quick && !naturalness) };
  if (!naturalness) return [relation];
  const group = radios("naturalness", legend("naturalness"), digits(NATURALNESS, 4));
  group.element.classList.add("many");
  return [relation, { question: "naturalness", group }];
});
