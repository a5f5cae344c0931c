"""docs/security.md and SECURITY.md: the tests they name exist, and the limits are those of the code."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

from nikawa.io.limits import ReadLimits, parse_size

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "security.md").read_text("utf-8")


def test_every_promise_names_a_test_that_is_there() -> None:
    rows = re.findall(r"^\| (.+) \| (.+) \|$", PAGE, re.MULTILINE)
    promises = [(promise, shown) for promise, shown in rows if "tests" in shown]
    assert len(promises) >= 15
    for promise, shown in promises:
        places = re.findall(r"`(tests/[\w/.]+\.py)`", shown)
        modules = re.findall(r"python -m (tests[\w.]+)", shown)
        assert places or modules, promise
        for place in (*places, *(f"{name.replace('.', '/')}.py" for name in modules)):
            assert (ROOT / place).is_file(), place


def test_the_limits_are_those_of_the_code() -> None:
    listed = dict(re.findall(r"^\| `(NIKAWA_MAX_\w+)` \| (\w+) \|", PAGE, re.MULTILINE))
    limits = ReadLimits()
    assert {name: parse_size(value, name) for name, value in listed.items()} == {
        part.metadata["variable"]: getattr(limits, part.name) for part in fields(limits)
    }


def test_nothing_unpickles_or_runs_a_shell() -> None:
    for path in (ROOT / "src").rglob("*.py"):
        text = path.read_text("utf-8")
        for word in (
            r"\bimport (?:c?pickle|dill|joblib|shelve|marshal)\b",
            r"allow_pickle=True",
            r"shell=True",
        ):
            assert not re.search(word, text), path
        assert "torch.load(" not in text or "weights_only=True" in text, path
        if path.parts[-3:] == ("models", "lm", "settings.py"):  # it declares the setting
            continue
        assert "trust_remote_code" not in text or '"trust_remote_code": False' in text, path
        assert not re.search(r"(?<![\w.])(?:eval|exec)\(", text), path


def test_a_hole_is_reported_in_private() -> None:
    text = (ROOT / "SECURITY.md").read_text("utf-8")
    assert "advisory" in text
    assert "docs/security.md" in text
    assert "SECURITY.md" in (ROOT / "README.md").read_text("utf-8")
