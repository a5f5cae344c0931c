"""What the settings of a board say about showing the scores of a set, with the slices that must stay closed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from nikawa.board.folder import Board
from nikawa.board.records import BoardSet
from nikawa.board.reveal import RevealRules, choose_slices


def rules_of(board: Board, one: BoardSet) -> RevealRules:
    """The rules for a set."""
    rules = RevealRules.of(board.settings)
    slices = board.slices(one)
    places = {name: np.array(items, dtype=np.int64) for name, items in slices.items()}
    n = len(board.examples(one.task, one.split))
    closed = choose_slices(places, n, rules.min_items)
    return replace(rules, closed_slices=closed, published_slices=frozenset(slices))
