// The table of entities, as the agent of a dialogue searches it: what fits the state, with words if need be.
import { make, messages, nameOf, say, settings } from "./form.js";

const { base } = document.getElementById("work").dataset;
const searched = Object.entries(settings.ontology.domains)
  .filter(([, { slots }]) => Object.values(slots).some(({ kind = "find" }) => kind === "offer" || kind === "ask"))
  .map(([domain]) => domain);

// search({ lease(), state(), use(name) }): the panel, or null where there is no table to search.
export function searchPanel({ lease, state, use }) {
  if (!base || !searched.length) return null;
  const domain = make("select", { id: "search-domain" }, ...searched.map((name) => make("option", { value: name }, name)));
  const words = make("input", { type: "search", id: "search-words", autocomplete: "off", enterkeyhint: "search" });
  const count = make("p", { class: "hint", role: "status" });
  const list = make("ul", { class: "entities" });
  let asked = 0;
  let timer = null;

  function rowOf(row) {
    const { slots } = settings.ontology.domains[domain.value];
    const offer = Object.entries(slots).find(([, slot]) => slot.kind === "offer")?.[0];
    const name = row[offer] ?? "";
    const facts = Object.entries(row).filter(([key]) => key !== offer).flatMap(([key, value]) => [make("dt", {}, key), make("dd", { dir: "auto" }, nameOf(value))]);
    const button = make("button", { type: "button", class: "use", "aria-label": say("search_use", { name }) }, make("bdi", {}, name));
    button.addEventListener("click", () => use(name));
    return make("li", {}, ...(name ? [button] : []), make("dl", {}, ...facts));
  }

  async function run() {
    if (!element.isConnected) return; // the item changed while the timer ran
    const mine = ++asked;
    const body = { lease: lease(), domain: domain.value, state: state(), words: words.value };
    try {
      const reply = await fetch(`${base}/search`, { method: "POST", headers: { "Content-Type": "application/json", "Accept-Language": document.documentElement.lang }, body: JSON.stringify(body) });
      const found = await reply.json();
      if (mine !== asked || reply.status !== 200) return;
      list.replaceChildren(...found.rows.map(rowOf));
      count.textContent = say(found.count > found.rows.length ? "search_more" : "search_found", { count: found.count, shown: found.rows.length });
    } catch { /* offline: the page says so */ }
  }

  const soon = () => { clearTimeout(timer); timer = setTimeout(run, 200); };
  domain.addEventListener("change", run);
  words.addEventListener("input", soon);
  words.addEventListener("keydown", (event) => { if (event.key === "Enter") { event.preventDefault(); run(); } });
  const element = make("details", { class: "search", open: true }, make("summary", {}, messages.search),
    make("p", { class: "hint" }, messages.search_state),
    make("div", { class: "row" }, make("label", { for: "search-domain", class: "unseen" }, messages.search_domain), domain,
      make("label", { for: "search-words", class: "unseen" }, messages.search_words), words), count, list);
  words.placeholder = messages.search_words;
  return {
    element,
    soon,
    // The domain that was spoken of last.
    follow(entries) {
      const last = entries.map((entry) => entry.split("-")[0]).findLast((name) => searched.includes(name));
      if (last && last !== domain.value) domain.value = last;
      soon();
    },
  };
}
