"""Those who own a project: names, roles, passwords (argon2id), and the sessions of their log-ins."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from functools import cache
from typing import Any, cast

from nikawa.collect.database import Link
from nikawa.collect.project import hashed
from nikawa.collect.workers import Refused, audit
from nikawa.errors import BadInput, missing_extra

ROLES = ("owner", "reviewer")
"""An owner may do everything; a reviewer looks and decides, but excludes nobody and exports nothing."""
SESSION = 12 * 3600.0
SHORTEST = 10
"""Characters of a password."""


@dataclass(frozen=True)
class Person:
    """Who is logged in."""

    name: str
    role: str
    csrf: str


@cache
def _hasher() -> Any:
    try:
        from argon2 import PasswordHasher
    except ImportError:
        raise missing_extra("argon2-cffi, which keeps passwords,", "serve") from None
    return PasswordHasher(time_cost=2, memory_cost=19_456, parallelism=1)


@cache
def _nobody() -> str:
    """A hash to compare with when nobody has the name: both answers take the same time."""
    return str(_hasher().hash(secrets.token_hex(16)))


def hash_password(password: str) -> str:
    """What is kept of a password."""
    if len(password) < SHORTEST:
        raise BadInput(
            f"the password is shorter than {SHORTEST} characters", cure="choose a longer one"
        )
    return cast(str, _hasher().hash(password))


def set_person(link: Link, name: str, role: str, password_hash: str, now: float) -> None:
    """Add somebody, or give them a new password and role; their sessions end."""
    if role not in ROLES:
        raise BadInput(f"there is no role {role!r}", cure=f"roles: {', '.join(ROLES)}")
    link.run(
        "INSERT INTO people (name, role, password, created) VALUES (?, ?, ?, ?)"
        " ON CONFLICT (name) DO UPDATE SET role = excluded.role, password = excluded.password",
        name,
        role,
        password_hash,
        now,
    )
    link.run("DELETE FROM sessions WHERE person = ?", name)
    audit(link, "command", "set person", {"name": name, "role": role}, now)


def password_of(link: Link, name: str) -> str:
    """The hash kept for a name, or one that nothing matches."""
    row = link.one("SELECT password FROM people WHERE name = ?", name)
    return _nobody() if row is None else str(row[0])


def matches(kept: str, password: str) -> bool:
    """Whether a password is the one whose hash is kept; slow on purpose."""
    from argon2.exceptions import Argon2Error, InvalidHashError

    try:
        return bool(_hasher().verify(kept, password))
    except (Argon2Error, InvalidHashError):
        return False


def start_session(link: Link, name: str, now: float) -> str:
    """The cookie of a fresh session."""
    cookie, csrf = secrets.token_urlsafe(32), secrets.token_urlsafe(32)
    link.run("DELETE FROM sessions WHERE expires <= ?", now)
    link.run(
        "INSERT INTO sessions (id, person, csrf, expires) VALUES (?, ?, ?, ?)",
        hashed(cookie),
        name,
        csrf,
        now + SESSION,
    )
    audit(link, name, "log in", {}, now)
    return cookie


def person_of(link: Link, cookie: str, now: float) -> Person:
    """Who a cookie belongs to."""
    row = link.one(
        "SELECT p.name, p.role, s.csrf FROM sessions s JOIN people p ON p.name = s.person"
        " WHERE s.id = ? AND s.expires > ?",
        hashed(cookie),
        now,
    )
    if row is None:
        raise Refused("not_allowed", 401)
    return Person(*row)


def end_session(link: Link, cookie: str, name: str, now: float) -> None:
    """Log out."""
    link.run("DELETE FROM sessions WHERE id = ?", hashed(cookie))
    audit(link, name, "log out", {}, now)
