"""The lists of known problems: `known.toml` beside the readers of each paper, one table a check.

    [jsick.repeated-pairs]
    "train+dev+test" = 123

A published file that is no split of its own, read as `jsick@train.tsv`, has tables under that name.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

import msgspec

import nikawa.datasets
from nikawa.errors import BadInput
from nikawa.records import Finding

Known = Mapping[str, Mapping[str, Mapping[str, int]]]
"""Dataset to check to where to count."""


def marked(names: Iterable[str], findings: Iterable[Finding], known: Known) -> Iterator[Finding]:
    """The findings, each marked known where the list of one of `names` holds it with the same count."""
    lists = [known.get(name, {}) for name in names]
    for finding in findings:
        is_known = any(
            listed.get(finding.check, {}).get(finding.where) == finding.count for listed in lists
        )
        yield msgspec.structs.replace(finding, known=finding.known or is_known)


@cache
def known_problems() -> Known:
    """Every `known.toml` beside the readers, as one table."""
    merged: dict[str, Mapping[str, Mapping[str, int]]] = {}
    for file in sorted(Path(nikawa.datasets.__path__[0]).glob("*/known.toml")):
        merged.update(read_known(file))
    return merged


def read_known(file: Path) -> Known:
    """One list of known problems."""
    try:
        raw = tomllib.loads(file.read_text("utf-8"))
        return msgspec.convert(raw, dict[str, dict[str, dict[str, int]]])
    except tomllib.TOMLDecodeError as problem:
        raise BadInput(f"is not TOML ({problem})", file=file, cure="see docs/data.md") from None
    except msgspec.ValidationError as problem:
        cure = 'write [dataset.check] tables of "where" = count'
        raise BadInput(
            f"is not a list of known problems ({problem})", file=file, cure=cure
        ) from None
