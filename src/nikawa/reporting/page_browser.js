"use strict";
// The example browser: its data, filters, list and view of one example.
const nikawa = (() => {
  // Texts of the data enter the page only through textContent, never as markup.
  const FULL = 62;
  const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  const PLACE = new Int8Array(128).fill(-1);
  for (let i = 0; i < LETTERS.length; i++) PLACE[LETTERS.charCodeAt(i)] = i - 1;

  function unpack(column) {
    if (typeof column !== "string") return Int32Array.from(column);
    const found = new Int32Array(column.length);
    for (let i = 0; i < column.length; i++) found[i] = PLACE[column.charCodeAt(i)];
    return found;
  }

  async function read(id) {
    const packed = document.getElementById(id).textContent;
    const bytes = Uint8Array.from(atob(packed), (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    const raw = JSON.parse(await new Response(stream).text());
    const n = raw.id.length;
    return {
      ...raw, n,
      inputs: raw.in.map(([name, column]) => [name, unpack(column)]),
      gold: unpack(raw.g), set: unpack(raw.s), tags: unpack(raw.tg),
      parent: raw.p.length ? unpack(raw.p) : new Int32Array(n).fill(-1),
      answers: raw.a.map((seeds) => seeds.map(unpack)),
      points: raw.pt.map(unpack), sure: raw.su.map(unpack),
    };
  }

  function make(tag, attributes = {}, ...children) {
    const found = document.createElement(tag);
    for (const [key, value] of Object.entries(attributes)) {
      if (key.startsWith("on")) found.addEventListener(key.slice(2), value);
      else if (value !== undefined && value !== null && value !== false) found.setAttribute(key, value);
    }
    found.append(...children.filter((child) => child !== null && child !== undefined));
    return found;
  }

  const fold = (words) => words.normalize("NFKC").toLowerCase();
  const count = (n) => n.toLocaleString("en-US");

  class Browser {
    // The browser that was used last.
    static current = null;

    constructor(place, items) {
      this.place = place;
      this.items = items;
      this.name = place.dataset.task;
      this.state = { q: "", gold: "", answer: "", system: "0", agree: "", tag: "", set: "", order: "" };
      this.found = Int32Array.from({ length: items.n }, (_, i) => i);
      this.at = 0;
      this.folded = null;
      this.children = null;
      this.draw();
      this.filter();
    }

    // An example is wrong for a system if its mean score is below 0.5; -1 if gold is hidden.
    right(system, i) {
      const points = this.items.points[system][i];
      return points < 0 ? -1 : points * 2 > FULL ? 1 : 0;
    }

    answer(system, i) {
      const seeds = this.items.answers[system];
      if (seeds.length === 1) return seeds[0][i];
      const votes = new Map();
      for (const seed of seeds) votes.set(seed[i], (votes.get(seed[i]) || 0) + 1);
      let best = seeds[0][i];
      for (const [word, n] of votes) if (n > votes.get(best)) best = word;
      return best;
    }

    word(number) { return number < 0 ? "no answer" : this.items.w[number]; }

    distinct(columns, most = 60) {
      const seen = new Map();
      for (const column of columns) for (const word of column) if (word >= 0) seen.set(word, (seen.get(word) || 0) + 1);
      if (seen.size > most || seen.size < 2) return [];
      return [...seen.keys()].sort((a, b) => this.items.w[a].localeCompare(this.items.w[b], undefined, { numeric: true }));
    }

    select(key, label, options) {
      const field = make("select", { "aria-label": label, onchange: () => { this.state[key] = field.value; this.filter(); } });
      for (const option of options) {
        if (option.group) {
          const group = make("optgroup", { label: option.group });
          for (const [value, words] of option.options) group.append(make("option", { value }, words));
          field.append(group);
        } else field.append(make("option", { value: option[0] }, option[1]));
      }
      field.value = this.state[key];
      this.fields[key] = field;
      return make("label", {}, label, field);
    }

    draw() {
      const { items } = this, { w } = items;
      this.fields = {};
      this.search = make("input", { type: "search", placeholder: "text or id", "aria-label": "Search the examples", "aria-keyshortcuts": "/",
        oninput: () => { this.state.q = this.search.value; this.filter(); } });
      const named = (words) => words.map((n) => [String(n), w[n]]);
      const golds = this.distinct([items.gold]), sets = this.distinct([items.set]);
      const answers = this.distinct(items.answers.flat());
      const systems = items.sys.map((name, i) => [String(i), name]);
      const several = items.sys.length > 1;
      const agree = [["", "any"], ["wrong", "wrong"], ["right", "right"]];
      if (items.points.some((column) => column.some((p) => p > 0 && p < FULL))) agree.push(["short", "not fully right"]);
      if (several) agree.push(["none", "all wrong"], ["all", "all right"], ["some", "systems differ"], ["only", "only this one right"], ["but", "only this one wrong"]);
      const tools = make("div", { class: "tools" }, make("label", { class: "wide" }, "Search", this.search));
      if (several) tools.append(this.select("system", "System", systems));
      tools.append(this.select("agree", "Outcome", agree));
      if (golds.length) tools.append(this.select("gold", "Gold", [["", "any"], ...named(golds)]));
      if (answers.length) tools.append(this.select("answer", "Answer", [["", "any"], ...named(answers), ["-1", "no answer"]]));
      if (sets.length) tools.append(this.select("set", "Set", [["", "all"], ...named(sets)]));
      const tags = this.tagGroups();
      if (tags.length) tools.append(this.select("tag", "Tag", [["", "any"], ...tags]));
      const orders = [["", "dataset order"], ["hard", "hardest first"]];
      if (items.sure.some((column) => column.some((p) => p >= 0))) orders.push(["bold", "most confident mistakes first"]);
      tools.append(this.select("order", "Order", orders));
      this.status = make("span", { role: "status", "aria-live": "polite" });
      const bar = make("div", { class: "bar" }, this.status, make("div", {},
        make("button", { type: "button", onclick: () => this.clear() }, "Clear"),
        make("button", { type: "button", title: "The examples shown, one JSON object per line", onclick: () => this.save() }, "Save as JSONL")));
      this.all = make("div", { class: "all", role: "presentation" });
      this.list = make("div", { class: "list", role: "listbox", tabindex: "0", "aria-label": `Examples of ${this.name}` }, this.all);
      this.view = make("div", { class: "view", tabindex: "0", role: "region", "aria-label": "The selected example" });
      this.list.addEventListener("scroll", () => this.paint(), { passive: true });
      this.list.addEventListener("keydown", (event) => this.key(event));
      this.place.replaceChildren(tools, bar, make("div", { class: "panes" }, this.list, this.view));
      this.place.addEventListener("focusin", () => { Browser.current = this; });
      this.place.addEventListener("pointerdown", () => { Browser.current = this; });
      if (items.notes.points) this.place.append(make("p", { class: "source" }, `Wrong here means: ${items.notes.points}.`));
      if (items.cut) this.place.append(make("p", { class: "source" }, `Texts longer than ${count(items.cut)} characters are cut at that length.`));
    }

    tagGroups() {
      const { ts, w } = this.items, groups = new Map();
      for (const number of new Set(ts.flat())) {
        const [key, value] = this.split(w[number]);
        if (!groups.has(key)) groups.set(key, []);
        groups.get(key).push([String(number), value]);
      }
      return [...groups].sort((a, b) => (a[0] === "tag" ? -1 : b[0] === "tag" ? 1 : a[0].localeCompare(b[0])))
        .map(([group, options]) => ({ group, options: options.sort((a, b) => a[1].localeCompare(b[1], undefined, { numeric: true })) }));
    }

    split(word) { const i = word.indexOf("="); return [word.slice(0, i), word.slice(i + 1)]; }

    clear() {
      Object.assign(this.state, { q: "", gold: "", answer: "", agree: "", tag: "", set: "", order: "" });
      this.show(this.state);
    }

    show(state) {
      Object.assign(this.state, state);
      for (const [key, field] of Object.entries(this.fields)) field.value = this.state[key];
      this.search.value = this.state.q;
      this.filter();
    }

    hits(words) {
      if (!words) return null;
      if (!this.folded) this.folded = this.items.t.map(fold);
      const found = new Uint8Array(this.folded.length);
      for (let i = 0; i < found.length; i++) found[i] = this.folded[i].includes(words) ? 1 : 0;
      return found;
    }

    outcome(system, i) {
      const own = this.right(system, i), { agree } = this.state;
      if (own < 0) return false;
      if (agree === "wrong") return own === 0;
      if (agree === "right") return own === 1;
      if (agree === "short") return this.items.points[system][i] < FULL;
      let right = 0;
      const all = this.items.sys.length;
      for (let s = 0; s < all; s++) right += this.right(s, i) === 1 ? 1 : 0;
      if (agree === "none") return right === 0;
      if (agree === "all") return right === all;
      if (agree === "some") return right > 0 && right < all;
      return agree === "only" ? own === 1 && right === 1 : own === 0 && right === all - 1;
    }

    filter() {
      const { items, state } = this, words = fold(state.q.trim()), hit = this.hits(words), found = [];
      const gold = state.gold === "" ? null : +state.gold, answer = state.answer === "" ? null : +state.answer;
      const set = state.set === "" ? null : +state.set, system = +state.system;
      const tagged = state.tag === "" ? null : items.ts.map((tags) => tags.includes(+state.tag));
      for (let i = 0; i < items.n; i++) {
        if (gold !== null && items.gold[i] !== gold) continue;
        if (set !== null && items.set[i] !== set) continue;
        if (tagged && !tagged[items.tags[i]]) continue;
        if (answer !== null && !items.answers[system].some((seed) => seed[i] === answer)) continue;
        if (state.agree && !this.outcome(system, i)) continue;
        if (hit && !items.inputs.some(([, column]) => column[i] >= 0 && hit[column[i]]) && fold(items.id[i]) !== words) continue;
        found.push(i);
      }
      this.found = Int32Array.from(this.sorted(found, system));
      this.status.textContent = found.length === items.n ? `${count(items.n)} examples` : `${count(found.length)} of ${count(items.n)} examples`;
      this.at = 0;
      this.list.scrollTop = 0;
      this.paint(true);
      this.open();
    }

    sorted(found, system) {
      const { items, state } = this;
      if (state.order === "hard") {
        const value = (i) => items.points.reduce((sum, column) => sum + (column[i] < 0 ? 2 * FULL : column[i]), 0); // hidden gold: last
        return found.sort((a, b) => value(a) - value(b) || a - b);
      }
      if (state.order === "bold") {
        const value = (i) => (this.right(system, i) === 0 ? items.sure[system][i] : -2);
        return found.sort((a, b) => value(b) - value(a) || a - b);
      }
      return found;
    }

    // Only visible rows are in the page, so ten thousand rows cost no more than ten.
    paint(isForced = false) {
      this.high = this.high || parseFloat(getComputedStyle(document.documentElement).fontSize) * 5.25;
      const first = Math.max(0, Math.floor(this.list.scrollTop / this.high) - 5);
      const last = Math.min(this.found.length, first + Math.ceil((this.list.clientHeight || 600) / this.high) + 10);
      if (!isForced && first === this.first && last === this.last) return;
      this.first = first;
      this.last = last;
      this.all.style.height = `${this.found.length * this.high}px`;
      const rows = [];
      for (let k = first; k < last; k++) rows.push(this.row(k));
      if (!this.found.length) rows.push(make("p", { class: "empty" }, "No example matches. Clear a filter to see more."));
      this.all.replaceChildren(...rows);
      this.point();
    }

    row(k) {
      const { items } = this, i = this.found[k], system = +this.state.system;
      const found = make("div", { class: "row", role: "option", id: this.rowId(k), "aria-selected": String(k === this.at),
        "aria-posinset": k + 1, "aria-setsize": this.found.length, onclick: () => this.go(k, false) });
      found.style.top = `${k * this.high}px`;
      const shown = items.inputs.filter(([, column]) => column[i] >= 0).slice(0, 2);
      for (const [, column] of shown) found.append(this.marked(make("p", { lang: items.lang, class: shown.length === 1 ? "two" : null }), items.t[column[i]]));
      const sub = make("p", { class: "sub" }, make("span", {}, items.id[i]));
      const tree = items.notes.kind === "tree";
      if (tree) sub.append(make("span", { class: "grow" }));
      else sub.append(make("span", { class: "grow" }, "gold ", items.gold[i] < 0 ? "hidden" : make("b", {}, this.word(items.gold[i]))));
      sub.append(this.glyph(system, i), make("b", { class: "said" }, tree ? this.heads(system, i) : this.word(this.answer(system, i))));
      found.append(sub);
      return found;
    }

    rowId(k) { return `${this.place.dataset.items}-${this.found[k]}`; }

    glyph(system, i) {
      const right = this.right(system, i);
      if (right < 0) return make("span", { class: "soft", role: "img", "aria-label": "not judged" }, "·");
      if (right && this.items.points[system][i] < FULL) return make("span", { class: "ok", role: "img", "aria-label": "partly right", title: "partly right, or right with most seeds" }, "◐");
      return right ? make("span", { class: "ok", role: "img", "aria-label": "right" }, "✓") : make("span", { class: "no", role: "img", "aria-label": "wrong" }, "✗");
    }

    marked(place, words) {
      const q = this.state.q.trim(), at = q ? fold(words).indexOf(fold(q)) : -1;
      // Case folding can change lengths (full-width forms): highlight only if it does not.
      if (at < 0 || fold(words).length !== words.length) place.append(words);
      else place.append(words.slice(0, at), make("mark", {}, words.slice(at, at + q.length)), words.slice(at + q.length));
      return place;
    }

    point() {
      for (const row of this.all.querySelectorAll(".row")) row.setAttribute("aria-selected", String(row.id === (this.found.length ? this.rowId(this.at) : "")));
      if (this.found.length) this.list.setAttribute("aria-activedescendant", this.rowId(this.at));
      else this.list.removeAttribute("aria-activedescendant");
    }

    go(k, scroll = true) {
      if (!this.found.length) return;
      this.at = Math.max(0, Math.min(this.found.length - 1, k));
      const top = this.at * this.high;
      if (scroll && top < this.list.scrollTop) this.list.scrollTop = top;
      if (scroll && top + this.high > this.list.scrollTop + this.list.clientHeight) this.list.scrollTop = top + this.high - this.list.clientHeight;
      this.paint();
      this.point();
      this.open();
    }

    key(event) {
      const page = Math.max(1, Math.floor(this.list.clientHeight / this.high) - 1);
      const moves = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
      if (!(event.key in moves) || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      this.go(this.at + moves[event.key]);
    }

    open() {
      if (!this.found.length) { this.view.replaceChildren(); return; }
      const i = this.found[this.at], { items } = this, parent = items.parent[i];
      const parts = [make("h4", {}, `${this.word(items.set[i])} / ${items.id[i]}`)];
      parts.push(parent >= 0 ? this.twin(parent, i) : this.texts(i));
      parts.push(items.notes.kind === "tree" ? this.tree(i) : this.table(i, parent));
      const tags = items.ts[items.tags[i]];
      if (tags.length) parts.push(make("div", { class: "chips" }, ...tags.map((n) => {
        const [key, value] = this.split(items.w[n]);
        return make("button", { type: "button", title: "Show only examples with this tag", onclick: () => this.show({ tag: String(n) }) }, key === "tag" ? value : `${key} ${value}`);
      })));
      const made = this.made(i);
      if (made.length) parts.push(make("div", { class: "chips" }, "Made from it:", ...made.slice(0, 12).map((j) =>
        make("button", { type: "button", onclick: () => { this.show({ q: "", gold: "", answer: "", agree: "", tag: "", set: "", order: "" }); this.go(j); } }, `${this.word(items.set[j])} / ${items.id[j]}`))));
      this.view.replaceChildren(...parts);
      this.view.scrollTop = 0;
    }

    made(i) {
      if (!this.children) {
        this.children = new Map();
        this.items.parent.forEach((parent, j) => {
          if (parent >= 0) this.children.set(parent, [...(this.children.get(parent) || []), j]);
        });
      }
      return this.children.get(i) || [];
    }

    texts(i) {
      const list = make("dl");
      for (const [name, column] of this.items.inputs) {
        if (column[i] < 0) continue;
        const place = make("dd", { lang: this.items.lang }), words = this.items.t[column[i]];
        const read = name === "context" && this.items.notes.kind === "reading" && !this.state.q.trim();
        list.append(make("dt", {}, name), read ? this.underlined(place, words, i) : this.marked(place, words));
      }
      const gold = this.items.gold[i];
      if (gold < 0 || this.items.notes.kind !== "tree") list.append(make("dt", {}, "gold"), make("dd", {}, gold < 0 ? "hidden" : this.word(gold)));
      return list;
    }

    // The places of the gold answer in a text, and of the selected system's answer if it differs.
    underlined(place, words, i) {
      const system = +this.state.system, own = this.answer(system, i), found = [];
      const begin = Math.max(0, words.indexOf("[SEP]"));
      const seek = (kind, answers) => {
        const [first] = answers.map((a) => [words.indexOf(a, begin), a]).filter(([at, a]) => a && at >= 0).sort((a, b) => b[1].length - a[1].length);
        if (first) found.push({ kind, start: first[0], end: first[0] + first[1].length });
      };
      if (this.items.gold[i] >= 0) seek("gold", this.word(this.items.gold[i]).split(" / "));
      if (own >= 0 && this.right(system, i) === 0) seek("wrong", [this.word(own)]);
      found.sort((a, b) => a.start - b.start);
      let at = 0;
      for (const { kind, start, end } of found) {
        if (start < at) continue; // one inside of the other: the first is shown
        const said = kind === "gold" ? "gold" : this.items.sys[system];
        place.append(words.slice(at, start), make("mark", { class: kind, title: said }, words.slice(start, end)));
        at = end;
      }
      place.append(words.slice(at));
      return place;
    }

    twin(parent, i) {
      const { items } = this, list = make("div", { class: "twin" });
      list.append(make("h4", {}, `original ${this.word(items.set[parent])} / ${items.id[parent]}`), make("h4", {}, `perturbed: ${this.word(items.set[i])}`));
      for (const [name, column] of items.inputs) {
        const words = [parent, i].map((k) => (column[k] >= 0 ? items.t[column[k]] : ""));
        if (!words[0] && !words[1]) continue;
        const cut = this.differing(...words);
        for (const [k, text] of words.entries()) {
          const [start, end] = cut[k], place = make("dd", { lang: items.lang }, text.slice(0, start));
          if (end > start) place.append(make("mark", {}, text.slice(start, end)));
          place.append(text.slice(end));
          list.append(make("dl", {}, make("dt", {}, name), place));
        }
      }
      for (const k of [parent, i]) list.append(make("dl", {}, make("dt", {}, "gold"), make("dd", {}, items.gold[k] < 0 ? "hidden" : this.word(items.gold[k]))));
      return list;
    }

    // The parts of two texts that remain without their common beginning and end.
    differing(a, b) {
      let start = 0, end = 0;
      while (start < Math.min(a.length, b.length) && a[start] === b[start]) start++;
      while (end < Math.min(a.length, b.length) - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end++;
      return [[start, a.length - end], [start, b.length - end]];
    }

    table(i, parent) {
      const { items } = this, body = make("tbody");
      for (const [s, name] of items.sys.entries()) {
        const cells = [make("th", { scope: "row" }, name)];
        if (parent >= 0) cells.push(make("td", {}, this.votes(s, parent)));
        cells.push(make("td", {}, this.glyph(s, i), " ", this.votes(s, i)));
        body.append(make("tr", { "data-src": this.answersOf(s, i) }, ...cells));
      }
      const names = parent >= 0 ? ["system", "answer to the original", "answer to the perturbed"] : ["system", "answer"];
      return make("table", {}, make("thead", {}, make("tr", {}, ...names.map((name) => make("th", { scope: "col" }, name)))), body);
    }

    arcs(word) { return word < 0 ? [] : this.items.w[word].split(" ").map((arc) => [+arc.split(":")[0], arc.slice(arc.indexOf(":") + 1)]); }

    // One row per word: its head in gold and in each answer.
    tree(i) {
      const { items } = this, gold = this.arcs(items.gold[i]), answers = items.sys.map((_, s) => this.arcs(this.answer(s, i)));
      const text = items.t[items.inputs[0][1][i]] || "", body = make("tbody"), length = Math.max(gold.length, ...answers.map((a) => a.length));
      const words = text.split(/\s+/), fits = words.length === length;
      const said = (arc) => (arc ? `${arc[0] ? `${arc[0]}${fits ? ` ${words[arc[0] - 1] || ""}` : ""}` : "root"} ${arc[1]}` : "–");
      for (let k = 0; k < length; k++) {
        const cells = answers.map((arcs) => {
          const right = gold.length && arcs[k] && arcs[k][0] === gold[k][0] && arcs[k][1] === gold[k][1];
          return make("td", { class: gold.length ? (right ? "ok" : "no") : null }, right ? "✓" : said(arcs[k]));
        });
        body.append(make("tr", {}, make("th", { scope: "row" }, `${k + 1} ${fits ? words[k] : ""}`), make("td", {}, said(gold[k])), ...cells));
      }
      const head = ["word", "gold head", ...items.sys].map((name) => make("th", { scope: "col" }, name));
      return make("table", { lang: items.lang, "data-src": items.sys.map((_, s) => this.answersOf(s, i)).filter(Boolean).join(" ") || null }, make("thead", {}, make("tr", {}, ...head)), body);
    }

    // The number of words with the gold head, for the list.
    heads(system, i) {
      const gold = this.arcs(this.items.gold[i]), own = this.arcs(this.answer(system, i));
      return gold.length ? `${count(gold.filter((arc, k) => own[k] && own[k][0] === arc[0]).length)} of ${count(gold.length)} heads` : "";
    }

    votes(s, i) {
      const seeds = this.items.answers[s], votes = new Map();
      for (const seed of seeds) votes.set(seed[i], (votes.get(seed[i]) || 0) + 1);
      const parts = [...votes].sort((a, b) => b[1] - a[1]).flatMap(([word, n], k) => [k ? ", " : "", make("bdi", {}, this.word(word)), votes.size > 1 ? ` ×${n}` : ""]);
      const sure = this.items.sure[s] ? this.items.sure[s][i] : -1;
      return make("span", {}, ...parts, sure >= 0 ? ` (${Math.round((100 * sure) / FULL)}%)` : "");
    }

    // The files with a system's answers to an example, one per seed.
    answersOf(s, i) {
      const file = encodeURIComponent(this.word(this.items.set[i]));
      return (this.items.runs[s] || []).map((folder) => `${folder}/predictions/${file}.jsonl`).join(" ") || null;
    }

    save() {
      const { items } = this, lines = [];
      for (const i of this.found) {
        const line = { id: items.id[i], set: this.word(items.set[i]), inputs: {}, answers: {} };
        for (const [name, column] of items.inputs) if (column[i] >= 0) line.inputs[name] = items.t[column[i]];
        if (items.gold[i] >= 0) line.gold = this.word(items.gold[i]);
        items.sys.forEach((name, s) => { line.answers[name] = items.answers[s].map((seed) => (seed[i] < 0 ? null : items.w[seed[i]])); });
        line.tags = items.ts[items.tags[i]].map((n) => items.w[n]);
        lines.push(JSON.stringify(line));
      }
      const address = URL.createObjectURL(new Blob([lines.join("\n"), "\n"], { type: "application/jsonl" }));
      make("a", { href: address, download: `${this.name}.jsonl` }).click();
      setTimeout(() => URL.revokeObjectURL(address), 10000);
    }
  }

  return { Browser, read };
})();
