"""How gold shifts between two datasets with the same ids."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from typer.testing import CliRunner

from nikawa.cli.terminal.app import build as app
from nikawa.datasets.shift import ShiftReport, shift, summarise_shift
from nikawa.errors import BadInput
from nikawa.io.records import write_records
from nikawa.records import Example

E, C, N = "entailment", "contradiction", "neutral"
Sides = tuple[str, str]
Put = Callable[..., Sides]


def pair(name: str, label: str, score: float, *tags: str, image: str = "m") -> Example:
    inputs = {"premise": f"{name}時の空は暗い", "hypothesis": "空は暗い"}
    gold = {"label": label, "relatedness": score}
    return Example(id=name, inputs=inputs, gold=gold, tags=frozenset(tags), meta={"image": image})


ENGLISH = [
    pair("1", E, 5.0),
    pair("2", E, 4.0),
    pair("3", C, 3.5),
    pair("4", N, 2.0),
    pair("9", N, 1.0),
]
JAPANESE = [
    pair("1", E, 4.5, "Negation"),
    pair("2", N, 3.0, "Negation", "Modal"),
    pair("3", N, 3.5, "Modal", image="k"),
    pair("4", N, 2.0),
]


@pytest.fixture
def put(tmp_path: Path) -> Put:
    """Two records files to compare."""

    def write(one: list[Example] = ENGLISH, other: list[Example] = JAPANESE) -> Sides:
        for name, examples in (("english-test.jsonl", one), ("japanese-test.jsonl", other)):
            write_records(tmp_path / name, examples)
        return str(tmp_path / "english-test.jsonl"), str(tmp_path / "japanese-test.jsonl")

    return write


def parts(report: ShiftReport) -> dict[str, tuple[int, int]]:
    return {part.where: (part.n, part.changed) for part in report.parts}


def test_labels_are_tabled_from_one_side_to_the_other(put: Put) -> None:
    report = shift(*put())
    assert (report.n, report.changed, report.only_before, report.only_after) == (4, 2, 1, 0)
    assert report.into == {N: 2}
    whole = report.parts[0]
    assert whole.table[E] == {C: 0, E: 1, N: 1}
    assert whole.table[C] == {C: 0, E: 0, N: 1}
    assert whole.kappa == pytest.approx((0.5 - 0.3125) / (1 - 0.3125))
    assert summarise_shift(report).endswith("2 of 4 rows differ (2 to neutral)")


def test_parts_are_by_split_tag_and_meta(put: Put) -> None:
    sides = put()
    found = {"": (4, 2), "split=test": (4, 2), "tag=Modal": (2, 2), "tag=Negation": (2, 1)}
    assert parts(shift(*sides)) == found
    assert parts(shift(*sides, by=("image",))) == {"": (4, 2), "image=k": (1, 1), "image=m": (3, 1)}
    with pytest.raises(BadInput, match="no example has the field 'imge'; did you mean 'image'"):
        shift(*sides, by=("imge",))


def test_the_examples_that_differ_are_named(put: Put) -> None:
    first, second = shift(*put()).moved
    assert (first.example, first.before, first.after) == ("japanese-test:test/2", E, N)
    assert second.tags == ("Modal",)


def test_numbers_shift_by_a_mean(put: Put) -> None:
    report = shift(*put(), question="relatedness")
    found = report.parts[0].numbers
    assert found is not None
    assert (found.mean_before, found.mean_after, found.shift) == (3.625, 3.25, -0.375)
    assert found.distance == 0.375
    assert report.parts[0].table["4-5"] == {"2-3": 0, "3-4": 1, "4-5": 1}
    assert report.parts[0].kappa is None


def test_a_constant_side_has_no_correlation(put: Put) -> None:
    sides = put([pair("1", E, 2.0), pair("2", E, 2.0)], [pair("1", E, 3.0), pair("2", E, 1.0)])
    numbers = shift(*sides, question="relatedness").parts[0].numbers
    assert numbers is not None
    assert numbers.pearson is None
    assert shift(*sides).parts[0].kappa is None


def test_splits_part_ids_that_are_not_unique(tmp_path: Path) -> None:
    from nikawa.datasets import load
    from nikawa.io.folders import write_folder

    whole = load("mini-ja")
    some = msgspec.structs.replace(
        whole, splits={"dev": (pair("1", E, 1.0),), "test": (pair("1", N, 1.0), pair("2", N, 1.0))}
    )
    write_folder(some, tmp_path / "one")
    report = shift(str(tmp_path / "one"), str(tmp_path / "one"))
    assert (report.n, report.changed) == (3, 0)


@pytest.mark.parametrize(
    ("one", "asked", "said"),
    [
        ([pair("77", E, 1.0)], None, "share no id"),
        (ENGLISH, "lable", r"do not both have gold for 'lable'; did you mean 'label'\?"),
        (
            [Example(id="1", inputs={"a": "x"}, gold={"spans": []})],
            "spans",
            "do not both have gold",
        ),
        ([Example(id="1", inputs={"a": "x"})], None, "share 0 questions; nothing can be compared"),
    ],
)
def test_what_cannot_be_compared_is_refused(
    put: Put, one: list[Example], asked: str, said: str
) -> None:
    with pytest.raises(BadInput, match=said):
        shift(*put(one), question=asked)


def test_structures_are_refused(put: Put) -> None:
    some = [Example(id="1", inputs={"text": "空"}, gold={"answers": [{"text": "空", "start": 0}]})]
    with pytest.raises(BadInput, match="'answers' is a structure"):
        shift(*put(some, some))


def run(*words: str) -> Any:
    return CliRunner().invoke(app(), ["data", "shift", *words])


def test_the_command_shows_and_prints(put: Put) -> None:
    sides = put()
    shown = run(*sides, "-n", "1").stdout
    assert "1 example is in english-test only" in shown
    assert "japanese-test:test/2" in shown
    assert "japanese-test:test/3" not in shown
    told = msgspec.json.decode(run(*sides, "--json").stdout)
    assert told["parts"][0]["share"] == 0.5
    assert run(*sides, "--as", "csv").stdout.splitlines()[1].startswith("all,4,2,50.0,")
    assert run(*sides, "--quiet").stdout == ""
    assert "-0.375" in run(*sides, "--question", "relatedness").stdout


def test_numbers_for_programs_have_no_comma(put: Put, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "nikawa.cli.data.tabulate_parts", lambda report: (("part", "n"), [("all", 9_927)])
    )
    sides = put()
    assert run(*sides, "--as", "csv").stdout == "part,n\nall,9927\n"
    assert "| all | 9,927 |" in run(*sides, "--as", "markdown").stdout


def test_jsick_shifts_to_neutral(shared_data: Path) -> None:
    report = shift("jsick-en", "jsick", data=shared_data)
    assert (report.n, report.changed, report.into[N]) == (9927, 1328, 915)
    table = report.parts[0].table
    assert (table[E][N], table[C][N]) == (739, 176)
    assert parts(report)["split=test"] == (4927, 655)
    assert parts(report)["tag=Negation"] == (2343, 197)
    assert sum(part.n for part in report.parts if part.where.startswith("split=")) == 9927
