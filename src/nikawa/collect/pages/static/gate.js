// The artifact gate on the dashboard: what gives labels away, by batch, word and writer.
import { draw, empty, flags, foreign, isEnglish, labelName, make, number, percent, say, table, words } from "./owner.js";

function batches(found) {
  const x = (place) => 46 + (found.batches.length < 2 ? 220 : 440 * place / (found.batches.length - 1));
  const y = (share) => 150 - 135 * share;
  const lines = [0, .5, 1].flatMap((share) => [draw("line", { class: "axis", x1: "46", x2: "486", y1: y(share), y2: y(share) }),
    draw("text", { x: "40", y: y(share) + 4, "text-anchor": "end" }, percent(share))]);
  const chance = draw("line", { class: "chance", x1: "46", x2: "486", y1: y(found.guessed.chance), y2: y(found.guessed.chance) });
  const marks = found.batches.flatMap((batch, place) => [
    draw("line", { class: "range", x1: x(place), x2: x(place), y1: y(batch.low), y2: y(batch.high) }),
    draw("circle", { class: batch.low > found.guessed.chance ? "dot odd" : "dot", cx: x(place), cy: y(batch.accuracy), r: "5" },
      draw("title", {}, `${place + 1}: ${percent(batch.accuracy)} (${percent(batch.low)} – ${percent(batch.high)})`))]);
  const caption = say("gate_batches", { batch: number(found.batch) });
  return make("figure", {}, draw("svg", { class: "chart", viewBox: "0 0 500 165", role: "img", "aria-label": caption }, ...lines, chance, ...marks), make("figcaption", {}, caption));
}

function verdict(found) {
  if (!found.labelled) return [];
  if (!found.guessed) return [make("p", { class: "hint" }, found.needed ? say("gate_needed", { needed: number(found.needed) }) : words.gate_untrained)];
  const { accuracy, low, high, chance, alarm } = found.guessed;
  const values = { accuracy: percent(accuracy), low: percent(low), high: percent(high), chance: percent(chance) };
  return [make("p", { id: "verdict", class: alarm ? "notice" : "fine" }, say(alarm ? "gate_alarm" : "gate_quiet", values)), batches(found)];
}

function named(pairs) {
  return make("span", {}, ...pairs.flatMap(([name, count], place) => [place ? ", " : "", foreign(name), ` (${number(count)})`]));
}

function wordTable(found) {
  const title = make("h3", {}, found.labelled ? words.gate_words : words.gate_added);
  if (!found.words.length) return [title, empty(found.labelled ? "gate_words_none" : "none")];
  const labelled = found.labelled ? [words.label, words.recent] : [];
  const cells = found.words.map((row) => [foreign(row.token), ...(found.labelled ? [labelName(row.label), number(row.recent)] : []), `${percent(row.share)} (${number(row.count)}/${number(row.n)})`, named(row.writers)]);
  return [title, table([words.word, ...labelled, words.share, words.writers], cells, 10)];
}

function labels(found) {
  if (!found.lengths.length) return [];
  const rows = found.lengths.map((row) => [labelName(row.label), number(row.n), number(row.mean), percent(found.overlap[row.label])]);
  const near = Object.entries(found.near).map(([label, tokens]) => [labelName(label), foreign(tokens.map((one) => one.token).join("、"))]);
  return [make("h3", {}, words.gate_lengths), table([words.label, words.texts, words.characters, words.overlap], rows),
    make("p", { class: "hint" }, say("gate_explained", { share: percent(found.explained) })),
    make("details", {}, make("summary", {}, words.gate_near), table([words.label, words.word], near))];
}

const cutBy = (tokeniser) => (isEnglish ? tokeniser : words[`tokeniser_${tokeniser}`] ?? words.tokeniser_words);

export function showGate(found) {
  if (!found.texts) return [empty("gate_none")];
  const writers = found.writers.map((row) => [foreign(row.writer), number(row.texts), number(row.characters), percent(row.overlap), percent(row.guessed), flags(row.flags)]);
  return [...verdict(found), ...wordTable(found),
    ...(writers.length ? [make("h3", {}, words.writers), table([words.writer, words.texts, words.characters, words.overlap, words.guessed, words.flags], writers, 10)] : []),
    ...labels(found), make("p", { class: "hint" }, say("gate_of", { texts: number(found.texts), tokeniser: cutBy(found.tokeniser) }))];
}
