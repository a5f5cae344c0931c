"""Sentences a second through each perturbation with its default analyser; invented text, nothing cached."""

from __future__ import annotations

from bench.analysers import _row, rate, texts
from nikawa.perturbation import Perturbation, apply, perturbations
from nikawa.records import Example
from nikawa.text import analyser
from nikawa.text.analysers import DEFAULTS


def _speed(perturbation: Perturbation, assume_eligible: bool) -> float:
    language = perturbation.language or "ja"
    best = perturbation.analysers[0] if perturbation.analysers else DEFAULTS[language]
    tool = analyser(best, cache=0)

    def run(given: list[str]) -> list[Example]:
        examples = (
            Example(id=str(i), inputs={"premise": t, "hypothesis": t}) for i, t in enumerate(given)
        )
        return list(apply(perturbation, examples, tool, assume_eligible=assume_eligible))

    return rate(run, texts(language))


def main() -> None:
    for name in perturbations():
        _row(name, _speed(perturbations()[name], assume_eligible=False), None)
    for name in ("ja/scramble-o", "ja/scramble-de"):
        _row(f"{name}, assumed", _speed(perturbations()[name], assume_eligible=True), None)


if __name__ == "__main__":
    main()
