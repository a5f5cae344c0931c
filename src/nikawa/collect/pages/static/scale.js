// A scale: its numbers are the keys, where they have one digit.
import { messages, settings } from "./form.js";
import { choose } from "./choose.js";
import { radios } from "./parts.js";

const { question, low, high, step, anchors, quick } = settings;
const own = Object.keys(anchors).length > 0;
const values = Array.from({ length: Math.round((high - low) / step) + 1 }, (_, place) => Number((low + place * step).toFixed(6)));

function entry(value) {
  const anchor = own ? anchors[value] : messages[`anchor_${value}`];
  const single = Number.isInteger(value) && value >= 0 && value <= 9;
  const said = [value, anchor].filter((part) => part !== undefined).join(" "); // screen readers speak the number too
  return { value, said, name: single ? anchor ?? "" : said, key: single ? String(value) : "" };
}

choose(() => {
  const group = radios(question, "", values.map(entry), quick);
  group.element.classList.add("scale");
  return [{ question, group }];
}, { keys: [[`${Math.max(0, low)}–${Math.min(9, high)}`, "key_choose"]] });
