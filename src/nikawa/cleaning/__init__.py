"""From source text to candidate sentences, by small steps that count what they change and remove.

One file a step, found by scan: a module here that names its `STEPS` adds them.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import cache

from nikawa.cleaning.base import Edit, Removed, Settings, Step
from nikawa.registry import Registry, collect_plugins

__all__ = ["Edit", "Removed", "Settings", "Step", "choose_steps", "steps"]


@cache
def steps() -> Registry[Step]:
    """Every step by name, in the order they run."""
    plugins = collect_plugins(Step, "STEPS", "nikawa.cleaning_steps", sys.modules[__name__])
    table: Registry[Step] = Registry("cleaning step")
    for step in sorted(plugins, key=lambda step: (step.place, step.name)):
        table.add(step.name, step)
    return table


def choose_steps(
    names: Sequence[str] | None = None, without: Sequence[str] = ()
) -> tuple[Step, ...]:
    """The steps called `names` (None: those on by default) but `without`, in the order they run."""
    known = steps()
    if names is None:
        chosen = {step.name for step in known.values() if step.default}
    else:
        chosen = {known[name].name for name in names}
    chosen -= {known[name].name for name in without}
    return tuple(step for step in known.values() if step.name in chosen)
