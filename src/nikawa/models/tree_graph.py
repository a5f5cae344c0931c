"""The graph parser as a model of the list; what it does is loaded when one is made."""

from __future__ import annotations

from typing import Annotated

import msgspec

from nikawa.models.base import Model, Predictor, Setup, settings_of
from nikawa.records import Kind

KINDS: tuple[Kind, ...] = ("tree",)


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """How it learns."""

    epochs: Annotated[int, msgspec.Meta(ge=1)] = 4
    """How often it goes through the examples."""
    rate: Annotated[float, msgspec.Meta(gt=0)] = 0.05
    """How far the first step of a weight goes."""


def _make(setup: Setup) -> Predictor:
    from nikawa.models._tree_graph import Graph

    return Graph(settings_of(Settings, setup), setup.seed, setup.progress)


MODELS = (Model("tree-graph", "a first-order graph parser", KINDS, _make, Settings),)
