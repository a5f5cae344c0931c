"""How KLUE-NLI was made (KLUE 3.3.1): premises, a written hypothesis for each label, four
validators, least artifacts.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace as dataclass_replace
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Annotated, Any, cast

from msgspec import Meta
from msgspec.structs import replace

from nikawa.datasets.klue.klue_nli import DATASET, LABELS, MAX_PREMISE_CHARS, MIN_PREMISE_CHARS
from nikawa.datasets.known import KnownFinding
from nikawa.errors import BadInput
from nikawa.recipes.decide import check_split, check_votes, describe_answers, most_voted, random_key
from nikawa.recipes.klue.reports import (
    ETHICS,
    Reviewed,
    ask_for_review,
    given_answers,
    given_or_decided_answers,
    kept_on_review,
    set_apart,
)
from nikawa.recipes.klue.texts import draw_by_group, split_texts, take_texts
from nikawa.recipes.recipe import (
    FROM,
    Ask,
    Dropped,
    Inputs,
    Kept,
    One,
    Outcomes,
    Positive,
    Recipe,
    Share,
    Stage,
    built_card,
    splits_stage,
)
from nikawa.records import Card, Example, Origin

if TYPE_CHECKING:
    from nikawa.splitting.base import SplitterSettings

FORMAL, COLLOQUIAL = "formal", "colloquial"
TASK = replace(DATASET.tasks[0], name="klue-nli, hypothesis only", inputs=("hypothesis",))


def intact(pairs: Sequence[Example]) -> set[str]:
    """The premises that have all their hypotheses, each with the label that was meant."""
    right = Counter(str(pair.group) for pair in pairs if pair.gold["label"] == pair.meta["author"])
    return {group for group, count in right.items() if count == len(LABELS)}


def quotas(pairs: Sequence[Example], wanted: int, colloquial: float) -> dict[str, int]:
    """Pairs of each source in an evaluation part, in whole sets.

    Each source of a style gives the same.
    """
    styles: dict[str, Counter[str]] = {FORMAL: Counter(), COLLOQUIAL: Counter()}
    for pair in pairs:
        styles[pair.meta["style"]][pair.meta["source"]] += 1
    shares = {FORMAL: 1 - colloquial, COLLOQUIAL: colloquial}
    total = sum(shares[style] for style, sources in styles.items() if sources) or 1
    size = len(LABELS)
    return {
        source: min(round(wanted * shares[style] / total / len(sources) / size), held // size // 2)
        * size
        for style, sources in styles.items()
        for source, held in sources.items()
    }


def signal(pairs: Sequence[Example], config: Any) -> Mapping[str, Mapping[str, float]]:
    """By pair the probabilities a model gives the labels that sees the hypothesis alone, and never
    the pair's premise.
    """
    from nikawa.models import Trainable, model
    from nikawa.models.folds import predict_out_of_fold

    groups = [str(pair.group) for pair in pairs]
    predictions = predict_out_of_fold(
        lambda: cast(Trainable, model(config.model, seed=config.seed)),
        TASK,
        pairs,
        groups,
        seed=config.seed,
    )
    if any(prediction.scores is None for prediction in predictions):
        raise BadInput(f"the model {config.model} gives no probabilities", cure="use char-linear")
    return {
        pair.id: prediction.scores or {}
        for pair, prediction in zip(pairs, predictions, strict=True)
    }


def least_signal(
    pairs: Sequence[Example], wanted: Mapping[str, int], settings: SplitterSettings, config: Any
) -> dict[str, list[Example]]:
    """Train, dev and test; `wanted` says how many pairs dev and test should hold."""
    from nikawa.splitting.artifacts import split_by_artifact

    scores, whole = signal(pairs, config), intact(pairs)
    options = dataclass_replace(settings, signal=lambda some, _: [scores[e.id] for e in some])
    parts: dict[str, list[Example]] = {
        "train": [e for e in pairs if e.group not in whole],
        "dev": [],
        "test": [],
    }
    able = [pair for pair in pairs if pair.group in whole]
    given = {part: quotas(able, wanted[part], config.colloquial) for part in ("dev", "test")}
    for source in dict.fromkeys(str(pair.meta["source"]) for pair in able):
        members = [pair for pair in able if pair.meta["source"] == source]
        dev, test = given["dev"][source], given["test"][source]
        sizes = {"train": len(members) - dev - test, "dev": dev, "test": test}
        for part, chosen in split_by_artifact(members, sizes, options).items():
            parts[part] += chosen
    return parts


REPORTS = (*ETHICS, "undecidable")
"""How a writer hands premises back."""
_FORMULA = re.compile(r"[=≠≤≥±√∑∫]|^\s*(?:[-•*▲■]|\d+[.)])\s")
_ENDINGS = frozenset("다요죠네군나걸듯데지어아야해봐라")
"""Last syllables of declarative predicates, and of nouns made from verbs (-음, -함)."""


def fault(text: str, config: Any) -> str:
    """Why a sentence is no premise; empty where it can be one."""
    if not config.shortest <= len(text) <= config.longest:
        return f"not {config.shortest} to {config.longest} characters"
    if not config.propositions:
        return ""
    if text.rstrip("\"'”’) ").endswith("?"):
        return "a question"
    if _FORMULA.search(text):
        return "a formula or a list"
    return "" if is_statement(text) else "does not end in a predicate"


def is_statement(text: str) -> bool:
    """Whether the last syllable can end a statement: one of a few endings, or one closed by ㅁ (-음,
    -함).
    """
    last = next((c for c in reversed(text) if c.isalnum()), "")
    syllable = ord(last) - 0xAC00 if last else -1
    return last in _ENDINGS or (0 <= syllable < 11172 and syllable % 28 == 16)


def simulate_hypotheses(example: Example, config: Any, random: Random) -> list[str] | str:
    """Made-up hypotheses: the end of the premise, its denial, and something unrelated.

    Some premises are reported.
    """
    if random.random() < 0.03:
        return random.choice(REPORTS)
    words = example.inputs["text"].rstrip(".!").split()
    rest = " ".join(words[random.randrange(1, max(2, len(words) // 2)) :]) or words[0]
    where = random.choice(("서울에서", "어제", "가족과 함께", "처음으로"))
    return [f"{rest}.", f"{rest}는 것은 사실이 아니다.", f"{where} {rest}."]


def simulate_label(example: Example, config: Any, random: Random) -> str:
    """A worker who mostly sees what was meant."""
    return str(example.meta["author"]) if random.random() < 0.88 else random.choice(LABELS)


FOLDS = 5
"""Premises the split cannot do with less of: its model learns from the others."""


class KlueNli(Reviewed, kw_only=True):
    """Settings of the recipe; the numbers are those of the paper."""

    sentences: str = ""
    """File of sentences: JSON lines of {id, text, source, style, url, licence}, or records; style
    is formal or colloquial."""
    shortest: Positive = MIN_PREMISE_CHARS
    """Minimum number of characters of a premise, including blanks (KLUE 3.3.1)."""
    longest: Positive = MAX_PREMISE_CHARS
    """Maximum number of characters of a premise (3.3.1)."""
    propositions: bool = True
    """Whether questions, formulae, lists and sentences that do not end in a predicate are left out,
    by a rough rule (3.3.1 asks for declarative sentences with a predicate)."""
    premises: Positive = 10000
    """Number of premises drawn, balanced over the sources (3.3.1)."""
    writers: One = 1
    """Workers who write hypotheses for a premise (3.3.1)."""
    hypotheses: Annotated[int, Meta(ge=3, le=3)] = 3
    """Number of hypotheses per worker: entailment, contradiction, neutral, in this order (3.3.1).
    """
    validators: Positive = 4
    """Further workers who label a pair (3.3.1)."""
    votes: Positive = 3
    """Number of equal labels of writer and validators needed for gold (3.3.1)."""
    split: str = "0.8064,0.0968,0.0968"
    """Sizes of train, dev and test (3.3.1: 24,998, 3,000, 3,000; both from the lowest 20%)."""
    colloquial: Share = 0.4
    """Share of colloquial sources in dev and test (3.3.1)."""
    model: str = "char-linear"
    """The model that reads only hypotheses; the paper fine-tuned KLUE-RoBERTa-base (3.3.1), as
    encoder:PATH can."""


def take_sentences(inputs: Inputs, config: Any) -> Outcomes:
    """Sentences of the length asked for that state something, each once."""
    path = inputs.file("sentences")
    for outcome in take_texts(
        path, "klue-nli", ("source", "style"), config, "a statement of the length asked for"
    ):
        example = outcome.example
        if example.meta["style"] not in (FORMAL, COLLOQUIAL):
            what, line = (
                f"{example.meta['style']!r} is not a style",
                int(example.meta[FROM]["line"]),
            )
            cure = f"write {FORMAL} or {COLLOQUIAL}"
            raise BadInput(what, file=path, line=line, cure=cure)
        why = fault(example.inputs["text"], config) if isinstance(outcome, Kept) else ""
        yield Dropped(example, why) if why else outcome


def choose_premises(inputs: Inputs, config: Any) -> Outcomes:
    """As even a number of premises of each source as can be."""
    from nikawa.splitting.base import quotas

    statements = list(inputs.examples("statements"))
    if len(statements) < FOLDS:
        raise BadInput(
            f"{len(statements)} premises are too few for the split",
            cure=f"provide at least {FOLDS}",
        )
    limits = quotas(Counter(str(e.meta["source"]) for e in statements), config.premises)
    yield from draw_by_group(statements, lambda e: str(e.meta["source"]), limits.get, config.seed)


def pair_written(inputs: Inputs, config: Any) -> Outcomes:
    """A premise with each hypothesis written for it, under the label that was meant."""
    for items, ask in (("unreported", "hypotheses"), ("readmitted", "hypotheses-again")):
        written = given_or_decided_answers(inputs, ask)
        for premise in inputs.examples(items):
            if premise.id not in written:
                yield Dropped(premise, "handed back a second time")
                continue
            made = pair_hypotheses(premise, written[premise.id][0].answer)
            yield from sorted(made, key=lambda outcome: outcome.example.id)


def pair_id(premise: str, label: str) -> str:
    """A name by which validators cannot tell the label that was meant: counted in an order drawn
    for each premise.
    """
    order = sorted(LABELS, key=lambda name: random_key(0, "hypothesis", premise, name))
    return f"{premise}-{order.index(label) + 1}"


def pair_hypotheses(premise: Example, written: Sequence[str]) -> Outcomes:
    """A premise with the hypotheses that were written for it, in the order of the labels."""
    text, seen = premise.inputs["text"], set[str]()
    known = {name: premise.meta[name] for name in ("source", "style")}
    for label, hypothesis in zip(LABELS, (" ".join(t.split()) for t in written), strict=True):
        made = Example(
            id=pair_id(premise.id, label),
            inputs={"premise": text, "hypothesis": hypothesis},
            meta={**known, "author": label},
            group=premise.id,
            origin=Origin(recipe="klue-nli", parents=(premise.id,), step=label),
        )
        if hypothesis == text or hypothesis in seen:
            yield Dropped(made, "the hypothesis repeats the premise or another one")
        else:
            yield Kept(made, f"written to be {label}")
        seen.add(hypothesis)


def label_pairs(inputs: Inputs, config: Any) -> Outcomes:
    """The label of most of five: the writer's and the validators'."""
    judged, book = given_answers(inputs, "validation"), inputs.decisions("validation")
    for pair in inputs.examples("pairs"):
        others = judged.get(pair.id, [])
        labels = [pair.meta["author"], *(judgement.answer for judgement in others)]
        voted = most_voted(labels, config.votes)
        gold, decided = book.settle(pair.id, voted), book.explain(pair.id, voted)
        reason = f"meant {pair.meta['author']}, validated {describe_answers(others)}"
        if gold is None:
            yield Dropped(pair, f"no {config.votes} equal labels", reason)
            continue
        made = replace(pair, gold={"label": gold})
        rule = f"{labels.count(gold)} of {len(labels)} labels, {config.votes} needed: {reason}"
        yield Kept(made, f"{decided}; {rule}" if decided else rule)


def split(inputs: Inputs, config: Any) -> Outcomes:
    """Sets that say least by their hypotheses alone for dev and test."""

    def rule(part: str, pair: Example) -> str:
        return "the rest" if part == "train" else "a whole set, hypotheses near to uniform"

    splitter = partial(least_signal, config=config)
    yield from split_texts(inputs, config, "labelled", splitter, rule, fields=("group",))


def check(config: Any) -> None:
    """Refuse settings that could not be met."""
    check_split(config)
    if config.votes > config.validators + 1:
        what = (
            f"votes = {config.votes} is more than the writer and validators = {config.validators}"
        )
        raise BadInput(what, cure="no pair could ever be accepted: lower one or raise the other")
    check_votes("shortest", "longest", config)
    from nikawa.models import Trainable, model

    if not isinstance(model(config.model), Trainable):
        raise BadInput(f"the model {config.model} does not learn", cure="use char-linear")


def by_design(config: Any) -> tuple[KnownFinding, ...]:
    """What the author of a hypothesis was asked for, which is one of the votes."""
    reason = "the label that the author was asked to write for, as published (KLUE 3.3.1): show a model premise and hypothesis alone"
    return (KnownFinding(check="giveaway", where="meta.author in *", reason=reason),)


def card(config: Any) -> Card:
    """KLUE-NLI's own card, for a dataset made here."""
    return built_card(
        DATASET.card,
        config,
        title="Inference with written hypotheses, made as KLUE-NLI was",
        description="Premises, each with written hypotheses that follow from it, contradict it, or do neither.",
        labels=f"At least {config.votes} equal labels of the writer's intention and {config.validators} validators; other pairs were dropped.",
        source=f"Sentences of {config.shortest} to {config.longest} characters, formal and colloquial",
        problems=(
            "Hypotheses were written for a label, so they partly reveal it; dev and test contain the sets where they reveal the least.",
        ),
    )


PROMPT = (
    "전제가 참일 때 (1) 반드시 참인 문장, (2) 반드시 거짓인 문장, (3) 참일 수도 거짓일 수도 있는 문장을 이 순서로 한 줄에 하나씩 쓰세요. "
    "세 문장의 길이를 비슷하게 하고 같은 단어를 반복하지 마세요. 이해하기 어려우면 undecidable, 개인정보·혐오·편향이 있으면 personal, hate, bias로 신고하세요."
)


def show_premise(premise: Example) -> dict[str, Any]:
    """A premise as its writer sees it."""
    return {"premise": premise.inputs["text"]}


def ask_for_hypotheses(name: str, title: str, items: str) -> Ask:
    """Ask for a hypothesis of each label for the premises of a set."""
    return Ask(
        name,
        title,
        (items,),
        "write-hypotheses",
        "hypotheses",
        "writers",
        prompt=PROMPT,
        heading="전제에 맞는 가설 쓰기",
        names={"report_undecidable": "전제를 이해하기 어려움"},
        show=show_premise,
        texts="hypotheses",
        reports=REPORTS,
        simulate=simulate_hypotheses,
    )


RECIPE = Recipe(
    name="klue-nli",
    title="inference with written hypotheses: KLUE-NLI (KLUE 3.3)",
    language="ko",
    config=KlueNli,
    sources=("sentences",),
    stages=(
        Stage(
            "statements",
            "sentences of the length asked for that state something, each once",
            take_sentences,
            ("sentences",),
            ("shortest", "longest", "propositions", "cleaning"),
        ),
        Stage(
            "premises",
            "premises drawn by chance, as many of each source as can be",
            choose_premises,
            ("statements",),
            ("premises", "seed"),
        ),
        ask_for_hypotheses("hypotheses", "a hypothesis for each label", "premises"),
        Stage(
            "checked",
            "premises the writer skipped are left out, those reported are set apart",
            set_apart("premises", "hypotheses", {"undecidable": "skipped by the writer"}),
            ("premises", "hypotheses"),
            (),
            ("unreported", "reported"),
        ),
        ask_for_review("신고된 문장입니다. 전제로 유지해도 됩니까?"),
        Stage(
            "readmitted",
            "reported premises that are kept on review",
            kept_on_review,
            ("reported", "review"),
        ),
        ask_for_hypotheses(
            "hypotheses-again", "hypotheses for premises that were kept on review", "readmitted"
        ),
        Stage(
            "pairs",
            "a premise and a hypothesis, under the label that was meant",
            pair_written,
            ("unreported", "readmitted", "hypotheses", "hypotheses-again"),
            edition=2,
        ),
        Ask(
            "validation",
            "the relation of a premise to a hypothesis",
            ("pairs",),
            "inference",
            "label",
            "validators",
            labels=LABELS,
            heading="전제와 가설의 관계 고르기",
            apart=("hypotheses", "hypotheses-again"),
            simulate=simulate_label,
            prompt="전제(premise)가 참일 때 가설(hypothesis)이 반드시 참이면 entailment, 반드시 거짓이면 contradiction, 알 수 없으면 neutral을 고르세요.",
        ),
        Stage(
            "labelled",
            "enough equal labels of the writer and of validators who did not write it",
            label_pairs,
            ("pairs", "validation"),
            ("votes",),
        ),
        splits_stage(
            "premise sets whose hypotheses alone give the least away, by source and style, for dev and test",
            split,
            ("labelled",),
            ("split", "colloquial", "model", "seed"),
        ),
    ),
    card=card,
    by_design=by_design,
    check=check,
    question="label",
    notes=(
        "A rough check of the form decides whether a sentence is a proposition with a predicate; writers skip the others.",
        "A worker who wrote for a premise may not validate its pairs.",
        "Dev and test contain only complete sets: three pairs, each with the label that was meant, as in the published dev set.",
        "The paper ranks hypotheses by a fine-tuned encoder; the default here is a linear model on characters (model).",
    ),
)
