"""Count how many of the tasks that come with lm-eval, flexeval and inspect_evals can be read.

python -m tests.interop.read_corpus

The packages are fetched from the package index without their dependencies and read where they lie; no data is fetched. A task is read
in full if everything that determines its rows, inputs and answers is read, and in part if `--ignore` or `--columns` must replace something.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tests.interop.environments import FOLDER

from nikawa.exchange.reading import flexeval, inspect_task, lm_eval
from nikawa.exchange.reading.definition import Definition, ReadFault
from nikawa.exchange.reading.items import SampleReader, make_reader

PACKAGES = {"lm_eval": "0.4.13", "flexeval": "0.18.3", "inspect_evals": "0.26.0"}
NO_ANSWERS = ("measures the likelihood", "measures the perplexity", "is the group")


def fetch_package(name: str, version: str) -> Path:
    """The folder of a package, without its dependencies."""
    folder = FOLDER / "packages" / f"{name}-{version}"
    if not folder.is_dir():
        command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "-q"]
        command += ["--no-deps", "--target", str(folder), f"{name}=={version}"]
        subprocess.run(command, check=True, stdout=sys.stderr)
    return folder / name


def list_lm_eval(folder: Path) -> Iterator[tuple[str, Definition | str]]:
    """The tasks of lm-eval: its YAML files."""
    for path in sorted((folder / "tasks").rglob("*.yaml")):
        yield path.name, read(lambda path=path: lm_eval.define(path))


def list_flexeval(folder: Path) -> Iterator[tuple[str, Definition | str]]:
    """The set-ups of flexeval."""
    for path in sorted((folder / "preset_configs" / "EvalSetup").rglob("*.jsonnet")):
        yield path.name, read(lambda path=path: flexeval.define(path))


def list_inspect(folder: Path) -> Iterator[tuple[str, Definition | str]]:
    """The tasks of inspect_evals: the functions with `@task`."""
    for path in sorted(folder.rglob("*.py")):
        text = path.read_text("utf-8")
        if "@task" not in text:
            continue
        for node in ast.parse(text).body:
            if isinstance(node, ast.FunctionDef) and any(
                map(inspect_task.is_task_mark, node.decorator_list)
            ):
                name = node.name
                yield name, read(lambda path=path, name=name: inspect_task.define(path, name))


def read(define: object) -> Definition | str:
    """A definition whose templates are valid, or the reason why it cannot be read."""
    try:
        definition: Definition = define()  # type: ignore[operator]
        reader = make_reader(definition, ())
        assert reader.analysis or isinstance(reader, SampleReader)
    except ReadFault as fault:
        return fault.what
    return definition


def main() -> None:
    """Print the counts of each package."""
    lists = {"lm_eval": list_lm_eval, "flexeval": list_flexeval, "inspect_evals": list_inspect}
    for name, version in PACKAGES.items():
        counts: Counter[str] = Counter()
        parts: Counter[str] = Counter()
        reasons: Counter[str] = Counter()
        for _, found in lists[name](fetch_package(name, version)):
            if isinstance(found, str):
                kind = "no answers or a group" if found.startswith(NO_ANSWERS) else "not"
                counts[kind] += 1
                reasons[" ".join(found.split()[:8])] += 1
                continue
            replaced = {
                part.part for part in found.unread if part.effect in ("rows", "gold", "inputs")
            }
            counts["in part" if replaced else "in full"] += 1
            parts.update(replaced)
            counts["data on a hub"] += any(source.hub for source in found.sources)
        sys.stdout.write(f"{name} {version}: {dict(counts)}\n")
        for title, table in (("to replace", parts), ("not read", reasons)):
            for reason, count in table.most_common(12):
                sys.stdout.write(f"  {title}: {count:6,} {reason}\n")


if __name__ == "__main__":
    main()
