"""Copy functions of Nikawa into a file that runs without Nikawa.

An exported task must give the official number also where Nikawa is not installed. Instead of a second implementation, which would
drift, the export copies the source of the functions it needs and of everything they use, definition by definition:

- the definitions of Nikawa's own modules are copied as they are written;
- imports of the standard library and of numpy become imports of the file;
- `stand_ins.py` replaces a few classes that need msgspec, and the lists of phrases become data.

Annotations are not evaluated, so names that occur only there are not copied. `tests/exchange` runs the copies of all tasks on the
golden cases and on random input, and compares them with the originals.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import msgspec

from nikawa.io.answers.phrases import load_phrases

STAND_INS = "nikawa.exchange.stand_ins"
PHRASES = "nikawa.io.answers.phrases"
REPLACED = {
    ("nikawa.errors", "BadInput"),
    ("nikawa.errors", "clip"),
    ("nikawa.io.answers.base", "UnfitAnswer"),
    ("nikawa.records", "Example"),
    ("nikawa.records", "Span"),
    ("nikawa.records", "Task"),
}
"""Definitions that a copy takes from `stand_ins.py`, as it takes the module msgspec."""


class Definition(NamedTuple):
    """A statement at the top of a module that defines names."""

    source: str
    uses: tuple[str, ...]
    """Names that it uses, also those that are not defined in the module."""


class Source(NamedTuple):
    """A module as far as copies need it."""

    definitions: dict[str, Definition]
    imports: dict[str, str]
    """Name to the import statement that binds it."""
    ours: dict[str, tuple[str, str]]
    """Name that is imported from another module of Nikawa: that module and the name there."""


class CodeCopy:
    """Collects definitions and everything they use."""

    def __init__(self) -> None:
        self._imports: dict[str, None] = {}
        self._parts: list[str] = []
        self._origin: dict[str, tuple[str, str]] = {}
        """Name in the copy to its module and name there."""

    def add(self, module: str, name: str) -> None:
        """Copy the definition of `name` in `module`, after everything that it uses."""
        if (module, name) in REPLACED:
            module = STAND_INS
        origin = (module, name)
        if name in self._origin:
            if self._origin[name] != origin:
                other = ".".join(self._origin[name])
                raise ValueError(f"{module}.{name} and {other} have the same name")
            return
        if origin == (PHRASES, "load_phrases"):
            self._origin[name] = origin
            self._imports["from types import SimpleNamespace"] = None
            self._parts.append(write_phrases())
            return
        source = read_source(module)
        if name in source.ours:
            self.add(*source.ours[name])
            return
        definition = source.definitions[name]
        for defined, same in source.definitions.items():
            if same is definition:  # several names of one assignment
                self._origin[defined] = (module, defined)
        for used in definition.uses:
            if used in source.ours:
                target = source.ours[used]
                if target[1] != used:
                    raise ValueError(f"{module} imports {target[1]} as {used}")
                self.add(*target)
            elif used in source.definitions:
                self.add(module, used)
            elif used == "msgspec" and module != STAND_INS:
                self.add(STAND_INS, used)
            elif used in source.imports:
                self._imports[source.imports[used]] = None
        self._parts.append(definition.source)

    @property
    def imports(self) -> list[str]:
        """The import statements of the copied definitions, sorted."""
        return sorted(self._imports, key=lambda line: (line.startswith("from"), line))

    @property
    def body(self) -> str:
        """The copied definitions."""
        return "\n\n\n".join(self._parts) + "\n"


@cache
def read_source(module: str) -> Source:
    """Parse a module into its definitions and imports."""
    spec = find_spec(module)
    if spec is None or spec.origin is None:
        raise ValueError(f"there is no source of {module}")
    text = Path(spec.origin).read_text(encoding="utf-8")
    lines = text.splitlines()
    definitions: dict[str, Definition] = {}
    imports: dict[str, str] = {}
    ours: dict[str, tuple[str, str]] = {}
    body = ast.parse(text).body
    for place, node in enumerate(body):
        if isinstance(node, ast.ImportFrom) and node.module != "__future__":
            for alias in node.names:
                name = alias.asname or alias.name
                if (node.module or "").partition(".")[0] == "nikawa":
                    ours[name] = resolve_import(node.module or "", alias.name)
                else:
                    imports[name] = ast.unparse(ast.ImportFrom(node.module, [alias], 0))
        elif isinstance(node, ast.Import):
            for alias in node.names:
                imports[alias.asname or alias.name] = ast.unparse(ast.Import([alias]))
        names = list(defined_names(node))
        if names:
            start = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))])
            after = body[place + 1] if place + 1 < len(body) else None
            is_noted = (
                isinstance(node, ast.Assign | ast.AnnAssign)
                and isinstance(after, ast.Expr)
                and isinstance(after.value, ast.Constant)
            )
            end = after.end_lineno if is_noted and after is not None else node.end_lineno
            while start > 1 and lines[start - 2].startswith("# "):
                start -= 1
            definition = Definition("\n".join(lines[start - 1 : end]), tuple(used_names(node)))
            definitions.update(dict.fromkeys(names, definition))
    return Source(definitions, imports, ours)


def resolve_import(module: str, name: str) -> tuple[str, str]:
    """The module that defines a name, which a package may only pass on."""
    value = getattr(import_module(module), name, None)
    home = getattr(value, "__module__", module)
    is_ours = isinstance(home, str) and home.startswith("nikawa.") and home != module
    return (
        (home, name)
        if is_ours and callable(value) and not hasattr(value, "__origin__")
        else (module, name)
    )


def defined_names(node: ast.stmt) -> Iterator[str]:
    """The names that a statement at the top of a module defines."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
        yield node.name
    elif isinstance(node, ast.Assign | ast.AnnAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        for target in targets:
            yield from (part.id for part in ast.walk(target) if isinstance(part, ast.Name))


def used_names(node: ast.AST) -> dict[str, None]:
    """The names that a statement uses outside annotations, in order."""
    names: dict[str, None] = {}
    ahead: list[ast.AST] = [node]
    while ahead:
        part = ahead.pop()
        if isinstance(part, ast.Name):
            names[part.id] = None
        for field, value in ast.iter_fields(part):
            if field in ("annotation", "returns"):
                continue
            children = value if isinstance(value, list) else [value]
            ahead.extend(child for child in reversed(children) if isinstance(child, ast.AST))
    return names


def write_phrases() -> str:
    """The lists of phrases as a function, as readers call it."""
    text = json.dumps(
        msgspec.to_builtins(load_phrases()), ensure_ascii=False, indent=1, sort_keys=True
    )
    data = ast.unparse(ast.parse(repr(json.loads(text))))
    return (
        f"PHRASES = SimpleNamespace(**{data})\n\n\n"
        "def load_phrases():\n"
        '    """The wording of answers."""\n'
        "    return PHRASES"
    )
