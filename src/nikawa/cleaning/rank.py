"""Choose articles by the links between them, and write their names for `clean --only`."""

from __future__ import annotations

from pathlib import Path
from random import Random

from nikawa.cleaning.links import best
from nikawa.errors import BadInput
from nikawa.io.atomic import atomic_write, refuse_existing


def rank_articles(
    links: Path,
    count: int,
    *,
    sample: int | None = None,
    seed: int = 0,
    out: Path | None = None,
    overwrite: bool = False,
) -> list[tuple[str, float]]:
    """The `count` best articles, or `sample` of them drawn at random, the best first; written to `out` if named."""
    if out is not None:
        refuse_existing(out, overwrite)
    found = best(links, count)
    if sample is not None:
        if sample > len(found):
            raise BadInput(
                f"cannot draw {sample} of {len(found)} articles",
                cure="draw fewer, or take more with -n",
            )
        chosen = sorted(Random(seed).sample(range(len(found)), sample))  # noqa: S311  (a draw, not a secret)
        found = [found[i] for i in chosen]
    if out is not None:
        with atomic_write(out, overwrite=overwrite) as stream:
            stream.write("".join(f"{name}\t{score:.6g}\n" for name, score in found).encode())
    return found
