"""How KLUE-NER was made (KLUE 3.4.1): pseudo-labels that workers correct, linguists check and
researchers correct.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from random import Random
from typing import Any

from msgspec import convert, to_builtins
from msgspec.structs import replace

from nikawa.datasets.klue.klue_ner import DATASET, TYPES
from nikawa.recipes.decide import answers_of, check_split, describe_answers, settled_answers
from nikawa.recipes.klue.reports import ETHICS, given_or_decided_answers, is_report
from nikawa.recipes.klue.taggers import tag_sentences
from nikawa.recipes.klue.texts import Texts, split_texts, take_texts
from nikawa.recipes.recipe import (
    Ask,
    Dropped,
    Inputs,
    Kept,
    Outcomes,
    Positive,
    Recipe,
    Stage,
    built_card,
    splits_stage,
)
from nikawa.records import Card, Example, Judgement, Span

RIGHT, WRONG = "right", "wrong"
PUBLIC, PRIVATE = "public", "private"
PERSON = "PS"


class KlueNer(Texts, kw_only=True):
    """Settings of the recipe; the numbers are those of the paper."""

    sentences: str = ""
    """File of sentences: JSON lines of {id, text, source, spans, url, licence}, or records."""
    tagger: str = ""
    """The tagger that proposes entities: a lexicon (.tsv), records a CRF learns from (.jsonl), or a program
    (KLUE 3.4.1: BERT-CRF learned from another corpus)."""
    longest: Positive = 400
    """Maximum number of characters of a sentence (3.4.1)."""
    workers: Positive = 1
    """Workers who correct the entities of a sentence; the paper does not say how many of its 51 saw
    each."""
    checkers: Positive = 2
    """Linguists who check what workers marked (3.4.1)."""
    correctors: Positive = 1
    """Researchers who correct a sentence that was found wrong; the paper had six in total (3.4.1)."""
    inspectors: Positive = 1
    """People who check whether the named persons are public figures; the paper does not say how many."""
    split: str = "0.6774,0.1613,0.1613"
    """Sizes of train, dev and test (3.4.1: 21,008, 5,000, 5,000)."""


def take_sentences(inputs: Inputs, config: Any) -> Outcomes:
    """Sentences that are not too long, each once."""
    for outcome in take_texts(
        inputs.file("sentences"), "klue-ner", ("source",), config, "short enough"
    ):
        if isinstance(outcome, Kept) and len(outcome.example.inputs["text"]) > config.longest:
            yield Dropped(outcome.example, f"over {config.longest} characters")
        else:
            yield outcome


def propose_entities(inputs: Inputs, config: Any) -> Outcomes:
    """Sentences with the entities a machine finds; sentences without entities are dropped."""
    for sentence, spans in tag_sentences(inputs, "short", TYPES):
        made = replace(sentence, inputs=mark_entities(sentence, spans))
        if spans:
            yield Kept(made, f"{len(spans)} entities proposed")
        else:
            yield Dropped(made, "no entity proposed")


def mark_entities(sentence: Example, spans: Iterable[Span]) -> dict[str, Any]:
    """The inputs as workers see them: the text, the current entities, and both together to be
    edited.
    """
    text, marked, end = sentence.inputs["text"], "", 0
    spans = list(spans)
    for span in spans:
        marked += f"{text[end : span.start]}<{text[span.start : span.end]}:{span.label}>"
        end = span.end
    return {"text": text, "spans": to_builtins(spans), "marked": marked + text[end:]}


def spans_of(judgement: Judgement) -> list[Span]:
    """The spans a worker marked; none of them overlap, so that every character has one tag."""
    return convert(
        [{k: s[k] for k in ("start", "end", "label")} for s in judgement.answer], list[Span]
    )


def majority_spans(judgements: Sequence[Judgement]) -> list[Span]:
    """The spans that more than half of the workers marked just so."""
    counts = Counter(span for judgement in judgements for span in spans_of(judgement))
    return sorted((s for s, n in counts.items() if 2 * n > len(judgements)), key=lambda s: s.start)


def gather_tags(inputs: Inputs, config: Any) -> Outcomes:
    """The entities after correction by workers; sentences that a worker reported are dropped."""
    judged, settled = (
        answers_of(inputs.judgements("tagging")),
        given_or_decided_answers(inputs, "tagging"),
    )
    for sentence in inputs.examples("proposed"):
        given = judged.get(sentence.id, [])
        reports = [judgement for judgement in given if is_report(judgement.answer)]
        if reports:
            ethics = any(judgement.answer in ETHICS for judgement in reports)
            why = "reported for hate, bias or privacy" if ethics else "reported as inadequate"
            yield Dropped(sentence, why, describe_answers(reports))
            continue
        given = settled.get(sentence.id, given)
        spans = majority_spans(given)
        made = replace(sentence, inputs=mark_entities(sentence, spans), gold={"spans": spans})
        yield Kept(
            made, f"{len(spans)} entities that more than half of {len(given)} workers marked"
        )


def sort_by_check(inputs: Inputs, config: Any) -> Outcomes:
    """Sentences every checker finds right; the others need correction."""
    answers = settled_answers(inputs, "check")
    for sentence in inputs.examples("tagged"):
        verdicts = answers.get(sentence.id, [])
        right = all(judgement.answer == RIGHT for judgement in verdicts)
        yield Kept(
            sentence, f"checked: {describe_answers(verdicts)}", "passed" if right else "doubtful"
        )


def correct_tags(inputs: Inputs, config: Any) -> Outcomes:
    """All sentences with their last entities: those that name persons are looked at for privacy,
    those with none go.
    """
    mended = given_or_decided_answers(inputs, "correction")
    for name in ("passed", "doubtful"):
        for sentence in inputs.examples(name):
            if name == "doubtful" and sentence.id not in mended:
                yield Dropped(sentence, "reported as inadequate")
                continue
            spans, rule = list(sentence.gold["spans"]), "found right"
            if name == "doubtful":
                spans, rule = majority_spans(mended[sentence.id]), "mended"
            made = replace(sentence, inputs=mark_entities(sentence, spans), gold={"spans": spans})
            persons = any(span.label == PERSON for span in spans)
            if spans:
                yield Kept(made, rule, "naming" if persons else "nameless")
            else:
                yield Dropped(made, "no entity is left")


def release_sentences(inputs: Inputs, config: Any) -> Outcomes:
    """Sentences without persons, and those whose persons are public figures."""
    answers = settled_answers(inputs, "privacy")
    for name in ("nameless", "naming"):
        for sentence in inputs.examples(name):
            made = replace(sentence, inputs={"text": sentence.inputs["text"]})
            if any(judgement.answer == PRIVATE for judgement in answers.get(sentence.id, ())):
                yield Dropped(made, "names a person who is no public figure")
            else:
                yield Kept(
                    made, "names no person" if name == "nameless" else "names public figures alone"
                )


def split(inputs: Inputs, config: Any) -> Outcomes:
    """Entities held out of train for dev and test, and out of both for test."""
    from nikawa.splitting.entities import split_by_entity

    def rule(part: str, sentence: Example) -> str:
        return "the rest" if part == "train" else "holds an entity that earlier parts lack"

    yield from split_texts(inputs, config, "public", split_by_entity, rule)


def simulate_tags(example: Example, config: Any, random: Random) -> list[dict[str, Any]] | str:
    """A worker who takes the proposals, loses one now and then, and hands some sentences back."""
    if (chance := random.random()) < 0.03:
        return random.choice((*ETHICS, "broken"))
    spans = list(example.inputs["spans"])
    return spans[:-1] if chance < 0.08 else spans


def simulate_check(example: Example, config: Any, random: Random) -> str:
    """A checker who finds most right."""
    return RIGHT if random.random() < 0.95 else WRONG


def simulate_privacy(example: Example, config: Any, random: Random) -> str:
    """An inspector who knows most names."""
    return PUBLIC if random.random() < 0.97 else PRIVATE


def card(config: Any) -> Card:
    """KLUE-NER's own card, for a dataset made here."""
    return built_card(
        DATASET.card,
        config,
        title="Named entities, made as KLUE-NER was",
        labels=f"Workers corrected the entities a machine proposed; {config.checkers} people checked them, and errors were corrected.",
        source=f"Sentences of at most {config.longest} characters in which a machine found an entity",
        problems=(
            "Sentences in which the machine found nothing are not here, so recall is measured on sentences it could read.",
        ),
    )


TAGGING = "사람(PS), 장소(LC), 기관(OG), 날짜(DT), 시간(TI), 수량(QT) 개체명의 범위와 레이블을 바로잡으세요. 문장이 아니거나 여러 문장이면 broken, 개인정보·혐오·편향은 personal, hate, bias로 신고하세요."


TAGGING_POINTS = (
    "사람, 장소, 기관, 날짜, 시간, 수량을 나타내는 표현을 모두 찾아 레이블을 지정해 주세요.",
    "처음부터 있는 태그는 미리 지정해 둔 것입니다. 범위나 레이블이 틀렸으면 고치고, 빠진 것은 추가하고, 잘못된 것은 삭제해 주세요.",
    "조사는 제외하고, 이름을 빠짐없이 필요한 부분만 골라 주세요.",
    "문장이 아니거나 여러 문장이면 신고해 주세요.",
)
KIND_NAMES = {
    "PS": "사람",
    "LC": "장소",
    "OG": "기관",
    "DT": "날짜",
    "TI": "시간",
    "QT": "수량",
}
"""The names that workers see next to a marked entity."""


def show_entities(sentence: Example) -> dict[str, Any]:
    """A sentence with its entities, which the page draws into the text."""
    return {name: sentence.inputs[name] for name in ("text", "spans")}


def ask_for_tags(name: str, title: str, items: str, workers: str) -> Ask:
    """Ask for the entities of the sentences of a set, starting from those they have."""
    return Ask(
        name,
        title,
        (items,),
        "span-tagging",
        "spans",
        workers,
        prompt=TAGGING,
        heading="개체명 태깅",
        guideline=TAGGING_POINTS,
        names={**KIND_NAMES, "report_broken": "한 문장이 아님"},
        show=show_entities,
        labels=TYPES,
        reports=(*ETHICS, "broken"),
        simulate=simulate_tags,
    )


RECIPE = Recipe(
    name="klue-ner",
    title="named entities: KLUE-NER (KLUE 3.4)",
    language="ko",
    config=KlueNer,
    sources=("sentences", "tagger"),
    stages=(
        Stage(
            "short",
            "sentences that are not too long, each once",
            take_sentences,
            ("sentences",),
            ("longest", "cleaning"),
        ),
        Stage(
            "proposed",
            "sentences in which a machine finds an entity",
            propose_entities,
            ("short", "tagger"),
        ),
        ask_for_tags(
            "tagging",
            "the entities of a sentence, starting from those proposed",
            "proposed",
            "workers",
        ),
        Stage(
            "tagged",
            "entities that more than half of the workers marked; sentences that a worker reported are dropped",
            gather_tags,
            ("proposed", "tagging"),
        ),
        Ask(
            "check",
            "whether the entities of a sentence are right",
            ("tagged",),
            "choice",
            "right",
            "checkers",
            labels=(RIGHT, WRONG),
            apart=("tagging",),
            simulate=simulate_check,
            prompt="표시된 개체명의 범위와 레이블이 모두 맞습니까?",
            heading="개체명 확인하기",
            guideline=(
                "사람, 장소, 기관, 날짜, 시간, 수량을 나타내는 표현이 모두 바르게 표시되었는지 확인해 주세요.",
                "범위나 레이블이 하나라도 틀렸거나 빠진 것이 있으면 ‘틀린 것이 있음’을 골라 주세요.",
            ),
            names={**KIND_NAMES, RIGHT: "모두 맞음", WRONG: "틀린 것이 있음"},
            show=show_entities,
        ),
        Stage(
            "checked",
            "sentences that every checker finds right, and the others",
            sort_by_check,
            ("tagged", "check"),
            (),
            ("passed", "doubtful"),
        ),
        ask_for_tags(
            "correction",
            "the entities of a sentence that was found wrong",
            "doubtful",
            "correctors",
        ),
        Stage(
            "mended",
            "entities as checked or corrected; sentences without entities are dropped",
            correct_tags,
            ("passed", "doubtful", "correction"),
            (),
            ("nameless", "naming"),
        ),
        Ask(
            "privacy",
            "whether the persons named are public figures",
            ("naming",),
            "choice",
            "persons",
            "inspectors",
            labels=(PUBLIC, PRIVATE),
            simulate=simulate_privacy,
            prompt="문장에 나온 사람이 모두 검색으로 확인할 수 있는 공인입니까?",
            heading="인물 확인하기",
            guideline=(
                "‘사람’으로 표시된 이름을 하나씩 검색해 주세요.",
                "모두 널리 알려진 공인이면 ‘모두 공인임’을, 한 명이라도 아니면 ‘공인이 아닌 사람이 있음’을 골라 주세요.",
            ),
            names={**KIND_NAMES, PUBLIC: "모두 공인임", PRIVATE: "공인이 아닌 사람이 있음"},
            show=show_entities,
        ),
        Stage(
            "public",
            "sentences that name no person, or public figures alone",
            release_sentences,
            ("nameless", "naming", "privacy"),
        ),
        splits_stage(
            "entities held out of train for dev and test", split, ("public",), ("split", "seed")
        ),
    ),
    card=card,
    check=check_split,
    question="spans",
    notes=(
        "The paper does not say how many workers saw a sentence: one by default; of several, a span counts that more than half marked.",
        "Linguists checked all sentences, and everything that any of them finds wrong is corrected here; the paper does not say which sentences its researchers corrected.",
        "Entities are spans of characters that do not overlap; records written as .conll are character BIO rows.",
    ),
)
