"""Whether ids, order or other fields of items give their labels away.

Each field is looked at by its features (the value, its length, how it begins and ends, the number
in it and its remainders, the names of labels in it; of an order also the label of the item before),
and each feature is compared with the label by their mutual information. Labels are then shuffled
over the items: a feature gives labels away if its information is outside the range of the
shuffles. There are many features, so their standard scores are compared with the greatest of each
shuffle (Westfall and Young 1993, the maxT procedure): all together they raise a false alarm in 1 of
100 datasets. Too little information counts as well as too much: three hypotheses of a premise with
three different labels help to guess.

An answer that is a text or a span is looked for in the field itself.

Labels that are open to everybody are another matter: that a tag goes with a label more often than
not is what tags are for. There a field gives the label away where it leaves little to guess: it
takes half of the errors away that guessing the most frequent label makes (`Giveaway.strength`,
Goodman and Kruskal's lambda), or some of its values have always the same label (`Giveaway.certain`).
An id, a group and a field of very many values are names: that the items of a document share a label
says nothing about the next document, and a number in a name follows the order of the file, which
nothing that reads one example sees. Only how names begin, and whether they name a label, is looked at.
`nikawa data check`, `nikawa data export` and `nikawa build` name those fields (`find_open_giveaways`);
`nikawa probe giveaways` lists the weaker ones as well.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from unicodedata import normalize

import numpy as np
from numpy.typing import NDArray

from nikawa.checks.sameness import sameness_rules
from nikawa.io.json import encode_json
from nikawa.printable import printable_line
from nikawa.records import Example, Record, Span, reference, texts_inside

Codes = NDArray[np.int64]

ALPHA = 0.01
"""How often a dataset without any giveaway is suspected of one."""
SHUFFLES = 499
MAX_ITEMS = 5_000
"""Items that are looked at; of more, as many are drawn."""
MAX_ITEMS_SEARCHED = 500
"""Items whose fields are searched for the answer itself."""
MAX_SEARCHES = 500_000
"""Times that a field is searched for an answer."""
MIN_ITEMS = 5
"""Items below which no test can find anything."""
MAX_CODES_AT_ONCE = 500_000
"""Shuffled labels in memory at once."""
MAX_CODES = 150
"""Different values of a feature or a label; rarer ones count as one."""
MAX_VALUES = 60
"""Values of a list (such as tags) that are separate features."""
BINS = 10
LABEL_BINS = 5
MAX_CLASSES = 12
"""Up to this many different numbers, each counts as a separate label."""
REMAINDERS = (2, 3, 4, 5)
MIN_STRENGTH = 0.5
"""Share of errors that a field must take away to give open labels away."""
MIN_CERTAIN_SHARE = 0.05
"""Share of the items that values with always the same label must have together."""
MAX_MEANT_VALUES = 50
"""Different values above which those of a field are names, where labels are open."""
MAX_VALUE_CHARS = 40
"""Characters of a value or label that is named."""
MAX_CERTAIN_SHOWN = 3
"""Values with always the same label that are named."""
MIN_ANSWER_CHARS = 2
"""Characters below which an answer is in a field by chance."""
_EDGE = "。．.!?！？、，, \u3000"


class Giveaway(Record, frozen=True, kw_only=True, omit_defaults=True):
    """Something that gives away labels that are to be hidden."""

    field: str
    """What `--allow-leak` calls it: `id`, `order`, `tags`, `meta.KEY`, `copies`, `parents`, …"""
    split: str
    what: str
    """In words, with the figure."""
    p: float | None = None
    """Its probability under shuffled labels; None without a test."""
    count: int = 0
    """Items concerned, where they can be named."""
    ids: tuple[str, ...] = ()
    allowed: bool = False
    strength: float = 0.0
    """Share of the errors of guessing the most frequent label that guessing by the field avoids; of
    a field that contains the answer itself, the share of items where it does."""
    certain: tuple[str, ...] = ()
    """Values whose items have one label only, more of them than chance gives: `C = contradiction`."""

    @property
    def is_strong(self) -> bool:
        """Whether it leaves little to guess, which open labels must not either."""
        return self.strength >= MIN_STRENGTH or bool(self.certain)


@dataclass(frozen=True)
class Feature:
    """One way to look at a field."""

    field: str
    title: str
    codes: Codes | None = None
    values: Sequence[str] = ()
    """What is looked at of each item, where it can be named."""
    order: Codes | None = None
    """Without codes: items in an order in which the label of the one before is the feature."""

    def under(self, labels: Codes) -> Codes:
        """The feature of each item; of an order, for each row of labels."""
        if self.codes is not None:
            return self.codes
        assert self.order is not None
        values = np.zeros_like(labels)
        values[..., self.order[1:]] = labels[..., self.order[:-1]] + 1
        return values


def find_giveaways(
    split: str,
    fields: Mapping[str, Sequence[Any]],
    golds: Sequence[Mapping[str, Any]],
    *,
    ordered: Sequence[str] = (),
    seed: int = 0,
    names: Sequence[str] = (),
    summaries: bool = True,
    strong: bool = False,
) -> list[Giveaway]:
    """The fields that give labels away, each by its strongest feature.

    `fields` have one value per item; those in `ordered` (places, ids) are also tested as an order,
    of those in `names` only how they begin and whether they name a label. Without `summaries`, of
    gold that is a list or a tree only the answer itself is looked for. With `strong` only what leaves little to guess is
    looked at: see `Giveaway.is_strong`.
    """
    draw = np.random.default_rng(seed)
    questions = list(dict.fromkeys(question for gold in golds for question in gold))
    alpha = ALPHA / max(1, len(questions))
    giveaways: list[Giveaway] = []
    for question in questions if fields else ():
        # The inputs of an item already show which questions it has.
        places = [place for place, gold in enumerate(golds) if question in gold]
        if len(places) > MAX_ITEMS:
            places = np.sort(draw.choice(places, MAX_ITEMS, replace=False)).tolist()
        if len(places) < MIN_ITEMS:
            continue
        answers = [golds[place][question] for place in places]
        columns = {name: [values[place] for place in places] for name, values in fields.items()}
        labels = {title: codes for title, codes in label_codes(question, answers) if codes.any()}
        if not summaries:
            labels = {title: codes for title, codes in labels.items() if title == question}
        words = {answer for answer in answers if isinstance(answer, str)}
        features = [
            feature
            for name, values in columns.items()
            for feature in list_features(
                name,
                values,
                words,
                is_order=name in ordered,
                is_name=name in names,
                least=MIN_ITEMS if strong else 2,
            )
        ]
        texts = [answer if isinstance(answer, str) else "" for answer in answers]
        if strong:
            # Few features are left, so that the shuffles cost little.
            features = [
                feature
                for feature in features
                if any(_is_strong(feature, codes, texts) for codes in labels.values())
            ]
        giveaways += measure_features(split, features, labels, draw, alpha, texts)
        giveaways += search_answers(split, columns, answers, draw, alpha / len(columns))
    best: dict[str, Giveaway] = {}
    for giveaway in sorted(giveaways, key=lambda each: (each.p or 0.0, not each.is_strong)):
        if giveaway.is_strong or not strong:
            best.setdefault(giveaway.field, giveaway)
    return list(best.values())


def find_open_giveaways(
    splits: Mapping[str, Sequence[Example]], *, strong: bool = True
) -> list[Giveaway]:
    """The fields other than the inputs that give open labels away: meta values, tags, groups and ids.

    The order of examples is left aside, as
    nothing that reads one example sees it. Labels that are hidden are not looked at.
    """
    giveaways = []
    for split, examples in splits.items():
        shown = [example for example in examples if example.gold and not example.hidden]
        fields: dict[str, list[Any]] = {"id": [example.id for example in shown]}
        if any(example.tags for example in shown):
            fields["tags"] = [example.tags for example in shown]
        if any(example.group is not None for example in shown):
            fields["group"] = [example.group for example in shown]
        for key in dict.fromkeys(key for example in shown for key in example.meta):
            fields[f"meta.{key}"] = [example.meta.get(key) for example in shown]
        names = ["id", "group"]
        for name, values in fields.items():
            if _has_many_values(values):
                names.append(name)
        golds = [example.gold for example in shown]
        giveaways += find_giveaways(
            split, fields, golds, names=names, summaries=False, strong=strong
        )
    return giveaways


def _has_many_values(values: Iterable[Any]) -> bool:
    """Whether there are more different values than a field with a meaning has."""
    written: set[str] = set()
    for value in values:
        written.add(_write(value))
        if len(written) > MAX_MEANT_VALUES:
            return True
    return False


def _is_strong(feature: Feature, labels: Codes, names: Sequence[str]) -> bool:
    """Whether a feature leaves little of the labels to guess."""
    codes = feature.under(labels)
    return measure_strength(*guess_labels(codes, labels)) >= MIN_STRENGTH or bool(
        find_certain(feature, labels, names)
    )


def measure_strength(guessed: float, usual: float) -> float:
    """Goodman and Kruskal's lambda: the share of errors that a guess by the field avoids.

    >>> measure_strength(guessed=0.9, usual=0.6)
    0.75
    """
    return round(max(0.0, (guessed - usual) / (1 - usual)), 6) if usual < 1 else 0.0


def find_certain(feature: Feature, labels: Codes, names: Sequence[str]) -> tuple[str, ...]:
    """The values whose items all have one label, where chance would not do that: `C = contradiction`.

    Of n items all have a label of share s by chance with probability s ** n; this is compared with
    alpha divided by the number of values.
    """
    if feature.codes is None or not feature.values or not any(names):
        return ()
    table = np.zeros((int(feature.codes.max()) + 1, int(labels.max()) + 1), dtype=np.int64)
    np.add.at(table, (feature.codes, labels), 1)
    shares = table.sum(axis=0) / len(labels)
    sizes, best = table.sum(axis=1), table.argmax(axis=1)
    pure = (sizes >= MIN_ITEMS) & (table.max(axis=1) == sizes)
    chance = shares[best] ** sizes * len(sizes)
    certain = []
    count = 0
    for code in np.flatnonzero(pure & (chance < ALPHA)).tolist():
        places = np.flatnonzero(feature.codes == code).tolist()
        value = feature.values[places[0]]
        if value and all(feature.values[place] == value for place in places):  # not the rare ones
            pair = (printable_line(text, MAX_VALUE_CHARS) for text in (value, names[places[0]]))
            certain.append(" = ".join(pair))
            count += len(places)
    return tuple(certain) if count >= MIN_CERTAIN_SHARE * len(labels) else ()


def measure_features(
    split: str,
    features: Sequence[Feature],
    labels: Mapping[str, Codes],
    draw: np.random.Generator,
    alpha: float,
    names: Sequence[str] = (),
) -> list[Giveaway]:
    """The features whose information on a label is not what shuffled labels give.

    `names` are the labels of the items as words, where they are that.
    """
    pairs = [(feature, title) for feature in features for title in labels]
    if not pairs:
        return []
    n = len(next(iter(labels.values())))
    shuffles = count_shuffles(alpha)
    values = np.empty((shuffles + 1, len(pairs)))
    size = max(1, MAX_CODES_AT_ONCE // n)
    for begin in range(0, shuffles + 1, size):
        rounds = slice(begin, min(begin + size, shuffles + 1))
        orders = [draw.permutation(n) for _ in range(rounds.stop - rounds.start)]
        if begin == 0:
            orders[0] = np.arange(n)
        shuffled = {title: codes[np.stack(orders)] for title, codes in labels.items()}
        for place, (feature, title) in enumerate(pairs):
            codes = shuffled[title]
            values[rounds, place] = mutual_information(feature.under(codes), codes)
    spread = values[1:].std(axis=0)
    standard = np.abs(values - values[1:].mean(axis=0)) / np.where(spread > 1e-12, spread, np.inf)
    greatest = standard[1:].max(axis=1)
    giveaways = []
    for place in np.argsort(-standard[0], kind="stable"):
        feature, title = pairs[place]
        p = (1 + int((greatest >= standard[0, place] - 1e-9).sum())) / (shuffles + 1)
        if p > alpha:
            continue
        codes = labels[title]
        guessed, usual = guess_labels(feature.under(codes), codes)
        what = (
            f"{feature.title} predicts {title}: it guesses {100 * guessed:.1f}% of {n:,} labels, "
            f"the most frequent label guesses {100 * usual:.1f}% (p = {p:.3f})"
        )
        certain = find_certain(feature, codes, names)
        if certain:
            more = len(certain) - MAX_CERTAIN_SHOWN
            what += f"; always {', '.join(certain[:MAX_CERTAIN_SHOWN])}"
            what += f" and {more} more" if more > 0 else ""
        giveaways.append(
            Giveaway(
                field=feature.field,
                split=split,
                what=what,
                p=p,
                count=n,
                strength=measure_strength(guessed, usual),
                certain=certain,
            )
        )
    return giveaways


def count_shuffles(alpha: float) -> int:
    """Shuffles of which a few may come out as odd as what is tested, and p is still below `alpha`."""
    return max(SHUFFLES, int(5 / alpha) - 1)


def mutual_information(feature: Codes, labels: Codes) -> NDArray[np.float64]:
    """In nats, of a feature and each row of labels.

    >>> mutual_information(np.array([0, 0, 1, 1]), np.array([[0, 0, 1, 1], [0, 1, 0, 1]])).round(4)
    array([0.6931, 0.    ])
    """
    rows, n = labels.shape
    height, width = int(feature.max()) + 1, int(labels.max()) + 1
    cells = np.arange(rows)[:, None] * (height * width) + feature * width + labels
    counts = np.bincount(cells.ravel(), minlength=rows * height * width)
    joint = counts.reshape(rows, height, width) / n
    apart = joint.sum(axis=2, keepdims=True) * joint.sum(axis=1, keepdims=True)
    ratio = np.divide(joint, apart, out=np.ones_like(joint), where=joint > 0)
    information: NDArray[np.float64] = (joint * np.log(ratio)).sum(axis=(1, 2))
    return information


def guess_labels(feature: Codes, labels: Codes) -> tuple[float, float]:
    """The share of labels guessed as the most frequent one of the other items with the same value,
    and the share of the most frequent one of all.
    """
    width = int(labels.max()) + 1
    table = np.zeros((int(feature.max()) + 1, width), dtype=np.int64)
    np.add.at(table, (feature, labels), 1)
    usual = int(np.bincount(labels).argmax())
    right = 0
    for value, label in np.argwhere(table).tolist():  # all items of a cell get the same guess
        counts = table[value].copy()
        counts[label] -= 1
        guess = int(counts.argmax()) if counts.any() else usual
        right += int(table[value, label]) * (guess == label)
    return right / len(labels), float(np.bincount(labels).max() / len(labels))


# Labels and features as codes


def label_codes(question: str, answers: Sequence[Any]) -> Iterator[tuple[str, Codes]]:
    """The properties of the gold of a question, as codes; all 0 if they are always the same.

    A label or choice is its own code; scores are cut into bins. Of lists and trees it is what can
    be summarised: the number of entries, the labels, the first entry.
    """
    if all(isinstance(answer, str | bool | None) for answer in answers):
        yield question, number_values(answers)
    elif all(isinstance(answer, int | float) for answer in answers):
        numbers = list(map(float, answers))
        few = len(set(numbers)) <= MAX_CLASSES
        yield question, number_values(numbers) if few else cut_bins(numbers, LABEL_BINS)
    else:
        for title, summary in SUMMARIES.items():
            yield f"{title} of {question}", number_values(list(map(summary, answers)), least=2)


def _labels_inside(value: Any) -> Hashable:
    if isinstance(value, dict):
        return tuple(map(str, value.get("labels", sorted(value))))
    if isinstance(value, list | tuple):
        return tuple(sorted({str(getattr(part, "label", "")) for part in value}))
    return str(value)


SUMMARIES: Mapping[str, Callable[[Any], Hashable]] = {
    "the number of entries": lambda value: len(value) if hasattr(value, "__len__") else -1,
    "the labels": _labels_inside,
    "the first entry": lambda value: (
        encode_json(value[0]) if isinstance(value, list | tuple) and value else encode_json(value)
    ),
}
"""The properties of gold that is not a single label."""


def number_values(values: Sequence[Hashable], least: int = 1) -> Codes:
    """Codes of values; values that fewer than `least` items have share one, and so do all but the
    most frequent where there are very many.
    """
    counts = Counter(values)
    common = {value for value, count in counts.most_common(MAX_CODES) if count >= least}
    numbers: dict[Hashable, int] = {}
    codes = []
    for value in values:
        key = (value,) if value in common else "rare"
        codes.append(numbers.setdefault(key, len(numbers)))
    return np.array(codes, dtype=np.int64)


def cut_bins(numbers: Sequence[float], bins: int) -> Codes:
    """Numbers in bins of about equal size."""
    array = np.asarray(numbers, dtype=float)
    edges = np.unique(np.quantile(array, np.linspace(0, 1, bins + 1)[1:-1], method="lower"))
    return np.searchsorted(edges, array, side="left").astype(np.int64)


def list_features(
    name: str,
    values: Sequence[Any],
    words: Sequence[str] | set[str],
    *,
    is_order: bool,
    is_name: bool = False,
    least: int = 2,
) -> Iterator[Feature]:
    """The features of a field that differ between items; values that fewer than `least` items have
    count as one. Of a name only how it begins and the label in it are looked at.
    """
    columns: dict[str, Codes] = {}
    written: dict[str, list[str]] = {}
    texts = [value if isinstance(value, str) else _write(value) for value in values]
    if not all(isinstance(value, int | float) for value in values):
        written = {
            "the value": texts,
            "the beginning": [re.split(r"\d", text)[0] for text in texts],
            "the first character": [text[:1] for text in texts],
            "the last character": [text[-1:] for text in texts],
        }
        columns["the value"] = number_values(texts, least=least)
        columns["the length"] = number_values(list(map(len, texts)), least=least)
        for title in ("the beginning", "the first character", "the last character"):
            columns[title] = number_values(written[title], least=least)
        inside = sorted(words, key=lambda word: (-len(word), word))[:MAX_VALUES]
        folded = [text.casefold() for text in texts]
        columns["the label named in it"] = number_values(
            [next((word for word in inside if word.casefold() in text), "") for text in folded]
        )
        numbers = [_last_number(text) for text in texts]
    else:
        columns["the value"] = number_values([float(value) for value in values], least=least)
        written["the value"] = texts
        numbers = [float(value) for value in values]
    for value in _common_entries(values):
        has_value = [isinstance(v, list | tuple | set | frozenset) and value in v for v in values]
        columns[f"{value!r} in it"] = number_values(has_value)
        written[f"{value!r} in it"] = [str(value) if there else "" for there in has_value]
    what = "the place" if name == "order" else "the number"
    if len(set(numbers)) > 1:
        columns[f"{what}, in halves,"] = cut_bins(numbers, 2)
        columns[f"{what}, in tenths,"] = cut_bins(numbers, BINS)
        whole = [int(number) if abs(number) < 1e15 else 0 for number in numbers]
        for by in REMAINDERS:
            columns[f"{what} modulo {by}"] = number_values([number % by for number in whole])
    if is_name:  # a number in it follows the order of the file
        kept = ("the beginning", "the label named in it")
        columns = {title: codes for title, codes in columns.items() if title in kept}
        written.clear()  # no value of it is worth naming
    for title, codes in columns.items():
        if 1 < len(np.unique(codes)) < len(codes):
            yield Feature(name, title, codes, written.get(title, ()))
    if is_order and len(set(texts)) > 1:
        order = sorted(range(len(values)), key=lambda i: (numbers[i], texts[i]))
        yield Feature(name, "the label of the item before", order=np.array(order))


def _write(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, set | frozenset):
        value = sorted(map(str, value))
    return encode_json(value).decode()


def _last_number(text: str) -> float:
    """The last run of digits in a text; -1 where it has none."""
    match = re.search(r"(\d{1,15})\D*$", text)
    return float(match[1]) if match else -1.0


def _common_entries(values: Sequence[Any]) -> list[Any]:
    """The most frequent entries of the lists, in order."""
    counts: dict[Any, int] = {}
    for value in values:
        if isinstance(value, list | tuple | set | frozenset):
            for part in {part for part in value if isinstance(part, str | int)}:
                counts[part] = counts.get(part, 0) + 1
    common = [part for part, count in counts.items() if 1 < count < len(values)]
    return sorted(common, key=lambda part: (-counts[part], str(part)))[:MAX_VALUES]


# Answers that are texts


def search_answers(
    split: str,
    fields: Mapping[str, Sequence[Any]],
    golds: Sequence[Any],
    draw: np.random.Generator,
    alpha: float,
) -> list[Giveaway]:
    """The fields that contain the answer of their item more often than other answers."""
    answers = [
        {text for text in texts_inside(gold) if len(text) >= MIN_ANSWER_CHARS}
        for gold in golds
        if not isinstance(gold, str)  # a label, which is a separate feature
    ]
    if len(answers) < len(golds):
        return []
    places = [place for place, texts in enumerate(answers) if texts]
    if len(places) < MIN_ITEMS:
        return []
    if len(places) > MAX_ITEMS_SEARCHED:
        places = np.sort(draw.choice(places, MAX_ITEMS_SEARCHED, replace=False)).tolist()
    giveaways = []
    for name, values in fields.items():
        texts = [v if isinstance(v := values[i], str) else _write(v) for i in places]
        if len(set(texts)) < 2:
            continue

        def count(order: Sequence[int], texts: Sequence[str] = texts) -> int:
            pairs = zip(order, texts, strict=True)
            return sum(any(answer in text for answer in answers[i]) for i, text in pairs)

        held = count(places)
        if not held:
            continue
        # Fewer than for features where it costs much; p is then no smaller than it can be.
        rounds = min(count_shuffles(alpha), MAX_SEARCHES // len(places))
        shuffled = [count(draw.permutation(places).tolist()) for _ in range(rounds)]
        p = (1 + sum(other >= held for other in shuffled)) / (rounds + 1)
        if p <= max(alpha, 1 / (rounds + 1)):
            what = (
                f"it contains the answers to {held:,} of {len(places):,} items; "
                f"by chance {np.mean(shuffled):.1f} (p = {p:.3f})"
            )
            giveaways.append(
                Giveaway(
                    field=name,
                    split=split,
                    what=what,
                    p=p,
                    count=held,
                    strength=round(held / len(places), 6),
                )
            )
    return giveaways


# The same items elsewhere


def find_published_labels(
    name: str, splits: Mapping[str, Sequence[Example]], hidden: Sequence[str]
) -> Iterator[Giveaway]:
    """Items of splits that are hidden whose label is in another split: the same text (in NFKC, case,
    blanks and final punctuation aside), or an example made from it or that it was made from.
    """
    shown: dict[Hashable, str] = {}
    shown_ids: dict[str, str] = {}
    children: dict[str, str] = {}
    for split in (split for split in splits if split not in hidden):
        for example in splits[split]:
            if not example.gold or example.hidden:
                continue
            ref = reference(name, split, example.id)
            shown.setdefault(item_key(example), ref)
            shown_ids |= {ref: ref, example.id: ref}
            if example.origin is not None and example.origin.gold != "annotated":
                children |= dict.fromkeys(example.origin.parents, ref)
    own = {reference(name, split, e.id) for split in hidden for e in splits[split]}
    own |= {e.id for split in hidden for e in splits[split]}
    for split in hidden:
        examples = splits[split]
        copies, kin = [], []
        for example in examples:
            ref = reference(name, split, example.id)
            if (other := shown.get(item_key(example))) is not None:
                copies.append((ref, other))
            child = children.get(ref) or children.get(example.id)
            if child is not None:
                kin.append((ref, child))
            elif example.origin is not None and example.origin.gold == "inherited":
                # A parent of another dataset may be published: its label can be looked up there.
                parents = [p for p in example.origin.parents if p not in own]
                known = [shown_ids.get(p, p) for p in parents if ":" in p or p in shown_ids]
                kin += [(ref, parent) for parent in known[:1]]
        for field, pairs, says in (
            ("copies", copies, "are in another split with their label"),
            (
                "parents",
                kin,
                "inherit their label from, or pass it on to, an example that is not hidden",
            ),
        ):
            if pairs:
                what = f"{len(pairs):,} of {len(examples):,} items {says}, such as {pairs[0][0]}: {pairs[0][1]}"
                ids = tuple(ref for ref, _ in pairs)
                yield Giveaway(field=field, split=split, what=what, count=len(pairs), ids=ids)


def item_key(example: Example) -> Hashable:
    """What the same item has in common, however it is typed."""
    inputs = _fold(example.inputs)
    rules = [rule for rule in sameness_rules(example) if rule.conflicts]
    if rules:
        return rules[0].name, encode_json(rules[0].key(inputs))
    return "inputs", encode_json(inputs)


def _fold(value: Any) -> Any:
    if isinstance(value, str):
        return "".join(normalize("NFKC", value).casefold().split()).strip(_EDGE)
    if isinstance(value, Span):
        return value
    if isinstance(value, Mapping):
        return {name: _fold(part) for name, part in value.items()}
    return [_fold(part) for part in value] if isinstance(value, list | tuple) else value
