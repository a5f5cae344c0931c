"""From a dataset with hidden labels into its copies: they can be scored with the key file, or the copy is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

Nikawa = Callable[..., CompletedProcess[str]]


@pytest.fixture
def published(tmp_path: Path, nikawa: Nikawa, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder whose test labels are in `keys.jsonl`, both in the working folder."""
    monkeypatch.chdir(tmp_path)
    assert nikawa("data", "export", "mini-ja", "--to", "jsonl", "--out", "mine").returncode == 0
    done = nikawa(
        "data", "hide", "mine", "--split", "test", "--out", "public", "--keys", "keys.jsonl"
    )
    assert done.returncode == 0, done.stderr
    answers = [
        {"id": json.loads(line)["id"], "answer": "neutral"}
        for line in Path("public/test.jsonl").read_text().splitlines()
        if "premise" in json.loads(line)["inputs"]
    ]
    Path("answers.jsonl").write_text("".join(json.dumps(row) + "\n" for row in answers))
    return tmp_path / "public"


def score(nikawa: Nikawa, folder: str) -> float:
    words = ("answers.jsonl", "--hidden", "--keys", "keys.jsonl", "--json")
    done = nikawa("score", f"{folder}-label:test", *words)
    assert done.returncode == 0, done.stderr
    value: float = json.loads(done.stdout)["scores"][0]["value"]
    return value


@pytest.mark.usefixtures("published")
def test_a_copy_is_scored_with_the_keys_of_the_original(nikawa: Nikawa) -> None:
    expected = score(nikawa, "public")
    for to in ("jsonl", "parquet"):
        done = nikawa("data", "export", "public", "--to", to, "--out", to)
        assert done.returncode == 0, done.stderr
        assert score(nikawa, to) == expected
    assert nikawa("tag", "public", "--out", "tagged").returncode == 0
    assert score(nikawa, "tagged") == expected


@pytest.mark.usefixtures("published")
def test_tags_of_a_copy_stay_when_its_labels_are_opened(nikawa: Nikawa) -> None:
    """Those that were hidden with the labels, and those that the copy got since."""
    assert nikawa("tag", "public", "--out", "tagged").returncode == 0
    before, new = (
        {
            tag
            for line in Path(folder, "test.jsonl").read_text().splitlines()
            if "premise" in line
            for tag in json.loads(line).get("tags", ())
        }
        for folder in ("mine", "tagged")
    )
    assert new - before
    words = ("--hidden", "--keys", "keys.jsonl", "--by", "tag", "--json")
    done = nikawa("score", "tagged-label:test", "answers.jsonl", *words)
    slices = {row["where"].removeprefix("tag=") for row in json.loads(done.stdout)["scores"]}
    assert slices == new | before | {""}


@pytest.mark.usefixtures("published")
def test_a_hidden_split_alone_keeps_its_tasks(nikawa: Nikawa) -> None:
    assert (
        nikawa("data", "export", "public:test", "--to", "jsonl", "--out", "alone").returncode == 0
    )
    assert score(nikawa, "alone") == score(nikawa, "public")


@pytest.mark.usefixtures("published")
def test_keys_of_labels_that_were_hidden_anew_do_not_fit_a_copy(nikawa: Nikawa) -> None:
    assert nikawa("data", "export", "public", "--to", "jsonl", "--out", "copy").returncode == 0
    rows = [json.loads(line) for line in Path("mine/test.jsonl").read_text().splitlines()]
    for row in rows:
        row["tags"] = ["later"]
    Path("mine/test.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    words = ("--split", "test", "--out", "again", "--keys", "new.jsonl", "--secret", "keys.jsonl")
    assert nikawa("data", "hide", "mine", *words).returncode == 0
    done = nikawa("score", "copy-label:test", "answers.jsonl", "--hidden", "--keys", "new.jsonl")
    assert done.returncode == 2
    assert "than copy/hidden.json" in done.stderr


@pytest.mark.usefixtures("published")
def test_a_split_whose_labels_are_elsewhere_is_not_split(nikawa: Nikawa) -> None:
    words = ("--by", "random", "--card", "name=parts", "--out", "parts")
    done = nikawa("split", "public", *words)
    assert done.returncode == 2
    assert "the labels of test are in a key file" in done.stderr
    assert "split public:train" in done.stderr
    assert not Path("parts").exists()
    assert nikawa("split", "public:train", *words).returncode == 0


@pytest.mark.usefixtures("published")
def test_a_notice_goes_with_the_dataset_that_it_was_about(nikawa: Nikawa) -> None:
    assert nikawa("tag", "public", "--out", "tagged").returncode == 0
    assert nikawa("tag", "mini-ja", "--out", "tagged", "--overwrite").returncode == 0
    assert not Path("tagged/hidden.json").exists()
