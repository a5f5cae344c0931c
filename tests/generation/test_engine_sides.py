"""The words of each side lie in the residues of their split, and every number is a way of its own."""

from __future__ import annotations

from itertools import product

import pytest

from nikawa.generation.word_space import (
    RESIDUE_COUNT,
    SlotWords,
    plan_stages,
    turn_residues,
    unfold_number,
    word_residues,
)

AGENTS = tuple("甲乙丙丁戊己庚辛壬癸子丑寅卯辰巳午未申酉")
THINGS = tuple(f"物{i}" for i in range(14))
RESIDUES = {
    **dict(zip(AGENTS, turn_residues(20), strict=True)),
    **dict(zip(THINGS, word_residues(THINGS), strict=True)),
}
THING = SlotWords("thing", THINGS, word_residues(THINGS))
ONE, TWO, THREE = (SlotWords(name, AGENTS, turn_residues(20)) for name in ("one", "two", "three"))
LISTS = (THING, ONE, TWO, THREE)
CASES = [
    ("the same words", {"one", "two"}, {"one", "two"}),
    ("fewer below", {"thing", "one", "two"}, {"one", "two"}),
    ("one thing more above", {"thing", "one"}, {"one"}),
    ("more below", {"one"}, {"thing", "one", "two"}),
    ("each its own", {"thing", "one", "two"}, {"one", "three"}),
    ("nothing in common", {"one"}, {"two", "three"}),
    ("no word below", {"one", "two"}, set()),
]


@pytest.mark.parametrize(
    ("premise", "hypothesis"), [case[1:] for case in CASES], ids=[c[0] for c in CASES]
)
@pytest.mark.parametrize("owned", [(0, 1, 2, 3), (4,)])
def test_sides_lie_in_what_the_split_owns(
    premise: set[str], hypothesis: set[str], owned: tuple[int, ...]
) -> None:
    lists = [one for one in LISTS if one.slot in premise | hypothesis]
    sides = frozenset(premise), frozenset(hypothesis)
    found, total = plan_stages(lists, sides, owned)
    assert total > 0
    ways = [unfold_number(found, number) for number in range(min(total, 3_000))]
    assert len({tuple(sorted(way.items())) for way in ways}) == len(ways)
    for way, side in product(ways, sides):
        assert way.keys() == premise | hypothesis
        assert len(set(way.values())) == len(way)
        if side:
            assert sum(RESIDUES[way[slot]] for slot in side) % RESIDUE_COUNT in owned


def test_every_word_comes_up() -> None:
    found, total = plan_stages(
        [ONE, TWO, THREE], (frozenset({"one", "two", "three"}), frozenset({"one", "two"})), (4,)
    )
    ways = [unfold_number(found, number) for number in range(total)]
    for slot in ("one", "two"):
        assert {way[slot] for way in ways} == set(AGENTS)


def test_too_few_words_make_no_way() -> None:
    few = SlotWords("thing", ("物0",), (0,))
    one = SlotWords("one", AGENTS[:5], turn_residues(5))
    assert plan_stages([few, one], (frozenset({"thing", "one"}), frozenset({"one"})), (4,))[1] == 1
    assert (
        plan_stages(
            [few._replace(residues=(1,)), one],
            (frozenset({"thing", "one"}), frozenset({"one"})),
            (4,),
        )[1]
        == 0
    )
    assert plan_stages([], (frozenset(), frozenset()), (4,)) == ((), 0)
    assert plan_stages([], (frozenset(), frozenset()), (0, 1)) == ((), 1)
