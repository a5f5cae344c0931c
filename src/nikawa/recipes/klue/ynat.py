"""How YNAT was made (KLUE 3.1.1): headlines by section, three workers who rank up to three topics,
a split by date.
"""

from __future__ import annotations

import re
from datetime import date
from random import Random
from typing import Annotated, Any

from msgspec import Meta
from msgspec.structs import replace

from nikawa.datasets.klue.ynat import DATASET, LABELS
from nikawa.datasets.known import KnownFinding
from nikawa.errors import BadInput
from nikawa.recipes.decide import check_split, check_votes, most_voted
from nikawa.recipes.klue.reports import (
    ETHICS,
    Reviewed,
    given_answers,
    review_reports,
)
from nikawa.recipes.klue.texts import (
    check_analyser,
    counts_of,
    draw_by_group,
    split_texts,
    take_texts,
    words_of,
)
from nikawa.recipes.recipe import (
    Ask,
    Dropped,
    Inputs,
    Kept,
    Outcomes,
    Positive,
    Recipe,
    Share,
    Stage,
    built_card,
    splits_stage,
)
from nikawa.records import Card, Example

DAY = r"^\d{4}-\d{2}-\d{2}$"


class Ynat(Reviewed, kw_only=True):
    """Settings of the recipe; the numbers are those of the paper."""

    headlines: str = ""
    """File of headlines: JSON lines of {id, text, category, date, url, licence}, or records."""
    since: Annotated[str, Meta(pattern=DAY)] = "2016-01-01"
    """First day of publication (KLUE 3.1.1)."""
    until: Annotated[str, Meta(pattern=DAY)] = "2020-12-31"
    """Last day of publication (3.1.1)."""
    section: Positive = 10000
    """Number of headlines drawn per section (3.1.1)."""
    sections: tuple[str, ...] = ("스포츠=9000", "IT과학=11000")
    """Sections with a different number of headlines (3.1.1)."""
    workers: Positive = 3
    """Workers who label a headline (3.1.1)."""
    topics: Positive = 3
    """Maximum number of topics a worker may rank (3.1.1)."""
    undecided: Positive = 1
    """Minimum number of workers unable to decide for a headline to be dropped; the paper does not say how
    many."""
    votes: Positive = 2
    """Minimum number of workers with the same first topic (3.1.1)."""
    split: str = "0.715,0.1425,0.1425"
    """Shares of train, dev and test: the ratio of dev to test, and of how many the share unseen is
    taken (published: 45,678, 9,107, 9,107)."""
    after: Annotated[str, Meta(pattern=DAY)] = "2020-01-01"
    """First day of dev and test (3.1.1: headlines of 2020)."""
    unseen: Share = 0.1
    """Share of dev and test that is older but contains terms that train does not (3.1.1; the paper does not
    say how many)."""
    analyser: str = "none"
    """How terms are found for that: an analyser, or none for words separated by blanks."""


def is_day(text: str) -> bool:
    """Whether a text is a day of the calendar, as 2020-01-31."""
    try:
        return bool(re.fullmatch(DAY, text)) and bool(date.fromisoformat(text))
    except ValueError:
        return False


def take_headlines(inputs: Inputs, config: Any) -> Outcomes:
    """Headlines of the seven sections, of the years asked for, each once."""
    path = inputs.file("headlines")
    for outcome in take_texts(
        path, "ynat", ("category", "date"), config, "a headline of a section and period"
    ):
        meta = outcome.example.meta
        if not is_day(meta["date"]):
            cure = "write dates as 2020-01-31"
            raise BadInput(
                f"{meta['date']!r} is not a date",
                file=path,
                line=int(meta["from"]["line"]),
                cure=cure,
            )
        if isinstance(outcome, Kept) and meta["category"] not in LABELS:
            yield Dropped(outcome.example, "another section", meta["category"])
        elif isinstance(outcome, Kept) and not config.since <= meta["date"] <= config.until:
            yield Dropped(outcome.example, "published too early or too late", meta["date"])
        else:
            yield outcome


def draw_headlines(inputs: Inputs, config: Any) -> Outcomes:
    """So many of each section by chance.

    There must be headlines on both sides of the date of the split.
    """
    headlines, limits = list(inputs.examples("taken")), counts_of(config.sections, "sections")
    dates = {headline.meta["date"] >= config.after for headline in headlines}
    if headlines and dates != {True, False}:
        what = f"all headlines are {'from' if dates == {True} else 'older than'} {config.after}"
        raise BadInput(
            what,
            cure="set after to a date within those of the headlines: train is older, dev and test are not",
        )
    yield from draw_by_group(
        headlines,
        lambda headline: str(headline.meta["category"]),
        lambda section: limits.get(section, config.section),
        config.seed,
    )


def decide_topics(inputs: Inputs, config: Any) -> Outcomes:
    """The topic that enough workers put first.

    What they put second and third stays in their judgements.
    """
    ranked, book = given_answers(inputs, "topics"), inputs.decisions("topics")
    for headline in inputs.examples("sound"):
        firsts = [judgement.answer[0] for judgement in ranked.get(headline.id, ())]
        voted, votes = most_voted(firsts, config.votes), ", ".join(sorted(firsts))
        label, decided = book.settle(headline.id, voted), book.explain(headline.id, voted)
        label = label[0] if isinstance(label, list) else label
        if label is None:
            yield Dropped(headline, f"no {config.votes} workers put one topic first", votes)
        else:
            made = replace(headline, gold={"label": label})
            rule = f"{firsts.count(label)} of {len(firsts)} put it first, {config.votes} needed: {votes}"
            yield Kept(made, f"{decided}; {rule}" if decided else rule)


def split(inputs: Inputs, config: Any) -> Outcomes:
    """New headlines for dev and test, with older ones that hold terms no other older headline has."""
    from nikawa.splitting.dates import split_by_date

    def rule(part: str, headline: Example) -> str:
        if headline.meta["date"] >= config.after:
            return f"published {headline.meta['date']}"
        before = f"published before {config.after}"
        return before if part == "train" else "older, with terms train does not hold"

    yield from split_texts(
        inputs,
        config,
        "agreed",
        split_by_date,
        rule,
        fields=("date",),
        after=config.after,
        unseen=config.unseen,
        words=words_of(config.analyser),
    )


def simulate(example: Example, config: Any, random: Random) -> list[str] | str:
    """A worker who follows the section, adds a second topic now and then, and reports some
    headlines.
    """
    if (chance := random.random()) < 0.05:
        return random.choice((*ETHICS, "undecidable"))
    first = example.meta["category"] if chance < 0.85 else random.choice(LABELS)
    others = [label for label in LABELS if label != first]
    return [first, *random.sample(others, random.choice((0, 0, 0, 1)) if config.topics > 1 else 0)]


def check(config: Any) -> None:
    """Refuse settings that could not be met."""
    check_split(config)
    for name in ("since", "until", "after"):
        if not is_day(getattr(config, name)):
            raise BadInput(
                f"{name} = {getattr(config, name)!r} is not a day", cure="write it as 2020-01-31"
            )
    check_votes("votes", "workers", config)
    counts_of(config.sections, "sections")
    check_analyser(config)


def by_design(config: Any) -> tuple[KnownFinding, ...]:
    """The section of the newspaper."""
    reason = "the section that the publisher chose; workers did not see it (KLUE 3.1.1)"
    return (KnownFinding(check="giveaway", where="meta.category in *", reason=reason),)


def card(config: Any) -> Card:
    """YNAT's own card, for a dataset made here."""
    return built_card(
        DATASET.card,
        config,
        title="Topics of news headlines, made as YNAT was",
        description="News headlines with one of seven topics.",
        labels=f"The topic that at least {config.votes} of {config.workers} workers put first; headlines without such a majority were dropped.",
        source=f"News headlines, {config.since} to {config.until}; dev and test from {config.after}, or with terms train does not hold",
        problems=(
            "Dev and test were chosen to hold words that train does not, and may have other shares of topics.",
        ),
    )


PROMPT = "기사 제목의 주제를 관련이 큰 순서로 세 개까지 고르세요. 판단할 수 없으면 undecidable, 개인정보·혐오·편향이 있으면 personal, hate, bias로 신고하세요."
POINTS = (
    "기사 제목만 읽고 주제를 골라 주세요. 기사 본문은 찾아보지 마세요.",
    "가장 관련이 큰 주제를 먼저 고르고, 다른 주제와도 관련이 있으면 순서대로 더 골라 주세요. 하나만 골라도 됩니다.",
    "제목만으로 주제를 정할 수 없으면 ‘판단할 수 없음’으로 신고해 주세요.",
)
RECIPE = Recipe(
    name="ynat",
    title="topics of news headlines: YNAT (KLUE 3.1)",
    language="ko",
    config=Ynat,
    sources=("headlines",),
    stages=(
        Stage(
            "taken",
            "headlines of seven sections and of the years asked for, each once",
            take_headlines,
            ("headlines",),
            ("since", "until", "cleaning"),
        ),
        Stage(
            "chosen",
            "so many of each section, drawn by chance",
            draw_headlines,
            ("taken",),
            ("section", "sections", "after", "seed"),
        ),
        Ask(
            "topics",
            "up to three topics, the best first",
            ("chosen",),
            "ranked",
            "label",
            "workers",
            prompt=PROMPT,
            heading="기사 제목의 주제 고르기",
            guideline=POINTS,
            names={"text": "기사 제목"},
            labels=LABELS,
            texts="topics",
            reports=(*ETHICS, "undecidable"),
            simulate=simulate,
            uses=("topics",),
        ),
        *review_reports(
            "headlines on which workers could decide; those reported are set apart",
            "신고된 기사 제목입니다. 데이터에 유지해도 됩니까?",
            "chosen",
            "topics",
            {"undecidable": "workers are unable to decide"},
            ("undecided",),
        ),
        Stage(
            "agreed",
            "enough workers put one topic first",
            decide_topics,
            ("sound", "topics"),
            ("votes",),
        ),
        splits_stage(
            "train before a date, dev and test from it on, with unseen terms",
            split,
            ("agreed",),
            ("split", "after", "unseen", "analyser", "seed"),
        ),
    ),
    card=card,
    by_design=by_design,
    check=check,
    question="label",
    notes=(
        "The paper does not say how many workers must be unable to decide before a headline is left out: one, here.",
        "The paper does not say how many older headlines with unseen terms went to dev and test, nor what a term is (unseen, analyser).",
        "Workers passed a pilot first; nikawa collect has qualification tests for that.",
    ),
)
