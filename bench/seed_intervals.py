"""How often the interval of a mean over several seeds contains the true value: Student's t against a bootstrap that draws seeds."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from nikawa.stats.resample import percentile_interval
from nikawa.stats.seeds import mean_interval

EASE = 0.8
"""The share of items that a system answers correctly: the value that intervals must contain."""
EASIER = 0.1
"""How far the chance of an item to be answered right may be from that."""
ROUNDS = 300


def runs(generator: np.random.Generator, items: int, k: int, sd: float) -> Any:
    """Whether each of k runs is right on each item; items and seeds are both drawn, and no chance goes past 0 or 1."""
    ease = EASE + EASIER * generator.uniform(-1, 1, items)
    moved = np.clip(generator.normal(0, sd, k), -EASIER, EASIER)
    return (generator.random((k, items)) < ease + moved[:, None]).astype(np.float64)


def resampled(generator: np.random.Generator, right: Any) -> Any:
    """The score of each run under resamples of items; items that the same runs answer correctly are equal."""
    kinds, counts = np.unique(right.T, axis=0, return_counts=True)
    items = right.shape[1]
    return (generator.multinomial(items, counts / items, size=ROUNDS) @ kinds / items).T


def rates(items: int, k: int, sd: float, times: int) -> list[tuple[float, float]]:
    """For t, then for the bootstrap: the share of intervals that contain the true value, and their median width in points."""
    generator = np.random.default_rng((items, k, int(sd * 1000)))
    ends: list[list[tuple[float, float]]] = [[], []]
    for _ in range(times):
        right = runs(generator, items, k, sd)
        drawn = resampled(generator, right)
        picks = generator.integers(0, k, size=drawn.shape)
        ends[0].append(mean_interval(right.mean(axis=1), drawn, items))
        ends[1].append(
            percentile_interval(np.take_along_axis(drawn, picks, axis=0).mean(axis=0), items)
        )
    found = [np.array(each) for each in ends]
    held = [float(((each[:, 0] <= EASE) & (each[:, 1] >= EASE)).mean()) for each in found]
    width = [float(100 * np.median(np.diff(each, axis=1))) for each in found]
    return list(zip(held, width, strict=True))


def main() -> None:
    """Print a row for each design."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=100)
    times = parser.parse_known_args()[0].times
    print(
        "items, sd of seeds (points), runs: t contains it, median width; bootstrap of seeds contains it, median width"
    )
    for items, sd in ((5_000, 0.02), (5_000, 0.005), (1_000, 0.02), (1_000, 0.0), (100, 0.02)):
        for k in (2, 3, 5):
            t, drawn = rates(items, k, sd, times)
            print(
                f"{items:,}  {100 * sd:.1f}  {k}: {t[0]:.1%}  {t[1]:.1f}; {drawn[0]:.1%}  {drawn[1]:.1f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
