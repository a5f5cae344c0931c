"""What changed between the versions of a dataset: for programs as records, for people as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from nikawa.metrics.units import format_score
from nikawa.records import Record, Unit
from nikawa.reporting.tables import TextTable

SAME = 1e-9
"""Scores nearer than this are equal."""
SCORE_DIGITS = 4
"""Decimals of percentages: one corrected answer among 10,000 must show."""
MAX_CORRECTIONS_LISTED = 200
"""Corrections the page lists; `changelog.json` has them all."""


class Correction(Record, frozen=True, kw_only=True, omit_defaults=True):
    """A gold answer that a release corrects."""

    example: str
    """Full reference."""
    question: str
    before: Any
    after: Any
    """The new answer, of the same kind as the old one."""
    why: str = ""
    """The reason that the file of corrections gives."""
    by: str = ""
    """Who decided it."""


class ScoreMove(Record, frozen=True, kw_only=True, omit_defaults=True):
    """A score of a system under the gold of both versions, the mean over its seeds."""

    task: str
    set: str
    """The split whose gold was corrected."""
    metric: str
    system: str
    """Model, settings and variation of a run, or the name of a file of answers."""
    seeds: int = 1
    unit: Unit
    before: float | None
    after: float | None
    """None where the metric is not defined."""
    rank_before: int
    rank_after: int
    """Among the systems given, 1 the best; equal scores share a rank."""
    gained: float
    lost: float
    """Corrected items that became right or wrong, the mean over seeds."""

    @property
    def moves(self) -> bool:
        """Whether the score or the rank changes."""
        return self.changes or self.rank_before != self.rank_after

    @property
    def changes(self) -> bool:
        """Whether the score itself changes: a rank may because others' do."""
        if self.before is None or self.after is None:
            return self.before is not self.after
        return abs(self.after - self.before) > SAME


class Release(Record, frozen=True, kw_only=True, omit_defaults=True):
    """A version of a dataset and what it corrects."""

    version: str
    previous: str
    """The version it corrects."""
    date: str
    """The day, as 2026-01-31."""
    reason: str = ""
    """Why there is a new version, in the words of the person who released it."""
    corrections: tuple[Correction, ...]
    counts: dict[str, dict[str, int]]
    """Question to `before -> after` to count."""
    splits: dict[str, int]
    """Split to corrections."""
    scores: tuple[ScoreMove, ...] = ()
    """The stored scores that were computed again."""
    notes: tuple[str, ...] = ()
    """What was looked at again and stays, and what could not be scored again."""


def changelog(name: str, releases: Sequence[Release]) -> str:
    """The page of all versions, the newest first."""
    parts = [f"# What changed in {name}"]
    for release in releases:
        parts += describe_release(release)
    return "\n\n".join(parts) + "\n"


def versions(releases: Sequence[Release]) -> str:
    """The section of a dataset card that names its versions."""
    rows = [f"- {release.version} ({release.date}): {headline(release)}" for release in releases]
    first = f"- {releases[-1].previous}: before these corrections"
    return "\n\n".join(
        ["## Versions", "\n".join([*rows, first]), "`CHANGELOG.md` lists every corrected answer."]
    )


def headline(release: Release) -> str:
    """A release in one sentence."""
    count = len(release.corrections)
    where = ", ".join(f"{split} {n:,}" for split, n in release.splits.items())
    text = f"{count:,} gold {'answer' if count == 1 else 'answers'} of {release.previous} corrected ({where})"
    return f"{text}. {release.reason}" if release.reason else text


def describe_release(release: Release) -> Iterator[str]:
    """The paragraphs of a release: its headline, corrections and their counts, scores that move,
    notes.
    """
    yield f"## {release.version} ({release.date})"
    yield f"{headline(release).rstrip('.')}. Scores on {release.previous} are not comparable with those on {release.version}."
    kinds = [
        [q, move, f"{n:,}"] for q, moves in release.counts.items() for move, n in moves.items()
    ]
    yield TextTable(("question", "from -> to", "count"), kinds, ("count",)).markdown()
    rows = [
        [c.example, c.question, _cell(c.before), _cell(c.after), _line(c.why), _line(c.by)]
        for c in release.corrections[:MAX_CORRECTIONS_LISTED]
    ]
    yield TextTable(("example", "question", "before", "after", "why", "by"), rows).markdown()
    if len(release.corrections) > MAX_CORRECTIONS_LISTED:
        yield f"… and {len(release.corrections) - MAX_CORRECTIONS_LISTED:,} more in `changelog.json`."
    moved = [score for score in release.scores if score.moves]
    if moved:
        what = "Scores" if all(score.changes for score in moved) else "Scores and ranks"
        yield f"### {what} that move from {release.previous} to {release.version}"
        yield TextTable(
            SCORE_COLUMNS, [score_row(score) for score in moved], SCORE_COLUMNS[4:]
        ).markdown()
    if release.notes:
        yield "\n".join(f"- {note}" for note in release.notes)


SCORE_COLUMNS = (
    *("task", "set", "metric", "system"),
    *("before", "after", "change", "rank", "gained", "lost"),
)


def score_row(score: ScoreMove) -> list[str]:
    """The cells of a score, in the order of the columns; in percent, whatever the official scorer reports."""
    rank = f"{score.rank_before}"
    if score.rank_after != score.rank_before:
        rank = f"{score.rank_before} -> {score.rank_after}"
    system = score.system if score.seeds == 1 else f"{score.system} ({score.seeds} seeds)"

    def show(value: float, *, signed: bool = False) -> str:
        return format_score(value, score.metric, score.unit, digits=SCORE_DIGITS, signed=signed)

    values = [
        "undefined" if value is None else show(value) for value in (score.before, score.after)
    ]
    change = ""
    if not score.changes:
        change = "none"
    elif score.before is not None and score.after is not None:
        change = show(score.after - score.before, signed=True)
    numbers = [*values, change, rank, f"{score.gained:g}", f"{score.lost:g}"]
    return [score.task, score.set, score.metric, system, *numbers]


def describe_moves(scores: Sequence[ScoreMove]) -> str:
    """How many stored scores move, and how many keep their value and change rank alone."""
    changed = sum(score.changes for score in scores)
    sentence = f"{changed:,} of {len(scores):,} stored scores change"
    ranks = sum(score.moves for score in scores) - changed
    if not ranks:
        return sentence
    return f"{sentence}; {ranks:,} more {'changes' if ranks == 1 else 'change'} rank alone"


def _cell(value: Any) -> str:
    from nikawa.io.json import pack_json

    return _line(value) if isinstance(value, str) else pack_json(value).decode()


def _line(text: str) -> str:
    return " ".join(text.split())
