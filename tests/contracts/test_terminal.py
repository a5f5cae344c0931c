"""Whatever files hold, the terminal gets lines that it can only show.

The commands of the oracle's scenes are walked with files whose ids, names, fields, labels and texts hold terminal
escapes, bidirectional controls, NUL, line separators and markup: nothing of that reaches stdout or stderr raw, an error is one line of bounded length, and
nothing ends in a traceback.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from tests.compat.play import MATERIAL, Done, command, said, sheet
from tests.compat.scenes import SCENES

from nikawa.printable import printable

EVIL = "\x1b[31m\x1b]0;owned\x07\u202e\u2066\x00\x9b2J\u2028\n\u200b[red]:smile:"
SHOWN = r"\x1b[31m\x1b]0;owned\x07\u202e\u2066\x00\x9b2J\u2028\n\u200b[red]:smile:"
MAX_CHARS = 2_100
PLAIN = frozenset({"date", "question", "kind", "language", "languages", "version", "score", "at"})
"""Fields of a fixed vocabulary: with anything else in them no command gets far."""
ROOT = Path(__file__).parents[2]
WALKED = re.findall(
    r"\S+",
    """data split pair clean aggregate-labels aggregate-others agree templates probe runs scores
    build-jnli build-ynat amend tag perturb-ja export collect""",
)
SLOW = re.compile(r"aggregate .*--out label-[2-6]|--to (hf|croissant)|round-trip|generate .*--gate")


def poison(value: Any, change: Callable[[str], str], rename: Callable[[str], str]) -> Any:
    """A JSON value with changed texts and names of fields."""
    if isinstance(value, dict):
        return {
            rename(key): part if key in PLAIN else poison(part, change, rename)
            for key, part in value.items()
        }
    if isinstance(value, list):
        return [poison(part, change, rename) for part in value]
    return change(value) if isinstance(value, str) else value


def poison_folder(
    folder: Path, change: Callable[[str], str], rename: Callable[[str], str] = str
) -> None:
    """Change the texts of all files in a folder."""
    for path in sorted(folder.rglob("*.json*")):
        lines = path.read_text("utf-8").splitlines() if path.suffix == ".jsonl" else None
        values = [json.loads(text) for text in lines or [path.read_text("utf-8")]]
        if path.name == "card.json":
            values = [
                {**value, **{key: change(value[key]) for key in ("title", "citation", "source")}}
                for value in values
            ]
        else:
            values = [poison(value, change, rename) for value in values]
        path.write_text("\n".join(json.dumps(value) for value in values) + "\n", "utf-8")
    for path in sorted(folder.rglob("*.?sv")):
        split = "\t" if path.suffix == ".tsv" else ","
        evil = change("").replace("\n", "").replace(split, "")
        rows = path.read_text("utf-8").splitlines()
        path.write_text("\n".join(f"{row}{evil if n else ''}" for n, row in enumerate(rows)) + "\n")
    for path in sorted(folder.rglob("*.toml")):
        text = path.read_text("utf-8")
        told = json.dumps(change(""))[1:-1].replace("\\", r"\\")
        path.write_text(re.sub(r'((?:title|about|category) ?= ?"[^"]*)"', rf'\1{told}"', text))
    for path in sorted(folder.rglob("*.txt")):
        evil = change("").replace("\n", " ")
        text = path.read_text("utf-8")
        path.write_text(re.sub(r"(category: .*)", rf"\1{evil}", text).replace("。", f"。{evil}", 3))


def steps() -> Iterator[tuple[str, str]]:
    for scene in WALKED:
        if any(find_spec(name) is None for name in SCENES[scene].needs):
            continue
        for step in SCENES[scene].steps:
            if not SLOW.search(step):
                yield scene, step


def judge(done: Done, step: str) -> None:
    """Hold what a command said to the promises."""
    for stream in (done.out, done.err):
        assert printable(stream, "\n\t") == stream, step
    assert done.status in (0, 1, 2), (step, done.err)
    assert "Traceback" not in done.err, (step, done.err)
    if done.status == 2:
        assert done.err.startswith("nikawa: "), (step, done.err)
        assert len(done.err.splitlines()) == 1, (step, done.err)
        assert len(done.err) <= MAX_CHARS, step


@pytest.fixture(scope="module", params=["values", "fields"])
def evil_folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = sheet(tmp_path_factory.mktemp(request.param))
    if request.param == "values":
        poison_folder(folder, lambda text: text + EVIL)
    else:
        renamed = {"topic", "source", "corpus", "intent", "image", "hypothesis", "licence"}
        poison_folder(folder, str, lambda name: name + EVIL if name in renamed else name)
    return folder


@pytest.mark.slow
def test_no_command_lets_a_file_command_the_terminal(evil_folder: Path) -> None:
    """With odd values, in words and as JSON; odd fields in words alone, since JSON is escaped alike for both."""
    ended: dict[int, int] = {0: 0, 1: 0, 2: 0}
    escaped = 0
    has_json = evil_folder.name.startswith("values")
    for _, step in steps():
        plain = step.replace(" --json", "")
        for words in dict.fromkeys((plain, step) if has_json else (plain,)):
            written = re.findall(r"--(?:out|removed|page|per-item) (\S+)", words)
            for place in written if not words.startswith("run ") else ():
                if (target := evil_folder / place).is_dir() and words != plain:
                    shutil.rmtree(target)
                elif target.is_file() and words != plain:
                    target.unlink()
            done = said(evil_folder, words)
            judge(done, words)
            ended[done.status] += 1
            escaped += r"\x1b[31m" in done.out + done.err or r"\u001b[31m" in done.out
    pages = [*evil_folder.rglob("*.html"), *evil_folder.rglob("*.svg")]
    assert pages
    for page in pages:
        text = page.read_text("utf-8")
        assert printable(text, "\n\t\r") == text, page
    assert ended[0] > 60, "most commands are refused: the walk shows little"
    assert escaped > (15 if has_json else 8)


def write_data(folder: Path, name: str, **changed: Any) -> Path:
    """A custom dataset whose records have these parts."""
    place = folder / name
    place.mkdir()
    rows = [
        {
            "id": f"{changed.get('id', '')}{n}",
            "inputs": {"premise": "雨だ。", "hypothesis": "晴れだ。", **changed.get("inputs", {})},
            "gold": {"label": changed.get("label", "neutral") if n % 2 else "entailment"},
            "tags": changed.get("tags", []),
            "meta": changed.get("meta", {}),
        }
        for n in range(6)
    ]
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (place / "train.jsonl").write_text(text, "utf-8")
    (place / "test.jsonl").write_text(text.replace("雨", "雪"), "utf-8")
    card = json.loads((MATERIAL / "own-data" / "card.json").read_text("utf-8"))
    card |= {"name": name, "title": changed.get("title", "A title")}
    (place / "card.json").write_text(json.dumps(card), "utf-8")
    return place


LONG = "x" * 200_000


@pytest.mark.parametrize(
    "changed",
    [
        {"id": LONG},
        {"label": LONG},
        {"meta": {LONG: "a"}},
        {"meta": {"topic": LONG}},
        {"tags": [LONG]},
        {"title": LONG},
        {"meta": {f"field-{n}": n for n in range(5_000)}},
    ],
    ids=["id", "label", "field", "value", "tag", "title", "fields"],
)
def test_a_name_of_200_000_characters_is_shortened(tmp_path: Path, changed: dict[str, Any]) -> None:
    write_data(tmp_path, "own", **changed)
    field = next(iter(changed.get("meta", {"topic": ""})))
    answers = [{"id": f"{changed.get('id', '')}{n}", "answer": "neutral"} for n in range(5)]
    (tmp_path / "answers.jsonl").write_text("".join(json.dumps(row) + "\n" for row in answers))
    for words in (
        ("data", "check", "own"),
        ("tasks", "own"),
        ("score", "own:test", "answers.jsonl"),
        ("score", "own:test", "answers.jsonl", "--partial", "--by", "gold", "--confusion"),
        ("score", "own:test", "answers.jsonl", "--partial", "--by", field),
        ("score", "own:test", "answers.jsonl", "--partial", "--by", "nonsense"),
        ("split", "own", "--by", "group", "--field", f"{field}y", "--out", "parts"),
        ("split", "own", "--by", "random", "--sizes", "0.5,0.5", "--out", "parted"),
        ("tag", "own", "--pack", "none"),
        ("data", "show", "own", "--id", f"{LONG}y"),
        ("probe", "artifacts", "own", "--tokeniser", "characters"),
        ("probe", "giveaways", "own"),
        ("data", "check", "own", "--accept", "--reason", "known"),
        ("data", "export", "own", "--to", "jsonl", "--out", "copy"),
        ("run", "--model", "majority", "--tasks", "own", "--out", "runs", "--workers", "1"),
        ("lineage", f"{LONG}y", "--in", "own"),
    ):
        done = command(tmp_path, *words)
        judge(done, " ".join(words)[:100])
        for line in (done.out + done.err).splitlines():
            assert len(line) < 20_000, words[:2]


def test_a_missing_field_is_told_in_the_middle(tmp_path: Path) -> None:
    write_data(tmp_path, "own", meta={LONG: "a", **{f"field-{n}": n for n in range(5_000)}})
    done = said(tmp_path, "split own --by group --field topic --out parts")
    assert done.status == 2
    assert re.search(r"and [45],\d\d\d more", done.err), done.err
    assert len(done.err) < MAX_CHARS


def test_words_of_the_command_line_are_escaped_too(tmp_path: Path) -> None:
    evil = EVIL.replace("\0", "")
    for words in (
        (evil,),
        ("data", evil),
        ("data", "show", evil),
        ("data", "show", "mini-ja", "--split", evil),
        ("data", "show", "mini-ja", f"--{evil}"),
        ("data", "show", "mini-ja", "-n", evil),
        ("score", "mini-ja-nli", evil),
        ("run", "--model", evil, "--tasks", "mini-ja-nli", "--out", "runs"),
        ("clean", evil, "--out", f"out{evil}"),
        ("score", f"mini-ja-nli{LONG}", "x.jsonl"),
        ("data", "show", f"/{LONG}"),
    ):
        done = command(tmp_path, *words)
        assert done.status == 2, words
        judge(done, repr(words)[:200])


def test_a_name_that_is_not_utf_8_is_shown(tmp_path: Path) -> None:
    name = b"caf\xe9.jsonl".decode("utf-8", "surrogateescape")
    try:
        (tmp_path / name).write_text("not JSON\n")
    except OSError:
        pytest.skip("this file system takes UTF-8 alone")
    for words in (
        ("data", "check", name),
        ("data", "show", name, "--json"),
        ("score", "mini-ja-nli", name),
    ):
        done = command(tmp_path, *words)
        assert done.status == 2, done
        judge(done, repr(words))
        assert r"caf\udce9" in done.err
    (tmp_path / name).write_text('{"id": "1", "inputs": {"text": "a"}, "gold": {"label": "b"}}\n')
    for words in (
        ("data", "check", name),
        ("data", "check", name, "--json"),
        ("data", "show", name, "--json"),
    ):
        done = command(tmp_path, *words)
        assert done.status in (0, 1), done
        judge(done, repr(words))


def test_cells_line_up_though_escaped(tmp_path: Path) -> None:
    write_data(tmp_path, "own", label=f"a{EVIL}")
    done = said(tmp_path, "data check own")
    judge(done, "data check")
    rows = [line for line in done.out.splitlines() if line.startswith(" label ")]
    assert len(rows) == 2
    assert len({len(row.rstrip()) for row in rows}) == 1, done.out
    assert f"a{SHOWN}" in done.out


def test_a_log_record_of_the_server_is_one_line() -> None:
    import logging

    from nikawa.serve.server import PrintableFormatter

    record = logging.LogRecord("nikawa", logging.WARNING, "x", 1, "left out: %s", (EVIL,), None)
    assert PrintableFormatter().format(record) == f"left out: {SHOWN}"


def list_texts(value: Any) -> list[str]:
    """Every text in a JSON value."""
    if isinstance(value, dict | list):
        parts = value.values() if isinstance(value, dict) else value
        return [text for part in parts for text in list_texts(part)]
    return [value] if isinstance(value, str) else []


def test_json_holds_the_exact_text(tmp_path: Path) -> None:
    write_data(tmp_path, "own", label=f"a{EVIL}", id=EVIL)
    done = said(tmp_path, "data show own --json")
    judge(done, "data show")
    record = json.loads((tmp_path / "own" / "test.jsonl").read_text("utf-8").splitlines()[0])
    assert record["id"] == f"{EVIL}0"
    assert record["id"] in list_texts(json.loads(done.out))


def test_bars_on_a_terminal_show_text_as_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rich reads colours in what is printed while a bar is shown, and markup in what the bar is called."""
    import io

    from nikawa.cli.terminal.output import echo, progress_bar, status
    from nikawa.printable import printable_streams

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    out, err = Terminal(), Terminal()
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stderr", err)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    with printable_streams():
        with progress_bar(f"[bold]tag[/bold] {EVIL}") as bar:
            bar.update(1, 2)
            bar.update_stage(f"[blink]{EVIL}", 1, 2)
            echo(f"a{EVIL}")
            sys.stderr.write(f"b{EVIL}\n")
        with status(f"[bold]wait {EVIL}"):
            echo(f"c{EVIL}")
    written = out.getvalue() + err.getvalue()
    for bad in ("\x1b[31m", "\x1b]0", "\x07", "\u202e", "\0", "\x9b", "\u2028", "\u200b"):
        assert bad not in written
    for text in ("[bold]tag[/bold]", "[blink]", "[bold]wait"):
        assert text in written, written
    assert f"c{SHOWN}" in re.sub(r"\s", "", written)
    # what Rich itself writes reaches the terminal as it is: colours, and the cursor that moves back
    assert "\x1b[" in written
    assert "\\x1b[2K" not in written
    assert "\\x1b[0m" not in written


def test_the_traceback_of_a_bug_is_escaped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import nikawa.cli.tasks as verb

    def fail(*_: object, **__: object) -> None:
        raise RuntimeError(f"broken {EVIL}")

    monkeypatch.setattr(verb, "print_table", fail)
    done = said(tmp_path, "tasks mini-ja")
    assert done.status == 1
    assert "RuntimeError: broken \\x1b[31m" in done.err
    assert printable(done.err, "\n\t") == done.err


def test_too_little_memory_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import nikawa.cli.tasks as verb

    def fail(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr(verb, "print_table", fail)
    done = said(tmp_path, "tasks mini-ja")
    assert (done.status, done.out) == (1, "")
    assert re.fullmatch("nikawa: out of memory; .*\n", done.err)


def test_logs_and_warnings_are_escaped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import logging

    import nikawa.cli.tasks as verb

    def log(*_: object, **__: object) -> None:
        handler = logging.StreamHandler()
        logging.getLogger("nikawa.test").addHandler(handler)
        logging.getLogger("nikawa.test").warning("worker %s", EVIL)
        logging.getLogger("nikawa.test").removeHandler(handler)

    monkeypatch.setattr(verb, "print_table", log)
    done = said(tmp_path, "tasks mini-ja")
    assert "worker \\x1b[31m" in done.err
    assert printable(done.err, "\n\t") == done.err


def test_names_on_pages_are_isolated() -> None:
    """Texts of items stay exact on the pages that draw them by script: no element may reorder its neighbours."""
    for name in ("collect/pages/static/collect.css", "reporting/base.css"):
        text = (ROOT / "src" / "nikawa" / name).read_text("utf-8")
        rule = re.search(r"^(a,.*) ?\{ ?unicode-bidi: ?isolate", text, re.MULTILINE)
        assert rule, name
        assert {"span", "b", "mark"} <= set(re.split(", ?", rule[1].strip()))


def test_verbs_print_by_the_functions_that_escape() -> None:
    """Nobody prints past `cli/terminal/output.py`: a line of a verb is one line, whatever name is in it."""
    allowed = {"output.py", "app.py"}
    for path in sorted((ROOT / "src" / "nikawa" / "cli").rglob("*.py")):
        text = path.read_text("utf-8").replace("typer.echo(context.get_help())", "")
        if path.name in allowed:
            continue
        assert not re.search(
            r"typer\.(echo|secho)\(|click\.echo|(?<!out\.)(?<!\(\)\.)\bprint\(|Console\(", text
        ), path
        assert "sys.stdout.write" not in text, path
        assert "markup=True" not in text, path
