"""Stored runs for readers: the page of `nikawa report`, the page of `nikawa agree`, pictures, tables, dataset cards.

`nikawa report` is `job.report`. It works in three steps, and a file belongs to one of them; `training` and
`tried_settings` contain both the first and the third step of their subject.

| step | files |
|---|---|
| collect values from runs | `systems` (runs by task and system), `scores` (means, intervals, paired tests), `training` (losses), `tried_settings` (what a sweep tried), `dataset_notes` (card, agreement, artifacts), `browser_items` (examples with all answers) |
| hold them | `page_data`: the records that the page draws, stored as `numbers.json` |
| draw them | `page` (the file, its summary and its method), `section` (one task), `analysis_blocks` (its analyses), `summary` (Markdown, LaTeX and CSV of the summary) |

Drawing rests on `fragments` (numbers, tables and notes as HTML), `plots` (pictures), `markup` (escaping, templates) and
`sources` (which file a number is from). `base.css`, `page.css`, `page.js` and `page_browser.js` become a part of the page.

The other files are independent: `agreement` is the page about the agreement of workers, `scatter` the picture of the
artifact test (both place names with `label_placement`), `card` the dataset card in Markdown, and `tables` a table in
Markdown, LaTeX or CSV for every command.
"""
