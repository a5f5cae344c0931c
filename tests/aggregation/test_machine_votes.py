"""Machines in aggregation: never counted unless asked, and every label tells what they did."""

import json
import random
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import nikawa as nk
from nikawa.aggregation.machine_votes import MachineInput
from nikawa.aggregation.table import Table
from nikawa.aggregation.weighing import fit_workers
from nikawa.cli.terminal.app import build
from nikawa.errors import BadInput
from nikawa.records import Judgement

VOTES = {"1": "yyn", "2": "yn", "3": "ny", "4": "nn", "5": "yn"}


def judge(example: str, worker: str, answer: Any, question: str = "label") -> Judgement:
    return Judgement(example=example, worker=worker, question=question, answer=answer)


def persons() -> list[Judgement]:
    names = {"y": "yes", "n": "no"}
    return [
        judge(item, f"w{place}", names[vote])
        for item, votes in VOTES.items()
        for place, vote in enumerate(votes)
    ]


def machines() -> list[Judgement]:
    """`a` has three copies, of which two say no about item 2; about 3 they say yes; about 1 and 4 the opposite of the vote."""
    answers = {"1": "nnn", "2": "nny", "3": "yyy", "4": "yyy"}
    names = {"y": "yes", "n": "no"}
    return [
        judge(item, f"model:a#{copy}", names[vote])
        for item, votes in answers.items()
        for copy, vote in enumerate(votes, start=1)
    ]


def test_machines_break_ties_and_nothing_else() -> None:
    plain = nk.aggregate(persons() + machines(), rule="majority")
    assert {item: gold["label"] for item, gold in plain.gold.items()} == {"1": "yes", "4": "no"}
    made = nk.aggregate(persons() + machines(), rule="majority", machines="tie-break")
    gold = {item: answers["label"] for item, answers in made.gold.items()}
    assert gold == {"1": "yes", "2": "no", "3": "yes", "4": "no"}  # 5 has no machine: it stays tied
    counts = made.report.rules[0].machines
    assert counts
    assert (counts.ties, counts.labels, counts.changed, counts.models) == (2, 2, 0, ("model:a",))
    assert made.report.rules[0].tied == 1


def test_copies_share_one_vote_and_models_that_differ_leave_the_tie() -> None:
    rows = [judge("1", "aki", "yes"), judge("1", "ben", "no")]
    rows += [judge("1", f"model:a#{copy}", "yes") for copy in range(1, 6)]
    one = nk.aggregate(rows, rule="majority", machines="tie-break")
    assert one.gold == {"1": {"label": "yes"}}
    both = nk.aggregate(
        [*rows, judge("1", "model:b#1", "no")], rule="majority", machines="tie-break"
    )
    assert both.gold == {}
    preferred = nk.aggregate(
        [*rows, judge("1", "model:b#1", "no")],
        rule="majority",
        machines="tie-break",
        ties="prefer:no",
    )
    assert preferred.gold == {"1": {"label": "no"}}


def test_a_decision_of_the_owner_stands_above_machines(tmp_path: Path) -> None:
    decision = Judgement(
        example="2", worker="decision:owner", question="label", answer="yes", kind="tie-decision"
    )
    path = tmp_path / "j.jsonl"
    rows = [*persons(), *machines(), decision]
    path.write_bytes(b"".join(nk_line(row) for row in rows))
    made = nk.aggregate(path, rule="majority", machines="tie-break")
    assert made.gold["2"] == {"label": "yes"}
    counts = made.report.rules[0].machines
    assert counts
    assert counts.labels == 1


def nk_line(row: Judgement) -> bytes:
    from nikawa.io.json import encode_json

    return encode_json(row) + b"\n"


def crowd(items: int, accuracy: float, seed: int = 3) -> tuple[dict[str, str], list[Judgement]]:
    rng = random.Random(seed)
    true = {f"i{n}": rng.choice(("a", "b", "c")) for n in range(items)}
    rows = [
        judge(item, f"w{worker}", right if rng.random() < accuracy else rng.choice("abc"))
        for item, right in true.items()
        for worker in range(3)
    ]
    return true, rows


def share_right(gold: dict[str, dict[str, Any]], true: dict[str, str]) -> float:
    right = [item for item, label in true.items() if item in gold and gold[item]["label"] == label]
    return len(right) / len(true)


def test_a_good_machine_helps_and_a_bad_one_does_no_harm() -> None:
    true, rows = crowd(600, 0.6)
    rng = random.Random(9)
    good = [
        judge(item, "model:good#1", right if rng.random() < 0.95 else rng.choice("abc"))
        for item, right in true.items()
    ]
    bad = [judge(item, "model:bad#1", rng.choice("abc")) for item in true]
    alone = share_right(nk.aggregate(rows, rule="dawid-skene").gold, true)
    with_good = nk.aggregate(rows + good, rule="dawid-skene", machines="weigh")
    with_bad = nk.aggregate(rows + bad, rule="dawid-skene", machines="weigh")
    assert share_right(with_good.gold, true) > alone + 0.05
    assert share_right(with_bad.gold, true) > alone - 0.02
    counts = with_good.report.rules[0].machines
    assert counts
    assert counts.accuracy["model:good"] == pytest.approx(0.95, abs=0.04)
    assert counts.labels == 600
    assert counts.changed > 20
    assert counts.correlation is None


def test_many_copies_that_err_together_do_not_overrule_persons() -> None:
    true, rows = crowd(500, 0.85)
    rng = random.Random(2)
    wrong = {item: rng.choice([x for x in "abc" if x != right]) for item, right in true.items()}
    answers = {item: wrong[item] if rng.random() < 0.4 else right for item, right in true.items()}
    copies = [
        judge(item, f"model:m#{n}", answer) for item, answer in answers.items() for n in range(25)
    ]
    made = nk.aggregate(rows + copies, rule="dawid-skene", machines="weigh")
    single = nk.aggregate(
        rows + [row for row in copies if row.worker == "model:m#0"],
        rule="dawid-skene",
        machines="weigh",
    )
    assert made.gold == single.gold
    alone = share_right(nk.aggregate(rows, rule="dawid-skene").gold, true)
    assert share_right(made.gold, true) >= alone - 0.01
    counts = made.report.rules[0].machines
    assert counts
    assert counts.accuracy["model:m"] == pytest.approx(0.6, abs=0.06)


def test_models_that_err_on_the_same_items_count_as_little_more_than_one() -> None:
    true, rows = crowd(500, 0.85)
    rng = random.Random(2)
    shared = {item: right if rng.random() < 0.7 else "a" for item, right in true.items()}
    own = {
        (item, n): right if rng.random() < 0.7 else rng.choice("abc")
        for item, right in true.items()
        for n in range(4)
    }
    same = [judge(item, f"model:m{n}", shared[item]) for item in true for n in range(4)]
    apart = [judge(item, f"model:m{n}", own[item, n]) for item in true for n in range(4)]

    def correlation(machine_rows: list[Judgement]) -> float:
        every = Table.from_judgements(iter(rows + machine_rows))
        flags = MachineInput.join(
            Table.from_judgements(iter(rows)), machine_rows, "weigh"
        ).is_machine
        assert flags.sum() == 4
        return fit_workers(every, flags).correlation

    assert correlation(same) == pytest.approx(1.0, abs=0.01)
    assert correlation(apart) < 0.3


def test_numbers_are_weighed_by_what_machines_predict() -> None:
    rng = random.Random(1)
    means = {f"i{n}": rng.uniform(1, 5) for n in range(300)}
    rows = [
        judge(item, f"w{n}", round(min(5, max(1, rng.gauss(mean, 1)))), "score")
        for item, mean in means.items()
        for n in range(2)
    ]
    machine = [judge(item, "model:m#1", round(mean), "score") for item, mean in means.items()]
    plain = nk.aggregate(rows + machine, rule="mean")
    weighed = nk.aggregate(rows + machine, rule="mean", machines="weigh")

    def error(gold: dict[str, dict[str, Any]]) -> float:
        return float(sum(abs(gold[item]["score"] - mean) for item, mean in means.items()))

    assert error(weighed.gold) < 0.7 * error(plain.gold)
    counts = weighed.report.rules[0].machines
    assert counts
    assert counts.share
    assert 0.3 < counts.share < 1
    noise = [judge(item, "model:m#1", rng.randint(1, 5), "score") for item in means]
    useless = nk.aggregate(rows + noise, rule="mean", machines="weigh")
    assert error(useless.gold) < 1.02 * error(plain.gold)
    few = nk.aggregate(rows[:8] + machine[:4], rule="mean", machines="weigh")
    assert few.gold == nk.aggregate(rows[:8], rule="mean").gold  # too few items to learn from


def test_an_item_that_no_person_answered_gets_no_gold() -> None:
    true, rows = crowd(50, 0.9)
    only = [judge("lonely", f"model:m#{n}", "a") for n in range(3)]
    other = [judge(item, "model:m#1", right) for item, right in true.items()]
    odd = [judge("i0", "model:n#1", "never seen")]
    made = nk.aggregate([*rows, *only, *other, *odd], rule="dawid-skene", machines="weigh")
    assert "lonely" not in made.gold
    counts = made.report.rules[0].machines
    assert counts
    assert counts.unused == 4


def test_simulated_answers_never_count(tmp_path: Path) -> None:
    rows = [judge("1", "aki", "yes"), judge("1", "ben", "no"), judge("1", "simulated:x", "yes")]
    with pytest.raises(BadInput, match="no answers of models to use"):
        nk.aggregate(rows, rule="majority", machines="tie-break")
    made = nk.aggregate(
        [*rows, judge("1", "model:m#1", "no")], rule="majority", machines="tie-break"
    )
    assert made.gold == {"1": {"label": "no"}}


@pytest.mark.parametrize(
    ("rule", "machines", "message"),
    [
        ("majority", "weigh", "weigh does not work with the rule majority"),
        ("mean", "tie-break", "has no ties"),
        ("median", "weigh", "does not work with the rule median"),
        ("majority", "count", "is not a use of machines"),
    ],
)
def test_what_makes_no_sense_is_refused(rule: str, machines: str, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        nk.aggregate(persons(), rule=rule, machines=machines)


def test_spans_are_left_to_persons() -> None:
    span = [{"start": 0, "end": 2, "label": "PS"}]
    rows = [judge("1", name, span, "spans") for name in ("aki", "ben", "model:m#1")]
    with pytest.raises(BadInput, match="is for labels and numbers"):
        nk.aggregate(rows, rule="majority", machines="tie-break")


def test_every_file_says_what_machines_did(tmp_path: Path) -> None:
    judged = tmp_path / "judgements.jsonl"
    judged.write_bytes(b"".join(nk_line(row) for row in persons() + machines()))
    examples = tmp_path / "examples.jsonl"
    examples.write_text(
        "".join(
            json.dumps({"id": item, "inputs": {"text": f"text {item}"}}) + "\n" for item in VOTES
        )
    )
    out = tmp_path / "gold"
    command = ["aggregate", str(judged), "--rule", "majority", "--machines", "tie-break"]
    result = CliRunner().invoke(build(), [*command, "--examples", str(examples), "--out", str(out)])
    assert result.exit_code == 0, result.output
    assert "2 ties broken by model:a" in " ".join(result.output.split())
    assert "counted only where persons tie" in " ".join(result.output.split())
    made = [json.loads(line) for line in (out / "examples.jsonl").read_text().splitlines()]
    origins = {row["id"]: row["origin"].get("machines", "") for row in made}
    assert origins == {"1": "", "2": "tie-break", "3": "tie-break", "4": ""}
    items = [json.loads(line) for line in (out / "items.jsonl").read_text().splitlines()]
    by_item = {row["example"]: row for row in items}
    assert (by_item["2"]["by"], by_item["2"]["machines"]) == ("ties:machines", "tie-break")
    assert by_item["2"]["machine_answers"]["model:a#1"] == "no"
    assert by_item["5"]["machine_answers"] == {}
    summary = json.loads((out / "summary.json").read_text())
    assert summary["rules"][0]["machines"]["ties"] == 2
    loaded = nk.load(str(out / "examples.jsonl"))
    assert {e.id: e.origin.machines for e in loaded if e.origin} == origins
    bare = tmp_path / "bare"
    CliRunner().invoke(build(), [*command, "--out", str(bare)])
    lines = [json.loads(line) for line in (bare / "gold.jsonl").read_text().splitlines()]
    parts = {line["example"]: line.get("machines") for line in lines}
    assert parts == {"1": None, "2": {"label": "tie-break"}, "3": {"label": "tie-break"}, "4": None}


def test_without_the_option_no_file_changes(tmp_path: Path) -> None:
    judged = tmp_path / "judgements.jsonl"
    judged.write_bytes(b"".join(nk_line(row) for row in persons() + machines()))
    out = tmp_path / "gold"
    result = CliRunner().invoke(
        build(), ["aggregate", str(judged), "--rule", "majority", "--out", str(out)]
    )
    assert result.exit_code == 0
    assert "machines" not in (out / "items.jsonl").read_text()
    assert "machines" not in json.loads((out / "summary.json").read_text())["rules"][0]
    assert "machines" not in (out / "gold.jsonl").read_text()
