// A passage in which answers are marked, and the places of the page that show what was marked.
import { make } from "./form.js";
import { inputName, problemPlace, showTexts } from "./parts.js";
import { selectable, textBox } from "./marks.js";

// Shows the texts of an item with the passage ready to be marked in. on: as `selectable` takes it.
export function showPassage(inputs, names, on) {
  const place = showTexts(inputs, names);
  const host = textBox(inputName("context"));
  place.querySelector(".block-context .text").replaceWith(host);
  const passage = selectable(host, on);
  return {
    // answer: { text, start } or null; others: further marks
    show(answer, others = []) {
      const mark = answer?.text ? [{ start: answer.start, end: answer.start + [...answer.text].length, label: "", kind: "answer" }] : [];
      passage.show(inputs.context, [...mark, ...others]);
    },
  };
}

// Where an answer is shown that was marked: { element, set(answer) }.
export function answerBox(place, legend, empty) {
  const shown = make("output", { class: "answer", "data-where": `answer-${place}`, tabindex: "-1" });
  return {
    element: make("div", { class: "field" }, make("h3", {}, legend), shown, problemPlace(`answer-${place}`)),
    set(text) {
      shown.textContent = text || empty;
      shown.classList.toggle("empty", !text);
    },
  };
}

// The place of an answer that does not say it: where the passage has it first.
export const placeOf = (context, text) => [...context.slice(0, Math.max(0, context.indexOf(text)))].length;
