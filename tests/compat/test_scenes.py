"""What commands with fixed seeds print as JSON and write to the disk is what the version before printed and wrote."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from tests.compat.play import HERE, played
from tests.compat.scenes import SCENES

DIGESTS: dict[str, list[dict[str, Any]]] = json.loads((HERE / "digests.json").read_text("utf-8"))

GROWING = {"collect forms --json": "name", "build --json": "recipe", "build list --json": "recipe"}
"""Lists that newer versions add entries to, and what names an entry: those of the version before are still there, as they were."""


@pytest.mark.parametrize("name", SCENES)
def test_scene(name: str, tmp_path: Path) -> None:
    scene = SCENES[name]
    for package in scene.needs:
        if find_spec(package) is None:
            pytest.skip(f"the package {package} is not installed")
    recorded = json.loads((HERE / "json" / f"{name}.json").read_text("utf-8"))
    files = {entry["command"] + f" #{entry['step']}": entry["files"] for entry in DIGESTS[name]}
    for number, (step, answer, written) in enumerate(played(scene, tmp_path)):
        expected = recorded[number]
        if step in GROWING:
            key = GROWING[step]
            names = {row[key] for row in expected["json"]}
            answer["json"] = [row for row in answer["json"] if row[key] in names]
        assert {"command": step, **answer} == expected, f"{step}: another answer than before"
        assert written == files.get(f"{step} #{number}", {}), f"{step}: other files than before"


def test_every_scene_is_recorded() -> None:
    assert set(DIGESTS) == set(SCENES) == {path.stem for path in (HERE / "json").glob("*.json")}
    asked = [
        entry["command"]
        for path in (HERE / "json").glob("*.json")
        for entry in json.loads(path.read_bytes())
    ]
    assert sorted(asked) == sorted(step for scene in SCENES.values() for step in scene.steps)
