"""The other content of a file of judgements: an owner's decisions, workers' reports and comments.

A decision is a judgement of the kind `decision` or `tie-decision` by the worker `decision:NAME` or `tie-decision:NAME`, its
comment is the reason. Files without a place for the kind (platforms' sheets, exports of older versions) tell a decision by that
name alone. A report is a judgement of the kind `report`: the answer is the code of the reason. A comment goes with the
answer it was made on.

`Reading.set_remarks_aside` parts them from the answers for every form of file, so that no reader counts them as votes. Forms
that cannot represent them get a separate file of records (`remarks_file`), which is read with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from nikawa.io.atomic import atomic_write
from nikawa.io.json import encode_json
from nikawa.records import DECISION_KINDS, Judgement, JudgementKind, name_kind

OVERRIDE, TIES = "override", "ties"
WAYS = (OVERRIDE, TIES)
"""What decisions do: they are the gold whatever the votes, or where the rule makes none of them."""
KIND_OF_WAY: dict[str, JudgementKind] = {OVERRIDE: "decision", TIES: "tie-decision"}
"""Way to the kind of judgement that says it."""
REPORT = "report"
"""The kind of a report, and its question: none of a form has this name."""


def name_decider(kind: str, person: str) -> str:
    """The worker of a decision by a person: `decision:owner`."""
    return f"{kind}:{person}"


def name_person(judgement: Judgement) -> str:
    """The person who decided; the worker's name where it is no decision."""
    prefix, colon, person = judgement.worker.partition(":")
    return person if colon and prefix in DECISION_KINDS else judgement.worker


DECIDERS = ("decision:", "tie-decision:")
"""What the names of workers begin with whose judgements are decisions."""


def is_reserved(worker: str) -> bool:
    """Whether a worker's name says that the judgement is no person's answer: a decision, a model, a simulation.

    >>> is_reserved("aki"), is_reserved("decision:owner"), is_reserved("model:gemma#1")
    (False, True, True)
    """
    return worker.startswith(DECIDERS) or name_kind(worker) != "person"


def kind_of(judgement: Judgement) -> JudgementKind:
    """The kind of a judgement: what it says, else what the name of its worker tells.

    >>> kind_of(Judgement(example="1", worker="decision:owner", question="label", answer="yes"))
    'decision'
    """
    if judgement.kind == "person" and judgement.worker.startswith(DECIDERS):
        return "tie-decision" if judgement.worker.startswith("tie-") else "decision"
    return judgement.kind


def is_remark(judgement: Judgement) -> bool:
    """Whether it is a decision or a report, which no reader counts as an answer."""
    return kind_of(judgement) in (*DECISION_KINDS, REPORT)


class AnswersOnly:
    """The answers of workers among judgements, for a form that has room for nothing else."""

    def __init__(self, judgements: Iterable[Judgement]) -> None:
        self._judgements = judgements
        self.apart: list[Judgement] = []
        """After the iteration, for the separate file: decisions, reports, and answers with a comment or a pre-label."""

    def __iter__(self) -> Iterator[Judgement]:
        for judgement in self._judgements:
            if judgement.comment or judgement.prelabel is not None or is_remark(judgement):
                self.apart.append(judgement)
            if not is_remark(judgement):
                yield judgement


def remarks_file(path: Path) -> Path:
    """Return the file of remarks for a file or folder whose form cannot represent them."""
    path = path if path.name else path.resolve()  # "." has no name
    return path.with_name(f"{path.name}.remarks.jsonl")


def write_remarks_beside(path: Path, remarks: Iterable[Judgement]) -> Path | None:
    """Write decisions, reports and answers with comments as records next to a file, and return their path.

    Without such records, remove the file of an earlier export: it would be read with this one.
    """
    beside = remarks_file(path)
    lines = [encode_json(remark) + b"\n" for remark in remarks]
    if not lines:
        beside.unlink(missing_ok=True)
        return None
    with atomic_write(beside, overwrite=True) as stream:
        for line in lines:
            stream.write(line)
    return beside
