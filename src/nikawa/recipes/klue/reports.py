"""Items that workers report: they are dropped or reviewed (KLUE 1.1 and 3.1 to 3.5).

An answer may be the word of a report instead: `personal` (identifies a person), `hate`, `bias`, and
what a recipe adds. Items that were reported go to a reviewer, who keeps or discards them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from random import Random
from typing import Any

from msgspec.structs import replace

from nikawa.recipes.decide import answers_of, settled_answers
from nikawa.recipes.klue.texts import Texts
from nikawa.recipes.recipe import Ask, Dropped, Inputs, Kept, Outcomes, Positive, Stage
from nikawa.records import Example, Judgement

ETHICS = ("personal", "hate", "bias")
"""Reports that every task of the benchmark asks workers for."""
REPORTS = (*ETHICS, "undecidable", "broken", "boundary")
"""All words of reports; the annotation pages use the same."""
KEEP, DISCARD = "keep", "discard"


class Reviewed(Texts, kw_only=True):
    """Settings of recipes whose reported items are looked at once more."""

    reviewers: Positive = 1
    """People who review items that workers reported; the paper does not say how many."""


def is_report(answer: Any) -> bool:
    """Whether a worker reported the item instead of answering."""
    return isinstance(answer, str) and answer in REPORTS


def given_answers(inputs: Inputs, ask: str) -> dict[str, list[Judgement]]:
    """The answers to an `Ask` by item, without reports."""
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
                yield Kept(note_reports(item, reports), f"reported: {reason}", "reported")
            else:
                yield Kept(item, "nobody reported it", "unreported")

    return run


REPORTED_FOR = "reported_for"
"""Why an item was reported, in its meta until it is reviewed: the words, each once."""
REPORT_NAMES = {
    "personal": "개인정보가 포함되어 있음",
    "hate": "혐오 표현이 있음",
    "bias": "편견이 있음",
    "undecidable": "판단할 수 없음",
    "broken": "글을 읽을 수 없음(글자 깨짐 등)",
    "boundary": "표시된 범위가 잘못됨",
}
"""The text that reviewers see for each kind of report."""


def note_reports(item: Example, words: Iterable[str]) -> Example:
    """An item with what workers reported it for, which its reviewers see."""
    return replace(item, meta={**item.meta, REPORTED_FOR: sorted(set(words))})


def readmit_items(inputs: Inputs, config: Any) -> Outcomes:
    """Items without reports, and reported items that most reviewers keep."""
    for item in inputs.examples("unreported"):
        yield Kept(item, "nobody reported it")
    yield from kept_on_review(inputs, config)


def kept_on_review(inputs: Inputs, config: Any) -> Outcomes:
    """Reported items that most reviewers keep."""
    verdicts = settled_answers(inputs, "review")
    for item in inputs.examples("reported"):
        votes = Counter(judgement.answer for judgement in verdicts.get(item.id, ()))
        plain = replace(item, meta={k: v for k, v in item.meta.items() if k != REPORTED_FOR})
        if votes[KEEP] > votes[DISCARD]:
            yield Kept(plain, "reported, and kept on review")
        else:
            yield Dropped(plain, "reported, and discarded on review")


REVIEW_POINTS = (
    "다른 작업자가 신고한 글입니다. 처음부터 끝까지 읽어 주세요.",
    "특정 개인을 식별할 수 있는 정보, 혐오 표현, 사회적 편견이 있으면 ‘제외’를 골라 주세요.",
    "글자가 깨졌거나 과제에 쓸 수 없으면 ‘제외’를, 신고가 잘못되었으면 ‘유지’를 골라 주세요.",
)


def ask_for_review(
    prompt: str,
    show: Callable[[Example], Mapping[str, Any]] | None = None,
    names: Mapping[str, str] | None = None,
) -> Ask:
    """Ask whether what workers reported must go.

    `show` gives the items as reviewers see them, `names` what is called otherwise on their page. What workers reported an item
    for is shown next to it.
    """
    page_names = {} if names is None else dict(names)

    def show_reported(item: Example) -> dict[str, Any]:
        inputs = dict(item.inputs if show is None else show(item))
        words = item.meta.get(REPORTED_FOR, ())
        reasons = [page_names.get(f"report_{word}") or REPORT_NAMES[word] for word in words]
        return {**inputs, REPORTED_FOR: ", ".join(reasons)} if reasons else inputs

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
        names={KEEP: "유지", DISCARD: "제외", REPORTED_FOR: "신고 사유", **page_names},
        show=show_reported,
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
    names: Mapping[str, str] | None = None,
) -> tuple[Stage | Ask, ...]:
    """Set apart what workers reported in an `Ask`, let it be reviewed, and unite what may stay in
    the set `sound`.

    Args:
        title: what the first stage does.
        prompt: what reviewers read.
        gone: reports that drop an item at once, each with the reason; the setting `undecided` says how many it takes.
        names: what is called otherwise on the reviewers' page.
    """
    both = ("unreported", "reported")
    return (
        Stage("checked", title, set_apart(items, ask, gone), (items, ask), uses, both),
        ask_for_review(prompt, names=names),
        Stage("sound", "not reported, or kept on review", readmit_items, (*both, "review")),
    )


def simulate_review(example: Example, config: Any, random: Random) -> str:
    """A reviewer who mostly agrees with the report."""
    return DISCARD if random.random() < 0.8 else KEEP
