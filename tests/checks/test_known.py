"""Known findings of a dataset folder: the file, what it covers, and what a card says of it."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from nikawa.checks.job import CUSTOM_CHECKS, accept, find_stale
from nikawa.datasets import load
from nikawa.datasets.known import (
    MAX_IDS_LISTED,
    KnownFinding,
    accept_finding,
    describe_on_card,
    forget_on_card,
    format_known,
    merge_known,
    read_known,
    write_known,
)
from nikawa.errors import BadInput
from nikawa.records import Finding

LEAK = Finding(check="leaked-pairs", where="dev in train", count=2, ids=("a:dev/1", "a:dev/x:2"))


@pytest.mark.parametrize(
    ("entry", "covers"),
    [
        ({}, True),
        ({"where": "dev in train"}, True),
        ({"where": "dev in *"}, True),
        ({"where": "dev"}, False),
        ({"count": 2}, True),
        ({"count": 1}, False),
        ({"ids": ("dev/1", "dev/x:2", "dev/3")}, True),
        ({"ids": ("dev/1",)}, False),
        ({"check": "leaked-texts"}, False),
    ],
)
def test_what_an_entry_covers(entry: dict[str, object], covers: bool) -> None:
    known = KnownFinding(**{"check": "leaked-pairs", "reason": "so", **entry})  # type: ignore[arg-type]
    assert known.covers(LEAK) is covers


def test_a_file_is_read_as_it_was_written(tmp_path: Path) -> None:
    entries = (
        KnownFinding(
            check="leaked-pairs", where='a "b" \\ c', count=3, reason="引用「」\x7f\n改行"
        ),
        KnownFinding(check="broken-groups", reason="組"),
        accept_finding(LEAK, "two of them"),
    )
    write_known(tmp_path, entries)
    assert read_known(tmp_path) == entries
    assert tomllib.loads(format_known(entries))["known"][2]["ids"] == ["dev/1", "dev/x:2"]
    assert read_known(tmp_path / "absent") == ()


def test_many_examples_are_counted() -> None:
    ids = tuple(f"a:dev/{n}" for n in range(MAX_IDS_LISTED + 1))
    entry = accept_finding(Finding(check="short-text", where="dev", count=7, ids=ids), "short")
    assert (entry.ids, entry.count) == ((), 7)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ('[[known]]\ncheck = "short-text"\n', "reason"),
        ('[[known]]\ncheck = "short-text"\nreason = ""\n', "reason"),
        ('[[known]]\ncheck = "short-text"\nreason = "x"\ncount = 0\n', "count"),
        ('[[known]]\ncheck = "short-text"\nreason = "x"\nwhy = "y"\n', "why"),
        ('[jsick.short-text]\n"dev" = 1\n', "jsick"),
        ("[[known]\n", "TOML"),
    ],
)
def test_a_damaged_file_is_refused(tmp_path: Path, text: str, what: str) -> None:
    (tmp_path / "known.toml").write_text(text, "utf-8")
    with pytest.raises(BadInput, match=what) as refused:
        read_known(tmp_path)
    assert str(tmp_path / "known.toml") in str(refused.value)


def test_the_card_has_a_line_for_what_is_accepted_only() -> None:
    card = load("mini-ja").card
    design = KnownFinding(check="broken-groups", reason="by design")
    described = describe_on_card(card, [accept_finding(LEAK, "so be it"), design])
    assert described.problems[len(card.problems) :] == (
        "Known to nikawa data check: leaked-pairs, dev in train, 2: so be it",
    )
    assert describe_on_card(described, [design]) == forget_on_card(described) == card


def test_a_release_that_is_made_anew_keeps_what_was_accepted() -> None:
    design = KnownFinding(check="broken-groups", reason="by design")
    mine = accept_finding(LEAK, "so be it")
    assert merge_known((design,), (design, mine)) == (design, mine)


def test_entries_about_datasets_that_are_not_here_are_not_stale() -> None:
    entry = KnownFinding(check="leaked-pairs", where="dev in jsts:train", count=1, reason="x")
    assert list(find_stale([entry], (), ())) == []
    assert len(list(find_stale([entry], (), ("jsts",)))) == 1


@pytest.mark.parametrize("text", ["mini-ja", "records.jsonl", "folder:dev"])
def test_only_a_folder_of_ones_own_has_a_list(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("records.jsonl").write_text('{"id": "1", "inputs": {"text": "猫"}}\n', "utf-8")
    with pytest.raises(BadInput, match="not a custom dataset folder"):
        accept(text, "because")


def test_every_check_that_is_documented_exists() -> None:
    assert {"leaked-sentences", "single-label", "giveaway", "repeated-questions"} <= CUSTOM_CHECKS


def test_a_place_of_many_stars_is_looked_for_once() -> None:
    """A folder of somebody else may hold any pattern: one that is tried in every way would never end."""
    for pattern in ("*" * 80 + "z", "*a" * 40 + "*z", "*n*i*" * 30):
        assert not KnownFinding(check=LEAK.check, where=pattern, reason="r").covers(LEAK)
    for pattern in (
        "*",
        "**",
        LEAK.where,
        f"*{LEAK.where}*",
        f"{LEAK.where[:2]}*{LEAK.where[-2:]}",
    ):
        assert KnownFinding(check=LEAK.check, where=pattern, reason="r").covers(LEAK)
    assert not KnownFinding(
        check=LEAK.check, where=f"{LEAK.where}*{LEAK.where}", reason="r"
    ).covers(LEAK)
