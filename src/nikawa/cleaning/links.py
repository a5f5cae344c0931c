"""Which articles of an encyclopaedia matter, by the links between them: PageRank.

r = (1 - d)/n + d (sum over links j -> i of r_j / out_j + the share of articles without links), d = 0.85
(Page et al. 1999; JGLUE chose JSQuAD's articles among the 10,000 best ranked of Wikipedia).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from nikawa.errors import BadInput
from nikawa.io.lines import read_lines

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

DAMPING, ROUNDS, ENOUGH = 0.85, 200, 1e-12
_BLOCK = 1 << 20


class Graph(NamedTuple):
    """Names, and links between their numbers; no link twice, none to itself."""

    names: list[str]
    sources: NDArray[np.int64]
    targets: NDArray[np.int64]


def read_links(path: Path) -> Graph:
    """A link a line: from, tab, to. A header `from<TAB>to` is left out."""
    import numpy as np

    numbers: dict[str, int] = {}
    codes = np.fromiter(_codes(path, numbers), np.int64)
    sources, targets = codes >> 32, codes & 0xFFFFFFFF
    if not len(codes):
        raise BadInput("holds no links", file=path, cure="write a link a line: from, tab, to")
    distinct = np.unique(codes[sources != targets])
    return Graph(list(numbers), distinct >> 32, distinct & 0xFFFFFFFF)


def _codes(path: Path, numbers: dict[str, int]) -> Iterator[int]:
    for number, line in read_lines(path):
        cells = line.split("\t")
        if number == 1 and cells == ["from", "to"]:
            continue
        if len(cells) != 2 or not all(cells):
            cure = "write a link a line: from, tab, to"
            raise BadInput(f"has {len(cells)} columns", file=path, line=number, cure=cure)
        source, target = (numbers.setdefault(cell, len(numbers)) for cell in cells)
        yield source << 32 | target


def pagerank(graph: Graph, damping: float = DAMPING) -> NDArray[np.float64]:
    """The rank of each article; they sum to 1."""
    import numpy as np

    size = len(graph.names)
    out = np.bincount(graph.sources, minlength=size)
    without = out == 0
    share = 1 / np.maximum(out, 1)
    rank = np.full(size, 1 / size)
    for _ in range(ROUNDS):
        given = np.bincount(graph.targets, weights=(rank * share)[graph.sources], minlength=size)
        after = (1 - damping) / size + damping * (given + rank[without].sum() / size)
        change = np.abs(after - rank).sum()
        rank = after
        if change < ENOUGH:
            break
    return rank


def best(path: Path, count: int) -> list[tuple[str, float]]:
    """The `count` best articles of a link file with their ranks, the best first; equal ranks by name."""
    graph = read_links(path)
    ranks = pagerank(graph).tolist()
    # Ranks are rounded for the order: the last bits depend on the order of additions.
    ranked = sorted(
        zip(graph.names, ranks, strict=True), key=lambda pair: (-float(f"{pair[1]:.9g}"), pair[0])
    )
    return ranked[:count]
