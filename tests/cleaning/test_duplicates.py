"""Near-duplicates: the estimate against the true similarity, the batch against one by one, planted repeats."""

from __future__ import annotations

import random

import numpy as np
import pytest

from nikawa.cleaning.duplicates import Duplicates, SlotTable
from nikawa.cleaning.minhash import BANDS, HASHES, Signatures, compute_signatures
from nikawa.execute.base import LocalKeeper

SYLLABLES = "가나다라마바사아자차카타파하거너더러머버서어저처커터퍼허고노도로모보소오조초"


def sentence(rng: random.Random, size: int = 60) -> str:
    return "".join(rng.choices(SYLLABLES, k=size))


def similarity(a: str, b: str) -> float:
    first, second = ({t[i : i + 3] for i in range(len(t) - 2)} for t in (a, b))
    return len(first & second) / len(first | second)


def changed(text: str, places: int, rng: random.Random) -> str:
    letters = list(text)
    for at in rng.sample(range(len(letters)), places):
        letters[at] = "꽃"
    return "".join(letters)


def test_the_estimate_is_near_the_truth() -> None:
    rng = random.Random(1)
    pairs = [(t := sentence(rng), changed(t, rng.randint(0, 8), rng)) for _ in range(300)]
    left, right = (compute_signatures([pair[i] for pair in pairs]).values for i in (0, 1))
    found = (left == right).mean(axis=1)
    true = np.array([similarity(a, b) for a, b in pairs])
    assert abs(float((found - true).mean())) < 0.02
    assert float(np.abs(found - true).max()) < 0.25


def test_signatures_depend_on_the_sentence_alone() -> None:
    texts = ["눈이 왔다.", "", "a", "海", "👩‍🚀", "눈이 왔다.", "Ａ"]
    together = compute_signatures(texts)
    for i, text in enumerate(texts):
        alone = compute_signatures([text])
        assert (alone.values[0] == together.values[i]).all()
        assert (alone.bands[0] == together.bands[i]).all()
    assert compute_signatures([]).values.shape == (0, HASHES)


def test_signatures_never_change() -> None:
    found = compute_signatures(["橋が開いた。"])
    assert found.values[0, :6].tolist() == [208, 228, 65, 126, 126, 23]
    assert found.bands[0, :2].tolist() == [2534794176, 2980075426]


def one_by_one(found: Signatures, least: int, slots: int, bits: int) -> list[int]:
    """The rule in its plainest form: a slot names the last kept sentence that fell there, and the first bits of its band."""
    table: dict[tuple[int, int], int] = {}
    kept: list[int] = []
    twins = []

    def same_tag(number: int, row: int, band: int) -> bool:
        return bool(found.bands[kept[number - 1], band] >> bits == found.bands[row, band] >> bits)

    for row in range(len(found.values)):
        keys = [(band, int(found.bands[row, band]) % slots) for band in range(BANDS)]
        met = [table[key] for key in keys if key in table and same_tag(table[key], row, key[0])]
        alike = {n for n in met if (found.values[kept[n - 1]] == found.values[row]).sum() >= least}
        twins.append(alike)
        if not alike:
            kept.append(row)
            table.update(dict.fromkeys(keys, len(kept)))
    return [min(t, default=0) and -1 for t in twins]


@pytest.mark.parametrize("seed", range(3))
def test_batches_do_as_one_by_one(seed: int) -> None:
    rng = random.Random(seed)
    texts = [sentence(rng, 30) for _ in range(300)]
    texts += [changed(rng.choice(texts), rng.randint(0, 4), rng) for _ in range(600)]
    rng.shuffle(texts)
    found, seen = compute_signatures(texts), Duplicates(0.7, 1)
    seen.slots = 256  # crowded, so that slots are taken over
    seen.tables = [LocalKeeper(SlotTable(4, 256)) for _ in range(BANDS // 4)]
    cuts = sorted(rng.sample(range(900), 4))
    twins: list[int] = []
    for start, end in zip([0, *cuts], [*cuts, 900], strict=True):
        twins += seen.find_twins(Signatures(found.values[start:end], found.bands[start:end]))
    expected = one_by_one(found, seen.min_equal, 256, seen.bits)
    assert [-1 if twin else 0 for twin in twins] == expected
    assert 0 < expected.count(-1) < 900


def test_a_repeat_names_what_it_repeats() -> None:
    texts = [
        "강가에 작은 배가 하나 있다.",
        "산 위에는 오래된 성이 남아 있다.",
        "강가에  작은 배가 하나 있다!",
        "산 위에는 오래된 성이 남아있다.",
    ]
    assert list(Duplicates(0.8, 10).find_twins(compute_signatures(texts))) == [0, 0, 1, 2]


def test_planted_repeats_are_found_and_others_kept() -> None:
    rng = random.Random(5)
    texts = [sentence(rng, 50) for _ in range(2000)]
    planted = [changed(text, 1, rng) for text in texts[:500]]
    seen = Duplicates(0.8, 1 << 14)
    assert not any(seen.find_twins(compute_signatures(texts)))
    assert (
        sum(map(bool, seen.find_twins(compute_signatures(planted)))) >= 475
    )  # similarity about 0.88, estimated to 0.05
    assert not any(
        seen.find_twins(compute_signatures([changed(text, 15, rng) for text in texts[500:1000]]))
    )


@pytest.mark.slow
def test_the_window_bounds_what_is_remembered() -> None:
    rng = random.Random(7)
    seen = Duplicates(0.8, 1)
    first = sentence(rng)
    assert list(seen.find_twins(compute_signatures([first]))) == [0]
    list(seen.find_twins(compute_signatures([sentence(rng, 20) for _ in range(3 * seen.size)])))
    assert list(seen.find_twins(compute_signatures([first]))) == [0]
    tables = [keeper.state for keeper in seen.tables if isinstance(keeper, LocalKeeper)]
    assert sum(len(table.dump()) for table in tables) < 1_000_000
    assert seen.ring.seek(0, 2) == seen.size * HASHES
