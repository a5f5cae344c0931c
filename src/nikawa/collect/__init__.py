"""The annotation server: a project folder, a store, an assignment of items to workers, and pages over HTTP.

**A project is a folder**: `project.toml` (settings, see `settings.Settings`), `guideline.{ja,ko,en}.md`,
`examples.jsonl` (what is judged; ids are the references the judgements carry), `gold.jsonl` (control items) and
`pilot.jsonl` (the trial before the main task), both with gold by question, `secret.key` (worker links are made from
it) and `collect.db` (SQLite; with a PostgreSQL address the data is there instead). What these files gain is taken
in when the server starts.

**A form is one file** in `forms/` with `FORM = Form(...)` (`form.Form` documents each field; `form.forms()` lists them). An answer is a JSON
object keyed by question, so it becomes one judgement per question. Its script is `pages/static/NAME.js`, which calls
`start` of `form.js`; its page is `pages/forms/_fields.html`, which the script fills, or another that it names; its
messages are its `words`. Forms may share a script or a page; nothing else is touched to add one. A form of another
package names the folder of its page and script (`assets`); examples/plugin has one.

**Templates** (Jinja2, autoescaped, in `pages/`) get: `project` (title, form, language), `form` (the `Form`),
`settings` (that of the form, public part), `language` (`ja`, `ko`, `en`), `t` (message table: `t["submit"]`),
`languages`, `guideline` (safe HTML), `modules` (scripts to load ahead), `static` (`/static/VERSION`, no slash at the end), `base` (`/w/TOKEN`, worker
pages only), `csrf` and `user` (owner pages only). `worker.html` is the page of a worker, `login.html`,
`dashboard.html`, `adjudicate.html` those of the owner, `message.html` (`heading`, `text`) anything else. Scripts and
styles are files: the content security policy forbids inline ones, and nothing is loaded from elsewhere.

**Worker routes**, JSON in and out; `TOKEN` is the worker's unguessable link:

    GET  /w/TOKEN            the page; leases nothing, so a link preview takes no item
    GET  /w/TOKEN/next       the state: the item the worker holds, else a fresh one
    POST /w/TOKEN/answer     {lease, key, answer, comment?, seconds?} -> {saved, duplicate, surplus, state}
    POST /w/TOKEN/draft      {lease, draft} -> {saved, held}; keeps half-written work and prolongs the lease;
                             held: whether the item is still the worker's
    POST /w/TOKEN/undo       {key} -> {state}: the last answer is withdrawn, its item shown again with the answer
    POST /w/TOKEN/report     {lease, key, code, comment?} -> {saved, duplicate, state}; codes: `form.REPORTS`
    POST /w/TOKEN/check      {lease, answer} -> {problems}: the rules of the form while the worker types
    POST /w/TOKEN/search     {lease, domain, state, words} -> {count, rows}: entities, in the form `dialogue`
    GET  /w/TOKEN/talk?lease=&mark=&wait= {stage, mark, role, partner, turns, goal, problems}: a dialogue of two workers, once
                             it is another than `mark` says, or after so many seconds; stage: "open"|"over"|"lost"
    POST /w/TOKEN/turn       {lease, key, place, text, state?, check?} -> {saved, problems}: a turn of that dialogue
    POST /w/TOKEN/alone      {lease} -> {saved}: write the rest of it alone
    POST /w/TOKEN/language   {language} -> {language}
    GET  /join/KEY?worker=ID a crowd platform's entrance: to the link of that worker

    state = {stage: "pilot"|"main"|"done"|"waiting"|"failed"|"excluded",
             item: null | {lease, inputs, draft, previous, expires, stage},
             progress: {answered, left: int|null, more: bool, pilot_left}, earned: {amount, currency, per_item},
             can_undo, code: str|null, language}; `more`: there are more left than were counted
    problem = {code, message, values, where, warning}: `where` is the question or field it is about, a `warning` is
             no reason to refuse; a refused request is {error: code, message, problems?} with status 4xx

`item.inputs` is what `Form.view` shows of the example; gold, tags, meta, ids and whether an item is a control item
never leave the server. `key` is any text the page makes for one submission: sent twice, it counts once.

**Owner routes** need the cookie of a log-in; each POST needs the header or field `X-CSRF-Token`:

    GET, POST /login; POST /logout; GET /owner, /owner/adjudicate (pages); GET /openapi.json
    GET  /owner/data               {progress, workers, time, reports, analyses, analysed}: what a dashboard shows;
                                   analysed = {name: {at, working}}: when each analysis was made (null: never yet, and
                                   then it is null), and whether a newer one is under way
    GET  /owner/items?state=&after= [{ref, asked, done, leased, reports, state}]
    GET  /owner/disagreements?after=&undecided= {cases: [case], after}: where the next page starts, null at the end
    GET  /owner/case?ref=          {ref, inputs, answers: [{worker, answer, comment, seconds, problems}],
                                   reports: [{worker, code, comment, at}], decision, decisions}: the last decision, and all
    GET  /owner/audit?after=&latest= [{seq, at, who, what, detail}], the oldest or the latest first
    GET  /owner/export?pseudonymise=&form=jsonl|csv  judgements, reports and decisions so far, streamed
    POST /owner/decide             {ref, answer, reason} -> {seq}, held to the form's rules as any answer
    POST /owner/exclude, /owner/reinstate  {worker, reason} -> {worker, state}
    POST /owner/resolve            {ref, action: "reopen"|"drop", reason} -> {ref, state}
    POST /owner/links              {names: [..]} -> {links: [{worker, path}]}

**Messages** are `messages/{ja,ko,en}.toml`, one flat table each with the same keys.
"""

from nikawa.collect.form import REPORTS, Form, Problem
from nikawa.collect.settings import Settings

__all__ = ["REPORTS", "Form", "Problem", "Settings"]
