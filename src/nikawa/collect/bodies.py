"""The JSON bodies of the HTTP interface; what does not fit them is refused before anything is done."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

Text = Annotated[str, Meta(max_length=100_000)]
Key = Annotated[str, Meta(min_length=1, max_length=100)]
Reference = Annotated[str, Meta(min_length=1, max_length=2000)]
Name = Annotated[str, Meta(min_length=1, max_length=200)]


class Body(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The base of all bodies: unknown fields are refused."""


class AnswerBody(Body, frozen=True):
    """An answer to the item of a lease."""

    lease: Key
    key: Key
    answer: dict[str, Any]
    comment: Text = ""
    seconds: Annotated[float, Meta(ge=0, le=1e7)] | None = None


class DraftBody(Body, frozen=True):
    """Half-written work."""

    lease: Key
    draft: Any


class UndoBody(Body, frozen=True):
    """Withdraw the last answer."""

    key: Key


class ReportBody(Body, frozen=True):
    """Hand an item back."""

    lease: Key
    key: Key
    code: Literal["personal", "hate", "bias", "undecidable", "broken", "other"]
    comment: Text = ""


class CheckBody(Body, frozen=True):
    """An answer to look at, not to take."""

    lease: Key
    answer: dict[str, Any]


class LanguageBody(Body, frozen=True):
    """Another language for the pages."""

    language: Literal["ja", "ko", "en"]


class DecideBody(Body, frozen=True):
    """What the owner says is right."""

    ref: Reference
    answer: dict[str, Any]
    reason: Annotated[str, Meta(min_length=1, max_length=100_000, pattern=r"\S")]
    """Never empty: who reads the decision later must see why."""


class WorkerBody(Body, frozen=True):
    """Exclude a worker, or take one back."""

    worker: Name
    reason: Text = ""


class ResolveBody(Body, frozen=True):
    """What becomes of a reported item."""

    ref: Reference
    action: Literal["reopen", "drop"]
    reason: Text = ""


class LinksBody(Body, frozen=True):
    """Workers to make links for."""

    names: Annotated[list[Name], Meta(min_length=1, max_length=1000)]
