from __future__ import annotations

import pytest

from nikawa.errors import BadInput, UnknownName
from nikawa.pretrain.settings import SIZES, TrainSettings, check_settings, find_size

IDS = {"pad": 0, "cls": 2, "sep": 3}


def test_the_count_of_parameters_is_that_of_the_model() -> None:
    from nikawa.pretrain.network import build_model

    size = find_size("tiny")
    for vocabulary in (1000, 1024):
        model = build_model(size, vocabulary, IDS, 0)
        assert sum(weight.numel() for weight in model.parameters()) == size.parameters(vocabulary)


def test_mini_stays_under_fifteen_million() -> None:
    assert SIZES["mini"].parameters(16_000) == 13_228_160
    assert SIZES["mini"].parameters(16_000) <= 15_000_000 < SIZES["small"].parameters(16_000)


def test_operations_grow_with_length_and_with_what_is_predicted() -> None:
    mini = SIZES["mini"]
    short, long = (mini.operations(length, 16_000, 0.15) for length in (128, 512))
    assert long - short == 6 * 2 * 12 * 256 * (512 - 128)
    assert mini.operations(128, 16_000, 0.0) < short
    assert short > 6 * mini.body()


def test_an_unknown_size_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UnknownName, match="mini"):
        find_size("minni")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, "the length of the training is not set"),
        ({"steps": 5, "minutes": 1.0}, "pass either --steps or --minutes"),
        ({"steps": 5, "lengths": ((128, 0.5),)}, "do not add up to 1"),
        ({"steps": 5, "lengths": ((1024, 1.0),)}, "between 16 and 512"),
        ({"steps": 5, "batch": 64}, "too small for a window of 128"),
        ({"steps": 5, "mask": 0.0}, "share of masked"),
        ({"steps": 5, "seed": -1}, "seed"),
    ],
)
def test_what_cannot_be_trained_is_refused(changes: dict[str, object], said: str) -> None:
    with pytest.raises(BadInput, match=said):
        check_settings(TrainSettings(**changes))  # type: ignore[arg-type]
