"""KLUE-NLI built from a few invented sentences by recorded workers, by the paper's thresholds."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from nikawa.datasets import load
from nikawa.datasets.klue.klue_nli import LABELS
from nikawa.datasets.lineage import find_lineage
from nikawa.errors import BadInput
from nikawa.recipes.build import BuildReport
from nikawa.recipes.klue.klue_nli import fault, pair_id, quotas
from nikawa.records import Example

SOURCES = (
    ("wikitree", "formal", "시장은"),
    ("policy", "formal", "장관은"),
    ("nsmc", "colloquial", "우리는"),
)
EVENTS = ("축제", "회의", "시상식", "전시회", "음악회", "경기")
SENTENCES = [
    {
        "id": f"{source}{n}",
        "text": f"{who} {n}월에 열린 {event}에 참석해 소감을 밝혔다.",
        "source": source,
        "style": style,
    }
    for source, style, who in SOURCES
    for n, event in enumerate(EVENTS)
]
ODD = [
    {"id": "short", "text": "짧은 문장이다.", "source": "nsmc", "style": "colloquial"},
    {
        "id": "question",
        "text": "우리는 내일 몇 시에 어디에서 만나는 것이 좋을까?",
        "source": "nsmc",
        "style": "colloquial",
    },
]


def of(report: BuildReport, name: str) -> tuple[dict[str, int], dict[str, int]]:
    found = next(stage for stage in report.stages if stage.name == name)
    return found.wrote, found.dropped


def written(item: Example) -> list[Any]:
    text = item.inputs["premise"]
    odd: dict[str, Any] = {
        "policy0": "undecidable",
        "policy1": "hate",
        "policy2": "personal",
        "policy3": [text, "회의는 열리지 않았다.", "소감은 짧았다."],
    }
    return [
        odd.get(item.id, [f"{text[:-1]}고 한다.", f"{text[:-1]}는 것은 거짓이다.", f"어제 {text}"])
    ]


def validated(item: Example) -> list[str]:
    """Four who see what was meant, but for one pair each: two, none, or none in agreement."""
    premise = item.id.rpartition("-")[0]
    meant = next(label for label in LABELS if pair_id(premise, label) == item.id)
    other = "neutral" if meant != "neutral" else "entailment"
    third = next(label for label in LABELS if label not in (meant, other))
    odd = {
        pair_id("wikitree0", "entailment"): [meant, meant, other, third],
        pair_id("wikitree1", "entailment"): [other] * 4,
        pair_id("wikitree2", "entailment"): [meant, other, other, third],
    }
    return odd.get(item.id, [meant] * 4)


@pytest.fixture
def built(start: Any, people: Any, tmp_path: Path) -> list[BuildReport]:
    """The reports of a build from its first pause to its release."""
    run, out = (
        start("klue-nli", "sentences", [*SENTENCES, *ODD], split="0.5,0.25,0.25"),
        tmp_path / "out",
    )
    reports = [run()]
    for ask, tell in (
        ("hypotheses", written),
        ("review", lambda item: ["keep" if item.id == "policy2" else "discard"]),
        ("hypotheses-again", lambda item: [["가 참이다.", "가 거짓이다.", "나도 있다."]]),
        ("validation", validated),
    ):
        people(out, ask, tell, ask)
        reports.append(run())
    return reports


@pytest.mark.slow
def test_thresholds_of_the_paper(built: list[BuildReport], tmp_path: Path) -> None:
    first, second, third, fourth, last = built
    faults = {"a question": 1, "not 20 to 90 characters": 1}
    assert of(first, "statements") == ({"statements": 18}, faults)
    assert of(second, "checked") == (
        {"unreported": 15, "reported": 2},
        {"skipped by the writer": 1},
    )
    assert of(third, "readmitted") == ({"readmitted": 1}, {"reported, and discarded on review": 1})
    repeats = {"the hypothesis repeats the premise or another one": 1}
    assert of(fourth, "pairs") == ({"pairs": 47}, repeats)
    assert of(last, "labelled") == ({"labelled": 46}, {"no 3 equal labels": 1})
    splits = load(str(tmp_path / "out")).splits
    pairs = {e.id: e for part in splits.values() for e in part}
    assert len(pairs) == 46
    assert pairs[pair_id("wikitree0", "entailment")].gold == {"label": "entailment"}
    assert pairs[pair_id("wikitree1", "entailment")].gold == {"label": "neutral"}
    assert pair_id("wikitree2", "entailment") not in pairs
    intact = {f"{source}{n}" for source, _, _ in SOURCES for n in range(6)} - {
        "wikitree1",
        "wikitree2",
        "policy0",
        "policy1",
        "policy3",
    }
    for part in ("dev", "test"):
        groups = {str(e.group) for e in splits[part]}
        assert len(splits[part]) == 3 * len(groups) > 0
        assert groups <= intact
        assert all(e.gold["label"] == e.meta["author"] for e in splits[part])
        assert {e.meta["style"] for e in splits[part]} == {"formal", "colloquial"}
    told = find_lineage(pair_id("wikitree0", "entailment"), tmp_path / "out")
    assert {j.question for j in told.judgements} == {"hypotheses", "label"}
    assert [s["item"] for s in told.sources] == ["wikitree0"]


def test_writers_do_not_validate_their_own(start: Any, people: Any, tmp_path: Path) -> None:
    run, out = start("klue-nli", "sentences", SENTENCES, split="0.5,0.25,0.25"), tmp_path / "out"
    run()
    people(out, "hypotheses", lambda item: [["가", "나", "다"]])
    run()
    people(out, "validation", validated)
    with pytest.raises(
        BadInput,
        match=r"worker w0 answered hypotheses.* for 'wikitree0-[123]' and may not judge it",
    ):
        run()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("시장은 어제 열린 회의에서 예산을 늘렸다.", ""),
        ("배우들 연기가 좋아서 두 번이나 다시 봤음", ""),
        ("가나다라마바사아자차카타파하 그리고 여러 낱말", "does not end in a predicate"),
        ("속력은 거리와 시간으로 v = s / t 로 구한다.", "a formula or a list"),
        ("1) 모임 장소는 시청 앞 광장의 분수대이다.", "a formula or a list"),
        ("그 사람이 정말로 여기까지 왔다는 말인가요?", "a question"),
        ("열아홉 글자인 문장은 너무 짧다", "not 20 to 90 characters"),
    ],
)
def test_premises_are_statements(text: str, why: str) -> None:
    assert fault(text, SimpleNamespace(shortest=20, longest=90, propositions=True)) == why


def test_length_counts_from_20_to_90() -> None:
    config = SimpleNamespace(shortest=20, longest=90, propositions=False)
    assert [bool(fault("가" * n, config)) for n in (19, 20, 90, 91)] == [True, False, False, True]


def test_quotas_of_the_paper() -> None:
    """3,000 pairs: 450 of each of four formal sources, 600 of each of two colloquial ones."""
    names = [
        ("wikitree", "formal"),
        ("policy", "formal"),
        ("wikinews", "formal"),
        ("wikipedia", "formal"),
        ("nsmc", "colloquial"),
        ("airbnb", "colloquial"),
    ]
    pairs = [
        Example(id="", inputs={}, meta={"source": s, "style": k})
        for s, k in names
        for _ in range(4500)
    ]
    assert quotas(pairs, 3000, 0.4) == {s: 450 if k == "formal" else 600 for s, k in names}


@pytest.mark.parametrize(
    ("settings", "lines", "what"),
    [
        ({"votes": 6}, SENTENCES, "votes = 6 is more than the writer and validators = 4"),
        ({"shortest": 91}, SENTENCES, "shortest = 91 is more than longest = 90"),
        ({"model": "nope"}, SENTENCES, "nope"),
        ({"model": "overlap"}, SENTENCES, "does not learn|overlap"),
        ({}, SENTENCES[:4], "4 premises are too few for the split"),
        (
            {},
            [{**SENTENCES[0], "style": "poetic"}],
            r"line 1: 'poetic' is not a style; write formal or colloquial",
        ),
    ],
)
def test_what_cannot_be_built_is_refused(
    start: Any, settings: dict[str, Any], lines: list[dict[str, Any]], what: str
) -> None:
    with pytest.raises(BadInput, match=what):
        start("klue-nli", "sentences", lines, **settings)()


def test_the_name_of_a_pair_does_not_tell_what_was_meant() -> None:
    meant = {n: {pair_id(f"p{k}", label) for k in range(40)} for n, label in enumerate(LABELS)}
    for names in meant.values():
        assert {name.rpartition("-")[2] for name in names} == {"1", "2", "3"}
    assert len({name for names in meant.values() for name in names}) == 120
