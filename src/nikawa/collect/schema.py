"""The tables. Answers, withdrawals, reports, decisions and the audit log only ever gain rows.

`items.done` counts the answers that stand, `items.leased` the open leases; `open` says whether another worker may
have the item, and is what the two partial indexes hold, so that finding one never looks at a closed item. The texts
stand apart: counting a million items does not read them. Rows that are counted up have room beside them (`roomy`).
"""

from __future__ import annotations

from nikawa.collect.database import Database, Link, batch
from nikawa.errors import BadInput

VERSION = "1"

TABLES = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE items (
  id {int} PRIMARY KEY, kind TEXT NOT NULL, position {int} NOT NULL, ref TEXT NOT NULL, grp TEXT, spot {int} NOT NULL,
  asked {int} NOT NULL, done {int} NOT NULL DEFAULT 0, leased {int} NOT NULL DEFAULT 0,
  reports {int} NOT NULL DEFAULT 0, held {int} NOT NULL DEFAULT 0,
  open {int} GENERATED ALWAYS AS
    (CASE WHEN kind = 'main' AND held = 0 AND done + leased < asked THEN 1 ELSE 0 END) STORED) {roomy};
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
  last {real} NOT NULL) {roomy};
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
CREATE INDEX decisions_item ON decisions (item, seq);
CREATE TABLE audit (seq {serial}, at {real} NOT NULL, who TEXT NOT NULL, what TEXT NOT NULL, detail TEXT NOT NULL);
CREATE TABLE people (name TEXT PRIMARY KEY, role TEXT NOT NULL, password TEXT NOT NULL, created {real} NOT NULL);
CREATE TABLE sessions (
  id TEXT PRIMARY KEY, person TEXT NOT NULL, csrf TEXT NOT NULL, expires {real} NOT NULL);
CREATE INDEX sessions_expiry ON sessions (expires)
"""


def prepare(database: Database, link: Link) -> None:
    """Make the tables where there are none; refuse those of another version."""
    if _version(database, link) == VERSION:
        return
    with batch(link):
        version = _version(database, link)
        if version is None:
            for statement in TABLES.format(**database.words).split(";"):
                link.run(statement)
            link.run("INSERT INTO meta (key, value) VALUES ('version', ?)", VERSION)
        elif version != VERSION:
            what = f"the database has version {version}, this server needs {VERSION}"
            raise BadInput(what, file=str(database), cure="use the release of Nikawa that made it")


def _version(database: Database, link: Link) -> str | None:
    if "WITHOUT" in database.words["norowid"]:
        there = link.one("SELECT 1 FROM sqlite_master WHERE name = 'meta'")
    else:
        there = link.one("SELECT 1 WHERE to_regclass('meta') IS NOT NULL")
    row = link.one("SELECT value FROM meta WHERE key = 'version'") if there else None
    return None if row is None else str(row[0])
