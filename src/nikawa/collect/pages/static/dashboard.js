const shown = document.getElementById("data");
async function refresh() {
  const reply = await fetch("/owner/data");
  if (reply.ok) shown.textContent = JSON.stringify(await reply.json(), null, 2);
}
await refresh();
setInterval(refresh, 5000);
