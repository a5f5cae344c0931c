// The page: unpacks examples when they come into view; keys, theme, sources, printing.
(() => {
  const { Browser, read } = nikawa;
  const browsers = [];

  async function start(place) {
    if (place.dataset.started) return;
    place.dataset.started = "yes";
    if (!("DecompressionStream" in window)) {
      place.querySelector(".wait").textContent = "This browser is too old to unpack the examples. They are in predictions/ of each run.";
      return;
    }
    const browser = new Browser(place, await read(place.dataset.items));
    browsers.push(browser);
    Browser.current = Browser.current || browser;
    place.browser = browser;
  }

  // Unpack the examples of a task when they are about to come into view.
  const places = [...document.querySelectorAll(".browser")];
  const near = new IntersectionObserver((entries) => {
    for (const entry of entries) if (entry.isIntersecting) { near.unobserve(entry.target); start(entry.target); }
  }, { rootMargin: "1200px" });
  places.forEach((place) => near.observe(place));

  async function pick(rect) {
    const place = rect.closest("section").querySelector(".browser"), system = rect.closest("figure").dataset.system;
    await start(place);
    const { browser } = place, { items } = browser;
    const known = (word) => { const n = items.w.indexOf(word); return String(n < 0 ? -2 : n); }; // -1 is no answer, or hidden gold
    const number = (word) => (word === "(unread)" ? "-1" : known(word));
    browser.clear();
    browser.show({ system: String(items.sys.indexOf(system)), gold: known(rect.dataset.gold), answer: number(rect.dataset.answer), set: String(items.set[0]) });
    place.scrollIntoView({ block: "start" });
    browser.list.focus({ preventScroll: true });
  }

  // The tab key stops once per table and the arrow keys move inside it: thirty labels have nine hundred cells.
  function move(event, rect) {
    const cells = [...rect.closest("figure").querySelectorAll("rect")], across = cells.filter((cell) => cell.dataset.gold === rect.dataset.gold).length;
    const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: across, ArrowUp: -across }[event.key], next = step && cells[cells.indexOf(rect) + step];
    if (!step) return;
    event.preventDefault();
    if (!next || (Math.abs(step) === 1 && next.dataset.gold !== rect.dataset.gold)) return;
    rect.setAttribute("tabindex", "-1");
    next.setAttribute("tabindex", "0");
    next.focus();
  }

  for (const rect of document.querySelectorAll("figure.heat rect")) {
    rect.setAttribute("role", "button");
    rect.setAttribute("tabindex", rect === rect.closest("figure").querySelector("rect") ? "0" : "-1");
    rect.setAttribute("aria-label", rect.querySelector("title").textContent);
    rect.addEventListener("click", () => pick(rect));
    rect.addEventListener("keydown", (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); pick(rect); } else move(event, rect); });
  }

  // Keys act on the example browser that was used last if it is visible, else on the one nearest to the middle of the screen.
  function meant() {
    const inSight = (b) => { const box = b.place.getBoundingClientRect(); return box.bottom > 0 && box.top < innerHeight; };
    if (Browser.current && inSight(Browser.current)) return Browser.current;
    const distance = (b) => Math.abs(b.place.getBoundingClientRect().top - innerHeight / 3);
    return [...browsers].sort((a, b) => distance(a) - distance(b))[0];
  }

  document.addEventListener("keydown", async (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const typing = event.target.closest("input,select,textarea");
    if (event.key === "Escape" && typing) { event.preventDefault(); typing.blur(); return; } // a search box would empty itself, not the filter
    if (typing || !["/", "j", "k"].includes(event.key)) return;
    event.preventDefault();
    if (!browsers.length && places.length) await start(places[0]);
    const browser = meant();
    if (!browser) return;
    Browser.current = browser;
    if (event.key === "/") { browser.search.scrollIntoView({ block: "center" }); browser.search.focus({ preventScroll: true }); browser.search.select(); } else {
      browser.list.focus({ preventScroll: true });
      browser.go(browser.at + (event.key === "j" ? 1 : -1));
    }
  });

  // The theme follows the reader's system unless the reader chose another.
  const themes = ["auto", "light", "dark"], button = document.getElementById("theme"), root = document.documentElement;
  const stored = () => { try { return localStorage.getItem("nikawa-theme") || "auto"; } catch { return "auto"; } };
  function dress(theme) {
    if (theme === "auto") delete root.dataset.theme; else root.dataset.theme = theme;
    button.textContent = `Theme: ${theme}`;
    try { localStorage.setItem("nikawa-theme", theme); } catch { /* a page opened from a file may have no storage */ }
  }
  button.hidden = false;
  dress(themes.includes(stored()) ? stored() : "auto");
  button.addEventListener("click", () => dress(themes[(themes.indexOf(root.dataset.theme || "auto") + 1) % 3]));

  const links = new Map([...document.querySelectorAll("nav a")].map((a) => [a.getAttribute("href").slice(1), a]));
  const seen = new IntersectionObserver((entries) => {
    for (const entry of entries) if (entry.isIntersecting) {
      links.forEach((a) => a.removeAttribute("aria-current"));
      links.get(entry.target.id)?.setAttribute("aria-current", "true");
    }
  }, { rootMargin: "-20% 0px -75% 0px" });
  document.querySelectorAll("main>section").forEach((section) => seen.observe(section));

  // Add the source of the element under the pointer to its title.
  document.addEventListener("pointerover", (event) => {
    const found = event.target.closest?.("[data-src]");
    if (!found || found.dataset.titled) return;
    found.dataset.titled = "yes";
    const [first, ...more] = found.dataset.src.split(" "), place = decodeURI(first) + (more.length ? ` and ${more.length} more` : "");
    const drawn = found.namespaceURI.endsWith("svg") ? found.querySelector("title") : null;
    if (drawn) drawn.textContent += `\n${place}`;
    else found.title = found.title ? `${found.title}\n${place}` : place;
  });

  addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((d) => { d.dataset.was = d.open ? "y" : ""; d.open = true; }));
  addEventListener("afterprint", () => document.querySelectorAll("details").forEach((d) => { d.open = d.dataset.was === "y"; }));
})();
