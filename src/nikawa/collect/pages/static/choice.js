// Single choice.
import { settings } from "./form.js";
import { choose } from "./choose.js";
import { digits, radios } from "./parts.js";

const { question } = settings;
choose(() => [{ question, group: radios(question, "", digits(settings.labels), settings.quick) }]);
