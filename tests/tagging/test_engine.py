"""The pattern language on tokens made by hand, and the tags of whole examples."""

from __future__ import annotations

import pytest

from nikawa.errors import BadInput
from nikawa.records import Example
from nikawa.tagging import Pack, Pattern, TagName, find_pack, tag_all, tagger, texts_of
from nikawa.tagging.engine import BATCH_SIZE
from nikawa.tagging.terms import parse_choice, parse_terms
from nikawa.text import Token, analyser


def pack(*patterns: Pattern) -> Pack:
    return Pack(
        name="p",
        title="t",
        language="ko",
        analyser="kiwi",
        licence="l",
        provenance="p",
        tags={pattern.tag: TagName() for pattern in patterns},
        patterns=patterns,
    )


def tokens(text: str) -> tuple[Token, ...]:
    """`base/pos` words as tokens, one character of text each."""
    parts = [word.rsplit("/", 1) for word in text.split()]
    return tuple(
        Token(base, base, tuple(pos.split(",")), start=i, end=i + 1)
        for i, (base, pos) in enumerate(parts)
    )


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        (Pattern(tag="T", base="a", pos="N,*"), "a/N,*", True),
        (
            Pattern(tag="T", base="a", pos="N,*"),
            "a/N,x",
            False,
        ),  # the dictionary's * is no wildcard
        (Pattern(tag="T", base="a", pos="N"), "a/N,*", False),
        (Pattern(tag="T", base="a|b", pos="N|M"), "b/M", True),
        (Pattern(tag="T", base="a|b", pos="N|M"), "c/M", False),
        (Pattern(tag="T", base="a", pos="N..."), "a/N,x,y", True),
        (Pattern(tag="T", base="a", pos="N..."), "a/V,N", False),
        (Pattern(tag="T", base="ab...", pos="N"), "abc/N", True),
        (Pattern(tag="T", base="ab...", pos="N"), "acb/N", False),
        (Pattern(tag="T", base="...", pos="N"), "xyz/N", True),
        (Pattern(tag="T", base="...", pos="N"), "xyz/V", False),
        (Pattern(tag="T", base="c", pos="N", before="a/N b/N"), "a/N b/N c/N", True),
        (Pattern(tag="T", base="c", pos="N", before="a/N b/N"), "b/N a/N c/N", False),
        (Pattern(tag="T", base="c", pos="N", before="a/N b/N"), "b/N c/N", False),
        (Pattern(tag="T", base="c", pos="N", before=".../S|M"), "9/S c/N", True),
        (Pattern(tag="T", base="c", pos="N", before="!.../J"), "x/J c/N", False),
        (Pattern(tag="T", base="c", pos="N", before="!.../J"), "c/N", True),
        (Pattern(tag="T", base="c", pos="N", after="d/V !e/V"), "c/N d/V", True),
        (Pattern(tag="T", base="c", pos="N", after="d/V !e/V"), "c/N d/V e/V", False),
        (Pattern(tag="T", base="c", pos="N", after="//S"), "c/N //S", True),
        (Pattern(tag="T", base="c", pos="N", after="!/S"), "c/N !/S", True),
    ],
)
def test_a_pattern_means_what_the_guide_says(pattern: Pattern, text: str, expected: bool) -> None:
    found = tagger(pack(pattern))
    assert found.tags(tokens(text)) == ({"T"} if expected else set())
    assert bool(found.matches(tokens(text))) is expected


def test_matches_come_in_text_order_once_each() -> None:
    exact, ruled = (
        Pattern(tag="T", base="a", pos="N"),
        Pattern(tag="U", base="...", pos="N|V", after="!x/X"),
    )
    found = tagger(pack(exact, ruled)).matches(tokens("b/V a/N a/N"))
    assert [(m.start, m.pattern.tag) for m in found] == [
        (0, "U"),
        (1, "T"),
        (1, "U"),
        (2, "T"),
        (2, "U"),
    ]


@pytest.mark.parametrize("text", ["a", "a/", "/N", "|a/N", "a|/N", "a/N|"])
def test_broken_terms_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"form base/pos|empty alternative"):
        parse_terms(text)


def test_white_space_in_an_alternative_is_refused() -> None:
    with pytest.raises(ValueError, match="white space"):
        parse_choice("a| b")


def test_texts_of_every_kind_of_input() -> None:
    inputs = {
        "question": "一",
        "choices": ["二", "三"],
        "turns": [{"role": "user", "text": "四"}],
        "words": [{"form": "五"}],
        "subject": {"start": 0, "end": 1},
        "number": 6,
    }
    example = Example(id="1", inputs=inputs)
    assert texts_of(example) == ["一", "二", "三", "四"]
    assert texts_of(example, ("choices", "absent")) == ["二", "三"]


def test_an_example_has_the_tags_of_all_its_texts() -> None:
    example = Example(id="1", inputs={"premise": "三人が歌う。", "hypothesis": "誰も歌わない。"})
    assert tagger(find_pack("jsick"))(example, analyser("ja")) == {
        "Numerical",
        "Quantification",
        "Negation",
    }


def test_another_analyser_is_refused() -> None:
    with pytest.raises(
        BadInput, match=r"written for ipadic, not characters; use analyser\('ipadic'\)"
    ):
        tagger(find_pack("jsick"))(Example(id="1", inputs={}), analyser("characters"))


def test_a_text_that_cannot_be_read_is_told_and_the_rest_goes_on() -> None:
    texts = ["三人が歌う。"] * (BATCH_SIZE + 5)
    texts[3] = "三人\0が歌う。"
    examples = [Example(id=str(i), inputs={"text": text}) for i, text in enumerate(texts)]
    done = list(tag_all(examples, find_pack("jsick")))
    assert [t.example.id for t in done] == [str(i) for i in range(len(texts))]
    assert [t.example.id for t in done if t.why] == ["3"]
    assert "NUL" in done[3].why
    assert {t.tags for t in done if not t.why} == {frozenset({"Numerical"})}


def test_the_tagger_itself_raises_as_the_analyser_does() -> None:
    with pytest.raises(BadInput, match="NUL"):
        tagger(find_pack("jsick"))(Example(id="1", inputs={"text": "\0"}), analyser("ja"))


def test_several_processes_find_the_same_tags() -> None:
    examples = [
        Example(id=str(number), inputs={"text": text})
        for number, text in enumerate(["三人が橋を渡る。", "誰もいない。", "一つ\0"] * 120)
    ]
    pack = find_pack("ja")
    alone = list(tag_all(examples, pack))
    assert list(tag_all(examples, pack, where=2)) == alone
    assert alone[0].tags == {"Numerical"}
    assert alone[2].why


def find(pattern: Pattern, text: str, *others: Pattern) -> set[str]:
    return tagger(pack(pattern, *others)).tags(tokens(text))


def test_a_term_with_plus_takes_one_or_more_morphemes() -> None:
    pattern = Pattern(tag="A", base="명", pos="NNB", before="!제/XPN .../NR+")
    assert find(pattern, "스물/NR 셋/NR 명/NNB") == {"A"}
    assert find(pattern, "제/XPN 스물/NR 셋/NR 명/NNB") == set()
    assert find(pattern, "명/NNB") == set()


def test_a_term_with_a_question_mark_takes_one_morpheme_or_none() -> None:
    pattern = Pattern(tag="A", base="누구", pos="NP", after=".../JKB? 나/JX")
    assert find(pattern, "누구/NP 나/JX") == {"A"}
    assert find(pattern, "누구/NP 에게/JKB 나/JX") == {"A"}
    assert find(pattern, "누구/NP 에게/JKB") == set()


def test_earlier_and_later_look_in_the_same_sentence_only() -> None:
    pattern = Pattern(tag="A", base="몇", pos="MM", earlier="배/NNG", later="!?/SF")
    assert find(pattern, "배/NNG 에/JKB 몇/MM 명/NNB ./SF") == {"A"}
    assert find(pattern, "배/NNG 에/JKB 몇/MM 명/NNB ?/SF") == set()
    assert find(pattern, "배/NNG ./SF 몇/MM 명/NNB ./SF") == set()
    assert find(pattern, "배/NNG 몇/MM 명/NNB ./SF 왜/MAG ?/SF") == {"A"}


def test_a_pattern_that_cancels_takes_the_tag_from_its_morpheme_only() -> None:
    pattern = Pattern(tag="A", base="번", pos="NNB")
    cancel = Pattern(tag="A", base="번", pos="NNB", after="째/XSN", cancel=True)
    assert find(pattern, "두/MM 번/NNB 째/XSN", cancel) == set()
    assert find(pattern, "두/MM 번/NNB 째/XSN 세/MM 번/NNB", cancel) == {"A"}
    (match,) = tagger(pack(pattern, cancel)).cancelled(tokens("두/MM 번/NNB 째/XSN"))
    assert match.pattern is cancel
