"""`nikawa data hide`: labels leave the folder, and whoever has the key file scores as before."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace
from typer.testing import CliRunner

from nikawa import api
from nikawa.checks.hide_job import HideOptions, HideReport
from nikawa.cli.terminal.app import build
from nikawa.datasets import load
from nikawa.datasets.keys import read_keys, read_notice, write_keys
from nikawa.datasets.lineage import Lineage, read_lineage, write_lineage
from nikawa.errors import BadInput
from nikawa.io.folders import HIDDEN_NOTICE, write_folder
from nikawa.io.records import write_records
from nikawa.records import Card, Dataset, Example, Judgement, Origin, Span
from nikawa.runs import stored_runs
from nikawa.runs.job import RunOptions, RunRequest, run

CARD = Card(
    name="tides",
    title="Tides",
    version="1",
    languages=("ko",),
    licence="CC0",
    citation="none",
    homepage="none",
    description="Of the sea.",
    labels="",
    workers="",
    workers_are="none",
    source="written for a test",
)
NLI = ("entailment", "contradiction", "neutral")
KEYS = Path("keys.jsonl")
OUT = Path("hidden")

# One maker of (inputs, gold, answer) for each kind of task.


def draw(n: int, size: int) -> int:
    """A number below `size` that has nothing to do with the place."""
    return int.from_bytes(blake2b(b"%d" % n, digest_size=4).digest(), "big") % size


def make_text(n: int) -> tuple[dict[str, Any], dict[str, Any], Any]:
    labels = ("IT", "경제", "사회")
    return {"text": f"{n}번 기사"}, {"label": labels[draw(n, 3)]}, labels[n % 3]


def make_inference(n: int) -> tuple[dict[str, Any], dict[str, Any], Any]:
    inputs = {"premise": f"{n // 3}日の潮", "hypothesis": f"{n}の波"}
    return inputs, {"label": NLI[draw(n, 3)]}, NLI[n % 3]


def make_similarity(n: int) -> tuple[dict[str, Any], dict[str, Any], Any]:
    score = draw(n, 26) / 5
    inputs = {"sentence1": f"潮{n}", "sentence2": f"波{n}"}
    return inputs, {"score": score}, min(5.0, score + n % 3)


def make_choice(n: int) -> tuple[dict[str, Any], dict[str, Any], Any]:
    inputs = {"question": f"{n}は？", "choices": [f"{n}a", f"{n}b", f"{n}c"]}
    return inputs, {"choice": draw(n, 3)}, n % 3


def make_reading(n: int) -> tuple[dict[str, Any], dict[str, Any], Any]:
    context = f"배 {n}척이 항구 {n * 3}에 있다."
    answer = f"{n * 3}"
    gold = [{"text": answer, "start": context.rindex(answer)}]
    inputs = {"context": context, "question": f"{n}척은 어디에?"}
    return inputs, {"answers": gold}, answer if n % 2 else f"{n}척"


def make_tagging(n: int) -> tuple[dict[str, Any], dict[str, Any], Any]:
    spans = [Span(0, 2, "PS"), Span(4, 6, "LC")][: 1 + draw(n, 2)]
    given = spans if n % 3 else [Span(0, 3, "PS")]
    return {"text": f"민수가 부산{n} 간다"}, {"spans": spans}, given


def make_relation(n: int) -> tuple[dict[str, Any], dict[str, Any], Any]:
    labels = ("no_relation", "per:origin", "org:founded")
    inputs = {"text": f"민수와 부산{n}", "subject": Span(0, 2, "PER"), "object": Span(4, 6, "LOC")}
    return inputs, {"relation": labels[draw(n, 3)]}, labels[n % 3]


def make_tree(n: int) -> tuple[dict[str, Any], dict[str, Any], Any]:
    words = [{"form": word, "lemma": word, "pos": "NNG"} for word in ("배가", f"{n}에", "간다")]
    tree = {"heads": [3, 3, 0], "labels": ["NP_SBJ", "NP_AJT", "VP"]}
    given = {"heads": [2, 3, 0] if n % 3 else [3, 3, 0], "labels": ["NP_SBJ", "NP_SBJ", "VP"]}
    return {"text": f"배가 {n}에 간다", "words": words}, {"tree": tree}, given


def make_dialogue(n: int) -> tuple[dict[str, Any], dict[str, Any], Any]:
    turns = [{"role": "user", "text": f"{n}시에 식당을 예약해 주세요."}]
    state = [f"식당-예약 시간-{n}시", "식당-지역-남쪽"][: 1 + draw(n, 2)]
    return {"turns": turns}, {"state": state}, state[: 1 + n % 3 // 2]


MAKERS = (
    make_text,
    make_inference,
    make_similarity,
    make_choice,
    make_reading,
    make_tagging,
    make_relation,
    make_tree,
    make_dialogue,
)
Maker = Callable[[int], tuple[dict[str, Any], dict[str, Any], Any]]


def make_examples(make: Maker, numbers: Sequence[int]) -> tuple[Example, ...]:
    """Examples with all that can tell of a label."""
    return tuple(
        Example(
            id=f"t{n}",
            inputs=make(n)[0],
            gold=make(n)[1],
            tags=frozenset({"odd"} if n % 2 else {"even"}),
            meta={"source": ("sea", "shore")[n % 5 % 2], "told": json.dumps(str(make(n)[1]))},
            group=f"g{n // 3}",
            origin=Origin(recipe="hand", step=f"s{n % 2}"),
        )
        for n in numbers
    )


@pytest.fixture(autouse=True)
def _place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def lay(folder: str = "tides", **splits: tuple[Example, ...]) -> str:
    dataset = Dataset(name="tides", language="ko", version="1", card=CARD, splits=splits)
    write_folder(dataset, Path(folder))
    return folder


def lay_kind(make: Maker = make_inference, test: int = 40) -> str:
    return lay(
        train=make_examples(make, range(100, 130)),
        dev=make_examples(make, range(200, 212)),
        test=make_examples(make, range(test)),
    )


def hide(dataset: str = "tides", **options: Any) -> HideReport:
    options.setdefault("splits", ("test",))
    return api.hide_labels(dataset, OUT, KEYS, options=HideOptions(**options))


def call(*words: str | Path) -> tuple[int, str]:
    """The exit status, and all that is printed: of bad input one line, as `main` prints it."""
    result = CliRunner().invoke(build(), [str(word) for word in words])
    if isinstance(result.exception, BadInput):
        return 2, str(result.exception)
    return result.exit_code, result.output


def read_lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def write_answers(path: Path, make: Maker, names: dict[str, str] | None = None) -> Path:
    """Answers to the test items, under other names where they have some, in another order."""
    lines = []
    for n in sorted(range(40), key=lambda n: n * 17 % 41):
        name = names[f"t{n}"] if names else f"t{n}"
        lines.append(msgspec.json.encode({"id": name, "answer": make(n)[2]}))
    path.write_bytes(b"\n".join(lines) + b"\n")
    return path


def new_names() -> dict[str, str]:
    return {item.was: item.id for item in read_keys(KEYS).items["test"].values()}


# What stays and what goes


def test_nothing_but_the_inputs_stays() -> None:
    lay_kind()
    before = load("tides").splits
    report = hide()
    rows = read_lines(OUT / "test.jsonl")
    assert len(rows) == report.hidden["test"] == 40
    for row in rows:
        assert row.keys() <= {"id", "inputs", "tags", "origin"}
        assert not row["tags"]
        assert row["origin"] == {"recipe": "tides", "gold": "hidden"}
    after = load(str(OUT), hidden=True).splits
    assert after["train"] == before["train"]
    assert after["dev"] == before["dev"]
    assert sorted(str(e.inputs) for e in after["test"]) == sorted(
        str(e.inputs) for e in before["test"]
    )
    for path in OUT.iterdir():
        if path.name != "hidden.json":  # which has the names of the labels, and no label
            assert "told" not in path.read_text() or path.name in ("train.jsonl", "dev.jsonl")


def test_the_key_file_is_private_and_has_all_that_was_taken_away() -> None:
    lay_kind()
    old = os.umask(0)
    try:
        hide()
    finally:
        os.umask(old)
    assert KEYS.stat().st_mode & 0o7777 == 0o600
    by_id = {example.id: example for example in load("tides").splits["test"]}
    for item in read_keys(KEYS).items["test"].values():
        example = by_id[item.was]
        assert (item.gold, item.tags, item.meta) == (example.gold, example.tags, example.meta)
        assert (item.group, item.origin) == (example.group, example.origin)


def test_ids_and_order_are_new_and_cannot_be_guessed() -> None:
    lay_kind()
    hide()
    first = [row["id"] for row in read_lines(OUT / "test.jsonl")]
    assert len(set(first)) == 40
    assert not {f"t{n}" for n in range(40)} & set(first)
    places = [read_keys(KEYS).items["test"][name].place for name in first]
    assert places != sorted(places)
    shutil.rmtree(OUT)
    KEYS.unlink()
    hide()
    assert not set(first) & {row["id"] for row in read_lines(OUT / "test.jsonl")}


def test_the_secret_of_an_earlier_key_file_gives_the_same_bytes() -> None:
    lay_kind()
    hide()
    before = {path.name: path.read_bytes() for path in (*OUT.iterdir(), KEYS)}
    KEYS.rename("old.jsonl")
    shutil.rmtree(OUT)
    hide(secret=Path("old.jsonl"))
    assert before == {path.name: path.read_bytes() for path in (*OUT.iterdir(), KEYS)}


def test_ids_order_and_fields_can_be_kept() -> None:
    lay_kind()
    report = hide(keep=("meta.source", "group"), keep_ids=True, keep_order=True, allow=("group",))
    assert set(report.kept) == {"meta.source", "group", "ids", "order"}
    for n, row in enumerate(read_lines(OUT / "test.jsonl")):
        assert row["id"] == f"t{n}"
        assert row["meta"] == {"source": ("sea", "shore")[n % 5 % 2]}
        assert row["group"] == f"g{n // 3}"
        assert not row["tags"]


@pytest.mark.parametrize(
    ("name", "says"),
    [("gold", "labels"), ("inherited_label", "labels"), ("sauce", "source"), ("id", "--keep-ids")],
)
def test_labels_and_unknown_fields_cannot_be_kept(name: str, says: str) -> None:
    lay_kind()
    with pytest.raises(BadInput, match=says):
        hide(keep=(name,))
    assert not OUT.exists()
    assert not KEYS.exists()


def test_the_card_says_what_is_hidden() -> None:
    lay_kind()
    report = hide(keep=("source",), card={"homepage": "https://example.org"})
    card = json.loads((OUT / "card.json").read_text())
    assert (card["name"], card["licence"], card["source"]) == (CARD.name, CARD.licence, CARD.source)
    assert card["homepage"] == "https://example.org"
    assert card["description"].startswith("Of the sea. Labels are hidden")
    for part in ("test (40 items)", "meta.source", report.digests["test"], report.seal):
        assert part in card["description"]


def test_judgements_and_lineage_of_hidden_items_go_with_them() -> None:
    folder = Path(lay_kind())
    names = ("tides:test/t3", "t4", "tides:train/t100", "tides:nowhere/t1")
    judgements = [Judgement(example=n, worker="w", question="label", answer="x") for n in names]
    write_records(folder / "judgements.jsonl", judgements)
    entries = [
        Lineage(
            example=f"tides:{split}/{name}",
            item=name,
            split=split,
            recipe="aggregate",
            version="1",
            nikawa="0",
            inputs={},
            gold={"label": "neutral"},
        )
        for split, name in (("test", "t3"), ("train", "t100"))
    ]
    write_lineage(folder, entries)
    (folder / "notes.txt").write_text("t3 is neutral")
    report = hide()
    assert report.judgements == 2
    assert report.left_behind == ("notes.txt",)
    assert [row["example"] for row in read_lines(OUT / "judgements.jsonl")] == [names[2]]
    assert [entry.example for entry in read_lineage(OUT)] == ["tides:train/t100"]
    items = {item.was: item for item in read_keys(KEYS).items["test"].values()}
    assert [len(items[name].judgements) for name in ("t3", "t4", "t5")] == [1, 1, 0]
    lineage = items["t3"].lineage
    assert lineage is not None
    assert lineage["gold"] == {"label": "neutral"}
    assert not (OUT / "notes.txt").exists()


def test_several_splits_have_one_key_file() -> None:
    lay_kind()
    report = hide(splits=("test", "dev"))
    assert report.hidden == {"test": 40, "dev": 12}
    assert report.carried == {"train": 30}
    assert not any(row.get("gold") for row in read_lines(OUT / "dev.jsonl"))
    write_answers(Path("answers.jsonl"), make_inference, new_names())
    assert api.score(str(OUT), Path("answers.jsonl"), keys=KEYS).report.split == "test"


def test_a_folder_can_be_hidden_further() -> None:
    lay_kind()
    hide()
    options = HideOptions(splits=("dev",))
    api.hide_labels(str(OUT), Path("more"), Path("more.jsonl"), options=options)
    notice = read_notice(Path("more"))
    assert notice is not None
    assert set(notice.splits) == {"dev", "test"}
    write_answers(Path("answers.jsonl"), make_inference, new_names())
    assert api.score("more:test", Path("answers.jsonl"), keys=KEYS).report.n == 40


def test_a_records_file_and_a_split_by_name() -> None:
    write_records(Path("tides.jsonl"), make_examples(make_text, range(40)))
    api.hide_labels("tides.jsonl:all", OUT, KEYS)
    assert [path.name for path in sorted(OUT.iterdir())] == [
        "all.jsonl",
        "card.json",
        HIDDEN_NOTICE,
    ]


# Scores as before


@pytest.mark.parametrize("make", MAKERS)
def test_scores_are_those_of_the_original(make: Maker) -> None:
    """To the last digit, intervals too: items are resampled in the order they had."""
    lay_kind(make)
    hide()
    before = api.score("tides:test", write_answers(Path("old.jsonl"), make)).report
    after = api.score(
        f"{OUT}:test", write_answers(Path("new.jsonl"), make, new_names()), keys=KEYS
    ).report
    assert [msgspec.structs.asdict(s) for s in after.scores] == [
        msgspec.structs.asdict(s) for s in before.scores
    ]
    assert before.scores
    assert any(0 < score.value < 100 for score in before.scores)
    assert (after.n, after.answered, after.hidden) == (before.n, before.answered, 0)
    assert after.confusion == before.confusion


@pytest.mark.parametrize("make", MAKERS)
def test_the_folder_is_sound_and_says_what_it_asks(make: Maker) -> None:
    lay_kind(make)
    hide(splits=("train", "dev", "test"))
    status, printed = call("data", "check", OUT)
    assert status == 0, printed
    assert call("data", "show", OUT)[0] == 0
    status, printed = call("tasks", OUT)
    assert (status, "hidden" in printed) == (0, True)


def test_answers_without_ids_go_by_the_published_order() -> None:
    lay_kind()
    hide()
    items = read_keys(KEYS).items["test"]
    rows = [row["id"] for row in read_lines(OUT / "test.jsonl")]
    Path("answers.txt").write_text("".join(f"{items[name].gold['label']}\n" for name in rows))
    report = api.score(f"{OUT}:test", Path("answers.txt"), keys=KEYS).report
    assert report.scores[0].value == 100


def test_slices_go_by_what_was_hidden() -> None:
    lay_kind()
    hide()
    answers = write_answers(Path("answers.jsonl"), make_inference, new_names())
    status, printed = call(
        "score", f"{OUT}:test", answers, "--hidden", "--keys", KEYS, "--by", "tag"
    )
    assert status == 0
    assert "tag=even" in printed


def test_compare_takes_the_key_file() -> None:
    lay_kind()
    hide()
    names = new_names()
    one = write_answers(Path("one.jsonl"), make_inference, names)
    two = write_answers(Path("two.jsonl"), lambda n: ({}, {}, "neutral"), names)
    words = ("compare", one, two, "--task", OUT, "--split", "test", "--json")
    assert call(*words)[0] == 2
    status, printed = call(*words, "--hidden", "--keys", KEYS)
    assert status == 0
    old = [
        write_answers(Path("a.jsonl"), make_inference),
        write_answers(Path("b.jsonl"), lambda n: ({}, {}, "neutral")),
    ]
    before = api.compare(["tides"], {"one": old[:1], "two": old[1:]}, split="test")
    pairs = json.loads(printed)["pairs"]
    assert [(p["difference"], p["p"]) for p in pairs] == [(p.difference, p.p) for p in before.pairs]


def test_without_keys_the_error_says_what_is_missing() -> None:
    lay_kind()
    hide()
    answers = write_answers(Path("answers.jsonl"), make_inference, new_names())
    for words in (("score", f"{OUT}:test", answers), ("score", OUT, answers, "--hidden")):
        status, printed = call(*words)
        assert status == 2
        assert "--hidden --keys FILE" in printed
    status, printed = call("score", f"{OUT}:test", answers, "--keys", KEYS)
    assert status == 2
    assert "also pass --hidden" in printed


def test_registered_datasets_have_no_key_file() -> None:
    lay_kind()
    hide()
    answers = write_answers(Path("answers.jsonl"), make_inference)
    with pytest.raises(BadInput, match="has no key file"):
        api.score("mini-ja-nli:dev", answers, keys=KEYS)


def test_details_of_hidden_items_are_private() -> None:
    lay_kind()
    hide()
    answers = write_answers(Path("answers.jsonl"), make_inference, new_names())
    words = (
        "score",
        f"{OUT}:test",
        answers,
        "--hidden",
        "--keys",
        KEYS,
        "--per-item",
        "items.jsonl",
    )
    assert call(*words)[0] == 0
    assert Path("items.jsonl").stat().st_mode & 0o777 == 0o600


def test_a_key_file_among_the_splits_is_named() -> None:
    lay_kind()
    hide()
    shutil.copy(KEYS, OUT / "mine.jsonl")
    with pytest.raises(BadInput, match=r"mine.jsonl: is a key file.*remove it from the folder"):
        load(str(OUT))


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o660])
def test_a_key_file_that_others_read_is_warned_of(mode: int) -> None:
    lay_kind()
    hide()
    answers = write_answers(Path("answers.jsonl"), make_inference, new_names())
    words = ["score", f"{OUT}:test", str(answers), "--hidden", "--keys", str(KEYS)]
    assert "warning" not in call(*words)[1]
    KEYS.chmod(mode)
    status, printed = call(*words)
    assert status == 0
    assert f"warning: keys.jsonl has the mode {mode:04o}" in printed
    KEYS.chmod(0o400)
    assert "warning" not in call(*words)[1]


# Key files that do not fit


def score_with(keys: Path) -> None:
    answers = write_answers(Path("answers.jsonl"), make_inference, new_names())
    api.score(f"{OUT}:test", answers, keys=keys)


def test_a_changed_label_breaks_the_seal() -> None:
    lay_kind()
    hide()
    text = KEYS.read_text()
    Path("other.jsonl").write_text(text.replace('"entailment"', '"neutral"', 1))
    with pytest.raises(BadInput, match="its checksum does not match"):
        score_with(Path("other.jsonl"))


def test_a_key_file_that_was_cut_short_is_refused() -> None:
    lay_kind()
    hide()
    lines = KEYS.read_text().splitlines(keepends=True)
    Path("other.jsonl").write_text("".join(lines[:-3]))
    with pytest.raises(BadInput, match="37 of 40 items"):
        score_with(Path("other.jsonl"))


@pytest.mark.parametrize("text", ["", "{}\n", "[]\n", '{"keys":1}\n', "neutral\n"])
def test_what_is_no_key_file_is_refused(text: str) -> None:
    lay_kind()
    hide()
    Path("other.jsonl").write_text(text)
    with pytest.raises(BadInput, match=r"other\.jsonl.*(not a key file|is empty)"):
        score_with(Path("other.jsonl"))


def test_spans_of_a_key_file_are_checked() -> None:
    """Whoever knows the secret can write a seal that fits."""
    lay_kind(make_tagging)
    hide()
    keys = read_keys(KEYS)
    items = [
        replace(item, gold={"spans": [{"start": 0, "end": 999}]})
        for item in keys.items["test"].values()
    ]
    KEYS.unlink()
    with KEYS.open("wb") as stream:
        seal = write_keys(stream, keys.header, items)
    notice = (OUT / HIDDEN_NOTICE).read_text()
    (OUT / HIDDEN_NOTICE).write_text(notice.replace(keys.header.seal, seal))
    answers = write_answers(Path("answers.jsonl"), make_tagging, new_names())
    with pytest.raises(BadInput, match=r"keys\.jsonl: span 0-999 is outside the text"):
        api.score(f"{OUT}:test", answers, keys=KEYS)


def test_the_key_file_of_another_dataset_is_refused() -> None:
    lay_kind()
    hide()
    api.hide_labels("tides:test", Path("second"), Path("second.jsonl"))
    with pytest.raises(BadInput, match="has none of the items"):
        score_with(Path("second.jsonl"))


def test_keys_of_labels_that_were_hidden_anew_are_refused() -> None:
    """The folder vouches for the labels: others, under the same ids, have another seal."""
    lay_kind()
    hide(keep_ids=True, keep_order=True)
    KEYS.rename("old.jsonl")
    shutil.rmtree(OUT)
    examples = make_examples(make_inference, range(40))
    other = tuple(replace(e, gold={"label": NLI[int(e.id[1:]) // 2 % 3]}) for e in examples)
    shutil.rmtree("tides")
    lay(train=make_examples(make_inference, range(100, 130)), test=other)
    hide(keep_ids=True, keep_order=True, allow=("id", "order"))
    with pytest.raises(BadInput, match="has a different checksum"):
        score_with(Path("old.jsonl"))


def test_items_that_were_changed_or_removed_since_are_named() -> None:
    lay_kind()
    hide()
    path = OUT / "test.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    name = json.loads(lines[0])["id"]
    path.write_text("".join(lines[1:]))
    with pytest.raises(BadInput, match=f"1 items that hidden:test lacks, such as {name}"):
        score_with(KEYS)
    path.write_text("".join([lines[0].replace("の波", "の風"), *lines[1:]]))
    with pytest.raises(
        BadInput, match=f"1 items of hidden:test have changed since, such as {name}"
    ):
        score_with(KEYS)
    path.write_text("".join([*lines, lines[0].replace(name, "stranger")]))
    with pytest.raises(BadInput, match="does not have 1 items"):
        score_with(KEYS)


# Where things may lie


def test_keys_are_never_published_with_the_folder() -> None:
    lay_kind()
    Path("link").symlink_to(".")
    for keys in (OUT / "keys.jsonl", OUT / "a" / "keys.jsonl", Path("link") / OUT / "k", OUT):
        with pytest.raises(BadInput, match="is inside hidden"):
            api.hide_labels("tides:test", OUT, keys)
    with pytest.raises(BadInput, match="is in a dataset folder"):
        api.hide_labels("tides:test", OUT, Path("tides/keys.jsonl"))
    assert not OUT.exists()


def test_nothing_is_written_over_the_dataset() -> None:
    lay_kind()
    for out in (Path("tides"), Path("tides/public"), Path()):
        with pytest.raises(BadInput):
            api.hide_labels(
                "tides:test", out, Path("../k.jsonl"), options=HideOptions(overwrite=True)
            )


def test_only_what_hide_wrote_is_replaced() -> None:
    """A folder that was there might hold judgements of the very labels that are hidden."""
    lay_kind()
    hide()
    with pytest.raises(BadInput, match="already exists"):
        hide()
    hide(overwrite=True)
    (OUT / "judgements.txt").write_text("t3 neutral")
    with pytest.raises(BadInput, match=r"judgements\.txt"):
        hide(overwrite=True)
    shutil.rmtree(OUT)
    lay("hidden", test=make_examples(make_text, range(3)))
    with pytest.raises(BadInput, match="was not written by nikawa data hide"):
        hide(overwrite=True)
    shutil.rmtree(OUT)
    KEYS.write_text("my notes\n")
    with pytest.raises(BadInput, match="not a key file"):
        hide(overwrite=True)
    assert KEYS.read_text() == "my notes\n"


def test_a_failure_leaves_neither_folder_nor_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    lay_kind()

    def fail(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("nikawa.checks.hide_job.write_card", fail)
    with pytest.raises(OSError, match="No space"):
        hide()
    assert sorted(path.name for path in Path().iterdir()) == ["tides"]


def test_a_split_must_be_named_and_have_labels() -> None:
    lay_kind()
    with pytest.raises(BadInput, match="no split is named"):
        hide(splits=())
    with pytest.raises(BadInput, match="there is no split of tides 'tset'"):
        hide(splits=("tset",))
    hide()
    with pytest.raises(BadInput, match="no item of test has a label"):
        api.hide_labels(f"{OUT}:test", Path("again"), Path("again.jsonl"))


def test_labels_that_are_hidden_elsewhere_are_not_carried_over() -> None:
    hidden = Origin(recipe="owner", gold="hidden")
    dev = tuple(replace(e, origin=hidden) for e in make_examples(make_text, range(200, 212)))
    lay(
        train=make_examples(make_text, range(100, 130)),
        dev=dev,
        test=make_examples(make_text, range(40)),
    )
    with pytest.raises(BadInput, match=r"12 items of dev have hidden labels.*--split dev"):
        hide()
    with pytest.raises(BadInput, match=r"12 labels of dev are already marked as hidden.*--hidden"):
        hide(splits=("dev", "test"))
    assert not KEYS.exists()
    hide(splits=("dev", "test"), hidden=True)
    assert all(item.gold for item in read_keys(KEYS).items["dev"].values())


# What gives labels away


def refusal(**options: Any) -> str:
    with pytest.raises(BadInput) as caught:
        hide(**options)
    assert not OUT.exists()
    assert not KEYS.exists()
    return str(caught.value)


def test_an_order_by_label_is_refused() -> None:
    examples = sorted(make_examples(make_inference, range(40)), key=lambda e: e.gold["label"])
    lay(test=tuple(examples))
    message = refusal(keep_order=True)
    assert "order (test)" in message
    assert "% of 40 labels" in message
    assert "--allow-leak order" in message
    report = hide(keep_order=True, allow=("order",))
    assert [(g.field, g.allowed) for g in report.giveaways] == [("order", True)]
    shutil.rmtree(OUT)
    KEYS.unlink()
    assert not hide().giveaways


def test_ids_that_tell_labels_are_refused() -> None:
    examples = make_examples(make_inference, range(40))
    lay(test=tuple(replace(e, id=f"{e.gold['label'][0]}-{e.id}") for e in examples))
    status, printed = call(
        "data", "hide", "tides", "--split", "test", "--out", OUT, "--keys", KEYS, "--keep-ids"
    )
    assert status == 2
    assert "id (test) would give labels away" in printed
    assert "it guesses 100.0% of 40 labels" in printed
    status, printed = call(
        *("data", "hide", "tides", "--split", "test", "--out", OUT, "--keys", KEYS),
        *("--keep-ids", "--allow-leak", "id"),
    )
    assert (status, "allowed: id (test)" in printed) == (0, True)


@pytest.mark.parametrize(
    ("field", "change"),
    [
        ("tags", lambda e: {"tags": frozenset({"sea", f"is-{e.gold['label']}"})}),
        ("group", lambda e: {"group": f"{e.gold['label'][:2]}{int(e.id[1:]) % 4}"}),
        ("meta.votes", lambda e: {"meta": {"votes": [e.gold["label"], "x", e.id]}}),
        ("meta.row", lambda e: {"meta": {"row": 3 * int(e.id[1:]) + NLI.index(e.gold["label"])}}),
        ("meta.why", lambda e: {"meta": {"why": f"{e.id}: I think {e.gold['label'].upper()}"}}),
        ("origin", lambda e: {"origin": Origin(recipe="r", step=e.gold["label"])}),
        ("inputs.note", lambda e: {"inputs": {**e.inputs, "note": e.gold["label"][:3]}}),
    ],
)
def test_kept_fields_that_tell_labels_are_refused(
    field: str, change: Callable[[Example], dict[str, Any]]
) -> None:
    examples = make_examples(make_inference, range(60))
    lay(test=tuple(replace(example, **change(example)) for example in examples))
    keep = () if field.startswith("inputs.") else (field,)
    message = refusal(keep=keep)
    assert f"{field} (test)" in message
    report = hide(keep=keep, allow=(field,))
    assert [giveaway.field for giveaway in report.giveaways] == [field]


def test_the_answer_itself_in_a_kept_field_is_refused() -> None:
    examples = make_examples(make_reading, range(10, 50))
    lay(
        test=tuple(
            replace(e, meta={"hint": f"see {e.gold['answers'][0]['text']}."}) for e in examples
        )
    )
    assert "it contains the answers to 40 of 40 items" in refusal(keep=("hint",))


def test_fields_that_have_nothing_to_do_with_labels_are_kept() -> None:
    """False alarms are rare: none in thirty datasets whose fields are drawn without the labels."""
    import random

    from nikawa.checks.giveaways import find_giveaways

    alarms = 0
    for seed in range(30):
        draw = random.Random(seed)
        golds = [{"label": draw.choice(NLI), "score": draw.random()} for _ in range(80)]
        fields: dict[str, list[Any]] = {
            "id": [f"x-{draw.randrange(10**6)}" for _ in golds],
            "order": list(range(80)),
            "tags": [{word for word in "abc" if draw.random() < 0.4} for _ in golds],
            "meta.n": [draw.gauss(0, 1) for _ in golds],
        }
        alarms += bool(find_giveaways("test", fields, golds, ordered=("id", "order"), seed=seed))
    assert alarms <= 2


def test_copies_in_another_split_are_refused() -> None:
    examples = make_examples(make_inference, range(40))
    copy = replace(examples[7], id="c", inputs={"premise": " ２日の潮 ", "hypothesis": "７の波。"})
    lay(train=(*make_examples(make_inference, range(100, 130)), copy), test=examples)
    message = refusal()
    assert (
        "copies (test) would give labels away: 1 of 40 items are in another split with their label"
        in message
    )
    assert "tides:test/t7: tides:train/c" in message
    assert hide(allow=("copies",)).giveaways[0].ids == ("tides:test/t7",)


def test_examples_made_from_hidden_ones_are_refused() -> None:
    examples = make_examples(make_inference, range(40))
    child = replace(
        examples[7],
        id="c",
        inputs={"premise": "別", "hypothesis": "もの"},
        origin=Origin(recipe="swap", parents=("tides:test/t7",), gold="inherited"),
    )
    lay(train=(*make_examples(make_inference, range(100, 130)), child), test=examples)
    assert "parents (test) would give labels away: 1 of 40" in refusal()


def test_labels_inherited_from_published_examples_are_refused() -> None:
    examples = make_examples(make_inference, range(40))
    made = Origin(recipe="swap", parents=("jsick:test/33",), gold="inherited")
    lay(test=(replace(examples[0], origin=made), *examples[1:]))
    assert "such as tides:test/t0: jsick:test/33" in refusal()


# Runs


def test_runs_leave_answers_and_no_scores() -> None:
    lay_kind()
    hide()
    request = RunRequest(tasks=(str(OUT),), models=("majority", "char-linear"))
    run(request, RunOptions(out=Path("runs"), workers=1))
    for stored in stored_runs(Path("runs")):
        dev, test = stored.scores()
        assert (dev.set, dev.n, dev.hidden) == ("dev", 12, 0)
        assert (test.set, test.n, test.hidden) == ("test", 0, 40)
        assert all(score.value != score.value for score in test.scores)
        answers = stored.answers_file("test")
        assert len(read_lines(answers)) == 40
        report = api.score(f"{OUT}:test", answers, keys=KEYS).report
        assert (report.n, report.missing) == (40, 0)


def test_runs_answer_where_nothing_but_train_is_labelled() -> None:
    lay_kind()
    hide(splits=("dev", "test"))
    words = (
        "run",
        "--model",
        "majority",
        "--model",
        "char-linear",
        "--tasks",
        OUT,
        "--workers",
        "1",
    )
    status, printed = call(*words)
    assert status == 0, printed
    assert "40 items with hidden labels were answered but not scored" in printed
    for stored in stored_runs(Path("runs")):
        assert len(read_lines(stored.answers_file("test"))) == 40


def test_runs_answer_where_no_split_has_labels() -> None:
    lay_kind()
    hide(splits=("train", "dev", "test"))
    rows = [row for split in ("train", "dev", "test") for row in read_lines(OUT / f"{split}.jsonl")]
    lines = [json.dumps({"id": row["id"], "answer": "neutral"}) + "\n" for row in rows]
    Path("answers.jsonl").write_text("".join(lines))
    status, printed = call(
        "run", "--model", "replay:answers.jsonl", "--tasks", OUT, "--workers", "1"
    )
    assert status == 0, printed
    status, printed = call("run", "--model", "char-linear", "--tasks", OUT, "--workers", "1")
    assert status == 2
    assert "hidden" in printed


def test_a_split_may_go_by_another_name() -> None:
    lay(train=make_examples(make_text, range(100, 130)), valid=make_examples(make_text, range(40)))
    hide(splits=("valid",))
    names = {item.was: item.id for item in read_keys(KEYS).items["valid"].values()}
    answers = write_answers(Path("new.jsonl"), make_text, names)
    after = api.score(f"{OUT}:dev", answers, keys=KEYS).report
    before = api.score("tides:dev", write_answers(Path("old.jsonl"), make_text)).report
    assert after.scores == before.scores
    printed = call("run", "--model", "majority", "--tasks", OUT, "--workers", "1")[1]
    assert "40 items with hidden labels were answered" in printed


def test_published_datasets_are_told_of() -> None:
    status, printed = call("data", "hide", "mini-ja:dev", "--out", OUT, "--keys", KEYS)
    assert status == 0
    assert "mini-ja is a published dataset" in printed
