// Three-way inference, and which sentence is unnatural where that is asked.
import { make, nameOf, say, settings } from "./form.js";
import { choose, legend } from "./choose.js";
import { digits, inputName, radios } from "./parts.js";

const RELATIONS = ["entailment", "contradiction", "neutral"];
const NATURALNESS = ["natural", "premise", "hypothesis", "both"];
const { question, naturalness, quick } = settings;

// What workers answered before, where one who decides is to see it.
function showVotes(votes) {
  const entries = votes.map(([label, count]) => make("li", {}, say("vote", { label: nameOf(label), count })));
  return make("div", { class: "block block-votes" }, make("h3", {}, inputName("votes")), make("ul", { class: "given" }, ...entries));
}

choose(({ inputs }) => {
  if (inputs.votes) document.getElementById("item").append(showVotes(inputs.votes));
  const relation = { question, group: radios(question, "", digits(RELATIONS), quick && !naturalness) };
  if (!naturalness) return [relation];
  const group = radios("naturalness", legend("naturalness"), digits(NATURALNESS, 4));
  group.element.classList.add("many");
  return [relation, { question: "naturalness", group }];
});
