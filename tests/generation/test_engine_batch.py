"""Arrays give the very numbers that single items give."""

from __future__ import annotations

import numpy as np
import pytest

from nikawa.generation import randomness_arrays as batch
from nikawa.generation.generator import Generator, load_pack_lexicon
from nikawa.generation.pack import open_pack
from nikawa.generation.randomness import MASK_32, KeyedRandom, RandomSource, hash_key, permute_place


def test_permutations_agree() -> None:
    sizes = [1, 2, 3, 10, 97, 1_000, 123_457, 10**12 + 39]
    places = np.array([n * 3 // 4 for n in sizes], dtype=np.uint64)
    seeds = np.array([hash_key(n) & MASK_32 for n in sizes], dtype=np.uint64)
    found = batch.permute_places(places, np.array(sizes, dtype=np.uint64), seeds)
    assert found.tolist() == [permute_place(n * 3 // 4, n, hash_key(n) & MASK_32) for n in sizes]


@pytest.mark.parametrize("seed", [0, 1, hash_key("a seed"), (1 << 64) - 1])
def test_dice_agree_even_where_an_item_needs_more(seed: int) -> None:
    def draw(chance: RandomSource) -> dict[str, int]:
        first = int(chance.random() * 1000)
        more = [int(chance.random() * 1000) for _ in range(first % 5)]
        return {"first": first, "more": sum(more)}

    assert list(batch.draw_items(draw, seed, 7, 60)) == [
        draw(KeyedRandom(seed, i)) for i in range(7, 60)
    ]


@pytest.mark.parametrize(
    "name",
    ["since-3/年月日/random/neutral", "many-1/時間/short/neutral", "stay-1/時間/random/entailment"],
)
def test_lines_are_the_records_past_the_point_where_words_return(name: str) -> None:
    pack = open_pack("temporal-ja@1")
    maker = Generator(pack, load_pack_lexicon(pack), "1")
    (place,) = (place for place in maker.plan_cells("train", 900) if place.cell.name == name)
    premises = [str(problem.inputs["premise"]) for problem in maker.problems("train", place)]
    text = maker.lines("train", place).decode()
    assert [line.split('"premise":"')[1].split('"')[0] for line in text.splitlines()] == premises
    assert maker.lines("train", place, 0, 5) + maker.lines("train", place, 5) == text.encode()
