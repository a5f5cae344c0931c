"""Make the recordings of the oracle with the version that is installed: `python -m tests.compat.record [PART ...]`.

Parts: archives (the folders in stored/), commands, and scenes (json/ and digests.json). Everything goes through the command
line, so any version can be recorded; what is committed was written by the version before the redesign:

    PYTHONPATH=/path/to/that/version/src python -m tests.compat.record

Run it from the root of the checkout. To record again is to say that users notice a change: think twice.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.compat.play import HERE, played
from tests.compat.record_stored import archives
from tests.compat.scenes import SCENES
from tests.compat.tree import command_tree, public_names


def write_json(path: Path, value: Any) -> None:
    """A file that people can read and compare."""
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(value, ensure_ascii=False, indent=1) + "\n", "utf-8")


def commands() -> None:
    """All commands with their options, and the public names."""
    write_json(HERE / "commands.json", {"names": public_names(), "commands": command_tree()})


def scenes(only: tuple[str, ...] = ()) -> None:
    """What each scene answered, and the digests of what it wrote."""
    where = HERE / "digests.json"
    found: dict[str, Any] = json.loads(where.read_text("utf-8")) if where.exists() else {}
    for name, scene in SCENES.items():
        if only and name not in only:
            continue
        with tempfile.TemporaryDirectory() as folder:
            steps = list(played(scene, Path(folder)))
        write_json(
            HERE / "json" / f"{name}.json",
            [{"command": step, **answer} for step, answer, _ in steps],
        )
        found[name] = [
            {"command": step, "step": number, "files": files}
            for number, (step, _, files) in enumerate(steps)
            if files
        ]
        for step, answer, _ in steps:
            if "said" in answer:
                print(f"{name}: {step}\n    {answer['said']}", file=sys.stderr)  # noqa: T201
    write_json(where, {name: found[name] for name in SCENES if name in found})


def main() -> None:
    """Record all parts, or those named: archive-NAME, commands, scenes, or one scene."""
    asked = sys.argv[1:]
    archives(
        None
        if not asked
        else {word.removeprefix("archive-") for word in asked if word.startswith("archive-")}
    )
    if not asked or "commands" in asked:
        commands()
    if not asked or "scenes" in asked:
        scenes()
    if named := tuple(name for name in asked if name in SCENES):
        scenes(named)


if __name__ == "__main__":
    main()
