"""KLUE-RE built from a few invented sentences by recorded workers: sampling, caps, votes, adjudication, boundaries."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nikawa.datasets import load
from nikawa.datasets.klue.klue_re import LABELS, SUBJECTS
from nikawa.errors import BadInput
from nikawa.io.records import read_examples
from nikawa.io.task_sheet import mark_spans
from nikawa.recipes.build import BuildReport
from nikawa.recipes.klue.klue_re import TYPES, candidates, read_triples
from nikawa.records import Example, Span

PEOPLE = ("김하늘", "이바다", "박구름", "최나무", "정노을")
SENTENCES = [
    {
        "id": f"s{n}",
        "text": f"{name}은 {2000 + n}년 가람시에 있는 푸른은행에 들어갔다.",
        "source": "wikipedia",
    }
    for n, name in enumerate(PEOPLE)
] + [
    {"id": f"t{n}", "text": f"김하늘은 푸른은행에서 {n}번째로 일한다.", "source": "policy"}
    for n in range(4)
]
LONELY = [{"id": "lonely", "text": "가람시는 2001년에 커졌다.", "source": "policy"}]
TAGGER = (
    "".join(f"{name}\tPER\n" for name in PEOPLE) + "푸른은행\tORG\n가람시\tLOC\nre:\\d{4}년\tDAT\n"
)
TRIPLES = (
    "".join(f"{name}\tper:employee_of\t푸른은행\n" for name in PEOPLE)
    + "푸른은행\torg:place_of_headquarters\t가람시\n"
)


def of(report: BuildReport, name: str) -> tuple[dict[str, int], dict[str, int]]:
    found = next(stage for stage in report.stages if stage.name == name)
    return found.wrote, found.dropped


@pytest.fixture
def begun(start: Any, tmp_path: Path) -> Any:
    """A build of the sentences, as a function to call again and again."""
    (tmp_path / "entities.tsv").write_text(TAGGER, "utf-8")
    (tmp_path / "triples.tsv").write_text(TRIPLES, "utf-8")

    def make(**settings: Any) -> Any:
        told = {
            "tagger": "entities.tsv",
            "triples": "triples.tsv",
            "split": "0.5,0.25,0.25",
            **settings,
        }
        return start("klue-re", "sentences", [*SENTENCES, *LONELY], **told)

    return make


def test_pairs_of_the_knowledge_base_and_of_chance(begun: Any, tmp_path: Path) -> None:
    report = begun(co_occurrences=2)()
    assert of(report, "detected") == (
        {"detected": 9},
        {"no person or organisation with another entity": 1},
    )
    capped = {"two entities together over 2 times": 6}
    assert of(report, "knowledge") == ({"knowledge": 8}, capped)
    made, dropped = of(report, "uniform")
    assert made["uniform"] + sum(dropped.values()) == 9
    tasks = list(read_examples(tmp_path / "out" / "people" / "relations" / "tasks.jsonl"))
    assert len({task.id for task in tasks}) == len(tasks)
    for task in tasks:
        subject, other = task.inputs["subject"], task.inputs["object"]
        assert subject.label in SUBJECTS
        text = task.inputs["text"]
        words = text[subject.start : subject.end], text[other.start : other.end]
        assert all(f">{word}</" in mark_spans(task.inputs)["marked"] for word in words)
        assert task.inputs["candidates"] == list(candidates(subject.label, other.label))
        assert "known" not in task.meta


def relations(item: Example) -> list[str]:
    """Two of three; of s1 nobody agrees; s2 is reported, of s3 the boundaries are."""
    if item.inputs["object"].label != "ORG":
        return ["no_relation", "no_relation", "per:origin"]
    odd = {
        "s1": ["per:employee_of", "no_relation", "per:colleagues"],
        "s2": ["per:employee_of", "per:employee_of", "personal"],
        "s3": ["per:employee_of", "boundary", "per:employee_of"],
        "s4": ["bias", "per:employee_of", "per:employee_of"],
    }
    return odd.get(str(item.group), ["per:employee_of", "per:employee_of", "no_relation"])


def boundaries(item: Example) -> list[list[dict[str, Any]]]:
    return [
        [{"start": 0, "end": 2, "label": "subject"}, {"start": 19, "end": 23, "label": "object"}]
    ]


def test_votes_review_boundaries_and_adjudication(begun: Any, people: Any, tmp_path: Path) -> None:
    run, out = begun(uniform=0), tmp_path / "out"
    assert of(run(), "knowledge")[0] == {"knowledge": 14}
    people(out, "relations", relations)
    second = run()
    assert of(second, "checked")[0] == {"unreported": 11, "reported": 2, "misplaced": 1}
    people(out, "review", lambda item: ["keep" if item.group == "s2" else "discard"])
    people(out, "boundaries", boundaries)
    third = run()
    assert of(third, "readmitted") == ({"readmitted": 1}, {"reported, and discarded on review": 1})
    (again,) = read_examples(out / "people" / "relations-again" / "tasks.jsonl")
    assert mark_spans(again.inputs)["marked"].startswith("<subj>최나</subj>무은")
    people(out, "relations-again", lambda item: ["per:title", "per:title", "per:employee_of"])
    fourth = run()
    assert of(fourth, "voted")[0] == {"settled": 12, "open": 1}
    people(out, "adjudication", lambda item: ["per:colleagues"], "judge")
    assert of(run(), "labelled")[0] == {"labelled": 13}
    pairs = {e.id: e for part in load(str(out)).splits.values() for e in part}
    assert {
        e.id: e.gold["relation"]
        for e in pairs.values()
        if e.group in ("s1", "s2", "s3") and e.meta["object_type"] == "ORG"
    } == {
        "s1.0.19": "per:colleagues",
        "s2.0.19": "per:employee_of",
        "s3.0.19": "per:title",
    }
    assert pairs["s3.0.19"].inputs == {
        "text": SENTENCES[3]["text"],
        "subject": Span(0, 2, "PER"),
        "object": Span(19, 23, "ORG"),
    }
    assert "known" not in pairs["s1.0.19"].meta
    homes = [{e.group for e in part} for part in load(str(out)).splits.values()]
    assert not homes[0] & homes[1] | homes[0] & homes[2] | homes[1] & homes[2]


def test_no_more_pairs_without_relation_than_their_share(
    begun: Any, people: Any, tmp_path: Path
) -> None:
    run, out = begun(uniform=0, no_relation=0.2), tmp_path / "out"
    run()
    people(
        out,
        "relations",
        lambda item: (
            ["no_relation" if item.inputs["object"].label == "LOC" else "per:employee_of"] * 3
        ),
    )
    report = run()
    assert of(report, "limited") == ({"limited": 11}, {"not drawn": 3})


def test_candidates_cover_the_thirty_relations() -> None:
    shown = {name for subject in SUBJECTS for kind in TYPES for name in candidates(subject, kind)}
    assert shown == set(LABELS)
    assert len(LABELS) == 30
    assert all(
        candidates(subject, kind)[-1] == "no_relation" for subject in SUBJECTS for kind in TYPES
    )


def test_triples_are_checked(tmp_path: Path) -> None:
    path = tmp_path / "triples.tsv"
    path.write_text("가\tper:spouse\t나\n가\tper:colleagues\t나\n", "utf-8")
    assert read_triples(path) == {("가", "나"): ("per:spouse", "per:colleagues")}
    path.write_text("가\tper:spouse\t나\n가\tper:spouce\t나\n", "utf-8")
    with pytest.raises(BadInput, match=r"line 2: 'per:spouce' is not a relation; .*per:spouse"):
        read_triples(path)
    path.write_text("가\tper:spouse\n", "utf-8")
    with pytest.raises(BadInput, match="line 1: is no triple"):
        read_triples(path)
