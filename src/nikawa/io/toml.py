"""TOML files: settings, packs, presets and lists that people write.

Python's parser is made for files of its own user: dotted keys cost it the square of their length,
and brackets inside each other overflow its stack. Here both are refused, and so is a long file.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from nikawa.errors import BadInput
from nikawa.io.json import TOO_DEEP
from nikawa.io.jsonl import measure_depth
from nikawa.io.limits import read_limits
from nikawa.io.lines import read_text

_PLACE = re.compile(r" \(at (?:line (\d+), column \d+|end of document)\)")


def read_toml(path: Path, cure: str = "correct the line") -> dict[str, Any]:
    """The tables of a TOML file, or the `BadInput` that names the file and the line."""
    return parse_toml(read_text(path, "settings").decode(), path, cure)


def parse_toml(
    text: str,
    path: Path,
    cure: str = "correct the line",
    *,
    parse_float: Callable[[str], Any] = float,
) -> dict[str, Any]:
    """The tables of a TOML text; the path is for messages, `cure` says what to do about a fault."""
    limits = read_limits()
    deep = limits.cure("nesting", "nest tables and lists only a few levels deep")
    name = r"""[\w"'-]++[ \t]*+"""
    dotted = re.compile(rf"""(?<![\w"'-])(?:{name}\.[ \t]*+){{{limits.nesting}}}""")
    if match := dotted.search(text):
        line = text.count("\n", 0, match.start()) + 1
        raise BadInput(TOO_DEEP, file=path, line=line, cure=deep)
    try:
        tables = tomllib.loads(text, parse_float=parse_float)
    except RecursionError:
        # the parser does not say where: the line with the most brackets is the likeliest
        lines = [line.count("[") + line.count("{") for line in text.split("\n")]
        line = lines.index(max(lines)) + 1
        raise BadInput(TOO_DEEP, file=path, line=line, cure=deep) from None
    except ValueError as problem:  # a fault of TOML, or a number of thousands of digits
        where = _PLACE.search(str(problem))
        place = None
        if where:
            place = int(where[1]) if where[1] else text.count("\n") + 1
        what = f"is not TOML: {_PLACE.sub('', str(problem))}"
        raise BadInput(what, file=path, line=place, cure=cure) from None
    if measure_depth(tables) > limits.nesting:
        raise BadInput(TOO_DEEP, file=path, cure=deep)
    return tables
