from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from nikawa.pretrain.batches import (
    Batch,
    MaskVocabulary,
    count_masked,
    draw_numbers,
    mask_words,
)

PIECES = MaskVocabulary(cls=2, sep=3, mask=4, first=10, end=5000)
ROWS, LENGTH = 64, 128


def _batch(seed: int = 0) -> tuple[Any, Any]:
    import torch

    random = np.random.default_rng(seed)
    ids = torch.from_numpy(random.integers(10, 5000, (ROWS, LENGTH)))
    ids[:, 0], ids[:, -1], ids[3, 40] = 2, 3, 3
    return ids, torch.from_numpy(random.random((ROWS, LENGTH)) < 0.6)


def _masked(step: int = 7, seed: int = 1) -> tuple[Any, Any, Batch]:
    import torch

    ids, begins = _batch()
    return ids, begins, mask_words(ids, begins, torch.tensor(step), PIECES, seed=seed, share=0.15)


def _chosen(found: Batch) -> Any:
    return found.at[found.weight > 0]


def test_words_are_taken_whole() -> None:
    ids, begins, found = _masked()
    fixed = ((ids == 2) | (ids == 3)).numpy()
    words = (begins.numpy() | fixed | np.roll(fixed, 1, axis=1)).reshape(-1).cumsum()
    taken = np.zeros(ROWS * LENGTH, dtype=bool)
    taken[_chosen(found).numpy()] = True
    touched = np.unique(words[taken])
    assert taken[np.isin(words, touched) & ~fixed.reshape(-1)].all()
    assert not taken[fixed.reshape(-1)].any()


def test_the_share_and_the_three_fates() -> None:
    ids, _, found = _masked()
    at = _chosen(found)
    assert len(found.at) == ROWS * count_masked(LENGTH, 0.15)
    assert len(set(at.tolist())) == len(at)
    assert len(at) / (ROWS * LENGTH) == pytest.approx(0.15, abs=0.01)
    before, after = ids.reshape(-1)[at], found.ids.reshape(-1)[at]
    hidden, kept = (after == 4).float().mean(), (after == before).float().mean()
    assert hidden == pytest.approx(0.8, abs=0.03)
    assert kept == pytest.approx(0.1, abs=0.03)
    other = after[(after != 4) & (after != before)]
    assert ((other >= 10) & (other < 5000)).all()
    assert len(set(other.tolist())) > 50


def test_only_chosen_places_change_and_the_gold_is_what_stood_there() -> None:
    ids, _, found = _masked()
    changed = (ids != found.ids).reshape(-1).nonzero()[:, 0]
    assert set(changed.tolist()) <= set(_chosen(found).tolist())
    assert (found.gold == ids.reshape(-1)[found.at]).all()


def test_the_same_seed_and_step_draw_the_same_and_others_differ() -> None:
    first, again, later, other = (_masked(*key)[2] for key in ((7, 1), (7, 1), (8, 1), (7, 2)))
    assert (first.ids == again.ids).all()
    for one in (later, other):
        assert (
            len(set(_chosen(one).tolist()) & set(_chosen(first).tolist())) < len(_chosen(first)) / 3
        )


def test_the_draw_is_even_and_steps_are_apart() -> None:
    import torch

    places = torch.arange(1 << 16)
    rounds = [draw_numbers(places, torch.tensor(step), 0, 5) for step in (0, 1, 2)]
    for found in rounds:
        assert int(found.min()) >= 0
        assert int(found.max()) < 1 << 32
        counts = torch.bincount(found >> 26, minlength=64).float()
        assert (
            float(((counts - 1024) ** 2 / 1024).sum()) < 120
        )  # chi-squared of 63 degrees: 103 at 0.1%
    assert not (rounds[0] == rounds[1]).any()
    signs = [(found > 1 << 31).double() - 0.5 for found in rounds]
    assert abs(float((signs[0] * signs[1]).mean()) * 4) < 0.02


def test_a_row_of_one_word_predicts_nothing_and_breaks_nothing() -> None:
    import torch

    ids = torch.full((2, 32), 50)
    ids[:, 0], ids[:, -1] = 2, 3
    found = mask_words(
        ids, torch.zeros_like(ids, dtype=torch.bool), torch.tensor(0), PIECES, seed=0, share=0.15
    )
    assert float(found.weight.sum()) == 0
    assert (found.ids == ids).all()
