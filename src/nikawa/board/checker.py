"""The check of a received file, before it counts: form, ids, answers. It needs no label, and its process can read none.

The checker is a helper process of the server. It reads each file in a limited child, with the readers of `nikawa score`, against the
published items. What it hands back is the file's answers as `Prediction` lines: scoring reads these, so no file that a submitter
wrote is ever parsed by a process that has labels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from nikawa.board.folder import Board, open_board
from nikawa.board.wire import Limits, Message, run_limited, serve_inherited
from nikawa.datasets.task_lookup import has_numbered_labels
from nikawa.errors import BadInput, clip, list_names
from nikawa.io.answers import AnswerFiles
from nikawa.records import Example, Prediction, Task
from nikawa.scoring.match import MatchedAnswers, MissingAnswers, UnknownIds, refuse_gaps

KEPT_SHARE, KEPT_BYTES = 4.0, 1000
"""The answers of a file are kept if they take so many times `max_megabytes`, and so many bytes for each item."""
MAX_ROWS, MAX_ROWS_OF_ITEM = 100_000, 100
"""A file may have so many rows, and so many more for each item: a small Parquet file can hold millions."""
PACKED = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"\xfd7zXZ", b"PK", b"PAR1")
"""How files begin that may hold far more than they have bytes: gzip, Zstandard, xz, zip, Parquet."""
MAX_NOTED = 3
"""Unreadable answers that are quoted to the submitter."""


class CheckedAnswers(msgspec.Struct, frozen=True, kw_only=True):
    """What the check says of a file that is accepted."""

    items: int
    answered: int
    """Items with an answer that could be read."""
    unparsed: int
    """Answers that could not be read: they count as wrong."""
    unknown: int
    """Answers to ids that the split does not have."""
    form: str
    """The form of the file."""
    answers: str
    """The digest of the answers, whatever the form and order of the file."""
    unreadable: tuple[str, ...] = ()
    """The first unreadable answers, each with the reason."""


def open_submission(
    path: Path, task: Task, examples: Sequence[Example], form: str | None = None
) -> AnswerFiles:
    """The file of a submission, with a limit on its rows."""
    return AnswerFiles(
        path,
        task,
        form=form,
        numbered_labels=has_numbered_labels(task),
        keep_rows=False,
        max_rows=MAX_ROWS + MAX_ROWS_OF_ITEM * len(examples),
    )


def check_answers(
    path: Path, task: Task, split: str, examples: Sequence[Example], form: str | None = None
) -> tuple[CheckedAnswers, list[Prediction]]:
    """Read a file of answers as `nikawa score` does.

    Raises the same `BadInput` as `nikawa score` for a file that cannot be scored: an answer is missing, no id is known, nothing can be
    read, an id has two answers.
    """
    answers = open_submission(path, task, examples, form).match(examples)
    if answers.refusal is not None:
        raise answers.refusal
    try:
        refuse_gaps(MatchedAnswers(split, "", tuple(examples), answers), task, False, path)
    except MissingAnswers as problem:  # a board scores no parts
        raise problem.with_cure("add the missing answers") from None
    predictions = [answers.predictions[example.id] for example in examples]
    plain = sorted((p.example, msgspec.json.encode((p.answer, p.scores))) for p in predictions)
    state = sha256()
    for name, answer in plain:
        state.update(name.encode("utf-8", "surrogatepass") + b"\0" + answer + b"\n")
    checked = CheckedAnswers(
        items=len(examples),
        answered=sum(p.answer is not None for p in predictions),
        unparsed=len(answers.unparsed),
        unknown=len(answers.unknown),
        form=answers.form,
        answers=state.hexdigest(),
        unreadable=tuple(
            clip(f"{name}: {raw!r}: {why}", 200) for name, raw, why in answers.unparsed[:MAX_NOTED]
        ),
    )
    return checked, predictions


def choose_cure(problem: BadInput) -> str:
    """What a submitter can do about a fault: the cure of `nikawa score`, unless it is an option of that command or a variable of the server."""
    if isinstance(problem, MissingAnswers):
        return "add the missing answers: the board scores whole files"
    if "NIKAWA_" in problem.cure:  # a limit of the server
        return "send only the answers, as JSON Lines or CSV"
    if " --" in problem.cure:
        return "give an id and an answer in each line; docs/answers.md shows how answers are read"
    return problem.cure


def refuse_large(size: str, limit: float, file: Path | str) -> BadInput:
    """The error for answers that are not kept because of their size."""
    what = f"has {size} of answers; the board keeps {limit / 1e6:,.1f} MB"
    return BadInput(what, file=file, cure="send only the answers, without texts or logs")


class Checker:
    """The helper's side: the items of the board, and the work of a child."""

    def __init__(self, board: Board) -> None:
        self.board = board
        scoring = board.settings.scoring
        self.limits = Limits(scoring.seconds, scoring.memory)
        self.examples: Mapping[tuple[str, str], tuple[Example, ...]] = {
            (one.task, one.split): board.examples(one.task, one.split) for one in board.sets
        }

    def answer(self, request: Message) -> Message:
        """Check the file of a request in a child."""
        return run_limited(self.check, request, self.limits)

    def check(self, header: dict[str, Any], _: Sequence[bytes]) -> Message:
        """Check the file of a request, in this process."""
        sets = [
            name
            for name in self.examples
            if header.get("task") in (None, "", name[0])
            and header.get("split") in (None, "", name[1])
        ]
        if not sets:
            known = list_names(f"{task}:{split}" for task, split in self.examples)
            named = ":".join(filter(None, (header.get("task"), header.get("split"))))
            what = f"the board has no {named}"
            raise BadInput(what, cure=f"it has {known}")
        try:
            task, split, checked, predictions = self._find_set(sets, header)
        except BadInput as problem:
            # the submitter knows the file by the name they gave it, and has no options to pass
            name = header["name"] if problem.file is not None else None
            cure = choose_cure(problem)
            raise BadInput(problem.what, file=name, line=problem.line, cure=cure) from None
        lines = b"".join(msgspec.json.encode(one) + b"\n" for one in predictions)
        if len(lines) > (limit := self._limit_kept(len(predictions))):
            raise refuse_large(f"{len(lines) / 1e6:,.1f} MB", limit, header["name"])
        answer = {"task": task, "split": split, "checked": msgspec.to_builtins(checked)}
        return Message(answer, (lines,))

    def _limit_kept(self, items: int) -> float:
        """The bytes of answers that are kept of a file: a compressed one may hold far more than it has."""
        return KEPT_SHARE * self.board.settings.submissions.max_megabytes * 1e6 + KEPT_BYTES * items

    def _refuse_large_texts(
        self, path: Path, task: Task, examples: Sequence[Example], form: str | None
    ) -> None:
        """Refuse a packed file whose answers are too large to be kept, before they are read: that may take minutes."""
        limit = self._limit_kept(len(examples))
        with path.open("rb") as stream:
            if not stream.read(max(map(len, PACKED))).startswith(PACKED):
                return
        for size in open_submission(path, task, examples, form).measure_texts(examples):
            if size > limit:
                raise refuse_large(f"more than {limit / 1e6:,.1f} MB", limit, path)

    def _find_set(
        self, sets: Sequence[tuple[str, str]], header: dict[str, Any]
    ) -> tuple[str, str, CheckedAnswers, list[Prediction]]:
        """The set that the answers are to; of several that have all their items, the one with the fewest strange ids."""
        path, form = Path(header["path"]), header.get("form") or None
        fitting: list[tuple[int, str, str, CheckedAnswers, list[Prediction]]] = []
        faults: list[BadInput] = []
        for task, split in sets:
            try:
                examples = self.examples[task, split]
                self._refuse_large_texts(path, self.board.tasks[task], examples, form)
                checked, predictions = check_answers(
                    path, self.board.tasks[task], split, examples, form
                )
            except BadInput as problem:
                faults.append(problem)
            else:
                fitting.append((checked.unknown, task, split, checked, predictions))
        if not fitting:
            if len(sets) == 1:
                raise faults[0]
            # the fault of a set that knows some of the ids says more than that of one that knows none
            known = [fault for fault in faults if not isinstance(fault, UnknownIds)]
            raise (known or faults)[0]
        fitting.sort(key=lambda one: one[0])
        if len(fitting) > 1 and fitting[0][0] == fitting[1][0]:
            names = list_names(f"{task}:{split}" for _, task, split, *_ in fitting)
            what = f"the answers fit several tasks equally well: {names}"
            raise BadInput(what, file=path, cure="name the task and the split")
        return fitting[0][1:]


if __name__ == "__main__":
    serve_inherited(lambda folder: Checker(open_board(folder)).answer)
