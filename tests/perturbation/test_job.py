from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from nikawa.cli.terminal.app import build
from nikawa.datasets import load
from nikawa.errors import BadInput
from nikawa.io.records import read_examples, write_records
from nikawa.perturbation.job import PerturbOptions, perturb
from nikawa.records import Example

LABELS = ("entailment", "contradiction", "neutral")
ANIMALS = ("狐", "狸", "熊", "猿", "兎", "鹿", "亀", "鶴", "猫", "犬", "馬", "牛")


def pairs() -> list[Example]:
    """Twenty-four pairs: half with を, half with で; two that nothing can be done to."""
    made = [
        Example(
            id=f"{case}{i}",
            inputs={
                "premise": f"{animal}が{place}{case}{verb}",
                "hypothesis": f"{animal}が笛を吹く。",
            },
            gold={"label": LABELS[i % 3], "relatedness": 3.0},
        )
        for case, place, verb in (("を", "赤い帽子", "洗った。"), ("で", "広い庭", "眠っている。"))
        for i, animal in enumerate(ANIMALS)
    ]
    idle = [
        Example(
            id=f"idle{i}",
            inputs={"premise": "眠い", "hypothesis": "暗い"},
            gold={"label": "neutral"},
        )
        for i in (1, 2)
    ]
    return made + idle


@pytest.fixture
def zoo(tmp_path: Path) -> Path:
    path = tmp_path / "zoo.train.jsonl"
    write_records(path, pairs())
    return path


def test_one_operation_to_one_file(zoo: Path, tmp_path: Path) -> None:
    out = tmp_path / "swapped.jsonl"
    report = perturb("swap", str(zoo), options=PerturbOptions(cases=("o",), out=out))
    (done,) = report.operations
    assert (done.operation, done.effect, report.written) == ("swap-o", "neutral", 12)
    assert (done.examples, done.eligible, done.rewritten, done.skipped) == (26, 12, 12, 14)
    assert done.samples[0].after == "狐を赤い帽子が洗った。"
    _, *lines = repr(report).splitlines()
    assert lines[0].split() == [
        "operation",
        "effect",
        "examples",
        "eligible",
        "rewritten",
        "skipped",
    ]
    reasons = lines[lines.index(next(line for line in lines if "reason" in line)) :]
    assert len(reasons) == len(done.reasons) + 1
    assert report.to_pandas("reasons")["examples"].sum() == 14
    children = list(read_examples(out))
    assert [child.id for child in children] == [f"を{i}" for i in range(12)]
    assert children[0].origin is not None
    assert children[0].origin.parents == ("zoo:train/を0",)


def test_a_folder_has_a_split_an_operation(zoo: Path, tmp_path: Path) -> None:
    report = perturb("particles,width-half", str(zoo), options=PerturbOptions(out=tmp_path / "out"))
    made = load(str(tmp_path / "out"))
    assert set(made.splits) == {
        f"{family}-{case}" for family in ("scramble", "swap", "delete") for case in ("o", "de")
    } | {"width-half"}
    assert report.written == len(made)
    assert (made.name, made.language) == ("zoo-perturbed", "ja")


def test_several_splits_are_kept_apart(tmp_path: Path) -> None:
    perturb("width-half", "mini-ja", options=PerturbOptions(out=tmp_path / "out"))
    assert set(load(str(tmp_path / "out")).splits) == {
        f"{split}-width-half" for split in ("train", "dev", "test")
    }


def test_without_out_nothing_is_written(zoo: Path, tmp_path: Path) -> None:
    report = perturb("scramble-de", str(zoo))
    assert (report.written, report.out, report.operations[0].rewritten) == (0, None, 12)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["zoo.train.jsonl"]


def test_assume_eligible_rewrites_all_it_can(tmp_path: Path) -> None:
    path = tmp_path / "odd.jsonl"
    texts = ("狐が笑いながら笛を吹く。", "狐が眠る。")
    write_records(path, [Example(id=str(i), inputs={"premise": t}) for i, t in enumerate(texts)])
    careful, bold = (
        perturb("delete-o", str(path), options=PerturbOptions(assume_eligible=assume)).operations[0]
        for assume in (False, True)
    )
    assert (careful.eligible, careful.rewritten) == (0, 0)
    assert (bold.eligible, bold.rewritten, bold.skipped) == (2, 1, 1)


REASONS = {
    "여우는 2000년에 곰을 만났다.": "a time or another adverbial, no argument",
    "여우가 여우에게 말했다.": "the same noun twice",
    "여우가 잔다.": "no subject with the case at once after it",
}


def test_it_is_told_why_examples_are_skipped(tmp_path: Path) -> None:
    path = tmp_path / "ko.jsonl"
    texts = [*REASONS, "여우가 산에 갔다."]
    write_records(path, [Example(id=str(i), inputs={"premise": t}) for i, t in enumerate(texts)])
    (done,) = perturb("swap-e", str(path)).operations
    assert (done.eligible, done.skipped) == (1, 3)
    assert done.reasons == dict.fromkeys(REASONS.values(), 1)
    said = CliRunner().invoke(build(), ["perturb", "swap-e", str(path)]).stdout
    assert all(reason in said for reason in REASONS.values())


@pytest.mark.parametrize("operation", ["swap-o", "polite"])
def test_skipped_and_reasons_add_up(zoo: Path, operation: str) -> None:
    for assume in (False, True):
        for inputs in ((), ("hypothesis",)):
            how = PerturbOptions(assume_eligible=assume, inputs=inputs)
            (done,) = perturb(operation, str(zoo), options=how).operations
            assert sum(done.reasons.values()) == done.skipped == done.examples - done.rewritten


@pytest.mark.parametrize("out", ["out.jsonl", "folder"])
@pytest.mark.parametrize("assume", [False, True])
def test_nothing_is_written_where_nothing_was_rewritten(
    tmp_path: Path, out: str, assume: bool
) -> None:
    path = tmp_path / "ner.jsonl"
    spans = {"spans": [{"start": 0, "end": 1, "label": "animal"}]}
    write_records(path, [Example(id="1", inputs={"text": "狐が笛を吹く。"}, gold=spans)])
    said = "are not there" if assume else "no text that nothing points into"
    with pytest.raises(BadInput, match=rf"nothing was rewritten: .*{said} \(1 of 1\)"):
        perturb(
            "swap-o", str(path), options=PerturbOptions(out=tmp_path / out, assume_eligible=assume)
        )
    assert not (tmp_path / out).exists()


def test_inputs_can_be_named(zoo: Path, tmp_path: Path) -> None:
    out = tmp_path / "h.jsonl"
    perturb("swap-o", str(zoo), options=PerturbOptions(inputs=("hypothesis", "premise"), out=out))
    first, *_, last = read_examples(out)
    assert first.inputs == {"premise": "狐を赤い帽子が洗った。", "hypothesis": "狐を笛が吹く。"}
    assert last.inputs == {"premise": "牛が広い庭で眠っている。", "hypothesis": "牛を笛が吹く。"}
    assert last.meta["changed_inputs"] == "hypothesis"


def test_an_input_that_only_a_later_example_has_will_do(tmp_path: Path) -> None:
    path = tmp_path / "odd.jsonl"
    write_records(
        path,
        [Example(id=n, inputs={n: "狐が笛を吹く。", "note": "狐"}) for n in ("text", "premise")],
    )
    report = perturb("swap-o", str(path), options=PerturbOptions(inputs=("premise",)))
    assert report.operations[0].rewritten == 1


@pytest.mark.parametrize("case", ["o", "eul"])
def test_a_case_serves_both_languages(case: str) -> None:
    names = [
        perturb("scramble", name, options=PerturbOptions(cases=(case,), split="dev"))
        .operations[0]
        .operation
        for name in ("mini-ja", "mini-ko")
    ]
    assert names == ["scramble-o", "scramble-eul"]


def test_the_same_bytes_again_in_any_order(zoo: Path, tmp_path: Path) -> None:
    turned = tmp_path / "turned" / "zoo.train.jsonl"
    write_records(turned, pairs()[::-1])
    for source, name in ((zoo, "a"), (zoo, "b"), (turned, "c")):
        perturb(
            "particles",
            str(source),
            options=PerturbOptions(augment=5, out=tmp_path / f"{name}.jsonl"),
        )
    a, b, c = ((tmp_path / f"{name}.jsonl").read_bytes() for name in "abc")
    assert a == b
    assert sorted(a.splitlines()) == sorted(c.splitlines())


class TestAugment:
    """Training additions."""

    @pytest.fixture
    def drawn(self, zoo: Path, tmp_path: Path) -> Callable[..., list[Example]]:
        def run(**how: object) -> list[Example]:
            out = tmp_path / "added.jsonl"
            options = PerturbOptions(augment=8, out=out, overwrite=True, **how)  # type: ignore[arg-type]
            perturb("particles", str(zoo), options=options)
            return list(read_examples(out))

        return run

    def test_so_many_of_each_kind(self, drawn: Callable[..., list[Example]]) -> None:
        added = drawn()
        kinds = Counter(e.id.partition("~")[2].partition("-")[0] for e in added)
        assert kinds == {"scramble": 8, "swap": 8, "delete": 8}
        assert len({e.id for e in added}) == 24
        assert {e.origin.gold for e in added if e.origin} == {"derived"}

    def test_scrambled_keep_their_gold_others_draw_a_label(
        self, drawn: Callable[..., list[Example]]
    ) -> None:
        added = drawn()
        for example in added:
            kept = {"label": example.meta["inherited_label"], "relatedness": 3.0}
            assert (
                example.gold == kept if "scramble" in example.id else set(example.gold) == {"label"}
            )
        changed = [e for e in added if "scramble" not in e.id]
        assert {e.gold["label"] for e in changed} == set(LABELS)
        assert any(e.gold["label"] != e.meta["inherited_label"] for e in changed)

    def test_neutral_is_the_sensible_label(self, drawn: Callable[..., list[Example]]) -> None:
        added = drawn(augment_gold="neutral")
        assert {e.gold["label"] for e in added if "scramble" not in e.id} == {"neutral"}

    def test_a_similarity_score_is_no_label(self, zoo: Path, tmp_path: Path) -> None:
        scored = [
            Example(
                id=f"sts{i}",
                inputs={"sentence1": f"{a}が笛を吹く。", "sentence2": "笛"},
                gold={"score": 3.8},
            )
            for i, a in enumerate(ANIMALS)
        ]
        mixed, out = tmp_path / "mixed.jsonl", tmp_path / "added.jsonl"
        write_records(mixed, [*pairs(), *scored])
        perturb("particles", str(mixed), options=PerturbOptions(augment=20, out=out))
        added = list(read_examples(out))
        unlabelled = {e.id for e in added if "label" not in e.gold}
        assert Counter(e.id.partition("~")[2].partition("-")[0] for e in added).total() == 60
        assert unlabelled
        assert all(name.startswith("sts") and "~scramble" in name for name in unlabelled)
        assert not [e.id for e in added if "score" not in e.gold and e.id.startswith("sts")]

    def test_scores_alone_are_refused(self, tmp_path: Path) -> None:
        path = tmp_path / "sts.jsonl"
        inputs = {"sentence1": "狐が笛を吹く。", "sentence2": "笛"}
        write_records(path, [Example(id="1", inputs=inputs, gold={"score": 3.8})])
        with pytest.raises(BadInput, match="no label that could be redrawn"):
            perturb(
                "swap-o", str(path), options=PerturbOptions(augment=1, out=tmp_path / "x.jsonl")
            )

    def test_another_seed_draws_others(self, drawn: Callable[..., list[Example]]) -> None:
        assert {e.id for e in drawn(seed=1)} != {e.id for e in drawn()}

    def test_too_few_are_said(self, zoo: Path) -> None:
        with pytest.raises(BadInput, match="300 additions of scramble are asked for, 24 examples"):
            perturb(
                "particles",
                str(zoo),
                options=PerturbOptions(augment=300, out=zoo.with_name("x.jsonl")),
            )

    def test_without_out_it_counts_and_refuses_as_with_it(self, zoo: Path) -> None:
        out = zoo.with_name("x.jsonl")
        written = perturb("particles", str(zoo), options=PerturbOptions(augment=8, out=out))
        alone = perturb("particles", str(zoo), options=PerturbOptions(augment=8))
        assert alone.operations == written.operations
        assert all(operation.examples for operation in alone.operations)
        assert (alone.written, alone.out) == (0, None)
        with pytest.raises(BadInput, match="300 additions of scramble are asked for, 24 examples"):
            perturb("particles", str(zoo), options=PerturbOptions(augment=300))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("swop", "ZOO"), "did you mean 'swap'"),
        (("swap", "ZOO", "--case", "x"), "there is no case of swap 'x'; known: de, ni, o"),
        (("width-full", "ZOO", "--case", "o"), "'width-full' has no case"),
        (("swap", "ZOO", "--out", "OUT.jsonl"), "3 operations do not fit into one file"),
        (("swap-o", "ZOO", "--out", "ZOO"), "already exists"),
        (("swap-o", "mini-ja", "--out", "OUT.jsonl", "--split", "tset"), "did you mean 'test'"),
        (("swap-o", "mini-ja:dev", "--split", "test"), "name different splits"),
        (("spacing-add", "ZOO"), "there is no perturbation 'spacing-add'"),
        (("swap",), "the dataset is missing"),
        (
            ("swap-o", "ZOO", "--input", "nope", "--out", "OUT.jsonl"),
            "there is no text input 'nope'; known: hypothesis, premise",
        ),
        (
            ("swap-o", "ZOO", "--input", "premise", "--input", "premis", "--out", "OUT.jsonl"),
            "did you mean 'premise'",
        ),
        (("delete-de", "ZOO", "--augment", "3", "--out", "folder"), "is no records file"),
    ],
)
def test_bad_input_is_told_in_one_line(
    words: tuple[str, ...], said: str, zoo: Path, tmp_path: Path
) -> None:
    places = {
        "ZOO": str(zoo),
        "OUT.jsonl": str(tmp_path / "out.jsonl"),
        "folder": str(tmp_path / "folder"),
    }
    done = CliRunner().invoke(build(), ["perturb", *(places.get(word, word) for word in words)])
    assert isinstance(done.exception, BadInput)
    assert said in str(done.exception)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["zoo.train.jsonl"]


def test_command_line(zoo: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    words = ["perturb", "scramble", "--case", "o", str(zoo), "--out", str(out)]
    done = CliRunner().invoke(build(), words)
    assert done.exit_code == 0
    assert "赤い帽子を狐が洗った。" in done.stdout
    assert "12 examples written" in done.stdout
    told = json.loads(CliRunner().invoke(build(), [*words, "--overwrite", "--json"]).stdout)
    assert told["operations"][0]["rewritten"] == told["written"] == 12
    assert CliRunner().invoke(build(), [*words, "--overwrite", "--quiet"]).stdout == ""


def test_the_list_of_operations() -> None:
    assert "jamo-compatibility" in CliRunner().invoke(build(), ["perturb"]).stdout
    listed = json.loads(CliRunner().invoke(build(), ["perturb", "--json"]).stdout)
    assert {"name", "language", "effect", "title", "inputs", "analysers"} == set(listed[0])


@pytest.mark.slow
def test_the_paper_s_additions(shared_data: Path, tmp_path: Path) -> None:
    out = tmp_path / "added.jsonl"
    report = perturb(
        "particles", "jsick:train", data=shared_data, options=PerturbOptions(augment=300, out=out)
    )
    assert report.written == 900
    assert all(
        e.origin is not None and e.origin.parents[0].startswith("jsick:train/")
        for e in read_examples(out)
    )


def test_a_rewrite_has_its_confidence(tmp_path: Path) -> None:
    path, out = tmp_path / "topics.jsonl", tmp_path / "out.jsonl"
    texts = ("狐が森で歌った。", "狐は森で本を読んだ。", "狐は森で読んだ。", "本は森で読んだ。")
    write_records(path, [Example(id=str(i), inputs={"premise": t}) for i, t in enumerate(texts)])
    report = perturb("swap-de", str(path), options=PerturbOptions(out=out)).operations[0]
    confidences = {child.id: child.meta["confidence"] for child in read_examples(out)}
    assert list(confidences) == ["0", "1", "2"]
    assert confidences["2"] < confidences["0"] <= 1
    assert report.min_confidence == 0.5
    assert report.samples[0].confidence == confidences["0"]
    assert report.reasons == {"the topic may be the object of the predicate": 1}


@pytest.mark.parametrize(("threshold", "rewritten"), [(0.0, 3), (0.5, 2), (0.9, 1), (1.0, 0)])
def test_texts_below_the_threshold_are_refused(
    tmp_path: Path, threshold: float, rewritten: int
) -> None:
    path = tmp_path / "topics.jsonl"
    texts = ("狐が森で歌った。", "狐は森で読んだ。", "本は森で読んだ。")
    write_records(path, [Example(id=str(i), inputs={"premise": t}) for i, t in enumerate(texts)])
    options = PerturbOptions(min_confidence=threshold)
    report = perturb("swap-de", str(path), options=options).operations[0]
    assert report.rewritten == rewritten
    assert sum(report.reasons.values()) == 3 - rewritten


def test_confidence_of_chosen_inputs(tmp_path: Path) -> None:
    path, out = tmp_path / "two.jsonl", tmp_path / "out.jsonl"
    inputs = {"premise": "狐が森で歌った。", "hypothesis": "狐は森で読んだ。"}
    write_records(path, [Example(id="1", inputs=inputs)])
    options = PerturbOptions(inputs=("premise", "hypothesis"), out=out)
    perturb("swap-de", str(path), options=options)
    child = next(iter(read_examples(out)))
    assert child.inputs == {"premise": "狐で森が歌った。", "hypothesis": "狐で森が読んだ。"}
    assert child.meta["confidence"] < 0.9


def test_a_confidence_outside_0_and_1_and_an_unknown_parser_are_refused(zoo: Path) -> None:
    with pytest.raises(BadInput, match=r"1\.5 is not between 0 and 1"):
        perturb("swap-o", str(zoo), options=PerturbOptions(min_confidence=1.5))
    with pytest.raises(BadInput, match="'stanza' is not a parser for ja; known: ginza"):
        perturb("swap-o", str(zoo), options=PerturbOptions(parser="stanza"))
