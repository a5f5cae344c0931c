"""A board as a visitor sees it at a moment, read from what `reveal` wrote: the one way from the database to pages, files and exports.

Only tables of what is shown are read, of systems that are published or were withdrawn; a row whose tick has not come is not there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from math import inf
from typing import Literal

import msgspec
from msgspec.structs import replace

from nikawa.board.folder import Board
from nikawa.board.records import ShownScore, System
from nikawa.board.store import list_accounts, list_systems, read_shown_scores, read_shown_ties
from nikawa.board.views import (
    BoardView,
    EntryView,
    RankView,
    ScoreView,
    SliceView,
    SplitView,
    TaskView,
    describe_metrics,
    rank_systems,
)
from nikawa.datasets.load import load
from nikawa.io.cards import UNSAID
from nikawa.serve.database import Connection

DAY = 86_400
Place = tuple[str, str, str]
"""A system, a task and a split."""
Current = dict[Place, str]
"""The submission that stands for a system."""


@dataclass(frozen=True)
class _Submission:
    """What is needed of a submission."""

    system: str
    received: float
    seq: int
    seeds: Mapping[tuple[str, str], tuple[int, ...]]
    """By task and split."""


def read_board(db: Connection, board: Board, tasks: tuple[TaskView, ...], now: float) -> BoardView:
    """What may be seen of a board at a moment; `tasks` are those of `describe_tasks`."""
    return read_snapshot(db, board, tasks, now)[0]


def read_mark(db: Connection, board: Board, now: float) -> bytes:
    """What changes whenever a snapshot does, at a fraction of its cost: rows that are shown are written with the tick of their change."""
    dates = board.settings.dates
    moments = (dates.opens_at, dates.closes_at, dates.reveals_at)
    shown = [
        db.one(f"SELECT COUNT(*), SUM(visible_at) FROM {table} WHERE visible_at <= ?", now)  # noqa: S608  (ours)
        for table in ("shown_scores", "shown_ties")
    ]
    parts = (
        [moment is not None and now >= moment for moment in moments],
        int(now // DAY),
        shown,
        db.one("SELECT COUNT(*) FROM submissions WHERE state = 'scored'"),
        db.rows("SELECT id, name FROM accounts ORDER BY id"),
        list_systems(db),
    )
    return sha256(msgspec.json.encode(parts)).digest()


def read_snapshot(
    db: Connection, board: Board, tasks: tuple[TaskView, ...], now: float
) -> tuple[BoardView, Current]:
    """What may be seen of a board at a moment, and the submissions behind it."""
    settings, dates = board.settings, board.settings.dates
    systems = {
        system.id: system
        for system in sorted(list_systems(db), key=lambda one: (one.published_at or 0.0, one.id))
        if system.state == "published"
        or (system.state == "withdrawn" and system.published_at is not None)
    }
    submissions = _read_submissions(db, systems)
    shown = [score for score in read_shown_scores(db, now) if score.submission in submissions]
    current = _choose_current(board, shown, submissions)
    scores: dict[str, list[ScoreView]] = {id: [] for id in systems}
    for score in shown:
        submission = submissions[score.submission]
        place = (score.task, score.split)
        is_current = current.get((submission.system, *place)) == score.submission
        if is_current and systems[submission.system].state == "published":
            scores[submission.system].append(_view_score(score, submission))
    described = _with_results(tasks, shown)
    slices = {(task.name, one.where) for task in described for one in task.slices}
    for own in scores.values():  # a slice without any value is in no table
        own[:] = [one for one in own if not one.where or (one.task, one.where) in slices]
    ranks = _rank_all(board, db, now, current, scores, systems)
    names = {account.id: account.name for account in list_accounts(db)}
    entries = [
        _view_entry(
            system,
            names.get(system.account or "", ""),
            tuple(scores[system.id]),
            tuple(ranks.get(system.id, ())),
            is_hidden=system.anonymous and (dates.reveals_at is None or now < dates.reveals_at),
        )
        for system in systems.values()
    ]
    view = BoardView(
        title=settings.title,
        name=settings.name,
        language=settings.language,
        address=settings.address,
        contact=settings.contact,
        opens=dates.opens_at,
        closes=dates.closes_at,
        reveals=dates.reveals_at,
        utc_offset=dates.utc_offset,
        phase=_phase(dates.opens_at, dates.closes_at, now),
        rule=settings.shown.rule,
        who=settings.submissions.who,
        per_day=settings.submissions.per_day or None,
        in_all=settings.submissions.in_all or None,
        tasks=described,
        entries=tuple(entries),
    )
    return view, current


def _phase(
    opens: float | None, closes: float | None, now: float
) -> Literal["before", "open", "closed"]:
    if opens is not None and now < opens:
        return "before"
    return "closed" if closes is not None and now >= closes else "open"


def _read_submissions(db: Connection, systems: Mapping[str, System]) -> dict[str, _Submission]:
    """The scored submissions of systems that are shown."""
    seeds: dict[str, dict[tuple[str, str], tuple[int, ...]]] = {}
    for id, task, split, seed in db.rows(
        "SELECT f.submission, f.task, f.split, f.seed FROM files f JOIN submissions s ON s.id = f.submission"
        " WHERE s.state = 'scored' ORDER BY f.submission, f.task, f.split, f.seed"
    ):
        own = seeds.setdefault(id, {})
        own[task, split] = (*own.get((task, split), ()), seed)
    rows = db.rows("SELECT id, system, received, seq FROM submissions WHERE state = 'scored'")
    return {
        id: _Submission(system, received, seq, seeds.get(id, {}))
        for id, system, received, seq in rows
        if system in systems
    }


def _choose_current(
    board: Board, shown: list[ShownScore], submissions: Mapping[str, _Submission]
) -> Current:
    """The submission that stands for a system on a split of a task: the one with the best main score, as for the ties, else the latest."""
    mains = {(one.task, one.split): one.metrics[0] for one in board.sets}
    best: dict[Place, tuple[float, str]] = {}
    latest: dict[Place, tuple[int, str]] = {}
    for score in shown:
        submission = submissions[score.submission]
        place = (submission.system, score.task, score.split)
        is_main = score.metric == mains.get((score.task, score.split)) and not score.where
        if is_main and score.value is not None and not best.get(place, (-inf,))[0] >= score.value:
            best[place] = (score.value, score.submission)
        latest[place] = max(latest.get(place, (-1, "")), (submission.seq, score.submission))
    chosen = {place: submission for place, (_, submission) in latest.items()}
    return chosen | {place: submission for place, (_, submission) in best.items()}


def _view_score(score: ShownScore, submission: _Submission) -> ScoreView:
    return ScoreView(
        task=score.task,
        split=score.split,
        metric=score.metric,
        where=score.where,
        value=score.value,
        low=score.low,
        high=score.high,
        sd=score.sd,
        n=score.n,
        unit=score.unit,
        seeds=submission.seeds.get((score.task, score.split), ()),
        scored=submission.received,
        reason=score.reason or "",
    )


def _rank_all(
    board: Board,
    db: Connection,
    now: float,
    current: Current,
    scores: Mapping[str, list[ScoreView]],
    systems: Mapping[str, System],
) -> dict[str, list[RankView]]:
    """The ranks of each system under the main metric of each split; people have none."""
    ranks: dict[str, list[RankView]] = {}
    for one in board.sets:
        metric = describe_metrics(one.metrics[:1])[0]
        ties = read_shown_ties(db, now, one.task, one.split)
        values, letters = {}, {}
        for id, own in scores.items():
            tie = ties.get((current.get((id, one.task, one.split), ""), metric.name))
            value = next(
                (
                    score.value
                    for score in own
                    if (score.task, score.split, score.metric, score.where)
                    == (one.task, one.split, metric.name, "")
                ),
                None,
            )
            if value is not None and tie and systems[id].kind != "human":
                values[id], letters[id] = value, tie
        for id, rank in rank_systems(values, letters, metric.better).items():
            view = RankView(task=one.task, split=one.split, rank=rank, letters=letters[id])
            ranks.setdefault(id, []).append(view)
    return ranks


def _view_entry(
    system: System,
    by: str,
    scores: tuple[ScoreView, ...],
    ranks: tuple[RankView, ...],
    *,
    is_hidden: bool,
) -> EntryView:
    """A system; while it is anonymous, without anything that its submitter may have signed."""
    return EntryView(
        id=system.id,
        name="" if is_hidden else system.name,
        by="" if is_hidden else by,
        kind=system.kind,
        description="" if is_hidden else system.description,
        links=() if is_hidden else system.links,
        licence=system.licence,
        parameters=system.parameters,
        training_data=system.training_data,
        provenance={} if is_hidden else system.provenance,
        published=system.published_at,
        withdrawn=system.withdrawn_at if system.state == "withdrawn" else None,
        scores=scores,
        ranks=ranks,
    )


def describe_tasks(board: Board) -> tuple[TaskView, ...]:
    """The tasks of a board with their splits, as far as they do not change while it is served."""
    views = []
    for name, task in board.tasks.items():
        sets = board.sets_of(name)
        if not sets:
            continue
        dataset = load(str(board.dataset_path(sets[0].dataset)))
        splits = [
            SplitView(name=one.split, role=one.role, items=len(board.examples(name, one.split)))
            for one in sets
        ]
        card = dataset.card
        views.append(
            TaskView(
                name=name,
                title=_stated(card.title) or dataset.name,
                dataset=dataset.name,
                version=dataset.version,
                language=dataset.language,
                kind=task.kind,
                licence=_stated(card.licence),
                homepage=_stated(card.homepage),
                citation=_stated(card.citation),
                metrics=describe_metrics(task.metrics),
                splits=tuple(sorted(splits, key=lambda split: split.role == "final")),
            )
        )
    return tuple(views)


def _stated(words: str) -> str:
    """A line of a card; empty where the card says that it is not stated."""
    return "" if words == UNSAID else words


def _with_results(tasks: tuple[TaskView, ...], shown: list[ShownScore]) -> tuple[TaskView, ...]:
    """The tasks with the slices that anybody has a value of, the largest first, and a final split first once it has results."""
    slices: dict[str, dict[str, int]] = {}
    scored: set[tuple[str, str]] = set()
    for score in shown:
        if score.value is None:
            continue
        scored.add((score.task, score.split))
        if score.where:
            own = slices.setdefault(score.task, {})
            own[score.where] = max(own.get(score.where, 0), score.n or 0)
    views = []
    for task in tasks:
        ordered = sorted(slices.get(task.name, {}).items(), key=lambda one: (-one[1], one[0]))
        parts = []
        for where, items in ordered:
            by, _, value = where.partition("=")
            parts.append(SliceView(where=where, by=by, value=value, items=items))
        is_late = {s.name: s.role == "final" and (task.name, s.name) in scored for s in task.splits}
        splits = sorted(task.splits, key=lambda split: not is_late[split.name])
        views.append(replace(task, slices=tuple(parts), splits=tuple(splits)))
    return tuple(views)
