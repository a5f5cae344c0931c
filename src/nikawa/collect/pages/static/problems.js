// The problems of an answer, shown next to the fields they concern.
import { make } from "./form.js";

const byId = (name) => document.getElementById(name);

export function problemPlace(where) {
  return make("p", { class: "problem", id: `problem-${where}`, "data-problem": where, "aria-live": "polite" });
}

export function clearProblems() {
  byId("problems").hidden = true;
  byId("problems").textContent = "";
  for (const place of document.querySelectorAll("[data-problem]")) { place.textContent = ""; place.classList.remove("warning"); }
  for (const field of document.querySelectorAll("[aria-invalid]")) field.removeAttribute("aria-invalid");
}

// Shows each problem next to its field; problems without a field go to the general place. Returns the first field.
export function mark(problems) {
  let first = null;
  for (const problem of problems) {
    const place = document.querySelector(`[data-problem="${CSS.escape(problem.where ?? "")}"]`);
    if (!place) { alertText(problem.message); continue; }
    if (place.textContent) continue;
    place.textContent = problem.message;
    place.classList.toggle("warning", Boolean(problem.warning));
    const field = document.querySelector(`[data-where="${CSS.escape(problem.where)}"]`);
    if (field && !problem.warning) { field.setAttribute("aria-invalid", "true"); first ??= field; }
  }
  return first;
}

function alertText(text) {
  byId("problems").textContent = text;
  byId("problems").hidden = !text;
}

export function refuse(problems, message) {
  clearProblems();
  const field = mark(problems);
  if (!problems.length || !field) alertText(message);
  const place = field?.querySelector("input, textarea, [tabindex]") ?? field;
  place?.focus();
}
