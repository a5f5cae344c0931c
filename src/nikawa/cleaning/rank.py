"""Which articles of an encyclopaedia matter, by the links between them: PageRank.

Their names are written for `clean --only`. r_i = (1 - d)/n + d (sum over links j -> i of r_j /
out_j + the share of articles without links), d = 0.85 (Page et al. 1999; JGLUE chose JSQuAD's
articles among the 10,000 best ranked of Wikipedia).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, NamedTuple

from nikawa.errors import BadInput
from nikawa.io.atomic import atomic_write, refuse_existing
from nikawa.io.lines import read_lines

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

DAMPING = 0.85
MAX_ROUNDS = 200
TOLERANCE = 1e-12
"""Sum of absolute changes below which the ranks are final."""


class Graph(NamedTuple):
    """Names, and links between their numbers; no link twice, none to itself."""

    names: list[str]
    sources: NDArray[np.int64]
    targets: NDArray[np.int64]


def rank_articles(
    links: Path,
    count: int,
    *,
    sample: int | None = None,
    seed: int = 0,
    out: Path | None = None,
    overwrite: bool = False,
) -> list[tuple[str, float]]:
    """The `count` best articles with their ranks, the best first; written to `out` if there is one.

    With `sample`, so many of them drawn at random, in the same order.
    """
    if out is not None:
        refuse_existing(out, overwrite)
    articles = best_articles(links, count)
    if sample is not None:
        if sample > len(articles):
            what = f"cannot draw {sample} of {len(articles)} articles"
            raise BadInput(what, cure="draw fewer, or rank more with -n")
        draw = Random(seed)  # noqa: S311  (a draw, not a secret)
        articles = [articles[i] for i in sorted(draw.sample(range(len(articles)), sample))]
    if out is not None:
        with atomic_write(out, overwrite=overwrite) as stream:
            stream.write("".join(f"{name}\t{rank:.6g}\n" for name, rank in articles).encode())
    return articles


def best_articles(path: Path, count: int) -> list[tuple[str, float]]:
    """The `count` best articles of a link file with their ranks, the best first.

    Equal ranks by name.
    """
    graph = read_links(path)
    ranks = pagerank(graph).tolist()

    def order(article: tuple[str, float]) -> tuple[float, str]:
        name, rank = article
        # Ranks are rounded for the order: the last bits depend on the order of additions.
        return -float(f"{rank:.9g}"), name

    return sorted(zip(graph.names, ranks, strict=True), key=order)[:count]


def read_links(path: Path) -> Graph:
    """Read one link per line: from, tab, to. A header `from<TAB>to` is left out."""
    import numpy as np

    numbers: dict[str, int] = {}

    def encode_links() -> Iterator[int]:
        for number, line in read_lines(path):
            cells = line.split("\t")
            if number == 1 and cells == ["from", "to"]:
                continue
            if len(cells) != 2 or not all(cells):
                cure = "write one link per line: from, tab, to"
                raise BadInput(f"has {len(cells)} columns", file=path, line=number, cure=cure)
            source, target = (numbers.setdefault(cell, len(numbers)) for cell in cells)
            yield source << 32 | target

    codes = np.fromiter(encode_links(), np.int64)
    sources, targets = codes >> 32, codes & 0xFFFFFFFF
    if not len(codes):
        raise BadInput("holds no links", file=path, cure="write one link per line: from, tab, to")
    distinct = np.unique(codes[sources != targets])
    return Graph(list(numbers), distinct >> 32, distinct & 0xFFFFFFFF)


def pagerank(graph: Graph, damping: float = DAMPING) -> NDArray[np.float64]:
    """The rank of each article; they sum to 1."""
    import numpy as np

    size = len(graph.names)
    out_links = np.bincount(graph.sources, minlength=size)
    without_links = out_links == 0
    share = 1 / np.maximum(out_links, 1)
    ranks = np.full(size, 1 / size)
    for _ in range(MAX_ROUNDS):
        weights = (ranks * share)[graph.sources]
        received = np.bincount(graph.targets, weights=weights, minlength=size)
        after = (1 - damping) / size + damping * (received + ranks[without_links].sum() / size)
        change = np.abs(after - ranks).sum()
        ranks = after
        if change < TOLERANCE:
            break
    return ranks
