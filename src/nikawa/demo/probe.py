"""Steps of the tour that probe and evaluate: tags, perturbed pairs, scores of two toy systems."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from nikawa.datasets import load, tasks
from nikawa.demo.generate import DATA, temporal
from nikawa.demo.steps import DATASETS, Outcome, Table
from nikawa.io.json import encode_json
from nikawa.records import Example

OPERATIONS = {
    "mini-ja": ("scramble-o", "swap-o", "delete-o"),
    "mini-ko": ("scramble-eul", "swap-eul", "delete-eul"),
}
TASK = "mini-ja-sts"
SCRAMBLE = "scramble-o"
"""What is done to the generated test problems: their labels stay."""


def count_tags(out: Path) -> Outcome:
    """The phenomena of both datasets and of the generated test problems, found in the text."""
    from nikawa.tagging.job import tag

    reports = [tag(name) for name in (*DATASETS, f"{temporal(out)}:test")]
    names = list(dict.fromkeys(name for report in reports for name in report.found))
    rows = tuple(
        (name, *(sum(report.found.get(name, {}).values()) for report in reports)) for name in names
    )
    columns = (*DATASETS, f"{DATA}:test")
    table = Table(columns=("phenomenon", *columns), rows=rows, numbers=columns)
    return Outcome(tables=(table,), figures={"tags": len(names)})


def perturb_pairs(out: Path) -> Outcome:
    """One sentence of each language, its word order and its particles changed; the generated test problems, scrambled."""
    from nikawa.perturbation.job import Options, perturb

    rows = tuple(row for name in DATASETS for row in _changes(name))
    columns = ("operation", "sentence", "should the label change?")
    folder = temporal(out)
    target = folder / f"{SCRAMBLE}.jsonl"
    done = perturb([SCRAMBLE], f"{folder}:test", options=Options(out=target, overwrite=True))
    line = (
        f"{done.written:,} test problems with another word order and the same label lie beside the others as {target.name}: "
        "models will answer both."
    )
    figures = {"operations": len(rows) - len(DATASETS), "scrambled": done.written}
    return Outcome(tables=(Table(columns=columns, rows=rows),), lines=(line,), figures=figures)


def _changes(name: str) -> Iterator[tuple[str, str, str]]:
    from nikawa.perturbation import perturbations
    from nikawa.perturbation.base import apply
    from nikawa.text import analyser

    dataset = load(name)
    language = dataset.language
    examples = [e for split in dataset.splits.values() for e in split if "sentence1" in e.inputs]
    for number, operation in enumerate(OPERATIONS[name]):
        chosen = perturbations(language)[operation]
        changed = next(apply(chosen, examples, analyser(language), seed=0, source=name))
        if not number:
            yield f"{name} {changed.id}", str(changed.meta["original_sentence1"]), ""
        yield (
            operation,
            changed.inputs["sentence1"],
            "no" if changed.meta["effect"] == "keeps" else "yes, to neutral",
        )


def score_and_compare() -> Outcome:
    """Two toy systems on the similarity items: length alone, and shared characters."""
    from nikawa.scoring.compare import compare

    with TemporaryDirectory(prefix="nikawa-demo-") as folder:
        systems = {"length": _length, "shared characters": _overlap}
        files = {
            name: [_answered(Path(folder) / f"{i}.jsonl", system)]
            for i, (name, system) in enumerate(systems.items())
        }
        found = compare([TASK], files, split="train", rounds=2000)
    scores = tuple(
        (s.system, f"{s.value:.1f}", s.ties) for s in found.systems if s.metric == "pearson"
    )
    pair = found.pairs[0]
    line = (
        f"Difference {pair.difference:+.1f} ({pair.low:+.1f} to {pair.high:+.1f}), p = {pair.p:.3f}; "
        f"differences below {pair.smallest:.0f} could hardly be told from chance with so few items."
    )
    table = Table(columns=("system", "Pearson", "ties"), rows=scores, numbers=("Pearson",))
    return Outcome(
        tables=(table,), lines=(line,), figures={"p": pair.p, "difference": pair.difference}
    )


def _length(example: Example) -> float:
    """5 for sentences of equal length, less the more they differ."""
    one, two = (len(example.inputs[name]) for name in ("sentence1", "sentence2"))
    return 5 * min(one, two) / max(one, two)


def _overlap(example: Example) -> float:
    """5 times the share of characters the sentences have in common."""
    one, two = (set(example.inputs[name]) for name in ("sentence1", "sentence2"))
    return 5 * len(one & two) / len(one | two)


def _answered(path: Path, system: Callable[[Example], float]) -> Path:
    examples = load("mini-ja:train").splits["train"]
    lines = [{"id": e.id, "answer": system(e)} for e in examples if tasks()[TASK].asks(e)]
    path.write_bytes(b"".join(encode_json(line) + b"\n" for line in lines))
    return path
