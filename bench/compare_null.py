"""How often `compare` calls a difference where there is none, and how often its interval holds the truth, by seeds."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from nikawa.metrics.base import mean
from nikawa.stats.seeds import compare_runs

ITEMS = 1_000
EASE = 0.8
"""The share of items a run has right, before its seed moves it."""
SPREAD = 0.25
"""How far items differ in that, in standard deviations."""


def runs(generator: np.random.Generator, ease: Any, k: int, sd: float) -> list[Any]:
    """Runs of one system, each moved by its seed; whether an item is right is drawn anew in each."""
    moved = [np.clip(ease + generator.normal(0, sd), 0, 1) for _ in range(k)]
    return [mean((generator.random(ITEMS) < one).astype(np.float64)) for one in moved]


def rates(left: int, right: int, sd: float, times: int) -> tuple[float, float]:
    """Shares of p < .05 and of intervals that hold 0, both sides being the same system."""
    generator = np.random.default_rng((left, right, int(sd * 1000)))
    called = held = 0
    for _ in range(times):
        ease = np.clip(EASE + SPREAD * generator.normal(size=ITEMS), 0.02, 0.98)
        a, b = (runs(generator, ease, k, sd) for k in (left, right))
        found, _ = compare_runs(
            a, b, np.arange(ITEMS), rounds=300, seed=int(generator.integers(1 << 30))
        )
        called += found.p < 0.05
        held += found.low <= 0 <= found.high
    return called / times, held / times


def main() -> None:
    """Print a row for each design."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=100)
    times = parser.parse_known_args()[0].times
    print("sd of seeds (points), runs: p < .05, interval holds 0")
    for sd in (0.02, 0.0):
        for left, right in ((2, 2), (3, 3), (5, 5), (1, 3)):
            called, held = rates(left, right, sd, times)
            print(f"{100 * sd:.1f}  {left}/{right}: {called:.1%}  {held:.1%}", flush=True)


if __name__ == "__main__":
    main()
