from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from nikawa.datasets.klue.klue_dp import LABELS, read, tree_faults
from nikawa.datasets.load import load
from nikawa.errors import BadInput
from nikawa.records import Finding

Lay = Callable[..., Path]
Write = Callable[[str, str, list[str]], str]
Trapped = Callable[[str, Path], dict[str, Finding]]
GUID = "klue-dp-v1_dev_00000_airbnb"
ROWS = [
    "1\t두루는\t두루 는\tNNP+JX\t3\tNP_SBJ",
    "2\t배를\t배 를\tNNG+JKO\t3\tNP_OBJ",
    "3\t탔다.\t타 았 다 .\tVV+EP+EF+SF\t0\tVP",
]


def test_tree(lay: Lay, comments: str, sentence: Write) -> None:
    (example,) = read(lay("klue-dp", "dev", comments + sentence(GUID, "두루는 배를 탔다.", ROWS)))
    assert (example.id, example.meta) == ("klue-dp-v1_dev_00000", {"source": "airbnb"})
    assert example.inputs["text"] == "두루는 배를 탔다."
    assert example.inputs["words"][1] == {"form": "배를", "lemma": "배 를", "pos": "NNG+JKO"}
    assert example.gold == {"tree": {"heads": [3, 3, 0], "labels": ["NP_SBJ", "NP_OBJ", "VP"]}}


@pytest.mark.parametrize("ending", ["", "\t-\t-", "\t_\t_", "\t\t"], ids=repr)
def test_hidden_test(lay: Lay, comments: str, sentence: Write, ending: str) -> None:
    rows = ["\t".join(row.split("\t")[:4]) + ending for row in ROWS]
    (example,) = read(lay("klue-dp", "test", comments + sentence(GUID, "두루는 배를 탔다.", rows)))
    assert len(example.inputs["words"]) == 3
    assert example.gold == {}
    assert example.origin is not None
    assert example.origin.gold == "hidden"


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("2\t배를\t배 를\tNNG+JKO\t3", "has 5 columns"),
        ("2\t배를\t배 를\tNNG+JKO", "has 4 columns"),
        ("3\t배를\t배 를\tNNG+JKO\t3\tNP_OBJ", "word '3' comes where word 2 should"),
        ("2\t배를\t배 를\tNNG+JKO\t4\tNP_OBJ", "head '4' is no other word of the 3"),
        ("2\t배를\t배 를\tNNG+JKO\t2\tNP_OBJ", "head '2' is no other word"),
        ("2\t배를\t배 를\tNNG+JKO\t-\tNP_OBJ", "head '-' is no other word"),
        ("2\t배를\t배 를\tNNG+JKO\t３\tNP_OBJ", "head '３' is no other word"),
        ("2\t배를\t배 를\tNNG+JKO\t3\tNP_OJB", "unknown label 'NP_OJB'; did you mean"),
    ],
)
def test_bad_row_names_its_line(
    lay: Lay, comments: str, sentence: Write, row: str, said: str
) -> None:
    path = lay(
        "klue-dp", "dev", comments + sentence(GUID, "두루는 배를 탔다.", [ROWS[0], row, ROWS[2]])
    )
    with pytest.raises(BadInput, match=f"line 8: {said}"):
        list(read(path))


def test_traps(lay: Lay, comments: str, sentence: Write, tmp_path: Path, trapped: Trapped) -> None:
    uneven = [ROWS[0].replace("NNP+JX", "NNP"), *ROWS[1:]]
    early = [ROWS[0], "2\t배를\t배 를\tNNG+JKO\t0\tNP_OBJ", "3\t탔다.\t타 다 .\tVV+EF+SF\t2\tVP"]
    body = (
        sentence("klue-dp-v1_dev_00000_airbnb", "두루는 배를 탔다.", ROWS)
        + sentence("klue-dp-v1_dev_00001_airbnb", "두루는 배를 탔다..", ROWS)
        + sentence("klue-dp-v1_dev_00002_airbnb", "두루는 배를 탔다.", uneven)
        + sentence("klue-dp-v1_dev_00003_airbnb", "두루는 배를 탔다.", early)
    )
    lay("klue-dp", "dev", comments + body)
    found = {check: f.ids for check, f in trapped("klue-dp", tmp_path).items()}
    assert found == {
        "words-not-text": ("klue-dp:dev/klue-dp-v1_dev_00001",),
        "uneven-morphemes": ("klue-dp:dev/klue-dp-v1_dev_00002 word 1",),
        "root-not-last": ("klue-dp:dev/klue-dp-v1_dev_00003",),
        "head-to-the-left": ("klue-dp:dev/klue-dp-v1_dev_00003",),
    }


@pytest.mark.parametrize(
    ("heads", "faults"),
    [
        ([3, 3, 0], set()),
        ([2, 4, 4, 0], set()),
        ([3, 4, 4, 0], {"crossing-arcs"}),
        ([0, 3, 0], {"not-one-root"}),
        ([2, 1, 0], {"loop", "head-to-the-left"}),
        ([3, 3, 1], {"not-one-root", "root-not-last", "head-to-the-left", "loop"}),
        ([0, 1, 1], {"root-not-last", "head-to-the-left"}),
    ],
)
def test_shape(heads: list[int], faults: set[str]) -> None:
    assert tree_faults(heads) == faults


def test_label_list_keeps_the_scorers_order() -> None:
    assert len(LABELS) == len(set(LABELS)) == 38
    assert LABELS[15] == "VP_CMP"
    assert LABELS[-1] == "NP_SVJ"


def test_published_dev(shared_data: Path, trapped: Trapped) -> None:
    dev = load("klue-dp", data=shared_data).splits["dev"]
    assert Counter(e.meta["source"] for e in dev) == {"wikitree": 1000, "airbnb": 1000}
    sizes = [len(e.inputs["words"]) for e in dev]
    assert (sum(sizes), min(sizes), max(sizes)) == (22_496, 4, 35)
    labels = Counter(label for e in dev for label in e.gold["tree"]["labels"])
    assert len(labels) == 32
    assert "NP_SVJ" not in labels
    found = {check: f.count for check, f in trapped("klue-dp", shared_data).items()}
    assert found == {"words-not-text": 6, "uneven-morphemes": 5}
