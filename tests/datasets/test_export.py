"""What we export, others read: `datasets` and `mlcroissant` load it offline, and it is what we gave them."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec
import pytest

from nikawa.datasets.export import FORMATS, export, files_in
from nikawa.datasets.export_croissant import licence_url
from nikawa.datasets.export_hf import column_names, lay_out, licence_tag, size_tag
from nikawa.datasets.load import load
from nikawa.datasets.locate import files_here
from nikawa.datasets.names import benchmarks
from nikawa.errors import BadInput, MissingData, UnknownName
from nikawa.io.folders import read_folder, write_folder
from nikawa.records import Card, Dataset, Example, Kind, Span, Task

Load = Callable[[Path], Any]

CARD = Card(
    name="bridges",
    title='Bridges: "an" invented set',
    version="1.2",
    languages=("ja", "ko"),
    licence="CC BY-SA 4.0",
    citation="Nobody (2020). Bridges.",
    homepage="https://example.org/bridges",
    description="Sentences about bridges.",
    labels="by rule",
    workers="none",
    workers_are="none",
    source="invented",
    problems=("It is small.", "a: b"),
)

WORDS = [
    {"form": "다리는", "lemma": "다리 는", "pos": "NNG+JX"},
    {"form": "길다", "lemma": "길 다", "pos": "VA+EF"},
]
SHAPES: dict[Kind, tuple[dict[str, Any], dict[str, Any]]] = {
    "text": ({"text": "橋は\t青い"}, {"label": "positive"}),
    "inference": ({"premise": "橋は青い", "hypothesis": "橋がある"}, {"label": "entailment"}),
    "similarity": ({"sentence1": "橋は青い", "sentence2": "青い橋"}, {"score": 4.2}),
    "choice": ({"question": "渡るものは?", "choices": ["橋", "魚"]}, {"choice": 0}),
    "reading": (
        {"title": "橋", "context": "橋は青い。", "question": "何色?"},
        {"answers": [{"text": "青", "start": 2}]},
    ),
    "tagging": ({"text": "石橋市"}, {"spans": [Span(0, 3, "LC")]}),
    "relation": (
        {"text": "石橋市", "subject": Span(0, 2, "PER"), "object": Span(2, 3, "LOC")},
        {"relation": "none"},
    ),
    "tree": (
        {"text": "다리는 길다", "words": WORDS},
        {"tree": {"heads": [2, 0], "labels": ["NP_SBJ", "VP"]}},
    ),
    "dialogue": ({"turns": [{"role": "user", "text": "橋は?"}]}, {"state": ["bridge-colour-blue"]}),
}


def dataset(kind: Kind) -> Dataset:
    """Three splits: one with tags and meta, one bare, one whose gold is hidden."""
    inputs, gold = SHAPES[kind]
    train = (
        Example(
            id="1",
            inputs=inputs,
            gold=gold,
            tags=frozenset({"b", "a"}),
            meta={"n": 3, "odd": "x"},
            group="g",
        ),
        Example(id="2", inputs=inputs, gold=gold, meta={"n": 4, "odd": [1]}),
    )
    splits: dict[str, tuple[Example, ...]] = {
        "train": train,
        "dev": (Example(id="1", inputs=inputs, gold=gold),),
        "template-easy": (Example(id="x y", inputs=inputs),),
    }
    return Dataset(name="bridges", language="ja", version="1.2", card=CARD, splits=splits)


def task(kind: Kind) -> Task:
    inputs, gold = SHAPES[kind]
    return Task(
        name="t",
        dataset="bridges",
        kind=kind,
        question=next(iter(gold)),
        inputs=tuple(inputs),
        metrics=(),
    )


@pytest.fixture
def offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No network, no cache outside the test."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_DATASETS_OFFLINE", "1")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))


@contextlib.contextmanager
def foreign_warnings() -> Iterator[None]:
    """The libraries under test warn about themselves (deprecations, open files); that is not ours to fail on."""
    with warnings.catch_warnings():
        for kind in (DeprecationWarning, FutureWarning, ResourceWarning, PendingDeprecationWarning):
            warnings.simplefilter("ignore", kind)
        yield


@pytest.fixture
def load_hf(tmp_path: Path, offline: None) -> Load:
    def loaded(folder: Path) -> Any:
        with foreign_warnings():
            import datasets

            datasets.disable_progress_bars()
            return datasets.load_dataset(str(folder), cache_dir=str(tmp_path / "cache"))

    return loaded


@pytest.fixture
def load_croissant() -> Load:
    def loaded(folder: Path) -> Any:
        with foreign_warnings():
            import mlcroissant

            opened = mlcroissant.Dataset(jsonld=folder / "croissant.json")
            assert not opened.metadata.ctx.issues.errors
            splits = [record_set.id for record_set in opened.metadata.record_sets]
            return {split: list(islice(opened.records(split), 300)) for split in splits}

    return loaded


def plain(value: Any) -> Any:
    """A Croissant value without the paths and bytes it comes in."""
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, dict):
        return {key.rpartition("/")[2]: plain(part) for key, part in value.items()}
    return [plain(part) for part in value] if isinstance(value, list) else value


@pytest.mark.slow
@pytest.mark.parametrize("kind", list(SHAPES))
def test_hugging_face_loads_it(tmp_path: Path, kind: Kind, load_hf: Load) -> None:
    given = dataset(kind)
    export(given, [task(kind)], "hf", tmp_path / "out")
    back = load_hf(tmp_path / "out")
    assert list(back) == ["train", "validation", "template_easy"]
    layout = lay_out(given)
    for split, rows in layout.rows.items():
        names = [column.name for column in layout.columns]
        wanted = [{**dict.fromkeys(names), **row} for row in rows]
        for row in wanted:
            row["meta_odd"] = None if row["meta_odd"] is None else json.dumps(row["meta_odd"])
        assert back[split].to_list() == wanted


@pytest.mark.slow
@pytest.mark.parametrize("kind", list(SHAPES))
def test_croissant_reads_it(tmp_path: Path, kind: Kind, load_croissant: Load) -> None:
    given = dataset(kind)
    export(given, [task(kind)], "croissant", tmp_path / "out")
    back = load_croissant(tmp_path / "out")
    assert {split: len(rows) for split, rows in back.items()} == {
        "train": 2,
        "validation": 1,
        "template_easy": 1,
    }
    (wanted, *_), (found, *_) = lay_out(given).rows["train"], plain(back["train"])
    wanted["meta_odd"] = json.dumps(wanted["meta_odd"])
    assert found == wanted


def test_hashes_are_those_of_the_files(tmp_path: Path) -> None:
    export(dataset("text"), [task("text")], "croissant", tmp_path / "out")
    described = json.loads((tmp_path / "out" / "croissant.json").read_text("utf-8"))
    assert len(described["distribution"]) == 3
    for entry in described["distribution"]:
        data = (tmp_path / "out" / entry["contentUrl"]).read_bytes()
        assert entry["sha256"] == hashlib.sha256(data).hexdigest()
    assert described["license"] == "https://creativecommons.org/licenses/by-sa/4.0/"
    assert described["version"] == "1.2.0"


def test_dataset_card(tmp_path: Path) -> None:
    import yaml  # comes with datasets

    export(dataset("inference"), [task("inference")], "hf", tmp_path / "out")
    _, front, body = (tmp_path / "out" / "README.md").read_text("utf-8").split("---\n", 2)
    said = yaml.safe_load(front)
    assert said["license"] == "cc-by-sa-4.0"
    assert said["language"] == ["ja", "ko"]
    assert said["pretty_name"] == CARD.title
    assert said["task_categories"] == ["text-classification"]
    assert said["size_categories"] == ["n<1K"]
    assert said["configs"][0]["data_files"][1] == {
        "split": "validation",
        "path": "data/validation.parquet",
    }
    for words in (
        CARD.labels,
        CARD.citation,
        "- It is small.",
        "| validation | 1 | dev |",
        "| label | text | gold.label |",
    ):
        assert words in body


def test_the_paper_of_a_recipe_is_not_the_citation_of_what_it_made(tmp_path: Path) -> None:
    card = msgspec.structs.replace(CARD, homepage="made here: nikawa build klue-ner")
    export(
        msgspec.structs.replace(dataset("text"), card=card),
        [task("text")],
        "croissant",
        tmp_path / "out",
    )
    body = (tmp_path / "out" / "README.md").read_text("utf-8")
    assert "## Citation" not in body
    told = f"bridges 1.2, made by the procedure of: {CARD.citation}"
    assert told in body.partition("## Procedure")[2]
    assert told in json.loads((tmp_path / "out" / "croissant.json").read_text("utf-8"))["citeAs"]


@pytest.mark.parametrize("to", ["jsonl", "parquet"])
@pytest.mark.parametrize("kind", list(SHAPES))
def test_our_own_formats_come_back_the_same(tmp_path: Path, kind: Kind, to: str) -> None:
    given = dataset(kind)
    export(given, [task(kind)], to, tmp_path / "out")
    assert read_folder(tmp_path / "out") == given


def test_the_version_found_in_the_files_is_the_one_exported(tmp_path: Path) -> None:
    export(msgspec.structs.replace(dataset("text"), version="9"), [], "jsonl", tmp_path / "out")
    assert read_folder(tmp_path / "out").version == "9"


EXPORT = """
import sys
from pathlib import Path
from nikawa.io.folders import read_folder
from nikawa.datasets.export import FORMATS, export, files_in
for to in FORMATS:
    export(read_folder(Path(sys.argv[1])), [], to, Path(sys.argv[2]) / to)
"""


@pytest.mark.slow
def test_same_dataset_same_bytes(tmp_path: Path) -> None:
    """Whatever the order in which a process walks its sets."""
    tags = frozenset(f"tag-{n}" for n in range(20))
    shapes = {split: dataset("tagging").splits["train"] for split in ("train", "dev")}
    tagged = {
        split: tuple(msgspec.structs.replace(e, tags=tags) for e in shapes[split])
        for split in shapes
    }
    export(
        msgspec.structs.replace(dataset("tagging"), splits=tagged), [], "jsonl", tmp_path / "given"
    )
    for seed in ("1", "2"):
        command = [sys.executable, "-c", EXPORT, str(tmp_path / "given"), str(tmp_path / seed)]
        subprocess.run(command, check=True, env={**os.environ, "PYTHONHASHSEED": seed})
    one, other = (
        {f: (tmp_path / s / f).read_bytes() for f in files_in(tmp_path / s)} for s in ("1", "2")
    )
    assert {name.partition("/")[0] for name in one} == set(FORMATS)
    assert one == other


@pytest.mark.parametrize("to", list(FORMATS))
def test_existing_folder_is_replaced_only_when_asked(tmp_path: Path, to: str) -> None:
    out = tmp_path / "out"
    export(dataset("text"), [task("text")], "jsonl", out)
    with pytest.raises(BadInput, match="already exists"):
        export(dataset("text"), [task("text")], to, out)
    export(dataset("choice"), [task("choice")], to, out, overwrite=True)
    assert list(tmp_path.iterdir()) == [out]
    assert (out / "train.jsonl").exists() == (to == "jsonl")


def test_what_is_not_ours_is_never_replaced(tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "thesis.tex").write_text("mine")
    with pytest.raises(BadInput, match=r"contains 'thesis\.tex'"):
        export(dataset("text"), [], "jsonl", out, overwrite=True)
    (tmp_path / "file").write_text("mine")
    with pytest.raises(BadInput, match="is a file, not a folder"):
        export(dataset("text"), [], "jsonl", tmp_path / "file", overwrite=True)
    assert (out / "thesis.tex").read_text() == (tmp_path / "file").read_text() == "mine"


@pytest.mark.parametrize("to", list(FORMATS))
def test_failure_leaves_nothing(tmp_path: Path, to: str) -> None:
    bad = Example(id="7", inputs={"text": "橋", "weight": float("nan")})
    broken = Dataset(name="x", language="ja", version="1", card=CARD, splits={"train": (bad,)})
    with pytest.raises(BadInput, match="example 7 holds NaN"):
        export(broken, [], to, tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("to", list(FORMATS))
@pytest.mark.parametrize(
    "name", ["data/mine.csv", "judgements.jsonl", "README.md", "notes/README.md", ".hidden"]
)
def test_strangers_within_an_export_are_never_replaced(tmp_path: Path, to: str, name: str) -> None:
    out = tmp_path / "out"
    export(dataset("text"), [task("text")], to, out)
    (out / name).parent.mkdir(exist_ok=True)
    (out / name).write_text("mine")
    before = {file: (out / file).read_bytes() for file in files_in(out)}
    with pytest.raises(BadInput, match=re.escape(f"contains {name!r}, which ")) as caught:
        export(dataset("choice"), [task("choice")], to, out, overwrite=True)
    assert "move it away" in caught.value.cure
    assert {file: (out / file).read_bytes() for file in files_in(out)} == before


def test_a_folder_that_no_export_wrote(tmp_path: Path) -> None:
    """A dataset folder of one's own looks like an export but has no list."""
    write_folder(dataset("text"), tmp_path / "own")
    with pytest.raises(BadInput, match=r"contains 'card\.json', which an export did not write"):
        export(dataset("text"), [], "jsonl", tmp_path / "own", overwrite=True)
    assert read_folder(tmp_path / "own") == dataset("text")


def test_links_within_and_to_an_export(tmp_path: Path) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    export(dataset("text"), [], "jsonl", real)
    link.symlink_to(real)
    export(dataset("choice"), [], "jsonl", link, overwrite=True)
    assert link.is_symlink()
    assert read_folder(real) == dataset("choice")
    (tmp_path / "precious").mkdir()
    (real / "inside").symlink_to(tmp_path / "precious")
    with pytest.raises(BadInput, match="contains 'inside'"):
        export(dataset("text"), [], "jsonl", real, overwrite=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "precious", "real"]


@pytest.mark.parametrize("to", list(FORMATS))
def test_values_nested_hundreds_deep(tmp_path: Path, to: str) -> None:
    deep: Any = "x"
    for _ in range(400):
        deep = [deep]
    given = (Example(id="7", inputs={"text": "橋"}, meta={"deep": deep}),)
    broken = msgspec.structs.replace(dataset("text"), splits={"train": given})
    with pytest.raises(BadInput, match="example 7 nests more than 100 levels deep"):
        export(broken, [], to, tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_unknown_format(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="did you mean 'parquet'"):
        export(dataset("text"), [], "parquett", tmp_path / "out")


def test_column_names_do_not_collide() -> None:
    sources = [
        "id",
        "inputs.id",
        "inputs.label",
        "inputs.a b",
        "inputs.a-b",
        "gold.label",
        "gold.tags",
        "gold.score",
        "meta.x",
    ]
    assert list(column_names(sources).values()) == [
        "id",
        "input_id",
        "label",
        "a_b",
        "a_b_2",
        "gold_label",
        "gold_tags",
        "score",
        "meta_x",
    ]


@pytest.mark.parametrize(
    ("words", "tag"),
    [("CC BY-SA 4.0", "cc-by-sa-4.0"), ("Apache-2.0", "apache-2.0"), ("ask the authors", "other")],
)
def test_licence(words: str, tag: str) -> None:
    assert licence_tag(words) == tag
    assert licence_url("apache-2.0") == "https://spdx.org/licenses/apache-2.0.html"


def test_size() -> None:
    assert [size_tag(n) for n in (0, 999, 1000, 50_000, 10**8)] == [
        "n<1K",
        "n<1K",
        "1K<n<10K",
        "10K<n<100K",
        "10M<n<100M",
    ]


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(benchmarks()))
def test_every_published_dataset(
    tmp_path: Path, name: str, shared_data: Path, load_hf: Load, load_croissant: Load
) -> None:
    benchmark = benchmarks()[name]
    if not files_here(benchmark, shared_data):
        with pytest.raises(MissingData, match=name):
            load(name, data=shared_data)
        return
    given = load(name, data=shared_data)
    export(given, benchmark.tasks, "croissant", tmp_path / "out")
    first = {split: examples[:300] for split, examples in given.splits.items()}
    layout = lay_out(msgspec.structs.replace(given, splits=first))
    counts = dict(zip(layout.rows, map(len, given.splits.values()), strict=True))
    assert {split: len(rows) for split, rows in load_hf(tmp_path / "out").items()} == counts
    for split, records in load_croissant(tmp_path / "out").items():
        wanted = [row["id"] for row in layout.rows[split]]
        assert [plain(record)["id"] for record in records] == wanted
