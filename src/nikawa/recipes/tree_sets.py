"""Parts of the recipes that build dependency trees: words with tags, sentences by length and source, a tree to begin with,
two workers, adjudication of the words on which they differ.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Annotated, Any, Literal

from msgspec import Meta
from msgspec.structs import replace

from nikawa.collect.forms._tree_labels import LIKELY, likely_relations
from nikawa.datasets.load import open_file
from nikawa.datasets.subsets import group_by
from nikawa.datasets.trees import find_tree_fault, has_crossing_arcs, has_leftward_head, is_tree
from nikawa.errors import BadInput
from nikawa.recipes.decide import (
    NOT_DRAWN,
    answers_of,
    assign_splits,
    check_split,
    describe_answers,
    shuffle,
)
from nikawa.recipes.klue.reports import ETHICS, is_report
from nikawa.recipes.klue.texts import Texts, take_texts
from nikawa.recipes.recipe import (
    Ask,
    Dropped,
    Inputs,
    Kept,
    Outcomes,
    Positive,
    Stage,
    splits_stage,
)
from nikawa.records import Example, Judgement, Task
from nikawa.text.protocol import Token

REPORTS = (*ETHICS, "broken")
MAX_CHARACTERS = 2000
MIN_TREES = 2
"""Trees that a parser can learn from."""
Words = list[dict[str, str]]


class TreeConfig(Texts, kw_only=True):
    """Settings of every recipe for trees."""

    sentences: str = ""
    """File of sentences: JSON lines of {id, text, source, url, licence}, or records."""
    parser: str = ""
    """File of records with trees that the embedded parser learns from; needed only for preparse = "parser"."""
    shortest: Annotated[int, Meta(ge=1, le=200)] = 3
    """Minimum number of words of a sentence; a choice made here."""
    longest: Annotated[int, Meta(ge=1, le=200)] = 30
    """Maximum number of words of a sentence; a choice made here."""
    complete: bool = True
    """Whether only sentences with a predicate at the end are taken (KLUE 2.1: complete sentences)."""
    per_source: Positive = 7250
    """Number of sentences per source, as many of each length as there are (KLUE-DP: 14,500 of two sources)."""
    lengths: tuple[Positive, ...] = (5, 10, 15)
    """Upper limits, in words, of the groups of lengths that are drawn in equal numbers; a choice made here."""
    analyser: str = "kiwi"
    """The analyser that gives words their morphemes and tags."""
    preparse: Literal["none", "chain", "parser"] = "chain"
    """The tree that workers begin with: none, each word on the next one with its likely relation, or a parser's."""
    workers: Positive = 2
    """Workers who give a sentence its tree; a choice made here."""
    adjudicators: Positive = 1
    """People who decide on words that workers see differently; a choice made here."""
    head_final: bool = True
    """Whether the page marks a head on the left of its word."""
    root_label: str = ""
    """The relation of the root and of no other word; empty: the root has a relation like any word."""
    split: str = "0.69,0.138,0.172"
    """Shares of train, dev and test (published KLUE-DP: 10,000, 2,000, 2,500)."""


@dataclass(frozen=True)
class Language:
    """What differs from language to language."""

    recipe: str
    language: str
    labels: tuple[str, ...]
    find_words: Callable[[str, Sequence[Token]], Words]
    """The words of a text with their morphemes and tags."""
    is_complete: Callable[[Words], bool]
    heading: str
    prompt: str
    decision_heading: str
    decision_points: tuple[str, ...]
    broken: str
    """What the report `broken` is called."""
    parse: Callable[[str, Sequence[Token], Words], dict[str, Any] | None] | None = None
    """The tree that the analyser itself has, for the recipes whose analyser is a parser."""


# Sentences


def take_sentences(language: Language) -> Callable[[Inputs, Any], Outcomes]:
    """The stage function: sentences of the source, each once."""

    def run(inputs: Inputs, config: Any) -> Outcomes:
        for outcome in take_texts(
            inputs.file("sentences"),
            language.recipe,
            ("source",),
            config,
            "a sentence of the source",
            language.language,
        ):
            if isinstance(outcome, Kept) and len(outcome.example.inputs["text"]) > MAX_CHARACTERS:
                yield Dropped(outcome.example, f"over {MAX_CHARACTERS} characters")
            else:
                yield outcome

    return run


def tag_words(language: Language) -> Callable[[Inputs, Any], Outcomes]:
    """The stage function: sentences with their words and tags, neither too short nor too long, and complete."""

    def run(inputs: Inputs, config: Any) -> Outcomes:
        from nikawa.text import analyser

        tool = analyser(config.analyser)
        for sentence in inputs.examples("taken"):
            text = str(sentence.inputs["text"])
            tokens = tool.analyse(text)
            words = language.find_words(text, tokens)
            made = replace(sentence, inputs={"text": text, "words": words})
            if language.parse is not None and (tree := language.parse(text, tokens, words)):
                made = replace(made, meta={**made.meta, PARSED: tree})
            size = len(words)
            if not config.shortest <= size <= config.longest:
                why = "too few words" if size < config.shortest else "too many words"
                yield Dropped(made, why, f"{size} words")
            elif config.complete and not language.is_complete(words):
                yield Dropped(made, "not a complete sentence")
            else:
                yield Kept(made, f"{size} words, {config.shortest} to {config.longest}")

    return run


PARSED = "parsed"
"""The tree that the analyser has, in the meta until it is proposed."""


def name_length(size: int, limits: Sequence[int]) -> str:
    """The group of lengths that a number of words is in.

    >>> name_length(5, (5, 10)), name_length(11, (5, 10))
    ('up to 5 words', 'over 10 words')
    """
    ends = sorted(limits)
    limit = next((end for end in ends if size <= end), None)
    if limit is None:
        return f"over {ends[-1]} words" if ends else "any length"
    return f"up to {limit} words"


def share_out(total: int, sizes: Mapping[str, int]) -> dict[str, int]:
    """So many of each group that the total is reached and no group has more than it holds, as equal as can be.

    >>> share_out(10, {"short": 2, "middle": 9, "long": 9})
    {'short': 2, 'middle': 4, 'long': 4}
    """
    shares = dict.fromkeys(sizes, 0)
    left = min(total, sum(sizes.values()))
    while left:
        open_ = [name for name in sizes if shares[name] < sizes[name]]
        each = max(1, left // len(open_))
        for name in open_:
            added = min(each, sizes[name] - shares[name], left)
            shares[name] += added
            left -= added
    return shares


def draw_sentences(inputs: Inputs, config: Any) -> Outcomes:
    """So many of each source by chance, and of each source as many short ones as long ones."""
    sentences = list(inputs.examples("tagged"))
    rules: dict[str, str] = {}
    for source, members in group_by(sentences, lambda one: str(one.meta["source"])).items():
        groups = group_by(
            members, lambda one: name_length(len(one.inputs["words"]), config.lengths)
        )
        counts = share_out(config.per_source, {name: len(group) for name, group in groups.items()})
        for name, group in groups.items():
            rule = f"one of {counts[name]:,} of {source}, {name}, drawn from {len(group):,}"
            for sentence in shuffle(group, config.seed, "length")[: counts[name]]:
                rules[sentence.id] = rule
    for sentence in sentences:
        rule = rules.get(sentence.id, "")
        yield Kept(sentence, rule) if rule else Dropped(sentence, NOT_DRAWN)


# A tree to begin with


def propose_trees(language: Language) -> Callable[[Inputs, Any], Outcomes]:
    """The stage function: sentences with a tree to begin with, unless there is to be none."""

    def run(inputs: Inputs, config: Any) -> Outcomes:
        sentences = list(inputs.examples("chosen"))
        trees: list[dict[str, Any] | None] = [None] * len(sentences)
        rule = "no tree to begin with"
        if config.preparse == "parser" and sentences:
            trees, rule = parse_with(inputs, sentences, language.labels), "the parser's tree"
        elif config.preparse == "chain":
            rule = "each word on the next one"
            for place, sentence in enumerate(sentences):
                own = sentence.meta.get(PARSED)
                trees[place] = own or make_chain(sentence.inputs["words"], language.labels, config)
                rule = "the analyser's tree" if own else rule
        for sentence, tree in zip(sentences, trees, strict=True):
            meta = {name: value for name, value in sentence.meta.items() if name != PARSED}
            begun = {"tree": tree} if tree is not None else {}
            yield Kept(replace(sentence, inputs={**sentence.inputs, **begun}, meta=meta), rule)

    return run


def make_chain(words: Words, labels: Sequence[str], config: Any) -> dict[str, Any]:
    """Each word on the next one, with the relation that its tags make likely."""
    heads = [*range(2, len(words) + 1), 0]
    relations = [
        next(
            (one for one in likely_relations(word, LIKELY, labels) if one != config.root_label),
            labels[-1],
        )
        for word in words
    ]
    if config.root_label:
        relations[-1] = config.root_label
    return {"heads": heads, "labels": relations}


def parse_with(
    inputs: Inputs, sentences: Sequence[Example], labels: Sequence[str]
) -> list[dict[str, Any] | None]:
    """The trees of the embedded parser, which learns from the records of the file `parser`."""
    from nikawa.models import model

    path = inputs.file("parser")
    known = [one for one in open_file(path) if is_tree(one.gold.get("tree"))]
    if len(known) < MIN_TREES:
        what = (
            f"has {len(known)} sentences with a tree, and a parser learns from {MIN_TREES} at least"
        )
        raise BadInput(
            what, file=path, cure='add records with the gold "tree", or set preparse = "chain"'
        )
    task = Task(
        name="trees",
        dataset="",
        kind="tree",
        question="tree",
        inputs=("text", "words"),
        labels=tuple(labels),
        metrics=("uas", "las"),
    )
    parser: Any = model("tree-graph")
    parser.fit(task, known)
    trees: list[dict[str, Any] | None] = []
    for prediction in parser.predict(task, sentences):
        answer = prediction.answer
        trees.append(dict(answer) if is_tree(answer) else None)
    return trees


# Answers


def ask_for_trees(language: Language) -> tuple[Ask, Ask]:
    """The question to workers, and the one to who decides where they differ."""
    settings = {"head_final": "head_final", "root_label": "root_label"}
    trees = Ask(
        "trees",
        "the head and the relation of each word",
        ("proposed",),
        "tree",
        "tree",
        "workers",
        prompt=language.prompt,
        heading=language.heading,
        names={"report_broken": language.broken},
        show=show_sentence,
        settings=settings,
        labels=language.labels,
        reports=REPORTS,
        simulate=simulate(language),
        uses=("root_label",),
    )
    decided = Ask(
        "adjudication",
        "the head and the relation of the words that workers see differently",
        ("disputed",),
        "tree",
        "tree",
        "adjudicators",
        prompt=language.prompt,
        heading=language.decision_heading,
        guideline=language.decision_points,
        names={"report_broken": language.broken},
        show=show_dispute,
        settings=settings,
        labels=language.labels,
        reports=REPORTS,
        apart=("trees",),
        simulate=simulate_decision,
    )
    return trees, decided


def show_sentence(sentence: Example) -> dict[str, Any]:
    """The sentence, its words, and the tree to begin with."""
    return {name: value for name, value in sentence.inputs.items() if name != "answers"}


def show_dispute(sentence: Example) -> dict[str, Any]:
    """The sentence with the trees that workers gave; the page begins with what they share."""
    return {name: value for name, value in sentence.inputs.items() if name != "tree"}


def simulate(language: Language) -> Callable[[Example, Any, Random], Any]:
    """A worker who follows the tags, sees a relation differently now and then, and hands some sentences back."""

    def answer(example: Example, config: Any, random: Random) -> Any:
        if random.random() < 0.03:
            return random.choice(REPORTS)
        tree = example.inputs.get("tree") or make_chain(
            example.inputs["words"], language.labels, config
        )
        labels, last = list(tree["labels"]), len(tree["labels"]) - 1
        free = [label for label in language.labels if label != config.root_label]
        for place in range(last):
            if random.random() < 0.05 and tree["heads"][place]:
                labels[place] = random.choice(free)
        if config.root_label:  # a parser may see it otherwise
            for place, head in enumerate(tree["heads"]):
                if (head == 0) != (labels[place] == config.root_label):
                    labels[place] = free[0] if head else config.root_label
        return {"heads": list(tree["heads"]), "labels": labels}

    return answer


def simulate_decision(example: Example, config: Any, random: Random) -> Any:
    """One who takes the tree of one of the workers."""
    return random.choice(example.inputs["answers"])


def compare_trees(inputs: Inputs, config: Any) -> Outcomes:
    """Sentences whose trees are equal, and those to be decided with the trees that were given; a reported one is dropped."""
    answers, book = answers_of(inputs.judgements("trees")), inputs.decisions("trees")
    for sentence in inputs.examples("proposed"):
        given = answers.get(sentence.id, [])
        decision = book.find(sentence.id, has_gold=False)
        reports = [one for one in given if is_report(one.answer)]
        trees = [plain_tree(one) for one in given if not is_report(one.answer)]
        if decision is not None:
            check_decided(decision.answer, sentence)
            yield accept(sentence, decision.answer, book.explain(sentence.id), 0, "agreed")
        elif reports:
            yield Dropped(sentence, "reported", describe_answers(reports))
        elif all(tree == trees[0] for tree in trees):
            yield accept(sentence, trees[0], f"{len(trees)} equal trees", 0, "agreed")
        else:
            distinct = [tree for n, tree in enumerate(trees) if tree not in trees[:n]]
            made = replace(sentence, inputs={**sentence.inputs, "answers": distinct})
            places = list_disputed(distinct)
            yield Kept(made, f"{len(places)} words seen differently", "disputed")


def plain_tree(judgement: Judgement) -> dict[str, Any]:
    """The tree of an answer, as plain lists."""
    return {part: list(judgement.answer[part]) for part in ("heads", "labels")}


def check_decided(answer: Any, sentence: Example) -> None:
    """Refuse an owner's decision that is no tree over the sentence."""
    if not is_tree(answer, len(sentence.inputs["words"])):
        fault = find_tree_fault(
            answer.get("heads", []) if isinstance(answer, dict) else [],
            len(sentence.inputs["words"]),
        )
        what = f"the decision about {sentence.id!r} is no tree: {fault or 'it does not have one label for each word'}"
        raise BadInput(what, cure="decide on a whole tree")


def list_disputed(trees: Sequence[Mapping[str, Any]]) -> list[int]:
    """The words, counted from 1, that have different heads or relations."""
    arcs = [list(zip(tree["heads"], tree["labels"], strict=True)) for tree in trees]
    return [n for n, of_word in enumerate(zip(*arcs, strict=True), 1) if len(set(of_word)) > 1]


def accept(sentence: Example, tree: Any, rule: str, decided: int, into: str = "") -> Kept:
    """A sentence with its gold, and in the meta what is unusual about it."""
    heads = list(tree["heads"])
    odd = {"crossing": has_crossing_arcs(heads), "leftward": has_leftward_head(heads)}
    inputs = {name: sentence.inputs[name] for name in ("text", "words")}
    meta = {
        **sentence.meta,
        "decided": decided,
        **{name: True for name, is_so in odd.items() if is_so},
    }
    gold = {"tree": {"heads": heads, "labels": list(tree["labels"])}}
    return Kept(replace(sentence, inputs=inputs, meta=meta, gold=gold), rule, into)


def resolve_trees(inputs: Inputs, config: Any) -> Outcomes:
    """All sentences with their trees: the equal ones, and those that were decided."""
    for sentence in inputs.examples("agreed"):
        yield Kept(sentence, "no word seen differently")
    answers, book = answers_of(inputs.judgements("adjudication")), inputs.decisions("adjudication")
    for sentence in inputs.examples("disputed"):
        places = list_disputed(sentence.inputs["answers"])
        decision = book.find(sentence.id, has_gold=False)
        given = answers.get(sentence.id, [])
        trees = [plain_tree(one) for one in given if not is_report(one.answer)]
        if decision is not None:
            check_decided(decision.answer, sentence)
            yield accept(sentence, decision.answer, book.explain(sentence.id), len(places))
        elif not trees:
            yield Dropped(sentence, "reported", describe_answers(given))
        elif all(tree == trees[0] for tree in trees):
            yield accept(sentence, trees[0], f"{len(places)} words decided", len(places))
        else:
            yield Dropped(sentence, "decided differently", f"{len(trees)} trees")


def split_sentences(inputs: Inputs, config: Any) -> Outcomes:
    """Each part with its share of every source."""
    sentences = list(inputs.examples("resolved"))
    for members in group_by(sentences, lambda one: str(one.meta["source"])).values():
        yield from assign_splits(members, config.split, config.seed, lambda one: one.id)


def tree_stages(language: Language) -> tuple[Stage | Ask, ...]:
    """The stages of a recipe for trees."""
    trees, decided = ask_for_trees(language)
    return (
        Stage(
            "taken",
            "sentences of the source, each once",
            take_sentences(language),
            ("sentences",),
            ("cleaning",),
        ),
        Stage(
            "tagged",
            "complete sentences of the lengths asked for, with morphemes and tags by the analyser",
            tag_words(language),
            ("taken",),
            ("analyser", "shortest", "longest", "complete"),
        ),
        Stage(
            "chosen",
            "so many of each source, drawn by chance, short and long ones alike",
            draw_sentences,
            ("tagged",),
            ("per_source", "lengths", "seed"),
        ),
        Stage(
            "proposed",
            "sentences with the tree that workers begin with",
            propose_trees(language),
            ("chosen", "parser"),
            ("preparse", "root_label"),
        ),
        trees,
        Stage(
            "compared",
            "sentences whose trees are equal, and those to be decided; a reported sentence is dropped",
            compare_trees,
            ("proposed", "trees"),
            (),
            ("agreed", "disputed"),
        ),
        decided,
        Stage(
            "resolved",
            "trees that all workers gave, or that were decided word by word",
            resolve_trees,
            ("agreed", "disputed", "adjudication"),
        ),
        splits_stage(
            "each part with its share of every source",
            split_sentences,
            ("resolved",),
            ("split", "seed"),
        ),
    )


def check_trees(language: Language) -> Callable[[Any], None]:
    """The function that refuses settings that could not be met."""

    def check(config: Any) -> None:
        from nikawa.text import analyser

        check_split(config)
        if config.shortest > config.longest:
            what = f"shortest = {config.shortest} is more than longest = {config.longest}"
            raise BadInput(what, cure="lower one or raise the other")
        if config.root_label and config.root_label not in language.labels:
            what = f"root_label = {config.root_label!r} is not a relation of {language.recipe}"
            raise BadInput(what, cure=f"write one of {', '.join(language.labels)}")
        if config.preparse == "parser" and not config.parser:
            what = 'preparse = "parser" needs the setting parser'
            cure = 'name a file of records with trees, or set preparse = "chain"'
            raise BadInput(what, cure=cure)
        analyser(config.analyser)

    return check


def describe_gold(config: Any) -> str:
    """How the labels of a card were made."""
    begun = {
        "none": "from bare words",
        "chain": "from a tree in which each word depends on the next one",
        "parser": "from the tree of a parser",
    }[config.preparse]
    return f"{config.workers} workers gave each sentence a tree, beginning {begun}; {config.adjudicators} more decided the words on which they differed."


NOTES = (
    "The number of workers, the limits of length and the draw by length are choices made here.",
    "The workers' trees are kept with the lineage; meta.decided counts the words of a sentence that were decided.",
    'A tree that workers begin with may draw their answers towards it; preparse = "none" avoids this.',
)
