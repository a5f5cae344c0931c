from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nikawa.datasets import load
from nikawa.datasets.jglue.jnli import NEW, OLD, read
from nikawa.errors import BadInput
from nikawa.records import Finding

Put = Callable[..., Path]
Findings = Callable[..., dict[tuple[str, str], Finding]]
DEV = "jglue/datasets/jnli-v1.3/valid-v1.3.json"


def pair(
    number: int | str, label: str | None = "neutral", caption: str = "20-3-4"
) -> dict[str, Any]:
    row = {
        "sentence_pair_id": str(number),
        "yjcaptions_id": caption,
        "sentence1": "猫が窓辺で丸くなっています。",
        "sentence2": "猫が家の中にいます。",
    }
    return row if label is None else {**row, "label": label}


def test_the_first_sentence_is_the_premise(put: Put, data: Path) -> None:
    put(DEV, [pair(0, "entailment")])
    (example,) = load("jnli:dev", data=data).splits["dev"]
    assert example.inputs == {
        "premise": "猫が窓辺で丸くなっています。",
        "hypothesis": "猫が家の中にいます。",
    }
    assert example.gold == {"label": "entailment"}


def test_both_directions_and_pairs_that_share_a_sentence_are_one_group(put: Put) -> None:
    captions = ("20-3-4", "20-4-3", "20-3-g8", "21-5-6")
    groups = [e.group for e in read(put(DEV, [pair(i, caption=c) for i, c in enumerate(captions)]))]
    assert groups == ["20", "20", "20", "21"]


def test_a_hidden_label_is_no_gold(put: Put) -> None:
    (example,) = read(put(DEV, [pair(0, None)]))
    assert example.gold == {}
    assert example.origin is not None
    assert example.origin.gold == "hidden"


def test_an_unknown_label_is_refused(put: Put) -> None:
    with pytest.raises(
        BadInput, match=r"line 2: label 'Neutral' is unknown; expected: entailment, con"
    ):
        list(read(put(DEV, [pair(0), pair(1, "Neutral")])))


def test_a_missing_key_is_refused(put: Put) -> None:
    row = pair(0)
    del row["sentence2"]
    with pytest.raises(BadInput, match="line 1: missing required field `sentence2`"):
        list(read(put(DEV, [row])))


def test_the_corrections_are_those_of_the_release() -> None:
    changes = Counter((OLD[number][0], NEW[number][0]) for number in OLD)
    assert changes == {("e", "n"): 16, ("n", "e"): 12, ("n", "c"): 1}


@pytest.mark.parametrize(("labels", "version"), [(OLD, "1.1"), (NEW, "1.3")])
def test_the_version_is_told_by_the_corrected_labels(
    put: Put, data: Path, labels: dict[str, str], version: str
) -> None:
    put("jglue/datasets/jnli-v1.0/valid-v1.0.json", [pair(n, label) for n, label in labels.items()])
    assert load("jnli", data=data).version == version


def test_mixed_labels_tell_no_version(put: Put) -> None:
    from nikawa.datasets.jglue.jnli import version_of

    labels = {**NEW, "226": OLD["226"]}
    dev = tuple(read(put(DEV, [pair(n, label) for n, label in labels.items()])))
    assert version_of({"dev": dev}) is None
    assert version_of({"dev": dev[:3]}) is None
    assert version_of({"train": dev}) is None


def test_old_labels_under_a_new_name_are_found(put: Put, data: Path, findings: Findings) -> None:
    put(DEV, [pair(n, label) for n, label in OLD.items()])
    found = findings("jnli", data)["old-labels", "dev"]
    assert found.count == 29
    assert "jnli:dev/263" in found.ids
    assert "called v1.3" in found.note


def test_old_labels_under_their_own_name_are_said_to_be_old_only(
    put: Put, data: Path, findings: Findings
) -> None:
    put("jglue/datasets/jnli-v1.1/valid-v1.1.json", [pair(n, label) for n, label in OLD.items()])
    assert "called" not in findings("jnli", data)["old-labels", "dev"].note


def test_mixed_labels_are_found(put: Put, data: Path, findings: Findings) -> None:
    put(DEV, [pair(n, label) for n, label in {**NEW, "226": OLD["226"]}.items()])
    assert findings("jnli", data)["mixed-labels", "dev"].ids == ("jnli:dev/226",)


def test_hidden_labels_are_no_finding(put: Put, data: Path, findings: Findings) -> None:
    put(DEV, [pair("226", None)])
    assert findings("jnli", data) == {}


def test_the_published_file(shared_data: Path, findings: Findings) -> None:
    dataset = load("jnli", data=shared_data)
    dev = dataset.splits["dev"]
    assert dataset.version == "1.3"
    assert Counter(e.gold["label"] for e in dev) == {
        "entailment": 349,
        "neutral": 1350,
        "contradiction": 735,
    }
    assert Counter(e.meta["source"] for e in dev) == {"A": 1700, "C": 734}
    assert findings("jnli", shared_data) == {}


def test_published_groups_hold_every_shared_sentence_together(shared_data: Path) -> None:
    images: dict[str, set[str | None]] = {}
    for example in load("jnli:dev", data=shared_data).splits["dev"]:
        for sentence in example.meta["pair"].split("-"):
            images.setdefault(sentence, set()).add(example.group)
    assert {len(groups) for groups in images.values()} == {1}


def test_published_contradictions_are_worker_written_but_one(shared_data: Path) -> None:
    dev = load("jnli:dev", data=shared_data).splits["dev"]
    assert [
        e.id for e in dev if e.gold["label"] == "contradiction" and e.meta["source"] != "C"
    ] == ["263"]
    both = Counter(e.meta["pair"] for e in dev if e.meta["source"] == "C")
    assert (len(both), set(both.values())) == (367, {2})
    assert all(text.endswith("。") for e in dev for text in e.inputs.values())
