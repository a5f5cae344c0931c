"""Either database: a SQLite file, or a PostgreSQL that lives as long as the tests."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

import psycopg
import pytest
from tests.serve._postgres import cluster, find_program

from nikawa.serve.database import Database, Sqlite


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The address of a PostgreSQL; tests that ask for it are skipped where there is none."""
    if find_program("initdb") is None or find_program("postgres") is None:
        pytest.skip("no PostgreSQL here: install the package postgresql")
    with cluster(sync_to_disk=False) as made:
        yield made.address


@pytest.fixture(params=["sqlite", "postgres"])
def database(request: pytest.FixtureRequest) -> str:
    """The address of either database: the same tests hold for both."""
    return "" if request.param == "sqlite" else str(request.getfixturevalue("postgres"))


def make_outage(where: Database, message: str) -> Exception:
    """What a database raises when it is full, or gone."""
    if isinstance(where, Sqlite):
        full = sqlite3.OperationalError(message)
        full.sqlite_errorcode = sqlite3.SQLITE_FULL
        return full
    gone: Exception = psycopg.OperationalError(message)
    return gone
