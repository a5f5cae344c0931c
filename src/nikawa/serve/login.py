"""Those who own a server's data: names, roles, passwords (argon2id), sessions, and what protects their forms.

A session is a cookie; the database keeps its hash only. Every POST of a session carries the session's own token
(`X-CSRF-Token`), and the form to log in carries the token of a cookie that came with it.
"""

from __future__ import annotations

import hmac
import secrets
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from typing import TYPE_CHECKING, Any, cast

from nikawa.errors import BadInput, missing_extra
from nikawa.serve.audit import add_audit
from nikawa.serve.database import Connection
from nikawa.serve.errors import Refused

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

ROLES = ("owner", "reviewer")
"""An owner may do everything; a reviewer can look and decide, but cannot exclude workers or export."""
SESSION_SECONDS = 12 * 3600.0
MIN_PASSWORD_CHARS = 10
SESSION_COOKIE, LOGIN_COOKIE = "nikawa_session", "nikawa_login"
CSRF_FIELD = "X-CSRF-Token"
"""The header of a POST, or the field of the form to log in."""

TABLES = """
CREATE TABLE people (name TEXT PRIMARY KEY, role TEXT NOT NULL, password TEXT NOT NULL, created {real} NOT NULL);
CREATE TABLE sessions (
  id TEXT PRIMARY KEY, person TEXT NOT NULL, csrf TEXT NOT NULL, expires {real} NOT NULL);
CREATE INDEX sessions_expiry ON sessions (expires)
"""


@dataclass(frozen=True)
class Person:
    """Who is logged in."""

    name: str
    role: str
    csrf: str


def hash_token(token: str) -> str:
    """The stored form of a token: cookies and links cannot be restored from the database."""
    return sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


@cache
def _hasher() -> Any:
    try:
        from argon2 import PasswordHasher
    except ImportError:
        raise missing_extra("argon2-cffi, which hashes passwords,", "serve") from None
    return PasswordHasher(time_cost=2, memory_cost=19_456, parallelism=1)


def hash_password(password: str) -> str:
    """What is kept of a password; one that is too short is bad input."""
    if len(password) < MIN_PASSWORD_CHARS:
        what = f"the password is shorter than {MIN_PASSWORD_CHARS} characters"
        raise BadInput(what, cure="choose a longer one")
    return cast(str, _hasher().hash(password))


@cache
def _hash_of_nobody() -> str:
    """A hash to compare with for an unknown name, so that both answers take the same time."""
    return str(_hasher().hash(secrets.token_hex(16)))


def password_hash(db: Connection, name: str) -> str:
    """The hash kept for a name, or one that nothing matches."""
    row = db.one("SELECT password FROM people WHERE name = ?", name)
    return login_hash(None if row is None else str(row[0]))


def login_hash(kept: str | None) -> str:
    """The hash to compare a password with: the kept one, or for an unknown name one that nothing matches."""
    nobody = _hash_of_nobody()  # made for the first who tries, whether there is such a name or not
    return nobody if kept is None else kept


def password_matches(kept: str, password: str) -> bool:
    """Whether a password is the one whose hash is kept; slow on purpose."""
    from argon2.exceptions import Argon2Error, InvalidHashError

    try:
        return bool(_hasher().verify(kept, password))
    except (Argon2Error, InvalidHashError):
        return False


def set_person(db: Connection, name: str, role: str, password_hash: str, now: float) -> None:
    """Add a user, or set a new password and role; their sessions end."""
    if role not in ROLES:
        raise BadInput(f"there is no role {role!r}", cure=f"roles: {', '.join(ROLES)}")
    db.execute(
        "INSERT INTO people (name, role, password, created) VALUES (?, ?, ?, ?)"
        " ON CONFLICT (name) DO UPDATE SET role = excluded.role, password = excluded.password",
        name,
        role,
        password_hash,
        now,
    )
    db.execute("DELETE FROM sessions WHERE person = ?", name)
    add_audit(db, "command", "set person", {"name": name, "role": role}, now)


def start_session(db: Connection, name: str, now: float) -> str:
    """Log in; the cookie of the fresh session."""
    cookie, csrf = secrets.token_urlsafe(32), secrets.token_urlsafe(32)
    db.execute("DELETE FROM sessions WHERE expires <= ?", now)
    db.execute(
        "INSERT INTO sessions (id, person, csrf, expires) VALUES (?, ?, ?, ?)",
        hash_token(cookie),
        name,
        csrf,
        now + SESSION_SECONDS,
    )
    add_audit(db, name, "log in", {}, now)
    return cookie


def find_person(db: Connection, cookie: str, now: float) -> Person:
    """Who a session's cookie belongs to; an unknown or old one is refused."""
    row = db.one(
        "SELECT p.name, p.role, s.csrf FROM sessions s JOIN people p ON p.name = s.person"
        " WHERE s.id = ? AND s.expires > ?",
        hash_token(cookie),
        now,
    )
    if row is None:
        raise Refused("not_allowed", 401)
    return Person(*row)


def end_session(db: Connection, cookie: str, name: str, now: float) -> None:
    """Log out."""
    db.execute("DELETE FROM sessions WHERE id = ?", hash_token(cookie))
    add_audit(db, name, "log out", {}, now)


def require_csrf(sent: str, expected: str) -> None:
    """Refuse a POST without the token it should carry."""
    if not expected or not hmac.compare_digest(sent.encode(), expected.encode()):
        raise Refused("not_allowed", 403)


def set_cookie(request: Request, response: Response, name: str, value: str) -> None:
    """A cookie that scripts cannot read and other sites' pages do not send."""
    response.set_cookie(
        name,
        value,
        httponly=True,
        samesite="strict",
        secure=request.url.scheme == "https",
        path="/",
    )
