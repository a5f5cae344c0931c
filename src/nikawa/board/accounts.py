"""Accounts of submitters: who may sign up, log-in, tokens for programs, invitations, the owner's approval.

Owners and reviewers are apart (`serve.login.people`): an account can never look at the owner's pages. Passwords are hashed with argon2id;
of sessions, tokens and invitations the database keeps a hash only.
"""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass
from typing import cast

from nikawa.board.folder import make_public_id
from nikawa.board.records import Account, AccountState
from nikawa.board.settings import BoardSettings
from nikawa.board.store import find_account
from nikawa.errors import BadInput
from nikawa.serve.audit import add_audit
from nikawa.serve.database import Connection, Row
from nikawa.serve.errors import Refused
from nikawa.serve.login import hash_password, hash_token, login_hash, start_session
from nikawa.serve.names import clean_name, find_name_fault, fold_name

ACCOUNT_COOKIE = "nikawa_account"
"""The cookie of a submitter's session; that of an owner has another name, so a browser may hold both."""
SESSION_PREFIX = "account:"
"""What sessions of accounts begin with in place of a person's name."""
TOKEN_PREFIX = "nikawa_"  # noqa: S105  (what a token begins with, so that a leaked one is recognised)
MAX_TOKENS = 20
"""Tokens of one account that are not revoked."""
MAX_EMAIL_CHARS, MAX_NOTE_CHARS = 254, 2000
INVITATION_SECONDS = 30 * 86_400.0
_EMAIL = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+")


@dataclass(frozen=True)
class Submitter:
    """An account that is logged in, or whose token was sent."""

    account: Account
    csrf: str
    """What a POST of the session must carry; empty for a token, which no other site can send."""


@dataclass(frozen=True)
class NewAccount:
    """What somebody who signs up says."""

    name: str
    password_hash: str
    """Of `serve.login.hash_password`, which takes its time outside the writer."""
    email: str = ""
    language: str = "en"
    note: str = ""
    """Who they are, for the owner who approves."""
    invitation: str = ""


def sign_up(db: Connection, settings: BoardSettings, new: NewAccount, now: float) -> Account:
    """Make an account; under `approved` it waits for the owner, unless it comes with an invitation.

    Raises `Refused` with `bad_name`, `bad_email`, `name_taken`, or `invitation_needed`.
    """
    name = clean_name(new.name)
    if find_name_fault(new.name) or len(name) > 100:
        raise Refused("bad_name", 422)
    email = new.email.strip()
    if email and (len(email) > MAX_EMAIL_CHARS or not _EMAIL.fullmatch(email)):
        raise Refused("bad_email", 422)
    if db.one("SELECT 1 FROM accounts WHERE folded = ?", fold_name(name)):
        raise Refused("name_taken", 409)
    who = settings.submissions.who
    invited = bool(new.invitation) and _is_open(db, new.invitation, now)
    if not invited and (who == "invited" or new.invitation):
        raise Refused("invitation_needed", 403)
    state: AccountState = "active" if invited or who == "open" else "waiting"
    id = make_public_id()
    db.execute(
        "INSERT INTO accounts (id, name, folded, password, state, email, language, note, invitation, created)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        id,
        name,
        fold_name(name),
        new.password_hash,
        state,
        email,
        new.language,
        new.note[:MAX_NOTE_CHARS],
        hash_token(new.invitation) if invited else None,
        now,
    )
    if invited:
        db.execute(
            "UPDATE invitations SET used_by = ?, used_at = ? WHERE hash = ?",
            id,
            now,
            hash_token(new.invitation),
        )
    add_audit(db, f"{SESSION_PREFIX}{id}", "sign up", {"name": name, "state": state}, now)
    account = find_account(db, id)
    assert account is not None
    return account


def account_note(db: Connection, id: str) -> str:
    """What somebody wrote to the owner when they signed up."""
    row = db.one("SELECT note FROM accounts WHERE id = ?", id)
    return "" if row is None else str(row[0])


def account_password(db: Connection, name: str) -> tuple[str | None, str]:
    """The id of an account's name, and the hash to compare a password with: for an unknown name one that nothing matches."""
    row = db.one(
        "SELECT id, password FROM accounts WHERE folded = ? AND state <> 'closed'", fold_name(name)
    )
    kept = login_hash(None if row is None else str(row[1]))
    return (None if row is None else str(row[0])), kept


def start_account_session(db: Connection, id: str, now: float) -> str:
    """Log in; the cookie of the fresh session."""
    return start_session(db, SESSION_PREFIX + id, now)


def find_submitter(db: Connection, cookie: str, now: float) -> Submitter:
    """The account of a session's cookie; an unknown or old one is refused."""
    row = db.one(
        "SELECT person, csrf FROM sessions WHERE id = ? AND expires > ?", hash_token(cookie), now
    )
    if row is None or not row[0].startswith(SESSION_PREFIX):
        raise Refused("not_allowed", 401)
    return Submitter(_open_account(db, row[0].removeprefix(SESSION_PREFIX)), row[1])


def _open_account(db: Connection, id: str) -> Account:
    account = find_account(db, id)
    if account is None or account.state == "closed":
        raise Refused("not_allowed", 401)
    return account


def set_account_password(
    db: Connection, id: str, password_hash: str, now: float, *, who: str = ""
) -> None:
    """Give an account a new password; its sessions end, its tokens stay. `who` is empty where the account itself does it."""
    db.execute("UPDATE accounts SET password = ? WHERE id = ?", password_hash, id)
    db.execute("DELETE FROM sessions WHERE person = ?", SESSION_PREFIX + id)
    add_audit(db, who or SESSION_PREFIX + id, "set password", {"account": id} if who else {}, now)


# Tokens


def make_token(db: Connection, account: str, label: str, now: float) -> str:
    """A new token for programs; it is shown once.

    Raises `Refused` where the account has too many.
    """
    if len(list_tokens(db, account)) >= MAX_TOKENS:
        raise Refused("too_many_tokens", 409)
    token = TOKEN_PREFIX + secrets.token_urlsafe(32)
    db.execute(
        "INSERT INTO tokens (account, hash, label, created) VALUES (?, ?, ?, ?)",
        account,
        hash_token(token),
        label[:100],
        now,
    )
    add_audit(db, SESSION_PREFIX + account, "make token", {"label": label[:100]}, now)
    return token


def find_token(db: Connection, token: str) -> Submitter:
    """The account of a token; an unknown or revoked one is refused."""
    row = db.one("SELECT account FROM tokens WHERE hash = ? AND revoked IS NULL", hash_token(token))
    if row is None:
        raise Refused("bad_token", 401)
    return Submitter(_open_account(db, row[0]), "")


def note_token_use(db: Connection, token: str, now: float) -> None:
    """Remember when a token was last used, for its owner."""
    db.execute("UPDATE tokens SET last_used = ? WHERE hash = ?", now, hash_token(token))


def list_tokens(db: Connection, account: str) -> list[Row]:
    """Number, label, when it was made and last used, of the tokens that work."""
    return db.rows(
        "SELECT id, label, created, last_used FROM tokens WHERE account = ? AND revoked IS NULL ORDER BY id",
        account,
    )


def revoke_token(db: Connection, account: str, id: int, now: float) -> None:
    """Make a token worthless."""
    db.execute(
        "UPDATE tokens SET revoked = ? WHERE id = ? AND account = ? AND revoked IS NULL",
        now,
        id,
        account,
    )
    add_audit(db, SESSION_PREFIX + account, "revoke token", {"token": id}, now)


# What the owner does


def set_account_state(
    db: Connection, id: str, state: AccountState, who: str, now: float
) -> Account:
    """Approve an account (`active`) or close it; its systems stay as they are."""
    account = find_account(db, id)
    if account is None:
        raise Refused("not_found", 404)
    db.execute("UPDATE accounts SET state = ? WHERE id = ?", state, id)
    if state == "closed":
        db.execute("DELETE FROM sessions WHERE person = ?", SESSION_PREFIX + id)
    add_audit(db, who, f"account {state}", {"account": id, "name": account.name}, now)
    return cast(Account, find_account(db, id))


def make_invitation(
    db: Connection,
    who: str,
    now: float,
    *,
    note: str = "",
    seconds: float = INVITATION_SECONDS,
) -> str:
    """A link's unguessable part: the person who has it may sign up, once."""
    token = secrets.token_urlsafe(24)
    db.execute(
        "INSERT INTO invitations (hash, note, created, expires) VALUES (?, ?, ?, ?)",
        hash_token(token),
        note[:200],
        now,
        now + seconds,
    )
    add_audit(db, who, "invite", {"note": note[:200]}, now)
    return token


def is_invited(db: Connection, token: str, now: float) -> bool:
    """Whether an invitation can still be used."""
    return bool(token) and _is_open(db, token, now)


def _is_open(db: Connection, token: str, now: float) -> bool:
    row = db.one(
        "SELECT 1 FROM invitations WHERE hash = ? AND used_by IS NULL AND expires > ?",
        hash_token(token),
        now,
    )
    return row is not None


def list_invitations(db: Connection) -> list[Row]:
    """Note, when it was made, when it ends, and the name of who used it."""
    return db.rows(
        "SELECT i.note, i.created, i.expires, a.name FROM invitations i LEFT JOIN accounts a ON a.id = i.used_by"
        " ORDER BY i.created DESC"
    )


def add_account(
    db: Connection, name: str, password: str, now: float, *, state: AccountState = "active"
) -> Account:
    """An account that the owner makes at the command line."""
    if fault := find_name_fault(name):
        raise BadInput(f"{name!r} cannot be an account: {fault}", cure="choose another name")
    if db.one("SELECT 1 FROM accounts WHERE folded = ?", fold_name(name)):
        raise BadInput(f"there is an account {name!r}", cure="choose another name")
    id = make_public_id()
    db.execute(
        "INSERT INTO accounts (id, name, folded, password, state, email, language, created)"
        " VALUES (?, ?, ?, ?, ?, '', 'en', ?)",
        id,
        clean_name(name),
        fold_name(name),
        hash_password(password),
        state,
        now,
    )
    add_audit(db, "command", "add account", {"name": name}, now)
    return cast(Account, find_account(db, id))
