"""Names of workers: which are refused, which are one name spelled otherwise, and which only look the same."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from nikawa.collect.items import import_judgements, open_synced
from nikawa.collect.job import create, create_links
from nikawa.collect.sources import NewProject
from nikawa.collect.workers import add_worker
from nikawa.errors import BadInput
from nikawa.io.judgements import JudgementOptions
from nikawa.io.records import write_records
from nikawa.records import Example, Judgement
from nikawa.serve.login import hash_token
from nikawa.serve.names import MAX_NAME_CHARS, find_look_alikes, find_name_fault, is_person_name

Run = Callable[..., CompletedProcess[str]]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    examples = [Example(id=f"e{n}", inputs={"text": f"文{n}"}) for n in range(4)]
    write_records(tmp_path / "e.jsonl", examples)
    create(tmp_path / "p", str(tmp_path / "e.jsonl"), NewProject("choice"))
    return tmp_path / "p"


@pytest.mark.parametrize("name", ["aki", "山田\u3000太郎", "김 하나", "x" * MAX_NAME_CHARS, "<b>"])
def test_names_that_can_be_seen(name: str) -> None:
    assert is_person_name(name)


@pytest.mark.parametrize(
    "name", ["", " ", "\u3000", "x" * (MAX_NAME_CHARS + 1), "a\nb", "a\x00", "a\u202eb", "\ud800"]
)
def test_names_that_cannot(name: str) -> None:
    assert not is_person_name(name)


@pytest.mark.parametrize(
    "sign",
    ["\u200b", "\u00ad", "\u2066", "\u3164", "\u115f", "\uffa0", "\u2800", "\u034f", "\ufe0f"],
)
def test_a_character_that_cannot_be_seen_is_refused_and_named(project: Path, sign: str) -> None:
    with pytest.raises(BadInput, match=rf"contains U\+{ord(sign):04X}") as refused:
        create_links(project, [f"ha{sign}na"], "")
    assert "visible characters" in str(refused.value)
    assert find_name_fault(f"ha{sign}na")


@pytest.mark.parametrize(
    "name", ["Hana Mori", " hana mori", "ｈａｎａ ｍｏｒｉ", "hana\u3000 mori "]
)
def test_another_spelling_is_the_same_worker(project: Path, name: str) -> None:
    ((_, first),) = create_links(project, ["hana mori"], "").links
    again = create_links(project, [name], "")
    assert again.links == (("hana mori", first),)


@pytest.mark.parametrize("name", ["decision:rin", "Tie-Decision:x", " ｄｅｃｉｓｉｏｎ：rin"])
def test_nobody_goes_by_the_name_of_a_decision(project: Path, name: str) -> None:
    """Their answers would be taken for an owner's decisions in every export."""
    with pytest.raises(BadInput, match="are reserved for decisions"):
        create_links(project, [name], "")
    assert not find_name_fault("decision")


def test_a_new_worker_has_a_clean_name(project: Path) -> None:
    assert [name for name, _ in create_links(project, [" ﾊﾅ "], "").links] == ["ハナ"]


def test_who_has_a_link_keeps_it(project: Path) -> None:
    """Whatever their name is: it was taken before names were compared."""
    names = ["rin", "Rin", " rin", "ri\u3164n"]
    with open_synced(project) as (opened, store):
        tokens = {name: opened.token(name) for name in names}
        for name, token in tokens.items():
            store.write(add_worker, name, hash_token(token), "link", language="ja", now=1.0)
    assert create_links(project, names, "").links == tuple(
        (name, f"/w/{token}") for name, token in tokens.items()
    )


def test_names_that_look_alike_are_told(project: Path, nikawa: Run) -> None:
    create_links(project, ["aki", "mio"], "")
    done = nikawa("collect", "links", str(project), "\u0430ki")
    told = "names look alike: 'aki' (U+0061), '\u0430ki' (U+0430)"
    assert told in done.stderr
    done = nikawa("collect", "status", str(project))
    assert "names that look alike: 'aki' (U+0061), '\u0430ki' (U+0430)" in done.stdout
    status = json.loads(nikawa("collect", "status", str(project), "--json").stdout)
    assert status["look_alikes"] == [["aki", "\u0430ki"]]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Ivan", "lvan"),
        ("rater-10", "rater-1o"),
        ("カナ", "力ナ"),
        ("\u03bfno", "ono"),
        ("モリ", "モり"),
        ("Burns", "Bums"),
        ("ㅣee", "lee"),
        ("エミ一", "エミー"),
    ],
)
def test_look_alikes(one: str, other: str) -> None:
    assert find_look_alikes([one, "x", other]) == [[one, other]]
    assert find_look_alikes(["w1", "w2", "w10", "ha", "na", "森", "林", "강", "장"]) == []


def test_imported_ids_that_differ_in_case_only_stay_apart(project: Path, tmp_path: Path) -> None:
    given = [
        Judgement(example=f"e{n}", worker=worker, question="label", answer=answer)
        for n in range(2)
        for worker, answer in (("A", "entailment"), ("a", "neutral"))
    ]
    write_records(tmp_path / "j.jsonl", given)
    report = import_judgements(project, tmp_path / "j.jsonl", JudgementOptions())
    assert (report.answers, report.known) == (4, 0)


def test_an_imported_spelling_is_the_worker_who_is_known(project: Path, tmp_path: Path) -> None:
    create_links(project, ["hana"], "")
    given = [Judgement(example="e0", worker="Hana ", question="label", answer="neutral")]
    write_records(tmp_path / "j.jsonl", given)
    import_judgements(project, tmp_path / "j.jsonl", JudgementOptions())
    with open_synced(project) as (_, store):
        rows = store.read(lambda db: db.rows("SELECT name, answered FROM workers"))
    assert [tuple(row) for row in rows] == [("hana", 1)]
