"""Packs as files: what is read, and what is refused with its line."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

from nikawa.errors import BadInput
from nikawa.tagging import (
    Pattern,
    check_pack,
    default_pack,
    find_pack,
    pack_names,
    read_pack,
    terms,
)
from nikawa.tagging import pack as pack_module

GOOD = """\
name = "mine"
title = "Colours"
language = "ja"
analyser = "ipadic"
licence = "CC0-1.0"
provenance = "invented"
patterns = [
  # base = "a comment is not counted"
  { tag = "Colour", base = "赤い", pos = "形容詞,自立,*,*", hit = "赤い船が来た。", miss = "赤字の店が閉まる。" },
  { tag = "Colour", base = "青い", pos = "形容詞,自立,*,*", hit = "空が青い。", miss = "青年が歌う。" },
]

[tags]
Colour = { alias = "COL", about = "colour words" }
"""


def write(folder: Path, text: str = GOOD, name: str = "mine.toml") -> Path:
    path = folder / name
    path.write_text(text, "utf-8")
    return path


def test_a_pack_by_path(tmp_path: Path) -> None:
    path = write(tmp_path)
    pack = find_pack(str(path))
    assert (pack.name, len(pack.patterns), pack.names) == (
        "mine",
        2,
        {"Colour": "Colour", "COL": "Colour"},
    )
    assert check_pack(pack) == []


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"mine"', '"yours"', "the name of the pack is 'yours', but its file is 'mine.toml'"),
        ('title = "Colours"', "", "missing required field `title`"),
        ('"Colours"', '" "', "title is empty"),
        ('"ipadic"', '"ipadik"', "did you mean 'ipadic'"),
        ('"ipadic"', '"kiwi"', "the analyser kiwi does not read 'ja'"),
        ('language = "ja"', 'language = "ja"\ncolour = 1', "unknown field `colour`"),
        (
            'tag = "Colour", base = "青い"',
            'tag = "Color", base = "青い"',
            "line 10: there is no tag 'Color'",
        ),
        (
            'base = "青い"',
            'base = "赤い"',
            "line 10: 赤い 形容詞,自立,*,* is a pattern of Colour twice, first on line 9",
        ),
        ('base = "青い"', 'base = "黒い|赤い"', "line 10: 赤い"),
        ('base = "青い"', 'base = ""', "line 10: '' has an empty alternative"),
        ('base = "青い"', "base = 3", "line 10: expected `str`, got `int`"),
        (
            'base = "青い",',
            'base = "青い", before = "空が",',
            "line 10: '空が' is not of the form base/pos",
        ),
        ('base = "青い"', 'base = "青い', "line 10"),
        (
            '{ alias = "COL", about = "colour words" }',
            "{}\nSound = {}",
            "the tag 'Sound' has no pattern",
        ),
        (
            '{ alias = "COL", about = "colour words" }',
            '{ alias = "Colour" }',
            "share a name or an alias",
        ),
    ],
)
def test_a_broken_pack_is_one_line_with_file_and_cure(
    tmp_path: Path, old: str, new: str, said: str
) -> None:
    assert GOOD.count(old) >= 1
    path = write(tmp_path, GOOD.replace(old, new, 1))
    with pytest.raises(BadInput) as caught:
        read_pack(path)
    line = str(caught.value)
    assert line.startswith(str(path))
    assert said in line
    assert "; " in line
    assert "\n" not in line


def test_a_missing_file_and_a_wrong_name(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no such file"):
        find_pack(str(tmp_path / "none.toml"))
    with pytest.raises(BadInput, match="did you mean 'jsick'"):
        find_pack("jsikc")
    with pytest.raises(BadInput, match="language 'en'"):
        default_pack("en")


def test_check_tells_what_does_not_hold(tmp_path: Path) -> None:
    text = GOOD.replace("空が青い。", "空が広い。").replace(
        "赤字の店が閉まる。", "青い店が閉まる。"
    )
    faults = check_pack(read_pack(write(tmp_path, text)))
    assert [(f.base, f.what.split()[0]) for f in faults] == [("赤い", "its"), ("青い", "does")]
    assert "広い/形容詞,自立,*,*" in faults[1].analysis
    bare = check_pack(read_pack(write(tmp_path, GOOD.replace(', miss = "青年が歌う。"', ""))))
    assert [f.what for f in bare] == ["has no hit or no miss"]


def test_the_jsick_pack_is_the_closed_list() -> None:
    pack = find_pack("jsick")
    assert len(pack.patterns) == 68
    sizes = {tag: sum(p.tag == tag for p in pack.patterns) for tag in pack.tags}
    assert list(sizes.items()) == [
        ("Numerical", 22),
        ("Negation", 3),
        ("Quantification", 16),
        ("Passive", 2),
        ("Anaphora", 13),
        ("Conjunction", 5),
        ("Disjunction", 2),
        ("Modal", 3),
        ("Toritate", 2),
    ]
    aliases = [tag.alias for tag in pack.tags.values()]
    assert aliases == ["NUM", "NEG", "QUANT", "PAS", "ANA", "CONJ", "DISJ", "MODAL", "ADDP"]
    assert all(not p.before and not p.after and p.pos.count(",") == 3 for p in pack.patterns)


def test_the_korean_pack_has_the_same_phenomena() -> None:
    ja, ko = find_pack("jsick"), find_pack("jsick-ko")
    assert ko.tags.keys() == ja.tags.keys()
    assert {t.alias for t in ko.tags.values()} == {t.alias for t in ja.tags.values()}
    assert pack_names() == sorted(pack_names())
    assert isinstance(ko.patterns[0], Pattern)


def test_examples_in_docstrings_are_true() -> None:
    for module in (pack_module, terms):
        tried = doctest.testmod(module)
        assert tried.attempted
        assert not tried.failed
