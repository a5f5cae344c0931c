"""What the command line offers, found by walking its tree; and the names that `import nikawa` gives.

Older and newer releases of Typer keep the type of a parameter in different places, so it is looked for by name.
"""

from __future__ import annotations

import signal
import sys
import types
from contextlib import suppress
from enum import Enum
from pathlib import Path
from typing import Any, Union, get_args, get_origin
from unittest.mock import patch

from typer.core import TyperGroup

import nikawa

Found = dict[str, Any]
_PLAIN = {
    "integer": "int",
    "integer range": "int",
    "text": "str",
    "boolean": "bool",
    "float range": "float",
}


def public_names() -> list[str]:
    """What a program may import."""
    return sorted(nikawa.__all__)


def _root() -> Any:
    """The root of the command tree, as it is built for a verb that does not exist: with everything."""
    from nikawa.cli import main

    seen: list[Any] = []

    def look(self: Any, *_: Any, **__: Any) -> int:
        seen.append(self)
        return 0

    pipe = signal.getsignal(signal.SIGPIPE)
    with (
        patch.object(TyperGroup, "main", look),
        patch.object(sys, "argv", ["nikawa", "no-such-verb"]),
        suppress(SystemExit),
    ):
        main()
    signal.signal(signal.SIGPIPE, pipe)
    return seen[0]


def command_tree() -> dict[str, list[Found]]:
    """Each command by its words, with all its parameters."""
    found: dict[str, list[Found]] = {}

    def walk(command: Any, words: tuple[str, ...]) -> None:
        found[" ".join(words)] = [_parameter(p) for p in command.params]
        for name, below in dict(getattr(command, "commands", {})).items():
            walk(below, (*words, name))

    walk(_root(), ("nikawa",))
    return found


def _parameter(parameter: Any) -> Found:
    option = parameter.param_type_name == "option"
    told: Found = {
        "kind": parameter.param_type_name,
        "name": " ".join(sorted(parameter.opts)) if option else parameter.name,
        "required": bool(parameter.required),
        "many": bool(getattr(parameter, "multiple", False)) or parameter.nargs == -1,
        "default": _default(parameter.default),
        "type": _type(parameter),
    }
    if parameter.secondary_opts:
        told["off"] = " ".join(sorted(parameter.secondary_opts))
    for bound in ("min", "max"):
        value = getattr(parameter, bound, getattr(getattr(parameter, "type", None), bound, None))
        if value is not None:
            told[bound] = value
    if parameter.envvar:
        told["variable"] = parameter.envvar
    return told


def _default(value: Any) -> Any:
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, list | tuple):
        return [_default(part) for part in value]
    return value if isinstance(value, str | int | float | bool) else None


def _type(parameter: Any) -> Any:
    """The name of a type, or the words to choose among."""
    descriptor = getattr(parameter, "type_descriptor", None)
    if descriptor is None:
        kind = parameter.type
        choices = getattr(kind, "choices", None)
        return [str(_default(c)) for c in choices] if choices else _PLAIN.get(kind.name, kind.name)
    kind = descriptor.annotation
    while get_origin(kind) is not None:
        inner = [part for part in get_args(kind) if part is not type(None)]
        assert get_origin(kind) in (list, tuple, Union, types.UnionType), kind
        kind = inner[0]
    if isinstance(kind, type) and issubclass(kind, Enum):
        return [member.value for member in kind]
    return "path" if kind is Path else kind.__name__
