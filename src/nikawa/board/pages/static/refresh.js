// Loads the marked parts of a page again while something is under way, so that their state is current.
const SECONDS = 5;
const isBusy = (part) => !document.hidden && !part.contains(document.activeElement) && !part.querySelector("details[open]");

async function refresh() {
  const parts = [...document.querySelectorAll("[data-refresh]")].filter((part) => part.dataset.refresh === "1" && isBusy(part));
  if (!parts.length) return;
  let fresh;
  try {
    const reply = await fetch(location.pathname + location.search, { cache: "no-store", headers: { Accept: "text/html" } });
    if (!reply.ok || reply.redirected) return;
    fresh = new DOMParser().parseFromString(await reply.text(), "text/html");
  } catch {
    return; // the next look may succeed
  }
  for (const part of parts) {
    const now = fresh.getElementById(part.id);
    if (now && isBusy(part)) part.replaceWith(document.importNode(now, true));
  }
}

setInterval(refresh, 1000 * SECONDS);
