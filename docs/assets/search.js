/* Search worker of the site: finds text by substring, so that Japanese and Korean words are found inside
 * longer ones, where no space says where a word begins.
 *
 * The theme sends {type: 0, data: {docs}} once, waits for {type: 1}, then sends {type: 2, data: query} and shows
 * {type: 3, data: {items}}: a list of pages, each a list of its sections with score, terms and marked text.
 * The whole site is about a megabyte of text, so that a scan takes a few milliseconds and no index is built. */

const SETUP = 0, READY = 1, QUERY = 2, RESULT = 3
const EAST_ASIAN = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}ー々]/u
const WORD = /[\p{L}\p{N}_]/u
const SNIPPET = 160
const ENTITIES = { lt: "<", gt: ">", amp: "&", quot: '"', "#39": "'", "#34": '"', nbsp: " " }
let sections = []

/* Lower case and one width, character by character: positions in the folded text are those of the text. */
function fold(text) {
  return text.replace(/[^ -@\[-~]/g, (char) => {
    const folded = char.normalize("NFKC").toLowerCase()
    return folded.length === 1 ? folded : char
  })
}

function plain(html) {
  return html
    .replace(/<\/?(?:p|li|ul|ol|td|th|tr|table|thead|tbody|pre|h\d|br|blockquote|div|dd|dt)\b[^>]*>/g, " ")
    .replace(/<[^>]+>/g, "")
    .replace(/&(#?\w+);/g, (entity, name) => ENTITIES[name] ?? entity)
    .normalize("NFC")
    .replace(/\s+/g, " ")
    .trim()
}

function escapeHtml(text) {
  return text.replace(/[&<>"]/g, (char) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[char])
}

function setup(docs) {
  const pages = new Map()
  sections = docs.map((doc) => {
    const page = doc.location.split("#")[0]
    if (!pages.has(page)) pages.set(page, doc.location)
    const title = plain(doc.title), text = plain(doc.text)
    return { location: doc.location, page: pages.get(page), title, text, foldedTitle: fold(title), foldedText: fold(text) }
  })
}

/* Where a term begins. Latin words are found from their start ("agree" in "agreement", not in "disagree"). */
function positions(text, term, limit = 50) {
  const hits = []
  const anywhere = !WORD.test(term[0]) || EAST_ASIAN.test(term[0])
  for (let at = text.indexOf(term); at >= 0 && hits.length < limit; at = text.indexOf(term, at + term.length))
    if (anywhere || at === 0 || !WORD.test(text[at - 1]) || EAST_ASIAN.test(text[at - 1])) hits.push(at)
  return hits
}

function readTerms(query) {
  const folded = fold(query.normalize("NFC")).trim()
  return [...new Set([...folded.matchAll(/"([^"]+)"|(\S+)/g)].map((m) => (m[1] ?? m[2].replace(/"/g, "")).trim()).filter(Boolean))]
}

/* What else a term may be looked up as, when it is found nowhere: the singular of an English word; a Korean or
 * Japanese word without its last characters, which may be a particle or an ending. */
function shorterForms(term) {
  if (!EAST_ASIAN.test(term)) return term.length > 4 ? [term.replace(/(?:es|s|ing|ed)$/, "")] : []
  const forms = []
  for (let length = term.length - 1; length >= 2; length--) forms.push(term.slice(0, length))
  return forms
}

/* A run of East Asian text that no form of is found, such as two words written together: pairs of characters. */
function pairs(term) {
  const characters = [...term]
  return characters.slice(1).map((char, i) => characters[i] + char)
}

function occurs(term) {
  return sections.some((s) => positions(s.foldedTitle, term, 1).length || positions(s.foldedText, term, 1).length)
}

/* Each wanted term with the forms it is looked up as, and how many of the forms a section must have. */
function plan(terms) {
  return terms.map((term) => {
    if (occurs(term)) return { term, forms: [term], needed: 1 }
    const east = EAST_ASIAN.test(term)
    const form = shorterForms(term).find((f) => f && occurs(f) && (!east || f.length >= term.length / 2))
    if (form) return { term, forms: [form], needed: 1 }
    if (east && term.length > 2) return { term, forms: pairs(term), needed: Math.ceil((term.length - 1) / 2) }
    return { term, forms: [term], needed: 1 }
  })
}

function match(section, { forms, needed }) {
  let score = 0, present = 0
  for (const form of forms) {
    const inTitle = positions(section.foldedTitle, form, 3).length
    const inText = positions(section.foldedText, form, 8).length
    if (inTitle || inText) present++
    score += 8 * Math.min(inTitle, 1) + Math.log2(1 + inText)
    if (section.foldedTitle === form) score += 8
  }
  return present >= needed ? score : 0
}

function mark(text, folded, forms, from = 0, to = text.length) {
  const ranges = forms
    .flatMap((form) => positions(folded, form).map((at) => [at, at + form.length]))
    .filter(([start, end]) => start >= from && end <= to)
    .sort((a, b) => a[0] - b[0])
  let html = "", cursor = from
  for (const [start, end] of ranges) {
    if (end <= cursor) continue
    const begin = Math.max(start, cursor)
    html += escapeHtml(text.slice(cursor, begin)) + "<mark>" + escapeHtml(text.slice(begin, end)) + "</mark>"
    cursor = end
  }
  return html + escapeHtml(text.slice(cursor, to))
}

function snippet(section, forms) {
  const first = Math.min(...forms.map((form) => positions(section.foldedText, form, 1)[0] ?? Infinity))
  const from = first === Infinity ? 0 : Math.max(0, first - SNIPPET / 3)
  const to = Math.min(section.text.length, from + SNIPPET)
  const body = mark(section.text, section.foldedText, forms, Math.floor(from), to)
  return (from > 0 ? "… " : "") + body + (to < section.text.length ? " …" : "")
}

function search(query) {
  const wanted = plan(readTerms(query))
  if (!wanted.length) return []
  const forms = wanted.flatMap((w) => w.forms)
  let hits = sections.map((section) => ({ section, scores: wanted.map((w) => match(section, w)) }))
  const complete = hits.filter((hit) => hit.scores.every((score) => score > 0))
  hits = complete.length ? complete : hits.filter((hit) => hit.scores.some((score) => score > 0))
  const pages = new Map()
  for (const { section, scores } of hits) {
    const found = scores.filter((score) => score > 0).length
    const score = scores.reduce((sum, s) => sum + s, 0) * (found / wanted.length) ** 2 * (section.location === section.page ? 1.5 : 1)
    const terms = Object.fromEntries(wanted.map((w, i) => [w.term, scores[i] > 0]))
    const item = { location: section.location, title: mark(section.title, section.foldedTitle, forms), text: snippet(section, forms), score, terms }
    pages.set(section.page, [...(pages.get(section.page) ?? []), item])
  }
  for (const [page, items] of pages) {
    items.sort((a, b) => b.score - a.score)
    if (!items.some((item) => item.location === page)) {
      const top = sections.find((s) => s.location === page)
      items.push({ location: page, title: escapeHtml(top.title), text: "", score: 0, terms: {} })
    }
  }
  return [...pages.values()].sort((a, b) => b[0].score - a[0].score)
}

addEventListener("message", ({ data: { type, data } }) => {
  if (type === SETUP) {
    setup(data.docs)
    postMessage({ type: READY })
  } else if (type === QUERY) {
    postMessage({ type: RESULT, data: { items: search(data) } })
  }
})
