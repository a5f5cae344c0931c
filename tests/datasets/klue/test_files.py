"""What is common to the files: broken ones, CR LF, versions, every dataset's declaration."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from nikawa.datasets.klue import klue_ner, klue_nli, klue_sts
from nikawa.datasets.load import load
from nikawa.datasets.names import benchmarks, suites
from nikawa.errors import BadInput
from nikawa.metrics import metrics

Lay = Callable[..., Path]
RECORD = {
    "guid": "klue-nli-v1_dev_00000",
    "source": "airbnb",
    "premise": "방에서 바다가 아주 잘 보이고 조용했습니다.",
    "hypothesis": "바다가 보인다.",
    "gold_label": "entailment",
}


@pytest.mark.parametrize("name", suites()["klue"])
def test_every_dataset_is_declared_alike(name: str) -> None:
    benchmark = benchmarks()[name]
    card = benchmark.card
    assert (benchmark.repository, benchmark.language, card.name) == ("klue", "ko", name)
    assert (card.version, card.licence) == ("1.1", "CC BY-SA 4.0")
    assert card.citation.startswith("Park")
    assert [task.name for task in benchmark.tasks] == [name]
    assert [source.split for source in benchmark.sources] == ["train", "dev", "test"]
    assert (benchmark.judgements is not None) == (card.workers_are != "none")


@pytest.mark.parametrize("name", suites()["klue"])
def test_every_task_names_metrics_of_its_kind(name: str) -> None:
    for task in benchmarks()[name].tasks:
        assert all(task.kind in metrics()[metric].kinds for metric in task.metrics)


def test_newest_version_unless_asked(lay: Lay, tmp_path: Path) -> None:
    lay("klue-nli", "dev", [RECORD], version="1")
    lay("klue-nli", "dev", [RECORD | {"guid": "klue-nli-v1_dev_00001"}], version="1.1")
    assert [e.id for e in load("klue-nli", data=tmp_path).splits["dev"]] == [
        "klue-nli-v1_dev_00001"
    ]
    old = load("klue-nli", data=tmp_path, version="1")
    assert [e.id for e in old.splits["dev"]] == ["klue-nli-v1_dev_00000"]


def test_crlf_is_let_pass(lay: Lay) -> None:
    path = lay("klue-nli", "dev", [RECORD])
    plain = list(klue_nli.read(path))
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert list(klue_nli.read(path)) == plain


def test_published_sts_has_crlf(shared_data: Path) -> None:
    path = shared_data / "klue/klue_benchmark/klue-sts-v1.1/klue-sts-v1.1_dev.json"
    data = path.read_bytes()
    assert data.count(b"\r\n") == data.count(b"\n") == 15_867
    assert len(list(klue_sts.read(path))) == 519


def test_compressed_file(lay: Lay, tmp_path: Path) -> None:
    path = lay("klue-nli", "dev", [RECORD])
    packed = tmp_path / "klue-nli-v1.1_dev.json.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert list(klue_nli.read(packed)) == list(klue_nli.read(path))


def test_missing_key_names_record_and_line(lay: Lay) -> None:
    path = lay("klue-nli", "dev", [RECORD, {k: v for k, v in RECORD.items() if k != "premise"}])
    with pytest.raises(
        BadInput, match=r"_dev\.json, line 9: record 2: missing required field `premise`; is this"
    ):
        list(klue_nli.read(path))


def test_line_is_right_where_records_repeat(lay: Lay) -> None:
    broken = {k: v for k, v in RECORD.items() if k != "premise"}
    with pytest.raises(BadInput, match="line 16: record 3"):
        list(klue_nli.read(lay("klue-nli", "dev", [RECORD, RECORD, broken, broken])))


def test_repeated_guid(lay: Lay, tmp_path: Path) -> None:
    lay("klue-nli", "dev", [RECORD, RECORD])
    with pytest.raises(BadInput, match="'klue-nli-v1_dev_00000' occurs twice"):
        load("klue-nli", data=tmp_path)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "is empty"),
        (b" \n\n", "is empty"),
        (b"[]", "holds no record"),
        (b"{}", "expected `array`, got `object`"),
        (b'[{"guid": "a"', "the JSON is incomplete"),
        (b'[\n{"guid": 1}\n,,]', "line 3: is not JSON"),
        (b"\xef\xbb\xbf[]", "byte order mark"),
        (b"\xff\xfe[\0", "UTF-16"),
        (b"[\n\0]", "line 2: holds a NUL"),
        (b'["a",\r\n"' + "한국".encode("cp949") + b'"]', "line 2: byte 2 is not UTF-8"),
        (b'[\n{"guid": NaN}]', "NaN"),
    ],
)
def test_broken_files(tmp_path: Path, data: bytes, said: str) -> None:
    path = tmp_path / "klue-nli-v1.1_dev.json"
    path.write_bytes(data)
    with pytest.raises(BadInput, match=said) as caught:
        list(klue_nli.read(path))
    assert "\n" not in str(caught.value)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("data", "said"), [(b"\xef\xbb\xbf## a", "byte order"), (b"## \xb0\xa1\n", "not UTF-8")]
)
def test_broken_column_files(tmp_path: Path, data: bytes, said: str) -> None:
    path = tmp_path / "klue-ner-v1.1_dev.tsv"
    path.write_bytes(data)
    with pytest.raises(BadInput, match=said):
        list(klue_ner.read(path))


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no such file"):
        list(klue_ner.read(tmp_path / "klue-ner-v1.1_dev.tsv"))


def test_unknown_extra_keys_are_let_pass(lay: Lay) -> None:
    path = lay("klue-nli", "dev", [RECORD | {"note": 1}])
    assert json.loads(path.read_text("utf-8"))[0]["note"] == 1
    assert len(list(klue_nli.read(path))) == 1
