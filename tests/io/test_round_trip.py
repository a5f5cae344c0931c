"""What is written is read back the same, in every format that can hold it."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nikawa.errors import BadInput
from nikawa.io.records import FORMATS, read_examples, read_records, write_records
from nikawa.records import Example, Judgement, Origin, Prediction, Span

AWKWARD = [
    "\t",
    "\n",
    "\r",
    "\\",
    "\\N",
    '"',
    "'",
    "\u2028",
    "\x85",
    "\0",
    "_",
    "#",
    "O",
    "",
    " ",
    ":json",
]
TEXT = st.one_of(
    st.sampled_from(
        ["駅前の橋は青い。", "다리는 파랗다", "👩‍👩‍👧 が行く", "ｶﾞ", "e\u0301", *AWKWARD]
    ),
    st.text(st.characters(codec="utf-8"), max_size=12),
    st.lists(st.sampled_from([*AWKWARD, "橋", "가"]), max_size=6).map("".join),
)
VALUE = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(2**70), 2**70),
        st.floats(allow_nan=False, allow_infinity=False),
        TEXT,
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(TEXT, inner, max_size=3)),
    max_leaves=6,
)
NAME = st.one_of(
    st.sampled_from(["text", "premise", "label", "a.b", "tab\t", "質問"]),
    st.text(st.characters(codec="utf-8"), min_size=1, max_size=6),
).filter(lambda name: not name.endswith(":json") and name not in ("spans", "subject", "object"))
ORIGIN = st.builds(
    Origin,
    recipe=TEXT,
    parents=st.lists(TEXT, max_size=2).map(tuple),
    gold=st.sampled_from(["derived", "hidden"]),
)
REST: dict[str, Any] = {
    "tags": st.frozensets(TEXT, max_size=3),
    "meta": st.dictionaries(NAME, VALUE, max_size=3),
    "group": st.none() | TEXT,
    "origin": st.none() | ORIGIN,
}
EXAMPLES = st.lists(
    st.builds(
        Example,
        id=TEXT,
        inputs=st.dictionaries(NAME, VALUE, min_size=1, max_size=3),
        gold=st.dictionaries(NAME, VALUE, max_size=2),
        **REST,
    ),
    min_size=1,
    max_size=4,
    unique_by=lambda example: example.id,
)
GENERAL = [suffix for suffix in FORMATS if not suffix.startswith(".conll")]


def there_and_back(examples: list[Example], suffix: str) -> list[Example]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"x{suffix}"
        assert write_records(path, examples) == len(examples)
        return list(read_examples(path))


@pytest.mark.slow
@pytest.mark.parametrize("suffix", GENERAL)
@settings(max_examples=40, deadline=None)
@given(examples=EXAMPLES)
def test_any_example(suffix: str, examples: list[Example]) -> None:
    assert there_and_back(examples, suffix) == examples


@st.composite
def tagged(draw: st.DrawFn) -> Example:
    text = draw(TEXT.filter(bool))
    cuts = draw(st.lists(st.integers(0, len(text)), unique=True, max_size=6).map(sorted))
    label = st.sampled_from(["LC", "OG", "a-b", "", "O", "\t"])
    pieces = zip(cuts[::2], cuts[1::2], strict=False)
    gold: dict[str, Any] = {"spans": [Span(start, end, draw(label)) for start, end in pieces]}
    more = draw(st.dictionaries(NAME.filter(lambda name: name != "text"), VALUE, max_size=2))
    hidden = draw(st.booleans())
    rest = {name: draw(strategy) for name, strategy in REST.items()}
    return Example(
        id=draw(TEXT), inputs={"text": text, **more}, gold={} if hidden else gold, **rest
    )


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(examples=st.lists(tagged(), min_size=1, max_size=3, unique_by=lambda example: example.id))
def test_tagging_in_conll(examples: list[Example]) -> None:
    assert there_and_back(examples, ".conll") == examples


@st.composite
def trees(draw: st.DrawFn) -> Example:
    word = st.fixed_dictionaries({"form": TEXT, "lemma": TEXT, "pos": TEXT})
    words = draw(st.lists(word, min_size=1, max_size=4))
    heads = [draw(st.integers(0, len(words))) for _ in words]
    gold: dict[str, Any] = {"tree": {"heads": heads, "labels": [draw(TEXT) for _ in words]}}
    hidden = draw(st.booleans())
    rest = {name: draw(strategy) for name, strategy in REST.items()}
    inputs = {"text": draw(TEXT), "words": words}
    return Example(id=draw(TEXT), inputs=inputs, gold={} if hidden else gold, **rest)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(examples=st.lists(trees(), min_size=1, max_size=3, unique_by=lambda example: example.id))
def test_trees_in_conllu(examples: list[Example]) -> None:
    assert there_and_back(examples, ".conllu") == examples


@pytest.mark.parametrize("suffix", GENERAL)
def test_judgements_and_predictions(tmp_path: Path, suffix: str) -> None:
    judgements = [
        Judgement(
            example="x:dev/1",
            worker="w1",
            question="label",
            answer="neutral",
            seconds=3.5,
            at="2020",
        ),
        Judgement(example="x:dev/1", worker="w2", question="label", answer=None),
    ]
    predictions = [
        Prediction(
            example="1", answer="neutral", scores={"neutral": 0.9, "entailment": 0.1}, raw="a\tb\n"
        ),
        Prediction(example="2", why="no label in the reply"),
        Prediction(example="3", answer=[Span(0, 1, "LC")]),
    ]
    write_records(tmp_path / f"j{suffix}", judgements)
    write_records(tmp_path / f"p{suffix}", predictions)
    assert list(read_records(tmp_path / f"j{suffix}", Judgement)) == judgements
    back = list(read_records(tmp_path / f"p{suffix}", Prediction))
    assert back[:2] == predictions[:2]
    assert back[2].answer == [{"start": 0, "end": 1, "label": "LC"}]


@pytest.mark.parametrize("suffix", GENERAL)
@pytest.mark.parametrize("value", [float("nan"), float("-inf"), "\ud800"])
def test_what_no_format_holds(tmp_path: Path, suffix: str, value: object) -> None:
    bad = Example(id="7", inputs={"text": "橋", "parts": [{"x": value}]})
    with pytest.raises(BadInput, match="example 7 holds"):
        write_records(tmp_path / f"x{suffix}", [bad])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("suffix", "example", "words"),
    [
        (".conll", Example(id="1", inputs={"premise": "橋"}), "it has no text"),
        (
            ".conll",
            Example(
                id="1", inputs={"text": "石橋"}, gold={"spans": [Span(0, 2, "A"), Span(1, 2, "B")]}
            ),
            "span 1-2 overlaps",
        ),
        (
            ".conll",
            Example(id="1", inputs={"text": "橋"}, gold={"spans": [Span(0, 0, "A")]}),
            "empty",
        ),
        (".conllu", Example(id="1", inputs={"text": "橋"}), "no text and words"),
        (
            ".conllu",
            Example(id="1", inputs={"text": "橋", "words": [{"form": "橋"}]}),
            "a word is form, lemma, pos",
        ),
        (
            ".conllu",
            Example(
                id="1",
                inputs={"text": "橋", "words": [{}]},
                gold={"tree": {"heads": [], "labels": []}},
            ),
            "differ",
        ),
        (".tsv", Example(id="1", inputs={}), "'inputs.NAME' is missing"),
        (".tsv", Example(id="1", inputs={"x:json": "a"}), "may not end in ':json'"),
    ],
)
def test_example_that_does_not_fit(
    tmp_path: Path, suffix: str, example: Example, words: str
) -> None:
    with pytest.raises(BadInput, match=r"use|it has") as caught:
        write_records(tmp_path / f"x{suffix}", [example])
    assert words in str(caught.value)
    assert list(tmp_path.iterdir()) == []


WRITE = """
import sys
from pathlib import Path
from nikawa.io.records import FORMATS, write_records
from nikawa.records import Example
words = [{"pos": "NN", "form": "x", "lemma": "x"}]
meta = {"b": {"y": 1, "x": 2}, "a": 1}
tags = frozenset(f"tag-{n}" for n in range(20))
for suffix in FORMATS:
    example = Example(id="1", inputs={"text": "x", "words": words}, tags=tags, meta=meta)
    write_records(Path(sys.argv[1]) / f"x{suffix}", [example])
"""


@pytest.mark.slow
def test_same_records_same_bytes(tmp_path: Path) -> None:
    """Whatever the order in which a process walks its sets."""
    for seed in ("1", "2"):
        command = [sys.executable, "-c", WRITE, str(tmp_path / seed)]
        subprocess.run(command, check=True, env={**os.environ, "PYTHONHASHSEED": seed})
    one, other = (
        {f.name: f.read_bytes() for f in (tmp_path / seed).iterdir()} for seed in ("1", "2")
    )
    assert one.keys() == {f"x{suffix}" for suffix in FORMATS}
    assert one == other


def test_the_table_people_see(tmp_path: Path) -> None:
    examples = [
        Example(
            id="1",
            inputs={"premise": "橋は\n青い", "hypothesis": "橋だ"},
            gold={"label": "neutral"},
        ),
        Example(
            id="2",
            inputs={"premise": "a", "hypothesis": "b"},
            tags=frozenset({"z", "y"}),
            meta={"n": 3},
        ),
    ]
    write_records(tmp_path / "x.tsv", examples)
    assert (tmp_path / "x.tsv").read_text("utf-8").split("\n") == [
        "id\tinputs.premise\tinputs.hypothesis\tgold.label\tmeta.n:json\ttags:json",
        "1\t橋は\\n青い\t橋だ\tneutral\t\\N\t\\N",
        '2\ta\tb\t\\N\t3\t["y","z"]',
        "",
    ]
