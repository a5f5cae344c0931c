"""Trees as answers: read, voted on arc by arc, decided, and compared between workers."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from nikawa.aggregation.agree_job import AgreeOptions, agree, plan_from_pilot
from nikawa.aggregation.job import AggregateOptions, aggregate, report_workers
from nikawa.aggregation.plan import PlanGoal
from nikawa.aggregation.report import write_result
from nikawa.datasets.trees import find_tree_fault
from nikawa.errors import BadInput
from nikawa.io.jsonl import encode_record
from nikawa.io.records import read_examples, write_records
from nikawa.records import Example, Judgement
from nikawa.reporting.agreement import render_page

FORMS = ("하루가", "어제", "종을", "쳤다.")
FIRST = {"heads": [4, 4, 4, 0], "labels": ["NP_SBJ", "NP_AJT", "NP_OBJ", "VP"]}


def changed(place: int, head: int, label: str, tree: dict[str, Any] = FIRST) -> dict[str, Any]:
    """The tree with another arc of one word."""
    heads, labels = list(tree["heads"]), list(tree["labels"])
    heads[place - 1], labels[place - 1] = head, label
    return {"heads": heads, "labels": labels}


def write(folder: Path, answers: dict[str, list[Any]], **more: Any) -> str:
    """A file of judgements: by item the answers of workers a, b, ..."""
    rows = [
        Judgement(example=item, worker="abcdef"[n], question="tree", answer=answer, **more)
        for item, given in answers.items()
        for n, answer in enumerate(given)
    ]
    path = folder / "judgements.jsonl"
    path.write_bytes(b"".join(encode_record(row) + b"\n" for row in rows))
    return str(path)


def examples_file(folder: Path, items: Any) -> str:
    words = [{"form": form, "lemma": form, "pos": "NNG"} for form in FORMS]
    rows = [Example(id=item, inputs={"text": " ".join(FORMS), "words": words}) for item in items]
    write_records(folder / "examples.jsonl", rows, overwrite=True)
    return str(folder / "examples.jsonl")


ANSWERS = {
    "s1": [FIRST, FIRST],
    "s2": [FIRST, changed(2, 3, "NP_AJT")],  # another head
    "s3": [FIRST, changed(1, 4, "NP")],  # another relation
    "s4": [FIRST, changed(2, 3, "AP", changed(1, 3, "NP_SBJ"))],  # two heads, one relation
}


def test_attachment_between_two_workers(tmp_path: Path) -> None:
    report = agree(write(tmp_path, ANSWERS)).report
    values = {row.name: row.value for row in report.measures}
    assert values["UAS"] == pytest.approx(13 / 16)  # 1 + 0 + 2 wrong heads of 16
    assert values["LAS"] == pytest.approx(12 / 16)
    assert values["trees-equal"] == 0.25
    assert list(values) == [
        "UAS",
        "LAS",
        "trees-equal",
        "alpha-heads",
        "alpha-labels",
        "alpha-arcs",
    ]
    for row in report.measures:
        assert row.value is not None
        assert row.low is not None
        assert row.high is not None
        assert row.low <= row.value <= row.high
    assert report.distribution == {"AP": 1, "NP": 1, "NP_AJT": 7, "NP_OBJ": 8, "NP_SBJ": 7, "VP": 8}
    assert "not corrected for chance" in report.remarks[0]


def test_alphas_are_those_of_words(tmp_path: Path) -> None:
    """The same as alpha of a table with one item a word."""
    from nikawa.agreement import krippendorff_alpha

    report = agree(write(tmp_path, ANSWERS)).report
    values = {row.name: row.value for row in report.measures}
    rows: dict[str, list[tuple[str, str, str]]] = {"alpha-heads": [], "alpha-labels": []}
    for item, trees in ANSWERS.items():
        for worker, tree in enumerate(trees):
            for place, (head, label) in enumerate(
                zip(tree["heads"], tree["labels"], strict=True), start=1
            ):
                distance = str(head - place) if head else "root"
                rows["alpha-heads"].append((f"{item} {place}", str(worker), distance))
                rows["alpha-labels"].append((f"{item} {place}", str(worker), label))
    for name, words in rows.items():
        assert values[name] == pytest.approx(krippendorff_alpha(words))


def test_chance_is_taken_off(tmp_path: Path) -> None:
    """Workers who attach nearly every word to the next agree by chance: UAS is high, alpha is not."""
    chain = {"heads": [2, 3, 4, 0], "labels": ["NP"] * 4}
    odd = [changed(1, 3, "NP", chain), changed(2, 4, "NP", chain)]
    answers = {
        f"s{n}": [odd[0] if n % 5 == 0 else chain, odd[1] if n % 5 == 1 else chain]
        for n in range(40)
    }
    values = {row.name: row.value for row in agree(write(tmp_path, answers)).report.measures}
    assert (values["UAS"] or 0) == pytest.approx(0.9)
    assert (values["alpha-heads"] or 1) < 0.78
    assert values["alpha-labels"] is None  # one relation throughout: nothing to tell


def test_arcs_by_relation_and_distance(tmp_path: Path) -> None:
    result = agree(write(tmp_path, ANSWERS))
    assert isinstance(result.report.arcs, tuple)
    rows = {(row.by, row.value): row for row in result.report.arcs}
    subject = rows["label", "NP_SBJ"]
    # s1, s2: both give it and agree (2 + 2 of weight); s3: one gives it, same head; s4: both, other head
    assert (subject.arcs, subject.uas, subject.las) == (7, 5 / 7, 4 / 7)
    assert rows["distance", "root"].uas == 1.0
    assert [value for by, value in rows if by == "distance"] == ["root", "1", "2", "3"]
    near = rows["distance", "2"]  # word 2 to 4, and word 1 to 3
    assert near.uas == pytest.approx(4 / 7)
    assert "Arcs by relation" in render_page(result.report, result.table)
    assert "arcs" in {table.title for table in result.list_tables()}


def test_left_heads_are_a_distance_of_their_own(tmp_path: Path) -> None:
    left = {"heads": [0, 1, 1, 1], "labels": ["VP", "NP", "NP", "NP"]}
    report = agree(write(tmp_path, {"s": [left, left], "t": [FIRST, FIRST]})).report
    assert isinstance(report.arcs, tuple)
    assert [row.value for row in report.arcs if row.by == "distance"] == [
        "root",
        "1",
        "2",
        "3",
        "left",
    ]


def test_three_workers_weigh_alike(tmp_path: Path) -> None:
    answers = {"s": [FIRST, FIRST, changed(2, 3, "NP_AJT")], "t": [FIRST, FIRST]}
    values = {row.name: row.value for row in agree(write(tmp_path, answers)).report.measures}
    # s: pairs 4 + 3 + 3 of 12 weighed by a half; t: 4 of 4
    assert values["UAS"] == pytest.approx((5 + 4) / (6 + 4))


def test_agreed_arcs_are_gold_and_the_rest_is_open(tmp_path: Path) -> None:
    spec = write(tmp_path, ANSWERS)
    result = aggregate(spec, options=AggregateOptions(examples=examples_file(tmp_path, ANSWERS)))
    assert result.gold == {"s1": {"tree": FIRST}}
    write_result(result, tmp_path / "gold")
    sheet = (tmp_path / "gold" / "adjudicate.tsv").read_text("utf-8-sig").splitlines()
    assert "2>4:NP_AJT 1, 2>3:NP_AJT 1 (어제), of 2" in sheet[1]
    assert len(sheet) == 4
    (example,) = read_examples(tmp_path / "gold" / "examples.jsonl")
    assert example.gold == {"tree": FIRST}
    assert "UAS" in (tmp_path / "gold" / "agreement.json").read_text("utf-8")


def test_decisions_arc_by_arc_make_a_tree(tmp_path: Path) -> None:
    spec = write(tmp_path, ANSWERS)
    known = examples_file(tmp_path, ANSWERS)
    sheet = tmp_path / "decided.tsv"

    def decided(*rows: tuple[str, str]) -> dict[str, Any]:
        lines = ["example\tquestion\tanswer", *(f"{item}\ttree\t{answer}" for item, answer in rows)]
        sheet.write_text("\n".join(lines) + "\n", "utf-8")
        options = AggregateOptions(examples=known, adjudicated=sheet)
        return dict(aggregate(spec, options=options).gold)

    gold = decided(
        ("s2", "2>3:NP_AJT"),
        ("s3", "1>4:NP_SBJ"),
        ("s4", '{"heads": [4, 4, 4, 0], "labels": ["NP_SBJ", "AP", "NP_OBJ", "VP"]}'),
    )
    assert gold["s2"]["tree"] == changed(2, 3, "NP_AJT")
    assert gold["s3"]["tree"] == FIRST
    assert gold["s4"]["tree"] == changed(2, 4, "AP")
    for trees in gold.values():
        assert find_tree_fault(trees["tree"]["heads"], 4) == ""
    for answer, fault in (
        ("1>3:NP_SBJ", "differ on word 2, which is not decided"),
        ("1>2:NP_SBJ 2>1:AP", "lead in a circle"),
        ("2>9:AP 1>4:NP", "neither 0 nor another"),
        ("5>1:AP", "not word>head:RELATION"),
        ('{"heads": [2, 0], "labels": ["NP", "VP"]}', "it has 2 words"),
        ('{"heads"', "not JSON"),
    ):
        with pytest.raises(BadInput, match=f"makes no tree: .*{fault}"):
            decided(("s4", answer))


def test_a_majority_of_three_and_one_that_is_no_tree(tmp_path: Path) -> None:
    two = [2, 0], ["A", "R"]
    answers = {
        "s": [FIRST, FIRST, changed(2, 3, "NP_AJT")],
        # each arc has two votes of three, and together they go in a circle: 1 > 2 > 3 > 1
        "t": [
            {"heads": [2, 3, 0], "labels": ["A"] * 3},
            {"heads": [2, 0, 1], "labels": ["A"] * 3},
            {"heads": [0, 3, 1], "labels": ["A"] * 3},
        ],
        "u": [dict(zip(("heads", "labels"), two, strict=True))] * 3,
    }
    result = aggregate(write(tmp_path, answers), options=AggregateOptions())
    assert result.gold["s"] == {"tree": FIRST}
    assert set(result.gold) == {"s", "u"}
    assert result.report.rules[0].tied == 1
    strict = aggregate(
        write(tmp_path, answers), options=AggregateOptions(rules=("votes:3/3",), ties="drop")
    )
    assert set(strict.gold) == {"u"}


def test_workers_are_measured_by_attachment(tmp_path: Path) -> None:
    spec = write(tmp_path, ANSWERS)
    known = tmp_path / "known.jsonl"
    gold = [
        Example(id=item, inputs={"text": "x", "words": []}, gold={"tree": FIRST})
        for item in ANSWERS
    ]
    write_records(known, gold)
    report = report_workers(spec, None, AggregateOptions(known=known))
    first, second = report.workers
    assert first.agreement == second.agreement == pytest.approx(12 / 16)
    assert (first.accuracy, second.accuracy) == (1.0, 0.25)


@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        ({"heads": [2, 1], "labels": ["A", "B"]}, "no word is the root"),
        ({"heads": [0, 0], "labels": ["A", "B"]}, "2 words are the root: 1, 2"),
        ({"heads": [2, 3, 2, 0], "labels": ["A"] * 4}, "lead in a circle"),
        ({"heads": [2, 0], "labels": ["A"]}, "one label for each head"),
        ({"heads": [5, 0], "labels": ["A", "B"]}, "neither 0 nor another"),
        ({"heads": "20", "labels": ["A", "B"]}, "not lists"),
    ],
)
def test_what_is_no_tree_is_refused(tmp_path: Path, answer: Any, fault: str) -> None:
    with pytest.raises(BadInput, match=f"is no tree: .*{fault}"):
        agree(write(tmp_path, {"s": [FIRST, answer]}))


def test_other_requests_are_refused_in_one_line(tmp_path: Path) -> None:
    short = {"heads": [2, 0], "labels": ["A", "B"]}
    with pytest.raises(BadInput, match="the trees about s have 2 and 4 words"):
        agree(write(tmp_path, {"s": [FIRST, short]}))
    spec = write(tmp_path, ANSWERS)
    with pytest.raises(BadInput, match="is not for trees"):
        aggregate(spec, options=AggregateOptions(rules=("dawid-skene",)))
    with pytest.raises(BadInput, match="cannot prefer a label"):
        aggregate(spec, options=AggregateOptions(ties="prefer:NP"))
    with pytest.raises(BadInput, match="cannot be planned for trees"):
        plan_from_pilot(spec, None, AgreeOptions(), PlanGoal())
    with pytest.raises(BadInput, match="trees have no ordinal level"):
        agree(spec, options=AgreeOptions(level="ordinal"))
    mixed = write(tmp_path, {"s": [FIRST, "NP"]})
    with pytest.raises(BadInput, match="some are not"):
        agree(mixed)


def test_machines_are_compared_by_attachment(tmp_path: Path) -> None:
    path = Path(write(tmp_path, {f"s{n}": [FIRST, changed(1, 4, "NP")] for n in range(6)}))
    rows = [
        Judgement(
            example=f"s{n}", worker="model:p#1", question="tree", answer=FIRST, kind="machine"
        )
        for n in range(6)
    ]
    path.write_bytes(path.read_bytes() + b"".join(encode_record(row) + b"\n" for row in rows))
    machines = agree(str(path)).machines
    assert machines is not None
    assert all(math.isfinite(row.value or 0) for row in machines.agreement)
