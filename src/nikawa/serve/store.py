"""The store of a server: its tables, made once and refused in another version, values by key, and a backup while it runs."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Self

from nikawa.errors import BadInput
from nikawa.io.atomic import atomic_write, refuse_existing
from nikawa.serve import audit, login
from nikawa.serve.database import Connection, Database, Sqlite
from nikawa.serve.writer import DatabaseWriter

META = "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL)"


class ServerStore(DatabaseWriter):
    """What a server knows beyond its files. A subclass names its tables. Close it, or use it in a `with`."""

    tables = META
    """Definitions, separated by semicolons, for `str.format` with `Database.column_types`. Those of log-in and audit are
    added."""
    version = "1"
    first_values: tuple[tuple[str, str], ...] = ()
    """Values by key that are written with the tables."""

    def __init__(self, database: Database) -> None:
        db = database.connect()
        try:
            self.create_tables(database, db)
        finally:
            db.close()
        super().__init__(database)

    @classmethod
    def create_tables(cls, database: Database, db: Connection) -> None:
        """Create the tables if they do not exist; refuse tables of another version."""
        if _version(db) == cls.version:
            return
        with db.transaction():
            version = _version(db)
            if version is None:
                tables = ";".join((cls.tables, audit.TABLES, login.TABLES))
                for statement in tables.format(**database.column_types).split(";"):
                    db.execute(statement)
                for key, value in (("version", cls.version), *cls.first_values):
                    set_value(db, key, value)
            elif version != cls.version:
                what = f"the database has version {version}, this server needs {cls.version}"
                cure = "use the release of Nikawa that made it"
                raise BadInput(what, file=str(database), cure=cure)

    def backup(self, path: Path, *, overwrite: bool = False) -> None:
        """Copy the whole database while people work, by SQLite's own online backup."""
        if not isinstance(self.database, Sqlite):
            cure = "use pg_dump, which copies a running PostgreSQL"
            raise BadInput(f"{self.database} is not a SQLite file", cure=cure)
        refuse_existing(path, overwrite)
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(prefix=".backup.", suffix=".copy", dir=path.parent)
        os.close(descriptor)
        part = Path(name)
        db = self.database.connect()
        try:
            db.copy_to(part)
            # what people wrote is private, in a copy too
            with (
                atomic_write(path, overwrite=overwrite, private=True) as stream,
                part.open("rb") as copy,
            ):
                while block := copy.read(1 << 20):
                    stream.write(block)
        finally:
            db.close()
            part.unlink(missing_ok=True)

    def __enter__(self) -> Self:
        return self


def require_tables(database: Database, what: str, variable: str) -> None:
    """Refuse a database without the tables of what exists already: a command would take an empty database for it.

    `what` names it, such as "board"; `variable` is the environment variable with the address. Nothing is created.
    """
    if any(map(database.has_table, ("meta", "people"))):  # with one of them, it is damaged
        return
    where = str(database)
    if isinstance(database, Sqlite):
        cure = f"if the {what} uses PostgreSQL, set {variable}; else restore the file from a backup"
        raise BadInput("there is no database", file=where, cure=cure)
    cure = f"if the {what} uses SQLite, unset {variable}; else check the address, or load a dump"
    raise BadInput(f"the database does not contain this {what}", file=where, cure=cure)


def _version(db: Connection) -> str | None:
    return get_value(db, "version") if db.has_table("meta") else None


def get_value(db: Connection, key: str) -> str | None:
    """A value kept for the server as a whole."""
    row = db.one("SELECT value FROM meta WHERE key = ?", key)
    return None if row is None else str(row[0])


def set_value(db: Connection, key: str, value: str) -> None:
    """Keep a value for the server as a whole, in place of an earlier one."""
    db.execute(
        "INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
        key,
        value,
    )
