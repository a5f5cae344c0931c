"""How KLUE-STS was made (KLUE 3.2.1): pairs by several ways, seven ratings, workers left out, a
flat split.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from random import Random
from typing import Annotated, Any

from msgspec import Meta
from msgspec.structs import replace

from nikawa.datasets.klue.klue_sts import DATASET
from nikawa.datasets.known import KnownFinding
from nikawa.datasets.subsets import group_by
from nikawa.pairing.linked import Linked, pair_different_links, pair_same_link
from nikawa.recipes.decide import NOBODY, character_overlap, check_split, check_votes, random_key
from nikawa.recipes.klue.reports import (
    ETHICS,
    Reviewed,
    is_report,
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
from nikawa.records import Card, Example, Origin

PAIRED = ("translated", "matched", "alike", "unlike")
"""The sets of pairs, by how they were paired."""


def take_sentences(inputs: Inputs, config: Any) -> Outcomes:
    """Each sentence once, to be translated, to be matched, or to be paired by its intent."""
    for outcome in take_texts(inputs.file("sentences"), "klue-sts", ("source",), config):
        if isinstance(outcome, Dropped):
            yield outcome
            continue
        sentence = outcome.example
        share = int.from_bytes(random_key(config.seed, "round trip", sentence.id)) / 2**64
        translated = config.translators and share < config.round_trip_share
        if "intent" in sentence.meta:
            yield outcome._replace(into="queries")
        elif translated or "round_trip" in sentence.meta:
            yield outcome._replace(into="to-translate")
        else:
            yield outcome._replace(into="to-match")


def translate_back(inputs: Inputs, config: Any) -> Outcomes:
    """A sentence and what became of it there and back, unless it came back as it was or not at all."""
    from nikawa.pairing.translate import round_trip

    sentences = list(inputs.examples("to-translate"))
    open_ = [s for s in sentences if "round_trip" not in s.meta]
    back = round_trip([s.inputs["text"] for s in open_], *config.translators) if open_ else []
    known = {sentence.id: text for sentence, text in zip(open_, back, strict=True)}
    for sentence in sentences:
        text = " ".join(str(sentence.meta.get("round_trip", known.get(sentence.id, ""))).split())
        made = _pair("rtt", (sentence,), text, "rtt")
        if not text or text == sentence.inputs["text"]:
            yield Dropped(made, "comes back unchanged or empty")
        else:
            yield Kept(made, "a sentence and its round trip")


def match_sentences(inputs: Inputs, config: Any) -> Outcomes:
    """A random sentence with that of the highest ROUGE of its corpus, both leave, and so on."""
    from nikawa.pairing.greedy import algorithm1
    from nikawa.pairing.units import encode, find_units

    units = find_units("words" if config.units == "none" else config.units)
    for members in group_by_source(inputs.examples("to-match")):
        coded, left = encode(units(s.inputs["text"] for s in members)), {*range(len(members))}
        for one, other, score in algorithm1(coded, config.rouge, seed=config.seed):
            left -= {one, other}
            made = _pair(
                "gsm", (members[one], members[other]), members[other].inputs["text"], "sampled"
            )
            yield Kept(made, f"greedy sentence matching, ROUGE-{config.rouge} {score:.3f}")
        yield from (
            Dropped(members[place], "no partner left in its corpus") for place in sorted(left)
        )


def pair_alike(inputs: Inputs, config: Any) -> Outcomes:
    """Queries of one intent."""
    pairing = partial(pair_same_link, most=config.same_intent, seed=config.seed)
    for one, other in _pair_queries(inputs, pairing):
        yield Kept(_pair("same", (one, other), other.inputs["text"], "para"), "the same intent")


def pair_unlike(inputs: Inputs, config: Any) -> Outcomes:
    """Queries of two intents that share a topic."""
    for one, other in _pair_queries(inputs, partial(pair_different_links, seed=config.seed)):
        made = _pair("other", (one, other), other.inputs["text"], "sampled")
        yield Kept(made, "different intents of one topic")


def _pair_queries(
    inputs: Inputs, pairing: Callable[[list[Linked]], Iterable[tuple[int, int]]]
) -> Iterator[tuple[Example, Example]]:
    """The queries of each corpus in pairs, as `pairing` links their intents and topics."""
    for queries in group_by_source(inputs.examples("queries")):
        links = [Linked(q.id, str(q.meta["intent"]), str(q.meta.get("topic", ""))) for q in queries]
        for one, other in pairing(links):
            yield queries[one], queries[other]


def draw_pairs(inputs: Inputs, config: Any) -> Outcomes:
    """So many pairs of each corpus by chance, without those a pilot used and those that come twice."""
    limits, pilot = counts_of(config.pairs, "pairs"), set(config.pilot)
    seen: set[frozenset[str]] = set()
    fresh = []
    for pair in (pair for name in PAIRED for pair in inputs.examples(name)):
        both = frozenset(pair.inputs.values())
        if pair.id in pilot:
            yield Dropped(pair, "used in the pilot")
        elif both in seen:
            yield Dropped(pair, "the same two sentences came before")
        else:
            fresh.append(pair)
        seen.add(both)
    yield from draw_by_group(fresh, lambda pair: str(pair.meta["corpus"]), limits.get, config.seed)


def group_by_source(sentences: Iterable[Example]) -> Iterable[list[Example]]:
    """The sentences of each corpus."""
    return group_by(sentences, lambda sentence: str(sentence.meta["source"])).values()


def _pair(way: str, sentences: Sequence[Example], second: str, kind: str) -> Example:
    names, corpus = tuple(sentence.id for sentence in sentences), str(sentences[0].meta["source"])
    return Example(
        id="-".join((way, *names)),
        inputs={"sentence1": sentences[0].inputs["text"], "sentence2": second},
        meta={"source": f"{corpus}-{kind}", "corpus": corpus},
        origin=Origin(recipe="klue-sts", parents=names, step=way),
    )


class KlueSts(Reviewed, kw_only=True):
    """Settings of the recipe; the numbers are those of the paper."""

    sentences: str = ""
    """File of sentences: JSON lines of {id, text, source, intent, topic, round_trip, url, licence},
    or records."""
    translators: tuple[str, ...] = ()
    """Commands for round-trip translation, one line per line (KLUE 3.2.1: through English); empty if the lines contain their round_trip."""
    round_trip_share: Share = 0.5
    """Share of the sentences without intent that are translated; the paper does not say."""
    rouge: Annotated[str, Meta(pattern="^[12L]$")] = "L"
    """ROUGE of greedy matching: 1, 2 or L; the paper does not say which (3.2.1)."""
    units: str = "words"
    """The units that it counts: words, characters, or the morphemes of an analyser; the paper does not say.
    """
    same_intent: Positive = 2
    """Maximum number of pairs per intent; the paper does not say."""
    pairs: tuple[str, ...] = ("airbnb=7375", "policy=2956", "paraKQC=4538")
    """Number of pairs to rate per corpus; all pairs of corpora that are not listed (3.2.1)."""
    pilot: tuple[str, ...] = ()
    """Ids of pairs used in a pilot, which are skipped (3.2.1)."""
    workers: Positive = 7
    """Workers who rate a pair (3.2.1)."""
    least_r: Annotated[float, Meta(ge=-1, le=1)] = 0.80
    """Minimum correlation with the others; other workers are excluded (3.2.1)."""
    least_alpha: Annotated[float, Meta(ge=-1, le=1)] = 0.20
    """Minimum nominal alpha with the others; other workers are excluded (3.2.1)."""
    ratings: Positive = 5
    """Minimum number of ratings per pair after exclusions (3.2.1)."""
    deviation: Annotated[float, Meta(gt=0)] = 2.0
    """Pairs whose ratings have a larger standard deviation are deleted (3.2.1)."""
    split: str = "0.8824,0.0392,0.0784"
    """Sizes of train, dev and test (3.2.1: 11,668, 519, 1,037; dev to test 1 to 2)."""
    bins: Annotated[int, Meta(ge=2)] = 51
    """Bins of the scores over which dev and test are flat (3.2.1)."""
    paraphrase: Annotated[float, Meta(ge=0, le=5)] = 3.0
    """Minimum score of a paraphrase; from this score on, dev and test prefer pairs with little word overlap (3.2.1)."""
    analyser: str = "ko"
    """The analyser for the words whose overlap is measured (3.2.1: MeCab); none for words separated by
    blanks."""


def score_pairs(inputs: Inputs, config: Any) -> Outcomes:
    """The mean of the ratings of workers who agree with the others.

    Pairs on which ratings differ too much are deleted.
    """
    from nikawa.aggregation.decisions import add_decided_items, apply_decisions
    from nikawa.aggregation.table import Table
    from nikawa.aggregation.verdicts import ACCEPTED, apply_rule
    from nikawa.aggregation.workers import drop_workers

    pairs = list(inputs.examples("sound"))
    rated = [j for j in inputs.judgements("similarity") if not is_report(j.answer)]
    if not pairs or not rated:
        return
    table = Table.from_judgements(rated)
    gone = left_out(table, config)
    book = inputs.decisions("similarity")
    left = add_decided_items(drop_workers(table, list(gone)), book.items())
    rule = f"mean+min:{config.ratings}+sd<={config.deviation:g}+digits:16"
    verdicts = apply_decisions(apply_rule(left, rule, "drop"), book)
    place = {name: at for at, name in enumerate(left.items)}
    values, counts = verdicts.answers(), left.per_item()
    workers = ", ".join(f"{name} ({why})" for name, why in gone.items())
    reason = f"left out: {workers}" if gone else ""
    for pair in pairs:
        at = place.get(pair.id)
        if at is None or verdicts.state[at] != ACCEPTED:
            why = f"fewer than {config.ratings} ratings left"
            if at is None:
                why = NOBODY
            elif str(verdicts.names[verdicts.by[at]]).startswith("sd"):
                why = f"standard deviation over {config.deviation:g}"
            yield Dropped(pair, why, reason)
        else:
            mean = float(values[at])
            gold = {"score": mean, "binary": int(mean >= config.paraphrase)}
            meta = {**pair.meta, "rounded": round(mean, 1), "ratings": int(counts[at])}
            met = f"mean of {counts[at]} ratings"
            if at in verdicts.decided:
                met = f"{book.explain(pair.id)}; without it the {met}"
            yield Kept(replace(pair, gold=gold, meta=meta), f"{met}; {reason}" if gone else met)


def left_out(table: Any, config: Any) -> dict[str, str]:
    """The workers below a limit, and which; a figure that cannot be computed is not a reason."""
    from nikawa.aggregation.workers import Limit, quality

    rules = (f"r<{config.least_r:.2f}", f"alpha<{config.least_alpha:.2f}")
    limits = [Limit.parse(rule) for rule in rules]
    workers = {}
    for figures in quality(table):
        why = ", ".join(limit.text for limit in limits if limit.hit(figures))
        if why:
            workers[figures.worker] = why
    return workers


def split(inputs: Inputs, config: Any) -> Outcomes:
    """Dev and test flat over the scores, against word overlap, corpora in the ratio of the whole."""
    from nikawa.splitting.scores import split_by_score

    def rule(part: str, pair: Example) -> str:
        which = "the rest" if part == "train" else "flat over"
        return f"{which} scores, {pair.meta['rounded']}"

    yield from split_texts(
        inputs,
        config,
        "scored",
        split_by_score,
        rule,
        question="score",
        fields=("corpus",),
        bins=config.bins,
        turn=config.paraphrase,
        words=words_of(config.analyser),
    )


def simulate(example: Example, config: Any, random: Random) -> int | str:
    """A worker who counts the characters two sentences share, errs by one at times, and reports
    some pairs.
    """
    if (chance := random.random()) < 0.004:
        return random.choice((*ETHICS, "broken"))
    likely = round(5 * character_overlap(example.inputs["sentence1"], example.inputs["sentence2"]))
    return min(5, max(0, likely + (0 if chance < 0.85 else random.choice((-1, 1)))))


def check(config: Any) -> None:
    """Refuse settings that could not be met."""
    check_split(config)
    check_votes("ratings", "workers", config)
    counts_of(config.pairs, "pairs")
    check_analyser(config)
    from nikawa.pairing.units import find_units

    find_units(config.units)


def by_design(config: Any) -> tuple[KnownFinding, ...]:
    """Queries that are in two pairs, and how a pair was made."""
    made = "how a pair was made is published (rtt, para, sampled): show a model the sentences alone"
    return (
        KnownFinding(
            check="leaked-sentences",
            reason="a query is paired by its intent and with another one (KLUE 3.2.1), and the split is made by scores",
        ),
        *(
            KnownFinding(check="giveaway", where=f"{name} in *", reason=made)
            for name in ("id", "meta.source")
        ),
    )


def card(config: Any) -> Card:
    """KLUE-STS's own card, for a dataset made here."""
    return built_card(
        DATASET.card,
        config,
        title="Similarity of sentences, made as KLUE-STS was",
        labels=f"Mean of the ratings of workers who agree with the others; pairs with a standard deviation above {config.deviation:g} were dropped.",
        source="Sentences with their round trips, greedily matched sentences, queries of the same or of different intents",
        problems=(
            "Dev and test are flat over the scores and hold pairs whose word overlap misleads; train is neither.",
        ),
    )


PROMPT = (
    "두 문장의 의미가 얼마나 비슷한지 0점에서 5점으로 평가하세요. 5: 중요한 내용과 중요하지 않은 내용이 모두 같다. 4: 중요하지 않은 내용이 조금 다르다. "
    "3: 중요한 내용은 비슷하지만 중요하지 않은 내용의 차이를 무시할 수 없다. 2: 중요하지 않은 내용만 일부 같다. 1: 주제만 같다. 0: 주제도 다르다. "
    "번역이 잘못되었으면 broken, 개인정보·혐오·편향이 있으면 personal, hate, bias로 신고하세요."
)
ANCHORS = {
    "0": "주제도 다르다",
    "1": "주제만 같다",
    "2": "중요하지 않은 내용만 일부 같다",
    "3": "중요한 내용은 비슷하지만 중요하지 않은 내용의 차이를 무시할 수 없다",
    "4": "중요한 내용은 같고 중요하지 않은 내용이 조금 다르다",
    "5": "중요한 내용과 중요하지 않은 내용이 모두 같다",
}
BROKEN_NAME = {"report_broken": "번역이 잘못됨"}
POINTS = (
    "두 문장을 끝까지 읽고, 단어가 아니라 의미를 비교해 주세요.",
    "먼저 문장에서 중요한 내용과 중요하지 않은 내용을 구분한 뒤, 각 점수의 설명 중 가장 가까운 것을 골라 주세요.",
    "번역이 잘못되어 의미를 알 수 없는 문장은 신고해 주세요.",
)
TRANSLATED, MATCHED, ALIKE, UNLIKE = PAIRED
RECIPE = Recipe(
    name="klue-sts",
    title="similarity of sentences: KLUE-STS (KLUE 3.2)",
    language="ko",
    config=KlueSts,
    sources=("sentences",),
    stages=(
        Stage(
            "sentences-once",
            "each sentence once, by how it is paired",
            take_sentences,
            ("sentences",),
            ("translators", "round_trip_share", "cleaning", "seed"),
            ("to-translate", "to-match", "queries"),
        ),
        Stage(
            TRANSLATED,
            "a sentence and its round trip, which are similar",
            translate_back,
            ("to-translate",),
            ("translators",),
        ),
        Stage(
            MATCHED,
            "greedy sentence matching by ROUGE (Algorithm 1), which gives less similar pairs",
            match_sentences,
            ("to-match",),
            ("rouge", "units", "seed"),
        ),
        Stage(ALIKE, "queries of one intent", pair_alike, ("queries",), ("same_intent", "seed")),
        Stage(UNLIKE, "queries of two intents of one topic", pair_unlike, ("queries",), ("seed",)),
        Stage(
            "chosen",
            "so many pairs of each corpus, drawn by chance",
            draw_pairs,
            PAIRED,
            ("pairs", "pilot", "seed"),
        ),
        Ask(
            "similarity",
            "how similar two sentences are, 0 to 5",
            ("chosen",),
            "scale",
            "score",
            "workers",
            prompt=PROMPT,
            heading="문장의 의미 유사도 평가",
            guideline=POINTS,
            anchors=ANCHORS,
            names=BROKEN_NAME,
            scale=(0, 5),
            reports=(*ETHICS, "broken"),
            simulate=simulate,
        ),
        *review_reports(
            "pairs that workers reported are set apart",
            "신고된 문장 쌍입니다. 데이터에 유지해도 됩니까?",
            "chosen",
            "similarity",
            names=BROKEN_NAME,
        ),
        Stage(
            "scored",
            "mean of enough ratings by workers who agree with the others, whose deviation is small enough",
            score_pairs,
            ("sound", "similarity"),
            ("least_r", "least_alpha", "ratings", "deviation", "paraphrase"),
        ),
        splits_stage(
            "dev and test flat over the scores and against word overlap",
            split,
            ("scored",),
            ("split", "bins", "paraphrase", "analyser", "seed"),
        ),
    ),
    card=card,
    by_design=by_design,
    check=check,
    question="score",
    notes=(
        "Algorithm 1 is followed for greedy matching; the paper's prose describes another order (the best pair of all first).",
        "The paper does not say which sentences were translated and which matched, nor how many pairs an intent gave.",
        "Scores are the exact mean, as in the published files, with the rounded one next to it; the paper speaks of rounding up, the files are rounded to the nearest.",
        "Workers passed a pilot first; nikawa collect has qualification tests for that.",
    ),
)
