"""Ready-made parts of stages: deciding by votes, drawing, splitting, tagging.

Recipes call them; they keep no state.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from random import Random
from typing import Any, Protocol, TypeVar

from msgspec.structs import replace

from nikawa.datasets.subsets import group_by
from nikawa.errors import BadInput, list_names, suggest
from nikawa.recipes.recipe import SPLITS, Dropped, Inputs, Kept, Outcomes
from nikawa.records import Example, Judgement

NOBODY, NOT_DRAWN = "nobody answered", "not drawn"


class Named(Protocol):
    """What has an id to be drawn by."""

    @property
    def id(self) -> str:
        """The id, the same in every run."""


Item = TypeVar("Item", bound=Named)


def random_key(seed: int, *names: str) -> bytes:
    """A random key that depends on the names and the seed alone: to sort by, or to compare with a
    share.
    """
    return blake2b("\0".join((str(seed), *names)).encode(), digest_size=8).digest()


def seeded_random(seed: int, *names: str) -> Random:
    """A source of chance that depends on the names and the seed alone."""
    return Random(int.from_bytes(random_key(seed, *names)))  # noqa: S311  (not a secret)


def draw_examples(examples: Iterable[Example], count: int, seed: int, what: str) -> Outcomes:
    """So many items by chance, in their order; the rest is dropped as not drawn."""
    items = list(examples)
    chosen = {example.id for example in shuffle(items, seed, what)[:count]}
    rule = f"one of {min(count, len(items)):,} drawn from {len(items):,}"
    for example in items:
        yield Kept(example, rule) if example.id in chosen else Dropped(example, NOT_DRAWN)


def shuffle(items: Iterable[Item], seed: int, what: str) -> list[Item]:
    """The items in an order that depends on their ids, the seed and `what` alone: what is drawn
    comes first.
    """
    return sorted(items, key=lambda item: (random_key(seed, what, item.id), item.id))


def answers_of(judgements: Iterable[Judgement]) -> dict[str, list[Judgement]]:
    """The judgements by item."""
    return group_by(judgements, lambda judgement: judgement.example)


def settled_answers(inputs: Inputs, ask: str) -> dict[str, list[Judgement]]:
    """The answers by item, as `answers_of` has them; a decision that overrides them replaces them.

    For stages that take what was written or marked as it is; those that count votes ask `Inputs.decisions`.
    """
    answers = answers_of(inputs.judgements(ask))
    book = inputs.decisions(ask)
    for item in book.items():
        decision = book.find(item, has_gold=item in answers)
        if decision is not None:
            answers[item] = [decision.to_judgement()]
    return answers


def decide(
    inputs: Inputs, items: str, ask: str, rule: str, only: Sequence[str] = (), gold: str = ""
) -> Outcomes:
    """Give the items of a set the gold that a rule of `nikawa aggregate` makes of the answers to an
    `Ask`.

    An owner's decision counts as it does there. With `only`, another outcome than these labels
    drops the item. The gold goes under `gold`, else the question.
    """
    from nikawa.aggregation.decisions import add_decided_items, apply_decisions
    from nikawa.aggregation.table import Table
    from nikawa.aggregation.verdicts import ACCEPTED, apply_rule

    examples = list(inputs.examples(items))
    if not examples:
        return
    judged, book = list(inputs.judgements(ask)), inputs.decisions(ask)
    table = add_decided_items(Table.from_judgements(judged), book.items())
    verdicts = apply_decisions(apply_rule(table, rule, "drop"), book)
    place = {name: at for at, name in enumerate(verdicts.table.items)}
    values, votes = verdicts.answers(), answers_of(judged)
    question = gold or verdicts.table.question
    for example in examples:
        at = place.get(example.id)
        if at is None or verdicts.state[at] != ACCEPTED:
            why = NOBODY if at is None else f"fails {verdicts.names[verdicts.by[at]]}"
            yield Dropped(example, why, describe_answers(votes.get(example.id, ())))
        elif only and values[at] not in only:
            why = f"not {' or '.join(only)}"
            yield Dropped(example, why, describe_answers(votes.get(example.id, ())))
        else:
            made = replace(example, gold={**example.gold, question: values[at]})
            met = f"{rule} and {' or '.join(only)}" if only else rule
            if at in verdicts.decided:
                met = f"{book.explain(example.id)}; without it {met}"
            yield Kept(made, f"{met}: {describe_answers(votes.get(example.id, ()))}")


def describe_answers(judgements: Iterable[Judgement]) -> str:
    """The answers in a few words, the commonest first: `neutral x7, entailment x3`."""
    counts = Counter(str(judgement.answer) for judgement in judgements)
    return ", ".join(
        f"{answer} x{n}" for answer, n in sorted(counts.items(), key=lambda c: (-c[1], c[0]))
    )


def most_voted(answers: Iterable[Any], least: int = 1) -> Any:
    """The answer given most often, if it has at least this many votes and more than any other; else None."""
    counts = Counter(answers).most_common(2)
    if not counts or counts[0][1] < least or (len(counts) == 2 and counts[0][1] == counts[1][1]):
        return None
    return counts[0][0]


def assign_splits(
    examples: Sequence[Example],
    sizes: str,
    seed: int,
    group: Callable[[Example], str],
    sets: Mapping[str, str] = SPLITS,
) -> Outcomes:
    """Sort items into the sets of splits (`train`, `dev`, `test` to a set's name).

    The first takes what the others leave. Groups stay whole, in an order that depends on their
    names and the seed alone; a part ends with the group that fills it.
    """
    from nikawa.splitting.base import parse_sizes

    limits = parse_sizes(sizes, len(examples), tuple(sets))
    first, *others = sets
    groups = group_by(examples, group)
    home, counts = {}, dict.fromkeys(sets, 0)
    for name in sorted(groups, key=lambda name: (random_key(seed, "split", name), name)):
        home[name] = next((part for part in others if counts[part] < limits[part]), first)
        counts[home[name]] += len(groups[name])
    for example in examples:
        split = home[group(example)]
        yield Kept(example, f"split {split}: drawn with {group(example)}", sets[split])


def split_groups(
    inputs: Inputs,
    config: Any,
    names: Iterable[str],
    group: Callable[[Example], str],
    ids: Callable[[Example], set[str]] = lambda example: {example.id},
    sets: Mapping[str, str] = SPLITS,
) -> Outcomes:
    """Sort the items of the sets `names` into splits of the sizes that the setting `split` gives;
    see `assign_splits`.

    The setting `removed`, where the stage uses it, names items deleted manually, by any of their
    `ids`; the setting `tags` names the tag pack whose tags they get.
    """
    examples = [example for name in names for example in inputs.examples(name)]
    removed = getattr(config, "removed", ())
    check_removed(removed, {one for example in examples for one in ids(example)})
    kept = []
    for example in examples:
        if ids(example).isdisjoint(removed):
            kept.append(example)
        else:
            yield Dropped(example, "deleted by hand")
    if kept:
        tagged = list(add_tags(kept, getattr(config, "tags", "none")))
        yield from assign_splits(tagged, config.split, config.seed, group, sets)


def check_split(config: Any, parts: int = 3) -> None:
    """Refuse a setting `split` without sizes for this number of parts."""
    from nikawa.splitting.base import parse_sizes

    try:
        parse_sizes(config.split, 1_000_000, tuple(map(str, range(parts))))
    except BadInput as problem:
        what = f"the setting split = {config.split!r} cannot be used: {problem.what}"
        raise BadInput(
            what, cure=f"write {parts} shares that add up to 1, or rest,500,500"
        ) from None


def check_removed(removed: Sequence[str], known: Collection[str]) -> None:
    """Refuse to delete by hand what is not there: a mistyped id would leave in what was meant to
    go.
    """
    if missing := [one for one in removed if one not in known]:
        what = f"the setting removed names {list_names(missing)}, which did not reach this stage"
        raise BadInput(what, cure=f"remove it from the list, or {suggest(missing[0], known)}")


def check_votes(votes: str, workers: str, config: Any) -> None:
    """Refuse to ask for more equal answers than there are workers.

    Args:
        votes: the setting that says how many answers must be equal.
        workers: the setting that says how many there are.
    """
    if getattr(config, votes) > getattr(config, workers):
        what = f"{votes} = {getattr(config, votes)} is more than {workers} = {getattr(config, workers)}"
        raise BadInput(what, cure="no item could ever be accepted: lower one or raise the other")


def check_tags(config: Any) -> None:
    """Refuse a tag pack that is not there."""
    if config.tags != "none":
        from nikawa.tagging import find_pack

        find_pack(config.tags)


def character_overlap(one: str, other: str) -> float:
    """Characters that two texts share, of all they have: 0 to 1; simulated workers go by it."""
    return len(set(one) & set(other)) / max(1, len(set(one) | set(other)))


def add_tags(examples: Iterable[Example], pack: str) -> Iterator[Example]:
    """The examples with the tags a pack finds; as they are where the pack is called `none`."""
    if pack == "none":
        yield from examples
        return
    from nikawa.tagging import find_pack, tag_all

    for example in tag_all(examples, find_pack(pack)):
        yield replace(example.example, tags=example.example.tags | example.tags)


def refuse_pairs(inputs: Mapping[str, Any], path: Any, line: int, takes: str) -> None:
    """Refuse a line that holds a pair, such as `nikawa pair` writes, where a recipe pairs by itself.

    `takes` says what the recipe takes instead.
    """
    for names in (("sentence1", "sentence2"), ("premise", "hypothesis")):
        if all(name in inputs for name in names):
            what = f"is a pair of sentences; the recipe takes {takes} and makes the pairs itself"
            raise BadInput(what, file=path, line=line, cure=f"pass the file of {takes}")


def require_value(value: Any, what: str, path: Any, line: int) -> Any:
    """A value a source line must have.

    Raises:
        BadInput: it is None or empty; the message calls it `what` and names the line.
    """
    if value in (None, ""):
        raise BadInput(
            f"has no {what}", file=path, line=line, cure="see docs/build.md for the fields"
        )
    return value
