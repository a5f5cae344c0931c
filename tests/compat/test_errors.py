"""Bad input ends with status 2 and one line on stderr, nothing on stdout; the words of the line are free to change."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.compat.play import said, sheet

BAD = (
    "nonsense",
    "data nonsense",
    "data show no-such-dataset",
    "data show mini-ja --split nonsense",
    "data show mini-ja --id no-such-id",
    "data show own-data --nonsense",
    "data check no-such-folder",
    "data export mini-ja --to nonsense --out elsewhere",
    "data export mini-ja --to jsonl --out own-data",
    "data fetch no-such-dataset",
    "data shift mini-ja own-data",
    "tasks nonsense",
    "tag mini-ja --pack nonsense",
    "split pairs.jsonl --by nonsense --question label",
    "split pairs.jsonl --by random --question label --sizes 0.9,0.9",
    "split mini-ja --out own-data --by random",
    "perturb nonsense mini-ja",
    "perturb swap",
    "pair nonsense texts-ja.txt",
    "pair greedy no-such-file.txt",
    "clean no-such-file.txt --out cleaned.jsonl",
    "clean texts-ja.txt",
    "clean texts-ja.txt --out cleaned.jsonl --steps nonsense",
    "aggregate judgements.jsonl --question label",
    "aggregate judgements.jsonl --question label --rule nonsense",
    "aggregate judgements.jsonl --question nonsense --rule majority",
    "agree judgements.jsonl",
    "agree no-such-file.jsonl",
    "generate nonsense --out made",
    "generate my-pack -n many --out made",
    "templates show no-such-template my-pack",
    "lexicon show ja --verb 無",
    "probe artifacts sims.jsonl",
    "rank no-such-file.tsv",
    "build nonsense --out built",
    "build jnli --config jnli.toml",
    "build --amend mini-ja --relabel no-such-file.csv --out next",
    "lineage dev/0 --in own-data",
    "run --model nonsense --tasks mini-ja-nli --out runs",
    "run --model majority --tasks nonsense --out runs",
    "run --model majority --tasks mini-ja-nli --seeds none --out runs",
    "run list --out no-such-runs",
    "analyse no-such-runs",
    "report no-such-runs",
    "score nonsense answers/label.jsonl",
    "score mini-ja-nli:test no-such-answers.jsonl",
    "score mini-ja-nli:test answers/half.jsonl",
    "compare answers/label.jsonl answers/other.jsonl --task nonsense",
    "conformance no-such-file.json",
    "reproduce nonsense",
    "pretrain texts-ja.txt --language ja",
    "pretrain texts-ja.txt --out encoder",
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sheet(tmp_path_factory.mktemp("errors"))


@pytest.mark.parametrize("line", BAD)
def test_bad_input(line: str, folder: Path) -> None:
    before = sorted(folder.rglob("*"))
    done = said(folder, line)
    assert done.status == 2, done
    assert done.out == ""
    assert len(done.err.strip().splitlines()) == 1, done.err
    assert done.err.startswith("nikawa: ")
    assert sorted(folder.rglob("*")) == before, "something was written"
