"""What a scorer loses that looks at the first gold answer only: the last human answer to each JSQuAD question of valid."""

from __future__ import annotations

from bench.start import shared
from nikawa import load
from nikawa.metrics import Items
from nikawa.metrics.jsquad import exact_match


def main() -> None:
    if not shared().is_dir():
        print("there is no published data: set NIKAWA_SHARED")
        return
    golds = [example.gold["answers"] for example in load("jsquad:dev", data=shared()).splits["dev"]]
    last = [answers[-1]["text"] for answers in golds]
    first_only = sum(
        answers[0]["text"] == answer for answers, answer in zip(golds, last, strict=True)
    ) / len(golds)
    print(f"official exact match {100 * exact_match(Items(golds, last)).value:.1f}")
    print(f"exact match with the first gold answer only {100 * first_only:.1f}")
