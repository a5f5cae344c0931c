"""Agreement from files and published datasets: what is reported, sliced, refused and saved."""

from __future__ import annotations

from pathlib import Path
from unicodedata import normalize

import pytest

from nikawa.aggregation.agree_job import (
    AgreeOptions,
    AgreeResult,
    MeasureRow,
    agree,
    save_judgements,
)
from nikawa.errors import BadInput
from nikawa.io.judgements import JudgementOptions, open_judgements, parse_map, write_judgements
from nikawa.io.records import write_records
from nikawa.records import Example, Judgement

FEW = 200


def judged(example: str, answers: str) -> list[Judgement]:
    return [
        Judgement(example=example, worker=f"w{n}", question="label", answer=a)
        for n, a in enumerate(answers, 1)
    ]


@pytest.fixture
def pilot(tmp_path: Path) -> Path:
    path = tmp_path / "pilot.jsonl"
    answers = {"1": "aaa", "2": "aab", "3": "abc", "4": "bbb", "5": "bbb", "6": "cca"}
    write_judgements(path, [j for name, given in answers.items() for j in judged(name, given)])
    return path


def value(found: AgreeResult, name: str, level: str = "nominal") -> MeasureRow:
    return next(m for m in found.report.measures if (m.name, m.level) == (name, level))


def test_a_file(pilot: Path) -> None:
    found = agree(str(pilot), options=AgreeOptions(resamples=FEW))
    assert (found.report.items, found.report.workers, found.report.answers) == (6, 3, 18)
    assert found.report.counts == {"unanimous": 3, "majority": 2, "none": 1, "incomplete": 0}
    assert found.report.distribution == {"a": 7, "b": 8, "c": 3}
    alpha = value(found, "alpha")
    assert alpha.value is not None
    assert alpha.low is not None
    assert alpha.high is not None
    assert alpha.low < alpha.value < alpha.high


def test_the_same_seed_gives_the_same_interval(pilot: Path) -> None:
    one, same, other = (
        agree(str(pilot), options=AgreeOptions(resamples=FEW, seed=seed)).report.measures
        for seed in (1, 1, 2)
    )
    assert one == same
    assert one != other


def test_a_worker_who_answers_twice_is_placed_by_line(pilot: Path) -> None:
    with pilot.open("a") as stream:
        stream.write('{"example":"2","worker":"w1","question":"label","answer":"c"}\n')
    said = r"line 19: worker w1 answers 'label' twice about 2 \(first on line 4\); keep one answer"
    with pytest.raises(BadInput, match=said):
        agree(str(pilot))


def examples(folder: Path, count: int) -> Path:
    path = folder / "examples.jsonl"
    rows = [
        Example(
            id=str(n),
            inputs={"text": f"文{n}"},
            meta={"source": "news" if n < 4 else "web"},
            tags=frozenset({"Negation"} if n % 2 else ()),
        )
        for n in range(1, count + 1)
    ]
    write_records(path, rows)
    return path


def test_slices(pilot: Path, tmp_path: Path) -> None:
    options = AgreeOptions(by=("source", "tag"), examples=str(examples(tmp_path, 6)), resamples=FEW)
    slices = agree(str(pilot), options=options).report.slices
    assert [(s.where, s.items, s.answers) for s in slices] == [
        ("source=news", 3, 9),
        ("source=web", 3, 9),
        ("tag=Negation", 3, 9),
    ]
    shares = {s.where: m.value for s in slices for m in s.measures if m.name == "unanimous"}
    assert shares == pytest.approx(
        {"source=news": 1 / 3, "source=web": 2 / 3, "tag=Negation": 2 / 3}
    )


def test_an_unknown_item_is_placed_by_line(pilot: Path, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="line 16: answers about '6', which is not an example"):
        agree(str(pilot), options=AgreeOptions(examples=str(examples(tmp_path, 5))))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (AgreeOptions(by=("source",)), "slices need the examples"),
        (AgreeOptions(question="colour"), "no answer to 'colour'"),
        (AgreeOptions(level="interval"), "are not numbers"),
    ],
)
def test_refusals(pilot: Path, options: AgreeOptions, said: str) -> None:
    with pytest.raises(BadInput, match=said):
        agree(str(pilot), options=options)


def test_no_example_has_the_slice(pilot: Path, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no example has 'colour'"):
        agree(str(pilot), options=AgreeOptions(by=("colour",), examples=str(examples(tmp_path, 6))))


def test_how_many_were_asked_is_guessed_and_said(tmp_path: Path) -> None:
    path = tmp_path / "asked.jsonl"
    write_judgements(path, [row for n in range(10) for row in judged(str(n), "aab" if n else "aa")])
    report = agree(str(path), options=AgreeOptions(resamples=FEW)).report
    assert (report.counts["incomplete"], report.counts["majority"]) == (1, 9)
    assert "each of the 3 workers should answer every item; pass --each N" in report.remarks[0]
    told = agree(str(path), options=AgreeOptions(resamples=FEW, each=2)).report
    assert (told.counts["incomplete"], told.counts["unanimous"], told.remarks) == (0, 1, ())


def test_no_such_file() -> None:
    with pytest.raises(BadInput, match="no such file; pass a file of judgements, or a dataset"):
        agree("nowhere.jsonl")


def test_undefined_is_null(tmp_path: Path) -> None:
    path = tmp_path / "same.jsonl"
    write_judgements(path, [*judged("1", "aa"), *judged("2", "aa")])
    alpha = value(agree(str(path), options=AgreeOptions(resamples=FEW)), "alpha")
    assert (alpha.value, alpha.low, alpha.high) == (None, None, None)


def test_a_label_is_one_however_it_is_composed(tmp_path: Path) -> None:
    path, copy = tmp_path / "mac.jsonl", tmp_path / "copy.jsonl"
    words = ("긍정", "긍정", normalize("NFD", "긍정"))
    rows = [
        Judgement(example=e, worker=f"w{n}", question="label", answer=a)
        for e in "12"
        for n, a in enumerate(words)
    ]
    write_judgements(path, rows)
    report = agree(str(path), options=AgreeOptions(resamples=FEW)).report
    assert report.counts["unanimous"] == 2
    assert report.distribution == {"긍정": 6}
    (note,) = report.notes
    assert (note.count, note.lines) == (2, (3, 6))
    assert "NFD" in note.what
    save_judgements(copy, str(path), None, AgreeOptions())
    assert copy.read_bytes() == path.read_bytes()


def test_notes_of_a_sheet_are_reported(tmp_path: Path) -> None:
    path = tmp_path / "s.csv"
    path.write_text("id,w1,w2\n1,４,4\n2,3,\n3,1,2\n", "utf-8")
    how = JudgementOptions(mapping=parse_map("example=id,answer=w*"))
    report = agree(str(path), options=AgreeOptions(how=how, resamples=FEW)).report
    assert [(n.what, n.count, n.lines) for n in report.notes] == [
        ("full-width digits", 1, (2,)),
        ("blank answers", 1, (3,)),
    ]
    assert (report.workers_are, report.answers) == ("columns", 5)
    assert {m.level for m in report.measures if m.name == "alpha"} == {
        "interval",
        "ordinal",
        "nominal",
    }


def test_an_embedded_dataset() -> None:
    found = agree("mini-ja", options=AgreeOptions(by=("tag",), resamples=FEW))
    assert (found.report.workers_are, found.report.question) == ("simulated", "label")
    assert found.report.slices


def test_one_split_of_a_dataset() -> None:
    whole, part = (
        agree(spec, options=AgreeOptions(resamples=FEW)).report.items
        for spec in ("mini-ja", "mini-ja:dev")
    )
    assert 0 < part < whole


def test_judgements_are_saved_in_another_form(pilot: Path, tmp_path: Path) -> None:
    target = tmp_path / "out.csv"
    assert save_judgements(target, str(pilot), None, AgreeOptions(), form="lancers") == 18
    assert [j for _, j in open_judgements(target).rows] == [
        j for _, j in open_judgements(pilot).rows
    ]


def test_texts_go_with_label_studio(tmp_path: Path) -> None:
    target = tmp_path / "ls.json"
    save_judgements(target, "mini-ja", None, AgreeOptions(), form="label-studio")
    assert '"premise"' in target.read_text("utf-8")


def test_jsick_through_the_job(shared_data: Path) -> None:
    found = agree("jsick", shared_data, AgreeOptions(resamples=FEW))
    assert value(found, "alpha").value == pytest.approx(0.6457, abs=5e-5)
    assert found.report.workers_are == "columns"


def test_klue_sts_by_corpus(shared_data: Path) -> None:
    options = AgreeOptions(by=("corpus",), level="interval", resamples=10)
    slices = agree("klue-sts", shared_data, options).report.slices
    found = {
        s.where: round(m.value or 0, 3) for s in slices for m in s.measures if m.name == "alpha"
    }
    assert found == {"corpus=airbnb": 0.773, "corpus=paraKQC": 0.744, "corpus=policy": 0.706}
