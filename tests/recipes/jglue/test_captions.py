"""JNLI and JSTS built from a few captions by recorded workers: the counts follow the paper's thresholds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nikawa.datasets import load
from nikawa.datasets.lineage import find_lineage, read_lineage
from nikawa.errors import BadInput
from nikawa.io.records import read_examples
from nikawa.recipes.build import BuildReport
from nikawa.recipes.jglue.captions import join_ids, read_captions
from nikawa.recipes.recipe import recipes
from nikawa.records import Example
from nikawa.text.distance import edit_distance, relative_distance

E, C, N = "entailment", "contradiction", "neutral"
CAPTIONS = [
    {"id": f"{image}{n}", "image": image, "text": text, "licence": "CC0"}
    for image, texts in {
        "a": ("水辺で白い鳥が羽を広げている。", "白い鳥が水辺にいる"),
        "b": ("古い電車が踏切を通り過ぎる。", "踏切の前に人が立っている。"),
        "c": ("机の上に本が積まれている。", "積まれた本と眼鏡"),
        "d": ("子供が凧を揚げている。", "凧を揚げる子供。"),
    }.items()
    for n, text in enumerate(texts)
]
SIMILAR = {"a": [0, 1, 1, 1, 3], "b": [3, 3, 3, 3, 3], "c": [0, 1, 2, 2, 3], "d": [5, 5, 4, 5, 5]}
"""Of variance 0.96, 0, 1.04 and 0.16."""
VOTES = {
    ("a", 0): [E] * 6 + [N] * 4,
    ("a", 1): [E] * 5 + [N] * 5,
    ("b", 0): [C] * 6 + [N] * 4,
    ("b", 1): [N] * 10,
    ("d", 0): [N] * 6 + [E] * 2 + [C] * 2,
    ("d", 1): [N] * 5 + [E] * 3 + [C] * 2,
}
Run = Callable[[], BuildReport]


def inference_a(item: Example) -> list[str]:
    image, first, _ = item.id.split("-")
    return VOTES[image, int(first[-1])]


def contradictions(item: Example) -> list[list[str]]:
    text = item.inputs["text"].rstrip("。")
    return [[f"{text}のは夢だ。", "違う", f"{text}のは嘘だ", f"{text}のは嘘だ。"]]


def inference_c(item: Example) -> list[str]:
    sure = 6 if "夢" in item.inputs["hypothesis"] else 5
    return [C] * sure + [N] * (10 - sure)


@pytest.fixture
def asked(people: Any) -> Callable[[Path, BuildReport], None]:
    """Answer whatever is waiting."""
    tells: dict[str, Callable[[Example], list[Any]]] = {
        "similarity-a": lambda item: list(SIMILAR[item.id.split("-")[0]]),
        "similarity-b": lambda item: [0, 0, 0, 1, 0],
        "similarity-c": lambda item: [2, 2, 2, 1, 2],
        "inference-a": inference_a,
        "contradictions": contradictions,
        "inference-c": inference_c,
    }

    def answer(out: Path, report: BuildReport) -> None:
        for waiting in report.waiting:
            people(out, waiting.ask, tells[waiting.ask])

    return answer


def finish(run: Run, asked: Any, out: Path) -> BuildReport:
    for _ in range(4):
        report = run()
        asked(out, report)
    assert not report.waiting, str(report.waiting[0])
    return report


def of(report: BuildReport, name: str) -> tuple[dict[str, int], dict[str, int]]:
    found = next(stage for stage in report.stages if stage.name == name)
    return found.wrote, found.dropped


@pytest.fixture
def jnli(start: Any, asked: Any, tmp_path: Path) -> BuildReport:
    return finish(
        start("jnli", "captions", CAPTIONS, contradicted_captions=2), asked, tmp_path / "out"
    )


def test_jnli_follows_the_thresholds(jnli: BuildReport, tmp_path: Path) -> None:
    assert of(jnli, "similar")[0] == {"similar": 4}
    assert of(jnli, "scored-a") == ({"scored-a": 3}, {"fails variance<1": 1})
    assert of(jnli, "directed")[0] == {"directed": 6}
    assert of(jnli, "inferred") == ({"inferred": 3}, {"fails votes:6/10": 2, f"not {E} or {N}": 1})
    gone = {"edit distance of 0.75 or more": 2, "written twice for one caption": 2}
    assert of(jnli, "written") == ({"written": 4}, gone)
    assert of(jnli, "confirmed") == ({"confirmed": 2}, {"fails votes:6/10": 2})
    assert of(jnli, "contradicting")[0] == {"contradicting": 4}
    dataset = load(str(tmp_path / "out"))
    examples = [example for split in dataset.splits.values() for example in split]
    assert Counter(example.gold["label"] for example in examples) == {C: 4, N: 2, E: 1}
    assert all(text.endswith("。") for example in examples for text in example.inputs.values())
    assert dataset.card.workers_are == "persons"


def test_workers_read_the_premise_first(jnli: BuildReport, tmp_path: Path) -> None:
    """The question speaks of a first and a second sentence; in files the inputs stand by name."""
    for ask in ("inference-a", "inference-c"):
        sheet = (tmp_path / "out" / "people" / ask / "tasks.csv").read_text("utf-8-sig")
        assert sheet.splitlines()[0] == "example,premise,hypothesis"
    name, premise, _ = sheet.splitlines()[1].split(",")
    items = {
        e.id: e for e in read_examples(tmp_path / "out" / "people" / "inference-c" / "tasks.jsonl")
    }
    assert items[name].inputs["premise"] == premise


def test_both_directions_lie_in_one_split(jnli: BuildReport, tmp_path: Path) -> None:
    homes: dict[str, set[str]] = {}
    for split, examples in load(str(tmp_path / "out")).splits.items():
        for example in examples:
            homes.setdefault(example.meta["pair"], set()).add(split)
    assert {len(splits) for splits in homes.values()} == {1}


def test_what_is_deleted_by_hand_must_be_there(start: Any, asked: Any, tmp_path: Path) -> None:
    settings = {"contradicted_captions": 2, "removed": ["a-a0-a1", "a-a9"]}
    with pytest.raises(
        BadInput, match=r"removed names a-a9, which did not reach this stage.*did you mean"
    ):
        finish(start("jnli", "captions", CAPTIONS, **settings), asked, tmp_path / "out")
    report = start("jnli", "captions", CAPTIONS, **{**settings, "removed": ["a-a0-a1"]})()
    assert of(report, "splits")[1] == {"deleted by hand": 1}


def test_the_lineage_tells_all(jnli: BuildReport, tmp_path: Path) -> None:
    entries = {entry.item: entry for entry in read_lineage(tmp_path / "out")}
    (item,) = [name for name in entries if name.startswith("a-a0")]
    found = find_lineage(entries[item].example, tmp_path / "out")
    assert {source["item"] for source in found.sources} == {"a0", "a1"}
    assert {source["licence"] for source in found.sources} == {"CC0"}
    answers = Counter(
        j.answer for j in found.judgements if j.question == "label" and j.example == item
    )
    assert answers == {E: 6, N: 4}
    assert all(judgement.at == "2026-01-02" for judgement in found.judgements)
    rules = [step.rule for step in found.steps if step.stage == "inferred"]
    assert rules == [f"votes:6/10 and {E} or {N}: {E} x6, {N} x4"]
    assert [gone.why for gone in found.siblings if gone.item == "a-a1-a0"] == ["fails votes:6/10"]


def test_the_card_has_the_figures(jnli: BuildReport, tmp_path: Path) -> None:
    page = (tmp_path / "out" / "README.md").read_text("utf-8")
    assert (
        "| inferred | enough equal answers, entailment or neutral | directed 6; inference-a 60 |"
        in page
    )
    assert "CC0 (8 items)" in page
    assert "| inference-a | fleiss |" in page
    assert "simulated" not in page


def test_jsts_takes_the_answers_of_jnli(
    start: Any, asked: Any, tmp_path: Path, jnli: BuildReport
) -> None:
    (tmp_path / "out").rename(tmp_path / "jnli")
    run = start(
        "jsts",
        "captions",
        CAPTIONS,
        contradicted_captions=2,
        answers="jnli/people",
        different_pairs=3,
    )
    assert [waiting.ask for waiting in run().waiting] == ["similarity-b", "similarity-c"]
    report = finish(run, asked, tmp_path / "out")
    assert of(report, "different") == ({"different": 3}, {"not drawn": 1})
    examples = [e for split in load(str(tmp_path / "out")).splits.values() for e in split]
    assert Counter(e.meta["source"] for e in examples) == {"A": 3, "B": 3, "C": 2}
    scores = {e.meta["source"]: e.gold["score"] for e in examples if e.meta["source"] != "A"}
    assert scores == {"B": 0.2, "C": 1.8}
    assert all("_" in e.meta["image"] for e in examples if e.meta["source"] == "B")


def test_yj_captions_are_read(tmp_path: Path) -> None:
    path = tmp_path / "captions.json"
    path.write_text(
        '{"images": [{"id": 7, "coco_url": "http://x/7", "license": 2}], "licenses": [{"id": 2, "name": "BY"}],'
        ' "annotations": [{"id": 5, "image_id": 7, "caption": " 雪の山 "}]}',
        "utf-8",
    )
    (caption,) = read_captions(path)
    assert (caption.id, caption.group, caption.inputs["text"]) == ("5", "7", "雪の山")
    where = {"file": "captions.json", "line": 1, "url": "http://x/7", "licence": "BY"}
    assert caption.meta["from"] == where


def test_ids_may_hold_what_parts_them_in_ids_of_pairs(tmp_path: Path) -> None:
    path = tmp_path / "captions.jsonl"
    rows = [("a-1", "m"), ("a_2", "m-1"), ("1", "m-1-a")]
    lines = [f'{{"id": "{name}", "image": "{image}", "text": "海"}}\n' for name, image in rows]
    path.write_text("".join(lines), "utf-8")
    assert [(caption.id, caption.group) for caption in read_captions(path)] == rows
    assert join_ids("m", "1-a", "2") != join_ids("m-1", "a", "2")
    assert join_ids("12", "34", "g5") == "12-34-g5"
    path.write_text('{"id": "a", "text": "海"}\n', "utf-8")
    with pytest.raises(BadInput, match=r"captions\.jsonl, line 1: has no image"):
        list(read_captions(path))


def test_sources_without_a_licence_are_told(start: Any, people: Any, tmp_path: Path) -> None:
    bare = [{key: line[key] for key in ("id", "image", "text")} for line in CAPTIONS]
    run = start("jsts", "captions", bare, contradicted_captions=0, different_pairs=1)
    run()
    people(tmp_path / "out", "similarity-a", lambda item: [3] * 5)
    people(tmp_path / "out", "similarity-b", lambda item: [0] * 5)
    assert not run().waiting
    assert "8 source items state no licence." in load(str(tmp_path / "out")).card.problems


@pytest.mark.slow
def test_published_contradictions_keep_the_distance(shared_data: Path) -> None:
    """The filter as it is computed here lets every published pair of flow C pass, and little more."""
    pairs = [e for split in load("jnli", data=shared_data).splits.values() for e in split]
    written = [e for e in pairs if e.meta["source"] == "C"]
    far = [relative_distance(e.inputs["premise"], e.inputs["hypothesis"]) for e in written]
    assert far
    assert 0.7 < max(far) < 0.75


@pytest.mark.parametrize(
    ("one", "other", "distance"),
    [
        ("", "", 0),
        ("", "海", 1),
        ("海", "海", 0),
        ("kitten", "sitting", 3),
        ("白い犬が走る", "黒い犬が走った", 3),
        ("a" * 70 + "b", "b" + "a" * 70, 2),
    ],
)
def test_edit_distance(one: str, other: str, distance: int) -> None:
    assert edit_distance(one, other) == edit_distance(other, one) == distance


def test_a_caption_may_be_called_like_a_written_one(
    start: Any, people: Any, tmp_path: Path
) -> None:
    lines = [{**caption, "id": f"g{caption['id']}"} for caption in CAPTIONS]
    start("jnli", "captions", lines)()
    out = tmp_path / "out"
    people(out, "similarity-a", lambda item: [3] * 5)
    people(out, "contradictions", contradictions)
    start("jnli", "captions", lines)()
    flows = {
        name: Counter(
            e.meta["source"] for e in read_examples(out / "build" / stage / f"{name}.jsonl")
        )
        for stage, name in (("directed", "directed"), ("written", "written"))
    }
    assert set(flows["directed"]) == {"A"}
    assert set(flows["written"]) == {"C"}


def test_the_card_tells_the_votes_that_were_asked_for() -> None:
    config = recipes()["jnli"].config
    made = recipes()["jnli"].card(config(inference_votes=2, inference_workers=3))  # type: ignore[call-arg]
    assert "at least 2 of 3 workers" in made.labels
    assert "YJ Captions" not in made.source
