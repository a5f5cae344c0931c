"use strict";
// The page works without this script: column heads are links. With it, a click sorts at once, long tables can be filtered, and citations copied.
// No module, so that it also runs in a static export that is opened as a file.
(() => {
  const MIN_ROWS_FOR_FILTER = 15;
  const fill = (text, values) => text.replace(/\{(\w+)\}/g, (_, name) => values[name] ?? "");

  function sortTable(table, head, words) {
    const heads = [...table.tHead.rows[0].cells];
    const place = heads.indexOf(head);
    const key = head.dataset.key;
    const isName = key === "name";
    const first = isName || key === "rank" || head.dataset.first === "ascending" ? "ascending" : "descending";
    const now = head.getAttribute("aria-sort");
    const direction = now === null ? first : now === "ascending" ? "descending" : "ascending";
    const sign = direction === "ascending" ? 1 : -1;
    const order = new Intl.Collator(document.documentElement.lang, { numeric: true });
    const value = (row) => row.cells[place].dataset.v ?? "";
    const compare = (a, b) => {
      const [x, y] = [value(a), value(b)];
      const tie = a.dataset.place - b.dataset.place;
      if (x === "" || y === "") return (x === "") - (y === "") || tie;
      return sign * (isName ? order.compare(x, y) : Number(x) - Number(y)) || tie;
    };
    const body = table.tBodies[0];
    body.append(...[...body.rows].sort(compare));
    for (const one of heads) one.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", direction);
    const name = (head.querySelector("a, button") ?? head).textContent.trim();
    document.getElementById("sort-status").textContent = fill(words.sorted, { column: name, direction: words[direction] });
    const link = head.querySelector("a");
    if (link && location.protocol.startsWith("http")) {
      const address = new URL(link.href);
      address.searchParams.set("order", direction === first ? "best" : "worst");
      history.replaceState(null, "", address);
    }
  }

  for (const table of document.querySelectorAll("table[data-sortable]")) {
    const words = JSON.parse(table.dataset.words);
    for (const head of table.querySelectorAll("thead th[data-key]")) {
      let handle = head.querySelector(":scope > a");
      if (!handle) { // a static export has no page for each order
        handle = document.createElement("a");
        handle.href = "#";
        handle.setAttribute("role", "button");
        handle.append(...[...head.childNodes].filter((node) => !node.classList?.contains("ci")));
        const arrow = document.createElement("span");
        arrow.className = "arrow";
        arrow.setAttribute("aria-hidden", "true");
        handle.append(arrow);
        head.prepend(handle);
        handle.addEventListener("keydown", (event) => { if (event.key === " ") { event.preventDefault(); handle.click(); } });
      }
      handle.addEventListener("click", (event) => {
        if (event.ctrlKey || event.metaKey || event.shiftKey) return;
        event.preventDefault();
        sortTable(table, head, words);
      });
    }
    const tools = document.querySelector("[data-filter]");
    const rows = [...table.tBodies[0].rows];
    if (tools && rows.length >= MIN_ROWS_FOR_FILTER) {
      tools.hidden = false;
      const field = tools.querySelector("input");
      const plain = (text) => text.normalize("NFKC").toLowerCase();
      field.addEventListener("input", () => {
        const wanted = plain(field.value.trim());
        let count = 0;
        for (const row of rows) {
          row.hidden = !plain(row.querySelector("th").textContent).includes(wanted);
          count += !row.hidden;
        }
        document.getElementById("matches").textContent = wanted ? fill(words.matches, { count }) : "";
      });
    }
  }

  for (const button of document.querySelectorAll("button[data-copy]")) {
    if (!navigator.clipboard) continue;
    button.hidden = false;
    const label = button.textContent;
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent);
      button.textContent = button.dataset.done;
      setTimeout(() => { button.textContent = label; }, 2000);
    });
  }
})();
