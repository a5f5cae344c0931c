"""Views: splits that are parts of another one, or it in another guise, and repeat its items by
design.

Published datasets declare theirs. In a custom dataset a further split (not train, dev or test) is a
view where every record is in train too, under the same id and the same but for blanks: a training
split that the test items mark (`seen`, `unseen`), or one whose name does not speak of evaluation.
In the same way `test-hard` may be a part of test. Everything else that repeats counts as a leak.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from nikawa.datasets.base import Benchmark, Splits
from nikawa.records import Example
from nikawa.text.compose import compose_text

ORDINARY = ("train", "dev", "test")
"""The splits that are never views of others."""
SEEN = ("seen", "unseen")
"""What the meta of a test item says, under the name of a training split, of its own kind."""
EVALUATED = re.compile(
    "test|dev|valid|eval|held|hold|(?:trial|challenge|ood|unseen|hidden|blind|secret|private)$"
    "|.*(?:テスト|試験|検証|評価|開発|테스트|시험|검증|평가|개발)"
)
"""How words begin, or which they are, in the name of a split that is not learned from."""
_WORD = re.compile(r"[A-Z]?[^\W\d_A-Z]+|[A-Z]+")
"""A word of a name; a capital begins another, as in `TestHard`."""


def views_of(splits: Splits, benchmark: Benchmark | None) -> dict[str, str]:
    """Each view among splits to the one that stands for it: its source where that is here.

    Without a benchmark the records tell.
    """
    if benchmark is None:
        return views_by_content(splits)
    chosen: dict[str, str] = {}
    sources = {name: source_of(name, benchmark.views) for name in splits}
    for name, source in sources.items():
        chosen[source] = source if source in splits else chosen.get(source, name)
    return {name: chosen[source] for name, source in sources.items() if chosen[source] != name}


def without_views(splits: Splits, benchmark: Benchmark | None) -> dict[str, tuple[Example, ...]]:
    """One split of each that are views of one another: telling that they repeat would bury what is
    wrong.
    """
    views = views_of(splits, benchmark)
    return {name: examples for name, examples in splits.items() if name not in views}


def source_of(name: str, views: Mapping[str, str]) -> str:
    """The split that a declared view is drawn from in the end.

    >>> source_of("easy-segmented", {"easy": "train", "easy-segmented": "easy"})
    'train'
    """
    seen = {name}
    while name in views and views[name] not in seen:
        name = views[name]
        seen.add(name)
    return name


def training_views(splits: Splits) -> list[str]:
    """Splits that leave kinds of items out of train: the first items of dev and test bear their
    marks.
    """
    marked = set()
    for split in ORDINARY[1:]:
        for example in splits.get(split, ())[:1]:
            marked |= {key for key, value in example.meta.items() if value in SEEN}
    return [name for name in splits if name in marked and name not in ORDINARY]


def views_by_content(splits: Splits) -> dict[str, str]:
    """The views among the splits of a custom dataset, by their names and their records."""
    training = training_views(splits)
    views: dict[str, str] = {}
    for name in splits:
        source = "train" if name in training else possible_source(name)
        if source == name or source not in splits or not splits[name]:
            continue
        by_id = {example.id: example for example in splits[source]}
        if all(e.id in by_id and _is_same(e, by_id[e.id]) for e in splits[name]):
            views[name] = source
    return views


def possible_source(name: str) -> str:
    """What a split may be a part of, by its name: train, or the split for evaluation it is named
    after.
    """
    words = [word.lower() for word in _WORD.findall(compose_text(name))]
    evaluated = [word for word in words if EVALUATED.match(word)]
    if not evaluated:
        return "train"
    return words[0] if len(words) > 1 and evaluated == words[:1] else ""


def _is_same(one: Example, other: Example) -> bool:
    """Whether two records are the same; one of them may be segmented by blanks."""
    if one == other:
        return True
    if replace(one, inputs={}) != replace(other, inputs={}):
        return False
    return bool(_without_blanks(one.inputs) == _without_blanks(other.inputs))


def _without_blanks(value: Any) -> Any:
    """A value whose texts have no blanks."""
    if isinstance(value, str):
        return "".join(value.split())
    if isinstance(value, dict):
        return {name: _without_blanks(part) for name, part in value.items()}
    return [_without_blanks(part) for part in value] if isinstance(value, list) else value
