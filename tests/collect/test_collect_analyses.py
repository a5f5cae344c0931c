"""What a running project tells its owner: agreement, workers, time, flagged items, and words that give labels away."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest

from nikawa.aggregation.agree_job import agree
from nikawa.collect.adjudication import resolve_item
from nikawa.collect.analyses import ANALYSES
from nikawa.collect.form import forms
from nikawa.collect.items import add_judgements, sync_items
from nikawa.collect.project import Project, create_project
from nikawa.collect.settings import Settings
from nikawa.collect.site import owner_messages
from nikawa.collect.store import Store, decode_example, open_store
from nikawa.collect.workers import exclude, find_worker_by_name
from nikawa.io.records import write_records
from nikawa.records import Example, Judgement
from nikawa.serve.languages import LANGUAGES

Row = tuple[str, str, Any, float]
"""Worker, item, answer, seconds."""
Begin = Callable[..., tuple[Project, Store]]
THINGS = ("犬", "猫", "馬", "鳥", "牛", "羊", "熊", "鹿")
DOINGS = ("走る", "眠る", "歩く", "泳ぐ", "鳴く", "跳ぶ", "遊ぶ", "休む")
SPOTS = ("川辺", "山", "庭", "海", "森", "町", "畑", "駅")


@pytest.fixture
def begin(tmp_path: Path) -> Iterator[Begin]:
    """A project of a form with answers in it."""
    stores: list[Store] = []

    def made(
        form: str, examples: list[Example], rows: Iterable[Row], **options: Any
    ) -> tuple[Project, Store]:
        settings = msgspec.convert(
            {"title": "試験", "form": form, "form_settings": options}, Settings
        )
        project = create_project(tmp_path / form, settings, examples)
        store = open_store("", project.folder, project.name)
        stores.append(store)
        sync_items(project, store)
        question = project.options.question
        given = [
            (
                n,
                Judgement(
                    example=item, worker=worker, question=question, answer=answer, seconds=seconds
                ),
            )
            for n, (worker, item, answer, seconds) in enumerate(rows, start=1)
        ]
        if given:
            store.write(lambda db: add_judgements(db, project, given, "answers", 1.0))
        return project, store

    yield made
    for store in stores:
        store.close()


def pairs(count: int) -> list[Example]:
    return [
        Example(
            id=f"p{n:03}",
            inputs={
                "premise": f"{_thing(n)}が{_spot(n)}にいる。",
                "hypothesis": f"{_thing(n)}がいる。",
            },
        )
        for n in range(count)
    ]


def _thing(n: int) -> str:
    return THINGS[n % 8]


def _spot(n: int) -> str:
    return SPOTS[n // 8 % 8]


def choices(items: int) -> Iterator[Row]:
    """Three who mostly agree, one who answers by turns and too fast; item 0 takes long and splits everybody."""
    labels = ("entailment", "contradiction", "neutral")
    for n in range(items):
        for place, worker in enumerate(("aki", "beni", "chie")):
            label = labels[n % 3] if (n + place) % 10 or n == 0 else labels[(n + 1) % 3]
            yield (
                worker,
                f"p{n:03}",
                labels[place] if n == 0 else label,
                90.0 if n == 0 else 8.0 + place,
            )
        yield "dai", f"p{n:03}", labels[(n + 1 + n % 2) % 3], 1.0


def hypotheses(items: int, given_away: str = "") -> Iterator[Row]:
    """Two writers of three hypotheses a premise; `mado` puts a word into every contradiction."""
    for n in range(items):
        for writer in ("nagi", "mado"):
            drawn = Random(f"{writer} {n}")
            texts = [
                f"{drawn.choice(THINGS)}が{drawn.choice(SPOTS)}で{drawn.choice(DOINGS)}。"
                for _ in range(3)
            ]
            if writer == "mado":
                texts[1] = texts[1].replace("。", f"{given_away}。")
            yield writer, f"p{n:03}", texts, 30.0


def test_agreement_has_intervals_and_the_one_apart_is_flagged(begin: Begin) -> None:
    told = ANALYSES["judged"](*begin("inference", pairs(40), choices(40)))
    (agreement,) = told["agreement"]
    assert (agreement["question"], agreement["items"], agreement["answers"]) == ("label", 40, 160)
    alpha = next(row for row in agreement["measures"] if row["name"] == "alpha")
    assert 0 < alpha["low"] < alpha["value"] < alpha["high"] < 1
    found = {row["worker"]: row for row in told["workers"]}
    assert found["dai"]["agreement"] < 0.2
    assert found["aki"]["agreement"] > 0.7
    assert found["dai"]["low"] <= found["dai"]["agreement"] <= found["dai"]["high"]
    assert {"disagrees", "fast"} <= set(found["dai"]["flags"])
    assert [row["worker"] for row in told["flagged"]["workers"]] == ["dai"]


def test_time_per_item_and_flagged_items(begin: Begin) -> None:
    project, store = begin("inference", pairs(40), choices(40))
    told = ANALYSES["judged"](project, store)
    assert told["time"]["slowest"][0] == {"ref": "p000", "seconds": 90.0}
    assert told["time"]["low"] <= told["time"]["median"] <= told["time"]["high"] < 90
    first = told["flagged"]["items"][0]
    assert (first["ref"], set(first["flags"])) == ("p000", {"no-majority", "slow"})
    store.write(lambda db: db.execute("UPDATE items SET reports = 2 WHERE ref = 'p007'"))
    store.write(lambda db: resolve_item(db, "p007", "drop", "壊れている", who="owner", now=2.0))
    rows = {row["ref"]: row for row in ANALYSES["judged"](project, store)["flagged"]["items"]}
    assert (rows["p007"]["reports"], rows["p007"]["flags"][:2]) == (2, ["reported", "set-aside"])


def test_who_is_excluded_counts_nowhere(begin: Begin) -> None:
    project, store = begin("inference", pairs(40), choices(40))
    before = ANALYSES["judged"](project, store)
    store.write(lambda db: exclude(db, find_worker_by_name(db, "dai"), "速すぎる", "owner", 2.0))  # type: ignore[arg-type]
    after = ANALYSES["judged"](project, store)
    assert "dai" not in {row["worker"] for row in after["workers"]}
    values = [told["agreement"][0]["measures"][0]["value"] for told in (before, after)]
    assert values[0] + 0.2 < values[1]


@pytest.mark.parametrize("rows", [[], [("aki", "p000", "neutral", 3.0)]])
def test_a_project_that_has_hardly_begun(begin: Begin, rows: list[Row]) -> None:
    project, store = begin("inference", pairs(2), rows)
    for analysis in ANALYSES.values():
        msgspec.json.encode(analysis(project, store))
    told = ANALYSES["judged"](project, store)
    assert [one["measures"] for one in told["agreement"]] == [[]] * len(rows)


def test_a_scale_is_compared_by_size_and_a_ranking_by_its_first(begin: Begin) -> None:
    rows: list[Row] = [(w, f"p{n:03}", (n + (w == "b")) % 6, 3.0) for n in range(12) for w in "ab"]
    (scale,) = ANALYSES["judged"](*begin("scale", pairs(12), rows))["agreement"]
    assert {"interval", "ordinal", "nominal"} <= {row["level"] for row in scale["measures"]}
    rows = [
        (w, f"p{n:03}", ["政治", "経済"][: 1 + (w == "b")], 3.0) for n in range(12) for w in "ab"
    ]
    (ranked,) = ANALYSES["judged"](*begin("ranked", pairs(12), rows, labels=["政治", "経済"]))[
        "agreement"
    ]
    assert ranked["counts"]["unanimous"] == 12


TREES = (
    {"heads": [2, 0], "labels": ["NP_SBJ", "VP"]},
    {"heads": [2, 0], "labels": ["NP_OBJ", "VP"]},
)
PARTS: dict[str, tuple[dict[str, Any], tuple[Any, Any], dict[str, float]]] = {
    "tree": (
        {"text": "비가 온다.", "words": [{"form": "비가"}, {"form": "온다."}]},
        TREES,
        {"UAS": 1.0, "LAS": 0.75, "trees-equal": 0.5},
    ),
    "reading-answers": (
        {"context": "石油ランプを使った。", "question": "何を使った？"},
        ({"text": "石油ランプ", "start": 0}, {"text": "", "start": -1}),
        {"answer-f1": 0.5, "answerable-percent": 0.5},
    ),
    "multiple-selection": (
        {"text": "うれしい。"},
        (["joy", "surprise"], ["joy"]),
        {"jaccard": 0.75, "sets-equal": 0.5},
    ),
    "span-tagging": (
        {"text": "太郎が来た。"},
        ([{"start": 0, "end": 2, "label": "PS"}], []),
        {"span-f1": 2 / 3},
    ),
    "preference": ({"a": "一", "b": "二"}, ("a", "b"), {"opposed": 0.5}),
}
"""Inputs of a form, two answers to it, and measures if two workers differ about half of the items in these."""


@pytest.mark.parametrize("name", list(PARTS))
def test_answers_with_parts_have_the_measures_of_agree(
    begin: Begin, name: str, tmp_path: Path
) -> None:
    inputs, (one, other), values = PARTS[name]
    examples = [Example(id=f"p{n:03}", inputs=inputs) for n in range(8)]
    rows = [
        (worker, f"p{n:03}", other if worker == "beni" and n % 2 else one, 3.0)
        for n in range(8)
        for worker in ("aki", "beni")
    ]
    project, store = begin(name, examples, rows)
    told = ANALYSES["judged"](project, store)
    (shown,) = told["agreement"]
    write_records(
        tmp_path / "j.jsonl",
        [
            Judgement(example=item, worker=worker, question=shown["question"], answer=answer)
            for worker, item, answer, _ in rows
        ],
    )
    report = agree(str(tmp_path / "j.jsonl")).report
    assert shown["measures"] == [msgspec.to_builtins(row) for row in report.measures]
    found = {row["name"]: row["value"] for row in shown["measures"]}
    assert {key: found[key] for key in values} == pytest.approx(values)
    for language in LANGUAGES:
        assert all(f"measure_{measure}" in owner_messages(language) for measure in found)
    if name in ("reading-answers", "multiple-selection"):  # half of the items are tied
        odd = {row["ref"] for row in told["flagged"]["items"] if "no-majority" in row["flags"]}
        assert odd == {f"p{n:03}" for n in range(1, 8, 2)}


def test_answers_from_before_other_settings_are_compared_as_a_whole(begin: Begin) -> None:
    """One tree is over other words than the rest: the page still comes up."""
    inputs, (one, _), _ = PARTS["tree"]
    examples = [Example(id=f"p{n:03}", inputs=inputs) for n in range(4)]
    rows = [(worker, f"p{n:03}", one, 3.0) for n in range(4) for worker in ("aki", "beni")]
    project, store = begin("tree", examples, rows)
    longer = '{"tree":{"heads":[2,3,0],"labels":["NP","NP","VP"]}}'
    store.write(lambda db: db.execute("UPDATE answers SET body = ? WHERE seq = 1", longer))
    told = ANALYSES["judged"](project, store)
    assert {row["name"] for row in told["agreement"][0]["measures"]} >= {"alpha", "percent"}


@pytest.mark.slow
def test_the_gate_names_the_word_and_its_writer(begin: Begin) -> None:
    told = ANALYSES["gate"](
        *begin("write-hypotheses", pairs(48), hypotheses(48, "わけがまったくない"))
    )
    assert told["guessed"]["alarm"]
    assert told["guessed"]["low"] > told["guessed"]["chance"] == pytest.approx(1 / 3)
    assert sum(batch["texts"] for batch in told["batches"]) == told["texts"] == 288
    word = next(row for row in told["words"] if row["token"] == "まったく")
    assert (word["label"], word["writers"], word["share"]) == ("contradiction", [["mado", 48]], 1.0)
    assert word["recent"] == 48
    writers = {row["writer"]: row for row in told["writers"]}
    assert writers["mado"]["guessed"] > writers["nagi"]["guessed"]
    assert writers["mado"]["characters"] > writers["nagi"]["characters"]
    mean = {row["label"]: row["mean"] for row in told["lengths"]}
    assert mean["contradiction"] > mean["neutral"]


def test_the_gate_is_quiet_where_nothing_gives_the_label_away(begin: Begin) -> None:
    told = ANALYSES["gate"](*begin("write-hypotheses", pairs(48), hypotheses(48)))
    assert told["words"] == []
    assert not told["guessed"]["alarm"]
    assert told["near"].keys() == {"entailment", "contradiction", "neutral"}


def test_the_gate_tells_who_copies_and_which_words_are_added(begin: Begin) -> None:
    examples = [
        Example(id=f"p{n:03}", inputs={"text": f"白い{_thing(n)}が{_spot(n)}を走っている。"})
        for n in range(20)
    ]
    near = [
        ("nagi", f"p{n:03}", [f"黒い{_thing(n)}が{_spot(n)}を走っている。"], 9.0) for n in range(20)
    ]
    far = [
        ("mado", f"p{n:03}", [f"{_thing(n)}は眠ったきり起きようともしなかった。"], 9.0)
        for n in range(20)
    ]
    told = ANALYSES["gate"](*begin("write-contradictions", examples, [*near, *far], texts=1))
    assert (told["labelled"], told["guessed"]) == (False, None)
    writers = {row["writer"]: row for row in told["writers"]}
    assert "copies" in writers["nagi"]["flags"]
    assert "strays" in writers["mado"]["flags"]
    assert {"黒い": [["nagi", 20]]}.items() <= {
        row["token"]: row["writers"] for row in told["words"]
    }.items()


def test_the_gate_looks_at_the_hypotheses_that_are_judged(begin: Begin) -> None:
    examples = [
        Example(
            id=f"p{n:03}",
            inputs={
                "premise": f"{n}番の{_thing(n)}が{_spot(n)}にいる。",
                "hypothesis": f"{_thing(n)}が{'いない' if n % 2 else 'いる'}。",
            },
        )
        for n in range(64)
    ]
    rows = [
        (w, f"p{n:03}", ("entailment", "contradiction")[n % 2], 5.0)
        for n in range(64)
        for w in "ab"
    ]
    told = ANALYSES["gate"](*begin("inference", examples, rows))
    assert told["labels"] == {"contradiction": 32, "entailment": 32}
    assert told["guessed"]["accuracy"] > 0.9
    assert {(row["token"], row["label"]) for row in told["words"]} >= {("ない", "contradiction")}
    assert told["writers"] == []


def test_the_gate_names_writers_of_what_is_judged(begin: Begin) -> None:
    """Who wrote a hypothesis comes with the example; the worker's page does not get it."""
    examples, rows = [], list[Row]()
    for n in range(60):
        writer, label = ("mado", "nagi")[n % 2], ("neutral", "contradiction")[n // 2 % 2]
        text = f"{THINGS[n % 8]}が{SPOTS[n // 8 % 8]}で{DOINGS[n // 3 % 8]}"
        if writer == "mado" and label == "contradiction":
            text += "ことなどまったくない"
        inputs = {"premise": f"{n}つめの文。", "hypothesis": f"{text}。"}
        examples.append(
            Example(id=f"p{n:03}", inputs=inputs, meta={"writer": writer, "meant": label})
        )
        rows += [(worker, f"p{n:03}", label, 5.0) for worker in ("a", "b")]
    project, store = begin("choice", examples, rows)
    found = ANALYSES["gate"](project, store)
    assert {row["writer"]: row["texts"] for row in found["writers"]} == {"mado": 30, "nagi": 30}
    word = next(row for row in found["words"] if row["token"] == "まったく")
    assert (word["label"], word["writers"]) == ("contradiction", [["mado", 15]])
    kept = store.read(lambda db: db.rows("SELECT body FROM texts WHERE item = 1"))[0][0]
    assert msgspec.json.decode(kept)["meta"] == {"writer": "mado"}  # never what it was meant to be
    shown = project.form.view(project.form, decode_example(kept), project.options)
    assert "mado" not in str(shown)


@pytest.mark.parametrize("name", list(forms()))
def test_every_form_can_be_analysed(begin: Begin, name: str) -> None:
    sample = forms()[name].sample
    assert sample is not None
    examples = [Example(id=f"p{n}", inputs=dict(sample.inputs)) for n in range(3)]
    project, store = begin(name, examples, [], **sample.settings)
    rows = [
        (
            1,
            Judgement(
                example=example.id, worker=worker, question=question, answer=answer, seconds=2.0
            ),
        )
        for example in examples
        for worker in ("aki", "beni")
        for question, answer in project.form.to_judgements(sample.answer)
    ]
    store.write(lambda db: add_judgements(db, project, rows, "answers", 1.0))
    told = {key: analysis(project, store) for key, analysis in ANALYSES.items()}
    msgspec.json.encode(told)
    assert [row["answers"] for row in told["judged"]["workers"]] == [3, 3]
    assert told["judged"]["time"]["median"] == 2.0
    assert bool(told["judged"]["agreement"]) != project.form.writes
    if name == "dialogue":  # the gate is for single texts
        assert told["gate"].get("writers") is None
    elif project.form.writes:
        assert {row["writer"] for row in told["gate"]["writers"]} == {"aki", "beni"}
