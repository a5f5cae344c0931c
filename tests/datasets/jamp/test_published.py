"""The published files against what is known of them: cells, labels, formats, sizes, bytes."""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path

import pytest

from nikawa.datasets import benchmarks, load
from nikawa.datasets.jamp.splits import categories, is_seen, regenerate, split_names
from nikawa.generation.notation_jamp import read_rows
from nikawa.records import Dataset, Example

PER_TEMPLATE = """
0 10/0/0, 1 200/200/200, 3 200/200/200, 4 200/200/200, 5 200/200/200, 8 0/0/60, 9 10/0/0, 10 10/0/0,
11 10/0/0, 12 10/0/0, 13 10/0/0, 14 10/0/0, 15 10/0/0, 17 10/0/0, 19 0/0/200, 20 0/200/0, 21 0/0/200,
22 0/0/200, 23 0/200/0, 25 140/200/200, 26 0/80/80, 27 0/80/80, 28 80/0/80, 29 80/0/0, 31 0/80/80,
32 80/0/80, 33 0/80/80, 34 80/0/0, 35 80/0/80, 36 80/0/0, 37 80/0/80, 38 80/0/0, 40 0/0/30,
42 0/0/200, 43 0/200/0, 46 60/0/0, 47 0/10/0, 48 0/0/10, 49 0/0/10, 50 0/0/10, 51 0/0/10, 52 0/10/0,
53 10/0/0, 54 0/10/0, 55 0/0/10, 56 0/0/10, 57 0/0/10, 58 0/0/10, 59 0/10/0, 60 10/0/0, 61 0/10/0,
62 0/10/0, 63 0/10/0, 67 200/0/0, 68 200/0/0, 70 30/0/0, 71 0/30/0, 72 200/0/0, 73 0/200/0,
74 0/0/200, 75 200/0/0, 76 0/0/10, 77 0/10/0, 78 10/0/0, 79 0/10/0, 80 0/10/0, 81 0/10/0,
82 140/200/0, 83 0/200/140, 84 80/80/0, 85 0/80/80, 86 80/80/0, 87 80/0/80, 88 80/80/0, 89 0/80/80,
90 0/0/80, 93 0/80/80, 94 0/200/0, 95 0/200/0
"""
"""Template, then train rows of entailment/contradiction/neutral."""

CATEGORIES = {
    "現在（現在形）": ("0", 10),
    "以来（状態動詞）": ("1", 600),
    "以来（テイル形）": ("3,4,5", 1800),
    "照応（昨日）": ("8,46", 120),
    "順序（推移律）": ("9,10,47,54", 40),
    "順序（前後）": ("11,12,13,61,62,77,78,79", 80),
    "順序（先後）": ("14,15,80,81", 40),
    "順序（前後+アスペクト)": ("17,63", 20),
    "未言及の時点": ("19,21", 400),
    "未言及の時点（唯一事象）": ("20,23", 400),
    "未言及の時点（照応）": ("22", 200),
    "2区間比較（以内/以内+区間計算）": ("25", 540),
    "2区間比較（以内/ちょうど）": ("26", 160),
    "2区間比較（以内/以上）": ("27", 160),
    "2区間比較（以内/以内）": ("28", 160),
    "完了": ("29,34,36,38", 320),
    "2区間比較（以内/ちょうど+多く）": ("31", 160),
    "2区間比較（ちょうど/以上+少なくとも）": ("32,35,37", 480),
    "2区間比較（ちょうど/ちょうど+ちょうど）": ("33", 160),
    "習慣+存在量化（毎+時間単位）": ("40", 30),
    "習慣（未言及+いつも）": ("42", 200),
    "習慣+否定（未言及+決してない）": ("43", 200),
    "順序（推移律不可）": ("48,49,50,51,55,56,57,58", 80),
    "順序（推移律+前後)": ("52,53,59,60", 40),
    "言及済みの時点（照応+状態）": ("67", 200),
    "言及済みの時点（照応+事象）": ("68", 200),
    "習慣+存在量化": ("70", 30),
    "習慣+存在量化（否定）": ("71", 30),
    "習慣（言及済み+いつも）": ("72", 200),
    "習慣+否定（未言及+いつも）": ("73", 200),
    "習慣（未言及+決してない）": ("74", 200),
    "習慣（言及済み+決してない）": ("75", 200),
    "現在（過去形）": ("76", 10),
    "2区間比較（ちょうど/以内+区間計算）": ("82", 340),
    "2区間比較（以上/以内+区間計算）": ("83", 340),
    "2区間比較（ちょうど/ちょうど）": ("84", 160),
    "2区間比較（以上/ちょうど）": ("85", 160),
    "2区間比較（ちょうど/以上）": ("86", 160),
    "2区間比較（以上/以上）": ("87", 160),
    "2区間比較（ちょうど/以内）": ("88", 160),
    "2区間比較（以上/以内）": ("89", 160),
    "2区間比較（以上/ちょうど+多く）": ("90", 80),
    "2区間比較（ちょうど/ちょうど+多く）": ("93", 160),
    "習慣+否定（言及済み+決してない）": ("94", 200),
    "習慣+否定（言及済み+いつも）": ("95", 200),
}
"""Category to its templates and its number of train rows."""

FORMATS = {
    None: 320,
    "年": 680,
    "年月": 650,
    "年月日": 690,
    "年月日時": 650,
    "月": 680,
    "月日": 690,
    "月日時": 650,
    "日": 720,
    "日時": 650,
    "時": 680,
    "年間": 730,
    "月間": 730,
    "日間": 730,
    "時間": 700,
}

SIZES = {
    "train": (9950, 3050, 3540, 3360),
    "template-easy": (6730, 2480, 1600, 2650),
    "template-hard": (5460, 1920, 1520, 2020),
    "timeformat-easy": (7960, 2490, 2760, 2710),
    "timeformat-hard": (5970, 1930, 1980, 2060),
    "timespan-easy": (5270, 1660, 1840, 1770),
}
"""Rows, then entailment, contradiction, neutral."""


@pytest.fixture(scope="module")
def jamp(shared_data: Path) -> Dataset:
    return load("jamp", data=shared_data)


@pytest.fixture(scope="module")
def train(jamp: Dataset) -> tuple[Example, ...]:
    return jamp.splits["train"]


def labels(examples: tuple[Example, ...]) -> tuple[int, int, int]:
    counts = Counter(e.gold["label"] for e in examples)
    return counts["entailment"], counts["contradiction"], counts["neutral"]


@pytest.mark.parametrize("ending", ["", "-wakati"])
@pytest.mark.parametrize("split", SIZES)
def test_sizes(jamp: Dataset, split: str, ending: str) -> None:
    examples = jamp.splits[split + ending]
    assert (len(examples), *labels(examples)) == SIZES[split]


def test_labels_of_each_template(train: tuple[Example, ...]) -> None:
    rows: dict[int, list[Example]] = defaultdict(list)
    for example in train:
        rows[example.meta["template"]].append(example)
    expected = dict(entry.split() for entry in PER_TEMPLATE.split(","))
    assert {str(t): "/".join(map(str, labels(tuple(es)))) for t, es in rows.items()} == expected


def test_categories_hold_their_templates(train: tuple[Example, ...]) -> None:
    templates: dict[str, set[int]] = defaultdict(set)
    for example in train:
        templates[example.meta["category"]].add(example.meta["template"])
        assert example.tags == {example.meta["category"]}
    counts = Counter(e.meta["category"] for e in train)
    found = {name: (",".join(map(str, sorted(ts))), counts[name]) for name, ts in templates.items()}
    assert found == CATEGORIES
    assert set(CATEGORIES) == categories()


def test_time_formats_and_spans(train: tuple[Example, ...]) -> None:
    assert Counter(e.meta["time_format"] for e in train) == FORMATS
    assert Counter(e.meta["time_span"] for e in train) == {"random": 4860, "short": 4680, None: 410}


def test_every_cell_has_ten_rows(train: tuple[Example, ...]) -> None:
    cells = Counter(
        (e.meta["template"], e.meta["time_format"], e.meta["time_span"], e.gold["label"])
        for e in train
    )
    assert len(cells) == 995
    assert set(cells.values()) == {10}


def test_order_and_pairs(train: tuple[Example, ...]) -> None:
    assert [e.id for e in train] == [str(n) for n in range(1, 9951)]
    assert len({(e.inputs["premise"], e.inputs["hypothesis"]) for e in train}) == 9950
    assert {e.origin.gold for e in train if e.origin} == {"derived"}


@pytest.mark.parametrize("split", split_names())
def test_a_split_file_is_what_its_rule_keeps(jamp: Dataset, split: str) -> None:
    kept = tuple(e for e in jamp.splits["train"] if is_seen(e, split))
    assert kept == jamp.splits[split]


@pytest.mark.parametrize("suffix", ["", "_wakati"])
@pytest.mark.parametrize("split", split_names())
def test_regenerated_file_is_byte_identical(
    shared_data: Path, tmp_path: Path, split: str, suffix: str
) -> None:
    folder = shared_data / "jamp" / "dataset"
    rows = regenerate(folder / f"train_all{suffix}.tsv", split, tmp_path / "out.tsv")
    assert rows == SIZES[split][0]
    published = folder / f"train_custom-{split}{suffix}.tsv"
    assert (tmp_path / "out.tsv").read_bytes() == published.read_bytes()


def test_templates(shared_data: Path, train: tuple[Example, ...]) -> None:
    path = shared_data / "jamp" / "dataset" / "template" / "template_ver_1_5.tsv"
    templates = [row for row, _ in read_rows(path)]
    assert len(templates) == 79
    assert len({row["id"] for row in templates}) == 79
    assert {int(row["id"]): row["category"] for row in templates} == {
        e.meta["template"]: e.meta["category"] for e in train
    }
    assert {row["category"] for row in templates} == categories()
    units = [row["ng time unit"] for row in templates]
    assert Counter(unit.count(",") for unit in units if "." not in unit) == {0: 45, 2: 32}
    formats = {"None", "年月日時", "年月日", "時間", "日間"}
    assert {row["test time format"] for row in templates} == formats


def test_traps(jamp: Dataset, shared_data: Path) -> None:
    find_problems = benchmarks()["jamp"].find_problems
    assert find_problems is not None
    found = {f.check: f for f in find_problems(shared_data / "jamp", jamp)}
    assert {check: f.count for check, f in found.items()} == {
        "left-over-template": 200,
        "generator-label": 4,
        "year-out-of-range": 6,
        "present-before-since": 926,
        "category-count": 45,
    }
    assert all(f.known and f.where == "train" for f in found.values())
    assert found["generator-label"].ids == tuple(
        f"jamp:train/{n}" for n in (3763, 3767, 7807, 7809)
    )


def test_version_without_template_20_is_the_papers(train: tuple[Example, ...]) -> None:
    version_of = benchmarks()["jamp"].version_of
    assert version_of is not None
    assert version_of({"train": train}) is None
    assert version_of({"train": tuple(e for e in train if e.meta["template"] != 20)}) == "2.1"
