"""`nikawa templates`: check, show and audit, as functions and as commands."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from nikawa.cli.terminal.app import build
from nikawa.errors import BadInput
from nikawa.generation.audit import audit_dataset
from nikawa.generation.check import check_templates
from nikawa.generation.pack import open_pack
from nikawa.generation.show import show_template

NATIVE = """\
template lamp
  category:          未言及の時点
  premise:           {agent ガ}は{time1}に{noun ヲ}を{verb 他 ガ ヲ past}。
  hypothesis:        {agent}は{time2}に{noun}を{verb past}。
  contradicts when:  time2 < time1
"""
ROWS = (
    "num\tpremise\thypothesis\tgold_label\ttemplate_num\ttime_format\ttime_span\tcategory",
    "1\tハルは3月に塔を塗った。\tハルは2月に塔を塗った。\tcontradiction\t5\t月\trandom\t未言及の時点",
    "2\tミオは2003年に橋を渡った。\tミオは2005年に橋を渡った。\tcontradiction\t5\t年\tshort\t未言及の時点",
)
Run = Callable[..., tuple[int, str]]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "lamp.txt"
    path.write_text(NATIVE, "utf-8")
    return path


@pytest.fixture
def numbered(tmp_path: Path) -> Path:
    path = tmp_path / "numbered.txt"
    path.write_text(NATIVE.replace("lamp", "5"), "utf-8")
    return path


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "test_2.tsv"
    path.write_text("".join(f"{row}\n" for row in ROWS), "utf-8")
    return path


@pytest.fixture
def run() -> Run:
    def invoke(*words: str) -> tuple[int, str]:
        done = CliRunner().invoke(build(), ["templates", *words])
        return done.exit_code, done.output

    return invoke


def test_check(file: Path, run: Run) -> None:
    report = check_templates(str(file))
    assert (report.templates, report.errors, report.warnings, report.troubles) == (1, 0, 0, ())
    assert run("check", str(file)) == (0, "1 template, 0 errors, 0 warnings\n")


def test_check_names_line_and_column(file: Path, run: Run) -> None:
    file.write_text(NATIVE.replace("time2 < time1", "time2 < time3"), "utf-8")
    status, output = run("check", str(file))
    assert status == 1
    assert f"error: {file}, line 5, column 30: time3 is in a condition but in no sentence" in output
    status, output = run("check", str(file), "--json")
    assert status == 1
    assert json.loads(output)["troubles"][0]["trouble"]["check"] == "unbound-name"


def test_warnings_count_when_strict(file: Path, run: Run) -> None:
    file.write_text(NATIVE.replace("time2 < time1", "time2 == time1"), "utf-8")
    assert run("check", str(file))[0] == 0
    assert run("check", str(file), "--strict")[0] == 1


def test_show(file: Path, run: Run) -> None:
    shown = show_template("lamp", str(file))
    assert len(shown.samples) == 3
    assert {sample.label for sample in shown.samples} == {"contradiction", "neutral"}
    assert shown.labels == {"contradiction": 20, "neutral": 20}
    assert shown == show_template("lamp", str(file))
    assert shown != show_template("lamp", str(file), seed=1)
    status, output = run("show", "lamp", str(file))
    assert status == 0
    assert "time2 < time1" in output
    assert all(
        sample.premise in output for sample in shown.samples
    )  # words of the lexicon, no placeholders
    assert "ハル" not in output
    assert len(json.loads(run("show", "lamp", str(file), "-n", "5", "--json")[1])["samples"]) == 5


def test_a_template_that_cannot_be_written_is_not_shown(file: Path) -> None:
    file.write_text(NATIVE.replace("{time2}", "{time2 -1day}"), "utf-8")
    with pytest.raises(BadInput, match=r"\{time2 -1day\} needs a day, .* nikawa templates check"):
        show_template("lamp", str(file))


def test_show_says_what_was_written(file: Path, tmp_path: Path) -> None:
    text = NATIVE.replace("は{time2}に", "は{time2}{に|には}").replace(
        "time2 < time1", "time2 <= time1 < time2"
    )
    file.write_text(text.replace("category: ", "given:  time1 != time2\n  category: "), "utf-8")
    shown = show_template("lamp", str(file))
    assert shown.premise == "{agent ガ}は{time1}に{noun ヲ}を{verb 他 ガ ヲ past}。"
    assert shown.hypothesis == "{agent}は{time2}{に|には}{noun}を{verb past}。"
    assert (shown.contradicts, shown.given, shown.entails) == (
        "time2 <= time1 < time2",
        "time1 != time2",
        "never",
    )
    assert shown.slots == ("agent1", "time1", "noun1", "verb1", "time2", "{に|には}")


def test_show_takes_words_from_elsewhere(file: Path) -> None:
    words = {"agent_1": "ナギ", "noun_1": "櫂", "verb_1.past": "削った"}
    (sample,) = show_template("lamp", str(file), n=1, draw_words=lambda cell, chance: words).samples
    assert sample.premise.endswith("に櫂を削った。")


def test_show_says_where_words_are_placeholders(tmp_path: Path, run: Run) -> None:
    head = 'name = "p"\nlanguage = "ja"\ntitle = "p"\nlicence = "x"\ntemplates = ["lamp.txt"]\n'
    (tmp_path / "pack.toml").write_text(head, "utf-8")
    (tmp_path / "lamp.txt").write_text(NATIVE.replace("他 ガ ヲ", "他 ガ ヲ #sails"), "utf-8")
    status, output = run("show", "lamp", str(tmp_path))
    assert status == 0
    assert "The words of the samples are placeholders: template lamp has a verb that" in output
    assert not show_template("chain-1", "comparative-ja").placeholders


def test_a_lexicon_that_is_not_there_is_reported(tmp_path: Path, run: Run) -> None:
    head = 'name = "p"\nlanguage = "ja"\ntitle = "p"\nlicence = "x"\ntemplates = ["lamp.txt"]\n'
    (tmp_path / "pack.toml").write_text(head + 'lexicon = "wrods"\n', "utf-8")
    (tmp_path / "lamp.txt").write_text(NATIVE, "utf-8")
    status, output = run("check", str(tmp_path))
    assert status == 1
    assert f"error: {tmp_path / 'pack.toml'}, line 6, column 1: " in output
    assert "'wrods'" in output
    assert "1 template, 1 error, 0 warnings" in output


def test_unknown_template(file: Path) -> None:
    with pytest.raises(BadInput, match="did you mean 'lamp'"):
        show_template("lamb", str(file))


def test_audit_of_a_test_file(numbered: Path, data: Path, run: Run) -> None:
    report = audit_dataset(str(numbered), str(data))
    assert (report.rows, report.parsed, report.agree, report.disagree) == (2, 2, 1, (2,))
    status, output = run("audit", str(numbered), str(data), "--json")
    assert status == 1
    assert set(json.loads(output)) == {"rows", "parsed", "agree", "disagree", "findings"}
    assert json.loads(output)["disagree"] == [2]
    data.write_text("\n".join(ROWS[:2]) + "\n", "utf-8")
    status, output = run("audit", str(numbered), f"jamp:test@{data}")
    assert (status, output) == (0, "1 rows, 1 read back, 1 labels agree\n")


def test_audit_needs_templates_in_the_data(numbered: Path) -> None:
    with pytest.raises(BadInput, match="names no template"):
        audit_dataset(str(numbered), "mini-ja:dev")


def test_published_templates_by_name(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="nikawa data fetch jamp"):
        open_pack("jamp", tmp_path)


@pytest.mark.slow
def test_published_audit(shared_data: Path, run: Run) -> None:
    train = shared_data / "jamp/dataset/train_all.tsv"
    status, output = run("audit", "jamp", str(train), "--data", str(shared_data), "--json")
    found = json.loads(output)
    assert status == 1
    assert (found["rows"], found["parsed"], found["agree"]) == (9950, 9950, 9946)
    assert found["disagree"] == [3763, 3767, 7807, 7809]
    status, output = run(
        "audit", "jamp", "jamp:train", "--data", str(shared_data), "--compat", "--json"
    )
    assert (status, json.loads(output)["agree"]) == (0, 9950)
    status, output = run("check", "jamp", "--data", str(shared_data))
    assert (status, output.splitlines()[-1]) == (0, "79 templates, 0 errors, 8 warnings")
