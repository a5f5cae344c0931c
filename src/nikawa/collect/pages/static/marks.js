// A text in which stretches are marked and can be selected: by pointer, by touch, and by keys.
// Offsets are characters (code points), as everywhere in Nikawa; JavaScript's own count halves of some.
import { LONG, language, make, textLanguage } from "./form.js";

const words = new Intl.Segmenter(textLanguage || language, { granularity: "word" });
const sentences = new Intl.Segmenter(textLanguage || language, { granularity: "sentence" });

// The text as parts: plain ones, and marks { start, end, label, kind } that do not overlap.
export function marked(text, marks, cursor = null) {
  const chars = [...text];
  const cuts = new Set([0, chars.length, ...marks.flatMap(({ start, end }) => [start, end])]);
  if (cursor) { cuts.add(cursor.start); cuts.add(cursor.end); }
  const ends = [...cuts].sort((one, other) => one - other);
  const parts = [];
  if (cursor && cursor.end === 0) parts.push(make("span", { class: "caret", "aria-hidden": "true" }));
  for (let n = 0; n + 1 < ends.length; n += 1) {
    const [start, end] = [ends[n], ends[n + 1]];
    const mark = marks.find((found) => found.start <= start && end <= found.end);
    const picked = cursor && cursor.start <= start && end <= cursor.end;
    const part = make(mark ? "mark" : "span", { "data-start": String(start) }, chars.slice(start, end).join(""));
    if (mark) part.className = `mark mark-${mark.kind}`;
    if (picked) part.classList.add("picked");
    if (mark && mark.end === end) part.dataset.label = mark.label;
    parts.push(part);
    if (cursor && cursor.start === cursor.end && cursor.end === end) parts.push(make("span", { class: "caret", "aria-hidden": "true" }));
  }
  return parts;
}

function boundaries(segmenter, text) {
  const found = [0];
  for (const { segment } of segmenter.segment(text)) found.push(found.at(-1) + [...segment].length);
  return found;
}

// Makes `host` selectable. on: { pick(start, end, text), left(), touch(place), key(event) }. Gives { show, marks, range, text }.
// left: the browser no longer shows what was picked by pointer or touch, so the page has to.
export function selectable(host, on) {
  let text = "";
  let chars = [];
  let marks = [];
  let anchor = 0;
  let focus = 0;
  let visible = false; // our own caret and highlight, while keys are used
  let shown = false; // whether the browser shows what was picked
  let pressing = false; // text that changes under a pointer would lose the selection that it begins
  let steps = {};

  const range = () => ({ start: Math.min(anchor, focus), end: Math.max(anchor, focus) });

  function draw() {
    host.replaceChildren(...marked(text, marks, visible ? range() : null));
  }

  function offset(node, inside) {
    const part = (node.nodeType === Node.TEXT_NODE ? node.parentElement : node).closest?.("[data-start]");
    if (!part || !host.contains(part)) return null;
    const before = node.nodeType === Node.TEXT_NODE ? [...node.data.slice(0, inside)].length : inside ? [...part.textContent].length : 0;
    return Number(part.dataset.start) + before;
  }

  function trimmed() {
    let { start, end } = range();
    while (start < end && !chars[start].trim()) start += 1;
    while (end > start && !chars[end - 1].trim()) end -= 1;
    return { start, end };
  }

  function notifySelection() {
    const { start, end } = trimmed();
    on.pick?.(start, end, chars.slice(start, end).join(""));
  }

  function leave() {
    const selection = getSelection();
    if (!shown || pressing || (!selection.isCollapsed && host.contains(selection.anchorNode))) return;
    shown = false;
    on.left?.();
  }

  function fromPointer() {
    const selection = getSelection();
    if (!selection.rangeCount || selection.isCollapsed) return;
    const found = selection.getRangeAt(0);
    if (!host.contains(found.startContainer) || !host.contains(found.endContainer)) return;
    const ends = [offset(found.startContainer, found.startOffset), offset(found.endContainer, found.endOffset)];
    if (ends.includes(null)) return;
    [anchor, focus] = ends;
    [visible, shown] = [false, true];
  }

  function released() {
    setTimeout(() => {
      fromPointer();
      if (!getSelection().isCollapsed) notifySelection();
    });
  }

  function move(to, extend) {
    focus = Math.max(0, Math.min(chars.length, to));
    if (!extend) anchor = focus;
    [visible, shown] = [true, false];
    getSelection().removeAllRanges();
    draw();
    if (extend) notifySelection(); else on.touch?.(focus, chars[focus] ?? "");
  }

  const after = (list) => list.find((place) => place > focus) ?? chars.length;
  const before = (list) => list.findLast((place) => place < focus) ?? 0;

  function step(event) {
    const far = event.ctrlKey || event.altKey;
    switch (event.key) {
      case "ArrowRight": return far ? after(steps.words) : focus + 1;
      case "ArrowLeft": return far ? before(steps.words) : focus - 1;
      case "ArrowDown": return after(steps.sentences);
      case "ArrowUp": return before(steps.sentences);
      case "Home": return 0;
      case "End": return chars.length;
      default: return null;
    }
  }

  host.addEventListener("keydown", (event) => {
    const to = step(event);
    if (to !== null) { event.preventDefault(); move(to, event.shiftKey); return; }
    if (on.key?.(event)) event.preventDefault();
  });
  host.addEventListener("pointerdown", () => {
    pressing = true;
    const end = () => { pressing = false; setTimeout(leave); };
    for (const name of ["pointerup", "pointercancel"]) document.addEventListener(name, end, { once: true });
  });
  host.addEventListener("pointerup", released);
  host.addEventListener("blur", () => { if (visible && anchor === focus) { visible = false; draw(); } });
  host.addEventListener("click", (event) => {
    if (!getSelection().isCollapsed) return;
    const caret = document.caretRangeFromPoint?.(event.clientX, event.clientY);
    const found = caret ? offset(caret.startContainer, caret.startOffset) : null;
    if (found !== null) { anchor = focus = found; on.click?.(found); }
  });
  document.addEventListener("selectionchange", function follow() {
    if (!host.isConnected) { document.removeEventListener("selectionchange", follow); return; } // another item is shown
    fromPointer();
    leave();
    if (!getSelection().isCollapsed && matchMedia("(pointer: coarse)").matches && host.contains(getSelection().anchorNode)) notifySelection();
  });

  return {
    show(given, newMarks = []) {
      if (given !== text) {
        text = given;
        chars = [...text];
        host.classList.toggle("long", chars.length > LONG);
        anchor = focus = 0;
        [visible, shown] = [false, false];
        steps = { words: boundaries(words, text), sentences: boundaries(sentences, text) };
      }
      marks = newMarks;
      draw();
    },
    select(start, end) { anchor = start; focus = end; visible = true; getSelection().removeAllRanges(); draw(); },
    drop() { anchor = focus; visible = document.activeElement === host; getSelection().removeAllRanges(); draw(); },
    range: trimmed,
    slice: (start, end) => chars.slice(start, end).join(""),
  };
}

// The element such a text lives in, ready for keys and screen readers.
export function textBox(label) {
  return make("div", { class: "text pick", tabindex: "0", role: "textbox", "aria-readonly": "true", "aria-multiline": "true",
    "aria-label": label, dir: "auto" });
}
