"""KLUE-STS built from a few invented sentences by recorded workers, by the paper's thresholds."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from nikawa.datasets import load
from nikawa.errors import BadInput
from nikawa.io.records import read_examples
from nikawa.recipes.build import BuildReport
from nikawa.records import Example

ROOMS = [
    {"id": f"a{n}", "text": f"{place} 방이 {state}", "source": "airbnb"}
    for n, (place, state) in enumerate(
        (place, state)
        for place in ("바다가 보이는", "역 앞의", "골목 안", "언덕 위", "시장 옆")
        for state in ("깨끗했어요", "조용했어요", "따뜻했어요")
    )
]
TRIPS = [
    {**room, "id": f"t{n}", "text": f"{room['text']} 정말", "round_trip": f"정말로 {room['text']}"}
    for n, room in enumerate(ROOMS)
]
SAME = {"id": "same", "text": "변함없는 문장", "source": "airbnb", "round_trip": "변함없는  문장"}
QUERIES = [
    {
        "id": f"q{intent}{way}",
        "text": f"{thing} {words}",
        "source": "paraKQC",
        "intent": intent,
        "topic": "집",
    }
    for intent, thing in enumerate(("거실 조명", "부엌 조명", "침실 난방", "안방 난방"))
    for way, words in enumerate(("켜 줘", "켜 줄래", "좀 켜 주세요"))
]


def of(report: BuildReport, name: str) -> tuple[dict[str, int], dict[str, int]]:
    found = next(stage for stage in report.stages if stage.name == name)
    return found.wrote, found.dropped


def rate(item: Example) -> int:
    """Round trips 3 to 5, intents 5 or 1, matched sentences 0 to 2, by id."""
    way, number = item.id.split("-")[0], sum(map(ord, item.id))
    return {"rtt": 3 + number % 3, "same": 5, "other": 1, "gsm": number % 3}[way]


def ratings(item: Example) -> list[Any]:
    """Five who agree, one who is a point off now and then, one whose answers say nothing."""
    score = rate(item)
    return [score] * 5 + [min(5, score + (item.id[-1] == "0")), (sum(map(ord, item.id)) * 7) % 6]


@pytest.fixture
def rated(start: Any, people: Any, tmp_path: Path) -> Any:
    """A build whose workers rate by `ratings`, but for some pairs."""

    def make(odd: dict[str, list[Any]] | None = None, **settings: Any) -> BuildReport:
        told = {"analyser": "none", "split": "0.6,0.2,0.2", **settings}
        run = start("klue-sts", "sentences", [*ROOMS, *TRIPS, SAME, *QUERIES], **told)
        run()
        people(
            tmp_path / "out", "similarity", lambda item: (odd or {}).get(item.id) or ratings(item)
        )
        report: BuildReport = run()
        if not report.waiting:
            return report
        people(
            tmp_path / "out", "review", lambda item: ["keep" if item.id == "rtt-t2" else "discard"]
        )
        last: BuildReport = run()
        return last

    return make


def test_pairs_come_from_four_ways(start: Any, tmp_path: Path) -> None:
    settings = {"analyser": "none", "pairs": ["airbnb=10"], "pilot": ["rtt-t1"]}
    report = start("klue-sts", "sentences", [*ROOMS, *TRIPS, SAME, *QUERIES], **settings)()
    assert of(report, "sentences-once")[0] == {"to-translate": 16, "to-match": 15, "queries": 12}
    assert of(report, "translated") == ({"translated": 15}, {"comes back unchanged or empty": 1})
    assert of(report, "matched") == ({"matched": 7}, {"no partner left in its corpus": 1})
    assert of(report, "alike")[0] == {"alike": 8}
    assert of(report, "unlike")[0] == {"unlike": 6}
    assert of(report, "chosen") == ({"chosen": 24}, {"not drawn": 11, "used in the pilot": 1})
    queries = {q["text"]: q["intent"] for q in QUERIES}
    for pair in read_examples(tmp_path / "out" / "build" / "chosen" / "chosen.jsonl"):
        one, other = (queries.get(pair.inputs[name]) for name in ("sentence1", "sentence2"))
        expected = {"same": one == other, "other": one != other}.get(pair.id.split("-")[0])
        assert expected in (None, True)
        assert pair.meta["source"] in (
            "airbnb-rtt",
            "airbnb-sampled",
            "paraKQC-para",
            "paraKQC-sampled",
        )


def test_a_translator_makes_round_trips(start: Any, tmp_path: Path) -> None:
    script = tmp_path / "turn.py"
    script.write_text(
        "import sys\nfor line in sys.stdin: print(' '.join(reversed(line.split())))\n", "utf-8"
    )
    turn = f"{sys.executable} {script}"
    settings = {"translators": [turn, turn, turn], "round_trip_share": 1.0, "analyser": "none"}
    report = start("klue-sts", "sentences", ROOMS, **settings)()
    assert of(report, "translated")[0] == {"translated": 15}
    pair = next(read_examples(tmp_path / "out" / "build" / "translated" / "translated.jsonl"))
    assert pair.inputs["sentence2"].split() == pair.inputs["sentence1"].split()[::-1]


def test_workers_who_disagree_are_left_out(rated: Any, tmp_path: Path) -> None:
    report = rated()
    assert of(report, "scored")[1] == {}
    examples = [e for part in load(str(tmp_path / "out")).splits.values() for e in part]
    assert len(examples) == 36
    for example in examples:
        score = rate(example)
        mean = (5 * score + min(5, score + (example.id[-1] == "0"))) / 6
        assert example.gold["score"] == pytest.approx(mean, abs=1e-12)
        assert example.gold["binary"] == (mean >= 3)
        assert (example.meta["ratings"], example.meta["rounded"]) == (6, round(mean, 1))


def test_too_few_ratings_and_too_much_deviation_drop_a_pair(rated: Any) -> None:
    odd: dict[str, list[Any]] = {
        "rtt-t0": [0, 5, 0, 5, 0, 5, 0],
        "rtt-t1": ["broken", "broken", 4, 4, 4, 4, 4],
        "rtt-t2": ["personal", 5, 5, 5, 5, 5, 0],
        "rtt-t3": ["hate", "bias", 4, 4, 4, 4, 4],
    }
    report = rated(odd, least_r=-1.0, least_alpha=-1.0)
    assert of(report, "checked")[0] == {"unreported": 33, "reported": 3}
    assert of(report, "sound") == ({"sound": 34}, {"reported, and discarded on review": 2})
    assert of(report, "scored") == ({"scored": 33}, {"standard deviation over 2": 1})


def test_left_with_fewer_than_five(rated: Any) -> None:
    odd: dict[str, list[Any]] = {"rtt-t2": ["personal", "personal", "personal", 5, 5, 5, 0]}
    report = rated(odd)
    assert of(report, "scored")[1] == {"fewer than 5 ratings left": 1}


def test_dev_and_test_are_flatter_than_train(rated: Any, tmp_path: Path) -> None:
    rated(split="0.7,0.1,0.2")
    splits = load(str(tmp_path / "out")).splits
    assert {name: len(part) for name, part in splits.items()} == {"train": 25, "dev": 4, "test": 7}
    scores = [round(e.gold["score"], 1) for part in ("dev", "test") for e in splits[part]]
    assert len(set(scores)) >= 8


def test_settings_are_checked_first(start: Any) -> None:
    for settings, what in (
        ({"ratings": 8}, "ratings = 8 is more than workers = 7"),
        ({"units": "nope"}, "nope"),
        ({"analyser": "nope"}, "nope"),
    ):
        with pytest.raises(BadInput, match=what):
            start("klue-sts", "sentences", ROOMS, **{"analyser": "none", **settings})()
