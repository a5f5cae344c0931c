// Talks to the server for every form: one call a request, JSON in and out.
const work = document.getElementById("work");
export const base = work.dataset.base;
export const messages = JSON.parse(work.dataset.messages);
export const settings = JSON.parse(work.dataset.settings);

export async function call(path, body) {
  const given = body === undefined ? {} : {
    method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body),
  };
  const reply = await fetch(`${base}/${path}`, given);
  return { status: reply.status, body: await reply.json() };
}
