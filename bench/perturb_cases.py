"""Precision and recall of the particle operations on judged sentences of general text.

`python -m bench.perturb_cases` scores tests/cases/perturb.jsonl, sentences that were written and judged for this project. Another
file of the same form can be named, and `--parser ginza` adds the parser. A row has the language, the operation, the case, the sentence
and `expected`: the acceptable rewrites, or null if the sentence must not be rewritten. About half of the sentences are traps, so the
shares are no rates of running text.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nikawa.perturbation import apply, perturbations
from nikawa.perturbation.selection import tune_perturbation
from nikawa.records import Example
from nikawa.text import analyser

CASES = Path(__file__).parents[1] / "tests" / "cases" / "perturb.jsonl"


@dataclass
class Counts:
    """The counts of one group of sentences."""

    rewritten: int = 0
    right: int = 0
    eligible: int = 0
    ineligible: int = 0
    rewritten_ineligible: int = 0
    wrong: list[tuple[str, str, str | None]] = field(default_factory=list)

    @property
    def precision(self) -> float:
        """The share of rewrites that are right."""
        return self.right / self.rewritten if self.rewritten else 1.0

    @property
    def recall(self) -> float:
        """The share of eligible sentences that are rewritten rightly."""
        return self.right / self.eligible if self.eligible else 1.0

    @property
    def false_rate(self) -> float:
        """The share of ineligible sentences that are rewritten."""
        return self.rewritten_ineligible / self.ineligible if self.ineligible else 0.0


def read_cases(path: Path = CASES) -> list[dict[str, Any]]:
    """The judged sentences of a file."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]


def score_cases(rows: Iterable[dict[str, Any]], parser: str | None = None) -> Counts:
    """The counts of these sentences; a parser only checks the languages that have it."""
    counts = Counts()
    for row in rows:
        perturbation = perturbations(row["language"])[f"{row['operation']}-{row['case']}"]
        if row["language"] == "ja":
            perturbation = tune_perturbation(perturbation, None, parser)
        example = Example(id=row["id"], inputs={"text": row["sentence"]})
        children = apply(perturbation, [example], analyser(row["language"]))
        answer = next((str(child.inputs["text"]) for child in children), None)
        is_eligible = row["expected"] is not None
        is_right = is_eligible and answer in row["expected"]
        counts.rewritten += answer is not None
        counts.right += is_right
        counts.eligible += is_eligible
        counts.ineligible += not is_eligible
        counts.rewritten_ineligible += answer is not None and not is_eligible
        if not is_right and (is_eligible or answer is not None):
            counts.wrong.append((row["id"], row["sentence"], answer))
    return counts


def main() -> None:
    options = argparse.ArgumentParser(description="Score the particle operations on judged cases.")
    options.add_argument("file", type=Path, nargs="?", default=CASES)
    options.add_argument("--parser", help="check Japanese clauses with this parser: ginza")
    chosen, _ = options.parse_known_args()
    file = chosen.file if chosen.file.suffix == ".jsonl" else CASES  # `python -m bench NAME`
    groups = defaultdict(list)
    for row in read_cases(file):
        groups[row["language"], row.get("half", "all")].append(row)
    for (language, half), rows in sorted(groups.items()):
        counts = score_cases(rows, chosen.parser)
        print(
            f"{language} {half:7} precision {counts.precision:.3f} ({counts.right} of {counts.rewritten})"
            f"  recall {counts.recall:.3f} ({counts.right} of {counts.eligible})"
            f"  ineligible rewritten {counts.false_rate:.3f} ({counts.rewritten_ineligible} of {counts.ineligible})"
        )


if __name__ == "__main__":
    main()
