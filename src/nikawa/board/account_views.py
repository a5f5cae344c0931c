"""What an account may see of its own systems and submissions, as the types of the interface: for the pages and for programs.

Scores come from what `reveal` wrote, once their tick has come. Until then a submission looks the same, whether it waits, is scored, or
was scored long ago.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Literal, NamedTuple

from nikawa.board.folder import Board
from nikawa.board.interface import (
    API,
    AccountInfo,
    BoardInfo,
    LimitsInfo,
    LinkBody,
    OwnSystem,
    Remaining,
    ScoreLine,
    SubmissionState,
    TaskInfo,
)
from nikawa.board.records import Account, Submission, System
from nikawa.board.reveal import choose_visible_at, next_tick
from nikawa.board.store import (
    find_submission,
    find_system,
    list_submissions,
    list_systems,
    read_shown_scores,
)
from nikawa.board.submissions import count_allowance, list_finals
from nikawa.serve.database import Connection

Phase = Literal["upcoming", "open", "closed"]
MAX_SUBMISSIONS = 5000
"""Of one account that are listed."""


class FilePart(NamedTuple):
    """The files of a submission to one task and split."""

    task: str
    split: str
    seeds: int


def format_time(moment: float | None) -> str | None:
    """A moment as ISO 8601 in UTC.

    >>> format_time(0.0)
    '1970-01-01T00:00:00Z'
    """
    if moment is None:
        return None
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def find_phase(board: Board, now: float) -> Phase:
    """Whether the board takes submissions."""
    dates = board.settings.dates
    if dates.opens_at is not None and now < dates.opens_at:
        return "upcoming"
    return "closed" if dates.closes_at is not None and now >= dates.closes_at else "open"


def describe_tasks(board: Board) -> tuple[TaskInfo, ...]:
    """The parts of a board; it reads every dataset, so the result should be kept."""
    return tuple(
        TaskInfo(
            task=one.task,
            dataset=one.dataset,
            question=board.tasks[one.task].question,
            split=one.split,
            role=one.role,
            items=len(board.examples(one.task, one.split)),
            metrics=one.metrics,
            labels=tuple(map(str, board.tasks[one.task].labels)),
        )
        for one in board.sets
    )


def describe_board(board: Board, tasks: tuple[TaskInfo, ...], now: float) -> BoardInfo:
    """What a board is."""
    settings = board.settings
    limits = settings.submissions
    return BoardInfo(
        api=API,
        title=settings.title,
        state=find_phase(board, now),
        opens=format_time(settings.dates.opens_at),
        closes=format_time(settings.dates.closes_at),
        reveal_names=format_time(settings.dates.reveals_at),
        who=limits.who,
        limits=LimitsInfo(
            per_day=limits.per_day,
            in_all=limits.in_all,
            max_seeds=limits.max_seeds,
            max_bytes=int(limits.max_megabytes * 1e6),
        ),
        tasks=tasks,
    )


def list_parts(board: Board, submission: Submission) -> list[FilePart]:
    """The files of a submission by task and split, in the order of the board."""
    counts = Counter((file.task, file.split) for file in submission.files)
    places = [(one.task, one.split) for one in board.sets]
    return [FilePart(*place, counts[place]) for place in places if place in counts]


def describe_submission(
    db: Connection, board: Board, system: System, submission: Submission, now: float
) -> SubmissionState:
    """A submission as its account may see it."""
    has_come = submission.visible_at is not None and submission.visible_at <= now
    state: Literal["received", "scored", "failed"] = "received"
    scores: list[ScoreLine] = []
    if submission.state == "failed" and now >= _failure_tick(board, submission):
        state = "failed"
    elif submission.state == "scored" and has_come:
        state = "scored"
        scores = [
            ScoreLine(
                task=one.task,
                split=one.split,
                metric=one.metric,
                where=one.where,
                value=one.value,
                low=one.low,
                high=one.high,
                sd=one.sd,
                n=one.n,
                unit=one.unit,
                reason=one.reason or "",
            )
            for one in read_shown_scores(db, now, submission=submission.id)
        ]
        order = {name: place for place, name in enumerate(_metric_places(board))}
        scores.sort(
            key=lambda s: (bool(s.where), order.get((s.task, s.split, s.metric), 0), s.where)
        )
    roles = {board.find_set(f.task, f.split).role for f in submission.files}
    expected = choose_visible_at(
        board.settings,
        "public" if "public" in roles else "final",
        submission.received,
        submission.received,
        len(submission.files),
    )
    return SubmissionState(
        submission=submission.id,
        system=system.id,
        name=system.name,
        received=format_time(submission.received) or "",
        state=state,
        message=submission.problem if state == "failed" else "",
        expected=format_time(expected),
        scores=tuple(scores),
    )


def _failure_tick(board: Board, submission: Submission) -> float:
    """When a failure may be seen: at the tick that a result would have had, as it says nothing then of how long scoring took."""
    scoring = board.settings.scoring
    tick = scoring.release_seconds
    allowance = min(scoring.seconds * max(1, len(submission.files)), tick)
    return next_tick(submission.received + allowance, tick)


def _metric_places(board: Board) -> list[tuple[str, str, str]]:
    return [(one.task, one.split, metric) for one in board.sets for metric in one.metrics]


def describe_system(
    db: Connection,
    board: Board,
    system: System,
    submissions: Sequence[Submission],
    now: float,
) -> OwnSystem:
    """A system as its account sees it, the latest submission first."""
    return OwnSystem(
        system=system.id,
        name=system.name,
        state=system.state,
        anonymous=system.anonymous,
        description=system.description,
        links=tuple(LinkBody(title=one.title, address=one.address) for one in system.links),
        licence=system.licence,
        parameters=system.parameters,
        training_data=system.training_data,
        created=format_time(system.created) or "",
        submissions=tuple(describe_submission(db, board, system, one, now) for one in submissions),
    )


def list_remaining(
    db: Connection, board: Board, account: str, now: float, tasks: Sequence[str] = ()
) -> tuple[Remaining, ...]:
    """How many submissions are left to an account, by task."""
    names = tasks or list(dict.fromkeys(one.task for one in board.sets))
    rows = []
    for name in names:
        left = count_allowance(db, board.settings, account, name, now)
        rows.append(Remaining(task=name, today=left.today, in_all=left.in_all))
    return tuple(rows)


def describe_account(db: Connection, board: Board, account: Account, now: float) -> AccountInfo:
    """An account with its systems, the latest first."""
    by_system: dict[str, list[Submission]] = {}
    for one in list_submissions(db, account=account.id, limit=MAX_SUBMISSIONS):
        by_system.setdefault(one.system, []).append(one)
    systems = list_systems(db, account=account.id)[::-1]
    return AccountInfo(
        name=account.name,
        state=account.state,
        remaining=list_remaining(db, board, account.id, now),
        finals=list_finals(db, account.id),
        systems=tuple(
            describe_system(db, board, one, by_system.get(one.id, ()), now) for one in systems
        ),
    )


def find_own_submission(
    db: Connection, board: Board, account: Account, id: str, now: float
) -> SubmissionState | None:
    """A submission of an account; None for another's, and for none."""
    one = find_submission(db, id)
    if one is None or one.account != account.id:
        return None
    system = find_system(db, one.system)
    assert system is not None
    return describe_submission(db, board, system, one, now)
