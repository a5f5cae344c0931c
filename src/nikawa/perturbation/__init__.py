"""Perturbations: an example in, a changed example linked to it out.

Each family has a file, which a scan of the folder finds.
"""

from __future__ import annotations

import sys
from functools import cache

from nikawa.perturbation.base import Effect, Perturbation, apply
from nikawa.registry import Registry, collect_plugins

__all__ = ["Effect", "Perturbation", "apply", "perturbations"]


@cache
def perturbations(language: str | None = None) -> Registry[Perturbation]:
    """Those of a language and those of any language, by name.

    Without a language, all of them by full name (`ja/swap-o`).
    """
    table: Registry[Perturbation] = Registry("perturbation")
    here = sys.modules[__name__]
    for perturbation in collect_plugins(
        Perturbation, "PERTURBATIONS", "nikawa.perturbations", here
    ):
        if language is None:
            table.add(perturbation.full_name, perturbation)
        elif perturbation.language in ("", language):
            table.add(perturbation.name, perturbation)
    return table
