"""No command shows, counts, compares, copies or confirms a hidden label.

Every command of the command tree is run on datasets whose hidden labels are words and numbers that
occur nowhere else. Nothing it prints or writes may hold one of them: not the terminal, not a
message, not a file, also inside Parquet, SQLite, archives, packed files and packed parts of pages.
A new verb without a case fails `test_every_command_has_a_case`.
"""

from __future__ import annotations

import base64
import gzip
import io
import json
import re
import shutil
import stat
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pytest
import zstandard
from msgspec.structs import replace
from tests.compat.tree import command_tree
from tests.models.lm.checkpoints import save_checkpoint
from typer.testing import CliRunner

import nikawa
from nikawa.cli.terminal.app import build
from nikawa.datasets.load import load
from nikawa.errors import BadInput
from nikawa.io.cards import blank_card
from nikawa.io.folders import write_folder
from nikawa.io.records import write_records
from nikawa.records import Dataset, Example, GoldOrigin, Origin, Span

HIDE = Origin(recipe="owner", gold="hidden")
KINDS: list[GoldOrigin] = ["inherited", "derived", "annotated"]
"""How labels of what was made from others may have come to be."""
LABELS = ("entailment", "contradiction", "neutral")
WORD = "zqx"
"""How every marker that is a word begins."""
NUMBERS = ("3.14159", "2.71828", "1.61803", "4.66920")
"""Scores that are hidden; the papers' figures hold none of them."""
MARKER = re.compile(rb"zqx\w+|" + b"|".join(re.escape(n.encode()) for n in NUMBERS), re.IGNORECASE)


@dataclass(frozen=True)
class Case:
    """A command line, and how it ends."""

    words: str
    status: int | None = 0
    """0, 1 or 2; None where it does not matter."""
    says: str = ""
    """What it must say: part of the message where it refuses."""


def case(words: str, status: int | None = 0, says: str = "") -> Case:
    return Case(words, status, says)


REFUSED = (2, "hidden")

CASES: dict[str, list[Case]] = {
    "data list": [case("data list --json")],
    "data show": [
        *(
            case(f"data show in/{name}{more} --json")
            for name in ("nli", "sts", "reading", "ner", "made", "kids", "nli-test.jsonl", "table")
            for more in ("", " -n 50")
        ),
        case("data show in/nli:test -n 50"),
        case("data show in/nli --id t30 --id t31 --json"),
        case("data show in/kids --id t30"),
        case("data show in/reading"),
        case("data show in/ner"),
        case("data show in/nli --card"),
    ],
    "data check": [
        *(
            case(f"data check in/{name} --json", None)
            for name in ("nli", "sts", "reading", "ner", "kids", "nli-test.jsonl", "table")
        ),
        case("data check in/nli", None),
        case("data check in/nli --accept --reason known", None),
    ],
    "data shift": [
        case("data shift in/nli in/public --json"),
        case("data shift in/public in/nli"),
        case("data shift in/nli:test in/public:test"),
        case("data shift in/sts in/sts --json"),
    ],
    "data card": [case("data card in/copy --say licence=CC0-1.0 --overwrite")],
    # Records are refused: whoever imports a table has all that it holds.
    "data import": [case("data import in/nli-test.jsonl --out imported", 2, "already contains records")],
    "data export": [
        case(f"data export in/{name} --to {form} --out {name}-{form}")
        for name in ("nli", "sts", "reading", "ner", "kids")
        for form in ("jsonl", "parquet", "hf", "croissant")
        if name == "nli" or form == "jsonl"
    ]
    + [case("data export in/copy --to jsonl --out in/copy --overwrite", 2, "would be lost")],
    "data hide": [
        # Which labels a task has is public, and in the notice: here they are no labels.
        case("data hide in/nli --split test --out hid --keys keys.jsonl", *REFUSED),
        case("data hide in/sts --split test --hidden --out hid --keys keys.jsonl"),
        case("data hide in/reading --split test --hidden --out hid2 --keys keys2.jsonl"),
    ],
    "tasks": [case(f"tasks in/{name} --json") for name in ("nli", "sts", "reading", "ner")],
    "split": [
        case("split in/nli --by random --card name=one --out parts --json"),
        case("split in/nli-test.jsonl --by random --sizes 0.5,0.5 --out parts2"),
        case("split in/sts --by random --out parts3"),
        case("split in/ner --by group --out parts4 --sizes 0.5,0.5"),
        case("split in/nli --by group --field topic --sizes 0.5,0.5 --out parts5"),
        case("split in/nli --by balanced --field topic --sizes 0.5,0.5 --out parts6"),
        case("split in/nli --by date --field date --sizes 0.5,0.5 --out parts7 --json"),
        case("split in/agg/examples.jsonl --by random --sizes 0.5,0.5 --out parts8"),
        case("split in/nli --by stratified --json", *REFUSED),
        case("split in/nli-test.jsonl --by stratified --sizes 0.5,0.5", *REFUSED),
        case("split in/nli --by least-artifact", *REFUSED),
        case("split in/sts --by flat --question score", *REFUSED),
        case("split in/ner --by entities", *REFUSED),
        case("split in/copy --by random --out in/copy --overwrite", 2, "would be lost"),
    ],
    "tag": [
        case("tag in/nli --pack none --json"),
        case("tag in/nli --pack none --out tagged"),
        case("tag in/nli-test.jsonl --pack none --out tagged.jsonl"),
        case("tag in/nli-test.jsonl --pack none --out tagged.parquet"),
        case("tag in/kids --pack none --out tagged-kids"),
        case("tag in/kids.jsonl --pack none --out tagged-kids.jsonl.zst"),
        case("tag in/copy.jsonl --pack none --out in/copy.jsonl --overwrite", 2, "would be lost"),
    ],
    "perturb": [
        case("perturb width-full in/nli --out wide --json"),
        case("perturb width-full in/nli-test.jsonl --out wide.jsonl"),
        case("perturb width-full in/kids --out wide-kids"),
        case("perturb width-full in/nli --augment 20 --out more.jsonl"),
    ],
    "pair": [
        case("pair greedy in/nli-test.jsonl --units characters --out pairs.jsonl --json"),
        case("pair same-image in/nli-test.jsonl --out images.jsonl", None),
    ],
    "probe artifacts": [
        case("probe artifacts in/nli --tokeniser characters --json", None),
        case("probe artifacts in/nli:train --tokeniser characters --plot plot.svg", None),
        case("probe artifacts in/nli-test.jsonl --tokeniser characters --json", None),
    ],
    "probe memory": [
        case("probe memory in/nli:test --model lm:tiny --permutations 19 --limit 8 --json"),
    ],
    "probe giveaways": [
        case("probe giveaways in/nli --json", None),
        case("probe giveaways in/nli-test.jsonl", None),
        case("probe giveaways in/sts", None),
    ],
    "score": [
        case("score in/nli:test in/answers.jsonl --json --by gold --by topic --per-item items.jsonl"),
        case("score in/nli:test in/answers.jsonl --confusion"),
        case("score in/sts:test in/numbers.jsonl --json"),
        case("score in/kids in/answers.jsonl --json --partial", None),
        case("score in/nli-test.jsonl in/answers.jsonl", 0, "10 hidden and skipped"),
    ],
    "compare": [
        case("compare a=in/answers.jsonl b=in/others.jsonl --task in/nli --split test --rounds 100 --json"),
        case("compare a=in/answers.jsonl b=in/others.jsonl --task in/nli --split test --rounds 100 --items 5"),
    ],
    "stress": [
        case("stress in/answers.jsonl in/answers.jsonl --task in/nli:test --sets in/kids --resamples 100 --json", None),
    ],
    "run": [
        case("run --model majority --model char-linear --tasks in/nli --out runs --workers 1 --json"),
        case("run --model majority --tasks in/sts --out runs --workers 1"),
        case("run --model majority --tasks in/ner --out runs --workers 1", None),
    ],
    "run start": [case("run start --model majority --tasks in/nli --out runs --workers 1")],
    "run list": [case("run list --out stored --json")],
    "run diff": [case("run diff FIRST SECOND --out stored --json", None)],
    "analyse": [
        case("analyse stored --tokeniser none --resamples 100 --json"),
        case("analyse stored --tokeniser none --resamples 100 --out analyses", None),
    ],
    "report": [case("report stored --out page --rounds 100 --json")],
    "run remove": [case("run remove --out stored --unfinished --json")],
    "agree": [
        case("agree in/nli --question label --resamples 10 --json"),
        case("agree in/nli/judgements.jsonl --question label --resamples 10 --save saved.tsv"),
        case("agree in/votes.jsonl --examples in/nli --question label --by gold --resamples 10", None),
        case("agree in/votes.jsonl --examples in/nli --question label --by note --resamples 10", None),
        case("agree in/votes.jsonl --examples in/nli --save studio.json --form label-studio", None),
    ],
    "recheck": [
        case("recheck in/nli --question label --json", None),
        case("recheck in/nli/judgements.jsonl --question label --out doubtful.jsonl", None),
    ],
    "aggregate": [
        case("aggregate in/votes.jsonl --rule majority --examples in/nli --out gold --json"),
        case("aggregate in/votes.jsonl --rule majority --out gold2"),
        case("aggregate in/nli --rule majority --out gold3 --json"),
        case("aggregate in/nli --workers --json"),
        case("aggregate in/votes.jsonl --workers --known in/nli-test.jsonl --json", *REFUSED),
        case("aggregate in/votes.jsonl --workers --known in/kids.jsonl", *REFUSED),
        case(
            "aggregate in/votes.jsonl --rule majority --exclude accuracy<0.5 --known in/nli-test.jsonl --json",
            *REFUSED,
        ),
        case("aggregate in/votes.jsonl --workers --known in/nli-test.jsonl --pass-mark 0.5", *REFUSED),
    ],
    "lineage": [
        case("lineage test/t30 --in in/nli --json"),
        case("lineage test/t30 --in in/nli"),
        case("lineage train/t1 --in in/nli --json"),
    ],
    "build": [
        case("build --amend in/nli --relabel in/hidden.csv --out amended", *REFUSED),
        case("build --amend in/nli --relabel in/again.jsonl --out amended", *REFUSED),
        case("build --amend in/nli --relabel in/train.csv --runs stored --out amended --json"),
        case("build --amend in/copy --relabel in/train.csv --out in/copy --overwrite", 2, "would be lost"),
    ],
    "collect new": [
        case("collect new project --examples in/nli --form choice -k 2"),
        case("collect new project2 --examples in/nli-test.jsonl --form choice -k 2"),
        case("collect new project3 --examples in/kids --form choice -k 2"),
    ],
    "collect links": [case("collect links begun rin")],
    "collect import": [
        case("collect import begun --examples in/kids.jsonl", None),
        case("collect import begun in/plain-votes.jsonl"),
    ],
    "collect status": [case("collect status begun --json")],
    "collect export": [
        case("collect export begun --out exported.jsonl"),
        case("collect export begun --to label-studio --out exported.json"),
        case("collect export begun --to doccano --out doccano.jsonl", None),
    ],
    "collect backup": [case("collect backup begun --out backup.db")],
    "templates audit": [
        case("templates audit temporal-ja in/made --json", None),
        case("templates audit temporal-ja in/made", None),
    ],
    "templates review": [
        case("templates review in/made --export sheet.tsv -n 6"),
        case("templates review in/made --import sheet-done.tsv --out reviewed", None),
    ],
    "clean": [case("clean in/nli-test.jsonl --min-length 1 --out cleaned.jsonl --removed removed.jsonl", None)],
}  # fmt: skip

NEEDS = {
    "stored": "run --model majority --model char-linear --tasks in/nli --out stored --workers 1",
    "begun": "collect new begun --examples in/nli-test.jsonl --form choice -k 2",
}
"""What cases find, and the command that makes it for the first of them."""

WITHOUT_EXAMPLES = {
    "conformance": "reads a golden file of the official scorers",
    "demo": "reads the embedded data only",
    "reproduce": "reads published datasets only",
    "rank": "reads links between articles",
    "judge": "sends inputs alone to a model; tests/judging searches every request",
    "generate": "makes examples from templates; labels are computed",
    "pretrain": "reads plain text, and of datasets the inputs only",
    "data fetch": "downloads published files",
    "collect serve": "serves what `collect new` wrote, which is searched",
    "collect password": "changes a password",
    "collect rekey": "draws control items again, which hidden items cannot be",
    "collect forms": "lists forms",
    "collect demo": "uses the embedded data",
    "board new": "takes a folder without labels; its key file is copied for the scoring process alone",
    "board serve": "tests/board searches everything that it sends",
    "board scorer": "sends scores to the server alone; tests/board searches what it sends",
    "board status": "counts submissions; it reads no labels",
    "board password": "changes a password",
    "board invite": "makes links",
    "board enter": "reads answers, and judgements for their owner",
    "board backup": "copies the key file for its owner, with mode 0600",
    "board export": "tests/board searches what it writes",
    "board system": "changes the name or state of a system",
    "board submit": "sends answers to a board",
    "board demo": "uses the embedded data",
    "lexicon build": "reads plain text",
    "lexicon show": "reads a lexicon",
    "templates check": "reads templates",
    "templates show": "makes problems from templates",
    "run models": "lists models",
}


def pair(n: int, hidden: bool, **more: Any) -> Example:
    """An inference item; a hidden one has its marker in every place that could repeat the label."""
    secret = f"{WORD}label{n}"
    meta: dict[str, Any] = {
        "topic": "ab"[n % 2],
        "date": f"2020-01-{n % 28 + 1:02}",
        "image": f"i{n // 2}",
    }
    tags = {"long"}
    if hidden:
        meta |= {
            "inherited_label": secret,
            "label_before": secret,
            "note": secret,
            "votes": {secret: 3, f"{WORD}other": 2},
            "mean": 3.14159,
        }
        tags |= {secret, f"gold:{secret}"}
    return Example(
        id=f"t{n}",
        inputs={"premise": f"{n}日に潮が満ちる。", "hypothesis": f"{n}日は潮が{'引く' * (n % 3)}。"},
        gold={"label": secret if hidden else LABELS[n % 3], **({"mean": 3.14159} if hidden else {})},
        meta=meta,
        tags=frozenset(tags),
        group=f"g{n // 2}",
        **({"origin": HIDE} if hidden else {}),
        **more,
    )  # fmt: skip


def write(name: str, **splits: list[Example]) -> Path:
    card = replace(blank_card(name, "ja"), version="1.0", description="潮")
    dataset = Dataset(
        name=name,
        language="ja",
        version="1.0",
        card=card,
        splits={split: tuple(examples) for split, examples in splits.items()},
    )
    write_folder(dataset, Path("in") / name)
    return Path("in") / name


def write_lines(path: str, rows: list[dict[str, Any]]) -> None:
    Path(path).write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")


def write_inputs() -> None:
    """The datasets with hidden labels, and what commands want beside them; all below `in`."""
    test = [pair(n, hidden=n < 40) for n in range(30, 50)]
    train = [pair(n, hidden=False) for n in range(30)]
    nli = write("nli", train=train, dev=[pair(n, hidden=False) for n in range(50, 60)], test=test)
    shutil.copytree(nli, "in/copy")
    write("public", train=train, test=[pair(n, hidden=False) for n in range(30, 50)])
    for suffix in (".jsonl", ".jsonl.gz", ".parquet"):
        write_records(
            Path(f"in/nli-test{suffix}"), [replace(e, meta=strings(e.meta)) for e in test]
        )
    write_records(Path("in/copy.jsonl"), test)
    Path("in/table").mkdir()
    shutil.copy("in/nli-test.parquet", "in/table/test.parquet")
    shutil.copy(nli / "card.json", "in/table/card.json")

    kids = [
        replace(
            e,
            meta={"inherited_label": e.gold["label"]},
            origin=Origin(recipe="x", parents=(f"nli:test/{e.id}",), step="swap-o", gold=gold),
        )
        for e, gold in zip(test, KINDS * 7, strict=False)
    ]
    # What people said of a changed text is its own label; only the parent's is hidden.
    kids = [
        e if e.origin and e.origin.gold == "inherited" else replace(e, gold={"label": "neutral"}, tags=frozenset())
        for e in kids
    ]  # fmt: skip
    write("kids", **{"swap-o": kids})
    write_records(Path("in/kids.jsonl"), kids)

    scores = [
        Example(
            id=f"s{n}",
            inputs={"sentence1": f"{n}の海。", "sentence2": f"{n}の波。"},
            gold={"score": float(NUMBERS[n % 4]) if n >= 30 else float(n % 6)},
            meta={"ratings": [float(NUMBERS[n % 4])]} if n >= 30 else {},
            origin=HIDE if n >= 30 else None,
        )
        for n in range(36)
    ]
    write("sts", train=scores[:24], test=scores[24:])
    reading = [
        Example(
            id=f"r{n}",
            inputs={"context": f"{n}番の船は港にいる。", "question": "どこ？"},
            gold={"answers": [{"text": f"{WORD}answer{n}" if n >= 8 else "港", "start": 5}]},
            origin=HIDE if n >= 8 else None,
        )
        for n in range(12)
    ]
    write("reading", train=reading[:6], test=reading[6:])
    names = [
        Example(
            id=f"n{n}",
            inputs={"text": f"{n:02}の船は港にいる"},
            gold={"spans": [Span(3, 4, f"{WORD}span{n}" if n >= 8 else "SHIP")]},
            group=f"g{n // 2}",
            origin=HIDE if n >= 8 else None,
        )
        for n in range(12)
    ]
    write("ner", train=names[:6], test=names[6:])
    write_lineage_and_votes(nli)
    write_made()

    ids = [f"t{n}" for n in range(30, 50)]
    for name, shift in (("answers", 0), ("others", 1)):
        rows = [{"id": i, "answer": LABELS[(k + shift) % 3]} for k, i in enumerate(ids)]
        write_lines(f"in/{name}.jsonl", rows)
    write_lines("in/numbers.jsonl", [{"id": f"s{n}", "answer": 2.5} for n in range(24, 36)])
    Path("in/hidden.csv").write_text("id,label\nt30,neutral\n")
    write_lines("in/again.jsonl", [{"id": "test/t31", "label": "neutral", "before": "entailment"}])
    Path("in/train.csv").write_text("id,label\nt1,neutral\nt48,neutral\n")


def strings(meta: dict[str, Any]) -> dict[str, Any]:
    """The meta as a table can hold it: in a file with one type a column."""
    return {key: str(value) for key, value in meta.items() if not isinstance(value, dict)}


def write_lineage_and_votes(nli: Path) -> None:
    """What lies beside a dataset that was aggregated: judgements, reasons and lineage, with the labels of hidden items."""
    from nikawa.datasets.lineage import Change, Lineage, Step, write_lineage
    from nikawa.records import Judgement

    marked, votes = [], []
    lineages = []
    for n in range(30, 50):
        secret = f"{WORD}label{n}" if n < 40 else LABELS[n % 3]
        own = [
            Judgement(example=f"nli:test/t{n}", worker=w, question="label", answer=secret)
            for w in ("w1", "w2", "w3")
        ]
        marked += own
        votes += [replace(j, answer=LABELS[(n + k // 2) % 3]) for k, j in enumerate(own)]
        step = Step(stage="aggregate", item=f"t{n}", rule=f"label: majority (3 of 3 said {secret})")
        change = Change(version="1.0", question="label", before="x", after=secret)
        lineages.append(
            Lineage(
                example=f"nli:test/t{n}", item=f"t{n}", split="test", recipe="aggregate", version="1.0",
                nikawa="2", inputs={"premise": "x"}, gold={"label": secret}, tags=(secret,) if n < 40 else (),
                judgements=tuple(own), steps=(step,), changes=(change,),
            )
        )  # fmt: skip
    lineages.append(
        Lineage(
            example="nli:train/t1", item="t1", split="train", recipe="aggregate", version="1.0",
            nikawa="2", inputs={"premise": "x"}, gold={"label": "neutral"},
        )
    )  # fmt: skip
    write_lineage(nli, lineages)
    write_records(nli / "judgements.jsonl", marked)
    write_records(Path("in/votes.jsonl"), votes)
    plain = [replace(j, example=j.example.partition("/")[2]) for j in votes]
    write_records(Path("in/plain-votes.jsonl"), plain)
    folder = Path("in/agg")
    folder.mkdir()
    examples = list(load(str(nli), hidden=True).splits["test"])
    write_records(folder / "examples.jsonl", examples)
    rows = [
        {"example": e.id, "question": "label", "by": "majority", "why": f"3 of 3 said {e.gold['label']}"}
        for e in examples
    ]  # fmt: skip
    write_lines("in/agg/items.jsonl", rows)
    write_records(
        folder / "judgements.jsonl",
        [replace(j, example=j.example.partition("/")[2]) for j in marked],
    )
    rule = {"question": "label", "rule": "majority", "ties": "drop", "items": 20, "accepted": 20}
    summary = {"workers_are": "persons", "workers": 3, "answers": 60, "items": 20, "rules": [rule]}
    (folder / "summary.json").write_text(json.dumps(summary))


def write_made() -> None:
    """Problems made from templates, some of which say another label, which is hidden."""
    told = run("generate temporal-ja -n 1 --seed 1 --split all --out in/full --quiet")
    assert told.exit_code == 0, told.exception
    made = next(iter(load("in/full").splits.values()))[:12]
    examples = [
        replace(e, gold={"label": f"{WORD}made{n}"}, origin=replace(e.origin, gold="hidden"))
        if n % 2 and e.origin
        else e
        for n, e in enumerate(made)
    ]
    write("made", all=list(examples))
    shutil.rmtree("in/full")


def run(words: str) -> Any:
    return CliRunner().invoke(build(), words.split())


def unpacked(data: bytes, name: str) -> Iterator[bytes]:
    """The bytes of a file and of everything that is packed inside it."""
    yield data
    if data[:2] == b"\x1f\x8b":
        yield from unpacked(gzip.decompress(data), name)
    if data[:4] == b"\x28\xb5\x2f\xfd":
        yield from unpacked(zstandard.ZstdDecompressor().decompressobj().decompress(data), name)
    if data[:4] == b"PK\x03\x04":
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            for member in archive.namelist():
                yield from unpacked(archive.read(member), member)
    if data[:4] == b"PAR1":
        import pyarrow.parquet

        yield str(pyarrow.parquet.read_table(io.BytesIO(data)).to_pylist()).encode()
    for part in re.findall(rb"[A-Za-z0-9+/=]{120,}", data):
        try:
            raw = base64.b64decode(part)
        except ValueError:
            continue
        yield raw
        for bits in (31, 15, -15):  # gzip, zlib, and neither's header
            try:
                yield zlib.decompressobj(bits).decompress(raw)
            except zlib.error:
                continue
    if rb"\u" in data:
        yield re.sub(rb"\\u00([0-7][0-9a-f])", lambda m: bytes([int(m[1], 16)]), data)


def snapshot() -> dict[Path, bytes]:
    """Every file below the working folder and what it holds."""
    return {
        path: blake2b(path.read_bytes()).digest()
        for path in Path().rglob("*")
        if path.is_file() and not path.is_symlink()
    }


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder that all commands are run in, one after the other; caches go there too."""
    folder = tmp_path_factory.mktemp("hidden")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for name in ("HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "TMPDIR"):
            (folder / "home").mkdir(exist_ok=True)
            patch.setenv(name, str(folder / "home"))
        Path("in").mkdir()
        write_inputs()
        yield folder


def test_every_command_has_a_case() -> None:
    """A verb that is new tells here whether it reads examples; if it does, a case shows that it keeps labels."""
    offered = {words.removeprefix("nikawa").strip() for words in command_tree()}
    groups = {name for name in offered if any(other.startswith(f"{name} ") for other in offered)}
    verbs = offered - groups - {""} | {"run"}
    assert verbs - {*CASES, *WITHOUT_EXAMPLES} == set()
    assert {*CASES, *WITHOUT_EXAMPLES} - verbs == set()


@pytest.mark.parametrize("verb", CASES)
def test_no_output_holds_a_hidden_label(place: Path, verb: str) -> None:
    assert Path.cwd() == place
    for each in CASES[verb]:
        words = each.words
        for name, making in NEEDS.items():
            if name in words.split() and not Path(name).exists():
                assert run(making).exit_code == 0
        if "lm:tiny" in words:
            pytest.importorskip("torch")
            save_checkpoint(Path("tiny"))
        if "FIRST" in words:
            first, second = sorted(
                path.name.rpartition("--")[2] for path in Path("stored").glob("*--*")
            )[:2]
            words = words.replace("FIRST", first).replace("SECOND", second)
        if "sheet-done" in words:
            sheet = Path("sheet.tsv").read_text("utf-8").splitlines()
            rows = [
                sheet[0],
                *("\t".join([*line.split("\t")[:4], "keep", ""]) for line in sheet[1:]),
            ]
            Path("sheet-done.tsv").write_text("\n".join(rows) + "\n", "utf-8")
        before = snapshot()
        told = run(words)
        status = 2 if isinstance(told.exception, BadInput) else told.exit_code
        said = f"{told.output}\n{told.stderr}\n{told.exception}"
        assert told.exception is None or isinstance(told.exception, BadInput | SystemExit), (
            words,
            told.exc_info,
        )
        assert not MARKER.search(said.encode()), (words, said)
        if each.status is not None:
            assert status == each.status, (words, said)
        assert each.says in said, (words, said)
        written = [path for path, digest in snapshot().items() if before.get(path) != digest]
        for path in written:
            if path.name.startswith("keys"):  # the file of whoever holds the labels
                assert stat.S_IMODE(path.stat().st_mode) == 0o600
                continue
            for data in unpacked(path.read_bytes(), path.name):
                found = MARKER.search(data)
                assert not found, (words, path, found)


def test_a_right_guess_of_a_hidden_label_is_answered_like_a_wrong_one(place: Path) -> None:
    answers = set()
    for guess in (f"{WORD}label30", f"{WORD}label31", "neutral"):
        Path("guess.csv").write_text(f"id,label\ntest/t30,{guess}\n")
        told = run("build --amend in/nli --relabel guess.csv --out guessed")
        assert isinstance(told.exception, BadInput)
        answers.add(str(told.exception).replace(guess, ""))
    assert len(answers) == 1


def test_a_control_item_may_not_be_hidden(place: Path) -> None:
    assert run("collect new controlled --examples in/public --form choice -k 2").exit_code == 0
    secret = load("in/nli", hidden=True).splits["test"][0]
    write_records(
        Path("controlled/gold.jsonl"), [replace(secret, gold={"label": "neutral"})], overwrite=True
    )
    told = run("collect status controlled")
    assert isinstance(told.exception, BadInput)
    assert "its label is hidden" in str(told.exception)


HOLDERS = {
    "split": "split in/nli --by stratified --question label --sizes 0.5,0.5 --out held-split --hidden",
    "split aggregated": "split in/agg/examples.jsonl --by random --sizes 0.5,0.5 --out held-agg --hidden",
    "tag folder": "tag in/nli --pack none --out held-tags --hidden",
    "tag file": "tag in/nli-test.jsonl --pack none --out held.jsonl --hidden",
    "aggregate": "aggregate in/votes.jsonl --rule x=majority --question label --examples in/nli --out held-gold --hidden",
    "score": "score in/nli:test in/answers.jsonl --hidden --per-item held-items.jsonl",
}


@pytest.mark.parametrize("name", HOLDERS)
def test_who_holds_the_labels_gets_them_in_private_files(place: Path, name: str) -> None:
    before = snapshot()
    told = run(HOLDERS[name])
    assert told.exit_code == 0, told.exception
    written = [path for path in snapshot() if path not in before]
    # The detail of a score says which answers are right, not the label.
    assert name == "score" or any(MARKER.search(path.read_bytes()) for path in written)
    for path in written:
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path
        if path.parent != Path():
            assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700, path
    for path in written:  # and what they hold is hidden still
        if path.name in ("train.jsonl", "test.jsonl", "examples.jsonl", "held.jsonl"):
            for line in path.read_text("utf-8").splitlines():
                assert (WORD in line) <= ('"gold":"hidden"' in line), line


def test_aggregate_uses_hidden_labels_of_whoever_holds_them(place: Path) -> None:
    words = "aggregate in/plain-votes.jsonl --workers --known in/nli-test.jsonl --json"
    told = run(f"{words} --hidden")
    assert told.exit_code == 0, told.exception
    assert {worker["gold_items"] for worker in json.loads(told.stdout)["workers"]} == {20}
    assert isinstance(run(words).exception, BadInput)


def test_in_python_labels_come_only_when_asked_for(place: Path) -> None:
    removed, held = nikawa.load("in/nli:test"), nikawa.load("in/nli:test", hidden=True)
    assert not MARKER.search(repr(removed).encode())
    assert [e.id for e in removed.splits["test"]] == [e.id for e in held.splits["test"]]
    assert [e.hidden for e in removed.splits["test"]] == [n < 10 for n in range(20)]
    assert [e.gold for e in removed.splits["test"][10:]] == [
        e.gold for e in held.splits["test"][10:]
    ]
    assert held.splits["test"][0].gold["label"] == f"{WORD}label30"
    assert {*removed.splits["test"][0].meta} == {"topic", "date", "image"}
    assert removed.splits["test"][0].tags == {"long"}


def test_a_stream_hides_what_a_whole_dataset_hides(place: Path) -> None:
    from nikawa.datasets.load import open_file
    from nikawa.datasets.stream import open_shard_files

    for name in ("in/nli-test.jsonl", "in/nli-test.parquet", "in/kids.jsonl"):
        for hidden in (False, True):
            (whole,) = load(name, hidden=hidden).splits.values()
            assert tuple(open_file(Path(name), hidden=hidden)) == whole
    for name in ("in/nli", "in/kids.jsonl"):
        for hidden in (False, True):
            dataset = load(name, hidden=hidden)
            source = open_shard_files(name, hidden=hidden)
            read = [(file.split, example) for file in source.files for example in source.read(file)]
            pairs = [(split, example) for split in dataset.splits for example in dataset[split]]
            assert read == list(source.read_all()) == pairs


def test_only_few_modules_read_labels_as_they_are() -> None:
    """`read_examples` keeps hidden labels: whatever else opens examples does so by `load`, `open_file` or `open_stream`."""
    root = Path(nikawa.__path__[0])
    may = {
        "io/records.py", "io/folders.py", "datasets/load.py", "datasets/stream.py",
        "datasets/card.py",  # the language of a split, by its texts
        "recipes/store.py", "recipes/klue/taggers.py",  # items of a build in progress; its training data
        "collect/items.py", "collect/export.py", "collect/job.py",  # what `collect new` wrote without labels
    }  # fmt: skip
    reads = {
        str(path.relative_to(root))
        for path in root.rglob("*.py")
        if re.search(r"\bread_examples\(", path.read_text("utf-8"))
    }
    assert reads <= may


def test_a_review_of_a_pack_refuses_hidden_labels(tmp_path: Path) -> None:
    from nikawa.generation.review_sample import review_pack, write_sample

    write_sample("comparative-ja", tmp_path, n=2)
    rows = [
        json.loads(line) for line in (tmp_path / "sample.jsonl").read_text("utf-8").splitlines()
    ]
    hidden = [row | {"origin": {"recipe": "x", "gold": "hidden"}} for row in rows]
    (tmp_path / "hidden.jsonl").write_text("\n".join(map(json.dumps, hidden)), "utf-8")
    for name in ("hidden.jsonl", "items.jsonl"):
        with pytest.raises(BadInput, match="has no label, or its label is hidden"):
            review_pack("comparative-ja", tmp_path / name, [], out=tmp_path / "out")
    assert not (tmp_path / "out").exists()
