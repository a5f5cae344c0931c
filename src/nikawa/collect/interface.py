"""The HTTP interface: the JSON bodies, which refuse what does not fit before anything is done, and its OpenAPI 3.1 document.

The document describes the bodies by the types that check them.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from nikawa.collect.settings import ReportCode
from nikawa.serve.login import CSRF_FIELD, SESSION_COOKIE

Text = Annotated[str, Meta(max_length=100_000)]
Key = Annotated[str, Meta(min_length=1, max_length=100)]
Reference = Annotated[str, Meta(min_length=1, max_length=2000)]
Name = Annotated[str, Meta(min_length=1, max_length=200)]


class Body(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The base of all bodies: unknown fields are refused."""


class AnswerBody(Body, frozen=True):
    """An answer to the item of a lease."""

    lease: Key
    """The lease of the item, as the state of the page names it."""
    key: Key
    """Any text the page makes for one submission: sent twice, it counts once."""
    answer: dict[str, Any]
    """The answer by question, as the form's script builds it."""
    comment: Text = ""
    seconds: Annotated[float, Meta(ge=0, le=1e7)] | None = None
    """Time the page measured; the server takes no more than the lease is old."""


class DraftBody(Body, frozen=True):
    """Half-written work."""

    lease: Key
    draft: Any
    """Whatever the form's script wants to find again; the server never reads it."""


class UndoBody(Body, frozen=True):
    """Withdraw the last answer."""

    key: Key


class ReportBody(Body, frozen=True):
    """Report an item."""

    lease: Key
    key: Key
    code: ReportCode
    """One of `form.REPORTS`."""
    comment: Text = ""


class CheckBody(Body, frozen=True):
    """An answer to look at, not to take."""

    lease: Key
    answer: dict[str, Any]


class SearchBody(Body, frozen=True):
    """Entities to look for, while a dialogue is written."""

    lease: Key
    domain: Annotated[str, Meta(max_length=200)]
    state: Annotated[list[Annotated[str, Meta(max_length=1000)]], Meta(max_length=200)] = []
    """`domain-slot-value` each: only entities that fit are found."""
    words: Annotated[str, Meta(max_length=200)] = ""


class TurnBody(Body, frozen=True):
    """A turn of a dialogue that two workers write."""

    lease: Key
    key: Key
    """Any text the page makes for one turn: sent twice, it counts once."""
    place: Annotated[int, Meta(ge=0, le=10_000)]
    """Its number in the dialogue, from 0."""
    text: Annotated[str, Meta(max_length=10_000)]
    state: Annotated[list[Annotated[str, Meta(max_length=1000)]], Meta(max_length=200)] | None = (
        None
    )
    """With a reply of the agent, the state after the turn before it."""
    check: bool = False
    """Only look at it, and take nothing."""


class AloneBody(Body, frozen=True):
    """Write the rest of a dialogue alone."""

    lease: Key


class LanguageBody(Body, frozen=True):
    """Another language for the pages."""

    language: Literal["ja", "ko", "en"]


class DecideBody(Body, frozen=True):
    """The answer that the owner decided on."""

    ref: Reference
    answer: dict[str, Any]
    reason: Annotated[str, Meta(min_length=1, max_length=100_000, pattern=r"\S")]
    """Never empty: who reads the decision later must see why."""


class WorkerBody(Body, frozen=True):
    """Exclude a worker, or take one back."""

    worker: Name
    reason: Text = ""
    """Kept in the audit log, and with the worker where one is excluded."""


class ResolveBody(Body, frozen=True):
    """What happens to a reported item."""

    ref: Reference
    action: Literal["reopen", "drop"]
    """`reopen`: workers get the item again; `drop`: no worker does."""
    reason: Text = ""


class LinksBody(Body, frozen=True):
    """Workers to make links for."""

    names: Annotated[list[Name], Meta(min_length=1, max_length=1000)]


_JSON = "application/json"
_ERROR = {
    "type": "object",
    "required": ["error", "message"],
    "properties": {
        "error": {"type": "string"},
        "message": {"type": "string"},
        "problems": {"type": "array", "items": {"type": "object"}},
    },
}
_STATE = {
    "type": "object",
    "required": ["stage", "item", "progress", "earned", "can_undo", "code", "language"],
    "additionalProperties": False,
    "properties": {
        "stage": {"enum": ["pilot", "main", "done", "waiting", "failed", "excluded"]},
        "item": {
            "anyOf": [
                {"type": "null"},
                {
                    "type": "object",
                    "required": [
                        "lease",
                        "inputs",
                        "draft",
                        "previous",
                        "prelabel",
                        "expires",
                        "stage",
                    ],
                    "additionalProperties": False,
                    "properties": {
                        "lease": {"type": "string"},
                        "inputs": {"type": "object"},
                        "draft": {},
                        "previous": {},
                        "prelabel": {},
                        "expires": {"type": "number"},
                        "stage": {"enum": ["pilot", "main"]},
                    },
                },
            ]
        },
        "progress": {"type": "object"},
        "earned": {"type": "object"},
        "can_undo": {"type": "boolean"},
        "code": {"type": ["string", "null"]},
        "language": {"enum": ["ja", "ko", "en"]},
    },
}
_SAVED = {
    "type": "object",
    "required": ["saved", "duplicate", "state"],
    "properties": {"saved": {"const": True}, "duplicate": {"type": "boolean"}, "state": _STATE},
}
_ANY: dict[str, Any] = {"type": "object"}
_ROWS = {"type": "array", "items": _ANY}
_CASE = {
    "type": "object",
    "required": ["ref", "inputs", "answers", "reports", "decision", "decisions"],
    "properties": {
        "ref": {"type": "string"},
        "inputs": _ANY,
        "answers": _ROWS,
        "reports": _ROWS,
        "decisions": _ROWS,
    },
}
_CASES = {
    "type": "object",
    "required": ["cases", "after"],
    "properties": {
        "cases": {"type": "array", "items": _CASE},
        "after": {"type": ["string", "null"]},
    },
}
_TOKEN = {
    "name": "token",
    "in": "path",
    "required": True,
    "schema": {"type": "string", "minLength": 1},
}

# Path to the type of the body, the schema of the answer, and what the operation does.
_POSTS: dict[str, tuple[type[msgspec.Struct], dict[str, Any], str]] = {
    "/w/{token}/answer": (
        AnswerBody,
        _SAVED,
        "Submit an answer; a key sent twice counts once.",
    ),
    "/w/{token}/draft": (DraftBody, _ANY, "Save a draft and extend the lease."),
    "/w/{token}/undo": (UndoBody, _ANY, "Withdraw the last answer."),
    "/w/{token}/report": (ReportBody, _SAVED, "Report an item with a reason."),
    "/w/{token}/check": (CheckBody, _ANY, "Check an answer against the rules of the form."),
    "/w/{token}/language": (LanguageBody, _ANY, "Change the language of the pages."),
    "/w/{token}/search": (SearchBody, _ANY, "Search the entities of a dialogue."),
    "/w/{token}/turn": (
        TurnBody,
        _ANY,
        "Add a turn to a dialogue of two; a key sent twice counts once.",
    ),
    "/w/{token}/alone": (AloneBody, _ANY, "Write the rest of a dialogue alone."),
    "/owner/decide": (DecideBody, _ANY, "Decide an item."),
    "/owner/exclude": (WorkerBody, _ANY, "Exclude a worker."),
    "/owner/reinstate": (WorkerBody, _ANY, "Reinstate an excluded worker."),
    "/owner/resolve": (ResolveBody, _ANY, "Reopen or drop an item."),
    "/owner/links": (LinksBody, _ANY, "Make links for workers."),
}
# Path to the schema of the answer, the query parameters, and what the operation does.
_GETS: dict[str, tuple[dict[str, Any], tuple[str, ...], str]] = {
    "/w/{token}/next": (_STATE, (), "The current item, or a new one."),
    "/w/{token}/talk": (
        _ANY,
        ("lease", "mark", "wait"),
        "A dialogue of two, once it is another than `mark` says.",
    ),
    "/owner/data": (_ANY, (), "The figures of the dashboard."),
    "/owner/items": (_ROWS, ("state", "after"), "A page of items."),
    "/owner/disagreements": (_CASES, ("after", "undecided"), "Items whose answers disagree."),
    "/owner/recheck": (
        _CASES,
        ("after", "undecided"),
        "Items with answers that a machine and the other workers contradict.",
    ),
    "/owner/case": (_CASE, ("ref",), "One item with its answers and decisions."),
    "/owner/audit": (_ROWS, ("after", "latest"), "Who did what."),
    "/alive": (_ANY, (), "Whether the server and its database answer."),
}


def openapi_document(title: str) -> dict[str, Any]:
    """The OpenAPI document of a project with this title, as `GET /openapi.json` returns it."""
    kinds = {kind: None for kind, _, _ in _POSTS.values()}
    schemas = msgspec.json.schema_components(kinds, ref_template="#/components/schemas/{name}")[1]
    paths: dict[str, Any] = {}
    for path, (schema, names, about) in _GETS.items():
        paths[path] = {"get": _operation(path, about, schema, names)}
    for path, (kind, schema, about) in _POSTS.items():
        operation = _operation(path, about, schema, ())
        ref = {"$ref": f"#/components/schemas/{kind.__name__}"}
        operation["requestBody"] = {"required": True, "content": {_JSON: {"schema": ref}}}
        paths[path] = {"post": operation}
    schemes = {
        "session": {"type": "apiKey", "in": "cookie", "name": SESSION_COOKIE},
        "csrf": {"type": "apiKey", "in": "header", "name": CSRF_FIELD},
    }
    return {
        "openapi": "3.1.0",
        "info": {"title": title, "version": "1"},
        "paths": paths,
        "components": {"schemas": schemas, "securitySchemes": schemes},
    }


def _operation(
    path: str, about: str, schema: dict[str, Any], query: tuple[str, ...]
) -> dict[str, Any]:
    """One operation: `schema` is that of its answer, `query` names its parameters."""
    parameters: list[dict[str, Any]] = [
        {"name": name, "in": "query", "required": False, "schema": {"type": "string"}}
        for name in query
    ]
    if "{token}" in path:
        parameters.append(_TOKEN)
    operation: dict[str, Any] = {
        "summary": about,
        "parameters": parameters,
        "responses": {
            "200": {"description": "done", "content": {_JSON: {"schema": schema}}},
            "4XX": {"description": "refused", "content": {_JSON: {"schema": _ERROR}}},
            "503": {"description": "send it again", "content": {_JSON: {"schema": _ERROR}}},
        },
    }
    if path.startswith("/owner"):
        operation["security"] = [{"session": [], "csrf": []}]
    return operation
