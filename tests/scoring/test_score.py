"""Scoring from a file of answers to numbers with intervals, on the embedded benchmark and on the published data."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from math import isnan
from pathlib import Path
from typing import Any

import pytest

from nikawa.datasets import load, tasks
from nikawa.errors import BadInput
from nikawa.io.answers import read
from nikawa.io.answers.recognise import recognise
from nikawa.records import Example, Prediction
from nikawa.runs.scores import score_all
from nikawa.scoring.score import (
    ScoreOptions,
    find_task_and_split,
    list_item_details,
    list_versions,
    score,
    score_examples,
    score_versions,
)
from nikawa.stats.slices import list_slice_keys

QUICK = ScoreOptions(resamples=300)
KINDS = [name for name in tasks() if name.startswith("mini-")]
Write = Callable[[str, dict[str, Any]], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write answers, a line an item."""

    def run(name: str, answers: dict[str, Any]) -> Path:
        path = tmp_path / f"{name}.jsonl"
        lines = [json.dumps({"id": i, "answer": a}, ensure_ascii=False) for i, a in answers.items()]
        path.write_text("\n".join(lines) + "\n", "utf-8")
        return path

    return run


def asked(task: str, split: str = "dev") -> list[Example]:
    found = tasks()[task]
    return [e for e in load(f"{found.dataset}:{split}").splits[split] if found.asks(e)]


def right(task: str) -> dict[str, Any]:
    """A perfect answer to every item."""
    question, kind = tasks()[task].question, tasks()[task].kind
    answers: dict[str, Any] = {}
    for example in asked(task):
        gold = example.gold[question]
        if kind == "reading":
            gold = gold[-1]["text"] if gold else ""
        if kind == "tagging":
            gold = [[s.start, s.end, s.label] for s in gold]
        answers[example.id] = gold
    return answers


@pytest.mark.parametrize("task", KINDS)
def test_perfect_answers_score_full(task: str, write: Write) -> None:
    report = score(task, write("all", right(task)), options=QUICK).report
    assert report.split == "dev"
    assert report.answered == report.n == len(asked(task))
    for s in report.scores:
        assert s.value == pytest.approx(100, abs=1e-4), s
        assert (s.low, s.high) == (None, None)


def test_a_file_is_parsed_once_for_all_splits(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert len(load("mini-ja").splits) > 1
    parsed: list[Path] = []

    def count(path: Path) -> Any:
        parsed.append(path)
        return recognise(path)

    monkeypatch.setattr(read, "recognise", count)
    path = write("once", right("mini-ja-nli"))
    assert score("mini-ja-nli", path, options=QUICK).report.split == "dev"
    assert parsed == [path]


def test_a_wrong_answer_costs_its_share(write: Write) -> None:
    answers = right("mini-ja-nli")
    first = next(iter(answers))
    answers[first] = "neutral" if answers[first] != "neutral" else "entailment"
    report = score("mini-ja-nli", write("one", answers), options=QUICK).report
    assert report.scores[0].value == pytest.approx(100 * 8 / 9)
    assert report.scores[0].n == 9


def test_missing_answers_need_a_word(write: Write) -> None:
    answers = right("mini-ko-nli")
    gone = answers.popitem()[0]
    path = write("gap", answers)
    with pytest.raises(BadInput, match=f"1 of 9 items have no answer, such as {gone}.*--partial"):
        score("mini-ko-nli", path)
    report = score("mini-ko-nli", path, options=ScoreOptions(partial=True, resamples=100)).report
    assert report.partial
    assert (report.missing, report.scores[0].n, report.scores[0].value) == (1, 8, 100)


def test_unreadable_is_counted_apart_from_wrong(write: Write) -> None:
    answers = right("mini-ja-nli")
    ids = list(answers)
    answers[ids[0]] = "I would rather not say"
    report = score("mini-ja-nli", write("refusal", answers), options=QUICK).report
    assert (report.unparsed, report.missing, report.answered) == (1, 0, 8)
    assert report.scores[0].value == pytest.approx(100 * 8 / 9)


def test_unknown_ids_are_counted(write: Write) -> None:
    report = score(
        "mini-ja-nli", write("extra", {**right("mini-ja-nli"), "zzz": "neutral"}), options=QUICK
    ).report
    assert report.unknown == 1


def test_every_odd_id_is_listed(write: Write) -> None:
    answers = right("mini-ja-nli")
    ids = list(answers)
    del answers[ids[3]]
    answers |= {ids[0]: "I would rather not say", "zzz": "neutral"}
    path = write("odd", answers)
    repeated = json.dumps({"id": ids[1], "answer": answers[ids[1]]}) + "\n"
    path.write_text(path.read_text("utf-8") + repeated, "utf-8")
    report = score("mini-ja-nli", path, options=ScoreOptions(partial=True, resamples=20)).report
    assert report.missing_ids == (ids[3],)
    assert report.unknown_ids == ("zzz",)
    assert report.duplicate_ids == (ids[1],)
    (unread,) = report.unparsed_items
    assert (unread.example, unread.raw) == (ids[0], "I would rather not say")
    assert unread.why.startswith("not one of entailment")


def test_nothing_readable_is_refused(write: Write) -> None:
    words = dict.fromkeys(right("mini-ja-nli"), "perhaps")
    with pytest.raises(
        BadInput, match=r"none of the answers can be read; the first is 'perhaps' .*not one of"
    ):
        score("mini-ja-nli", write("words", words))
    places = write("places", dict.fromkeys(right("mini-ja-nli"), 1))
    with pytest.raises(
        BadInput, match=r"the first is '1' for item .*a number, not a label; .*--form indices"
    ):
        score("mini-ja-nli", places)
    assert (
        score("mini-ja-nli", places, options=ScoreOptions(form="indices", resamples=20))
        .report.scores[0]
        .value
        > 0
    )


def test_numbers_are_no_places_where_there_are_no_labels(write: Write) -> None:
    path = write("far", dict.fromkeys(right("mini-ja-choice"), 99))
    with pytest.raises(
        BadInput, match=r"can be read; the first is '99' for item .*there is no choice 99"
    ) as problem:
        score("mini-ja-choice", path)
    assert "indices" not in str(problem.value)


def test_answers_to_something_else_are_refused(write: Write) -> None:
    with pytest.raises(
        BadInput,
        match=r"none of the ids is in the task \(the answers have ids such as 'x-1', the task has ids such as 'nli-\d+'\); check",
    ):
        score("mini-ja-nli", write("alien", {"x-1": "neutral", "x-2": "neutral"}))


def test_slices_have_their_own_n(write: Write) -> None:
    path = write("all", right("mini-ja-nli"))
    report = score(
        "mini-ja-nli", path, options=ScoreOptions(by=("gold", "tag"), resamples=100)
    ).report
    by = {s.where: s.n for s in report.scores}
    assert by[""] == 9
    assert sum(n for where, n in by.items() if where.startswith("gold=")) == 9
    assert any(where.startswith("tag=") for where in by)
    with pytest.raises(BadInput, match=r"no example has the field 'colour'.*gold"):
        score("mini-ja-nli", path, options=ScoreOptions(by=("colour",)))


def test_confusion_counts_every_item(write: Write) -> None:
    answers = right("mini-ja-nli")
    first = next(i for i, a in answers.items() if a == "entailment")
    answers[first] = "no idea"
    found = score("mini-ja-nli", write("c", answers), options=QUICK).report.confusion
    assert found["entailment"] == {"entailment": 2, "contradiction": 0, "neutral": 0, "(unread)": 1}
    assert sum(n for row in found.values() for n in row.values()) == 9


def test_similarity_bins(write: Write) -> None:
    report = score(
        "mini-ko-sts",
        write("b", right("mini-ko-sts")),
        options=ScoreOptions(by=("bin",), resamples=20),
    ).report
    bins = {s.where for s in report.scores if s.where}
    assert bins <= {f"bin={i}-{i + 1}" for i in range(5)}
    assert len(bins) > 1


def test_what_can_be_sliced_by() -> None:
    assert {"gold", "tag"} <= set(list_slice_keys(asked("mini-ja-nli")))


def test_same_seed_same_interval(tmp_path: Path, write: Write) -> None:
    lay_jnli(tmp_path, "1.3", ["entailment", "neutral"] * 10)
    path = write("same", dict.fromkeys(map(str, range(20)), "entailment"))
    runs = [score("jnli", path, data=tmp_path, options=QUICK).report for _ in range(2)]
    assert runs[0] == runs[1]
    low, high = runs[0].scores[0].low, runs[0].scores[0].high
    assert low is not None
    assert high is not None
    assert low < 0.5 < high


def test_a_run_has_the_intervals_that_its_answers_have(tmp_path: Path, write: Write) -> None:
    lay_jnli(tmp_path, "1.3", ["entailment", "neutral", "contradiction"] * 30)
    answers = {str(i): "entailment" if i % 7 else "neutral" for i in range(90)}
    scored = score("jnli", write("run", answers), data=tmp_path)
    again = score_all(scored.task, scored.examples, scored.predictions, "")
    assert tuple(again) == scored.report.scores


@pytest.mark.parametrize("count", [1, 9, 10])
def test_fewer_than_ten_items_have_no_interval(count: int, tmp_path: Path, write: Write) -> None:
    lay_jnli(tmp_path, "1.3", ["neutral"] * count)
    path = write("few", dict.fromkeys(map(str, range(count)), "neutral"))
    (found,) = score("jnli", path, data=tmp_path, options=QUICK).report.scores
    assert found.value == 1.0
    assert (found.low, found.high) == ((1.0, 1.0) if count == 10 else (None, None))


def test_detail_of_every_item(write: Write) -> None:
    answers = right("mini-ja-qa")
    first = next(iter(answers))
    answers[first] = "まったく別の答え"
    items = {
        i["example"]: i
        for i in list_item_details(score("mini-ja-qa", write("detail", answers), options=QUICK))
    }
    assert items[first]["detail"]["jsquad-em"] == 0
    assert sum(i["detail"]["jsquad-em"] for i in items.values()) == len(items) - 1


def test_detail_of_similarity_stays_with_its_item(write: Write) -> None:
    answers = right("mini-ko-sts")
    first, second, third = list(answers)[:3]
    gold = answers[third]
    answers |= {first: "close", third: gold + 1}
    path = write("sts", answers)
    for names, shown in ((), "squared-error"), (("mse",), "mse"):
        scored = score("mini-ko-sts", path, options=ScoreOptions(metrics=names, resamples=20))
        items = {i["example"]: i["detail"] for i in list_item_details(scored)}
        assert (items[first][shown], items[second][shown]) == (None, 0)
        assert items[third][shown] == pytest.approx(1)
        assert ("squared-error" in items[third]) == (shown == "squared-error")


def test_detail_under_the_metrics_asked_for(write: Write) -> None:
    scored = score(
        "mini-ja-nli",
        write("m", right("mini-ja-nli")),
        options=ScoreOptions(metrics=("mcc",), resamples=20),
    )
    assert {name for item in list_item_details(scored) for name in item["detail"]} == {
        "right"
    }  # no item has an MCC
    scored = score(
        "mini-ja-nli",
        write("m2", right("mini-ja-nli")),
        options=ScoreOptions(metrics=("mcc", "accuracy")),
    )
    assert {name for item in list_item_details(scored) for name in item["detail"]} == {"accuracy"}


def test_hidden_gold_gives_no_detail(tmp_path: Path, write: Write) -> None:
    lay_jnli(tmp_path, "1.3", [None, None])
    with pytest.raises(BadInput, match="no available split of jnli has gold"):
        score("jnli", write("h", {"0": "neutral", "1": "neutral"}), data=tmp_path)


def test_a_dataset_of_several_tasks_asks_which() -> None:
    with pytest.raises(BadInput, match="mini-ja has 5 tasks; choose one: mini-ja-nli"):
        find_task_and_split("mini-ja")
    assert find_task_and_split("jnli:dev") == (tasks()["jnli"], "dev")


def test_a_metric_of_another_kind_is_refused(write: Write) -> None:
    with pytest.raises(BadInput, match="pearson does not score inference"):
        score(
            "mini-ja-nli",
            write("m", right("mini-ja-nli")),
            options=ScoreOptions(metrics=("pearson",)),
        )
    report = score(
        "mini-ja-nli",
        write("m", right("mini-ja-nli")),
        options=ScoreOptions(metrics=("macro-f1",), resamples=50),
    ).report
    assert [s.metric for s in report.scores] == ["macro-f1"]


def test_two_modes_where_code_and_paper_part(write: Write) -> None:
    answers = right("mini-ko-qa")
    first = next(i for i, a in answers.items() if a)
    answers[first] = f"《{answers[first]}》"
    report = score("mini-ko-qa", write("marks", answers), options=QUICK).report
    em = {s.mode: s.value for s in report.scores if s.metric == "klue-em"}
    assert em["official"] < em["documented"] == 100
    assert {note.metric for note in report.notes} == {"klue-em", "rouge-w"}


def lay_jnli(root: Path, version: str, labels: Sequence[str | None]) -> None:
    """An invented JNLI release."""
    folder = root / "jglue" / "datasets" / f"jnli-v{version}"
    folder.mkdir(parents=True)
    rows = [
        {
            "sentence_pair_id": str(i),
            "yjcaptions_id": f"{100 + i}-{2 * i}-{2 * i + 1}",
            "sentence1": f"机の上に本が{i}冊ある。",
            "sentence2": "机の上に本がある。",
            "label": label,
        }
        for i, label in enumerate(labels)
    ]
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    (folder / f"valid-v{version}.json").write_text(text, "utf-8")


def test_against_every_release(tmp_path: Path, write: Write) -> None:
    lay_jnli(tmp_path, "1.1", ["entailment", "neutral", "neutral"])
    lay_jnli(tmp_path, "1.3", ["entailment", "entailment", "neutral"])
    assert list_versions("jnli", tmp_path) == ["1.1", "1.3"]
    path = write("v", {str(i): "entailment" for i in range(3)})
    found = score_versions("jnli", path, data=tmp_path, options=QUICK)
    assert [r.version for r in found.reports] == ["1.1", "1.3"]
    assert [r.scores[0].value for r in found.reports] == pytest.approx([1 / 3, 2 / 3])
    assert [(m.example, m.older, m.newer, m.answer) for m in found.moved] == [
        ("1", "neutral", "entailment", "entailment")
    ]


def test_an_old_release_alone_is_called_so(tmp_path: Path, write: Write) -> None:
    lay_jnli(tmp_path, "1.1", ["neutral", "entailment"])
    path = write("v", {"0": "neutral", "1": "neutral"})
    assert score("jnli", path, data=tmp_path, options=QUICK).report.version == "1.1"
    file = tmp_path / "jglue" / "datasets" / "jnli-v1.1" / "valid-v1.1.json"
    assert load(f"jnli@{file}").version == "1.1"
    other = file.rename(file.with_name("dev7.json"))
    assert load(f"jnli@{other}").version == "1.3", (
        "the card's: the name is none of the published ones"
    )


def test_the_version_is_that_of_the_split_answered(tmp_path: Path, write: Write) -> None:
    lay_jnli(tmp_path, "1.1", ["neutral", "entailment"])
    lay_jnli(tmp_path, "1.3", ["neutral", "neutral", "neutral"])
    folder = tmp_path / "jglue" / "datasets" / "jnli-v1.3"
    (folder / "valid-v1.3.json").rename(folder / "train-v1.3.json")
    path = write("v", {"0": "neutral", "1": "neutral"})
    report = score("jnli", path, data=tmp_path, options=QUICK).report
    assert (report.split, report.version) == ("dev", "1.1")


def test_one_release_cannot_be_compared(tmp_path: Path, write: Write) -> None:
    lay_jnli(tmp_path, "1.3", ["neutral"])
    with pytest.raises(BadInput, match="only 1 version of jnli is available"):
        score_versions("jnli", write("v", {"0": "neutral"}), data=tmp_path)


@pytest.mark.slow
def test_last_gold_answer_of_jsquad_is_perfect(shared_data: Path, write: Write) -> None:
    examples = load("jsquad:dev", data=shared_data).splits["dev"]
    path = write("last", {e.id: e.gold["answers"][-1]["text"] for e in examples})
    report = score("jsquad", path, data=shared_data, options=QUICK).report
    assert [s.value for s in report.scores] == [100.0, 100.0]


def test_a_run_without_answers_is_scored_all_the_same(write: Write) -> None:
    scored = score("mini-ja-sts", write("all", right("mini-ja-sts")))
    refused = {name: Prediction(example=name, why="refusal") for name in scored.predictions}
    found = score_all(scored.task, scored.examples, refused, "")
    assert {s.metric for s in found} >= {"pearson", "spearman"}
    assert all(isnan(s.value) and s.n == len(scored.examples) for s in found)
    with pytest.raises(BadInput, match="there are 0 answers"):
        list(score_examples(scored.task, scored.examples, refused, ScoreOptions(), ""))
