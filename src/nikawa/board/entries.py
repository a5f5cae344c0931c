"""Entries of the owner: answer files, stored runs of `nikawa run`, and the human row from judgements, each with where it came from.

Answers are scored like a submission, by the scorer. The human row has no answers of one system: each person's answer is compared with the
gold of the others' answers about the item, as `nikawa aggregate --human` does, and the mean of that is the score.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path, PurePath
from typing import Any

import msgspec

from nikawa.aggregation.human import find_combination, leave_one_out, score_answers
from nikawa.board.checker import Checker
from nikawa.board.client import parse_link
from nikawa.board.folder import Board
from nikawa.board.records import BoardSet, Link, Submission, System, SystemKind, TrueScore, Upload
from nikawa.board.reveal import choose_visible_at, reveal_scores
from nikawa.board.rules import rules_of
from nikawa.board.store import (
    BoardStore,
    add_disclosure,
    find_submission,
    read_ladders,
    save_ladders,
    save_shown_scores,
    save_true_scores,
)
from nikawa.board.submissions import (
    add_submission,
    add_upload,
    create_system,
    drop_file,
    number_seeds,
    receive_file,
)
from nikawa.board.wire import Helper, InProcessHelper
from nikawa.datasets.keys import read_keys
from nikawa.errors import BadInput, list_names, unknown
from nikawa.io.judgements import open_judgements
from nikawa.metrics import Items
from nikawa.records import Example, Judgement, Span, Task, is_person
from nikawa.runs.load import find_runs
from nikawa.runs.store import StoredRun
from nikawa.scoring.score import resampling_units
from nikawa.serve.database import Connection
from nikawa.serve.errors import Refused
from nikawa.stats.resample import SCORE_RESAMPLES
from nikawa.version import __version__

KINDS: tuple[SystemKind, ...] = ("baseline", "run", "submission")
"""Kinds of entries with answers."""


def find_kind(name: str, paths: Sequence[Path]) -> SystemKind:
    """The kind that `--kind` names; by default `run` for folders, `baseline` for files."""
    if not name:
        return "run" if any(path.is_dir() for path in paths) else "baseline"
    for kind in KINDS:
        if kind == name:
            return kind
    raise unknown("kind of entry", name, KINDS)


@dataclass(frozen=True)
class EntryFacts:
    """What the page of an entry says."""

    name: str = ""
    """Empty: the name of the model, or of the file."""
    kind: SystemKind = "baseline"
    description: str = ""
    links: tuple[str, ...] = ()
    """Addresses, or TITLE=ADDRESS."""
    licence: str = ""
    parameters: str = ""
    training_data: str = ""
    is_private: bool = False

    def to_facts(self, name: str) -> dict[str, Any]:
        """The facts for `create_system`."""
        return {
            "name": self.name or name,
            "description": self.description,
            "links": tuple(
                Link(title=link.title, address=link.address) for link in map(parse_link, self.links)
            ),
            "licence": self.licence,
            "parameters": self.parameters,
            "training_data": self.training_data,
        }


@dataclass(frozen=True)
class Entry:
    """What was entered."""

    system: str
    """Its id."""
    name: str
    submission: str
    sets: tuple[str, ...]
    """`TASK:SPLIT`, with the number of seeds where there are several."""


@dataclass
class _Files:
    """The files of one system, before they are received."""

    name: str
    provenance: dict[str, Any]
    paths: list[tuple[Path, int | None, str]] = field(default_factory=list)
    """Each with its seed, and the question that a run answers."""


def enter_answers(
    board: Board,
    store: BoardStore,
    paths: Sequence[Path],
    facts: EntryFacts,
    *,
    task: str = "",
    split: str = "",
    now: float | None = None,
) -> list[Entry]:
    """Enter answer files as one system, and folders of `nikawa run` as a system per model, each with its seeds.

    Raises `BadInput` for a file that cannot be scored; then nothing is entered.
    """
    moment = time.time() if now is None else now
    groups = _group_files(paths)
    if facts.name and len(groups) > 1:
        names = list_names(group.name for group in groups)
        what = f"--name is for one system, and these are {len(groups)}: {names}"
        raise BadInput(what, cure="enter them one after the other, or leave out --name")
    checker: Helper = InProcessHelper(Checker(board).check)
    received: list[tuple[_Files, list[Upload]]] = []
    every: list[Upload] = []
    try:
        for group in groups:
            uploads = []
            for path, seed, question in group.paths:
                name = task or _find_task(board, question)
                upload = _receive(board, checker, path, seed, name, split, moment)
                if upload is not None:
                    uploads.append(upload)
                    every.append(upload)
            _refuse_useless(board, group, uploads)
            received.append((group, uploads))
        return store.write(_add_entries, board, received, facts, moment)
    except Refused as problem:
        _drop(board, every)
        raise _explain_refusal(problem) from None
    except BaseException:
        _drop(board, every)
        raise


_REFUSALS = {
    "name_taken": (
        "you entered a system of that name before",
        "pass another --name; nikawa board system renames the earlier one",
    ),
    "bad_name": ("the name cannot be shown", "pass another --name, of visible characters"),
    "bad_link": ("a link is no address", "write TITLE=https://… or https://…"),
    "too_long": ("a text is too long for the page of a system", "shorten it"),
    "same_seed": ("two files are of the same task, split and seed", "enter one of them"),
}


def _explain_refusal(problem: Refused) -> BadInput:
    """Why the store takes no entry, in words of the owner's."""
    limits = "see [submissions] in board.toml"
    named = problem.code.replace("_", " ")
    what, cure = _REFUSALS.get(problem.code, (f"the board refuses it: {named}", limits))
    return BadInput(what, cure=cure)


def _drop(board: Board, uploads: Sequence[Upload]) -> None:
    for upload in uploads:
        drop_file(board, upload)


def _find_task(board: Board, question: str) -> str:
    """The task of the board that asks a question, where it is the only one; else empty."""
    names = [name for name, task in board.tasks.items() if task.question == question]
    return names[0] if len(names) == 1 else ""


def _refuse_useless(board: Board, group: _Files, uploads: Sequence[Upload]) -> None:
    if not uploads:
        what = "answers no split of the board"
        sets = list_names(f"{one.task}:{one.split}" for one in board.sets)
        cure = f"the board has {sets}; run the model on its datasets"
        raise BadInput(what, file=group.paths[0][0].parent, cure=cure)


def _receive(
    board: Board,
    checker: Helper,
    path: Path,
    seed: int | None,
    task: str,
    split: str,
    now: float,
) -> Upload | None:
    """One file, checked; None for the answers of a run to a set that the board does not have."""
    try:
        return receive_file(
            board,
            checker,
            path,
            path.name,
            account=None,
            now=now,
            task=task,
            split=split,
            seed=seed,
        )
    except BadInput as problem:
        if seed is not None and "none of the" in str(problem):
            return None  # a run answers its development set too
        raise


def _group_files(paths: Sequence[Path]) -> list[_Files]:
    """The files of each system: plain files together, runs by model and settings."""
    plain = [path for path in paths if path.is_file()]
    folders = [path for path in paths if not path.is_file()]
    groups: dict[str, _Files] = {}
    if plain:
        files = {path.name: f"sha256:{sha256(path.read_bytes()).hexdigest()}" for path in plain}
        provenance = {"entered_with": f"nikawa {__version__}", "files": files}
        groups[""] = _Files(plain[0].stem, provenance, [(path, None, "") for path in plain])
    for run in find_runs(folders).require_results() if folders else ():
        key = repr((run.spec.model, run.spec.settings, run.spec.variation))
        about = _describe_run(run)
        own = groups.setdefault(key, _Files(run.spec.model, about))
        trained_on = [*own.provenance["trained_on"], *about["trained_on"]]
        own.provenance["trained_on"] = list(dict.fromkeys(trained_on))
        own.provenance["data"] |= about["data"]
        own.provenance["runs"].append(run.path.name)
        question = run.spec.own.question if isinstance(run.spec.own, Task) else ""
        own.paths += [(run.answers_file(name), run.spec.seed, question) for name in run.sets]
    if not groups:
        raise BadInput(
            "there is nothing to enter", cure="pass answer files or folders of nikawa run"
        )
    return list(groups.values())


def _describe_run(run: StoredRun) -> dict[str, Any]:
    """Where a run came from: model, settings, data, versions."""
    spec, about = run.spec, run.about()
    return {
        "entered_with": f"nikawa {__version__}",
        "model": spec.model,
        "settings": spec.settings,
        "variation": spec.variation.title,
        "trained_on": [PurePath(name).name for name in spec.protocol.train],
        "data": {PurePath(one.name).name: f"{one.version} {one.digest}" for one in spec.data},
        "finished": about.finished,
        "python": about.python,
        "packages": about.packages,
        "runs": [],
    }


def _add_entries(
    db: Connection,
    board: Board,
    received: Sequence[tuple[_Files, Sequence[Upload]]],
    facts: EntryFacts,
    now: float,
) -> list[Entry]:
    entries = []
    for group, uploads in received:
        for upload in uploads:
            add_upload(db, upload)
        files = number_seeds(board, uploads)
        system = create_system(
            db,
            None,
            facts.to_facts(group.name),
            now,
            kind=facts.kind,
            state="private" if facts.is_private else "published",
            provenance=group.provenance,
        )
        ids = [upload.id for upload in uploads]
        id = add_submission(db, system, None, files, ids, system.id, now)
        entries.append(Entry(system.id, system.name, id, tuple(_list_sets(files))))
    return entries


def _list_sets(files: Sequence[Any]) -> Iterator[str]:
    counts: dict[str, int] = {}
    for file in files:
        name = f"{file.task}:{file.split}"
        counts[name] = counts.get(name, 0) + 1
    for name, count in counts.items():
        yield f"{name} ({count} seeds)" if count > 1 else name


# The human row


def enter_humans(
    board: Board,
    store: BoardStore,
    judgements: Path | None,
    facts: EntryFacts,
    *,
    task: str = "",
    now: float | None = None,
) -> list[Entry]:
    """Enter the human row of each task that the judgements are about: those of a file, else those in the key files.

    It needs items with two answers or more. Raises `BadInput` where no task of the board has them.
    """
    moment = time.time() if now is None else now
    scored: list[tuple[BoardSet, list[TrueScore], dict[str, Any]]] = []
    for one in board.sets:
        if task and one.task != task:
            continue
        rows = _find_judgements(board, one, judgements)
        if len(rows) > len({row.example for row in rows}):
            scored.append((one, score_people(board, one, rows), _describe_people(rows, judgements)))
    if not scored:
        where = "the key files" if judgements is None else str(judgements)
        what = f"{where} have no item of the board with two answers or more"
        cure = "pass a file with --judgements FILE; nikawa data hide keeps those of the dataset in the key file"
        raise BadInput(what, cure=cure)
    return [store.write(_add_humans, board, scored, facts, moment)]


def _find_judgements(board: Board, one: BoardSet, path: Path | None) -> list[Judgement]:
    """The persons' answers about the items of a set, under their published ids."""
    question = board.tasks[one.task].question
    keys = read_keys(board.keys_path(one.dataset))
    items = keys.items.get(one.split, {})
    if path is None:
        rows = [
            msgspec.structs.replace(row, example=item.id)
            for item in items.values()
            for row in item.judgements
        ]
    else:
        published: dict[str, str] = {id: id for id in items}
        published |= {item.was: id for id, item in items.items()}
        rows = []
        for _, row in open_judgements(path).rows:
            name = row.example.rpartition("/")[2] if "/" in row.example else row.example
            id = published.get(row.example, published.get(name))
            if id is not None:
                rows.append(msgspec.structs.replace(row, example=id))
    return [row for row in rows if row.question == question and is_person(row)]


def score_people(board: Board, one: BoardSet, rows: Sequence[Judgement]) -> list[TrueScore]:
    """The scores of people against the others' answers, under the metrics of the task."""
    task = board.tasks[one.task]
    if task.kind == "tagging":
        rows = [
            row
            if row.answer is None
            else msgspec.structs.replace(row, answer=msgspec.convert(row.answer, list[Span]))
            for row in rows
        ]
    held_out = leave_one_out(rows, find_combination(task.kind))
    examples: Mapping[str, Example] = {e.id: e for e in board.examples(one.task, one.split)}
    judged = [examples[id] for id in held_out.examples]
    items = Items(
        gold=held_out.gold,
        answers=held_out.answers,
        inputs=[example.inputs for example in judged],
        labels=task.labels,
    )
    scores = score_answers(task, items, resampling_units(task, judged), "", SCORE_RESAMPLES)
    return [
        TrueScore(
            submission="",
            task=one.task,
            split=one.split,
            metric=score.metric,
            mode="official",
            where="",
            value=score.value,
            low=score.low,
            high=score.high,
            sd=None,
            n=len(set(held_out.examples)),
            unit=score.unit,
            values=(score.value,),
        )
        for score in scores
    ]


def _describe_people(rows: Sequence[Judgement], path: Path | None) -> dict[str, Any]:
    return {
        "entered_with": f"nikawa {__version__}",
        "judgements": len(rows),
        "items": len({row.example for row in rows}),
        "workers": len({row.worker for row in rows}),
        "source": "the key file" if path is None else path.name,
        "rule": "each answer against the gold of the item's other answers",
    }


def _add_humans(
    db: Connection,
    board: Board,
    scored: Sequence[tuple[BoardSet, list[TrueScore], dict[str, Any]]],
    facts: EntryFacts,
    now: float,
) -> Entry:
    """The system, a submission that is scored already, and what is shown of it."""
    provenance = {f"{one.task}:{one.split}": about for one, _, about in scored}
    system: System = create_system(
        db,
        None,
        facts.to_facts("Human"),
        now,
        kind="human",
        state="private" if facts.is_private else "published",
        provenance=provenance,
    )
    id = add_submission(db, system, None, (), (), system.id, now)
    latest = 0.0
    for one, scores, _ in scored:
        true = [msgspec.structs.replace(score, submission=id) for score in scores]
        visible_at = choose_visible_at(board.settings, one.role, now, now)
        if visible_at is None:
            continue
        latest = max(latest, visible_at)
        save_true_scores(db, true)
        revealed = reveal_scores(
            true,
            one,
            rules_of(board, one),
            states=read_ladders(db, None, one.task, one.split),
            noise={},
            account=None,
            at=visible_at,
        )
        save_shown_scores(
            db, [msgspec.structs.replace(s, visible_at=visible_at) for s in revealed.scores]
        )
        save_ladders(db, None, revealed.states)
        for disclosure in revealed.disclosures:
            add_disclosure(db, disclosure)
    db.execute(
        "UPDATE submissions SET state = 'scored', scored_at = ?, visible_at = ? WHERE id = ?",
        now,
        latest,
        id,
    )
    sets = tuple(f"{one.task}:{one.split}" for one, _, _ in scored)
    return Entry(system.id, system.name, id, sets)


def find_entry(store: BoardStore, entry: Entry) -> Submission | None:
    """The submission of an entry."""
    return store.read(find_submission, entry.submission)
