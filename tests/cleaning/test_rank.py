"""PageRank against the definition solved directly, and what a link file may look like."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

from nikawa.cleaning.rank import best_articles, pagerank, read_links
from nikawa.errors import BadInput


def write(path: Path, links: list[tuple[str, str]]) -> Path:
    path.write_text("".join(f"{a}\t{b}\n" for a, b in links), "utf-8")
    return path


def solved(
    size: int, links: set[tuple[int, int]], d: float = 0.85
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """(I - d M) r = (1 - d)/n, articles without links linking to all."""
    matrix = np.zeros((size, size))
    for source in range(size):
        targets = [b for a, b in links if a == source]
        for target in targets or range(size):
            matrix[target, source] = 1 / len(targets or range(size))
    solution: np.ndarray[tuple[int], np.dtype[np.float64]] = np.linalg.solve(
        np.eye(size) - d * matrix, np.full(size, (1 - d) / size)
    )
    return solution


@pytest.mark.parametrize("seed", range(4))
def test_as_defined(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    pairs = [(str(rng.randrange(12)), str(rng.randrange(15))) for _ in range(40)]
    graph = read_links(write(tmp_path / "l.tsv", pairs))
    at = {name: i for i, name in enumerate(graph.names)}
    links = {(at[a], at[b]) for a, b in pairs if a != b}
    found = pagerank(graph)
    assert np.allclose(found, solved(len(graph.names), links), atol=1e-10)
    assert found.sum() == pytest.approx(1)


def test_best_first_and_ties_by_name(tmp_path: Path) -> None:
    path = write(
        tmp_path / "l.tsv",
        [("from", "to"), ("바다", "다리"), ("산", "다리"), ("다리", "강"), ("산", "산")],
    )
    assert [name for name, _ in best_articles(path, 10)] == ["강", "다리", "바다", "산"]
    assert [name for name, _ in best_articles(path, 2)] == ["강", "다리"]


@pytest.mark.parametrize(
    ("text", "why"),
    [("", "no links"), ("a\n", "line 1"), ("a\tb\na\t\n", "line 2"), ("a\tb\tc\n", "line 1")],
)
def test_bad_files(tmp_path: Path, text: str, why: str) -> None:
    path = tmp_path / "l.tsv"
    path.write_text(text, "utf-8")
    with pytest.raises(BadInput, match=why):
        read_links(path)


def test_only_links_to_oneself(tmp_path: Path) -> None:
    assert best_articles(write(tmp_path / "l.tsv", [("a", "a"), ("b", "b")]), 5) == [
        ("a", 0.5),
        ("b", 0.5),
    ]
