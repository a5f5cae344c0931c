// Single choice.
import { settings } from "./collect.js";
import { choose } from "./choose.js";
import { digits, radios } from "./parts.js";

const { question } = settings;
choose(() => [{ question, group: radios(question, "", digits(settings.labels), settings.quick) }]);
