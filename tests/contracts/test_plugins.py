"""A plug-in of each kind is one file: found in its folder, or from another package by an entry point."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

import nikawa


class PluginKind(NamedTuple):
    group: str
    folder: str
    """Where a file of the package lies, below `nikawa`."""
    source: str
    """A file that declares a plug-in called `plug`: a built-in one under another name."""
    names: str
    """An expression for the registered names."""


KINDS = {
    "dataset": PluginKind(
        "nikawa.datasets",
        "datasets/mini",
        """
from dataclasses import replace as swap
from msgspec.structs import replace
from nikawa.datasets.mini import mini_ja
task = replace(mini_ja.DATASET.tasks[0], name="plug", dataset="plug")
DATASET = swap(mini_ja.DATASET, name="plug", card=replace(mini_ja.DATASET.card, name="plug"), tasks=(task,))
""",
        "__import__('nikawa.datasets.names').datasets.names.tasks()",
    ),
    "metric": PluginKind(
        "nikawa.metrics",
        "metrics",
        """
from dataclasses import replace
from nikawa.metrics import accuracy
METRICS = (replace(accuracy.METRICS[0], name="plug"),)
""",
        "__import__('nikawa.metrics').metrics.metrics()",
    ),
    "model": PluginKind(
        "nikawa.models",
        "models",
        """
from dataclasses import replace
from nikawa.models import majority
MODELS = (replace(majority.MODELS[0], name="plug"),)
""",
        "__import__('nikawa.models').models.models()",
    ),
    "form": PluginKind(
        "nikawa.forms",
        "collect/forms",
        """
from dataclasses import replace
from nikawa.collect.forms import choice
FORM = replace(choice.FORM, name="plug")
""",
        "__import__('nikawa.collect.form').collect.form.forms()",
    ),
    "recipe": PluginKind(
        "nikawa.recipes",
        "recipes/jglue",
        """
from dataclasses import replace
from nikawa.recipes.jglue import jnli
RECIPE = replace(jnli.RECIPE, name="plug")
""",
        "__import__('nikawa.recipes.recipe').recipes.recipe.recipes()",
    ),
    "perturbation": PluginKind(
        "nikawa.perturbations",
        "perturbation",
        """
from msgspec.structs import replace
from nikawa.perturbation import surface_width
PERTURBATIONS = (replace(surface_width.PERTURBATIONS[0], name="plug", language=""),)
""",
        "__import__('nikawa.perturbation').perturbation.perturbations('ja')",
    ),
    "executor": PluginKind(
        "nikawa.executors",
        "execute",
        """
from dataclasses import replace
from nikawa.execute import in_process
EXECUTOR = replace(in_process.EXECUTOR, name="plug")
""",
        "__import__('nikawa.execute').execute.executors()",
    ),
    "splitter": PluginKind(
        "nikawa.splitters",
        "splitting",
        """
from dataclasses import replace
from nikawa.splitting import balanced
SPLITTERS = (replace(balanced.SPLITTERS[0], name="plug"),)
""",
        "__import__('nikawa.splitting').splitting.splitters()",
    ),
    "cleaning step": PluginKind(
        "nikawa.cleaning_steps",
        "cleaning",
        """
from nikawa.cleaning import blanks
STEPS = (blanks.STEPS[0]._replace(name="plug"),)
""",
        "__import__('nikawa.cleaning').cleaning.steps()",
    ),
}
TAG_PACKS = "__import__('nikawa.tagging.pack').tagging.pack.pack_names()"
PACKAGE = Path(nikawa.__file__).parent


def run_python(expression: str, *paths: Path) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, paths))}
    command = [sys.executable, "-c", f"print({expression})"]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


def install(folder: Path, entry_points: str) -> None:
    """Lay a distribution called `plugs` into a folder, as pip would."""
    place = folder / "plugs-1.0.dist-info"
    place.mkdir(parents=True)
    (place / "METADATA").write_text("Metadata-Version: 2.1\nName: plugs\nVersion: 1.0\n")
    (place / "entry_points.txt").write_text(entry_points)


def copy_tag_pack(folder: Path, name: str) -> Path:
    text = (PACKAGE / "tagging/packs/jsick.toml").read_text("utf-8")
    path = folder / f"{name}.toml"
    path.write_text(text.replace('name = "jsick"', f'name = "{name}"', 1), "utf-8")
    return path


@pytest.mark.slow
def test_one_of_each_comes_from_another_package(tmp_path: Path) -> None:
    lines = ["[nikawa.tag_packs]", "plug = plug_tags"]
    copy_tag_pack(tmp_path, "plug")
    (tmp_path / "plug_tags.py").write_text(
        "from pathlib import Path\nTAG_PACKS = (Path(__file__).parent / 'plug.toml',)\n"
    )
    for number, kind in enumerate(KINDS.values()):
        (tmp_path / f"plug_{number}.py").write_text(kind.source, "utf-8")
        lines += [f"[{kind.group}]", f"plug = plug_{number}"]
    install(tmp_path, "\n".join(lines))
    names = ", ".join(kind.names for kind in KINDS.values())
    done = run_python(f"['plug' in names for names in ({names}, {TAG_PACKS})]", tmp_path)
    assert done.stdout == f"{[True] * (len(KINDS) + 1)}\n", done.stderr
    find = TAG_PACKS.replace("pack_names()", "find_pack('plug').name")
    assert run_python(find, tmp_path).stdout == "plug\n"


@pytest.mark.slow
def test_one_of_each_is_a_file_in_its_folder(tmp_path: Path) -> None:
    shutil.copytree(PACKAGE, tmp_path / "nikawa", ignore=shutil.ignore_patterns("__pycache__"))
    for kind in KINDS.values():
        (tmp_path / "nikawa" / kind.folder / "plug.py").write_text(kind.source, "utf-8")
    copy_tag_pack(tmp_path / "nikawa/tagging/packs", "plug")
    names = ", ".join(kind.names for kind in KINDS.values())
    done = run_python(f"['plug' in names for names in ({names}, {TAG_PACKS})]", tmp_path)
    assert done.stdout == f"{[True] * (len(KINDS) + 1)}\n", done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("import nothing_like_it", "cannot be loaded (ModuleNotFoundError: No module named"),
        ("1 / 0", "cannot be loaded (ZeroDivisionError: division by zero)"),
        ("OTHER = ()", "cannot be loaded (AttributeError: "),
        ("METRICS = ('accuracy',)", "declares a str, not a Metric"),
    ],
)
def test_a_broken_plug_in_is_named(tmp_path: Path, source: str, message: str) -> None:
    install(tmp_path, "[nikawa.metrics]\nmine = broken_plug\n")
    (tmp_path / "broken_plug.py").write_text(source)
    done = run_python(KINDS["metric"].names, tmp_path)
    last = done.stderr.splitlines()[-1]
    start = "nikawa.errors.BadInput: the plug-in 'mine' (nikawa.metrics) of the package 'plugs' "
    assert last.startswith(start + message)
    assert last.endswith("; correct or uninstall plugs")


@pytest.mark.slow
def test_a_name_that_is_taken_is_refused(tmp_path: Path) -> None:
    install(tmp_path, "[nikawa.metrics]\nmine = twice_plug\n")
    (tmp_path / "twice_plug.py").write_text("from nikawa.metrics.accuracy import METRICS\n")
    last = run_python(KINDS["metric"].names, tmp_path).stderr.splitlines()[-1]
    assert "the metric 'accuracy' is registered twice; rename one of them, or" in last


def test_starting_up_reads_no_entry_points() -> None:
    statement = (
        "__import__('nikawa.registry') and 'importlib.metadata' in __import__('sys').modules"
    )
    assert run_python(statement).stdout == "False\n"
