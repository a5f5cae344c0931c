"""Answers that are dependency trees: how they are read, voted on arc by arc, decided on, and written.

A table of judgements holds each answer as a `Tree`. An arc is the head and the relation of a word, taken together. `majority`
gives a word the arc that more than half of the item's workers gave it, `votes:K` the one that K did. An item is accepted
where every word has such an arc and the arcs make a tree; any other item is tied, with the open words named, and a person
decides on these alone: the arcs that have their votes are kept, and what is decided must be a tree.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from nikawa.aggregation.measure import ratio
from nikawa.aggregation.rules import Rule, Step
from nikawa.aggregation.spans import freeze_spans
from nikawa.aggregation.structures import freeze_structures
from nikawa.aggregation.table import Floats, Table
from nikawa.datasets.trees import find_tree_fault
from nikawa.errors import BadInput
from nikawa.records import Judgement

Arc = tuple[int, str]
"""Head and relation of a word."""
Flags = NDArray[np.bool_]
PARTS = {"heads", "labels"}
CURE = "write 2>3:NP_SBJ 4>0:VP (word>head:RELATION) for the open words, or the whole tree as {heads, labels}"
_WRITTEN_ARC = re.compile(r"(\d+)>(\d+):(\S+)")


class Tree(msgspec.Struct, frozen=True):
    """A tree as a table holds it; written as JSON it is the answer again."""

    heads: tuple[int, ...]
    labels: tuple[str, ...]

    @property
    def arcs(self) -> list[Arc]:
        """Head and relation of each word."""
        return list(zip(self.heads, self.labels, strict=True))

    def to_gold(self) -> dict[str, list[Any]]:
        """The tree as examples hold it."""
        return {"heads": list(self.heads), "labels": list(self.labels)}


# Reading


def freeze_answers(
    judgements: Iterable[Judgement], question: str | None = None
) -> Iterator[Judgement]:
    """The judgements with trees, spans and other structured answers as a table can hold them."""
    for judgement in freeze_structures(freeze_spans(judgements, question), question):
        is_asked = question is None or judgement.question == question
        if is_asked and type(judgement.answer) is dict and judgement.answer.keys() == PARTS:
            try:
                tree = to_tree(judgement.answer)
            except ValueError as problem:
                what = (
                    f"{judgement.worker}'s answer about {judgement.example} is no tree: {problem}"
                )
                raise BadInput(what, cure="correct it, or remove it") from None
            yield msgspec.structs.replace(judgement, answer=tree)
        else:
            yield judgement


def to_tree(value: Any) -> Tree:
    """The tree of `{heads, labels}`; raises `ValueError` with what is wrong."""
    if isinstance(value, Tree):
        return value
    if not isinstance(value, dict) or value.keys() != PARTS:
        raise ValueError("it does not have heads and labels")
    heads, labels = value["heads"], value["labels"]
    if not all(isinstance(part, list | tuple) for part in (heads, labels)):
        raise ValueError("heads and labels are not lists")
    if fault := find_tree_fault(heads, len(heads)):
        raise ValueError(fault)
    if len(labels) != len(heads) or not all(isinstance(label, str) for label in labels):
        raise ValueError("it does not have one label for each head")
    return Tree(tuple(heads), tuple(labels))


def to_known_tree(value: Any) -> Any:
    """A known answer as a table of trees holds it; what is no tree equals no answer."""
    try:
        return to_tree(value)
    except ValueError:
        return None


def holds_trees(table: Table) -> bool:
    """Whether the answers are trees; some that are and some that are not, or over other words, are refused."""
    others = [answer for answer in table.categories if not isinstance(answer, Tree)]
    if 0 < len(others) < len(table.categories):
        raise BadInput(
            f"some answers to {table.question!r} are trees, some are not (such as {others[0]!r})",
            cure="ask two questions, or remove what is not a tree",
        )
    if others or not table.categories:
        return False
    sizes = np.array([len(tree.heads) for tree in table.categories])[table.answer]
    first = np.zeros(len(table.items), dtype=np.int64)
    first[table.item] = sizes
    if (odd := np.flatnonzero(first[table.item] != sizes)).size:
        place = int(odd[0])
        counts = sorted({int(sizes[place]), int(first[table.item[place]])})
        what = f"the trees about {table.items[table.item[place]]} have {counts[0]} and {counts[1]} words"
        raise BadInput(what, cure="let all workers see the same words")
    return True


def trees_by_item(table: Table) -> list[list[Tree]]:
    """The answers about each item of a table of trees."""
    answers: list[list[Tree]] = [[] for _ in table.items]
    for item, answer in zip(table.item.tolist(), table.answer.tolist(), strict=True):
        answers[item].append(table.categories[answer])
    return answers


def trees_of_item(table: Table, item: str) -> list[Tree]:
    """The answers about one item."""
    if item not in table.items:
        return []
    codes = table.answer[table.item == list(table.items).index(item)]
    return [table.categories[code] for code in codes.tolist()]


def count_relations(table: Table) -> dict[str, int]:
    """How many words got each relation, from all workers together."""
    counts: Counter[str] = Counter()
    for tree, times in zip(table.categories, table.per_category().tolist(), strict=True):
        for label in tree.labels:
            counts[label] += times
    return dict(sorted(counts.items()))


# Votes


def check_tree_rule(rule: Rule, prefers: bool) -> None:
    """Refuse a rule that makes no gold of trees, and a tie rule that prefers a label."""
    steps = (rule.decider, *rule.steps)
    odd = [step.text for step in steps if step.name not in ("majority", "votes", "min")]
    if odd or rule.first:
        what = f"the rule {rule.text!r}: {odd[0] if odd else 'first'!r} is not for trees"
        cure = "trees are voted on arc by arc: majority, votes:2/3 or votes:2, +min:2 if need be"
        raise BadInput(what, cure=cure)
    if prefers:
        cure = "pass --ties drop or --ties adjudicate"
        raise BadInput("a tie between trees cannot prefer a label", cure=cure)


def vote_on_arcs(answers: Sequence[Tree], least: int) -> list[Arc | None]:
    """The arc of each word that at least so many answers have, and more than any other arc has; None where none is."""
    voted: list[Arc | None] = []
    for arcs in zip(*(tree.arcs for tree in answers), strict=True):
        (best, votes), *others = Counter(arcs).most_common(2)
        wins = votes >= least and (not others or others[0][1] < votes)
        voted.append(best if wins else None)
    return voted


def join_arcs(arcs: Sequence[Arc | None]) -> Tree | None:
    """The tree that arcs make; None where a word lacks one, or where they make none."""
    known = [arc for arc in arcs if arc is not None]
    if not known or len(known) < len(arcs):
        return None
    heads = tuple(head for head, _ in known)
    if find_tree_fault(heads, len(heads)):
        return None
    return Tree(heads, tuple(label for _, label in known))


def votes_needed(decider: Step, answers: int) -> int:
    """How many answers an arc needs."""
    return answers // 2 + 1 if decider.name == "majority" else int(decider.number)


def vote_on_trees(table: Table, decider: Step) -> tuple[list[Tree | None], Flags, Flags]:
    """Of each item the tree that its arcs make, whether it has as many answers as planned, and whether it is tied."""
    trees: list[Tree | None] = []
    enough, tied = [], []
    for answers in trees_by_item(table):
        tree = join_arcs(vote_on_arcs(answers, votes_needed(decider, len(answers))))
        trees.append(tree)
        enough.append(decider.of is None or len(answers) == decider.of)
        tied.append(tree is None)
    return trees, np.array(enough, dtype=bool), np.array(tied, dtype=bool)


def mean_arc_support(table: Table, trees: Sequence[Tree | None]) -> Floats:
    """Of each item the mean share of workers who gave a word the arc of its tree; 0 where it has no tree."""
    shares = np.zeros(len(trees))
    for place, (tree, answers) in enumerate(zip(trees, trees_by_item(table), strict=True)):
        if tree is not None and answers:
            votes = sum(count_equal_arcs(tree, other) for other in answers)
            shares[place] = votes / (len(tree.heads) * len(answers))
    return shares


def count_equal_arcs(one: Tree, other: Tree) -> int:
    """How many words have the same head and relation in two trees."""
    return sum(arc == own for arc, own in zip(one.arcs, other.arcs, strict=True))


def las_against_rest(table: Table) -> Floats:
    """The share of each worker's arcs that the others gave too, every answer of theirs weighed alike."""
    shared = np.zeros(len(table.workers))
    size = np.zeros(len(table.workers))
    workers: list[list[int]] = [[] for _ in table.items]
    for item, worker in zip(table.item.tolist(), table.worker.tolist(), strict=True):
        workers[item].append(worker)
    for item_workers, answers in zip(workers, trees_by_item(table), strict=True):
        for mine, (worker, tree) in enumerate(zip(item_workers, answers, strict=True)):
            others = [other for place, other in enumerate(answers) if place != mine]
            if others:
                equal = sum(count_equal_arcs(tree, other) for other in others)
                shared[worker] += equal / len(others)
                size[worker] += len(tree.heads)
    return ratio(shared, size)


# Decisions


def read_decided_tree(answer: Any, answers: Sequence[Tree], decider: Step) -> Tree:
    """The tree that a person decided on: whole, or the arcs of some words, with the others as they were voted.

    Raises `ValueError` with what is wrong: the result is always a tree.
    """
    if isinstance(answer, str) and answer.lstrip().startswith("{"):
        try:
            answer = msgspec.json.decode(answer)
        except msgspec.DecodeError:
            raise ValueError("it is not JSON") from None
    if not isinstance(answer, str):
        tree = to_tree(answer)
        if answers and len(tree.heads) != len(answers[0].heads):
            raise ValueError(
                f"it has {len(tree.heads)} words, the answers have {len(answers[0].heads)}"
            )
        return tree
    if not answers:
        raise ValueError("no worker answered, so the whole tree is needed")
    arcs = vote_on_arcs(answers, votes_needed(decider, len(answers)))
    for part in re.split(r"[\s,]+", answer.strip()):
        match = _WRITTEN_ARC.fullmatch(part)
        if match is None or not 1 <= int(match[1]) <= len(arcs):
            raise ValueError(f"{part!r} is not word>head:RELATION")
        arcs[int(match[1]) - 1] = (int(match[2]), match[3])
    if left := [str(place) for place, arc in enumerate(arcs, start=1) if arc is None]:
        raise ValueError(f"the workers differ on word {', '.join(left)}, which is not decided")
    heads = [arc[0] for arc in arcs if arc is not None]
    if fault := find_tree_fault(heads, len(heads)):
        raise ValueError(fault)
    return Tree(tuple(heads), tuple(arc[1] for arc in arcs if arc is not None))


# Writing


def format_arc(place: int, arc: Arc) -> str:
    """`2>3:NP_SBJ`: word, head and relation."""
    return f"{place}>{arc[0]}:{arc[1]}"


def arc_shares(answers: Sequence[Tree]) -> dict[str, float]:
    """Of one item: the share of its workers who gave each arc, of the words on which they differ."""
    shares: dict[str, float] = {}
    for place, arcs in enumerate(zip(*(tree.arcs for tree in answers), strict=True), start=1):
        counts = Counter(arcs)
        if len(counts) > 1:
            for arc, votes in counts.most_common():
                shares[format_arc(place, arc)] = round(votes / len(answers), 6)
    return shares


def format_arc_votes(answers: Sequence[Tree], forms: Sequence[str] = ()) -> str:
    """The words on which workers differ with the votes of each arc: `2>3:NP_SBJ 1, 2>4:NP_OBJ 1, of 2`."""
    if not answers:
        return "no answers"
    parts = []
    for place, arcs in enumerate(zip(*(tree.arcs for tree in answers), strict=True), start=1):
        counts = Counter(arcs)
        if len(counts) > 1:
            form = f" ({forms[place - 1]})" if place <= len(forms) else ""
            votes = [f"{format_arc(place, arc)} {count}" for arc, count in counts.most_common()]
            parts.append(f"{', '.join(votes)}{form}")
    return ", ".join([*(parts or ["all arcs equal"]), f"of {len(answers)}"])
