from __future__ import annotations

import numpy as np
import pytest

from nikawa.errors import BadInput
from nikawa.pretrain.batches import MaskVocabulary, WindowOrder, cut_windows
from nikawa.pretrain.settings import TrainSettings
from nikawa.pretrain.training import Phase, Schedule


def test_a_round_takes_every_window_once() -> None:
    order = WindowOrder(tokens=1000, length=12, rows=3, seed=5)
    starts = order.starts(0, order.windows // 3).reshape(-1)
    assert len(set(starts.tolist())) == len(starts) == order.windows == 99
    assert len({start % 10 for start in starts.tolist()}) == 1
    assert starts.max() + 10 <= 1000


def test_any_step_can_be_looked_up_without_the_ones_before() -> None:
    whole = WindowOrder(1000, 12, 4, 0).starts(0, 80)
    for first in (0, 23, 24, 25, 70):
        assert (WindowOrder(1000, 12, 4, 0).starts(first, 10) == whole[first : first + 10]).all()
    assert (WindowOrder(1000, 12, 4, 1).starts(0, 80) != whole).any()


def test_rounds_begin_at_different_places() -> None:
    order = WindowOrder(1000, 12, 1, 0)
    shifts = {int(order.starts(order.windows * turn, 1)[0, 0]) % 10 for turn in range(12)}
    assert len(shifts) > 3


@pytest.mark.parametrize("pieces", [10, 11, 19, 20, 21, 35])
def test_little_text_is_used_again_and_again(pieces: int) -> None:
    starts = WindowOrder(pieces, 12, 4, 0).starts(0, 9)
    assert starts.shape == (9, 4)
    assert starts.min() >= 0
    assert starts.max() + 10 <= pieces


def test_less_than_a_window_is_refused() -> None:
    with pytest.raises(BadInput, match="has 9 tokens, but a window needs 10"):
        WindowOrder(9, 12, 1, 0)


def test_windows_are_framed() -> None:
    import torch

    stream = torch.from_numpy(
        np.array([100 * 2 + 1, 101 * 2, 102 * 2 + 1, 103 * 2], dtype=np.int32)
    )
    ids, begins = cut_windows(stream, torch.tensor([0, 2]), 4, MaskVocabulary(2, 3, 4, 10, 200))
    assert ids.tolist() == [[2, 100, 101, 3], [2, 102, 103, 3]]
    assert begins[:, 1:3].tolist() == [[True, False], [True, False]]


def test_a_plan_covers_all_steps() -> None:
    plan = Schedule(
        TrainSettings(steps=11, lengths=((128, 0.9), (256, 0.0), (512, 0.1)), looks=3), 11
    )
    assert plan.phases == [Phase(128, 0, 10), Phase(512, 10, 11)]
    assert [plan.phase(step).length for step in (0, 9, 10)] == [128, 128, 512]
    assert plan.evaluations == [4, 7, 11]
    assert [plan.next_evaluation(done) for done in (0, 4, 10)] == [4, 7, 11]
