"""The names that exports give to workers: the same for one person in all projects of an owner, or of a build.

A pseudonym is a keyed hash of the name. The key is a separate file, `owner.key`: projects that have the same one know
a worker under the same pseudonym, so that no worker is given a text that they wrote in another project, though
neither the text nor its file of writers says a name. The key opens no links: those are made from the secret of each
project.

A new project gets a copy of the key of the build that made its task sheet (next to the sheets), else of the owner's
(`NIKAWA_OWNER_KEY`, else in the user's data folder), which is made when it is first needed. A project without the file was
made before keys were shared: its pseudonyms come from its own secret and stay as they are.
"""

from __future__ import annotations

import hmac
import os
import secrets
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from nikawa.errors import BadInput
from nikawa.io.atomic import atomic_write
from nikawa.serve.names import fold_name

OWNER_KEY = "owner.key"
"""The name of the file in a project, next to the sheets of a build, and in the user's data folder."""
VARIABLE = "NIKAWA_OWNER_KEY"
MAX_KEY_BYTES = 1_000
"""Bytes that are read from a key file."""
_FOLDED = "folded"
"""Prefix of a key under which all spellings of a name have the same pseudonym."""


@dataclass(frozen=True)
class PseudonymKey:
    """The key that makes pseudonyms."""

    secret: bytes
    is_folded: bool = True
    """Whether all spellings of a name have one pseudonym; under the secrets of older projects each has its own."""

    def make_pseudonym(self, name: str) -> str:
        """A pseudonym, which shows only that two answers come from the same person."""
        return f"w-{self._hash('pseudonym', fold_name(name) if self.is_folded else name)}"

    @property
    def mark(self) -> str:
        """A fingerprint, which shows only whether two projects have the same key."""
        return self._hash("key", "")

    def _hash(self, purpose: str, text: str) -> str:
        message = f"{purpose}\0{text}".encode("utf-8", "surrogatepass")
        return hmac.digest(self.secret, message, "sha256").hex()[:16]

    def format(self) -> str:
        """The content of its file."""
        return f"{_FOLDED} {self.secret.hex()}\n" if self.is_folded else f"{self.secret.hex()}\n"


def read_key(path: Path) -> PseudonymKey:
    """The key of a file; a file that holds none is bad input."""
    try:
        with path.open("rb") as stream:
            words = stream.read(MAX_KEY_BYTES).decode("ascii").split()
        secret = bytes.fromhex(words[-1])
    except FileNotFoundError:
        raise BadInput("does not exist", file=path, cure="pass a key file") from None
    except (ValueError, IndexError):
        raise BadInput("is not a key of pseudonyms", file=path, cure="restore the file") from None
    if len(secret) < 32 or words[:-1] not in ([], [_FOLDED]):
        raise BadInput("is not a key of pseudonyms", file=path, cure="restore the file")
    return PseudonymKey(secret, is_folded=len(words) == 2)


def write_key(path: Path, key: PseudonymKey, *, overwrite: bool = False) -> None:
    """Write a key for its owner's eyes alone."""
    with atomic_write(path, overwrite=overwrite, private=True) as stream:
        stream.write(key.format().encode())


def share_key(path: Path) -> PseudonymKey:
    """The key in a file; the file is created if it does not exist."""
    if not path.exists():
        key = PseudonymKey(secrets.token_bytes(32))
        with suppress(BadInput):  # another process was faster: its key counts
            write_key(path, key)
    return read_key(path)


def owner_key_file() -> Path:
    """Where the key of this user is: `NIKAWA_OWNER_KEY`, else in the user's data folder."""
    named = os.environ.get(VARIABLE)
    if named:
        return Path(named)
    base = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(base) / "nikawa" / OWNER_KEY
