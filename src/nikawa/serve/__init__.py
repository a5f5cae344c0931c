"""Parts that web servers share: database, log-in, limits, languages, background work. It knows no project and no page.

A server puts these together: `database` (SQLite or PostgreSQL behind one face), `pool` (one writer with group commit,
many readers), `audit` and `login` (tables of their own, to add to the server's), `requests` and `limits` (what a
request must be before a route looks at it), `languages` and `markdown` (words and texts of pages), `background` (long
work in its own process), `server` (security headers, static files, uvicorn). The web stack comes with the extra
`serve` and is imported inside the functions that need it.
"""

import logging

# A command that uses the database reports its problem itself; a server adds a handler that writes.
logging.getLogger("nikawa").addHandler(logging.NullHandler())
