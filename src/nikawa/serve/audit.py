"""The audit log of a server: who did what, and when. Rows are only added."""

from __future__ import annotations

from typing import Any

import msgspec

from nikawa.serve.database import Connection, Row

TABLES = "CREATE TABLE audit (seq {serial}, at {real} NOT NULL, who TEXT NOT NULL, what TEXT NOT NULL, detail TEXT NOT NULL)"


def add_audit(db: Connection, who: str, what: str, detail: dict[str, Any], now: float) -> None:
    """Remember who did what; `detail` is kept as JSON."""
    db.execute(
        "INSERT INTO audit (at, who, what, detail) VALUES (?, ?, ?, ?)",
        now,
        who,
        what,
        msgspec.json.encode(detail).decode(),
    )


def audit_rows(db: Connection, after: int, limit: int, *, latest: bool = False) -> list[Row]:
    """Rows (seq, at, who, what, detail) after a number, the oldest first; `latest`: the last rows, the latest first."""
    order = "DESC" if latest else "ASC"
    rows = db.rows(
        f"SELECT seq, at, who, what, detail FROM audit WHERE seq > ? ORDER BY seq {order} LIMIT ?",  # noqa: S608
        after,
        limit,
    )
    return [(*row[:4], msgspec.json.decode(row[4])) for row in rows]
