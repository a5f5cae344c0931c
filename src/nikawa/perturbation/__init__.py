"""Perturbations: an example in, a changed example linked to it out. One file a family, found by scan."""

from __future__ import annotations

import sys
from functools import cache

from nikawa.perturbation.base import Effect, Perturbation, apply
from nikawa.registry import Registry, scan

__all__ = ["Effect", "Perturbation", "apply", "perturbations"]


@cache
def perturbations(language: str | None = None) -> Registry[Perturbation]:
    """Those of a language and those of any language, by name; without a language all, by full name (`ja/swap-o`)."""
    table: Registry[Perturbation] = Registry("perturbation")
    for module in scan(sys.modules[__name__]):
        for found in getattr(module, "PERTURBATIONS", ()):
            if language is None:
                table.add(found.full_name, found)
            elif found.language in ("", language):
                table.add(found.name, found)
    return table
