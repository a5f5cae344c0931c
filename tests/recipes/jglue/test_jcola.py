"""An acceptability set from a few invented sentences: marks, domains, pairs, speakers who disagree, official metrics."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.recipes.small_sources import SMALL_SOURCES

from nikawa.datasets import load
from nikawa.datasets.lineage import find_lineage
from nikawa.errors import BadInput
from nikawa.io.records import read_examples
from nikawa.recipes.build import BuildOptions, build
from nikawa.records import Example

Nikawa = Callable[..., Any]
LINES = [json.loads(line) for line in SMALL_SOURCES["jcola"]()["examples.jsonl"].splitlines()]


@pytest.fixture
def begun(start: Any) -> Callable[..., Any]:
    def make(lines: list[dict[str, Any]] = LINES, **settings: Any) -> Any:
        told = {"out_of_domain": ["journal"], "workers": 3, "split": "0.5,0.25,0.25", **settings}
        return start("jcola", "sentences", lines, **told)

    return make


def of(report: Any, name: str) -> tuple[dict[str, int], dict[str, int]]:
    stage = next(one for one in report.stages if one.name == name)
    return stage.wrote, stage.dropped


def speak(item: Example) -> list[str]:
    """Two of three speakers find everything possible; of one sentence nobody can tell."""
    if item.id == "6*":
        return ["broken", "undecidable", "acceptable"]
    return ["acceptable", "acceptable", "unacceptable" if "*" in item.id else "acceptable"]


def test_the_literature_labels_and_speakers_are_counted(
    begun: Any, people: Any, tmp_path: Path
) -> None:
    run, out = begun(), tmp_path / "out"
    run()
    tasks = {one.id: one for one in read_examples(out / "people" / "acceptability" / "tasks.jsonl")}
    assert tasks["0-"].inputs["other"] == tasks["0*"].inputs["text"]
    assert all(not task.gold for task in tasks.values())
    people(out, "acceptability", speak)
    last = run()
    assert of(last, "judged") == ({"judged": 13}, {"reported by most speakers": 1})
    dataset = load(str(out))
    assert {name: len(part) for name, part in dataset.splits.items()} == of(last, "splits")[0]
    rows = {one.id: (split, one) for split, part in dataset.splits.items() for one in part}
    assert rows["0*"][1].gold == {"label": "unacceptable"}
    assert rows["0*"][1].meta["agree"] == pytest.approx(1 / 3, abs=1e-6)
    assert rows["0*"][1].tags == {"Arg. Str."}
    assert set(rows["0*"][1].inputs) == {"text"}
    assert {split for split, one in rows.values() if one.meta["source"] == "journal"} == {
        "ood",
        "ood-test",
    }
    for number in range(6):
        assert rows[f"{number}-"][0] == rows[f"{number}*"][0]  # pairs stay whole
    assert len(find_lineage("0*", out).judgements) == 3


def test_speakers_may_drop_sentences_and_nobody_need_be_asked(
    begun: Any, people: Any, tmp_path: Path
) -> None:
    run, out = begun(disagreement="drop"), tmp_path / "out"
    run()
    people(out, "acceptability", speak)
    dropped = of(run(), "judged")[1]
    assert dropped == {
        "most speakers disagree with the literature": 6,
        "reported by most speakers": 1,
    }


def test_without_workers_the_release_is_made_at_once(begun: Any) -> None:
    report = begun(workers=0)()
    assert report.released is not None
    assert report.released.workers_are == "none"


def test_unclear_repeated_and_contested_sentences_go(begun: Any, tmp_path: Path) -> None:
    more = [
        {**LINES[0], "id": "again"},
        {**LINES[2], "id": "contested", "diacritic": "*", "pair": ""},
        {**LINES[0], "id": "unclear", "text": "窓が開きかける。", "diacritic": "%"},
        {**LINES[0], "id": "long", "text": "とても" * 80},
        {
            **LINES[0],
            "id": "colloquial",
            "text": "窓、開いてるし。",
            "diacritic": "g",
            "domain": "out",
        },
    ]
    report = begun([*LINES, *more])()
    wrote, dropped = of(report, "taken")
    assert dropped == {
        "the same sentence came before": 1, "judged both ways in the literature": 2,
        "marked %": 1, "over 200 characters": 1,
    }  # fmt: skip
    assert wrote == {"taken": 14}


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ({"diacritic": None}, "neither a label nor a diacritic"),
        ({"label": "good"}, "has the label 'good'"),
        ({"label": 1, "diacritic": "*"}, "is acceptable and has the mark"),
        ({"phenomena": ["negation"]}, "phenomenon 'negation'"),
        ({"domain": "maybe"}, "domain 'maybe'"),
        ({"source": ""}, "has no source"),
    ],
)
def test_lines_that_cannot_be_read_are_named(begun: Any, line: dict[str, Any], what: str) -> None:
    with pytest.raises(BadInput, match=what) as told:
        begun([{**LINES[0], **line}])()
    assert told.value.line == 1


@pytest.mark.slow
@pytest.mark.parametrize("name", ["", "my-own"])
def test_a_built_set_is_scored_as_the_official_one(
    nikawa: Nikawa, name: str, tmp_path: Path
) -> None:
    for file, text in SMALL_SOURCES["jcola"]().items():
        (tmp_path / file).write_text(text, "utf-8")
    config = tmp_path / "config.toml"
    config.write_text(f'{config.read_text("utf-8")}name = "{name}"\n', "utf-8")
    build("jcola", tmp_path / "out", BuildOptions(config=config, simulate=1))
    runs = str(tmp_path / "runs")
    done = nikawa(
        "run", "--model", "baseline", "--tasks", str(tmp_path / "out"), "--out", runs, "--json"
    )
    assert done.returncode == 0, done.stderr
    assert {"accuracy", "mcc"} <= set(re.findall(r'"([a-z-]+)"', done.stdout))
    assert nikawa("report", runs, "--out", str(tmp_path / "report")).returncode == 0
    gold = tmp_path / "gold.jsonl"
    with gold.open("w") as stream:
        for example in load(str(tmp_path / "out"))["ood"]:
            stream.write(json.dumps({"id": example.id, "answer": example.gold["label"]}) + "\n")
    done = nikawa("score", f"{tmp_path / 'out'}:ood", str(gold), "--json")
    assert done.returncode == 0, done.stderr
    assert {one["metric"]: one["value"] for one in json.loads(done.stdout)["scores"]}["mcc"] == 1
