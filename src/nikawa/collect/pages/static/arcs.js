// Arcs of a dependency tree as SVG: above words in a row, or on the left of words in a column. An arc points to its head.
const SVG = "http://www.w3.org/2000/svg";
const [STEP, NARROW, ROUND, TIP] = [15, 9, 6, 5]; // pixels between levels in a row and in a column, of corners, of arrow heads

// The level of each arc { from, to }: above every shorter one that lies over a word between its ends.
export function levelsOf(arcs) {
  const order = arcs.map((arc, n) => ({ n, left: Math.min(arc.from, arc.to), right: Math.max(arc.from, arc.to) }))
    .sort((one, other) => one.right - one.left - (other.right - other.left) || one.left - other.left);
  const levels = [];
  order.forEach((arc, place) => {
    const below = order.slice(0, place).filter(({ left, right }) => left < arc.right && arc.left < right);
    levels[arc.n] = 1 + Math.max(0, ...below.map(({ n }) => levels[n]));
  });
  return levels;
}

// The words whose arc crosses another one.
export function crossing(arcs) {
  const cross = (one, other) => {
    const [a, b] = [Math.min(one.from, one.to), Math.max(one.from, one.to)];
    const [c, d] = [Math.min(other.from, other.to), Math.max(other.from, other.to)];
    return (a < c && c < b && b < d) || (c < a && a < d && d < b);
  };
  return new Set(arcs.filter((arc) => arcs.some((other) => cross(arc, other))).map(({ from }) => from));
}

function shape(tag, given) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(given)) element.setAttribute(name, String(value));
  return element;
}

// An arc along one axis: `along` is the place of a word, `across` grows towards them. `swap` draws it for a column.
function arcShapes({ start, end, depth, base, kind, swap }) {
  const way = Math.sign(end - start);
  const point = (along, across) => (swap ? `${across},${along}` : `${along},${across}`);
  const top = base - depth;
  const bend = Math.min(ROUND, Math.abs(end - start) / 2, depth / 2);
  const path = `M${point(start, base)} L${point(start, top + bend)} Q${point(start, top)} ${point(start + way * bend, top)}`
    + ` L${point(end - way * bend, top)} Q${point(end, top)} ${point(end, top + bend)} L${point(end, base - TIP)}`;
  const tip = [point(end, base), point(end - TIP * 0.7, base - TIP * 1.5), point(end + TIP * 0.7, base - TIP * 1.5)].join(" ");
  return [shape("path", { d: path, class: `arc ${kind}` }), shape("polygon", { points: tip, class: `tip ${kind}` })];
}

// middles: where each word has its middle; size: how long the row or column is; root: the word at the root, or null.
export function drawArcs(svg, { middles, size, arcs, root, column, most = Infinity }) {
  const levels = levelsOf(arcs);
  const deepest = Math.max(1, ...levels);
  const step = Math.min(column ? NARROW : STEP, most / (deepest + 1.5));
  const base = Math.ceil((deepest + 1.5) * step);
  svg.setAttribute("width", String(column ? base : size));
  svg.setAttribute("height", String(column ? size : base));
  const shapes = arcs.flatMap(({ from, to, kind }, n) => {
    const way = Math.sign(to - from);
    return arcShapes({ start: middles[from] + way * 5, end: middles[to] - way * 7, depth: levels[n] * step + 4, base, kind, swap: column });
  });
  if (root !== null) {
    const [x, y] = [middles[root], 4];
    shapes.push(shape("path", { d: column ? `M${y},${x} H${base}` : `M${x},${y} V${base}`, class: "arc root" }),
      shape("circle", { cx: column ? y : x, cy: column ? x : y, r: 4, class: "tip root" }));
  }
  svg.replaceChildren(...shapes);
}

// The line that follows the pointer while an arc is dragged; both points in the picture's own pixels.
export function drawLine(svg, from, to) {
  svg.querySelector(".live")?.remove();
  if (to) svg.append(shape("path", { d: `M${from.x},${from.y} L${to.x},${to.y}`, class: "arc live" }));
}

export const picture = () => shape("svg", { class: "arcs", "aria-hidden": "true", focusable: "false" });
