"""Corrected releases: what is checked, what is written, and which scores move."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace
from typer.testing import CliRunner

from nikawa.cli.terminal.app import build as app
from nikawa.datasets import load
from nikawa.datasets.lineage import find_lineage
from nikawa.datasets.shift import shift
from nikawa.errors import BadInput
from nikawa.io.folders import write_folder
from nikawa.recipes import amend as amending
from nikawa.recipes.amend import AmendOptions, AmendReport, amend, next_version
from nikawa.recipes.changelog import Release, ScoreMove, changelog, describe_moves
from nikawa.records import Example, Span
from nikawa.runs.job import RunOptions, RunRequest, run

E, C, N = "entailment", "contradiction", "neutral"
DAY = "2026-02-03"


def pair(name: str, label: str) -> Example:
    inputs = {"premise": f"{name}番の列車が出た", "hypothesis": "列車が出た"}
    return Example(id=name, inputs=inputs, gold={"label": label})


@pytest.fixture
def jnli(tmp_path: Path) -> str:
    """Six invented pairs under the name of JNLI, as version 1.1."""
    dev = tuple(pair(str(n), label) for n, label in enumerate((E, E, N, N, C, C)))
    whole = replace(
        load("mini-ja"), name="jnli", version="1.1", splits={"train": (pair("0", N),), "dev": dev}
    )
    write_folder(replace(whole, card=replace(whole.card, name="jnli")), tmp_path / "jnli")
    return str(tmp_path / "jnli")


@pytest.fixture
def fix(tmp_path: Path) -> Callable[[str], Path]:
    """A sheet of corrections."""

    def write(text: str, name: str = "fix.csv") -> Path:
        (tmp_path / name).write_text(text, "utf-8")
        return tmp_path / name

    return write


@pytest.fixture
def answers(tmp_path: Path) -> Callable[..., str]:
    """A file of answers to dev."""

    def write(name: str, *labels: str) -> str:
        lines = [f'{{"id": "{n}", "answer": "{label}"}}\n' for n, label in enumerate(labels)]
        (tmp_path / f"{name}.jsonl").write_text("".join(lines), "utf-8")
        return str(tmp_path / f"{name}.jsonl")

    return write


SHEET = f"id,label,before,reason,by\ndev/1,{N},{E},may be another,rin\n3,{E},,,rin\n"


@pytest.fixture
def amended(jnli: str, fix: Any, tmp_path: Path) -> AmendReport:
    how = AmendOptions(reason="Looked at again.", date=DAY)
    return amend(jnli, fix(SHEET), tmp_path / "new", options=how)


def test_the_release_has_the_new_labels(amended: AmendReport, jnli: str, tmp_path: Path) -> None:
    new = load(str(tmp_path / "new"))
    assert (new.version, new.card.version, amended.release.previous) == ("1.2", "1.2", "1.1")
    assert [e.gold["label"] for e in new.splits["dev"]] == [E, N, N, E, C, C]
    assert new.splits["train"] == load(jnli).splits["train"]
    assert new.card.problems[-1].startswith("2 gold answers were corrected at 1.2")
    assert load(jnli).splits["dev"][1].gold["label"] == E


def test_the_old_labels_stay_in_the_lineage(amended: AmendReport, tmp_path: Path) -> None:
    found = find_lineage("dev/1", tmp_path / "new")
    (change,) = found.changes
    assert (change.version, change.before, change.after) == ("1.2", E, N)
    assert (change.why, change.by) == ("may be another", "rin")
    assert found.gold == {"label": N}
    assert find_lineage("dev/0", tmp_path / "new").changes == ()


def test_the_changelog_is_for_people_and_programs(amended: AmendReport, tmp_path: Path) -> None:
    page = (tmp_path / "new" / "CHANGELOG.md").read_text("utf-8")
    assert f"## 1.2 ({DAY})\n\n2 gold answers of 1.1 corrected (dev 2). Looked at again." in page
    assert f"| jnli:dev/1 | label | {E} | {N} | may be another | rin |" in page
    (told,) = msgspec.json.decode(
        (tmp_path / "new" / "changelog.json").read_bytes(), type=list[Release]
    )
    assert told == amended.release
    assert told.counts == {"label": {f"{E} -> {N}": 1, f"{N} -> {E}": 1}}
    card = (tmp_path / "new" / "README.md").read_text("utf-8")
    assert f"- 1.2 ({DAY}): 2 gold answers of 1.1 corrected" in card
    assert f"| {E} | 0 | 2 | 2 |" in card


def test_a_second_correction_keeps_the_first(
    amended: AmendReport, fix: Any, tmp_path: Path
) -> None:
    again = fix(f"id,label\ndev/1,{C}\n", "again.csv")
    amend(
        str(tmp_path / "new"),
        again,
        tmp_path / "newer",
        options=AmendOptions(version="2.0.0", date=DAY),
    )
    assert [c.version for c in find_lineage("dev/1", tmp_path / "newer").changes] == [
        "1.2",
        "2.0.0",
    ]
    page = (tmp_path / "newer" / "CHANGELOG.md").read_text("utf-8")
    assert page.index("## 2.0.0") < page.index("## 1.2")


def test_the_same_input_gives_the_same_bytes(
    amended: AmendReport, jnli: str, fix: Any, tmp_path: Path
) -> None:
    how = AmendOptions(reason="Looked at again.", date=DAY)
    amend(jnli, fix(SHEET), tmp_path / "twin", options=how)
    for path in (tmp_path / "new").iterdir():
        assert path.read_bytes() == (tmp_path / "twin" / path.name).read_bytes(), path.name


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            f"id,label\ndev/9,{N}\n",
            r"fix\.csv, line 2: jnli 1\.1 has no example 'dev/9'; known: 0, 1",
        ),
        (
            f"id,label\n0,{C}\n",
            r"line 2: several splits have the id '0'; name one of: train/0, dev/0",
        ),
        (
            "id,label\n1,entailed\n",
            r"'entailed' is not a label of 'label'; did you mean 'entailment'\?",
        ),
        (f"id,label\n1,{E}\n", r"the label of 1 is already 'entailment'; remove the line"),
        (f"id,label\n1,{N}\ndev/1,{C}\n", r"line 3: corrects 'label' of dev/1, as line 2 does"),
        (
            f"id,label,old\n1,{N},{C}\n",
            "the label of 1 is not 'contradiction', which the line gives",
        ),
        (f"id,label,question\n1,{N},lable\n", "has no question 'lable'; did you mean 'label'"),
        (f"id,text\n1,{N}\n", r"line 1: has no new label; call it label, after"),
        (f"id,label,after\n1,{N},{N}\n", "line 1: two columns give the label"),
        (f"id,label\n,{N}\n", "line 2: has no id; fill it in"),
        ("id,label\n1,\n", "line 2: has no new label"),
        ("id,label\n", "contains no correction"),
    ],
)
def test_what_is_wrong_is_told_and_nothing_written(
    jnli: str, fix: Any, tmp_path: Path, text: str, said: str
) -> None:
    with pytest.raises(BadInput, match=said):
        amend(jnli, fix(text), tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_hidden_gold_cannot_be_corrected(jnli: str, fix: Any, tmp_path: Path) -> None:
    bare = replace(load(jnli), splits={"test": (replace(pair("1", E), gold={}),)})
    write_folder(bare, tmp_path / "bare")
    with pytest.raises(BadInput, match="1 has no gold to correct here"):
        amend(str(tmp_path / "bare"), fix(f"id,label\n1,{N}\n"), tmp_path / "new")


@pytest.mark.parametrize(
    ("old", "asked", "new"),
    [
        ("1.1", None, "1.2"),
        ("v2", None, "v2.1"),
        ("1.0.3", None, "1.1.0"),
        ("1.9", None, "1.10"),
        ("1.9", "2.0", "2.0"),
    ],
)
def test_versions_are_raised(old: str, asked: str | None, new: str) -> None:
    assert next_version(old, asked) == new


@pytest.mark.parametrize(
    ("old", "asked", "said"),
    [
        ("1.2", "1.2", "1.2 does not come after 1.2"),
        ("1.10", "1.9", "does not come after"),
        ("1.2", "next", "not a version"),
        ("spring", None, "cannot be increased automatically"),
    ],
)
def test_versions_that_do_not_rise_are_refused(old: str, asked: str | None, said: str) -> None:
    with pytest.raises(BadInput, match=said):
        next_version(old, asked)


KINDS = (
    '{"id": "%s", "question": "score", "label": 2}',
    '{"id": "%s", "question": "choice", "label": 2}',
    '{"id": "%s", "question": "answers", "label": []}',
    '{"id": "%s", "question": "spans", "label": [{"start": 0, "end": 1, "label": "%s"}]}',
)


def first(question: str) -> Example:
    return next(
        e
        for e in load("mini-ja").splits["test"]
        if question in e.gold and e.gold[question] not in (2, [])
    )


def test_every_kind_of_answer_can_be_corrected(fix: Any, tmp_path: Path) -> None:
    lines = [
        text % first(text.split('"')[7]).id
        if "spans" not in text
        else text % (first("spans").id, first("spans").gold["spans"][0].label)
        for text in KINDS
    ]
    amend("mini-ja", fix("\n".join(lines) + "\n", "fix.jsonl"), tmp_path / "new")
    new = {e.id: e.gold for e in load(str(tmp_path / "new")).splits["test"]}
    assert new[first("score").id]["score"] == 2.0
    assert new[first("choice").id]["choice"] == 2
    assert new[first("answers").id]["answers"] == []
    assert new[first("spans").id]["spans"][0].end == 1


@pytest.mark.parametrize(
    ("question", "label", "said"),
    [
        ("score", "9", "'9' is outside the scale of 'score'; it is a number from 0 to 5"),
        ("score", "high", "'high' is not a number"),
        ("score", "nan", "'nan' is not a number"),
        ("choice", "77", "there is no choice '77'"),
        ("choice", "1.5", "'1.5' is not a whole number"),
        ("answers", "none", "'none' is not JSON"),
        ("answers", '{"text": "x"}', "not of the kind of the old one"),
        ("answers", '[{"text": "無い", "start": 0}]', "does not fit: '無い' is not at 0"),
        ("spans", '[{"start": 5, "end": 2, "label": "PS"}]', "the new spans does not fit"),
        (
            "spans",
            '[{"start": 0, "end": 1, "label": "XX"}]',
            "line 2: 'XX' is not a label of 'spans'; ",
        ),
        ("spans", '[{"start": 0, "end": 0, "label": "LABEL"}]', "a span is empty"),
        (
            "spans",
            '[{"start": 0, "end": 3, "label": "LABEL"}, {"start": 2, "end": 4, "label": "LABEL"}]',
            "does not fit: two gold spans overlap",
        ),
    ],
)
def test_answers_that_do_not_fit_are_refused(
    fix: Any, tmp_path: Path, question: str, label: str, said: str
) -> None:
    known = first("spans").gold["spans"][0].label
    quoted = label.replace("LABEL", known).replace('"', '""')
    sheet = fix(f'id,question,label\n{first(question).id},{question},"{quoted}"\n')
    with pytest.raises(BadInput, match=said.replace("[", r"\[")):
        amend("mini-ja", sheet, tmp_path / "new")


def test_a_dataset_with_nested_spans_may_get_more(fix: Any, tmp_path: Path) -> None:
    nested = [Span(0, 4, "OG"), Span(0, 2, "LC")]
    rows = tuple(
        Example(id=name, inputs={"text": "부산항만공사가 문을 열었다."}, gold={"spans": spans})
        for name, spans in (("a", nested), ("b", [Span(0, 4, "OG")]))
    )
    whole = replace(load("mini-ko"), name="port", splits={"dev": rows})
    write_folder(replace(whole, card=replace(whole.card, name="port")), tmp_path / "port")
    line = '{"id": "b", "label": [{"start": 0, "end": 4, "label": "OG"}, {"start": 0, "end": 2, "label": "LC"}]}\n'
    amend(str(tmp_path / "port"), fix(line, "fix.jsonl"), tmp_path / "new")
    assert load(str(tmp_path / "new")).splits["dev"][1].gold["spans"] == nested
    with pytest.raises(BadInput, match="'PS' is not a label of 'spans'"):
        amend(
            str(tmp_path / "port"), fix(line.replace("LC", "PS"), "fix.jsonl"), tmp_path / "newer"
        )


def moves(report: AmendReport) -> dict[str, ScoreMove]:
    return {move.system: move for move in report.release.scores}


def test_scores_and_ranks_move(jnli: str, fix: Any, answers: Any, tmp_path: Path) -> None:
    files = (
        answers("strong", E, E, N, N, C, N),
        answers("weak", E, N, N, E, N, N),
        answers("odd", *[C] * 6),
    )
    report = amend(
        jnli, fix(SHEET), tmp_path / "new", options=AmendOptions(answers=files, date=DAY)
    )
    strong, weak, odd = (moves(report)[name] for name in ("strong", "weak", "odd"))
    assert [strong.before, strong.after] == pytest.approx([5 / 6, 3 / 6])
    assert [weak.before, weak.after, weak.gained, weak.lost] == pytest.approx([2 / 6, 4 / 6, 2, 0])
    assert [(m.rank_before, m.rank_after) for m in (strong, weak, odd)] == [(1, 2), (2, 1), (2, 3)]
    assert (odd.before, odd.gained, odd.lost) == (odd.after, 0, 0)
    page = (tmp_path / "new" / "CHANGELOG.md").read_text("utf-8")
    assert (
        "| jnli | dev | accuracy | weak | 33.3333 | 66.6667 | +33.3333 | 2 -> 1 | 2 | 0 |" in page
    )
    assert "| odd | 33.3333 | 33.3333 | none | 2 -> 3 | 0 | 0 |" in page
    assert "### Scores and ranks that move from" in page
    assert (
        describe_moves(report.release.scores)
        == "2 of 3 stored scores change; 1 more changes rank alone"
    )


def test_stored_scores_of_another_version_are_named_in_percent(
    runs: Path, fix: Any, tmp_path: Path
) -> None:
    """The runs answered mini-ja before its correction: under the gold of the corrected release their scores are others."""
    test = [e for e in load("mini-ja:test").splits["test"] if "label" in e.gold]
    first, second = [e.id for e in test if e.gold["label"] == E][:2]
    amend("mini-ja", fix(f"id,label\ntest/{first},{N}\n"), tmp_path / "next")
    again = amend(
        str(tmp_path / "next"),
        fix(f"id,label\ntest/{second},{N}\n", "second.csv"),
        tmp_path / "last",
        options=AmendOptions(runs=(runs,)),
    )
    notes = [note for note in again.release.notes if "is not that of 1.1" in note]
    assert any("majority" in note and "accuracy 33.3333 on test" in note for note in notes), notes


def test_answers_must_be_whole(jnli: str, fix: Any, answers: Any, tmp_path: Path) -> None:
    how = AmendOptions(answers=(answers("short", E, E),))
    with pytest.raises(BadInput, match=r"short\.jsonl: answers 2 examples of dev, 4 lack one"):
        amend(jnli, fix(f"id,label\n1,{N}\n"), tmp_path / "new", options=how)
    with pytest.raises(BadInput, match="no such file; pass --answers FILE"):
        amend(
            jnli,
            fix(f"id,label\n1,{N}\n"),
            tmp_path / "new",
            options=AmendOptions(answers=("gone.jsonl",)),
        )
    assert not (tmp_path / "new").exists()


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("store") / "runs"
    asked = RunRequest(tasks=("mini-ja-nli",), models=("majority", "char-linear"), seeds=(0, 1))
    run(asked, RunOptions(out=out, workers=1))
    return out


def labelled(split: str) -> Example:
    return next(e for e in load("mini-ja").splits[split] if e.gold.get("label") == N)


def test_stored_runs_are_scored_again(runs: Path, fix: Any, tmp_path: Path) -> None:
    lines = "".join(f"{labelled(split).id},{C}\n" for split in ("train", "test"))
    how = AmendOptions(runs=(runs,), date=DAY)
    report = amend("mini-ja", fix(f"id,label\n{lines}"), tmp_path / "new", options=how)
    found = moves(report)
    assert set(found) == {"majority", "char-linear"}
    assert {move.seeds for move in found.values()} == {2}
    stored = {s.metric: s.value for path in runs.glob("*majority*") for s in scores(path)}
    assert found["majority"].before == stored["accuracy"]
    learned = [note for note in report.release.notes if "learned from 1 corrected answers" in note]
    assert len(learned) == 4


def scores(path: Path) -> Any:
    from nikawa.runs.store import StoredRun

    return StoredRun(path).scores()[0].scores


def test_runs_on_other_data_are_told(runs: Path, fix: Any, tmp_path: Path) -> None:
    whole = load("mini-ja")
    fewer = replace(whole, splits={**whole.splits, "test": whole.splits["test"][1:]})
    other = [
        replace(e, gold={"label": E}) if e.gold.get("label") == C else e
        for e in whole.splits["test"]
    ]
    for name, dataset in (
        ("few", fewer),
        ("other", replace(whole, splits={**whole.splits, "test": tuple(other)})),
    ):
        write_folder(dataset, tmp_path / name)
    sheet = fix(
        f"id,label\n{next(e for e in whole.splits['test'][1:] if e.gold.get('label') == N).id},{C}\n"
    )
    few = amend(str(tmp_path / "few"), sheet, tmp_path / "new", options=AmendOptions(runs=(runs,)))
    assert all("answered another test" in note for note in few.release.notes)
    assert few.release.scores == ()
    moved = amend(
        str(tmp_path / "other"), sheet, tmp_path / "newer", options=AmendOptions(runs=(runs,))
    )
    assert any("the stored accuracy" in note for note in moved.release.notes)


def test_the_command_amends(jnli: str, fix: Any, answers: Any, tmp_path: Path) -> None:
    words = ["build", "--amend", jnli, "--relabel", str(fix(SHEET)), "--out", str(tmp_path / "new")]
    done = CliRunner().invoke(
        app(), [*words, "--answers", answers("mine", *[N] * 6), "--date", DAY]
    )
    assert done.exit_code == 0, done.exception
    assert "jnli 1.1 -> 1.2, 2 corrected (train 1, dev 6) written to" in done.stdout
    assert "0 of 1 stored scores change" in done.stdout
    assert isinstance(CliRunner().invoke(app(), words).exception, BadInput)
    again = CliRunner().invoke(app(), [*words, "--overwrite", "--json"])
    assert msgspec.json.decode(again.stdout)["release"]["version"] == "1.2"
    assert CliRunner().invoke(app(), [*words, "--overwrite", "--quiet"]).stdout == ""
    lacking = CliRunner().invoke(app(), ["build", "--amend", jnli, "--out", "x"])
    assert "pass --relabel FILE" in str(lacking.exception)


def test_a_folder_can_be_amended_in_place(jnli: str, fix: Any) -> None:
    folder = Path(jnli)
    (folder / "notes.txt").write_text("mine", "utf-8")
    amend(jnli, fix(SHEET), folder, options=AmendOptions(overwrite=True))
    assert load(jnli).version == "1.2"
    assert (folder / "notes.txt").read_text("utf-8") == "mine"


def test_a_release_that_fails_leaves_the_old_one(
    jnli: str, fix: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = {path.name: path.read_bytes() for path in Path(jnli).iterdir()}

    def broken(*_: Any) -> str:
        raise OSError("the disk is gone")

    monkeypatch.setattr(amending, "changelog", broken)
    with pytest.raises(OSError, match="the disk is gone"):
        amend(jnli, fix(SHEET), Path(jnli), options=AmendOptions(overwrite=True))
    assert {path.name: path.read_bytes() for path in Path(jnli).iterdir()} == before


def test_one_split_does_not_replace_the_others(jnli: str, fix: Any) -> None:
    with pytest.raises(BadInput, match="would lose the splits that are not amended: train"):
        amend(f"{jnli}:dev", fix(SHEET), Path(jnli), options=AmendOptions(overwrite=True))
    assert set(load(jnli).splits) == {"train", "dev"}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("jnli", "--amend", "mini-ja"), "the recipe jnli and --amend mini-ja cannot be combined"),
        (("jnli", "--relabel", "fix.csv"), "these options need --amend"),
    ],
)
def test_building_and_amending_are_two_things(words: tuple[str, ...], said: str) -> None:
    assert said in str(CliRunner().invoke(app(), ["build", *words]).exception)


def test_long_lists_are_cut_on_the_page(amended: AmendReport) -> None:
    many = replace(amended.release, corrections=amended.release.corrections * 150)
    assert "… and 100 more in `changelog.json`." in changelog("jnli", [many])


def test_jnli_becomes_what_was_published(shared_data: Path, fix: Any, tmp_path: Path) -> None:
    """The 29 labels that v1.2 corrected, put back and corrected again, give the published labels."""
    from nikawa.datasets.jglue.jnli import NEW, OLD

    now = load("jnli", data=shared_data)
    dev = [replace(e, gold={"label": OLD[e.id]}) if e.id in OLD else e for e in now.splits["dev"]]
    write_folder(replace(now, version="1.1", splits={"dev": tuple(dev)}), tmp_path / "old")
    sheet = fix("id,label,before\n" + "".join(f"{i},{NEW[i]},{OLD[i]}\n" for i in OLD))
    report = amend(str(tmp_path / "old"), sheet, tmp_path / "new")
    assert report.release.version == "1.2"
    assert report.release.counts == {
        "label": {f"{E} -> {N}": 16, f"{N} -> {E}": 12, f"{N} -> {C}": 1}
    }
    assert shift(str(tmp_path / "new"), "jnli", data=shared_data).changed == 0


def test_runs_on_a_folder_go_by_what_it_holds(
    jnli: str, fix: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the folder was called when the models ran."""
    monkeypatch.chdir(tmp_path)
    whole = load(jnli)
    splits = {**whole.splits, "test": whole.splits["dev"]}
    write_folder(
        replace(whole, name="mine", card=replace(whole.card, name="mine"), splits=splits),
        Path("mine"),
    )
    run(RunRequest(models=("majority",), tasks=("mine",)), RunOptions(out=Path("runs"), workers=1))
    Path("mine").rename("moved")
    how = AmendOptions(date=DAY, runs=(Path("runs"),))
    sheet = fix(f"id,label\ntest/2,{E}\ntrain/0,{E}\n")
    found = amend("moved", sheet, Path("next"), options=how).release
    assert {(move.task, move.set) for move in found.scores} == {("moved", "test")}
    assert "learned from 1 corrected answers" in found.notes[0]
    other = amend(
        "mini-ja", fix(f"id,label\n{labelled('test').id},{C}\n"), Path("other"), options=how
    ).release
    assert other.notes == ("runs contains no finished run on mini-ja",)
