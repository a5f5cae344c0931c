// Which key was meant. A keyboard set to Hangul, kana or full width sends other letters from the same places.
const LETTER = /^Key([A-Z])$/;
const FIGURE = /^(?:Digit|Numpad)([0-9])$/;

export function keyOf(event) {
  const { key, code = "" } = event;
  if ([...key].length !== 1 || key <= "~") return key;
  const wide = key.normalize("NFKC");
  if (wide.length === 1 && wide <= "~") return wide;
  if (code === "Slash" && event.shiftKey) return "?";
  return LETTER.exec(code)?.[1].toLowerCase() ?? FIGURE.exec(code)?.[1] ?? key;
}

// A key that is held down scrolls and moves on in a text; it neither submits nor chooses again.
export const held = (event) => event.repeat && (event.key === "Enter" || /^\S$/u.test(event.key));
