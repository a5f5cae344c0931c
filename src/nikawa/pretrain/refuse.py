"""Files that nothing can be learned from are refused: most by their beginning, before any work."""

from __future__ import annotations

from collections.abc import Sequence

from nikawa.errors import BadInput
from nikawa.pretrain.corpus import read
from nikawa.pretrain.language import SAMPLE, refuse_other
from nikawa.pretrain.report import CorpusReport
from nikawa.pretrain.sources import Source, unreadable

TELLING = 2_000
"""Characters from which a file of a folder is judged by itself: a short one may be a heading, or a licence."""


def refuse_others(sources: Sequence[Source], language: str) -> None:
    """Refuse files in another language by their first parts; short ones of a folder only where it has no longer one."""
    together, size, alone = list[str](), 0, False
    for source in sources:
        first = _first(source)
        length = sum(map(len, first))
        if not first and source.found is None:
            cure = "name a file of UTF-8 text, or of JSON lines"
            raise BadInput("holds no text", file=source.path, cure=cure)
        if source.found is None or length >= TELLING:
            refuse_other(first, language, source.path)
            alone = True
        elif size < SAMPLE:
            together += first
            size += length
    if together and not alone:
        refuse_other(together, language, sources[0].found or sources[0].path)


def _first(source: Source) -> list[str]:
    """The lines at the beginning of a file."""
    first, size = list[str](), 0
    looked = Source(source.path, source.name, source.key)
    for line in read(looked):
        first.append(line.text)
        size += len(line.text)
        if size >= SAMPLE:
            break
    if not first and looked.broken.count:
        raise unreadable(looked, "none of its lines can be read")
    return first


def nothing_left(sources: Sequence[Source], report: CorpusReport) -> BadInput:
    """The error for a text of which nothing can be learned."""
    file = sources[0].path if len(sources) == 1 else sources[0].path.parent
    if report.heldout.lines:
        cure = "name more text, with a blank line between documents, or another --seed"
        return BadInput("all there is of the text was held out", file=file, cure=cure)
    steps = ", ".join(f"{step} {count:,}" for step, count in report.removed.items() if count)
    what = f"nothing is left of the text{f', lines removed: {steps}' if steps else ''}"
    return BadInput(what, file=file, cure="name other text")
