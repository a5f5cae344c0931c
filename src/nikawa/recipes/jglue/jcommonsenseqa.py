"""How JCommonsenseQA was made (JGLUE 3.4.2): ConceptNet triples to question sets, questions,
distractors, a check.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from random import Random
from typing import Annotated, Any

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from nikawa.datasets.jglue.jcommonsenseqa import DATASET
from nikawa.errors import BadInput
from nikawa.io.lines import read_lines
from nikawa.recipes.decide import (
    answers_of,
    check_split,
    check_votes,
    decide,
    describe_answers,
    draw_examples,
    random_key,
    seeded_random,
    settled_answers,
    split_groups,
)
from nikawa.recipes.recipe import (
    Ask,
    Config,
    Dropped,
    Inputs,
    Kept,
    One,
    Outcomes,
    Positive,
    Recipe,
    Stage,
    built_card,
    found_in,
    splits_stage,
)
from nikawa.records import Card, Example, Origin

FORWARD = (
    "Antonym",
    "AtLocation",
    "CapableOf",
    "Causes",
    "CausesDesire",
    "DefinedAs",
    "DerivedFrom",
    "Desires",
    "DistinctFrom",
    "EtymologicallyDerivedFrom",
    "HasA",
    "HasFirstSubevent",
    "HasLastSubevent",
    "HasPrerequisite",
    "HasProperty",
    "InstanceOf",
    "MadeOf",
    "MotivatedByGoal",
    "NotDesires",
    "PartOf",
    "SymbolOf",
    "UsedFor",
)
"""The 22 relations of the paper's footnote 5; general ones such as RelatedTo and IsA are not among
them."""
THINGS = ("靴下", "梯子", "窓", "鍵", "帽子", "時計", "石", "傘", "薬", "地図", "糸", "鏡")
"""What simulated workers add as distractors."""

CHARACTERS = re.compile(r"[0-9０-９一二三四五六七八九十百]+\s*文字")
"""`2文字`: a question about how a word is written, not about the world."""


class About(msgspec.Struct):
    """What the last column of an assertion says of where it comes from."""

    dataset: str = ""
    license: str = ""


def read_triples(path: Path, language: str) -> Iterator[Example]:
    """The triples of two concepts of a language; lines of other languages are passed over."""
    here = f"/c/{language}/"
    for number, line in read_lines(path):
        cells = line.split("\t")
        if len(cells) < 4 or not cells[1].startswith("/r/"):
            cure = (
                "write edge, relation (/r/...), start and end (/c/LANGUAGE/CONCEPT), tab-separated"
            )
            raise BadInput("is not an assertion of ConceptNet", file=path, line=number, cure=cure)
        if cells[2].startswith(here) and cells[3].startswith(here):
            try:
                about = msgspec.json.decode(cells[4] if len(cells) > 4 else "{}", type=About)
            except msgspec.DecodeError:
                what = "the last column is not JSON"
                raise BadInput(what, file=path, line=number, cure="fetch the file again") from None
            start, end = (
                cell[len(here) :].partition("/")[0].replace("_", " ") for cell in cells[2:4]
            )
            yield Example(
                id=f"t{number}",
                inputs={"start": start, "relation": cells[1].removeprefix("/r/"), "end": end},
                meta=found_in(
                    path, number, url=cells[0], licence=about.license.removeprefix("cc:")
                ),
                origin=Origin(recipe="conceptnet", step=about.dataset),
            )


def fold_spelling(text: str) -> str:
    """A word without width, and with hiragana for katakana.

    >>> fold_spelling("ネコ") == fold_spelling("ﾈｺ") == "ねこ"
    True
    """
    plain = unicodedata.normalize("NFKC", text).casefold()
    return "".join(chr(ord(c) - 96) if "ァ" <= c <= "ヶ" else c for c in plain)


def question_fault(question: str, choices: list[str]) -> str:
    """Why a written question is dropped (step 3); empty if it is kept."""
    if any(choice in question for choice in choices):
        return "holds a choice"
    if CHARACTERS.search(question):
        return "asks for a number of characters"
    return "" if question.rstrip().endswith(("？", "?")) else "does not end in a question mark"


def simulate_synonyms(example: Example, config: Any, random: Random) -> str:
    """Few sets hold synonyms."""
    return "no" if random.random() < 0.85 else "yes"


def simulate_question(example: Example, config: Any, random: Random) -> str:
    """A question by pattern; now and then one that breaks a rule."""
    source = example.inputs["source"]
    ways = [f"{source}といえば何？"] * 8 + [
        f"{source}といえば{example.inputs['answer']}？",
        f"{source}を2文字で何という？",
        f"{source}とは",
    ]
    return random.choice(ways)


def simulate_distractors(example: Example, config: Any, random: Random) -> list[str]:
    """Things by chance; now and then a choice that is there already."""
    distractors = random.sample(THINGS, config.distractors)
    return (
        distractors if random.random() < 0.9 else [example.inputs["choices"][0], *distractors[1:]]
    )


def simulate_choice(example: Example, config: Any, random: Random) -> int:
    """Right more often than not."""
    wrong = random.randrange(len(example.inputs["choices"]))
    return int(example.gold["choice"]) if random.random() < 0.75 else wrong


class Jcqa(Config, kw_only=True):
    """Settings of the recipe; the numbers are those of the paper."""

    triples: str = ""
    """Assertions of ConceptNet: tab-separated edge, relation, start, end, JSON; .gz too."""
    language: str = "ja"
    """Language of the concepts, as in /c/ja/."""
    relations: tuple[str, ...] = FORWARD
    """Relations used, in both directions (JGLUE 3.4.2, footnote 5)."""
    targets: Annotated[int, Meta(ge=2)] = 3
    """Target concepts of a question set (step 1)."""
    question_sets: Positive = 7500
    """Question sets drawn (step 1)."""
    analyser: str = "juman"
    """The analyser that finds spelling variants: juman, whose dictionary the paper used (step 2), another analyser, or none to fold only width and kana."""
    synonym_workers: Positive = 3
    """Workers who look for synonyms (step 2); the paper does not say how many."""
    writers: Positive = 1
    """Workers who write a question for a target (step 3)."""
    distractors: Positive = 2
    """Distractors added to a question (step 4)."""
    distractor_writers: One = 1
    """Workers who add them; the paper does not say how they are distributed."""
    answerers: Positive = 3
    """Workers who answer a question (step 5)."""
    right: Positive = 2
    """Minimum number of them who must answer correctly (step 5)."""
    removed: tuple[str, ...] = ()
    """Ids of questions deleted manually; the paper deleted 14."""
    split: str = "0.8,0.1,0.1"
    """Sizes of train, dev and test; the default gives the published shares."""


def take_triples(inputs: Inputs, config: Any) -> Outcomes:
    """The triples of two concepts of the language, of the relations used."""
    for triple in read_triples(inputs.file("triples"), config.language):
        used = triple.inputs["relation"] in config.relations
        yield Kept(triple, "a relation used") if used else Dropped(triple, "a relation not used")


def gather_question_sets(inputs: Inputs, config: Any) -> Outcomes:
    """Question sets: a source and targets of one relation, forward or backward.

    Each target in one set of its source.
    """
    linked: dict[tuple[str, str], dict[str, str]] = defaultdict(dict)
    for triple in inputs.examples("known"):
        start, relation, end = (triple.inputs[name] for name in ("start", "relation", "end"))
        if start != end:
            linked[start, relation].setdefault(end, triple.id)
            linked[end, f"{relation}-1"].setdefault(start, triple.id)
    sets = []
    for (source, relation), targets in linked.items():
        order = sorted(
            targets, key=lambda name: (random_key(config.seed, source, relation, name), name)
        )
        for number in range(len(order) // config.targets):
            chosen = order[number * config.targets : (number + 1) * config.targets]
            name = f"{source}.{relation}.{number}"
            parents = dict.fromkeys(targets[target] for target in chosen)
            sets.append(
                Example(
                    id=name,
                    inputs={"source": source, "relation": relation, "targets": chosen},
                    group=name,
                    meta={"relation": relation},
                    origin=Origin(recipe="jcommonsenseqa", parents=tuple(parents)),
                )
            )
    yield from draw_examples(sets, config.question_sets, config.seed, "sets")


def drop_similar_targets(inputs: Inputs, config: Any) -> Outcomes:
    """Sets two of whose targets are one word in two spellings are left out."""
    sets = list(inputs.examples("sets"))
    spelt = {
        target: {fold_spelling(target)}
        for question_set in sets
        for target in question_set.inputs["targets"]
    }
    if config.analyser != "none":
        from nikawa.text import analyser

        for target, tokens in zip(
            spelt, analyser(config.analyser).analyse_many(spelt), strict=True
        ):
            spelt[target].add(" ".join(token.norm or token.base for token in tokens))
    for question_set in sets:
        targets = question_set.inputs["targets"]
        same = [f"{a} {b}" for a, b in combinations(targets, 2) if spelt[a] & spelt[b]]
        if same:
            yield Dropped(question_set, "spelling variants", same[0])
        else:
            yield Kept(question_set, "no spelling variants")


def adopt_question_sets(inputs: Inputs, config: Any) -> Outcomes:
    """Sets in which most workers see no synonym."""
    for outcome in decide(inputs, "apart", "synonyms", "majority", only=("no",)):
        plain = replace(outcome.example, gold={})
        if isinstance(outcome, Dropped):
            yield Dropped(plain, "workers see a synonym", outcome.detail)
        else:
            yield outcome._replace(example=plain)


def assign_targets(inputs: Inputs, config: Any) -> Outcomes:
    """Ask for a question for each target of a set."""
    for question_set in inputs.examples("adopted"):
        source, targets = question_set.inputs["source"], question_set.inputs["targets"]
        for number, target in enumerate(targets):
            made = replace(
                question_set,
                id=f"{question_set.id}.{number}",
                inputs={"source": source, "choices": targets, "answer": target},
                origin=Origin(recipe="jcommonsenseqa", parents=(question_set.id,)),
            )
            yield Kept(made, "one question a target")


def take_questions(inputs: Inputs, config: Any) -> Outcomes:
    """The written questions that meet the paper's three rules."""
    written = settled_answers(inputs, "questions")
    for item in inputs.examples("assigned"):
        for number, judgement in enumerate(written.get(item.id, ())):
            question_inputs = {**item.inputs, "question": judgement.answer}
            name = item.id if not number else f"{item.id}+{number}"
            parents = item.origin.parents if not number and item.origin else (item.id,)
            made = replace(
                item,
                id=name,
                inputs=question_inputs,
                origin=Origin(recipe="jcommonsenseqa", parents=parents),
            )
            why = question_fault(judgement.answer, item.inputs["choices"])
            if why:
                yield Dropped(made, why, judgement.answer)
            else:
                yield Kept(made, "question meets the three rules")


def add_distractors(inputs: Inputs, config: Any) -> Outcomes:
    """Questions with their distractors, unless one is in the question or is a choice already.

    Choices in drawn order.
    """
    added = settled_answers(inputs, "distractors")
    for item in inputs.examples("asked"):
        new = [text for judgement in added[item.id] for text in judgement.answer]
        question, old = item.inputs["question"], item.inputs["choices"]
        choices = [*old, *new]
        seeded_random(config.seed, "choices", item.id).shuffle(choices)
        made = replace(
            item,
            inputs={"question": question, "choices": choices},
            gold={"choice": choices.index(item.inputs["answer"])},
        )
        if any(text in question for text in new):
            yield Dropped(made, "a distractor is in the question", ", ".join(new))
        elif len({choice.strip() for choice in choices}) < len(choices):
            yield Dropped(made, "a distractor is a choice already", ", ".join(new))
        else:
            yield Kept(made, "distractors are new")


def keep_solved_questions(inputs: Inputs, config: Any) -> Outcomes:
    """Questions that enough workers answer as the writer meant them."""
    answered, book = answers_of(inputs.judgements("check")), inputs.decisions("check")
    for item in inputs.examples("complete"):
        given = answered.get(item.id, [])
        right = sum(judgement.answer == item.gold["choice"] for judgement in given)
        voted = item.gold["choice"] if right >= config.right else None
        decided = book.explain(item.id, voted)
        if decided and book.settle(item.id, voted) == item.gold["choice"]:
            yield Kept(item, f"{decided}; {right} of {len(given)} right")
        elif decided:
            yield Dropped(item, "decided to be another choice", decided)
        elif right >= config.right:
            yield Kept(item, f"{right} of {len(given)} right, {config.right} needed")
        else:
            yield Dropped(item, f"fewer than {config.right} right", describe_answers(given))


def split(inputs: Inputs, config: Any) -> Outcomes:
    """Train, dev and test; the questions of a set stay together."""
    yield from split_groups(inputs, config, ("solved",), lambda question: str(question.group))


def check(config: Any) -> None:
    """Refuse settings that could not be met."""
    check_split(config)
    check_votes("right", "answerers", config)
    if config.analyser != "none":
        from nikawa.text import analyser

        analyser(config.analyser)


def card(config: Any) -> Card:
    """JCommonsenseQA's own card, for a dataset made here."""
    return built_card(
        DATASET.card,
        config,
        title="Commonsense questions, made as JCommonsenseQA was",
        description=f"Commonsense questions with {config.targets + config.distractors} choices, one of them right.",
        labels=f"The choice the question was written for; kept where at least {config.right} of {config.answerers} workers chose it.",
        source=f"Triples of two concepts; questions and {config.distractors} of the choices written by workers",
        problems=(),
    )


ASK_SYNONYMS = Ask(
    "synonyms",
    "whether the targets of a set hold synonyms",
    ("apart",),
    "choice",
    "synonyms",
    "synonym_workers",
    prompt="次の語の中に、同じ意味の語がありますか。",
    heading="同じ意味の語の確認",
    guideline=(
        "表示された語を読み、同じ意味の語が二つ以上あるかどうかを答えてください。",
        "表記が違うだけの語も、同じ意味とみなします。似ていても意味が違えば「ない」を選んでください。",
    ),
    names={"yes": "ある", "no": "ない", "source": "テーマ", "targets": "語"},
    show=lambda item: {name: item.inputs[name] for name in ("source", "targets")},
    labels=("yes", "no"),
    simulate=simulate_synonyms,
)
ASK_QUESTIONS = Ask(
    "questions",
    "a question that only the answer fits",
    ("assigned",),
    "concept-question",
    "question",
    "writers",
    prompt="選択肢のうち「答え」だけが正解になる質問を、「？」で終わるように書いてください。",
    heading="答えが一つに決まる質問を書く",
    simulate=simulate_question,
)
ASK_DISTRACTORS = Ask(
    "distractors",
    "wrong choices for a question",
    ("asked",),
    "distractors",
    "distractors",
    "distractor_writers",
    prompt="質問の答えにならない選択肢を書いてください。",
    heading="誤りの選択肢を追加する",
    texts="distractors",
    simulate=simulate_distractors,
    uses=("distractors",),
)
ASK_CHECK = Ask(
    "check",
    "the right choice",
    ("complete",),
    "multiple-choice",
    "choice",
    "answerers",
    prompt="質問の答えを選んでください。",
    heading="質問に答える",
    simulate=simulate_choice,
)

RECIPE = Recipe(
    name="jcommonsenseqa",
    title="commonsense questions: JCommonsenseQA (JGLUE 3.4.2)",
    language="ja",
    config=Jcqa,
    sources=("triples",),
    stages=(
        Stage(
            "known",
            "triples of the relations used",
            take_triples,
            ("triples",),
            ("relations", "language"),
        ),
        Stage(
            "sets",
            "a source and three targets of one relation, both ways, drawn by chance",
            gather_question_sets,
            ("known",),
            ("targets", "question_sets", "seed"),
        ),
        Stage(
            "apart",
            "no two targets are spellings of one word",
            drop_similar_targets,
            ("sets",),
            ("analyser",),
        ),
        ASK_SYNONYMS,
        Stage(
            "adopted", "most workers see no synonyms", adopt_question_sets, ("apart", "synonyms")
        ),
        Stage(
            "assigned", "each target is the answer of one question", assign_targets, ("adopted",)
        ),
        ASK_QUESTIONS,
        Stage(
            "asked",
            "no choice and no number of characters in the question, a question mark at its end",
            take_questions,
            ("assigned", "questions"),
        ),
        ASK_DISTRACTORS,
        Stage(
            "complete",
            "distractors that are neither in the question nor a choice already",
            add_distractors,
            ("asked", "distractors"),
            ("seed",),
        ),
        ASK_CHECK,
        Stage(
            "solved",
            "enough workers answer right",
            keep_solved_questions,
            ("complete", "check"),
            ("right",),
        ),
        splits_stage(
            "train, dev and test, the questions of a set together",
            split,
            ("solved",),
            ("split", "seed", "removed"),
        ),
    ),
    card=card,
    check=check,
    question="choice",
    numbered=True,
    continued=True,
    notes=(
        "The paper does not say how targets beyond three are shared out: here each is in at most one set of its source and relation.",
        "The paper does not say how many workers looked for synonyms, nor how the splits were made.",
    ),
)
