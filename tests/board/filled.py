"""A board with results to look at: systems, submissions and shown scores are written into the store, without scoring anything."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import msgspec

from nikawa.board.folder import Board, open_board
from nikawa.board.records import (
    BoardSet,
    Link,
    ShownScore,
    System,
    SystemKind,
    SystemState,
    Withheld,
)
from nikawa.board.reveal import share_half_width
from nikawa.board.settings import SETTINGS, BoardSettings, SetSettings, format_settings
from nikawa.board.store import BoardStore, save_shown_scores, save_shown_ties, save_system
from nikawa.io.cards import blank_card
from nikawa.io.folders import write_folder
from nikawa.records import Card, Dataset, Example, Origin
from nikawa.serve.database import Connection
from nikawa.stats.paired import tie_groups

NOW = 1_800_000_000.0
DAY = 86_400.0
LABELS = ("entailment", "contradiction", "neutral")
SLICES = (
    "tag=negation",
    "tag=quantifier",
    "tag=tense",
    "tag=comparative",
    "source=news",
    "source=web",
)


def make_board(folder: Path, tasks: Sequence[str] = ("tides",), **tables: object) -> Board:
    """A board over small datasets without labels of their tests; `tables` are settings."""
    sets = []
    for name in tasks:
        known = [
            Example(id=f"t{i}", inputs={"premise": "a", "hypothesis": "b"}, gold={"label": label})
            for i, label in enumerate(LABELS)
        ]
        origin = Origin(recipe="test", gold="hidden")
        splits = {"train": known}
        for split in ("test", "final"):
            splits[split] = [
                Example(
                    id=f"{split}{i}",
                    inputs={"premise": f"前提{i}", "hypothesis": "b"},
                    origin=origin,
                )
                for i in range(40)
            ]
        card = replace_card(name)
        dataset = Dataset(
            name=name,
            language="ja",
            version="1.0",
            card=card,
            splits={split: tuple(rows) for split, rows in splits.items()},
        )
        write_folder(dataset, folder / "datasets" / name)
        sets.append(SetSettings(dataset=name, split="test"))
    text = format_settings("tides", "潮の満ち引き Leaderboard", "ja", sets)
    (folder / SETTINGS).write_text(text, "utf-8")
    (folder / "secret.key").write_text("ab" * 32, "ascii")
    (folder / "about.en.md").write_text("# What it is\n\nInference about **tides**.\n", "utf-8")
    (folder / "about.ja.md").write_text("# 概要\n\n潮汐についての**推論**。\n", "utf-8")
    board = open_board(folder)
    changed = {**msgspec.to_builtins(board.settings), **tables}
    return replace(board, settings=msgspec.convert(changed, BoardSettings))


def replace_card(name: str) -> Card:
    card = blank_card(name, "ja")
    return msgspec.structs.replace(
        card, title="Inference about tides", licence="CC BY 4.0", homepage="https://tides.example/"
    )


@dataclass
class Entrant:
    """A system to show."""

    name: str
    value: float | None
    kind: SystemKind = "submission"
    by: str = "Tide Lab"
    parameters: str = "110M"
    description: str = ""
    state: SystemState = "published"
    anonymous: bool = False
    seeds: int = 1
    days: float = 10.0
    """Before `NOW`."""
    reason: Withheld | None = None
    links: tuple[Link, ...] = ()
    licence: str = "Apache-2.0"
    training_data: str = "JSNLI, Wikipedia"
    provenance: dict[str, str] = field(default_factory=dict)


def fill(db: Connection, board: Board, entrants: Sequence[Entrant], items: int = 2000) -> list[str]:
    """Write systems with one submission each that covers every task; their ids."""
    chance = random.Random(4)
    ids, rows = [], {one: list[tuple[str, float]]() for one in board.sets}
    accounts: dict[str, str] = {}
    for number, entrant in enumerate(entrants):
        id, submission = f"sys{number:09}", f"sub{number:09}"
        ids.append(id)
        account = None
        if entrant.by and entrant.kind == "submission":
            account = accounts.setdefault(entrant.by, f"acc{len(accounts)}")
        at = NOW - entrant.days * DAY
        save_system(
            db,
            System(
                id=id,
                account=account,
                kind=entrant.kind,
                name=entrant.name,
                description=entrant.description,
                links=entrant.links,
                licence=entrant.licence,
                parameters=entrant.parameters,
                training_data=entrant.training_data,
                state=entrant.state,
                anonymous=entrant.anonymous,
                provenance=entrant.provenance,
                created=at,
                published_at=None if entrant.state == "private" else at,
                withdrawn_at=NOW if entrant.state == "withdrawn" else None,
            ),
        )
        db.execute(
            "INSERT INTO submissions (id, system, account, key, received, state) VALUES (?, ?, ?, ?, ?, 'scored')",
            submission, id, account, submission, at,
        )  # fmt: skip
        for place, one in enumerate(board.sets):
            for seed in range(entrant.seeds):
                db.execute(
                    "INSERT INTO files (submission, task, split, seed, digest, answers, size, path, name)"
                    " VALUES (?, ?, ?, ?, '', '', 0, '', '')",
                    submission, one.task, one.split, seed,
                )  # fmt: skip
            if place and chance.random() < 0.15:
                continue
            value = entrant.value
            if value is not None and place:
                value = round(value - 4 * place + chance.uniform(-2, 2), 1)
            if value is not None:
                rows[one].append((submission, value))
            scores = []
            wheres = ("", *SLICES) if board.settings.shown.slices else ("",)
            for metric in one.metrics[:2]:
                for where in wheres if metric == one.metrics[0] else ("",):
                    shift = chance.choice((-6, -2.5, 0, 1.5, 3)) if where else 0.0
                    scores.append(
                        _score(entrant, submission, one, metric, where, value, shift, items)
                    )
            save_shown_scores(db, scores)
    for name, id in accounts.items():
        db.execute(
            "INSERT INTO accounts (id, name, folded, password, state, email, language, created)"
            " VALUES (?, ?, ?, '', 'active', '', 'ja', 0)",
            id, name, name,
        )  # fmt: skip
    for one, pairs in rows.items():
        values = [value for _, value in pairs]
        letters = tie_groups(values, lambda i, j, v=values: abs(v[i] - v[j]) > 2)  # type: ignore[misc]
        ties = {submission: letter for (submission, _), letter in zip(pairs, letters, strict=True)}
        save_shown_ties(db, one.task, one.split, one.metrics[0], ties, 0.0)
    return ids


def _score(
    entrant: Entrant,
    submission: str,
    one: BoardSet,
    metric: str,
    where: str,
    value: float | None,
    shift: float,
    items: int,
) -> ShownScore:
    n = items // 6 if where else items
    if value is None:
        return ShownScore(
            submission=submission, task=one.task, split=one.split, metric=metric, where=where,
            value=None, reason=entrant.reason or "no-better",
        )  # fmt: skip
    shown = round(value + shift - (0.6 if metric != one.metrics[0] else 0), 1)
    half = round(share_half_width(shown, n), 1)
    return ShownScore(
        submission=submission,
        task=one.task,
        split=one.split,
        metric=metric,
        where=where,
        value=shown,
        low=round(shown - half, 1),
        high=round(min(100.0, shown + half), 1),
        sd=0.4 if entrant.seeds > 1 else None,
        n=n,
    )


MARKUP = '<script>alert("x")</script> & <b>bold</b>'
USUAL = (
    Entrant("Tide-Large-v2", 88.5, parameters="340M", days=6, seeds=5, by="潮汐研究室", description="A model.\n\n- one\n- two"),
    Entrant("Tide-Base", 85.0, days=40, by="潮汐研究室", seeds=3),
    Entrant("한국어 추론 모델", 87.5, days=20, by="바다 연구소", parameters="1.3B"),
    Entrant("日本語大規模推論モデル・潮騒", 88.0, days=12, by="灯台チーム", parameters="7B"),
    Entrant("majority", 44.5, kind="baseline", by="", parameters="", days=120, training_data="", provenance={"model": "majority", "version": "0.2.0"}),
    Entrant("tf-idf + logistic regression", 61.0, kind="baseline", by="", parameters="40k", days=120),
    Entrant("fine-tuned encoder", 82.0, kind="run", by="", parameters="110M", days=100, seeds=3),
    Entrant("people (3 judgements)", 93.5, kind="human", by="", parameters="", days=120),
    Entrant("SmallTide", 79.5, days=60, by="Harbour University", parameters="30M"),
    Entrant("SmallTide+rules", 81.5, days=35, by="Harbour University", parameters="30M"),
    Entrant("hidden name", 86.5, days=15, by="no one knows", anonymous=True),
    Entrant("later version", None, days=3, by="Harbour University"),
)  # fmt: skip


def many(count: int = 200) -> list[Entrant]:
    """A full board."""
    chance = random.Random(1)
    return [
        Entrant(
            f"system-{i:03}",
            round(60 + 28 * chance.random() ** 0.6, 1),
            days=chance.uniform(1, 700),
            by=f"team {i % 37}",
            parameters=chance.choice(("", "30M", "110M", "340M", "1.3B", "7B", "70B")),
        )
        for i in range(count)
    ] + list(USUAL[4:8])


ODD = (
    Entrant("a" * 200, 80.0, by="b" * 120),
    Entrant("A very long name of a system that describes everything it does, with all its hyper-parameters lr=3e-5 bs=32 ep=10", 82.5),
    Entrant("نموذج الاستدلال العربي", 84.0, by="مختبر المد"),
    Entrant("👩‍💻🌊 tide-emoji 🇯🇵", 83.0, by="🌊🌊🌊"),
    Entrant(MARKUP, 81.0, by=MARKUP, description=f"{MARKUP}\n\n[x](javascript:alert(1)) [ok](https://ok.example)", parameters=MARKUP, links=(Link(title=MARKUP, address="javascript:alert(1)"), Link(title="paper", address="https://paper.example/"))),
    Entrant("line\u202ereversed\nbreak", 79.0, by="x\u200by"),
    Entrant("=cmd|' /C calc'!A0", 78.0),
)  # fmt: skip


def fill_store(store: BoardStore, board: Board, entrants: Sequence[Entrant]) -> list[str]:
    """`fill` by the store's writer."""
    ids: list[str] = store.write(fill, board, entrants)
    return ids
