"""What workers hand back, and what becomes of it: dropped, or looked at once more (KLUE 1.1 and 3.1
to 3.5).

An answer may be the word of a report instead: `personal` (identifies a person), `hate`, `bias`, and
what a recipe adds. Items that were reported go to a reviewer, who keeps or discards them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from random import Random
from typing import Any

from nikawa.recipes.decide import answers_of, settled_answers
from nikawa.recipes.klue.texts import Texts
from nikawa.recipes.recipe import Ask, Dropped, Inputs, Kept, Outcomes, Positive, Stage
from nikawa.records import Example, Judgement

ETHICS = ("personal", "hate", "bias")
"""Reports that every task of the benchmark asks workers for."""
REPORTS = (*ETHICS, "undecidable", "broken")
"""All words of reports; the annotation pages use the same."""
KEEP, DISCARD = "keep", "discard"


class Reviewed(Texts, kw_only=True):
    """Settings of recipes whose reported items are looked at once more."""

    reviewers: Positive = 1
    """People who look at what workers reported; the paper does not say how many."""


def is_report(answer: Any) -> bool:
    """Whether a worker handed the item back instead of answering."""
    return isinstance(answer, str) and answer in REPORTS


def given_answers(inputs: Inputs, ask: str) -> dict[str, list[Judgement]]:
    """The answers to an `Ask` by item, reports left out."""
    return answers_of(
        judgement for judgement in inputs.judgements(ask) if not is_report(judgement.answer)
    )


def given_or_decided_answers(inputs: Inputs, ask: str) -> dict[str, list[Judgement]]:
    """The same, with a decision that overrides them in their place: of what was marked or written, where no votes are counted."""
    answers = settled_answers(inputs, ask)
    return answers_of(
        judgement
        for judgements in answers.values()
        for judgement in judgements
        if not is_report(judgement.answer)
    )


def set_apart(
    items: str, ask: str, gone: Mapping[str, str] | None = None
) -> Callable[[Inputs, Any], Outcomes]:
    """The stage function that parts items into `unreported` and `reported`.

    Reports named in `gone` drop them at once.
    """
    drops = gone or {}

    def run(inputs: Inputs, config: Any) -> Outcomes:
        judged = answers_of(inputs.judgements(ask))
        for item in inputs.examples(items):
            reports = Counter(j.answer for j in judged.get(item.id, ()) if is_report(j.answer))
            least = getattr(config, "undecided", 1)
            why = next((drops[word] for word in drops if reports[word] >= least), "")
            reason = ", ".join(f"{word} x{count}" for word, count in sorted(reports.items()))
            if why:
                yield Dropped(item, why, reason)
            elif any(reports[word] for word in REPORTS if word not in drops):
                yield Kept(item, f"reported: {reason}", "reported")
            else:
                yield Kept(item, "nobody reported it", "unreported")

    return run


def readmit_items(inputs: Inputs, config: Any) -> Outcomes:
    """What nobody reported, and what most reviewers keep of the rest."""
    for item in inputs.examples("unreported"):
        yield Kept(item, "nobody reported it")
    yield from kept_on_review(inputs, config)


def kept_on_review(inputs: Inputs, config: Any) -> Outcomes:
    """What most reviewers keep of what was reported."""
    verdicts = settled_answers(inputs, "review")
    for item in inputs.examples("reported"):
        votes = Counter(judgement.answer for judgement in verdicts.get(item.id, ()))
        if votes[KEEP] > votes[DISCARD]:
            yield Kept(item, "reported, and kept on review")
        else:
            yield Dropped(item, "reported, and discarded on review")


REVIEW_POINTS = (
    "다른 작업자가 신고한 글입니다. 처음부터 끝까지 읽어 주세요.",
    "특정한 개인을 알아볼 수 있는 정보, 혐오 표현, 사회적 편견이 있으면 버려 주세요.",
    "글이 깨졌거나 과제에 쓸 수 없으면 버려 주세요. 신고가 잘못되었으면 남겨 주세요.",
)


def ask_for_review(
    prompt: str,
    show: Callable[[Example], Mapping[str, Any]] | None = None,
    names: Mapping[str, str] | None = None,
) -> Ask:
    """Ask whether what workers reported must go.

    `show` gives the items as reviewers see them, `names` what is called otherwise on their page.
    """
    return Ask(
        "review",
        "whether what a worker reported must go",
        ("reported",),
        "choice",
        "verdict",
        "reviewers",
        prompt=prompt,
        heading="신고된 글 확인",
        guideline=REVIEW_POINTS,
        names={KEEP: "남긴다", DISCARD: "버린다", **(names or {})},
        show=show,
        labels=(KEEP, DISCARD),
        simulate=simulate_review,
    )


def review_reports(
    title: str,
    prompt: str,
    items: str,
    ask: str,
    gone: Mapping[str, str] | None = None,
    uses: tuple[str, ...] = (),
) -> tuple[Stage | Ask, ...]:
    """Set apart what workers reported in an `Ask`, let it be reviewed, and unite what may stay in
    the set `sound`.

    Args:
        title: what the first stage does.
        prompt: what reviewers read.
        gone: reports that drop an item at once, each with the reason; the setting `undecided` says how many it takes.
    """
    both = ("unreported", "reported")
    return (
        Stage("checked", title, set_apart(items, ask, gone), (items, ask), uses, both),
        ask_for_review(prompt),
        Stage("sound", "not reported, or kept on review", readmit_items, (*both, "review")),
    )


def simulate_review(example: Example, config: Any, random: Random) -> str:
    """A reviewer who mostly agrees with the report."""
    return DISCARD if random.random() < 0.8 else KEEP
