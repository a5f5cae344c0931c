"""From source text to candidates, pairs and splits, on a slice of the shared corpus."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import pytest

from nikawa.cleaning import Settings
from nikawa.cleaning.job import CleanOptions, ReadOptions, clean
from nikawa.datasets import load
from nikawa.io.lines import read_lines
from nikawa.io.records import read_examples
from nikawa.pairing.job import PairOptions as Pairing
from nikawa.pairing.job import pair
from nikawa.splitting import SplitterSettings
from nikawa.splitting.job import SplitOptions, split

LINES = 150


@pytest.fixture(params=["ja", "ko"])
def candidates(request: pytest.FixtureRequest, shared_corpus: Path, tmp_path: Path) -> Path:
    """The cleaned sentences of the first lines, each with its source."""
    text, table, out = (
        tmp_path / "text.txt",
        tmp_path / "sources.tsv",
        tmp_path / "candidates.jsonl",
    )
    for path in (text, table):
        packed = shared_corpus / f"{request.param}.{'sources.tsv' if path == table else 'txt'}.xz"
        lines = (line for _, line in islice(read_lines(packed), LINES))
        path.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    choices = CleanOptions(
        settings=Settings(min_length=8, max_length=120), reading=ReadOptions(sources=table)
    )
    report = clean([text], out, choices)
    assert report.language == request.param
    assert report.documents > 0
    assert report.sentences == report.kept + sum(step.removed for step in report.steps)
    return out


def test_candidates_can_be_cleaned_again(candidates: Path, tmp_path: Path) -> None:
    again = tmp_path / "again.jsonl"
    settings = Settings(min_length=8, max_length=120)
    report = clean([candidates], again, CleanOptions(settings=settings))
    assert report.kept == report.sentences > 50
    texts = [
        [example.inputs["text"] for example in read_examples(path)] for path in (candidates, again)
    ]
    assert texts[0] == texts[1]


@pytest.mark.parametrize("method", ["greedy", "greedy-global"])
def test_candidates_are_paired(method: str, candidates: Path, tmp_path: Path) -> None:
    out = tmp_path / "pairs.jsonl"
    pair(method, candidates, options=Pairing(rouge="1", units="characters", out=out))
    parents = [
        parent for made in read_examples(out) if made.origin for parent in made.origin.parents
    ]
    count = sum(1 for _ in read_examples(candidates))
    assert len(parents) == len(set(parents)) == count // 2 * 2


@pytest.mark.parametrize(
    ("by", "fields"), [("random", ()), ("group", ("group",)), ("balanced", ("source",))]
)
def test_candidates_are_split(
    by: str, fields: tuple[str, ...], candidates: Path, tmp_path: Path
) -> None:
    out = tmp_path / "dataset"
    options = SplitOptions(
        by=by, sizes="0.6,0.2,0.2", settings=SplitterSettings(fields=fields), out=out
    )
    report = split(str(candidates), options=options)
    made = load(str(out))
    ids = [example.id for part in made.splits.values() for example in part]
    assert sorted(ids) == sorted(example.id for example in read_examples(candidates))
    groups = [{example.group for example in part} for part in made.splits.values()]
    apart = sum(map(len, groups)) == len(set().union(*groups))
    assert apart == (by == "group")
    assert not [
        leak for leak in report.leaks if leak.check == "leaked-texts"
    ]  # near-duplicates are gone
