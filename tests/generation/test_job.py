"""`nikawa generate`: counts, bytes that do not depend on workers or chunks, resuming, splits, the gate, the card."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from nikawa.checks.artifacts import Pair
from nikawa.checks.job import check
from nikawa.cli.generate import print_gate
from nikawa.cli.terminal.app import build
from nikawa.datasets import load
from nikawa.errors import BadInput
from nikawa.generation import job
from nikawa.generation.job import GenerateOptions, GenerateReport, generate
from nikawa.generation.journal import JOURNAL, UNFINISHED, GrowingFiles
from nikawa.records import Card

TEMPLATES = """\
template lit
  category:          時点
  premise:           {agent ガ}は{time1}に{noun ヲ}を{verb 他 ガ ヲ point past}。
  hypothesis:        {agent}は{time2}に{noun}を{verb past}。
  entails when:      time2 < time1
  contradicts when:  time1 < time2

template both
  category:          順序
  premise:           {agent1 ガ1}も{agent2 ガ2}も{verb 自 ガ1 ガ2 past}。
  hypothesis:        {agent2}は{agent1}より先に{verb past}。
"""
UNEVEN = """
template never
  category:          否定
  premise:           {agent ガ}は断じて{noun ヲ}を{verb 他 ガ ヲ point negative}。
  hypothesis:        {agent}は{time1}に{noun}を{verb past}。
  contradicts:       always
"""
HEAD = """\
name = "small"
language = "ja"
title = "A small pack"
licence = "CC0-1.0"
templates = ["templates.txt"]
lexicon = "ja"
formats = ["年", "月"]
[cells.train]
per = 7
[cells.test]
per = 3
[split.points]
category = ["順序"]
[split.years]
extends = "points"
time_format = ["月"]
"""
Make = Callable[..., GenerateReport]


@pytest.fixture
def pack(tmp_path: Path) -> Path:
    folder = tmp_path / "small"
    folder.mkdir()
    (folder / "pack.toml").write_text(HEAD, "utf-8")
    (folder / "templates.txt").write_text(TEMPLATES, "utf-8")
    return folder


@pytest.fixture(autouse=True)
def _tell_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nikawa.generation.journal.SAVE_SECONDS", 0.0)


@pytest.fixture
def make(pack: Path, tmp_path: Path) -> Make:
    def run(name: str, **options: object) -> GenerateReport:
        return generate(str(pack), tmp_path / name, options=GenerateOptions(**options))  # type: ignore[arg-type]

    return run


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_counts_and_card(make: Make, tmp_path: Path) -> None:
    report = make("a", seed=4)
    assert report.splits["train"].cells == 9
    assert report.splits["train"].labels == {"entailment": 28, "contradiction": 28, "neutral": 7}
    assert report.splits["test"].problems == 27
    assert (report.unreachable, report.short) == ((), {})
    dataset = load(str(tmp_path / "a"))
    assert {split: len(examples) for split, examples in dataset.splits.items()} == {
        "train": 63,
        "test": 27,
    }
    card: Card = dataset.card
    assert (card.name, card.version, card.languages) == ("small", "7-per-cell-seed-4", ("ja",))
    empty = {name for name in card.__struct_fields__ if not getattr(card, name)}
    assert empty == {"label_sets"}  # the gold uses every label
    files = ["card.json", "known.toml", "test.jsonl", "train.jsonl"]
    assert sorted(content(tmp_path / "a")) == files
    cells = Counter(example.meta["cell"] for example in dataset.splits["train"])
    assert set(cells.values()) == {7}


def test_numbers_by_split_and_in_all(make: Make) -> None:
    counted = make("a", counts={"": 2, "test": 1})
    assert [found.problems for found in counted.splits.values()] == [18, 9]
    assert make("b", counts={"": 100}, per="total").splits["train"].per == 11
    assert list(make("c", counts={"test": 0}).splits) == ["train"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"counts": {"": -1}}, "train: -1 problems cannot be made"),
        ({"counts": {"dev": 1}}, "there is no split of small 'dev'"),
        ({"per": "row"}, "there is no way to count 'row'"),
        ({"splits": ("hard",)}, "there is no training split of small 'hard'"),
        ({"counts": {"": 0, "test": 0}}, "no problem is asked for"),
    ],
)
def test_what_cannot_be_asked(make: Make, options: dict[str, object], said: str) -> None:
    with pytest.raises(BadInput, match=said):
        make("a", **options)


@pytest.mark.slow
def test_bytes_do_not_depend_on_workers_or_chunks(make: Make, tmp_path: Path) -> None:
    make("a", seed=1)
    for name, options in {
        "b": {"chunk": 4},
        "c": {"workers": 2, "chunk": 5},
        "d": {"workers": 3, "chunk": 1},
    }.items():
        make(name, seed=1, **options)
        assert content(tmp_path / name) == content(tmp_path / "a")
    make("e", seed=2)
    assert content(tmp_path / "e")["train.jsonl"] != content(tmp_path / "a")["train.jsonl"]


def test_fewer_problems_are_the_first_of_more(make: Make, tmp_path: Path) -> None:
    make("a", counts={"": 3})
    make("b", counts={"": 6})
    few, many = ({e.id: e for e in load(str(tmp_path / name)).splits["train"]} for name in "ab")
    assert len(few) == 27
    assert few.items() <= many.items()


@pytest.mark.parametrize("after", [1, 3, 7])
def test_goes_on_where_it_was_killed(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, after: int
) -> None:
    make("whole", chunk=10, splits=("all",))
    chunks: list[list[job.CellSlice]] = []
    limit = [after]

    def killed(self: job.Plan, chunk: list[job.CellSlice]) -> list[bytes]:
        chunks.append(chunk)
        if len(chunks) > limit[0]:
            raise KeyboardInterrupt
        return before(self, chunk)

    before = job.Plan.make
    monkeypatch.setattr(job.Plan, "make", killed)
    with pytest.raises(KeyboardInterrupt):
        make("a", chunk=10, splits=("all",))
    assert not (tmp_path / "a" / "card.json").exists()
    assert not (tmp_path / "a" / "train.jsonl").exists()
    part = tmp_path / "a" / f".train.jsonl{UNFINISHED}"
    with part.open("ab") as stream:  # what came after the last word of the journal
        stream.write(b'{"half a li')
    chunks.clear()
    limit[0] = 100
    make("a", chunk=10, splits=("all",))
    assert len(chunks) == 9 - after
    assert content(tmp_path / "a") == content(tmp_path / "whole")


def test_goes_on_when_killed_between_renames(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make("whole")
    whole_replace = Path.replace

    def replace(self: Path, target: Path) -> Path:
        if self.name == f".test.jsonl{UNFINISHED}":
            raise KeyboardInterrupt
        return whole_replace(self, target)

    monkeypatch.setattr(Path, "replace", replace)
    with pytest.raises(KeyboardInterrupt):
        make("a")
    monkeypatch.undo()
    make("a")
    assert content(tmp_path / "a") == content(tmp_path / "whole")


def test_other_settings_do_not_mix(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(self: job.Plan, chunk: list[job.CellSlice]) -> list[bytes]:
        if chunk[0].split == "test":
            raise KeyboardInterrupt
        return before(self, chunk)

    before = job.Plan.make
    monkeypatch.setattr(job.Plan, "make", killed)
    with pytest.raises(KeyboardInterrupt):
        make("a", chunk=9)
    monkeypatch.undo()
    with pytest.raises(
        BadInput, match="holds an unfinished run with other settings; repeat the command"
    ):
        make("a", seed=8, chunk=9)
    make("a", seed=8, overwrite=True)
    assert JOURNAL not in content(tmp_path / "a")
    with pytest.raises(BadInput, match="already contains a dataset"):
        make("a", seed=8)


def test_other_files_stay_and_old_splits_go(make: Make, tmp_path: Path) -> None:
    make("a", splits=("points",))
    (tmp_path / "a" / "notes.md").write_text("mine")
    make("a", overwrite=True)
    files = ["card.json", "known.toml", "notes.md", "test.jsonl", "train.jsonl"]
    assert sorted(content(tmp_path / "a")) == files
    (tmp_path / "a" / "card.json").unlink()
    with pytest.raises(BadInput, match="holds splits already"):
        make("a")


def test_training_splits_are_parts_of_train(make: Make, tmp_path: Path) -> None:
    report = make("a", splits=("all",))
    assert (report.splits["points"].problems, report.splits["years"].problems) == (56, 28)
    splits = load(str(tmp_path / "a")).splits
    assert splits["points"] == tuple(e for e in splits["train"] if e.meta["category"] == "時点")
    assert splits["years"] == tuple(e for e in splits["points"] if e.meta["time_format"] == "年")
    assert Counter(e.meta["years"] for e in splits["test"]) == {"seen": 12, "unseen": 15}
    found = check(str(tmp_path / "a"))
    assert found.views == {"points": "train", "years": "train"}
    assert not any(name in finding.where for finding in found.findings for name in found.views)


def test_a_cell_that_runs_out_is_told(make: Make, pack: Path) -> None:
    words = pack / "words"
    words.mkdir()
    (words / "lexicon.toml").write_text(
        'name="w"\nlanguage="ja"\ntitle="t"\nlicence="CC0"\nprovenance="invented"\n', "utf-8"
    )
    (words / "agents.txt").write_text(
        " ".join(f"名{c}" for c in "あいうえおかきくけこさしすせそ"), "utf-8"
    )
    (words / "frames.tsv").write_text(
        "verb\tclass\ttransitive\ttimes\tunits\tstate\tnouns\n"
        "磨く\t五段・カ行イ音便\tyes\tpoint\tyear month\tno\tヲ=灯台 塔\n着く\t五段・カ行イ音便\tno\tpoint\thour\tno\t\n",
        "utf-8",
    )
    (pack / "pack.toml").write_text(HEAD.replace('lexicon = "ja"', 'lexicon = "words"'), "utf-8")
    report = make("a", counts={"": 300})
    assert list(report.short) == ["both/-/-/neutral"]
    assert 100 < report.short["both/-/-/neutral"] < 200
    assert report.splits["train"].problems == 8 * 300 + report.short["both/-/-/neutral"]


def test_the_gate_tries_again(
    make: Make,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    from nikawa.generation.artifact_gate import GateVerdict

    verdicts = iter([False, False, True])
    pair = Pair(token="本", label="neutral", n=9, count=8, share=8 / 9, critical=7, p=0.0)
    seen = []

    def judge(
        maker: object, places: object, path: Path, allowed: int, tokeniser: str | None
    ) -> GateVerdict:
        seen.append(path.read_bytes())
        passed = next(verdicts)
        return GateVerdict(
            passed=passed,
            allowed=allowed,
            vocabulary=1,
            threshold=1.0,
            tokeniser="ipadic",
            over=() if passed else (pair,),
        )

    monkeypatch.setattr(job, "judge_artifacts", judge)
    report = make("a", gate=0)
    assert report.attempt == 2
    assert report.failed == (("本 neutral",), ("本 neutral",))
    print_gate(report)
    assert "Attempt 2: 1 pair over the line: 本 neutral\n" in capsys.readouterr().out
    assert len(set(seen)) == 3
    assert load(str(tmp_path / "a")).card.version == "7-per-cell-seed-0+2"


@pytest.mark.slow
def test_the_gate_names_the_literals_that_make_it_impossible(
    make: Make, pack: Path, tmp_path: Path
) -> None:
    (pack / "templates.txt").write_text(TEMPLATES + UNEVEN, "utf-8")
    report = make("a", gate=0, counts={"": 20})
    assert report.gate is not None
    assert not report.gate.passed
    culprits = {(c.token, c.label): c for c in report.gate.impossible}
    assert culprits["断じて", "contradiction"].templates == ("never",)
    assert culprits["断じて", "contradiction"].n == culprits["断じて", "contradiction"].count == 80
    assert report.attempt == 0
    assert not (tmp_path / "a").exists()
    assert "balance the labels of never" in culprits["断じて", "contradiction"].sentence()


@pytest.mark.slow
def test_the_temporal_pack_passes_the_gate(tmp_path: Path) -> None:
    report = generate("temporal-ja", tmp_path / "a", options=GenerateOptions(seed=1, gate=0))
    assert report.gate is not None
    assert (report.gate.passed, report.gate.over) == (True, ())
    assert report.gate.vocabulary > 800
    assert not any("artifacts" in problem for problem in load(str(tmp_path / "a")).card.problems)


@pytest.mark.slow
def test_the_published_counts(shared_data: Path, tmp_path: Path) -> None:
    report = generate(
        "jamp", tmp_path / "a", data=shared_data, options=GenerateOptions(seed=1, splits=("all",))
    )
    found = {name: (s.problems, tuple(s.labels.values())) for name, s in report.splits.items()}
    assert found == {
        "train": (9950, (3050, 3540, 3360)),
        "test": (348, (114, 116, 118)),
        "template-easy": (6730, (2480, 1600, 2650)),
        "template-hard": (5460, (1920, 1520, 2020)),
        "timeformat-easy": (7960, (2490, 2760, 2710)),
        "timeformat-hard": (5970, (1930, 1980, 2060)),
        "timespan-easy": (5270, (1660, 1840, 1770)),
    }
    assert (report.splits["train"].cells, report.splits["test"].cells, len(report.unreachable)) == (
        995,
        174,
        18,
    )
    marks = Counter(e.meta["template-hard"] for e in load(str(tmp_path / "a")).splits["test"])
    assert marks == {"seen": 194, "unseen": 154}


def test_the_command(pack: Path, tmp_path: Path) -> None:
    words = [
        "generate",
        str(pack),
        "--out",
        str(tmp_path / "a"),
        "-n",
        "5",
        "-n",
        "test=1",
        "--seed",
        "2",
        "--json",
    ]
    done = CliRunner().invoke(build(), words)
    assert done.exit_code == 0, done.output
    assert json.loads(done.output)["splits"]["train"]["problems"] == 45
    shown = CliRunner().invoke(build(), [*words[:-1], "--overwrite", "--split", "points"]).output
    assert "points" in shown
    assert "seed 2" in shown
    assert CliRunner().invoke(build(), [*words[:4], "-n", "many"]).exit_code != 0
    assert not CliRunner().invoke(build(), [*words[:-1], "--overwrite", "--quiet"]).output


@pytest.mark.slow
def test_a_kill_from_outside_leaves_a_run_to_go_on_with(pack: Path, tmp_path: Path) -> None:
    code = (
        "import os, signal, sys; from pathlib import Path; from nikawa.generation.job import GenerateOptions, generate\n"
        "import nikawa.generation.journal as files; files.SAVE_SECONDS = 0.0\n"
        "generate(sys.argv[1], Path(sys.argv[2]), options=GenerateOptions(counts={'': 200}, chunk=100),\n"
        "  on_progress=lambda done, total: done >= 600 and os.kill(os.getpid(), signal.SIGKILL))"
    )
    killed = subprocess.run(
        [sys.executable, "-c", code, str(pack), str(tmp_path / "a")], check=False
    )
    assert killed.returncode == -9
    told: list[int] = []
    options = GenerateOptions(counts={"": 200}, chunk=100)
    generate(
        str(pack),
        tmp_path / "a",
        options=options,
        on_progress=lambda done, total: told.append(done),
    )
    assert told[0] == 700
    generate(str(pack), tmp_path / "b", options=options)
    assert content(tmp_path / "a") == content(tmp_path / "b")


def test_a_gate_without_problems_is_refused(tmp_path: Path) -> None:
    for options in (
        GenerateOptions(counts={"": 0}, gate=0),
        GenerateOptions(counts={"": 0}, splits=("all",)),
    ):
        with pytest.raises(BadInput, match="need problems of the first split"):
            generate("temporal-ja", tmp_path / "out", options=options)
    assert not (tmp_path / "out").exists()


def whole_folder(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def test_the_old_dataset_stays_until_the_new_one_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    generate("comparative-ja", out, options=GenerateOptions(counts={"": 1}, seed=1))
    (out / "notes.txt").write_text("mine")
    before = whole_folder(out)

    def broken(files: GrowingFiles) -> None:
        raise OSError("the disk is full")

    with monkeypatch.context() as patched:
        patched.setattr(GrowingFiles, "finish", broken)
        with pytest.raises(OSError, match="disk is full"):
            generate(
                "comparative-ja",
                out,
                options=GenerateOptions(counts={"": 1}, seed=2, overwrite=True),
            )
    assert _visible(out) == before
    report = generate(
        "comparative-ja", out, options=GenerateOptions(counts={"": 1}, seed=2, overwrite=True)
    )
    assert report.folder == str(out)
    after = whole_folder(out)
    assert after.keys() == before.keys()
    assert after["notes.txt"] == b"mine"
    assert after["train.jsonl"] != before["train.jsonl"]


def _visible(folder: Path) -> dict[str, bytes]:
    return {
        file.name: file.read_bytes() for file in folder.iterdir() if not file.name.startswith(".")
    }


def test_a_failed_gate_leaves_the_old_dataset(make: Make, pack: Path, tmp_path: Path) -> None:
    (pack / "templates.txt").write_text(TEMPLATES + UNEVEN, "utf-8")
    out = tmp_path / "out"
    make("out", counts={"": 1})
    before = whole_folder(out)
    report = make("out", counts={"": 20}, gate=0, overwrite=True)
    assert report.gate is not None
    assert not report.gate.passed
    assert whole_folder(out) == before


def test_a_wrong_tokeniser_is_told_before_the_work(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="bogus"):
        generate(
            "comparative-ja",
            tmp_path / "out",
            options=GenerateOptions(counts={"": 1}, gate=0, tokeniser="bogus"),
        )
    assert not (tmp_path / "out").exists()


def test_overwriting_cures_a_broken_journal(tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / JOURNAL).write_text("{")
    with pytest.raises(BadInput, match=r"journal of an unfinished run cannot be read.*--overwrite"):
        generate("comparative-ja", out, options=GenerateOptions(counts={"": 1}))
    generate("comparative-ja", out, options=GenerateOptions(counts={"": 1}, overwrite=True))
    assert (out / "card.json").exists()


def test_what_killed_workers_left_is_removed(tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    stale = out / f".chunk-7{UNFINISHED}"
    stale.write_bytes(b"x")
    generate("comparative-ja", out, options=GenerateOptions(counts={"": 1}))
    assert not stale.exists()


def test_fewer_problems_than_cells_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"10 problems do not reach [\d,]+ cells"):
        generate(
            "temporal-ja", tmp_path / "out", options=GenerateOptions(counts={"": 10}, per="total")
        )


def test_a_faulty_pack_of_ones_own_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "mine.txt"
    path.write_text(
        "template one\n"
        "  category:          順序\n"
        "  premise:           {agent ガ}は{time1}に着いた。{agent}は{time2}に出た。\n"
        "  hypothesis:        {agent}は着いた。\n"
        "  entails when:      time2 < time1 and time1 < time2\n",
        "utf-8",
    )
    with pytest.raises(BadInput, match=r"mine\.txt.*templates check"):
        generate(str(path), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_dataset_may_have_the_name_of_its_pack(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for _ in range(2):
        report = generate(
            "comparative-ja",
            Path("comparative-ja"),
            options=GenerateOptions(counts={"": 1}, overwrite=True),
        )
    assert report.splits["train"].problems == report.splits["train"].cells


@pytest.mark.slow
def test_the_comparative_pack_passes_the_gate(tmp_path: Path) -> None:
    report = generate(
        "comparative-ja",
        tmp_path / "a",
        options=GenerateOptions(counts={"": 40, "test": 0}, gate=0),
    )
    assert report.gate is not None
    assert report.gate.passed


def test_the_command_on_the_card_makes_the_same_bytes(
    make: Make, pack: Path, tmp_path: Path
) -> None:
    from nikawa.io.cards import making_command

    make("one", counts={"": 4, "test": 2}, seed=3, splits=("points",), gate=2)
    typed = making_command(load(str(tmp_path / "one")).card)
    assert (
        typed
        == f"nikawa generate {pack} -n 4 -n test=2 --seed 3 --split points --gate --gate-over 2"
    )
    done = CliRunner().invoke(build(), [*typed.split()[1:], "--out", str(tmp_path / "two")])
    assert done.exit_code == 0, done.output
    assert content(tmp_path / "one") == content(tmp_path / "two")


WORDLESS = """\
template bare
  category:          時点
  premise:           祭りは{time1}にあった。
  hypothesis:        祭りは{time2}より前にあった。
  entails when:      time1 < time2
  contradicts when:  time2 < time1
"""


def test_a_split_without_a_problem_is_refused(make: Make, pack: Path, tmp_path: Path) -> None:
    (pack / "templates.txt").write_text(WORDLESS, "utf-8")
    with pytest.raises(
        BadInput, match=r"test: no problem can be made, .* apart from train; add an .* -n test=0"
    ):
        make("a")
    assert not (tmp_path / "a").exists()
    assert list(make("a", counts={"test": 0}).splits) == ["train"]


def test_templates_a_split_cannot_have_are_named(make: Make, pack: Path) -> None:
    (pack / "templates.txt").write_text(f"{TEMPLATES}\n{WORDLESS}", "utf-8")
    assert make("a").untested == {"test": ("bare",)}


def test_problems_that_come_twice_are_counted(make: Make, pack: Path, tmp_path: Path) -> None:
    (pack / "templates.txt").write_text(WORDLESS, "utf-8")
    report = make("a", counts={"": 200, "test": 0})
    texts = [tuple(e.inputs.values()) for e in load(str(tmp_path / "a")).splits["train"]]
    assert report.repeated == {"train": len(texts) - len(set(texts))}
    assert report.repeated["train"] > 0
    command = ["generate", str(pack), "--out", str(tmp_path / "b"), "-n", "200", "-n", "test=0"]
    told = CliRunner().invoke(build(), command).output
    assert (
        f"Duplicates: {report.repeated['train']:,} of {len(texts):,} problems of train; add words"
        in told
    )


def test_what_a_total_does_not_reach_is_told(make: Make, pack: Path, tmp_path: Path) -> None:
    assert make("a", counts={"": 100}, per="total").asked == {"train": 100}
    assert make("b", counts={"": 99}, per="total").asked == {}
    command = ["generate", str(pack), "--out", str(tmp_path / "c"), "-n", "100", "--per", "total"]
    told = CliRunner().invoke(build(), command).output
    assert "train: 99 of the 100 requested problems, 11 from each of 9 cells." in told


@pytest.mark.slow
@pytest.mark.parametrize("workers", ["1", "2"])
def test_an_interruption_says_that_the_run_can_go_on(
    pack: Path, tmp_path: Path, workers: str
) -> None:
    code = (
        "import os, signal, sys; import nikawa.generation.journal as files; files.SAVE_SECONDS = 0.0\n"
        "save = files.GrowingFiles.save; count = [0]\n"
        "def stop(self):\n"
        "    save(self); count[0] += 1\n"
        "    if count[0] == 3: os.killpg(0, signal.SIGINT)\n"
        "files.GrowingFiles.save = stop\n"
        "from nikawa.cli.terminal.app import main; main()"
    )
    words = [
        "generate",
        str(pack),
        "-n",
        "4000",
        "--out",
        str(tmp_path / "a"),
        "--workers",
        workers,
    ]
    done = subprocess.run(
        [sys.executable, "-c", code, *words],
        capture_output=True,
        text=True,
        check=False,
        start_new_session=True,
    )
    assert done.returncode == 130
    assert done.stderr == "nikawa: interrupted; run the same command to resume\n"
    assert (
        generate(str(pack), tmp_path / "a", options=GenerateOptions(counts={"": 4000}))
        .splits["train"]
        .problems
        > 0
    )
