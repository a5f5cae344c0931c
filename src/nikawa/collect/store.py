"""The store of a project: its tables, the same in SQLite and PostgreSQL, and the values in them.

Answers, withdrawals, reports, decisions and the audit log only ever gain rows. `items.done` counts the valid
answers, `items.leased` the open leases; `open` says whether another worker may have the item, and is what the two partial
indexes hold, so that finding one never looks at a closed item. The texts are apart: counting a million items does not
read them. Rows with counters have free space next to them (`{fillfactor}`), so that PostgreSQL can update them in place.

Columns whose names do not say what they hold:

    items.ref        the id of the example
    items.grp        the example's group (`group` is a word of SQL)
    items.spot       where the item is on the ring that a search reads from a drawn start (`permutation.draw_index_start`)
    items.asked      how many answers are asked for
    items.held       1 where the item is set aside after reports, until the owner decides
    texts.gold       the gold of a control or pilot item, as JSON
    kind             `main`, `gold` (a control item) or `pilot`
    workers.link     the hash of the worker's link
    workers.serial   how many items were handed out; draws of chance are keyed by it
    workers.place    how far the worker's own order has been walked
    workers.gold     control items answered; `gold_right` those answered right
    leases.redo      the answer (`answers.seq`) that was withdrawn and is done again under this lease
    answers.elapsed  seconds since the item was handed out; null where the answer was imported
    answers.surplus  1 where the item had its answers already, 2 (`BY_MACHINE`) where a model or a simulation answered:
                     such an answer is exported, and counted nowhere
"""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path

import msgspec

from nikawa.errors import BadInput
from nikawa.records import Example, revive
from nikawa.serve.database import Connection, Database, open_database
from nikawa.serve.store import META, ServerStore, get_value

VERSION = "1"
DRAWS, TEXT_ORDER = "draws", "order of texts"
"""Values of the project as a whole: whether chance is drawn with the project's secret, in assignment and in exports of
texts. They are written with the tables, so that a project in progress goes on as it began."""
KEYED = "keyed"

TABLES = (
    META
    + """;
CREATE TABLE items (
  id {int} PRIMARY KEY, kind TEXT NOT NULL, position {int} NOT NULL, ref TEXT NOT NULL, grp TEXT, spot {int} NOT NULL,
  asked {int} NOT NULL, done {int} NOT NULL DEFAULT 0, leased {int} NOT NULL DEFAULT 0,
  reports {int} NOT NULL DEFAULT 0, held {int} NOT NULL DEFAULT 0,
  open {int} GENERATED ALWAYS AS
    (CASE WHEN kind = 'main' AND held = 0 AND done + leased < asked THEN 1 ELSE 0 END) STORED) {fillfactor};
CREATE TABLE texts (item {int} PRIMARY KEY, body TEXT NOT NULL, gold TEXT);
CREATE UNIQUE INDEX items_ref ON items (kind, ref);
CREATE UNIQUE INDEX items_position ON items (kind, position);
CREATE INDEX items_spot ON items (spot) WHERE open = 1;
CREATE INDEX items_order ON items (position) WHERE open = 1;
CREATE INDEX items_reports ON items (id) WHERE reports > 0;
CREATE TABLE workers (
  id {serial}, name TEXT NOT NULL UNIQUE, link TEXT NOT NULL UNIQUE, origin TEXT NOT NULL, state TEXT NOT NULL,
  reason TEXT NOT NULL DEFAULT '', language TEXT NOT NULL, serial {int} NOT NULL DEFAULT 0,
  place {int} NOT NULL DEFAULT 0, answered {int} NOT NULL DEFAULT 0,
  pilot {int} NOT NULL DEFAULT 0, pilot_right {int} NOT NULL DEFAULT 0,
  gold {int} NOT NULL DEFAULT 0, gold_right {int} NOT NULL DEFAULT 0, quick {int} NOT NULL DEFAULT 0,
  seconds {real} NOT NULL DEFAULT 0, earned {real} NOT NULL DEFAULT 0, created {real} NOT NULL,
  last {real} NOT NULL) {fillfactor};
CREATE TABLE leases (
  id TEXT PRIMARY KEY, item {int} NOT NULL, worker {int} NOT NULL, issued {real} NOT NULL,
  expires {real} NOT NULL, state TEXT NOT NULL, redo {int});
CREATE INDEX leases_expiry ON leases (expires) WHERE state = 'open';
CREATE INDEX leases_worker ON leases (worker, state, issued);
CREATE TABLE seen (worker {int} NOT NULL, item {int} NOT NULL, PRIMARY KEY (worker, item)) {norowid};
CREATE TABLE seen_groups (worker {int} NOT NULL, grp TEXT NOT NULL, PRIMARY KEY (worker, grp)) {norowid};
CREATE TABLE answers (
  seq {serial}, item {int} NOT NULL, worker {int} NOT NULL, lease TEXT NOT NULL UNIQUE, key TEXT NOT NULL,
  kind TEXT NOT NULL, body TEXT NOT NULL, comment TEXT NOT NULL, seconds {real}, elapsed {real}, at {real},
  surplus {int} NOT NULL, correct {int}, quick {int} NOT NULL, pay {real} NOT NULL, UNIQUE (worker, key));
CREATE INDEX answers_item ON answers (item);
CREATE INDEX answers_worker ON answers (worker, seq);
CREATE TABLE withdrawals (
  answer {int} PRIMARY KEY, worker {int} NOT NULL, key TEXT NOT NULL, at {real} NOT NULL, UNIQUE (worker, key));
CREATE TABLE drafts (lease TEXT PRIMARY KEY, body TEXT NOT NULL, at {real} NOT NULL);
CREATE TABLE reports (
  seq {serial}, item {int} NOT NULL, worker {int} NOT NULL, lease TEXT NOT NULL UNIQUE, key TEXT NOT NULL,
  code TEXT NOT NULL, comment TEXT NOT NULL, at {real} NOT NULL, UNIQUE (worker, key));
CREATE INDEX reports_item ON reports (item);
CREATE TABLE decisions (
  seq {serial}, item {int} NOT NULL, person TEXT NOT NULL, body TEXT NOT NULL, reason TEXT NOT NULL,
  at {real} NOT NULL);
CREATE INDEX decisions_item ON decisions (item, seq)"""
)

ADDED_TABLES = {
    "prelabels": "CREATE TABLE prelabels (item {int} PRIMARY KEY, source TEXT NOT NULL, body TEXT NOT NULL)",
    "prelabelled": "CREATE TABLE prelabelled (item {int} NOT NULL, worker {int} NOT NULL, source TEXT NOT NULL, body TEXT NOT NULL,"
    " shown {int} NOT NULL, PRIMARY KEY (item, worker)) {norowid}",
    "dialogues": "CREATE TABLE dialogues (id {serial}, item {int} NOT NULL, state TEXT NOT NULL, alone {int} NOT NULL,"
    " begun {real} NOT NULL);"
    "CREATE INDEX dialogues_item ON dialogues (item);"
    "CREATE INDEX dialogues_open ON dialogues (id) WHERE state = 'open'",
    "seats": "CREATE TABLE seats (lease TEXT PRIMARY KEY, dialogue {int} NOT NULL, worker {int} NOT NULL,"
    " role TEXT NOT NULL, speaker {int} NOT NULL, since {real} NOT NULL, seen {real} NOT NULL, active {real} NOT NULL);"
    "CREATE INDEX seats_dialogue ON seats (dialogue)",
    "turns": "CREATE TABLE turns (dialogue {int} NOT NULL, place {int} NOT NULL, role TEXT NOT NULL, text TEXT NOT NULL,"
    " state TEXT, speaker {int} NOT NULL, key TEXT NOT NULL, at {real} NOT NULL,"
    " PRIMARY KEY (dialogue, place), UNIQUE (dialogue, key))",
    "efforts": "CREATE TABLE efforts (item {int} PRIMARY KEY, place {int} NOT NULL);"
    "CREATE INDEX efforts_place ON efforts (place)",
}
"""`prelabels` is the machine's answer to each item; `prelabelled` is what was drawn when a worker got an item: the
machine's answer then, and whether the page was filled in with it. `efforts` is the order in which items are asked about where
the number of workers adapts. `dialogues`, `seats` and `turns` are those of two workers who meet (`collect.live`). Databases of older versions get them when opened."""
BY_MACHINE = 2
"""The value of `answers.surplus` of an answer that no person gave."""
ANSWERS = "answers a JOIN workers w ON w.id = a.worker LEFT JOIN withdrawals x ON x.answer = a.seq"
IS_COUNTED = "a.surplus = 0 AND x.answer IS NULL AND w.state <> 'excluded'"
"""The condition that an answer of `ANSWERS` counts: it is not surplus, not withdrawn, not of an excluded worker."""


class Store(ServerStore):
    """What is known of a project beyond its files. Close it, or use it in a `with`."""

    tables = TABLES
    version = VERSION
    first_values = ((DRAWS, KEYED), (TEXT_ORDER, KEYED))

    @classmethod
    def create_tables(cls, database: Database, db: Connection) -> None:
        """Create the tables, and in a database of an older version those that were added since."""
        super().create_tables(database, db)
        if all(map(db.has_table, ADDED_TABLES)):
            return
        with db.transaction():
            for name, statements in ADDED_TABLES.items():
                if not db.has_table(name):
                    for statement in statements.format(**database.column_types).split(";"):
                        db.execute(statement)


def project_database(address: str, folder: Path, name: str) -> Database:
    """The database of a project: that of an address, or the file in its folder where the address is empty."""
    return open_database(address, file=folder / "collect.db", schema=f"nikawa_{name}")


def open_store(address: str, folder: Path, name: str) -> Store:
    """The store of a project; `address` is empty for the file in its folder."""
    return Store(project_database(address, folder, name))


def is_keyed(db: Connection, draws: str) -> bool:
    """Whether the draws called `DRAWS` or `TEXT_ORDER` need the project's secret."""
    return get_value(db, draws) == KEYED


_EXAMPLE_DECODER = msgspec.json.Decoder(Example)


def decode_example(body: str) -> Example:
    """The example of a stored item, without gold."""
    try:
        return revive(_EXAMPLE_DECODER.decode(body))
    except (msgspec.DecodeError, UnicodeDecodeError) as problem:
        what = f"an item in the project's database is damaged: {problem}"
        raise BadInput(what, cure="restore the database from a backup") from None


def format_time(at: float | None) -> str | None:
    """A moment as judgements write it: ISO 8601, UTC, milliseconds.

    >>> format_time(0.5)
    '1970-01-01T00:00:00.500+00:00'
    """
    if at is None:
        return None
    second, rest = divmod(round(at * 1e6), 1_000_000)
    hour, second = divmod(second, 3600)
    return f"{_format_hour(hour)}:{second // 60:02}:{second % 60:02}.{rest // 1000:03}+00:00"


@lru_cache(maxsize=4096)
def _format_hour(number: int) -> str:
    """Judgements come in the order of time: many share their hour."""
    return datetime.fromtimestamp(3600 * number, UTC).isoformat()[:13]


def parse_time(text: str | None, default: float) -> float:
    """The moment a judgement names, or a default where it cannot be read."""
    try:
        return default if text is None else datetime.fromisoformat(text).timestamp()
    except ValueError:
        return default
