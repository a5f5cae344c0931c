"""How often `compare` reports a difference between equal systems, and how often its interval contains the true value, by seeds."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from nikawa.metrics.base import mean
from nikawa.stats.seeds import compare_runs

ITEMS = 1_000
EASE = 0.8
"""The share of items that a run answers correctly, before the effect of its seed."""
SPREAD = 0.25
"""How far items differ in that, in standard deviations."""


def runs(generator: np.random.Generator, ease: Any, k: int, sd: float) -> list[Any]:
    """Runs of one system, each with an effect of its seed; the correct items are drawn again in each."""
    moved = [np.clip(ease + generator.normal(0, sd), 0, 1) for _ in range(k)]
    return [mean((generator.random(ITEMS) < one).astype(np.float64)) for one in moved]


def rates(left: int, right: int, sd: float, times: int) -> tuple[float, float]:
    """Shares of p < .05 and of intervals that contain 0, with the same system on both sides."""
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
    print("sd of seeds (points), runs: p < .05, interval contains 0")
    for sd in (0.02, 0.0):
        for left, right in ((2, 2), (3, 3), (5, 5), (1, 3)):
            called, held = rates(left, right, sd, times)
            print(f"{100 * sd:.1f}  {left}/{right}: {called:.1%}  {held:.1%}", flush=True)


if __name__ == "__main__":
    main()
