"""Settings in a TOML file that people edit: tables as typed records, and errors that name the line.

    class Gold(SettingsTable, frozen=True):
        rate: float = 0.0

    class Settings(SettingsTable, frozen=True):
        gold: Gold = Gold()

    read_settings_file(path, Settings, missing=BadInput(...))

An unknown setting is refused with the nearest name, a wrong value with its line.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar, get_args

import msgspec

from nikawa.errors import BadInput, suggest
from nikawa.io.lines import read_text
from nikawa.io.toml import parse_toml


class SettingsTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A table of a file of settings."""


T = TypeVar("T", bound=SettingsTable)


def read_settings_file(path: Path, kind: type[T], missing: BadInput) -> T:
    """Read and check a file of settings.

    Raises `missing` where there is no file, and `BadInput` with file and line where it is no TOML, or has a setting that is
    unknown or wrong.
    """
    if not path.exists():
        raise missing
    text = read_text(path, "settings").decode()
    table = parse_toml(text, path)
    _refuse_unknown_settings(table, kind, path, text)
    try:
        return msgspec.convert(table, kind)
    except msgspec.ValidationError as problem:
        line = find_line(text, setting_names(str(problem)))
        raise BadInput(
            f"a setting is wrong: {problem}", file=path, line=line, cure="correct it"
        ) from None


def format_toml_value(value: Any) -> str:
    """A value as TOML writes it; JSON's texts, numbers, truth values and lists are TOML's too.

    >>> format_toml_value({"a": ["x", 1, True]})
    '{"a" = ["x", 1, true]}'
    """
    if isinstance(value, dict):
        pairs = (
            f"{format_toml_value(str(key))} = {format_toml_value(one)}"
            for key, one in value.items()
        )
        return "{" + ", ".join(pairs) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(format_toml_value, value)) + "]"
    return msgspec.json.encode(value).decode().replace("\x7f", "\\u007f")


def _refuse_unknown_settings(
    table: dict[str, Any], kind: type[SettingsTable], path: Path, text: str
) -> None:
    """Refuse an unknown setting or table; the message suggests the nearest name."""
    kinds = {field.encode_name: field.type for field in msgspec.structs.fields(kind)}
    for name, value in table.items():
        if name not in kinds:
            what = f"there is no setting {name!r}"
            line = find_line(text, (name,))
            raise BadInput(what, file=path, line=line, cure=suggest(name, kinds))
        inner = _find_table(kinds[name])
        if inner is None:
            continue
        known = {field.encode_name for field in msgspec.structs.fields(inner)}
        tables = value if isinstance(value, list) else [value]
        for place, one in enumerate(tables):
            for key in one if isinstance(one, dict) else ():
                if key not in known:
                    what = f"[{name}] has no setting {key!r}"
                    header = f"{name}[{place}]" if isinstance(value, list) else name
                    line = find_line(text, (header, key))
                    raise BadInput(what, file=path, line=line, cure=suggest(key, known))


def _find_table(kind: Any) -> type[SettingsTable] | None:
    """The table of a field that is a table or a list of tables."""
    if isinstance(kind, type) and issubclass(kind, SettingsTable):
        return kind
    return next(filter(None, map(_find_table, get_args(kind))), None)


def find_line(text: str, names: Sequence[str]) -> int | None:
    """The line of a setting, or of the table it names; None where the file does not hold it.

    A table of a list is named with its place.

    >>> find_line("[gold]\\nrate = 2\\n", ("gold", "rate"))
    2
    >>> find_line("[[sets]]\\nrole = 1\\n[[sets]]\\nrole = 2\\n", ("sets[1]", "role"))
    4
    """
    section, seen = "", dict[str, int]()
    table = ".".join(names[:-1])
    for number, line in enumerate(text.splitlines(), start=1):
        stripped = line.strip()
        if stripped.startswith("["):
            is_listed = stripped.startswith("[[")
            section = stripped.strip("[]# ").split("]")[0].strip()
            if is_listed:
                seen[section] = seen.get(section, -1) + 1
                section = f"{section}[{seen[section]}]"
            if section == ".".join(names):
                return number
            continue
        key = stripped.split("=")[0].strip().strip("\"'")
        if key == names[-1] and section == table:
            return number
    plain = [re.sub(r"\[[^\]]*\]", "", name) for name in names]
    # tables of a list may be written inside brackets
    return find_line(text, plain) if plain != list(names) else None


def setting_names(problem: str) -> list[str]:
    """The setting an error of msgspec speaks of (`… - at `$.gold.rate``), as table and name.

    >>> setting_names("Expected `int` - at `$.sets[1].split`")
    ['sets[1]', 'split']
    """
    names = problem.rpartition("`$.")[2].rstrip("`").split(".")
    return [*(names[:-1]), re.sub(r"\[[^\]]*\]", "", names[-1])]
