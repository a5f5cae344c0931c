"""Every verb that writes, given names that lead elsewhere: nothing around `--out` changes.

The names stand where somebody else's file may put them: splits, questions, workers, ids, groups,
files, models. A verb may use such a name or refuse it with one line and status 2; then nothing is
left of what it began.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from nikawa.io.file_names import find_name_fault

Nikawa = Callable[..., CompletedProcess[str]]
Listing = dict[str, tuple[Any, ...]]

MATERIAL = Path(__file__).parents[1] / "compat" / "material"
ESCAPING = ("/../../x", "../x", "ABSOLUTE", "a/b")
"""Names that lead to other places; ABSOLUTE stands for a path beside `--out`."""
ODD = ("..", "x\0y", "nul", "\u202ex", " x", ".x", "長" * 90, "a\\b")
"""Names that no file should have."""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder some folders deep, with the material and files that must not change."""
    work = tmp_path / "home" / "work"
    shutil.copytree(MATERIAL, work)
    for folder in (tmp_path, tmp_path / "home", work):
        for name in ("x.jsonl", "x", "x.json"):
            (folder / name).write_text("mine")
    (work / "deep" / "er").mkdir(parents=True)
    monkeypatch.chdir(work)
    return work


def list_around(root: Path, out: Path) -> Listing:
    """All that lies below `root`, but not what lies below `out`; with content and times."""
    listing: Listing = {}
    for path in sorted(root.rglob("*")):
        if path == out or out in path.parents:
            continue
        facts = path.lstat()
        content = path.read_bytes() if path.is_file() else b""
        # a folder that only holds `out` may get another time
        time = 0 if path in out.parents else facts.st_mtime_ns
        listing[str(path.relative_to(root))] = (facts.st_mode, time, content)
    return listing


def rewrite(path: Path, **changes: Any) -> None:
    """Give every row of a file of JSON lines other values; those of functions are made from the row."""
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    for row in rows:
        row |= {key: value(row) if callable(value) else value for key, value in changes.items()}
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")


def name_file(folder: Path, source: str, name: str, suffix: str) -> Path | None:
    """A copy of a file under a name from elsewhere; None where no file can have it."""
    if "/" in name or "\0" in name or len(os.fsencode(name + suffix)) > 255:
        return None
    return Path(shutil.copy(source, folder / f"{name}{suffix}"))


def toml(name: str) -> str:
    """A name as a key or a text of TOML."""
    return json.dumps(name)


# What is done with a name: each prepares files in the working folder and gives the commands; all
# write to deep/er/out.

OUT = "deep/er/out"


def cells(work: Path, name: str) -> list[str] | None:
    with (work / "my-pack/pack.toml").open("a", encoding="utf-8") as stream:
        stream.write(f"\n[cells.{toml(name)}]\nper = 1\n")
    return ["templates check my-pack", f"generate my-pack -n 1 --out {OUT}"]


def views(work: Path, name: str) -> list[str] | None:
    with (work / "my-pack/pack.toml").open("a", encoding="utf-8") as stream:
        stream.write(f"\n[split.{toml(name)}]\ntime_span = []\n")
    return [f"generate my-pack -n 1 --split all --out {OUT}"]


def pack_name(work: Path, name: str) -> list[str] | None:
    head = work / "my-pack/pack.toml"
    lines = [line for line in head.read_text("utf-8").splitlines() if not line.startswith("name")]
    head.write_text("\n".join([f"name = {toml(name)}", *lines]), "utf-8")
    return [f"generate my-pack -n 1 --out {OUT}"]


def split_names(work: Path, name: str) -> list[list[str]] | None:
    if "\0" in name or "," in name:
        return None
    words = f"split own-data --sizes 0.5,0.5 --out {OUT} --names".split()
    return [[*words, f"train,{name}"]]


def splits(work: Path, name: str) -> list[str] | None:
    if name_file(work / "own-data", "own-data/dev.jsonl", name, ".jsonl") is None:
        return None
    formats = ("jsonl", "parquet", "hf", "croissant")
    return [
        *(f"data export own-data --to {to} --out {OUT} --overwrite" for to in formats),
        f"tag own-data --out {OUT}-tag",
        f"perturb swap own-data --out {OUT}-swap",
        f"run --model majority --tasks own-data --out {OUT}-runs --workers 1",
    ]


def card_name(work: Path, name: str) -> list[list[str]] | None:
    card = json.loads((work / "own-data/card.json").read_text("utf-8"))
    (work / "own-data/card.json").write_text(json.dumps({**card, "name": name}), "utf-8")
    exports = [f"data export own-data --to {to} --out {OUT}-{to}" for to in ("jsonl", "croissant")]
    commands = [*exports, f"split own-data --out {OUT}-s", f"tag own-data --out {OUT}-t"]
    return [command.split() for command in commands]


def questions(work: Path, name: str) -> list[str] | None:
    for file in (work / "own-data").glob("*.jsonl"):
        rewrite(file, gold=lambda row: {**row["gold"], name: next(iter(row["gold"].values()), "a")})
    return [
        f"run --model majority --tasks own-data --out {OUT} --workers 1",
        f"analyse {OUT} --out {OUT}-analyses",
        f"report {OUT} --out {OUT}-report",
    ]


def models(work: Path, name: str) -> list[list[str]] | None:
    if "\0" in name or "=" in name:
        return None
    words = f"run --tasks own-data --out {OUT} --workers 1 --model".split()
    report = f"report {OUT} --out {OUT}-report".split()
    return [[*words, f"{name}=majority"], report]


def workers(work: Path, name: str) -> list[str] | None:
    rewrite(work / "judgements.jsonl", worker=lambda row: f"{name}{row['worker'][:1]}")
    rewrite(work / "hypotheses.jsonl", worker=name)
    forms = ("doccano", "label-studio", "yahoo")
    agree = "agree judgements.jsonl --question label --resamples 10"
    return [
        *(f"{agree} --save {OUT}.{form} --save-as {form}" for form in forms),
        f"aggregate judgements.jsonl --question label --rule majority --out {OUT}-gold",
        f"{agree} --page {OUT}-page",
    ]


def collected(work: Path, name: str) -> list[str] | None:
    rewrite(work / "judgements.jsonl", worker=lambda row: f"{name}{row['worker'][:1]}")
    return [
        f"collect new {OUT} --examples pairs.jsonl --form choice -k 2",
        f"collect import {OUT} judgements.jsonl",
        f"collect export {OUT} --to doccano --out {OUT}/doccano",
        f"collect export {OUT} --out {OUT}/judgements.jsonl",
    ]


def ids(work: Path, name: str) -> list[str] | None:
    for file in (work / "pairs.jsonl", work / "perturb-ja.jsonl"):
        rewrite(file, id=lambda row: f"{name}{row['id']}", group=name)
    rewrite(work / "judgements.jsonl", example=lambda row: f"{name}{row['example']}")
    return [
        "aggregate judgements.jsonl --question label --examples pairs.jsonl --rule majority "
        f"--out {OUT}-gold",
        f"perturb swap --case o perturb-ja.jsonl --out {OUT}-swap.jsonl",
        f"split pairs.jsonl --by random --sizes 0.5,0.5 --names a,b --out {OUT}-split",
        f"collect new {OUT}-project --examples pairs.jsonl --form choice -k 2",
    ]


def asked(work: Path, name: str) -> list[list[str]] | None:
    rewrite(work / "judgements.jsonl", question=lambda row: f"{name}{row['question']}")
    if "\0" in name:
        return None
    words = f"aggregate judgements.jsonl --rule majority --out {OUT} --question".split()
    return [[*words, f"{name}label"]]


def sources(work: Path, name: str) -> list[str] | None:
    rewrite(work / "captions.jsonl", image=lambda row: f"{name}{row['image']}")
    return [f"build jnli --config jnli.toml --out {OUT} --simulate 1"]


def texts(work: Path, name: str) -> list[list[str]] | None:
    text = name_file(work, "novel.txt", name, ".txt")
    if text is None:
        return None
    return [
        ["clean", str(text), "--out", f"{OUT}.jsonl", "--removed", f"{OUT}-removed.jsonl"],
        ["lexicon", "build", str(text), "--out", OUT, "--min-verb", "2", "--min-count", "1"],
    ]


PREPARED = (
    cells,
    views,
    pack_name,
    split_names,
    splits,
    card_name,
    questions,
    models,
    workers,
    collected,
    ids,
    asked,
    sources,
    texts,
)
SLOW = {"sources", "questions", "splits", "collected"}
"""What takes seconds a name: it is tried with the names that escape, and one of the others."""


def cases() -> Iterator[tuple[Callable[..., Any], str]]:
    for prepare in PREPARED:
        names: tuple[str, ...] = (*ESCAPING, *ODD)
        if prepare is splits:
            names = ODD[2:5]
        elif prepare.__name__ in SLOW:
            names = (*ESCAPING[:2], ODD[0])
        yield from ((prepare, name) for name in names)


@pytest.mark.parametrize("prepare", PREPARED)
def test_a_name_in_another_script_is_fine(
    prepare: Callable[[Path, str], list[str | list[str]]], place: Path, nikawa: Nikawa
) -> None:
    """The commands of the walk below do what they should where nothing is wrong."""
    for command in prepare(place, "글日本語"):
        result = nikawa(*(command.split() if isinstance(command, str) else command), "--quiet")
        assert result.returncode == 0, (command, result.stderr)


@pytest.mark.parametrize(("prepare", "name"), list(cases()))
def test_nothing_around_the_target_changes(
    prepare: Callable[[Path, str], list[str | list[str]] | None],
    name: str,
    place: Path,
    nikawa: Nikawa,
) -> None:
    root = place.parents[1]
    name = str(root / "home" / "abs") if name == "ABSOLUTE" else name
    commands = prepare(place, name)
    if commands is None:
        return  # no file system, or no command line, takes the name
    inside = place / "deep" / "er"
    before = list_around(root, inside)
    for command in commands:
        there = {path.name for path in inside.iterdir()}
        result = nikawa(*(command.split() if isinstance(command, str) else command), "--quiet")
        assert list_around(root, inside) == before, command
        assert "Traceback" not in result.stderr
        assert result.returncode in (0, 1, 2), result.stderr
        if result.returncode == 2:
            assert result.stderr.count("\n") == 1, result.stderr
            assert {path.name for path in inside.iterdir()} == there, "something is left"
        strange = [
            path for path in inside.rglob("*") if path.name.endswith((".part", ".unfinished"))
        ]
        assert not strange
        for path in inside.rglob("*"):
            if prepare not in (splits, texts):  # a name of a file that is there already is kept
                assert not find_name_fault(path.name.lstrip(".")), path


REPEATED = (
    f"generate my-pack -n 1 --split all --out {OUT} --overwrite",
    f"data export own-data --to jsonl --out {OUT} --overwrite",
    f"data export own-data --to croissant --out {OUT} --overwrite",
    f"split own-data --sizes 0.5,0.5 --names a,b --out {OUT} --overwrite",
    f"tag own-data --out {OUT} --overwrite",
    f"perturb swap own-data --out {OUT} --overwrite",
    f"aggregate judgements.jsonl --question label --rule majority --out {OUT} --overwrite",
    f"agree judgements.jsonl --question label --resamples 10 --page {OUT} --overwrite",
    f"agree judgements.jsonl --question label --resamples 10 --save {OUT} --save-as doccano "
    "--overwrite",
    f"run --model majority --tasks own-data --seeds 1 --out {OUT} --workers 1",
    f"build jnli --config jnli.toml --out {OUT} --simulate 2 --overwrite",
    f"build jnli --config jnli.toml --out {OUT} --overwrite",
    f"lexicon build novel.txt --out {OUT} --min-verb 2 --min-count 1 --overwrite",
    f"data card {OUT} --overwrite",
    f"collect import {OUT} --examples images.jsonl",
)
"""Commands that are given again with the same target."""
FIRST = {
    "build": f"build jnli --config jnli.toml --out {OUT} --simulate 1",
    "data card": f"data export own-data --to jsonl --out {OUT}",
    "collect": f"collect new {OUT} --examples pairs.jsonl --form choice -k 2",
}
"""What comes before some of them instead."""


@pytest.mark.parametrize("command", REPEATED)
def test_links_in_a_target_are_not_followed_out_of_it(
    command: str, place: Path, nikawa: Nikawa
) -> None:
    """All that lies in the target moves out and becomes links: a command that writes there again
    must not change what they lead to.
    """
    out, elsewhere = place / OUT, place.parent / "elsewhere"
    first = next((words for verb, words in FIRST.items() if command.startswith(verb)), command)
    assert nikawa(*first.split(), "--quiet").returncode == 0
    shutil.copytree(out, elsewhere)
    whole = {path.relative_to(out) for path in out.rglob("*")}
    # first every file is a link, then every folder
    for kind in (Path.is_file, Path.is_dir):
        for part in sorted(whole):
            path = out / part
            if path.is_symlink() or not kind(path) or any(p.is_symlink() for p in path.parents):
                continue
            if path.name.startswith("collect.db"):  # the owner may keep a database elsewhere
                continue
            shutil.rmtree(path) if path.is_dir() else path.unlink()
            path.symlink_to(elsewhere / part)
        with (place / "my-pack/templates.txt").open("a") as stream:
            stream.write("\n# changed\n")
        before = list_around(place.parents[1], place / "deep")
        result = nikawa(*command.split(), "--quiet")
        assert list_around(place.parents[1], place / "deep") == before
        assert "Traceback" not in result.stderr
        shutil.rmtree(out)
        shutil.copytree(elsewhere, out)
