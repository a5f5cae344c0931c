"""JSeM's XML, parsed safely: entities are refused, no DTD is fetched, every problem knows its line."""

from __future__ import annotations

from pathlib import Path
from typing import NoReturn
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

from nikawa.errors import BadInput
from nikawa.io.lines import open_bytes

ROOTS = ("jsem-dataset", "jsem-problems", "jsem_problems")
"""Names the root element had in the releases."""


def parse_problems(path: Path) -> list[tuple[int, Element]]:
    """(line, `<problem>` element) in file order."""
    sink = _Sink(path)
    try:
        with open_bytes(path) as stream:
            sink.parser.ParseFile(stream)
    except expat.ExpatError as problem:
        raise _fault(problem, path) from None
    except (ValueError, LookupError):  # of several bytes a character, or unknown to Python
        raise _unread(sink.encoding, path) from None
    return sink.problems


class _Sink:
    """Feeds a tree builder and notes where each problem begins."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.problems: list[tuple[int, Element]] = []
        self.encoding = ""
        self._builder = TreeBuilder()
        self._depth = 0
        self.parser = expat.ParserCreate()
        self.parser.buffer_text = True
        self.parser.XmlDeclHandler = self._declared
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._builder.data
        self.parser.EntityDeclHandler = self._refuse_entity

    def _declared(self, version: str, encoding: str | None, standalone: int) -> None:
        self.encoding = encoding or ""

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        line = self.parser.CurrentLineNumber
        if self._depth == 0 and tag not in ROOTS:
            raise BadInput(
                f"the root element is <{tag}>, not <{ROOTS[0]}>",
                file=self.path,
                line=line,
                cure="name a file of JSeM",
            )
        element = self._builder.start(tag, attributes)
        if tag == "problem":
            self.problems.append((line, element))
        self._depth += 1

    def _end(self, tag: str) -> None:
        self._builder.end(tag)
        self._depth -= 1

    def _refuse_entity(self, name: str, *_: object) -> NoReturn:
        # JSeM declares none; a few nested ones can fill the memory, and an external one reads other files.
        raise BadInput(
            f"declares the entity {name!r}",
            file=self.path,
            line=self.parser.CurrentLineNumber,
            cure="write the text out; entity declarations are refused",
        )


def _fault(problem: expat.ExpatError, path: Path) -> BadInput:
    said = expat.ErrorString(problem.code)
    return BadInput(
        f"is not well-formed XML ({said})",
        file=path,
        line=problem.lineno,
        cure="fetch or correct the file",
    )


def _unread(encoding: str, path: Path) -> BadInput:
    cure = (
        f"convert it, e.g. with iconv -f {encoding} -t UTF-8, and declare UTF-8 in its first line"
    )
    return BadInput(
        f"declares the encoding {encoding!r}, which is not read", file=path, line=1, cure=cure
    )
