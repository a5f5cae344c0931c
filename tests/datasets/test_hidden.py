"""Labels that are hidden are neither learned from nor scored: no figure tells of them, not even by subtraction."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace
from typer.testing import CliRunner

from nikawa.aggregation.agree_job import AgreeReport
from nikawa.analysis.job import AnalysisOptions, compute_analyses
from nikawa.analysis.stress import stress_item
from nikawa.checks.probe import probe_artifacts
from nikawa.cli.terminal.app import build
from nikawa.datasets import load
from nikawa.datasets.export import export
from nikawa.datasets.load import open_file
from nikawa.datasets.reader import ExampleReader, digest_examples
from nikawa.errors import BadInput
from nikawa.io.folders import write_folder
from nikawa.io.json import encode_json
from nikawa.io.records import write_records
from nikawa.records import Card, Dataset, Example, Origin, Prediction
from nikawa.reporting.browser_items import collect_items
from nikawa.reporting.dataset_notes import DatasetNoteReader
from nikawa.reporting.scores import compare_tasks, part_rows, system_rows
from nikawa.reporting.systems import load_task_runs
from nikawa.runs import stored_runs
from nikawa.runs.job import RunOptions, RunRequest, run
from nikawa.runs.load import find_runs
from nikawa.scoring.compare import compare
from nikawa.scoring.score import ScoreOptions as Scoring
from nikawa.scoring.score import list_item_details, score

CARD = Card(
    name="tides",
    title="Tides",
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
LABELS = ("entailment", "contradiction", "neutral")
WORDS = {"entailment": "満ちる", "contradiction": "満ちない", "neutral": "冷たい"}
HIDE = Origin(recipe="owner", gold="hidden")
Lay = Callable[..., Path]


def items(numbers: Sequence[int], hidden: Sequence[int] = ()) -> tuple[Example, ...]:
    return tuple(
        Example(
            id=f"t{n}",
            inputs={
                "premise": f"{n}日に潮が満ちる。",
                "hypothesis": f"{n}日は潮が{WORDS[LABELS[n % 3]]}。",
            },
            gold={"label": LABELS[n % 3]},
            origin=HIDE if n in hidden else None,
        )
        for n in numbers
    )


@pytest.fixture
def lay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lay:
    monkeypatch.chdir(tmp_path)

    def made(**splits: tuple[Example, ...]) -> Path:
        write_folder(
            Dataset(name="tides", language="ja", version="1", card=CARD, splits=splits),
            Path("tides"),
        )
        return Path("tides")

    return made


def answered(path: Path, wrong: Sequence[int], of: Sequence[int]) -> Path:
    """Right answers but for some."""
    given = [(n, LABELS[(n + (n in wrong)) % 3]) for n in of]
    path.write_text("".join(json.dumps({"id": f"t{n}", "answer": a}) + "\n" for n, a in given))
    return path


def majority(folder: Path) -> Path:
    run(
        RunRequest(tasks=(str(folder),), models=("majority", "char-linear")),
        RunOptions(out=Path("runs"), workers=1),
    )
    return Path("runs")


def test_runs_answer_hidden_items_but_score_the_others(lay: Lay) -> None:
    folder = lay(train=items(range(30)), test=items(range(30, 50), hidden=range(30, 38)))
    for stored in stored_runs(majority(folder)):
        (found,) = stored.scores()
        assert (found.n, found.hidden, found.answered) == (12, 8, 12)
        assert {s.n for s in found.scores} == {12}
        lines = stored.answers_file("test").read_text().splitlines()
        assert len(lines) == 20
        given = {r["example"]: r["answer"] for r in map(json.loads, lines)}
        right = sum(given[f"t{n}"] == LABELS[n % 3] for n in range(38, 50))
        assert found.scores[0].value == pytest.approx(100 * right / 12)


def test_the_table_of_runs_says_so(lay: Lay) -> None:
    folder = lay(train=items(range(30)), test=items(range(30, 50), hidden=range(30, 38)))
    told = CliRunner().invoke(
        build(), ["run", "--model", "majority", "--tasks", str(folder), "--workers", "1"]
    )
    assert "tides test: 8 items with hidden labels were answered but not scored" in told.stdout


def test_no_figure_of_analyses_or_report_counts_them(lay: Lay) -> None:
    """Were one of them over all items, the accuracy on the hidden ones would follow from the two."""
    runs = majority(lay(train=items(range(30)), test=items(range(30, 50), hidden=range(30, 38))))
    stored = {r.path.name: r.scores()[0].scores[0].value for r in stored_runs(runs)}
    analyses = compute_analyses(
        [runs], options=AnalysisOptions(resamples=50, tokeniser="none")
    ).analyses
    for each in analyses.each:
        assert (each.n, each.score.n) == (12, 12)
        assert each.score.value == pytest.approx(stored[each.system.runs[0]])
    (part,) = load_task_runs(find_runs(["runs"]).results)
    compared = compare_tasks([part], rounds=100)
    assert {pair.n for pair in compared.comparison.pairs} == {12}
    values = {s.system: s.value for s in compared.comparison.systems if s.metric == "accuracy"}
    for row in system_rows(part, compared):
        number = row.metrics["accuracy"]
        assert number.n == 12
        assert number.value == pytest.approx(values[row.system])


def test_hidden_items_are_not_learned_from(lay: Lay) -> None:
    runs = majority(lay(train=items(range(30), hidden=range(0, 30, 3)), test=items(range(30, 40))))
    learned = {r.about().trained for r in stored_runs(runs)}
    assert learned == {20}
    answers = [
        p for r in stored_runs(runs) for p in r.answers_file("test").read_text().splitlines()
    ]
    assert not any(json.loads(line)["answer"] == "entailment" for line in answers)


def test_a_test_set_that_is_all_hidden_leaves_dev(lay: Lay) -> None:
    folder = lay(
        train=items(range(30)), dev=items(range(30, 40)), test=items(range(40, 50), range(40, 50))
    )
    for stored in stored_runs(majority(folder)):
        protocol = stored.spec.protocol
        assert (stored.sets, protocol.mark) == (["dev"], "on dev")
        assert "the labels of the test set are hidden" in protocol.why


def test_nothing_but_hidden_labels_cannot_be_run(lay: Lay) -> None:
    folder = lay(test=items(range(9), range(9)), more=items(range(9, 12), range(9, 12)))
    with pytest.raises(
        BadInput, match="no gold"
    ):  # nor are its labels told by the shape of the task
        majority(folder)


def test_runs_of_before_the_labels_were_hid_are_void(lay: Lay) -> None:
    splits = {"train": items(range(30)), "test": items(range(30, 50))}
    runs = majority(lay(**splits))
    (Path("tides") / "card.json").unlink()
    write_folder(
        Dataset(
            name="tides",
            language="ja",
            version="1",
            card=CARD,
            splits=splits | {"test": items(range(30, 50), [30])},
        ),
        Path("tides"),
        overwrite=True,
    )
    with pytest.raises(BadInput, match="has changed since the run was planned"):
        compute_analyses([runs], options=AnalysisOptions(resamples=50))
    with pytest.raises(
        BadInput,
        match=r"^runs/tides--.*since the run was planned .*; or report on the other runs only$",
    ):
        load_task_runs(find_runs(["runs"]).results)


def test_scoring_leaves_them_out_unless_their_owner_asks(lay: Lay, tmp_path: Path) -> None:
    folder = str(lay(test=items(range(20), hidden=range(5))))
    answers = answered(tmp_path / "a.jsonl", wrong=[0, 1, 7], of=range(20))
    shown = score(folder, answers, options=Scoring(resamples=20))
    assert (shown.report.n, shown.report.hidden, shown.report.answered) == (15, 5, 15)
    assert shown.report.scores[0].value == pytest.approx(100 * 14 / 15)
    assert sum(sum(row.values()) for row in shown.report.confusion.values()) == 15
    assert not {item["example"] for item in list_item_details(shown)} & {f"t{n}" for n in range(5)}
    owner = score(folder, answers, options=Scoring(resamples=20, hidden=True)).report
    assert (owner.n, owner.hidden) == (20, 0)
    assert owner.scores[0].value == pytest.approx(85)


def test_answers_need_not_cover_hidden_items(lay: Lay, tmp_path: Path) -> None:
    folder = str(lay(test=items(range(20), hidden=range(5))))
    answers = answered(tmp_path / "a.jsonl", wrong=[], of=range(5, 20))
    assert score(folder, answers, options=Scoring(resamples=20)).report.missing == 0
    with pytest.raises(BadInput, match="5 of 20 items have no answer"):
        score(folder, answers, options=Scoring(resamples=20, hidden=True))


def test_a_split_that_is_all_hidden_is_refused_without_a_word_of_it(
    lay: Lay, tmp_path: Path
) -> None:
    folder = str(lay(train=items(range(20, 30)), test=items(range(6), hidden=range(6))))
    answers = str(answered(tmp_path / "a.jsonl", wrong=[0], of=range(6)))
    refused = CliRunner().invoke(build(), ["score", folder, answers])
    assert refused.exit_code != 0
    assert "all 6 labels of tides:test are hidden" in str(refused.exception)
    told = CliRunner().invoke(build(), ["score", folder, answers, "--hidden", "--json"])
    assert json.loads(told.stdout)["scores"][0]["value"] == pytest.approx(100 * 5 / 6)


def test_comparisons_leave_them_out_too(lay: Lay, tmp_path: Path) -> None:
    folder = str(lay(test=items(range(20), hidden=range(5))))
    systems = {
        name: [answered(tmp_path / f"{name}.jsonl", wrong=wrong, of=range(20))]
        for name, wrong in (("a", [0, 1, 2, 3]), ("b", [9]))
    }
    found = compare([folder], systems, rounds=100)
    assert {pair.n for pair in found.pairs} == {15}
    assert {s.system: s.value for s in found.systems if s.metric == "accuracy"} == {
        "a": 100,
        "b": pytest.approx(100 * 14 / 15),
    }
    assert list(found.differing.values()) == [("t9",)]
    owner = compare([folder], systems, rounds=100, options=Scoring(hidden=True))
    assert {pair.n for pair in owner.pairs} == {20}


def test_consistency_is_not_told_by_a_hidden_label() -> None:
    child = replace(items([1])[0], origin=replace(HIDE, parents=("tides:test/t1",), step="swap-o"))
    from nikawa.datasets import tasks

    given = Prediction(example="t1", answer="neutral")
    assert stress_item(tasks()["mini-ja-nli"], "swap-o", child, given, given).gold == ""
    shown = replace(
        child, origin=Origin(recipe="x", parents=("t1",), step="swap-o", gold="inherited")
    )
    assert (
        stress_item(tasks()["mini-ja-nli"], "swap-o", shown, given, given).gold == "contradiction"
    )


@pytest.mark.parametrize("form", ["jsonl", "parquet", "hf"])
def test_exports_leave_them_behind(lay: Lay, tmp_path: Path, form: str) -> None:
    secret = replace(
        items([1])[0],
        origin=HIDE,
        gold={"label": "secret"},
        meta={"inherited_label": "secret", "n": 1},
    )
    folder = lay(train=items(range(3)), test=(secret, *items([2])))
    export(load(str(folder)), (), form, tmp_path / "out")
    assert not any(
        b"secret" in path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file()
    )
    if form == "jsonl":
        found = load(str(tmp_path / "out")).splits["test"]
        assert [(e.gold, e.hidden) for e in found] == [({}, True), ({"label": "neutral"}, False)]


def test_words_are_not_held_against_them(lay: Lay) -> None:
    folder = lay(train=items(range(60), hidden=range(30)))
    assert probe_artifacts(f"{folder}:train").report.examples == 30


def test_what_inherited_a_hidden_label_is_hidden_too(lay: Lay) -> None:
    """The owner may hide labels after examples were perturbed: a child would show the label of its parent."""
    test = items(range(30, 50), hidden=range(30, 38))
    made = [
        replace(
            e,
            origin=Origin(
                recipe="x", parents=(f"tides:test/{e.id}",), step="scramble-o", gold="inherited"
            ),
        )
        for e in items(range(30, 50))
    ]
    judged = replace(made[0], id="judged", origin=Origin(recipe="x", parents=("tides:test/t30",)))
    runs = majority(lay(train=items(range(30)), test=test, **{"scramble-o": (*made, judged)}))
    for stored in stored_runs(runs):
        assert [(found.set, found.n, found.hidden) for found in stored.scores()] == [
            ("test", 12, 8),
            ("scramble-o", 13, 8),
        ]
    (part,) = load_task_runs(find_runs(["runs"]).results)
    shown = collect_items(part, "ja")
    places = {
        (name, i): gold for name, i, gold in zip(shown.sets, shown.ids, shown.gold, strict=True)
    }
    first, second = dict.fromkeys(shown.sets)
    for n in range(30, 50):
        assert (places[first, f"t{n}"] == -1) == (places[second, f"t{n}"] == -1) == (n < 38)
    assert places[second, "judged"] >= 0


def inherited(numbers: Sequence[int], source: str = "tides:test") -> tuple[Example, ...]:
    """What was perturbed before labels were hid."""
    return tuple(
        replace(
            e,
            origin=Origin(
                recipe="perturb", parents=(f"{source}/{e.id}",), step="scramble-o", gold="inherited"
            ),
        )
        for e in items(numbers)
    )


@pytest.fixture(params=["sets/made.jsonl", "sets/tides.jsonl", "made"])
def elsewhere(request: pytest.FixtureRequest, lay: Lay) -> Path:
    """Twenty perturbed examples in a file or folder of their own; the labels of five originals were hid afterwards."""
    lay(train=items(range(20, 30)), test=items(range(20), hidden=range(5)))
    place = Path(request.param)
    if place.suffix:
        place.parent.mkdir()
        write_records(place, inherited(range(20)))
    else:
        card = replace(CARD, name="tides-perturbed")
        made = Dataset(
            name=card.name,
            language="ja",
            version="1",
            card=card,
            splits={"scramble-o": inherited(range(20))},
        )
        write_folder(made, place)
    return place


def test_scores_leave_out_what_inherited_from_an_original_elsewhere(
    elsewhere: Path, tmp_path: Path
) -> None:
    answers = answered(tmp_path / "a.jsonl", wrong=[0, 1, 7], of=range(20))
    shown = score(str(elsewhere), answers, options=Scoring(resamples=20)).report
    assert (shown.n, shown.hidden) == (15, 5)
    assert shown.scores[0].value == pytest.approx(100 * 14 / 15)
    assert score(str(elsewhere), answers, options=Scoring(resamples=20, hidden=True)).report.n == 20


def test_exports_leave_those_labels_behind_too(elsewhere: Path, tmp_path: Path) -> None:
    done = CliRunner().invoke(
        build(), ["data", "export", str(elsewhere), "--to", "jsonl", "--out", "out"]
    )
    assert done.exit_code == 0, done.exception
    (split,) = load(str(tmp_path / "out")).splits.values()
    assert {e.id for e in split if e.hidden} == {f"t{n}" for n in range(5)}
    assert [e.gold for e in split] == [{} if n < 5 else {"label": LABELS[n % 3]} for n in range(20)]


def test_runs_do_not_score_them_either(elsewhere: Path) -> None:
    run(
        RunRequest(tasks=(str(elsewhere),), models=("majority",)),
        RunOptions(out=Path("runs"), workers=1),
    )
    assert {found.n for r in stored_runs(Path("runs")) for found in r.scores()} == {15}


def test_one_split_is_exported_as_the_others_hide_it(lay: Lay, tmp_path: Path) -> None:
    folder = lay(test=items(range(4), hidden=[0]), made=inherited(range(4)))
    done = CliRunner().invoke(
        build(),
        ["data", "export", f"{folder}:made", "--to", "jsonl", "--out", str(tmp_path / "out")],
    )
    assert done.exit_code == 0, done.exception
    assert [e.gold == {} for e in load(str(tmp_path / "out")).splits["made"]] == [
        True,
        False,
        False,
        False,
    ]


def test_labels_are_hidden_over_several_steps(lay: Lay, tmp_path: Path) -> None:
    """What was made from what was made from a hidden one; a dataset that points back at itself ends the search."""
    lay(test=items(range(4), hidden=[0]), once=inherited(range(4)), back=inherited([3], "made:all"))
    write_records(tmp_path / "made.jsonl", inherited(range(4), "tides:once"))
    answers = answered(tmp_path / "a.jsonl", wrong=[], of=range(4))
    assert score("made.jsonl", answers, options=Scoring(resamples=20)).report.hidden == 1


def test_a_file_that_merely_bears_the_name_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("tides.json").write_text('{"not": "records"}')
    write_records(tmp_path / "made.jsonl", inherited(range(4)))
    answers = answered(tmp_path / "a.jsonl", wrong=[], of=range(4))
    assert score("made.jsonl", answers, options=Scoring(resamples=20)).report.hidden == 0


def test_the_answers_of_workers_do_not_tell_them_either(lay: Lay) -> None:
    folder = lay(train=items(range(30)), test=items(range(30, 50), hidden=range(30, 38)))
    lines = [
        {"example": f"tides:test/t{n}", "worker": w, "question": "label", "answer": LABELS[n % 3]}
        for n in range(30, 50)
        for w in "ab"
    ]
    (folder / "judgements.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    majority(folder)
    (part,) = load_task_runs(find_runs(["runs"]).results)
    found = next(DatasetNoteReader().read(part))
    assert isinstance(found.whole, AgreeReport)
    assert (found.whole.items, found.whole.distribution) == (
        12,
        {},
    )  # of hidden items nothing is counted


def test_further_sets_have_intervals_over_seeds_without_them(lay: Lay) -> None:
    """With every answer wrong but the hidden ones, an interval that saw those would not end at 0."""
    folder = lay(
        train=items(range(0, 30, 3)) + items([1, 2]),
        test=items(range(30, 40)),
        more=items([n for n in range(40, 60) if n % 3] + [60, 63, 66], hidden=[60, 63, 66]),
    )
    run(
        RunRequest(tasks=(str(folder),), models=("majority",), seeds=(0, 1)),
        RunOptions(out=Path("runs"), workers=1),
    )
    (part,) = load_task_runs(find_runs(["runs"]).results)
    found = {row.metric: row.number for row in part_rows(part) if row.set == "more"}["accuracy"]
    assert (found.value, found.low, found.high, found.sd, found.n) == (0.0, 0.0, 0.0, 0.0, 14)


def test_the_digest_of_a_set_confirms_no_hidden_label(lay: Lay) -> None:
    """Who knows all labels but one could try which of three gives the digest that a run has stored."""
    shown, hidden = items(range(1, 6)), items([0], hidden=[0])
    guesses = {
        digest_examples((replace(hidden[0], gold={"label": label}), *shown)) for label in LABELS
    }
    assert len(guesses) == 1
    assert digest_examples((*items([0]), *shown)) not in guesses


def test_runs_whose_digest_covers_hidden_labels_are_still_read(lay: Lay) -> None:
    folder = lay(train=items(range(30)), test=items(range(30, 50), hidden=range(30, 38)))
    reader = ExampleReader()
    now = reader.describe(f"{folder}:test")
    labelled = load(f"{folder}:test", hidden=True).splits["test"]
    assert reader.holds(now)
    assert reader.holds(replace(now, digest=digest_examples(labelled, hidden=True)))
    assert not reader.holds(replace(now, digest="0" * 16))


def test_a_pipe_is_covered_too() -> None:
    """A pipe can be read only once: nothing of it comes before all of it was looked at."""
    lines = b"".join(encode_json(e) + b"\n" for e in (*items([1]), *items([2], hidden=[2])))
    read, write = os.pipe()
    os.write(write, lines)
    os.close(write)
    assert [e.gold for e in open_file(Path(f"/dev/fd/{read}"))] == [{"label": "contradiction"}, {}]
    os.close(read)
