"""The nouns of a board: systems, submissions and their files, true scores, and what is shown of them."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from nikawa.records import Record

SystemKind = Literal["submission", "baseline", "human", "run"]
SystemState = Literal["private", "published", "withdrawn"]
SubmissionState = Literal["received", "scoring", "scored", "failed"]
AccountState = Literal["waiting", "active", "closed"]
Role = Literal["public", "final"]
Withheld = Literal["no-better", "too-few", "not-yet", "undefined", "hidden"]
"""Why a value is not shown: it is not above the shown best by more than the noise; the slice is too small; its date has not
come; the metric is not defined; the owner does not show it."""


class BoardRecord(Record, frozen=True, kw_only=True):
    """The base: immutable, unknown fields are refused."""


class BoardSet(BoardRecord, frozen=True):
    """A split of a task that the board scores."""

    task: str
    """The name of the task, as in addresses: `/t/TASK`."""
    split: str
    role: Role
    dataset: str
    """The name of its folder in `datasets/`."""
    metrics: tuple[str, ...]
    """The metrics of the task; the first one ranks."""


class Link(BoardRecord, frozen=True):
    """A link of a system: to code, a paper, a model."""

    title: str
    address: str


class Account(BoardRecord, frozen=True):
    """Somebody who may submit."""

    id: str
    name: str
    state: AccountState
    email: str
    """Where the owner reaches them; only the owner sees it."""
    language: str
    created: float


class System(BoardRecord, frozen=True):
    """What is ranked: a model of a submitter, or an entry of the owner."""

    id: str
    """In addresses; it cannot be guessed, so a private system stays private."""
    account: str | None
    """The id of the account; None: an entry of the owner."""
    kind: SystemKind
    name: str
    description: str
    """Markdown."""
    links: tuple[Link, ...]
    licence: str
    parameters: str
    """How many parameters, in the submitter's words."""
    training_data: str
    state: SystemState
    anonymous: bool
    """Whether the names of system and account stay hidden until the date `reveal_names`."""
    provenance: dict[str, Any]
    """Where an entry of the owner came from."""
    created: float
    published_at: float | None
    withdrawn_at: float | None


class SubmittedFile(BoardRecord, frozen=True):
    """One file of answers: to one task and split, with one seed."""

    task: str
    split: str
    seed: int
    """Counted from 0 in the order they came, where the submitter gave none."""
    digest: str
    """SHA-256 of the bytes as received."""
    answers: str
    """Digest of the answers, whatever the form and order of the file: two files with the same answers share it."""
    size: int
    """Bytes."""
    path: str
    """In the folder of the board."""
    name: str
    """What the submitter called it."""


class Upload(BoardRecord, frozen=True):
    """A file that was received and passed the check; it counts only when a submission takes it."""

    id: str
    account: str | None
    task: str
    split: str
    seed: int | None
    """As the sender numbered it; None: numbered when a submission takes it."""
    digest: str
    """SHA-256 of the bytes as received."""
    answers: str
    """Digest of the answers, whatever the form and order of the file."""
    size: int
    """Bytes."""
    path: str
    """In the folder of the board."""
    name: str
    """What the sender called it."""
    at: float
    items: int
    answered: int
    """Items with an answer that could be read."""
    unparsed: int
    """Answers that could not be read: they count as wrong."""
    unknown: int
    """Answers to ids that the split does not have."""
    form: str
    """The form of the file."""
    unreadable: tuple[str, ...] = ()
    """The first unreadable answers, each with the reason."""
    kept: int = 0
    """Bytes of the answers as the check read them: a small compressed file can hold many."""


class Flag(BoardRecord, frozen=True):
    """Something about a submission that the owner should look at."""

    kind: str
    detail: dict[str, Any]
    at: float


class Submission(BoardRecord, frozen=True):
    """Files of answers that came together."""

    seq: int
    """Its place in the order of arrival: identity for the owner."""
    id: str
    system: str
    account: str | None
    received: float
    state: SubmissionState
    problem: str
    """Why it failed; else empty."""
    scored_at: float | None
    visible_at: float | None
    """The tick from which the result may be seen; None until it is scored."""
    files: tuple[SubmittedFile, ...] = ()
    flags: tuple[Flag, ...] = ()


class TrueScore(BoardRecord, frozen=True):
    """What `nikawa score --hidden --keys` says of the files of a submission. Only the owner and `reveal` see it."""

    submission: str
    task: str
    split: str
    metric: str
    mode: str
    where: str
    """Empty: all items; else the slice as `key=value`."""
    value: float
    """The mean over seeds, as the metric reports (`unit`); NaN where it is not defined."""
    low: float | None
    high: float | None
    sd: float | None
    """Over seeds; None for a single file."""
    n: int
    unit: str
    values: tuple[float, ...]
    """One value per seed."""


class ShownScore(BoardRecord, frozen=True):
    """What may be shown of a score. Only `reveal` makes these."""

    submission: str
    task: str
    split: str
    metric: str
    where: str
    value: float | None
    """None: withheld; `reason` says why."""
    low: float | None = None
    high: float | None = None
    sd: float | None = None
    n: int | None = None
    unit: str = "percent"
    reason: Withheld | None = None
    visible_at: float = 0.0
    """The tick from which it may be seen."""


class TrueComparison(BoardRecord, frozen=True):
    """A paired test of two submissions on the same items. Only the owner and `reveal` see it."""

    task: str
    split: str
    metric: str
    first: str
    """A submission."""
    second: str
    difference: float
    """Positive: the second is better."""
    low: float
    high: float
    p: float
    se: float
    """The standard error of the difference: what the ladder calls the noise."""
    n: int


class ShownComparison(BoardRecord, frozen=True):
    """What may be shown of a comparison: p, coarsely, and the interval. Only `reveal` makes these."""

    task: str
    split: str
    metric: str
    first: str
    second: str
    difference: float | None
    low: float | None
    high: float | None
    p: str
    """A range, such as `<0.01`."""
    reason: Withheld | None = None


class Place(BoardRecord, frozen=True, order=True):
    """One ladder of one account: a metric of a task and split, over all items or a slice."""

    task: str
    split: str
    metric: str
    where: str = ""


class LadderState(BoardRecord, frozen=True):
    """The place of an account on a ladder. It is never reset."""

    best: str | None = None
    """The submission that set the shown best."""
    shown: float | None = None
    tries: int = 0
    bests: int = 0
    """How many values were shown."""
    width: int = 0
    """The place in `reveal.WIDTHS` of the widest interval so far."""


class Disclosure(BoardRecord, frozen=True):
    """One thing about the labels that was shown: the leak budget adds these up."""

    at: float
    account: str | None
    task: str
    split: str
    kind: Literal["score", "comparison", "ties", "slice"]
    bits: float
    detail: dict[str, Any] = msgspec.field(default_factory=dict)
