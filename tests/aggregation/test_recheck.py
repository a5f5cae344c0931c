"""Answers for a second look: contradicted by the other workers and by a machine, never by one of them alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from typer.testing import CliRunner

import nikawa as nk
from nikawa.aggregation.recheck import RecheckOptions, RecheckReport, recheck, recheck_judgements
from nikawa.cli.terminal.app import build
from nikawa.errors import BadInput
from nikawa.io.records import write_records
from nikawa.records import Judgement


def judge(example: str, **answers: Any) -> list[Judgement]:
    """Answers by worker to one item; `m1` is the first copy of a model, `s` a simulation."""
    names = {"m1": "model:m#1", "m2": "model:m#2", "n1": "model:n#1", "s": "simulated:s"}
    return [
        Judgement(example=example, worker=names.get(name, name), question="label", answer=answer)
        for name, answer in answers.items()
    ]


def find(rows: list[Judgement], **options: Any) -> RecheckReport:
    report = recheck_judgements(rows, "label", **options)
    assert report is not None
    return report


def test_only_what_both_contradict_is_listed() -> None:
    rows = [
        *judge("both", aki="yes", ben="yes", cho="no", m1="yes"),
        *judge("others", aki="yes", ben="yes", cho="no", m1="no"),
        *judge("machine", aki="yes", ben="yes", cho="yes", m1="no"),
        *judge("tied", aki="yes", ben="no", m1="yes"),
        *judge("alone", aki="no", m1="yes"),
        *judge("unasked", aki="yes", ben="yes", cho="no"),
        *judge("simulated", aki="yes", ben="yes", cho="no", s="yes"),
        *judge("split", aki="yes", ben="yes", cho="no", m1="yes", m2="no"),
    ]
    report = find(rows)
    listed = {(row.example, row.worker, row.answer) for row in report.doubtful}
    # with two persons each contradicts the other, and the machine decides whose answer to look at
    assert listed == {("both", "cho", "no"), ("tied", "ben", "no")}
    assert (report.compared, report.by_others, report.items_to_check) == (14, 5, 2)
    (row,) = (row for row in report.doubtful if row.example == "both")
    assert (row.others, row.machines) == ({"aki": "yes", "ben": "yes"}, {"model:m#1": "yes"})


def test_copies_share_a_vote_and_models_are_counted() -> None:
    rows = judge("1", aki="yes", ben="no", m1="yes", m2="yes", n1="no")
    assert find(rows).by_both == 0  # one model says yes, one says no


def test_the_answer_of_a_careless_worker_comes_first() -> None:
    rng = np.random.default_rng(5)
    rows: list[Judgement] = []
    for item in range(60):
        truth = ("no", "yes")[item % 2]
        other = ("yes", "no")[item % 2]
        careless = other if rng.random() < 0.5 else truth
        rows += judge(str(item), aki=truth, ben=truth, cho=careless, m1=truth)
    rows += judge("of aki", aki="no", ben="yes", cho="yes", m1="yes")
    rows += judge("of cho", aki="yes", ben="yes", cho="no", m1="yes")
    report = find(rows)
    doubt = {row.example: row.doubt for row in report.doubtful}
    assert 0.5 < doubt["of aki"] < doubt["of cho"] <= 1
    assert report.doubtful[0].worker == "cho"
    assert report.machine_accuracy["model:m"] > 0.9


def test_a_good_machine_tips_the_balance_and_a_bad_one_does_not() -> None:
    """Of three persons, the two who agree have one other on each side."""

    def ask(accuracy: float) -> set[tuple[str, str]]:
        rng = np.random.default_rng(7)
        rows: list[Judgement] = []
        for item in range(300):
            truth, other = (("no", "yes"), ("yes", "no"))[item % 2]
            given = [other if rng.random() < 0.15 else truth for _ in range(3)]
            model = truth if rng.random() < accuracy else other
            rows += judge(str(item), aki=given[0], ben=given[1], cho=given[2], m1=model)
        rows += judge("odd", aki="yes", ben="yes", cho="no", m1="no")
        return {(row.example, row.worker) for row in find(rows).doubtful if row.example == "odd"}

    assert ask(0.98) == {("odd", "aki"), ("odd", "ben")}
    assert ask(0.6) == set()


def test_a_machine_that_always_answers_too_high_contradicts_nobody_for_that() -> None:
    rows: list[Judgement] = []
    for item in range(40):
        truth = item % 4
        rows += judge(str(item), aki=truth, ben=truth, m1=truth + 2)
    rows += judge("odd", aki=0, ben=3, cho=3, m1=5)
    report = find(rows)
    assert [(row.example, row.worker) for row in report.doubtful] == [("odd", "aki")]
    assert (report.unit, report.margin) == ("points", 1.5)
    assert find(rows, margin=4.0).by_both == 0


def test_spans_that_machine_and_others_share() -> None:
    def spans(*marks: tuple[int, int]) -> list[dict[str, Any]]:
        return [{"start": start, "end": end, "label": "PS"} for start, end in marks]

    rows = judge("1", aki=spans((0, 2)), ben=spans((0, 2)), cho=spans((4, 6)), m1=spans((0, 2)))
    rows += judge("2", aki=spans((0, 2)), ben=spans((0, 2)), cho=spans((4, 6)), m1=spans((4, 6)))
    report = find(rows)
    (row,) = report.doubtful
    assert (row.example, row.worker, row.answer) == ("1", "cho", spans((4, 6)))
    sets = find(judge("1", aki=["a", "b"], ben=["c"], m1=["c"])).doubtful[0]
    assert (sets.answer, sets.others, sets.machines) == (
        ["a", "b"],
        {"ben": ["c"]},
        {"model:m#1": ["c"]},
    )
    assert report.unit == "span F1"


SPANS: list[Any] = [[{"start": n, "end": n + 2, "label": "PS"}] for n in (0, 4)]
TREES: list[Any] = [{"heads": heads, "labels": ["a", "b"]} for heads in ([2, 0], [0, 1])]
SETS: list[Any] = [["joy", "anger"], ["fear"]]
MARKED: list[Any] = [{"text": "석유등", "start": 25}, {"text": "", "start": -1}]
STATES: list[Any] = [[["a-b-c"], ["a-b-c", "a-d-e"]], [["a-b-x"], []]]


@pytest.mark.parametrize(
    ("answers", "unit"),
    [
        (SPANS, "span F1"),
        (TREES, "equal arcs"),
        (SETS, "Jaccard"),
        (MARKED, "answer F1"),
        (STATES, "state F1"),
    ],
)
def test_structures_are_compared_and_judged(answers: list[Any], unit: str) -> None:
    """The verdict, and the list, of every sort of structured answers."""
    right, other = answers
    rows = []
    for n in range(35):
        rows += judge(str(n), aki=right, ben=right, cho=other if n == 3 else right, m1=right)
    report = find(rows)
    assert [(row.example, row.worker) for row in report.doubtful] == [("3", "cho")]
    assert report.unit == unit
    machines = nk.agree(rows).machines
    assert machines is not None
    assert machines.unit == unit
    assert "1.000" in machines.verdict
    assert "differed by" not in machines.verdict
    assert machines.tests[0].passed
    result = nk.aggregate(rows, rule="majority", ties="drop")
    assert "passes" in (result.report.machine_verdict or "")


def test_many_kinds_of_answers_are_ordered_by_votes() -> None:
    rows = [
        row
        for item in range(300)
        for row in judge(str(item), aki=f"a{item}", ben=f"a{item}", cho="b", m1=f"a{item}")
    ]
    report = find(rows)
    assert report.by_both == 300
    assert report.doubtful[0].doubt == 1.0


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "judgements.jsonl"
    rows = judge("q\x1b[2J1", aki="yes", ben="yes", cho="no", m1="yes")
    rows += judge("q2", aki="yes", ben="yes", cho="yes", m1="no")
    write_records(path, rows)
    return str(path)


def test_command_and_python(file: str, tmp_path: Path) -> None:
    out = tmp_path / "doubtful.jsonl"
    runner = CliRunner()
    done = runner.invoke(build(), ["recheck", file, "--out", str(out)])
    assert done.exit_code == 0
    assert (
        "the other workers contradict 1; with a machine, 1 in 1 item are on the list"
        in " ".join(done.output.split())
    )
    assert "\x1b" not in done.output
    (row,) = map(msgspec.json.decode, out.read_bytes().splitlines())
    assert (row["worker"], row["answer"]) == ("cho", "no")
    with pytest.raises(BadInput, match="already exists"):
        recheck(file, out=out)
    report = nk.recheck(file)
    assert report.by_both == 1
    assert "cho" in repr(report)
    assert report.to_pandas()["worker"].tolist() == ["cho"]
    assert (
        msgspec.json.decode(runner.invoke(build(), ["recheck", file, "--json"]).output)["by_both"]
        == 1
    )


def test_bad_requests(file: str, tmp_path: Path) -> None:
    path = tmp_path / "persons.jsonl"
    write_records(path, judge("1", aki="yes", ben="no"))
    with pytest.raises(BadInput, match="no machine answers this question"):
        recheck(str(path))
    with pytest.raises(BadInput, match="margin"):
        RecheckOptions(margin=-1)
    with pytest.raises(BadInput, match="would be replaced"):
        recheck(file, out=Path(file), overwrite=True)
    write_records(path, judge("1", aki=1.0, ben=1e308, m1=-1e308), overwrite=True)
    for compute in (recheck, nk.agree):
        with pytest.raises(BadInput, match=r"as large as -?1e\+308"):
            compute(str(path))
    with pytest.raises(BadInput, match="other"):
        recheck(file, options=RecheckOptions(question="other"))
