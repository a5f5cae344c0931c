"""How KLUE-RE was made (KLUE 3.5.1): entity pairs from a knowledge base and by chance, three
workers per pair, 30 relations.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Annotated, Any, NamedTuple

from msgspec import Meta, convert, to_builtins
from msgspec.structs import replace

from nikawa.datasets.klue.klue_re import DATASET, LABELS, SUBJECTS
from nikawa.datasets.known import KnownFinding
from nikawa.errors import BadInput, suggest
from nikawa.io.lines import read_lines
from nikawa.recipes.decide import (
    NOT_DRAWN,
    answers_of,
    check_split,
    check_votes,
    describe_answers,
    most_voted,
    shuffle,
    split_groups,
)
from nikawa.recipes.klue.reports import (
    ETHICS,
    Reviewed,
    ask_for_review,
    given_answers,
    given_or_decided_answers,
    is_report,
    kept_on_review,
    note_reports,
)
from nikawa.recipes.klue.taggers import tag_sentences
from nikawa.recipes.klue.texts import take_texts
from nikawa.recipes.recipe import (
    Ask,
    Dropped,
    Inputs,
    Kept,
    NotNegative,
    One,
    Outcomes,
    Positive,
    Recipe,
    Stage,
    built_card,
    splits_stage,
)
from nikawa.records import Card, Example, Origin, Span

TYPES = ("PER", "ORG", "LOC", "DAT", "POH", "NOH")
"""Types of entities: person, organisation, location, date and time, other proper nouns, other
numerals (step 2)."""
NONE = LABELS[0]
_NAMES = ("alternate_names",)
_BY_OBJECT = {
    ("PER", "PER"): (
        "parents",
        "children",
        "siblings",
        "spouse",
        "other_family",
        "colleagues",
        *_NAMES,
    ),
    ("PER", "ORG"): ("employee_of", "schools_attended", "origin", "religion", "product"),
    ("PER", "LOC"): ("place_of_birth", "place_of_death", "place_of_residence", "origin"),
    ("PER", "DAT"): ("date_of_birth", "date_of_death"),
    ("PER", "POH"): ("title", "product", "religion", "origin", *_NAMES),
    ("PER", "NOH"): (),
    ("ORG", "PER"): ("founded_by", "top_members/employees", *_NAMES),
    ("ORG", "ORG"): (
        "member_of",
        "members",
        "founded_by",
        "political/religious_affiliation",
        "product",
        *_NAMES,
    ),
    ("ORG", "LOC"): ("place_of_headquarters", "member_of"),
    ("ORG", "DAT"): ("founded", "dissolved"),
    ("ORG", "POH"): ("product", "political/religious_affiliation", *_NAMES),
    ("ORG", "NOH"): ("number_of_employees/members",),
}


def candidates(subject: str, object_: str) -> tuple[str, ...]:
    """The relations that can hold between two types, shown first; none of them comes last."""
    return (*(f"{subject.lower()}:{name}" for name in _BY_OBJECT[subject, object_]), NONE)


class Pair(NamedTuple):
    """Two entities of a sentence, subject first."""

    sentence: Example
    subject: Span
    object: Span

    @property
    def id(self) -> str:
        """Sentence and places."""
        return f"{self.sentence.id}.{self.subject.start}.{self.object.start}"

    @property
    def names(self) -> tuple[str, str]:
        """The entities as written."""
        text, subject, object_ = self.sentence.inputs["text"], self.subject, self.object
        return text[subject.start : subject.end], text[object_.start : object_.end]


def detect_entities(inputs: Inputs, config: Any) -> Outcomes:
    """Sentences with the entities a tagger finds, united with those their lines bring along."""
    for sentence, every in tag_sentences(inputs, "once", TYPES):
        meta = {**sentence.meta, "entities": to_builtins(every)}
        made = replace(sentence, meta=meta)
        if next(_pairs(made), None) is None:
            yield Dropped(made, "no person or organisation with another entity")
        else:
            yield Kept(made, f"{len(every)} entities")


def _pairs(sentence: Example) -> Iterator[Pair]:
    """All pairs of a person or organisation with another entity, written otherwise."""
    spans = convert(sentence.meta["entities"], list[Span])
    for subject in spans:
        for object_ in spans if subject.label in SUBJECTS else ():
            pair = Pair(sentence, subject, object_)
            if subject != object_ and pair.names[0] != pair.names[1]:
                yield pair


def take_sentences(inputs: Inputs, config: Any) -> Outcomes:
    """Sentences, each once."""
    yield from take_texts(inputs.file("sentences"), "klue-re", ("source",), config)


def read_triples(path: Path) -> dict[tuple[str, str], tuple[str, ...]]:
    """Subject and object of a knowledge base to the relations between them."""
    triples: dict[tuple[str, str], tuple[str, ...]] = {}
    for number, line in read_lines(path):
        cells = [cell.strip() for cell in line.split("\t")]
        if len(cells) != 3 or not all(cells):
            cure = "write subject<TAB>relation<TAB>object"
            raise BadInput("is no triple", file=path, line=number, cure=cure)
        subject, relation, object_ = cells
        if relation not in LABELS:
            what, cure = f"{relation!r} is not a relation", suggest(relation, LABELS)
            raise BadInput(what, file=path, line=number, cure=cure)
        known = triples.get((subject, object_), ())
        triples[subject, object_] = tuple(dict.fromkeys((*known, relation)))
    return triples


def pair_by_knowledge(inputs: Inputs, config: Any) -> Outcomes:
    """Pairs that the knowledge base contains; the same two entities are limited to a maximum."""
    triples = read_triples(inputs.file("triples"))
    pairs = [p for s in inputs.examples("detected") for p in _pairs(s) if p.names in triples]
    times: Counter[tuple[str, str]] = Counter()
    chosen = set()
    for pair in shuffle(pairs, config.seed, "knowledge"):
        times[pair.names] += 1
        if times[pair.names] <= config.co_occurrences:
            chosen.add(pair.id)
    for pair in pairs:
        made = make_pair(pair, "knowledge", triples[pair.names])
        if pair.id in chosen:
            yield Kept(made, "a pair of the knowledge base")
        else:
            why = f"two entities together over {config.co_occurrences} times"
            yield Dropped(made, why, " ".join(pair.names))


def pair_by_chance(inputs: Inputs, config: Any) -> Outcomes:
    """Pairs drawn uniformly from all of a sentence, in addition to those from the knowledge base."""
    known = {pair.id for pair in inputs.examples("knowledge")}
    for sentence in inputs.examples("detected"):
        pairs = shuffle(_pairs(sentence), config.seed, "chance")
        for pair in pairs[: config.uniform]:
            made = make_pair(pair, "uniform", ())
            if pair.id in known:
                yield Dropped(made, "the knowledge base gave it already")
            else:
                yield Kept(made, f"drawn from {len(pairs)} pairs of the sentence")


def make_pair(pair: Pair, pairing: str, known: Sequence[str]) -> Example:
    """A pair as workers see it: marked in the text, with the relations that fit its types first."""
    sentence, subject, object_ = pair
    meta: dict[str, Any] = {
        "subject_type": subject.label,
        "object_type": object_.label,
        "source": sentence.meta["source"],
        "pairing": pairing,
    }
    return Example(
        id=pair.id,
        inputs=mark_entities(sentence.inputs["text"], subject, object_),
        meta={**meta, **({"known": list(known)} if known else {})},
        group=sentence.id,
        origin=Origin(recipe="klue-re", parents=(sentence.id,), step=pairing),
    )


def mark_entities(text: str, subject: Span, object_: Span) -> dict[str, Any]:
    """The inputs of a pair for workers.

    `marked` and `candidates` are taken off again before release.
    """
    marked = text
    for span, name in sorted(((subject, "subj"), (object_, "obj")), key=lambda two: -two[0].start):
        marked = f"{marked[: span.start]}<{name}>{marked[span.start : span.end]}</{name}>{marked[span.end :]}"
    return {
        "text": text,
        "subject": subject,
        "object": object_,
        "marked": marked,
        "candidates": list(candidates(subject.label, object_.label)),
    }


PAIRS = ("knowledge", "uniform")
ASKED = ("relations", "relations-again")
MISPLACED = "boundary"
"""The report of entities whose boundaries are wrong; answers of earlier versions say `broken`, which counts alike."""


class KlueRe(Reviewed, kw_only=True):
    """Settings of the recipe; the numbers are those of the paper."""

    sentences: str = ""
    """File of sentences: JSON lines of {id, text, source, spans, url, licence}, or records."""
    tagger: str = ""
    """The tagger that finds entities: a lexicon (.tsv), records a CRF learns from (.jsonl), or a program;
    united with the spans of the lines (KLUE 3.5.1, step 3: two models)."""
    triples: str = ""
    """Knowledge base: subject, relation, object, tab-separated (step 4)."""
    co_occurrences: Positive = 10
    """Maximum number of sentences about the same two entities (step 4; the paper does not say how many)."""
    uniform: NotNegative = 1
    """Number of pairs drawn at random in each sentence (step 4; the paper does not say how many)."""
    workers: Positive = 3
    """Workers who label a pair (step 5)."""
    votes: Positive = 2
    """Number of equal answers needed for a label; other pairs are adjudicated. The available text of the paper ends before
    it says."""
    adjudicators: Positive = 1
    """People who decide on pairs without such a majority; the available text of the paper ends before it says."""
    correctors: One = 1
    """Workers who correct wrong boundaries of entities (step 3; the paper does not say how many)."""
    no_relation: Annotated[float, Meta(gt=0, le=1)] = 1.0
    """Maximum share of no_relation in the release; 1 keeps the share of the workers' answers."""
    split: str = "0.6764,0.1618,0.1618"
    """Sizes of train, dev and test (Table 1: 32k, 8k, 8k; published: 32,470, 7,765, 7,766)."""


def set_aside(inputs: Inputs, config: Any) -> Outcomes:
    """Pairs without reports, those reported for their content, and those whose entities are
    marked wrong.
    """
    judged = answers_of(inputs.judgements(ASKED[0]))
    for pair in (pair for name in PAIRS for pair in inputs.examples(name)):
        reports = [j for j in judged.get(pair.id, ()) if is_report(j.answer)]
        if any(judgement.answer in ETHICS for judgement in reports):
            noted = note_reports(pair, (str(judgement.answer) for judgement in reports))
            yield Kept(noted, f"reported: {describe_answers(reports)}", "reported")
        elif reports:
            yield Kept(pair, f"boundaries reported: {describe_answers(reports)}", "misplaced")
        else:
            yield Kept(pair, "nobody reported it", "unreported")


def correct_boundaries(inputs: Inputs, config: Any) -> Outcomes:
    """Pairs with the boundaries a worker gave them; types stay."""
    mended = given_or_decided_answers(inputs, "boundaries")
    for pair in inputs.examples("misplaced"):
        spans = {s["label"]: s for judgement in mended.get(pair.id, ()) for s in judgement.answer}
        if set(spans) != {"subject", "object"}:
            yield Dropped(pair, "no subject and object can be marked")
            continue
        subject, object_ = (
            Span(spans[name]["start"], spans[name]["end"], pair.inputs[name].label)
            for name in ("subject", "object")
        )
        yield Kept(
            replace(pair, inputs=mark_entities(pair.inputs["text"], subject, object_)),
            "boundaries mended",
        )


def vote_relations(inputs: Inputs, config: Any) -> Outcomes:
    """The relation of enough workers; pairs without one are left to an adjudicator."""
    for items, ask in (
        ("unreported", ASKED[0]),
        ("readmitted", ASKED[0]),
        ("remarked", ASKED[1]),
    ):
        given, book = given_answers(inputs, ask), inputs.decisions(ask)
        for pair in inputs.examples(items):
            votes = given.get(pair.id, [])
            voted = most_voted((judgement.answer for judgement in votes), config.votes)
            relation, decided = book.settle(pair.id, voted), book.explain(pair.id, voted)
            if relation is None:
                yield Kept(
                    pair, f"no {config.votes} equal answers: {describe_answers(votes)}", "open"
                )
            else:
                made = replace(pair, gold={"relation": relation})
                rule = f"{config.votes} equal answers needed: {describe_answers(votes)}"
                yield Kept(made, f"{decided}; {rule}" if decided else rule, "settled")


def adjudicate_relations(inputs: Inputs, config: Any) -> Outcomes:
    """All pairs with their relation; pairs that adjudicators report or do not agree on are dropped."""
    decided, book = given_answers(inputs, "adjudication"), inputs.decisions("adjudication")
    for pair in inputs.examples("settled"):
        yield Kept(_bare(pair), "settled by workers")
    for pair in inputs.examples("open"):
        votes = decided.get(pair.id, [])
        voted = most_voted(judgement.answer for judgement in votes)
        relation, by_hand = book.settle(pair.id, voted), book.explain(pair.id, voted)
        if relation is None:
            yield Dropped(_bare(pair), "adjudicators do not agree", describe_answers(votes))
        else:
            yield Kept(
                _bare(replace(pair, gold={"relation": relation})),
                f"{by_hand or 'adjudicated'}: {describe_answers(votes)}",
            )


def _bare(pair: Example) -> Example:
    inputs = {name: pair.inputs[name] for name in ("text", "subject", "object")}
    return replace(pair, inputs=inputs, meta={k: v for k, v in pair.meta.items() if k != "known"})


def limit_relations(inputs: Inputs, config: Any) -> Outcomes:
    """So many pairs without a relation that they are no more than their share, drawn by chance."""
    pairs = list(inputs.examples("labelled"))
    empty = [pair for pair in pairs if pair.gold["relation"] == NONE]
    share, related = config.no_relation, len(pairs) - len(empty)
    most = len(empty) if share >= 1 else int(related * share / (1 - share) + 1e-9)
    gone = {pair.id for pair in shuffle(empty, config.seed, "no relation")[most:]}
    for pair in pairs:
        if pair.id in gone:
            yield Dropped(pair, NOT_DRAWN)
        else:
            yield Kept(pair, f"{NONE} at most {share:g} of all")


def split(inputs: Inputs, config: Any) -> Outcomes:
    """Train, dev and test; the pairs of a sentence stay together."""
    yield from split_groups(inputs, config, ("limited",), lambda pair: str(pair.group))


def simulate_relation(example: Example, config: Any, random: Random) -> str:
    """A worker who mostly says what the knowledge base says, and hands some pairs back."""
    if (chance := random.random()) < 0.03:
        return random.choice((*ETHICS, MISPLACED))
    known = example.meta.get("known", [NONE])
    return str(known[0] if chance < 0.85 else random.choice(example.inputs["candidates"]))


def simulate_decision(example: Example, config: Any, random: Random) -> str:
    """An adjudicator who says what the knowledge base says."""
    return str(example.meta.get("known", [NONE])[0])


def simulate_boundaries(example: Example, config: Any, random: Random) -> list[dict[str, Any]]:
    """A worker who finds the boundaries right."""
    marked = ((name, example.inputs[name]) for name in ("subject", "object"))
    return [{"start": span.start, "end": span.end, "label": name} for name, span in marked]


def check(config: Any) -> None:
    """Refuse settings that could not be met."""
    check_split(config)
    check_votes("votes", "workers", config)


def by_design(config: Any) -> tuple[KnownFinding, ...]:
    """A sentence with several pairs of entities."""
    reason = "a sentence is asked about once for each pair of its entities (KLUE 3.5)"
    return (KnownFinding(check="repeated-texts", reason=reason),)


def card(config: Any) -> Card:
    """KLUE-RE's own card, for a dataset made here."""
    return built_card(
        DATASET.card,
        config,
        title="Relations of entities, made as KLUE-RE was",
        labels=f"Chosen by {config.votes} of {config.workers} workers for entity pairs drawn from a knowledge base or at random; other pairs were adjudicated.",
        source="Sentences in which a machine found a person or an organisation and another entity",
        problems=(
            "Entities were found by machine; workers corrected boundaries that were reported, types are the machine's.",
        ),
    )


def show_pair(pair: Example) -> dict[str, Any]:
    """A pair as workers see it: the text, its two entities, and the relations to look at first."""
    return {name: pair.inputs[name] for name in ("text", "subject", "object", "candidates")}


def show_marks(pair: Example) -> dict[str, Any]:
    """A pair as one who looks at the marks sees it: the two entities as spans of the text."""
    marks = sorted((pair.inputs[name].start, pair.inputs[name].end, name) for name in MARK_NAMES)
    spans = [{"start": start, "end": end, "label": name} for start, end, name in marks]
    return {"text": pair.inputs["text"], "spans": spans}


MARK_NAMES = {"subject": "주체", "object": "대상"}
PAGE_NAMES = {**MARK_NAMES, "report_boundary": "표시된 범위가 잘못됨"}
"""The names that workers see for the two entities, and for the report of wrong boundaries."""


def ask_for_relation(
    name: str,
    items: tuple[str, ...],
    workers: str,
    title: str,
    simulate: Any,
    apart: tuple[str, ...] = (),
) -> Ask:
    """Ask for the relation of the pairs of some sets."""
    prompt = (
        "문장에 쓰인 내용만으로 subj와 obj의 현재 관계를 고르세요. 먼저 candidates에서 찾고, 없으면 모든 관계에서 고르세요. "
        "개체의 범위가 잘못되었으면 boundary, 읽을 수 없으면 broken, 개인정보·혐오·편향은 personal, hate, bias로 신고하세요."
    )
    return Ask(
        name,
        title,
        items,
        "relation",
        "relation",
        workers,
        prompt=prompt,
        heading="두 개체의 관계 고르기",
        names=PAGE_NAMES,
        show=show_pair,
        labels=LABELS,
        reports=(*ETHICS, "broken", MISPLACED),
        apart=apart,
        simulate=simulate,
    )


RECIPE = Recipe(
    name="klue-re",
    title="relations of entities: KLUE-RE (KLUE 3.5)",
    language="ko",
    config=KlueRe,
    sources=("sentences", "tagger", "triples"),
    stages=(
        Stage(
            "once", "sentences, cleaned, each once", take_sentences, ("sentences",), ("cleaning",)
        ),
        Stage(
            "detected",
            "sentences with a person or organisation and another entity",
            detect_entities,
            ("once", "tagger"),
        ),
        Stage(
            "knowledge",
            "pairs that the knowledge base holds, two entities not too often",
            pair_by_knowledge,
            ("detected", "triples"),
            ("co_occurrences", "seed"),
        ),
        Stage(
            "uniform",
            "pairs drawn by chance from all of a sentence",
            pair_by_chance,
            ("detected", "knowledge"),
            ("uniform", "seed"),
        ),
        ask_for_relation(
            ASKED[0],
            PAIRS,
            "workers",
            "the relation of two entities, those that fit their types first",
            simulate_relation,
        ),
        Stage(
            "checked",
            "pairs without reports, reported pairs, wrongly marked pairs",
            set_aside,
            (*PAIRS, ASKED[0]),
            (),
            ("unreported", "reported", "misplaced"),
        ),
        ask_for_review("신고된 문장입니다. 데이터에 유지해도 됩니까?", show_marks, PAGE_NAMES),
        Stage(
            "readmitted",
            "reported pairs that are kept on review",
            kept_on_review,
            ("reported", "review"),
        ),
        Ask(
            "boundaries",
            "the positions of the two entities",
            ("misplaced",),
            "span-tagging",
            "boundaries",
            "correctors",
            labels=("subject", "object"),
            prompt="주체와 대상의 범위를 바르게 표시해 주세요.",
            heading="개체의 범위 고치기",
            guideline=(
                "표시된 두 개체의 범위가 잘못되었다고 신고된 문장입니다. 주체와 대상을 하나씩 바르게 표시해 주세요.",
                "이름이나 날짜를 조사를 제외하고 빠짐없이, 필요한 부분만 골라 주세요.",
                "바르게 표시할 수 없으면 신고해 주세요.",
            ),
            names={**MARK_NAMES, "report_broken": "표시할 수 없음"},
            show=show_marks,
            reports=(*ETHICS, "broken"),
            simulate=simulate_boundaries,
        ),
        Stage(
            "remarked",
            "pairs with corrected boundaries",
            correct_boundaries,
            ("misplaced", "boundaries"),
        ),
        ask_for_relation(
            ASKED[1],
            ("remarked",),
            "workers",
            "the relation of two entities whose boundaries were corrected",
            simulate_relation,
        ),
        Stage(
            "voted",
            "enough equal answers, or open",
            vote_relations,
            ("unreported", "readmitted", "remarked", *ASKED),
            ("votes",),
            ("settled", "open"),
        ),
        ask_for_relation(
            "adjudication",
            ("open",),
            "adjudicators",
            "the relation of two entities workers did not agree on",
            simulate_decision,
            ASKED,
        ),
        Stage(
            "labelled",
            "settled by workers, or adjudicated",
            adjudicate_relations,
            ("settled", "open", "adjudication"),
        ),
        Stage(
            "limited",
            "no more pairs without a relation than their share",
            limit_relations,
            ("labelled",),
            ("no_relation", "seed"),
        ),
        splits_stage(
            "train, dev and test, the pairs of a sentence together",
            split,
            ("limited",),
            ("split", "seed"),
        ),
    ),
    card=card,
    by_design=by_design,
    check=check,
    question="relation",
    notes=(
        "The paper does not print which relations are shown first for which types; build_relations.py holds the table used here.",
        "The paper does not say how often two entities may meet, nor how many pairs of a sentence were drawn by chance.",
        "The available text of the paper ends before it says how three answers made a label and how the splits were made: here two of three, an adjudicator for the rest, and sentences kept whole.",
    ),
)
