"""Tasks of a dataset of one's own: kind, question, labels and metrics come from the shape of its records."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from nikawa.datasets import load, tasks
from nikawa.datasets.custom import custom_tasks
from nikawa.datasets.task_lookup import card_and_language, find_tasks, typed_name
from nikawa.datasets.views import training_views
from nikawa.errors import BadInput
from nikawa.io.folders import write_folder
from nikawa.io.records import write_records
from nikawa.records import Card, Dataset, Example, Origin, Span

CARD = Card(
    name="invented",
    title="Invented",
    version="1",
    languages=("ja",),
    licence="CC0",
    citation="none",
    homepage="none",
    description="",
    labels="",
    workers="",
    workers_are="none",
    source="",
)


def folder(path: Path, splits: dict[str, list[Example]], card: Card = CARD) -> str:
    kept = {name: tuple(examples) for name, examples in splits.items()}
    write_folder(
        Dataset(name=card.name, language=card.languages[0], version="1", card=card, splits=kept),
        path,
    )
    return str(path)


def example(inputs: dict[str, Any], gold: dict[str, Any], name: str = "1", **more: Any) -> Example:
    return Example(id=name, inputs=inputs, gold=gold, **more)


PAIR = {"premise": "犬が走る。", "hypothesis": "犬がいる。"}
SENTENCES = {"sentence1": "犬が走る。", "sentence2": "犬がいる。"}
READING = {"context": "犬は庭にいる。", "question": "犬はどこか。"}
RELATION = {"text": "花子は東京の人。", "subject": Span(0, 2), "object": Span(3, 5)}
WORDS = {"text": "개가 온다", "words": [{"form": "개가"}, {"form": "온다"}]}


@pytest.mark.parametrize(
    ("inputs", "gold", "kind", "metrics", "labels"),
    [
        (PAIR, {"label": "neutral"}, "inference", ("accuracy", "macro-f1"), ("neutral",)),
        (PAIR, {"relatedness": 3.5}, "similarity", ("pearson", "spearman"), ()),
        (SENTENCES, {"score": 2, "binary": 0}, "similarity", ("pearson", "spearman"), ()),
        (SENTENCES, {"label": "same"}, "inference", ("accuracy", "macro-f1"), ("same",)),
        ({"text": "よい本。"}, {"label": "good"}, "text", ("accuracy", "macro-f1"), ("good",)),
        (
            {"text": "花子。"},
            {"spans": [Span(0, 2, "PS")]},
            "tagging",
            ("entity-macro-f1", "char-macro-f1"),
            ("PS",),
        ),
        (
            {"question": "何色か。", "choices": ["赤", "青"]},
            {"choice": 1},
            "choice",
            ("accuracy",),
            (),
        ),
        (
            READING,
            {"answers": [{"text": "庭", "start": 2}]},
            "reading",
            ("jsquad-em", "jsquad-f1"),
            (),
        ),
        (RELATION, {"relation": "lives_in"}, "relation", ("accuracy", "macro-f1"), ("lives_in",)),
        (
            RELATION,
            {"relation": "no_relation"},
            "relation",
            ("relation-micro-f1", "macro-f1"),
            ("no_relation",),
        ),
        (
            WORDS,
            {"tree": {"heads": [2, 0], "labels": ["NP_SBJ", "VP"]}},
            "tree",
            ("uas", "las"),
            ("NP_SBJ", "VP"),
        ),
        (
            {"turns": [{"role": "user", "text": "안녕"}]},
            {"state": ["hotel-area-east"]},
            "dialogue",
            ("jga", "slot-f1"),
            (),
        ),
    ],
)
def test_the_shape_tells_the_task(
    tmp_path: Path,
    inputs: dict[str, Any],
    gold: dict[str, Any],
    kind: str,
    metrics: Any,
    labels: Any,
) -> None:
    (task,) = custom_tasks(folder(tmp_path / "mine", {"test": [example(inputs, gold)]}))
    assert (task.name, task.kind, task.question) == ("mine", kind, next(iter(gold)))
    assert (task.metrics, task.labels, task.unit) == (metrics, labels, "percent")
    assert task.asks(example(inputs, gold))


def test_labels_are_those_of_all_splits_in_the_usual_order(tmp_path: Path) -> None:
    splits = {
        "train": [example(PAIR, {"label": "neutral"}), example(PAIR, {"label": "odd"}, "2")],
        "test": [example(PAIR, {"label": "entailment"})],
    }
    assert custom_tasks(folder(tmp_path / "mine", splits))[0].labels == (
        "entailment",
        "neutral",
        "odd",
    )


def test_hidden_gold_tells_nothing(tmp_path: Path) -> None:
    hidden = example(PAIR, {"label": "secret"}, origin=Origin(recipe="x", gold="hidden"))
    splits = {"train": [example(PAIR, {"label": "neutral"})], "test": [hidden]}
    assert custom_tasks(folder(tmp_path / "mine", splits))[0].labels == ("neutral",)


@pytest.mark.parametrize(
    ("scores", "scale"),
    [
        ((0.0, 5.0), (0, 5)),
        ((1.2, 4.0), (1, 5)),
        ((0.1, 0.9), (0, 1)),
        ((-1.0, 1.0), (-1, 1)),
        ((2, 9.5), (1, 10)),
    ],
)
def test_the_scale_holds_all_scores(
    tmp_path: Path, scores: Any, scale: tuple[float, float]
) -> None:
    rows = [example(SENTENCES, {"score": score}, str(i)) for i, score in enumerate(scores)]
    assert custom_tasks(folder(tmp_path / "mine", {"train": rows}))[0].scale == scale


def test_korean_texts_are_read_as_klue_reads_them(tmp_path: Path) -> None:
    inputs = {"title": "개", "context": "개는 마당에 있다.", "question": "어디?"}
    row = example(inputs, {"answers": [{"text": "마당", "start": 3}]})
    (task,) = custom_tasks(
        folder(tmp_path / "mine", {"dev": [row]}, replace(CARD, languages=("ko",)))
    )
    assert (task.metrics, task.inputs) == (("klue-em", "rouge-w"), ("title", "context", "question"))


def test_a_copy_of_a_registered_dataset_is_asked_its_questions(tmp_path: Path) -> None:
    write_folder(load("mini-ko"), tmp_path / "copy")
    found = {task.question: task for task in custom_tasks(str(tmp_path / "copy"))}
    assert set(found) == {"label", "score", "answers", "choice", "spans"}
    for task in (t for t in tasks().values() if t.dataset == "mini-ko"):
        own = found[task.question]
        assert own == replace(task, name=f"copy-{task.question}", dataset=str(tmp_path / "copy"))
        assert find_tasks(typed_name(own)) == [own]


def test_other_labels_than_the_registered_ones_are_taken_as_they_are(tmp_path: Path) -> None:
    rows = [example(PAIR, {"label": "yes"}), example(PAIR, {"label": "no"}, "2")]
    place = folder(tmp_path / "mine", {"train": rows}, replace(CARD, name="jnli"))
    assert custom_tasks(place)[0].labels == ("no", "yes")


def test_a_records_file_is_a_dataset_too(tmp_path: Path) -> None:
    path = tmp_path / "a b.test.jsonl"
    write_records(path, [example(PAIR, {"label": "neutral"})])
    (task,) = find_tasks(str(path))
    assert (task.name, typed_name(task), card_and_language(task.dataset)[1]) == (
        "a-b",
        str(path),
        "ja",
    )


def test_registered_names_go_before_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    folder(Path("jnli"), {"test": [example(PAIR, {"label": "neutral"})]})
    assert find_tasks("jnli") == [tasks()["jnli"]]
    (own,) = find_tasks("./jnli")
    assert (own.name, own.dataset) == ("own-jnli", "./jnli")


def test_training_splits_are_those_that_test_items_speak_of(tmp_path: Path) -> None:
    row = example(
        PAIR, {"label": "neutral"}, meta={"no-past": "unseen", "source": "seen elsewhere"}
    )
    place = folder(
        tmp_path / "mine", {name: [row] for name in ("train", "test", "no-past", "ood", "source")}
    )
    assert training_views(load(place).splits) == ["no-past"]


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (
            [example(PAIR, {})],
            "has no gold, so it has no task; add gold to its records",
        ),
        (
            [example({"song": "la"}, {"label": "x"})],
            "no kind of task has the inputs song and the gold 'label' of test/1",
        ),
        (
            [example(PAIR, {"label": "x"}), example({"text": "x"}, {"label": "x"}, "2")],
            "'label' has several shapes: test/1 is inference, test/2 is text",
        ),
        (
            [example(PAIR, {"label": "x"}), example(PAIR, {"label": None}, "2")],
            "test/2 has another shape; use one kind",
        ),
        ([example(PAIR, {"score": 10**400})], "the gold 'score' of test/1"),
    ],
)
def test_what_cannot_be_asked_is_told_in_one_line(
    tmp_path: Path, rows: list[Example], said: str
) -> None:
    place = folder(tmp_path / "mine", {"test": rows})
    with pytest.raises(BadInput) as problem:
        custom_tasks(place)
    assert said in str(problem.value)
    assert str(problem.value).startswith(f"{place}: ")
    assert "\n" not in str(problem.value)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("mine:test", "names a split; a task covers a whole dataset: write mine"),
        ("mine-score", "there is no task 'mine-score'"),
        ("table-nli", "there is no task 'table-nli'"),  # though there is a folder called table
        ("no/where", "no/where: no such file or folder"),
        ("a:b", "there is no task 'a:b'"),
    ],
)
def test_names_that_lead_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    folder(Path("mine"), {"test": [example(PAIR, {"label": "neutral"})]})
    Path("table").mkdir()
    Path("table/test.csv").write_text("premise,hypothesis,label\nA.,B.,neutral\n")
    with pytest.raises(BadInput, match=said):
        find_tasks(name)


def test_a_colon_in_a_path_is_refused(tmp_path: Path) -> None:
    place = folder(tmp_path / "a:b", {"test": [example(PAIR, {"label": "neutral"})]})
    with pytest.raises(BadInput, match="has a colon in its name"):
        find_tasks(place)
