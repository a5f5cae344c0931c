// How much of a question is copied from a passage: the same as nikawa.text.copied, which decides when it is sent.
const RUN = 3;
const LETTER = /[\p{L}\p{N}]/u;

// The letters and digits of a text, each with its place.
function letters(text) {
  return [...text].map((char, place) => ({ char: char.toLowerCase(), place })).filter(({ char }) => LETTER.test(char));
}

const runAt = (list, place) => list.slice(place, place + RUN).map(({ char }) => char).join("\0");

// { share, marks }: the share of the question's letters, and where the passage has them.
export function copied(question, passage) {
  const [mine, given] = [letters(question), letters(passage)];
  const runs = new Map();
  for (let place = 0; place + RUN <= given.length; place += 1) {
    const run = runAt(given, place);
    runs.set(run, [...(runs.get(run) ?? []), place]);
  }
  const found = new Set();
  const there = new Set();
  for (let place = 0; place + RUN <= mine.length; place += 1) {
    for (const at of runs.get(runAt(mine, place)) ?? []) {
      for (let step = 0; step < RUN; step += 1) { found.add(place + step); there.add(given[at + step].place); }
    }
  }
  return { share: mine.length ? found.size / mine.length : 0, marks: stretches(there) };
}

function stretches(places) {
  const marks = [];
  for (const place of [...places].sort((one, other) => one - other)) {
    if (marks.at(-1)?.end === place) marks.at(-1).end += 1;
    else marks.push({ start: place, end: place + 1, label: "", kind: "copied" });
  }
  return marks;
}
