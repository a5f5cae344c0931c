"""Models that answer tasks, by name: one file a model, found by scan."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache

from nikawa.models.base import Predictor, Trainable
from nikawa.registry import Registry, scan

__all__ = ["Predictor", "Trainable", "model", "models"]


@cache
def models() -> Registry[Callable[[], Predictor]]:
    """What makes a fresh model of each name."""
    table: Registry[Callable[[], Predictor]] = Registry("model")
    for module in scan(sys.modules[__name__]):
        for name, maker in getattr(module, "MODELS", {}).items():
            table.add(name, maker)
    return table


def model(name: str) -> Predictor:
    """A fresh model; one that learns must be fitted before it answers."""
    return models()[name]()
