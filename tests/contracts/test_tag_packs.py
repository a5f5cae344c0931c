"""Walks every tag pack that comes with Nikawa: a new one is held to this without a line here."""

from __future__ import annotations

import pytest

from nikawa.records import Example
from nikawa.tagging import Pack, check_pack, find_pack, pack_names, tag_all, tagger
from nikawa.tagging.pack import default_packs
from nikawa.text import ANALYSERS, analyser

PACKS = [find_pack(name) for name in pack_names()]
SHORT = "三人が橋を渡らない。두 명이 다리를 건너지 않는다. "
HOSTILE = {
    "empty": "",
    "emoji": "👩‍👩‍👧‍👦🏳️‍🌈😀" * 3,
    "combining marks": "が" + "\u0301\u0323" * 200 + "ᄀ" * 50,
    "right to left": "שלום עולם \u202eمرحبا\u202c 三人 두 명",
    "controls": "三\t人\r\n두\x0b명\x7f\u2028\ufeff\u200b",
    "long": SHORT * 4000,
    "one long word": "ながら" * 34_000,
    "private and unassigned": "\ue000\U000f0000\U000e0fff\uffff",
}


def test_the_default_of_each_language_is_there() -> None:
    assert {code: pack.name for code, pack in default_packs().items()} == {
        "ja": "jsick",
        "ko": "jsick-ko",
    }


def test_a_language_has_one_default() -> None:
    languages = [pack.language for pack in PACKS if pack.default]
    assert sorted(languages) == sorted(set(languages))


@pytest.mark.parametrize("pack", PACKS, ids=lambda p: p.name)
def test_it_says_where_it_comes_from(pack: Pack) -> None:
    assert all((pack.title, pack.licence, len(pack.provenance) > 40))
    assert pack.analyser in ANALYSERS
    assert all(tag.alias and tag.about for tag in pack.tags.values())
    assert {pattern.tag for pattern in pack.patterns} == set(pack.tags)


@pytest.mark.parametrize("pack", PACKS, ids=lambda p: p.name)
def test_patterns_are_unique(pack: Pack) -> None:
    keys = [(p.tag, p.base, p.pos, p.before, p.after, p.earlier, p.later) for p in pack.patterns]
    twice = {key for key in keys if keys.count(key) > 1}
    assert not twice


@pytest.mark.parametrize("pack", PACKS, ids=lambda p: p.name)
def test_every_pattern_has_its_sentences(pack: Pack) -> None:
    lacking = [p for p in pack.patterns if not p.hit or not p.miss or p.hit == p.miss]
    assert not lacking


@pytest.mark.slow
@pytest.mark.parametrize("pack", PACKS, ids=lambda p: p.name)
def test_every_pattern_matches_its_hit_and_spares_its_miss(pack: Pack) -> None:
    assert check_pack(pack) == []


@pytest.mark.parametrize("pack", PACKS, ids=lambda p: p.name)
def test_every_match_has_a_place_in_its_text(pack: Pack) -> None:
    found, reader = tagger(pack), analyser(pack.analyser)
    for pattern in pack.patterns:
        find = found.cancelled if pattern.cancel else found.matches
        (place, *_) = [m for m in find(reader.analyse(pattern.hit)) if m.pattern is pattern]
        assert 0 <= place.start < place.end <= len(pattern.hit)


@pytest.mark.slow
@pytest.mark.parametrize("pack", PACKS, ids=lambda p: p.name)
def test_the_same_again_in_any_order(pack: Pack) -> None:
    texts = [text for p in pack.patterns for text in (p.hit, p.miss)]
    examples = [Example(id=str(i), inputs={"text": text}) for i, text in enumerate(texts)]
    fresh = analyser(pack.analyser, cache=0)
    once = {t.example.id: t.tags for t in tag_all(examples, pack, by=fresh)}
    again = {t.example.id: t.tags for t in tag_all(examples[::-1], pack)}
    alone = {e.id: frozenset(tagger(pack)(e, fresh)) for e in examples}
    assert once == again == alone


@pytest.mark.slow
@pytest.mark.parametrize("kind", HOSTILE)
@pytest.mark.parametrize("pack", PACKS, ids=lambda p: p.name)
def test_hostile_text_never_raises(pack: Pack, kind: str) -> None:
    found, reader = tagger(pack), analyser(pack.analyser)
    tags = found(Example(id="1", inputs={"premise": HOSTILE[kind], "hypothesis": ""}), reader)
    assert tags <= set(pack.tags)
    if kind == "long":
        assert len(HOSTILE[kind]) >= 100_000
        assert tags >= found(Example(id="1", inputs={"text": SHORT}), reader) != set()
