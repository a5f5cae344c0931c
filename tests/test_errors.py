"""One line, whatever a file holds."""

from __future__ import annotations

import json
import pickle
import sys
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest

from nikawa.errors import (
    BadInput,
    UnknownName,
    clip,
    install_command,
    list_names,
    missing_extra,
    suggest,
    unknown,
)
from nikawa.generation.template_errors import Position, TemplateError

ROOT = Path(__file__).parents[1]
LONG = "橋" * 5000


@pytest.mark.parametrize(
    "problem",
    [
        BadInput(f"unknown column {LONG!r}", file="x.tsv", line=3, cure="rename it"),
        BadInput(f"tag {LONG} is odd", file="x.tsv", cure="see docs"),
        BadInput("does not fit", cure=f"known: {list_names(f'column-{n}' for n in range(5000))}"),
        unknown("column", LONG, [f"{n}-{LONG}" for n in range(40)]),
        unknown("dataset", "zzz", [f"dataset-{n}" for n in range(5000)]),
    ],
)
def test_a_message_is_short(problem: BadInput) -> None:
    assert len(str(problem)) <= 400
    assert "\n" not in str(problem)


def test_a_quoted_value_is_shortened_and_the_rest_stays() -> None:
    said = str(BadInput(f"unknown column {LONG!r} (id 'x')", file="a.tsv", line=3, cure="use 'id'"))
    name = f"'{'橋' * 30}…{'橋' * 29}' (5,000 characters)"
    assert said == f"a.tsv, line 3: unknown column {name} (id 'x'); use 'id'"


def test_an_error_in_a_template_is_short_too() -> None:
    said = str(TemplateError("syntax", f"there is no field {LONG!r}", Position(3, 4), "x", "t.txt"))
    assert said.startswith("t.txt, line 3, column 4: there is no field '橋橋")
    assert said.endswith("橋' (5,000 characters); x")
    assert len(said) < 200


def test_prose_is_left_alone() -> None:
    told = "the worker's answers aren't here, and a sentence that goes on for a good while isn't a quotation, it's prose"
    assert clip(told, 400) == told
    cure = "put your own copy of the reviews there " * 9
    assert str(BadInput("x", cure=cure)) == f"x; {cure.strip()}"


def test_a_place_that_is_long_keeps_its_end() -> None:
    said = str(BadInput("is empty", file="a/" * 3000 + "x.jsonl", cure="write it"))
    assert said.endswith("a/x.jsonl: is empty; write it")
    assert len(said) < 300


def test_names_are_listed_while_they_fit() -> None:
    assert list_names(["a", "b"]) == "a, b"
    assert list_names(f"name-{n:02}" for n in range(60)).endswith("name-25 and 34 more")
    assert suggest("zzz", ["a", "b"]) == "known: a, b"


def test_errors_survive_the_trip_between_processes() -> None:
    given = UnknownName("there is no x", file="f", line=2, cure="c")
    back = pickle.loads(pickle.dumps(given))
    assert (type(back), str(back)) == (UnknownName, "f, line 2: there is no x; c")


class Installed:
    """A distribution that pip put here from somewhere."""

    def __init__(self, origin: str | None) -> None:
        self.origin = origin

    def read_text(self, name: str) -> str | None:
        assert name == "direct_url.json"
        return self.origin


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[object], str]:
    """The command for an extra, with nikawa installed from `origin` and a Python at `tmp_path`/bin first in the path."""
    (tmp_path / "bin").mkdir()
    pip = tmp_path / "bin" / "pip"
    pip.touch(mode=0o755)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "bin" / "python"))
    monkeypatch.setenv("PATH", str(pip.parent))

    def command(origin: object) -> str:
        text = None if origin is None else json.dumps(origin)
        monkeypatch.setattr("importlib.metadata.distribution", lambda _: Installed(text))
        return install_command("ja")

    return command


def test_an_extra_is_installed_the_way_nikawa_was(
    installed: Callable[[object], str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    checkout = tmp_path / "a checkout"
    checkout.mkdir()
    origin: dict[str, object] = {"url": checkout.as_uri(), "dir_info": {"editable": True}}
    assert (
        installed(origin) == installed(None) == "pip install 'nikawa[ja]'"
    )  # it is no longer there
    (checkout / "pyproject.toml").touch()
    assert installed(origin) == f"cd '{checkout}' && pip install -e '.[ja]'"
    monkeypatch.chdir(checkout)
    assert installed(origin) == "pip install -e '.[ja]'"
    assert installed({**origin, "dir_info": {}}) == "pip install '.[ja]'"
    wheel = {"url": "file:///nikawa-0.1.0-py3-none-any.whl", "archive_info": {}}
    assert (
        installed(wheel)
        == f"pip install 'nikawa[ja] @ ADDRESS'; the original address is {wheel['url']}"
    )


def test_the_pip_is_that_of_this_python(
    installed: Callable[[object], str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "elsewhere"))
    assert installed(None) == f"{tmp_path}/bin/python -m pip install 'nikawa[ja]'"
    (tmp_path / "pyproject.toml").touch()
    monkeypatch.chdir(tmp_path)
    origin = {"url": tmp_path.as_uri(), "dir_info": {"editable": True}}
    assert installed(origin) == "bin/python -m pip install -e '.[ja]'"


def test_a_checkout_that_was_never_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(name: str) -> Installed:
        raise PackageNotFoundError(name)

    monkeypatch.setattr("importlib.metadata.distribution", none)
    monkeypatch.chdir(ROOT)
    assert install_command("ja").endswith("pip install -e '.[ja]'")


def test_what_brings_torch_says_where_to_read_first() -> None:
    assert "docs/install.md" in str(missing_extra("the package 'torch'", "encoder"))
    assert "docs/install.md" not in str(missing_extra("the package 'httpx'", "chat"))
