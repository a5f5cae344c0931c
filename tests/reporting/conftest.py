"""A page that has every part there is, of invented figures, and a reader of pages that asks each number for its source."""

from __future__ import annotations

import re
from collections.abc import Callable
from html.parser import HTMLParser
from typing import Any

import pytest

from nikawa.analysis import results as r
from nikawa.io.json import pack_json
from nikawa.reporting.page_data import (
    Analysed,
    Chooser,
    Note,
    Number,
    Page,
    PairRow,
    PartRow,
    RunRow,
    Section,
    SettingChoices,
    SourcedFinding,
    SystemRow,
    Trace,
    TrainingCurves,
    TriedSettings,
)

LABELS = ("含意 関係", "矛盾/対立")
"""With what a pointer must escape: a blank and a slash."""
VOID = {"meta", "br", "img", "input", "hr", "link"}
NAMES = {"h1", "h2", "h3", "h4", "th", "code", "pre", "nav", "a", "style", "script"}
"""What holds names and commands, not figures."""
CONSTANTS = re.compile(r"\b95%|\b5%")


def figure(value: float, **more: Any) -> r.Figure:
    return r.Figure(value=value, low=value - 1, high=value + 1, n=40, **more)


def cut(where: str, n: int, value: float, p: float) -> r.Slice:
    return r.Slice(
        by="tag",
        where=where,
        n=n,
        units=n,
        value=value,
        low=value - 3,
        high=value + 3,
        sd=0.5,
        rest=value + 9,
        difference=-9.0,
        difference_low=-12.0,
        difference_high=-2.0,
        p=p,
        p_holm=p,
    )


def analysis(model: str, value: float) -> r.Analysis:
    counts = {LABELS[0]: {LABELS[0]: 17.0, LABELS[1]: 4.5}, LABELS[1]: {LABELS[1]: 18.5}}
    classes = tuple(
        r.ClassScore(
            label=label,
            gold=20,
            answered=19.5,
            precision=figure(0.81),
            recall=figure(0.72),
            f1=figure(0.76),
        )
        for label in LABELS
    )
    cells = tuple(
        r.CrossCell(label=label, bin=part, n=7, value=57.1, low=30.2, high=80.3, answered=6.0)
        for label in (*LABELS, "")
        for part in ("1-2", "2-3")
    )
    bins = (
        r.ReliabilityBin(
            n=20, least=0.5, most=0.7, confidence=0.61, accuracy=0.55, low=0.4, high=0.7
        ),
    )
    return r.Analysis(
        system=r.System(
            task="t",
            kind="inference",
            dataset="d",
            language="ja",
            model=model,
            seeds=(0, 1),
            runs=("a", "b"),
        ),
        set="test",
        n=40,
        unanswered=0.0,
        metric="accuracy",
        unit="percent",
        score=figure(value),
        resamples=100,
        seed=0,
        slices=(cut("否定", 12, 51.5, 0.01), cut("数量", 28, 66.5, 0.6)),
        cross=r.CrossTable(
            metric="accuracy", unit="percent", labels=LABELS, bins=("1-2", "2-3"), cells=cells
        ),
        confusion=r.Confusion(labels=LABELS, columns=LABELS, counts=counts, classes=classes),
        calibration=r.Calibration(
            n=40,
            left_out=0,
            accuracy=0.6,
            confidence=0.7,
            ece=0.123,
            ece_sd=None,
            ece_chance=0.2,
            brier=figure(0.4),
            nll=figure(0.8),
            aurc=0.2,
            aurc_best=0.1,
            bins=bins,
            coverage=(),
        ),
        overlap=r.Overlap(
            of="hypothesis",
            inside="premise",
            segmentation="ipadic",
            n=40,
            mean=figure(0.66),
            pooled=0.6,
            labels={LABELS[0]: 0.713},
            metric="accuracy",
            unit="percent",
            bins=(
                r.OverlapBin(n=40, least=0.1, most=0.9, mean=0.5, value=61.2, low=50.1, high=70.3),
            ),
            correlation=figure(0.21),
        ),
    )


def across() -> r.Across:
    points = tuple(
        r.CurvePoint(share=s, shots=0, trained=int(100 * s), score=figure(50 + 20 * s), seeds=(0,))
        for s in (0.5, 1.0)
    )
    cell = r.StressCell(
        operation="swap-ni",
        case="",
        gold="",
        n=31,
        value=87.1,
        low=74.2,
        high=96.8,
        sd=None,
        to_neutral=None,
        human=None,
        human_n=0,
    )
    suspect = r.Suspect(
        example="d:test/3",
        gold=LABELS[0],
        suggested=LABELS[1],
        p_gold=0.04,
        p_suggested=0.93,
        against=2,
        systems=2,
        suggest=2,
    )
    found = r.Suspects(
        task="t", set="test", systems=("a",), n=40, thresholds={}, total=6, items=(suspect,)
    )
    swapped = r.Suspects(
        task="t", set="swap-ni", systems=("a",), n=31, thresholds={}, total=900, items=(suspect,)
    )
    return r.Across(
        partial=(
            r.PartialInput(
                task="t",
                set="test",
                model="good",
                inputs=("hypothesis",),
                seeds=(0,),
                n=40,
                score=figure(48.2),
                majority=34.4,
                majority_label=LABELS[0],
                difference=figure(13.8),
                p=0.01,
                p_holm=0.013,
                full=71.3,
            ),
        ),
        curves=(
            r.Curve(
                task="t", set="test", model="good", metric="accuracy", unit="percent", points=points
            ),
        ),
        stress=(
            r.Stress(
                task="t", model="good", variation="", seeds=(0,), measure="same", cells=(cell,)
            ),
        ),
        suspects=(found, swapped),
    )


def _sourced(found: r.Across) -> dict[str, Any]:
    return {
        key: tuple(
            SourcedFinding(found=one, source=f"analyses/across.json#/{key}/{i}")
            for i, one in enumerate(getattr(found, key))
        )
        for key in ("partial", "curves", "stress", "suspects")
    }


RATES = {0.0001: (41.25, 3.75), 0.0003: (62.75, 2.25), 0.001: (52.5, 1.5)}
"""Learning rate to the mean over two seeds, and the deviation, where settings are chosen."""


def choices(task: str = "t") -> tuple[SettingChoices, dict[str, Any]]:
    """Three learning rates of one system, and the files of the runs that chose."""
    files: dict[str, Any] = {}
    tried = []
    for rate, (mean, off) in RATES.items():
        places = [f"my%20runs/{task} {rate} {seed}/scores.json" for seed in (0, 1)]
        for place, value in zip(places, (mean - off, mean + off), strict=True):
            files[place.replace("%20", " ")] = [{"n": 1995, "scores": [{"value": value}]}]
        source = " ".join(f"{place.replace(' ', '%20')}#/0/scores/0" for place in places)
        score = Number(value=mean, sd=off * 2**0.5, n=1995, source=source)
        tried.append(
            TriedSettings(
                settings={"learning_rate": rate},
                defaults={"learning_rate": ("good",)} if rate == 0.001 else {},
                scores={"good": score},
                seeds={"good": 2},
                chosen=("good",) if rate == 0.0003 else (),
                reported=("good",) if rate == 0.001 else (),
            )
        )
    chooser = Chooser(system="good", set="d:train", kept_out=True, n=1995, seeds=(0, 1))
    names = ("learning_rate",)
    return SettingChoices(
        task=task, metric="accuracy", names=names, systems=(chooser,), tried=tuple(tried)
    ), files


def training() -> tuple[TrainingCurves, dict[str, Any]]:
    """The losses of two seeds, and the file that holds them."""
    losses = {0: (1.25, 0.75, 0.625), 1: (1.125, 0.875, 0.5)}
    folder = "my runs/good-{}/about.json"
    files: dict[str, Any] = {
        folder.format(seed): {
            "model": {
                "history": [{"step": 50 * (i + 1), "loss": loss} for i, loss in enumerate(found)]
            }
        }
        for seed, found in losses.items()
    }
    traces = tuple(
        Trace(
            seed=seed,
            points=tuple((50 * (i + 1), loss) for i, loss in enumerate(found)),
            source=f"my%20runs/good-{seed}/about.json#/model/history",
            end=f"my%20runs/good-{seed}/about.json#/model/history/2/loss",
        )
        for seed, found in losses.items()
    )
    return TrainingCurves(system="good", traces=traces, runs=2), files


def rich_page() -> tuple[Page, dict[str, bytes]]:
    """The page, and the files it names."""
    files: dict[str, Any] = {
        "analyses/across.json": across(),
        "dataset/t-agreement.json": {"measures": [{"value": 0.712}]},
    }
    rows, analysed = [], []
    for system, value in (("good", 71.3), ("poor", 55.5)):
        folder = f"my%20runs/{system}"
        files |= {
            f"my runs/{system}/scores.json": [
                {"scores": [{"value": value}], "unanswered": {"refused": 3}}
            ]
        }
        files |= {
            f"my runs/{system}/run.json": {
                "seed": 7,
                "settings": {},
                "data": [{"name": "d", "version": "1", "digest": "a1", "n": 40}],
            }
        }
        files |= {f"my runs/{system}/about.json": {"python": "3.12", "packages": {"numpy": "2.4"}}}
        files |= {f"analyses/{system}.json": analysis(system, value)}
        number = Number(
            value=value,
            low=value - 4,
            high=value + 4,
            sd=0.6,
            n=40,
            source=f"{folder}/scores.json#/0/scores/0",
        )
        rows.append(
            SystemRow(
                system=system,
                seeds=(0, 1),
                runs=(folder, folder),
                metrics={"accuracy": number},
                ties={"accuracy": "a"},
                unanswered={"refused": 3},
                lost=f"{folder}/scores.json#/0/unanswered",
            )
        )
        analysed.append(
            Analysed(
                system=system, analysis=analysis(system, value), source=f"analyses/{system}.json"
            )
        )
    pair = PairRow(
        metric="accuracy",
        first="poor",
        second="good",
        difference=Number(value=15.8, low=9.1, high=22.2, n=40),
        p=0.001,
        p_holm=0.002,
        smallest=7.7,
        wins=21,
        losses=5,
        source="my%20runs/good/predictions/test.jsonl",
    )
    part = PartRow(
        set="swap-ni",
        where="",
        metric="accuracy",
        system="good",
        number=rows[0].metrics["accuracy"],
    )
    note = Note(
        title="Agreement",
        text="40 items, 3 workers.",
        columns=("measure", "value"),
        rows=(("alpha", "0.712"),),
        numbers=("value",),
        source="dataset/t-agreement.json",
        sources=("dataset/t-agreement.json#/measures/0",),
    )
    (chosen, more), (other, others), (learned, told) = choices(), choices("u"), training()
    files |= {**more, **others, **told}
    section = Section(
        name="t",
        title="A task",
        dataset="d",
        kind="inference",
        language="ja",
        set="test",
        n=40,
        protocol="5 folds of dev",
        protocol_why="no test",
        metrics=("accuracy",),
        lower_is_better=(),
        labels=LABELS,
        rows=tuple(rows),
        pairs=(pair,),
        parts=(part,),
        analysed=tuple(analysed),
        derived=("swap-ni",),
        findings=(note,),
        choices=chosen,
        training=(learned,),
        **_sourced(across()),
    )
    runs = tuple(
        RunRow(
            folder=f"my%20runs/{s}",
            task="t",
            system=s,
            seed=7,
            settings={},
            data=(("d", "1", "a1", 40),),
            packages={"numpy": "2.4"},
            python="3.12",
        )
        for s in ("good", "poor")
    )
    page = Page(
        title="Invented",
        version="0",
        systems=("good", "poor"),
        sections=(section,),
        runs=runs,
        commands=("nikawa report runs",),
        rounds=2000,
        tests=1,
        choices=(other,),
        choosing=runs[:1],
    )
    return page, {name: pack_json(value) for name, value in files.items()}


class Reader(HTMLParser):
    """Texts of a page that hold a digit, each with the sources of what it stands in, the nearest first."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[tuple[str, dict[str, str]]] = []
        self.found: list[tuple[str, list[str], str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in VOID:
            self.open.append((tag, {key: value or "" for key, value in attrs}))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        while self.open and self.open.pop()[0] != tag:
            pass

    def handle_data(self, data: str) -> None:
        tags = {tag for tag, _ in self.open}
        own = any("source" in attributes.get("class", "").split() for _, attributes in self.open)
        if (
            "main" not in tags
            or tags & NAMES
            or own
            or not re.search(r"\d", CONSTANTS.sub("", data))
        ):
            return
        sources = [
            attributes["data-src"]
            for _, attributes in reversed(self.open)
            if "data-src" in attributes
        ]
        self.found.append((data.strip(), sources, " ".join(tag for tag, _ in self.open[-4:])))


@pytest.fixture
def numbers_of() -> Callable[[str], list[tuple[str, list[str], str]]]:
    """Every text of a page that holds a number: (text, sources, tags it stands in)."""

    def read(html: str) -> list[tuple[str, list[str], str]]:
        reader = Reader()
        reader.feed(html)
        return reader.found

    return read


@pytest.fixture
def rich() -> tuple[Page, dict[str, bytes]]:
    """A page with every part there is, and the files it names."""
    return rich_page()
