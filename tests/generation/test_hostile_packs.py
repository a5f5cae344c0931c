"""Packs, lexicons and folders from elsewhere: what they may not do, and messages that name the file."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from nikawa.errors import BadInput
from nikawa.generation.check import check_templates
from nikawa.generation.job import NEW_FOLDER, GenerateOptions, generate
from nikawa.generation.journal import JOURNAL, unfinished_path
from nikawa.generation.lexicon import SHIPPED_FOLDER

Nikawa = Callable[..., CompletedProcess[str]]

TEMPLATES = """\
template lit
  category:          時点
  premise:           {agent ガ}は{time1}に{noun ヲ}を{verb 他 ガ ヲ point past}。
  hypothesis:        {agent}は{time2}に{noun}を{verb past}。
  entails when:      time2 < time1
  contradicts when:  time1 < time2
"""
HEAD = """\
name = "small"
language = "ja"
title = "A small pack"
licence = "CC0-1.0"
templates = ["templates.txt"]
lexicon = "LEXICON"
formats = ["年", "月"]
[cells.train]
per = 40
[cells.test]
per = 3
"""


def write_pack(folder: Path, more: str = "", lexicon: str = "ja") -> Path:
    folder.mkdir()
    (folder / "pack.toml").write_text(HEAD.replace("LEXICON", lexicon) + more, "utf-8")
    (folder / "templates.txt").write_text(TEMPLATES, "utf-8")
    return folder


def names_below(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


@pytest.mark.parametrize("table", ["cells", "split"])
@pytest.mark.parametrize("name", ["/../../x", "a/b", "..", "x\\u0000y", "nul", "Train", "lineage"])
def test_a_split_cannot_lead_elsewhere(
    table: str, name: str, tmp_path: Path, nikawa: Nikawa
) -> None:
    pack = write_pack(tmp_path / "pack", f'[{table}."{name}"]\n')
    (tmp_path / "x.jsonl").write_text("mine")
    before = names_below(tmp_path)
    with pytest.raises(BadInput, match=r"pack\.toml: split"):
        check_templates(str(pack))
    out = str(tmp_path / "deep" / "out")
    result = nikawa("generate", str(pack), "-n", "1", "--split", "all", "--out", out)
    assert (result.returncode, result.stderr.count("\n")) == (2, 1)
    assert f"{pack / 'pack.toml'}: split" in result.stderr
    assert names_below(tmp_path) == before
    assert (tmp_path / "x.jsonl").read_text() == "mine"


def test_two_tables_of_one_split(tmp_path: Path) -> None:
    pack = write_pack(tmp_path / "pack", "[split.test]\n")
    with pytest.raises(BadInput, match=r"both \[cells\.test\] and \[split\.test\]"):
        check_templates(str(pack))


def test_a_pack_cannot_have_a_name_that_no_dataset_has(tmp_path: Path) -> None:
    pack = write_pack(tmp_path / "pack")
    head = (pack / "pack.toml").read_text("utf-8").replace('"small"', '"a/../b"')
    (pack / "pack.toml").write_text(head, "utf-8")
    with pytest.raises(BadInput, match=r"pack\.toml: 'a/../b' cannot name a dataset"):
        check_templates(str(pack))


def interrupt(pack: Path, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave an unfinished run with a journal in `out`."""
    monkeypatch.setattr("nikawa.generation.journal.SAVE_SECONDS", 0.0)

    def stop(done: int, total: int) -> None:
        if done > total // 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        generate(str(pack), out, options=GenerateOptions(chunk=50), on_progress=stop)
    assert (out / JOURNAL).is_file()


def test_a_target_that_came_meanwhile_is_not_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pack, out = write_pack(tmp_path / "pack"), tmp_path / "out"
    interrupt(pack, out, monkeypatch)
    (out / "train.jsonl").write_text("mine")
    options = GenerateOptions(chunk=50)
    with pytest.raises(BadInput, match=r"train\.jsonl: already exists; move it away"):
        generate(str(pack), out, options=options)
    unfinished_path(out, "train").unlink()
    with pytest.raises(BadInput, match=r"already exists; move it away"):
        generate(str(pack), out, options=options)
    assert (out / "train.jsonl").read_text() == "mine"


def test_links_in_the_target_lead_nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pack, out, options = (
        write_pack(tmp_path / "pack"),
        tmp_path / "out",
        GenerateOptions(chunk=50),
    )
    interrupt(pack, out, monkeypatch)
    victim = tmp_path / "victim"
    for name in (unfinished_path(out, "train").name, ".chunk-0.unfinished", JOURNAL):
        content = (out / name).read_bytes() if (out / name).exists() else b"mine"
        victim.write_bytes(content)
        (out / name).unlink(missing_ok=True)
        (out / name).symlink_to(victim)
        if name == ".chunk-0.unfinished":
            generate(str(pack), out, options=GenerateOptions(chunk=50, workers=2, overwrite=True))
        else:
            with pytest.raises(BadInput, match="leads out of the output folder"):
                generate(str(pack), out, options=options)
        assert victim.read_bytes() == content
        (out / name).unlink(missing_ok=True)
        (out / "card.json").unlink(missing_ok=True)
        generate(str(pack), out, options=GenerateOptions(chunk=50, overwrite=True))
        (out / "card.json").unlink()
        for split in ("train", "test"):
            (out / f"{split}.jsonl").unlink()
        interrupt(pack, out, monkeypatch)


def test_a_new_dataset_is_not_made_in_another_folder(tmp_path: Path) -> None:
    pack, out, elsewhere = write_pack(tmp_path / "pack"), tmp_path / "out", tmp_path / "elsewhere"
    generate(str(pack), out)
    elsewhere.mkdir()
    (elsewhere / "notes.txt").write_text("mine")
    (out / NEW_FOLDER).symlink_to(elsewhere)
    with pytest.raises(BadInput, match="leads out of the output folder"):
        generate(str(pack), out, options=GenerateOptions(seed=2, overwrite=True))
    assert names_below(elsewhere) == ["notes.txt"]


@pytest.mark.parametrize("workers", [1, 2])
def test_a_full_disk_names_the_file_and_leaves_nothing(workers: int, tmp_path: Path) -> None:
    """A limit on the size of files fails as a full disk does: while writing, without a name."""
    pack, out = write_pack(tmp_path / "pack"), tmp_path / "out"
    command = ["generate", str(pack), "--out", str(out), "--workers", str(workers), "-n", "4000"]

    def run(limit: int | None) -> CompletedProcess[str]:
        def set_limit() -> None:
            if limit is not None:
                resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

        return subprocess.run(
            [sys.executable, "-m", "nikawa", *command, "--quiet"],
            preexec_fn=set_limit,
            capture_output=True,
            text=True,
            check=False,
        )

    result = run(30_000)
    assert (result.returncode, result.stderr.count("\n")) == (2, 1), result.stderr
    assert result.stderr.startswith(f"nikawa: {out}")
    assert "run the same command again" in result.stderr
    assert not out.exists()
    assert run(None).returncode == 0
    assert {path.name for path in out.iterdir()} == {
        "train.jsonl",
        "test.jsonl",
        "card.json",
        "known.toml",
    }


def copy_lexicon(folder: Path, file: str, old: str, new: str) -> Path:
    """The shipped lexicon with one word replaced."""
    folder.mkdir()
    for path in (SHIPPED_FOLDER / "ja").iterdir():
        text = path.read_text("utf-8")
        if path.name == file:
            assert old in text
            text = text.replace(old, new, 1)
        (folder / path.name).write_text(text, "utf-8")
    return folder


def test_a_word_that_does_not_conjugate_is_named_with_its_line(tmp_path: Path) -> None:
    words = copy_lexicon(tmp_path / "words", "frames.tsv", "読む\t五段・マ行", "読まぬ\t何か")
    pack = write_pack(tmp_path / "pack", lexicon="../words")
    with pytest.raises(
        BadInput, match=r"frames\.tsv, line 2: '読まぬ' does not conjugate"
    ) as error:
        generate(str(pack), tmp_path / "out")
    assert Path(str(error.value.file)) == words.resolve() / "frames.tsv"
    assert error.value.cure
    assert not (tmp_path / "out").exists()


def test_a_lexicon_without_fitting_words_is_named(tmp_path: Path) -> None:
    pack = write_pack(tmp_path / "pack", lexicon="../words")
    words = copy_lexicon(tmp_path / "words", "frames.tsv", "読む", "読む")
    head = (words / "frames.tsv").read_text("utf-8").splitlines()[0]
    (words / "frames.tsv").write_text(head + "\n", "utf-8")
    with pytest.raises(BadInput, match=r"frames\.tsv: template lit has a verb that no frame"):
        generate(str(pack), tmp_path / "out")


def test_a_pack_of_another_language_is_named(tmp_path: Path) -> None:
    pack = write_pack(tmp_path / "pack", lexicon="ko")
    said = r"pack\.toml: the pack small is 'ja', its lexicon .* is 'ko'; write lexicon = "
    with pytest.raises(BadInput, match=said):
        generate(str(pack), tmp_path / "out")


def test_a_journal_of_another_run_opens_nothing_outside(tmp_path: Path) -> None:
    """The sizes in a journal name splits; only those of the pack are opened."""
    pack, out = write_pack(tmp_path / "pack"), tmp_path / "out"
    out.mkdir()
    journal = {"settings": "x", "chunks": 1, "sizes": {"/../../x": 0}}
    (out / JOURNAL).write_text(json.dumps(journal))
    with pytest.raises(BadInput, match="holds an unfinished run with other settings"):
        generate(str(pack), out)
    assert names_below(out) == [JOURNAL]
