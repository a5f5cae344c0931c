"""The JSON interface of a board: what programs send and get, and its OpenAPI 3.1 document.

The document describes bodies and answers by the types that check them. The client (`client.py`) reads the same types, so
the two cannot drift apart. Nothing here needs the packages of the server.
"""

from __future__ import annotations

import ast
import sys
from functools import cache
from inspect import getsource
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

Name = Annotated[str, Meta(min_length=1, max_length=200)]
Text = Annotated[str, Meta(max_length=20_000)]
Line = Annotated[str, Meta(max_length=400)]
Address = Annotated[str, Meta(max_length=400)]
Key = Annotated[str, Meta(min_length=1, max_length=100)]
Id = Annotated[str, Meta(max_length=100)]

API = 1
"""The version of the interface, as in its addresses: `/api/v1/…`."""


class Body(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The base of all bodies: unknown fields are refused."""


class LinkBody(Body, frozen=True, kw_only=True):
    """A link of a system: to code, a paper, weights."""

    title: Line = ""
    """Empty: the address is shown."""
    address: Address


class NewSystem(Body, frozen=True, kw_only=True):
    """A system that takes part: what its page says about it."""

    name: Name
    description: Text = ""
    """Markdown."""
    links: Annotated[tuple[LinkBody, ...], Meta(max_length=10)] = ()
    licence: Line = ""
    parameters: Line = ""
    """Their number, such as `110M`."""
    training_data: Text = ""
    """Which data it has seen, in words."""
    anonymous: bool = False
    """Whether its account's name is hidden until the board reveals names."""
    publish: bool = True
    """Whether it is on the board as soon as it has a result; otherwise only its account sees it."""


class SystemChanges(Body, frozen=True, kw_only=True):
    """New facts of a system; a field that is not sent stays as it is."""

    name: Name | msgspec.UnsetType = msgspec.UNSET
    description: Text | msgspec.UnsetType = msgspec.UNSET
    links: Annotated[tuple[LinkBody, ...], Meta(max_length=10)] | msgspec.UnsetType = msgspec.UNSET
    licence: Line | msgspec.UnsetType = msgspec.UNSET
    parameters: Line | msgspec.UnsetType = msgspec.UNSET
    training_data: Text | msgspec.UnsetType = msgspec.UNSET
    anonymous: bool | msgspec.UnsetType = msgspec.UNSET
    state: Literal["private", "published", "withdrawn"] | msgspec.UnsetType = msgspec.UNSET
    """`published`: on the board; `private`: only for its account; `withdrawn`: off the board for good."""


class NewSubmission(Body, frozen=True, kw_only=True):
    """A submission of files that were sent before."""

    system: Id = ""
    """The id or the name of a system of the account; empty: `new_system`."""
    new_system: NewSystem | None = None
    """A system to make; if the account has one of this name, that one is meant, and stays as it is."""
    uploads: Annotated[tuple[Id, ...], Meta(min_length=1, max_length=200)]
    """Ids of files, as `/api/v1/uploads` returned them."""
    key: Key
    """Any text the sender makes for one submission: sent twice, it counts once."""


class FinalChoice(Body, frozen=True, kw_only=True):
    """Which submission of the account is scored on the final split of a task."""

    task: Name
    submission: Id
    """Empty: the best one that is shown."""


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """The base of all answers; a reader ignores fields that it does not know."""


class TaskInfo(Answer, frozen=True, kw_only=True):
    """A part of the board: a task on a split of its dataset."""

    task: str
    """As `nikawa score` names it."""
    dataset: str
    question: str
    split: str
    role: Literal["public", "final"]
    """`public`: scored when submitted; `final`: scored once, after the board closes."""
    items: int
    metrics: tuple[str, ...]
    labels: tuple[str, ...] = ()


class LimitsInfo(Answer, frozen=True, kw_only=True):
    """How much may be submitted; 0 is no limit."""

    per_day: int
    """Of one account and task, in the last 24 hours."""
    in_all: int
    """Of one account and task."""
    max_seeds: int
    """Files of one task and split in one submission."""
    max_bytes: int
    """Of all files of a submission together."""


class BoardInfo(Answer, frozen=True, kw_only=True):
    """What a board is."""

    api: int
    title: str
    state: Literal["upcoming", "open", "closed"]
    opens: str | None
    closes: str | None
    reveal_names: str | None
    """Dates are ISO 8601 with a time zone."""
    who: Literal["open", "invited", "approved"]
    """Who may have an account."""
    limits: LimitsInfo
    tasks: tuple[TaskInfo, ...]


class SentFile(Answer, frozen=True, kw_only=True):
    """A file that was sent, checked and kept."""

    upload: str
    name: str
    task: str
    split: str
    seed: int | None
    """As it was sent; null: numbered when it becomes part of a submission."""
    digest: str
    bytes: int
    answers: int
    """Items with an answer."""
    unreadable: int = 0
    """Answers that no label or value could be read from; they count as wrong."""
    warnings: tuple[str, ...] = ()


class Remaining(Answer, frozen=True, kw_only=True):
    """How many more submissions to a task the account may make; null: no limit."""

    task: str
    today: int | None
    """In the next moment; what was sent more than 24 hours ago does not count."""
    in_all: int | None


class SubmissionTaken(Answer, frozen=True, kw_only=True):
    """A submission that counts."""

    submission: str
    system: str
    duplicate: bool
    """Whether it was sent before under the same key; nothing was counted a second time."""
    remaining: tuple[Remaining, ...]
    """Of the tasks of this submission."""
    is_public: bool = True
    """Whether its system is on the board, or only its account sees it."""


class ScoreLine(Answer, frozen=True, kw_only=True):
    """A score as the board shows it, or why it does not."""

    task: str
    split: str
    metric: str
    where: str
    value: float | None
    low: float | None = None
    high: float | None = None
    sd: float | None = None
    """Over the seeds."""
    n: int | None = None
    unit: str = "percent"
    reason: str = ""
    """Why there is no value."""


class SubmissionState(Answer, frozen=True, kw_only=True):
    """How far a submission is."""

    submission: str
    system: str
    name: str
    received: str
    state: Literal["received", "scored", "failed"]
    """`received` until the result may be seen, whenever it was scored."""
    message: str = ""
    """Why it failed."""
    expected: str | None = None
    """When the result may be seen at the earliest; null: never, as the board shows none before a closing date that it does not have."""
    scores: tuple[ScoreLine, ...] = ()

    @property
    def is_final(self) -> bool:
        """Whether nothing more will come."""
        return self.state in ("scored", "failed")


class OwnSystem(Answer, frozen=True, kw_only=True):
    """A system as its account sees it."""

    system: str
    name: str
    state: Literal["private", "published", "withdrawn"]
    anonymous: bool
    description: str
    links: tuple[LinkBody, ...]
    licence: str
    parameters: str
    training_data: str
    created: str
    submissions: tuple[SubmissionState, ...] = ()


class AccountInfo(Answer, frozen=True, kw_only=True):
    """The account of a token."""

    name: str
    state: str
    remaining: tuple[Remaining, ...]
    finals: dict[str, str] = {}
    """By task, the submission that was chosen for the final split; without one it is the best one that is shown."""
    systems: tuple[OwnSystem, ...]


class Problem(Answer, frozen=True, kw_only=True):
    """Why a request was refused."""

    error: str
    """A code that does not change."""
    message: str
    """One line for a person, in the language that the request asks for."""
    cure: str = ""
    line: int | None = None
    """The line of the file, where the message is about one."""


_JSON = "application/json"


class _Operation(msgspec.Struct, frozen=True):
    """One operation of the document."""

    method: str
    path: str
    about: str
    answer: Any
    body: type[Body] | None = None
    query: tuple[tuple[str, str], ...] = ()
    needs_token: bool = True
    media: str = _JSON
    is_file: bool = False


OPERATIONS = (
    _Operation(
        "get",
        "/api/v1/board",
        "What the board is: its tasks, limits and dates.",
        BoardInfo,
        needs_token=False,
    ),
    _Operation(
        "get",
        "/board.json",
        "The whole board: every system with its scores.",
        Any,
        needs_token=False,
    ),
    _Operation(
        "get",
        "/board.csv",
        "The whole board as a table, one score a row.",
        str,
        needs_token=False,
        media="text/csv",
    ),
    _Operation(
        "get", "/api/v1/me", "The account, its systems and what is left to it.", AccountInfo
    ),
    _Operation(
        "post",
        "/api/v1/uploads",
        "Send one file of answers. It is checked at once and kept for a day; it does not count as a submission.",
        SentFile,
        query=(
            ("name", "The name of the file, for messages."),
            ("task", "The task; if it is missing, the board finds it by the ids."),
            ("split", "The split; if it is missing, the board finds it by the ids."),
            ("seed", "The number of the run; files for one task are numbered if it is missing."),
        ),
        is_file=True,
    ),
    _Operation(
        "post",
        "/api/v1/submissions",
        "Make one submission of files that were sent.",
        SubmissionTaken,
        NewSubmission,
    ),
    _Operation(
        "get",
        "/api/v1/submissions/{id}",
        "How far a submission is, and its scores as the board shows them.",
        SubmissionState,
    ),
    _Operation(
        "post", "/api/v1/systems", "Make a system without a submission.", OwnSystem, NewSystem
    ),
    _Operation(
        "patch",
        "/api/v1/systems/{id}",
        "Rename, describe, publish or withdraw a system.",
        OwnSystem,
        SystemChanges,
    ),
    _Operation(
        "post",
        "/api/v1/finals",
        "Choose the submission that is scored on the final split of a task.",
        AccountInfo,
        FinalChoice,
    ),
)


def openapi_document(title: str, version: str, address: str = "") -> dict[str, Any]:
    """The OpenAPI document of a board with this title, as `GET /api/v1/openapi.json` returns it."""
    kinds = {
        o.answer: None for o in OPERATIONS if isinstance(o.answer, type) and o.answer is not str
    }
    kinds |= {o.body: None for o in OPERATIONS if o.body is not None} | {Problem: None}
    schemas = msgspec.json.schema_components(kinds, ref_template="#/components/schemas/{name}")[1]
    for name, texts in read_field_docs().items():
        for field, text in texts.items():
            if name in schemas and field in schemas[name]["properties"]:
                schemas[name]["properties"][field]["description"] = text
    paths: dict[str, Any] = {}
    for operation in OPERATIONS:
        paths.setdefault(operation.path, {})[operation.method] = _describe(operation)
    document: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {"title": title, "version": version},
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }
    if address:
        document["servers"] = [{"url": address}]
    return document


@cache
def read_field_docs() -> dict[str, dict[str, str]]:
    """What this file says about the fields of its types, by type and field: the text below each."""
    docs: dict[str, dict[str, str]] = {}
    for node in ast.parse(getsource(sys.modules[__name__])).body:
        if not isinstance(node, ast.ClassDef):
            continue
        for field, text in zip(node.body, node.body[1:], strict=False):
            if (
                isinstance(field, ast.AnnAssign)
                and isinstance(field.target, ast.Name)
                and isinstance(text, ast.Expr)
                and isinstance(text.value, ast.Constant)
            ):
                words = " ".join(str(text.value.value).split())
                docs.setdefault(node.name, {})[field.target.id] = words
    return docs


def _schema(kind: Any) -> dict[str, Any]:
    """The schema of an answer: a reference to a type of ours, or what msgspec says."""
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return {"$ref": f"#/components/schemas/{kind.__name__}"}
    return {"type": "string"} if kind is str else {"type": "object"}


def _describe(operation: _Operation) -> dict[str, Any]:
    problem = {"content": {_JSON: {"schema": _schema(Problem)}}}
    parameters: list[dict[str, Any]] = [
        {
            "name": name,
            "in": "query",
            "required": False,
            "description": about,
            "schema": {"type": "integer", "minimum": 0} if name == "seed" else {"type": "string"},
        }
        for name, about in operation.query
    ]
    if "{id}" in operation.path:
        where = {"name": "id", "in": "path", "required": True}
        parameters.append({**where, "schema": {"type": "string", "minLength": 1}})
    content = {operation.media: {"schema": _schema(operation.answer)}}
    described: dict[str, Any] = {
        "summary": operation.about,
        "parameters": parameters,
        "responses": {
            "200": {"description": "done", "content": content},
            "4XX": {"description": "refused", **problem},
            "503": {"description": "send it again", **problem},
        },
    }
    if operation.needs_token:
        described["security"] = [{"token": []}]
    if operation.body is not None:
        schema = _schema(operation.body)
        described["requestBody"] = {"required": True, "content": {_JSON: {"schema": schema}}}
    elif operation.is_file:
        schema = {"type": "string", "format": "binary"}
        octets = {"application/octet-stream": {"schema": schema}}
        described["requestBody"] = {"required": True, "content": octets}
    return described
