"""Metrics: pure functions of gold and answers, each with its detail per item. One file per family, found by scanning this folder."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from typing import Any

from nikawa.metrics.base import Evaluation, Items, ItemScore, Metric, MetricResult, Mode
from nikawa.registry import Registry, collect_plugins, scan

__all__ = [
    "Adapter",
    "Evaluation",
    "ItemScore",
    "Items",
    "Metric",
    "MetricResult",
    "Mode",
    "golden_adapters",
    "metrics",
]

Adapter = Callable[[Any], Any]
"""Maps the input of a golden case to what the official function returns for it."""


@cache
def metrics() -> Registry[Metric]:
    """All metrics by name."""
    table: Registry[Metric] = Registry("metric")
    for metric in collect_plugins(Metric, "METRICS", "nikawa.metrics", sys.modules[__name__]):
        table.add(metric.name, metric)
    return table


@cache
def golden_adapters() -> Registry[Adapter]:
    """Group of a golden file to the function that answers its cases."""
    table: Registry[Adapter] = Registry("golden group")
    for module in scan(sys.modules[__name__]):
        for group, adapter in getattr(module, "GOLDEN", {}).items():
            table.add(group, adapter)
    return table
