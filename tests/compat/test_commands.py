"""Every command, option and public name of the version before is still there; others may have come."""

from __future__ import annotations

import json
from importlib.metadata import entry_points
from typing import Any

import pytest
from tests.compat.play import HERE
from tests.compat.tree import Found, command_tree, public_names

import nikawa

RECORDED: dict[str, Any] = json.loads((HERE / "commands.json").read_text("utf-8"))


@pytest.fixture(scope="module")
def tree() -> dict[str, list[Found]]:
    return command_tree()


@pytest.mark.parametrize("command", RECORDED["commands"])
def test_command(command: str, tree: dict[str, list[Found]]) -> None:
    assert command in tree
    now = {_key(parameter): parameter for parameter in tree[command]}
    for before in RECORDED["commands"][command]:
        spelled = next((found for found in now.values() if _covers(found, before)), None)
        assert spelled is not None, f"{command}: {before['name']} is gone"
        same = {name: value for name, value in spelled.items() if name != "name"}
        assert same == {name: value for name, value in before.items() if name != "name"}, before[
            "name"
        ]
    arguments = [p["name"] for p in tree[command] if p["kind"] == "argument"]
    expected = [p["name"] for p in RECORDED["commands"][command] if p["kind"] == "argument"]
    assert len(arguments) >= len(expected)
    added = [
        p
        for p in tree[command]
        if p["required"] and not any(_covers(p, b) for b in RECORDED["commands"][command])
    ]
    assert not added, f"{command}: what was not asked for before is required now"


def _key(parameter: Found) -> str:
    return f"{parameter['kind']} {parameter['name']}"


def _covers(now: Found, before: Found) -> bool:
    """Whether a parameter has all the spellings another one had; arguments go by their place and so by name."""
    return now["kind"] == before["kind"] and set(before["name"].split()) <= set(now["name"].split())


def test_public_names() -> None:
    assert set(public_names()) >= set(RECORDED["names"])
    for name in RECORDED["names"]:
        assert getattr(nikawa, name) is not None


def test_the_command_is_installed() -> None:
    found = [point for point in entry_points(group="console_scripts") if point.name == "nikawa"]
    if not found:
        pytest.skip("nikawa runs from its source here, nothing is installed")
    assert callable(found[0].load())
