"""Plain forms of a few classes and functions, for copies of Nikawa's code that must run without Nikawa.

`copy_code.py` puts these in place of the originals, which need msgspec or the rest of the package. They have the fields and
methods that readers of answers and metrics use, and nothing else.
"""

from __future__ import annotations

import json as plain_json
from dataclasses import dataclass, field
from typing import Any, NoReturn


class BadInput(ValueError):
    """Input that cannot be used."""

    def __init__(self, what: str, *, file: Any = None, line: Any = None, cure: str = "") -> None:
        super().__init__(what)
        self.what, self.cure = what, cure


class UnfitAnswer(ValueError):
    """A record that cannot be used."""

    def __init__(self, what: str, cure: str = "") -> None:
        super().__init__(what)
        self.what, self.cure = what, cure


@dataclass(frozen=True)
class Span:
    """Characters `start` to `end` (exclusive) of a text."""

    start: int
    end: int
    label: str = ""


@dataclass(frozen=True)
class Example:
    """One item of a dataset."""

    id: str
    inputs: dict[str, Any]
    meta: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Task:
    """A question about the examples of a dataset."""

    name: str
    dataset: str
    kind: str
    question: str
    inputs: tuple[str, ...]
    metrics: tuple[str, ...]
    labels: tuple[str, ...] = ()
    scale: tuple[float, float] | None = None
    unit: str = "percent"


def clip(text: str, limit: int) -> str:
    """The beginning of a text, on one line."""
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


class msgspec:  # noqa: N801  (it has the name of the module that it replaces)
    """What readers use of msgspec: strict JSON."""

    DecodeError = ValueError

    class json:  # noqa: N801
        """JSON without NaN and Infinity."""

        @staticmethod
        def decode(raw: str) -> Any:
            """The value of a JSON text."""

            def refuse(name: str) -> NoReturn:
                raise ValueError(f"{name} is not JSON")

            raw.encode()  # half of a surrogate pair is an error, as it is in msgspec
            return plain_json.loads(raw, parse_constant=refuse)
