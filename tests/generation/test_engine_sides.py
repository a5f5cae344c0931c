"""The words of each side lie in the residues of their split, and every number is a way of its own."""

from __future__ import annotations

from itertools import product

import pytest

from nikawa.generation.word_space import SIDES, Words, in_turns, residues_of, stages, unfolded

AGENTS = tuple("甲乙丙丁戊己庚辛壬癸子丑寅卯辰巳午未申酉")
THINGS = tuple(f"物{i}" for i in range(14))
RESIDUES = {
    **dict(zip(AGENTS, in_turns(20), strict=True)),
    **dict(zip(THINGS, residues_of(THINGS), strict=True)),
}
THING = Words("thing", THINGS, residues_of(THINGS))
ONE, TWO, THREE = (Words(name, AGENTS, in_turns(20)) for name in ("one", "two", "three"))
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
    found, total = stages(lists, sides, owned)
    assert total > 0
    ways = [unfolded(found, number) for number in range(min(total, 3_000))]
    assert len({tuple(sorted(way.items())) for way in ways}) == len(ways)
    for way, side in product(ways, sides):
        assert way.keys() == premise | hypothesis
        assert len(set(way.values())) == len(way)
        if side:
            assert sum(RESIDUES[way[slot]] for slot in side) % SIDES in owned


def test_every_word_comes_up() -> None:
    found, total = stages(
        [ONE, TWO, THREE], (frozenset({"one", "two", "three"}), frozenset({"one", "two"})), (4,)
    )
    ways = [unfolded(found, number) for number in range(total)]
    for slot in ("one", "two"):
        assert {way[slot] for way in ways} == set(AGENTS)


def test_too_few_words_make_no_way() -> None:
    few = Words("thing", ("物0",), (0,))
    one = Words("one", AGENTS[:5], in_turns(5))
    assert stages([few, one], (frozenset({"thing", "one"}), frozenset({"one"})), (4,))[1] == 1
    assert (
        stages(
            [few._replace(residues=(1,)), one],
            (frozenset({"thing", "one"}), frozenset({"one"})),
            (4,),
        )[1]
        == 0
    )
    assert stages([], (frozenset(), frozenset()), (4,)) == ((), 0)
    assert stages([], (frozenset(), frozenset()), (0, 1)) == ((), 1)
