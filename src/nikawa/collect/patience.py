"""Connections that begin a request and never end it: they are closed, so that a few cannot hold all places."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from weakref import WeakKeyDictionary

from nikawa.collect.guard import PATIENCE


class Patience:
    """Remembers since when each connection of uvicorn owes the head of a request."""

    def __init__(self, seconds: float = PATIENCE) -> None:
        self._seconds = seconds
        self._since: WeakKeyDictionary[Any, float] = WeakKeyDictionary()

    def look(self, connections: Iterable[Any], now: float) -> int:
        """Close those that have owed it for too long; how many."""
        closed = 0
        for connection in list(connections):
            if not _owes(connection):
                self._since.pop(connection, None)
            elif now - self._since.setdefault(connection, now) >= self._seconds:
                connection.transport.close()
                closed += 1
        return closed


def _owes(connection: Any) -> bool:
    """Neither at work on a request nor at rest after one, which uvicorn ends by itself."""
    if not hasattr(connection, "cycle") or connection.timeout_keep_alive_task is not None:
        return False
    return connection.cycle is None or bool(connection.cycle.response_complete)
