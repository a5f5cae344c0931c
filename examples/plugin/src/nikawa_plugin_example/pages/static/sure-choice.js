// A choice, and how sure the worker is. The modules are those of Nikawa's own forms.
import { messages, settings } from "./form.js";
import { choose } from "./choose.js";
import { digits, radios } from "./parts.js";

const KEYS = { 1: "a", 2: "s", 3: "d" };
const degrees = [1, 2, 3].map((value) => ({ value, name: messages[`sure_${value}`], key: KEYS[value] }));

choose(() => [
  { question: "label", group: radios("label", "", digits(settings.labels)) },
  { question: "sure", group: radios("sure", messages.sure, degrees) },
], { keys: [[`1–${settings.labels.length}`, "key_choose"], ["a s d", "key_sure"]] });
