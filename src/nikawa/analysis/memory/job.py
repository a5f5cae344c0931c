"""Probe a language model for a benchmark: order test, Min-K%++ against twins, completions, verdict.

Only the inputs of items are read, never their labels. Everything is computed from the seed, the
dataset and the model.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from nikawa.analysis.memory.min_k import SHARE, exchange_p, min_k_score, sign_flip_p
from nikawa.analysis.memory.order_test import (
    Floats,
    cut_items,
    make_shards,
    neighbour_statistics,
    permutation_p,
    shard_t_test,
)
from nikawa.analysis.memory.texts import (
    FIELD_BREAK,
    ITEM_BREAK,
    TextItem,
    TextSet,
    TwinMaker,
    load_items,
)
from nikawa.errors import BadInput
from nikawa.models.base import Setup, read_settings
from nikawa.models.lm.tokens import Tokens
from nikawa.printable import printable
from nikawa.records import Record
from nikawa.tables import ShownAsTables
from nikawa.text.distance import relative_distance

ALPHA = 0.05
MIN_PERMUTATIONS = 19
"""Fewer shuffled orders cannot reach p = 0.05."""
NEAR_DISTANCE = 0.1
"""A completion at most this far from the real text, as a share of the longer one, is a near match."""
FEW_ITEMS = 50
"""With fewer items than this, a high p says little."""
ROWS_AT_ONCE = 20_000
"""Texts scored between two looks at their results."""

Progress = Callable[[str, int, int | None], None]


@dataclass(frozen=True)
class MemoryOptions:
    """How to probe."""

    permutations: int = 199
    seed: int = 1
    limit: int = 0
    """Items to use, from the start of the split; 0: all."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Settings of the model, as `lm:` has them."""


class OrderResult(Record, frozen=True, kw_only=True):
    """The published order of the items against shuffled orders."""

    items: int
    shards: int
    permutations: int
    p: float
    """Exact."""
    t: float | None
    """Of the paper's test over shards; None with one shard."""
    t_p: float | None
    gain: float
    """How much likelier the published order is than a shuffled one, in nats per item."""
    neighbours_p: float
    """Whether neighbours are more alike than in shuffled orders, without the model: if so, the order
    is not random."""
    cut_items: int
    """Items that were cut to fit."""

    @property
    def is_order_random(self) -> bool:
        """Whether nothing speaks against a random order of the file."""
        return self.neighbours_p >= ALPHA


class PairedResult(Record, frozen=True, kw_only=True):
    """A figure of the items against a figure of their counterparts."""

    items: int
    skipped: int
    """Items without a counterpart."""
    value: float
    other: float
    p: float | None
    """One-sided: the items' figure is larger. None without items."""
    unseen_items: int = 0
    unseen_gap: float | None = None
    """The difference in differences: how much larger it is than that of the unseen items."""
    unseen_p: float | None = None


class TwinResult(PairedResult, frozen=True, kw_only=True):
    """Min-K%++ of the items (`value`) and of their twins (`other`)."""

    share: float
    operations: dict[str, int]
    """Twins by the operation that made them."""


class CompletionResult(PairedResult, frozen=True, kw_only=True):
    """How near greedy completions come to the real second half (`value`), and completions of other
    items (`other`), from 0 to 1.
    """

    exact: int
    near: int
    other_exact: int
    other_near: int


class MemoryTest(Record, frozen=True, kw_only=True):
    """One line of the table."""

    test: str
    items: int
    value: str
    compared_with: str
    p: float | None


class MemoryReport(ShownAsTables, Record, frozen=True, kw_only=True):
    """What the probes say."""

    main_table: ClassVar[str] = "tests"

    dataset: str
    model: str
    unseen: str | None
    seed: int
    order: OrderResult
    twins: TwinResult
    completion: CompletionResult
    tests: tuple[MemoryTest, ...]
    verdict: str
    limits: tuple[str, ...]

    def headline(self) -> str:
        """Return the verdict in full."""
        return f"{self.model} on {self.dataset}. {self.verdict}"

    def __repr__(self) -> str:
        """Return the verdict, the tests, and the limits of the verdict in full."""
        return "\n".join([super().__repr__(), *(f"- {printable(limit)}" for limit in self.limits)])

    def _repr_html_(self) -> str:
        limits = "".join(f"<li>{escape(printable(limit))}</li>" for limit in self.limits)
        return f"{super()._repr_html_()}<ul>{limits}</ul>"


class TextScorer:
    """An opened model and how it reads texts."""

    def __init__(self, checkpoint: Any, engine: Any) -> None:
        self.checkpoint, self.engine = checkpoint, engine
        start = checkpoint.start_token
        self.start: Tokens = () if start is None else (start,)
        self.room = checkpoint.max_length - len(self.start)
        """Tokens of text that fit."""

    def encode(self, texts: Sequence[str]) -> list[Tokens]:
        """The tokens of texts, without the start token."""
        tokenizer = self.checkpoint.tokenizer
        # the name of a control token in an item is text: training data are read like that
        options = {"add_special_tokens": False, "split_special_tokens": True, "verbose": False}
        rows = tokenizer(list(texts), **options)["input_ids"]
        return [tuple(row) for row in rows]

    def score(self, rows: Sequence[Tokens], *, moments: bool = False, on_done: Any = None) -> Any:
        """What the model says about texts that may not fit: what is too long is cut.

        Raises:
            BadInput: the model computes something that is not a number. No comparison with it is
                true, so every test would call it evidence.
        """
        from nikawa.models.lm.texts import score_texts

        whole = [self.start + row[: self.room] for row in rows]
        done = on_done or (lambda _count: None)
        scored = score_texts(self.engine, whole, moments=moments, on_done=done)
        if any(np.isnan(one.logprobs).any() or np.isnan(one.means).any() for one in scored):
            raise BadInput(
                f"{self.checkpoint.vocabulary.source} computes log-probabilities that are not numbers",
                cure="set dtype=float32, or check the weights of the checkpoint",
            )
        return scored

    def complete(self, prompts: Sequence[Tokens], lengths: Sequence[int]) -> list[str]:
        """Greedy continuations of so many tokens, up to a line break."""
        import torch

        from nikawa.models.lm.generate import Answer, Generator, Request, StopFinder

        stops = StopFinder(self.checkpoint.tokenizer, self.checkpoint.end_tokens, (FIELD_BREAK,))
        answers = [""] * len(prompts)

        def keep(place: int, answer: Answer) -> None:
            answers[place] = answer.text.strip()

        requests = []
        for prompt, length in zip(prompts, lengths, strict=True):
            fitting = min(length, self.room // 2)
            tokens = prompt[-(self.room - fitting) :]
            requests.append(Request(self.start + tokens, 0, fitting))
        with torch.inference_mode():
            Generator(self.engine, stops).generate(requests, keep)
        return answers


def open_scorer(model: str, settings: Mapping[str, Any]) -> TextScorer:
    """Open `lm:PATH`."""
    from nikawa.models.lm.checkpoint import check_language_model, open_language_model
    from nikawa.models.lm.engine import Engine
    from nikawa.models.lm.settings import LmSettings

    kind, _, path = model.partition(":")
    if kind != "lm" or not path:
        what = f"{model!r} gives no probabilities of texts"
        raise BadInput(what, cure="pass a causal language model: --model lm:PATH")
    check_language_model(path)
    chosen = read_settings(LmSettings, Setup(argument=path, settings=settings))
    checkpoint = open_language_model(path, chosen)
    engine = Engine(
        checkpoint.model,
        checkpoint.device,
        exact=chosen.exact,
        batch_tokens=chosen.batch_tokens or 0,
    )
    return TextScorer(checkpoint, engine)


def probe_memory(
    dataset: str,
    model: str,
    *,
    unseen: str | None = None,
    data: Path | None = None,
    options: MemoryOptions | None = None,
    on_progress: Progress = lambda _what, _done, _total: None,
) -> MemoryReport:
    """Test whether a language model has seen a dataset.

    `unseen` is a dataset of comparable items that cannot have been in the training data.

    Raises:
        BadInput: the dataset has no texts or several splits, or the model is not a causal one.
    """
    options = options or MemoryOptions()
    if options.permutations < MIN_PERMUTATIONS:
        what = f"{options.permutations} permutations cannot show a p under {ALPHA}"
        raise BadInput(what, cure=f"pass more, for example --permutations {MIN_PERMUTATIONS}")
    for name, number in (("limit", options.limit), ("seed", options.seed)):
        if number < 0:
            raise BadInput(f"the {name} is {number}", cure=f"pass 0 or more as --{name}")
    seen = load_items(dataset, data, options.limit)
    others = None if unseen is None else load_items(unseen, data, options.limit)
    if others is not None and {item.text for item in others.items} & {
        item.text for item in seen.items
    }:
        what = f"{unseen} contains items of {dataset}"
        raise BadInput(what, cure="pass items that cannot have been in the training data")
    on_progress(f"loading {model}", 0, None)
    scorer = open_scorer(model, options.settings)
    order = compare_orders(scorer, seen, options, on_progress)
    on_progress("scoring twins", 0, None)
    twins = compare_twins(scorer, seen, others, options.seed)
    on_progress("completing texts", 0, None)
    completion = compare_completions(scorer, seen, others, options.seed)
    return MemoryReport(
        dataset=dataset,
        model=model,
        unseen=unseen,
        seed=options.seed,
        order=order,
        twins=twins,
        completion=completion,
        tests=tabulate_tests(order, twins, completion),
        verdict=judge(order, twins, completion),
        limits=list_limits(order, twins, unseen is not None),
    )


def compare_orders(
    scorer: TextScorer,
    items: TextSet,
    options: MemoryOptions,
    on_progress: Progress = lambda _what, _done, _total: None,
) -> OrderResult:
    """The exchangeability test: see `order_test.py`.

    Every item is tokenised alone, with the break after it, so that all orders have the same tokens.
    """
    texts = [item.text for item in items.items]
    whole = scorer.encode([text + ITEM_BREAK for text in texts])
    rows = cut_items(whole, scorer.room)
    lengths = [len(row) for row in rows]
    shards = make_shards(lengths, scorer.room, options.permutations, options.seed)
    orders = options.permutations + 1
    total = orders * len(shards)
    done = 0

    def count(rows_done: int) -> None:
        nonlocal done
        done += rows_done
        on_progress("scoring orders", done, total)

    table = np.zeros((len(shards), orders))
    step = max(1, ROWS_AT_ONCE // orders)
    for first in range(0, len(shards), step):
        part = shards[first : first + step]
        joined = [
            tuple(token for place in order for token in rows[place])
            for shard in part
            for order in shard.orders
        ]
        sums = [float(scores.logprobs.sum()) for scores in scorer.score(joined, on_done=count)]
        table[first : first + step] = np.array(sums).reshape(len(part), orders)
    totals = table.sum(axis=0)
    t_test = shard_t_test(table)
    return OrderResult(
        items=len(rows),
        shards=len(shards),
        permutations=options.permutations,
        p=permutation_p(totals),
        t=None if t_test is None else t_test[0],
        t_p=None if t_test is None else t_test[1],
        gain=float(totals[0] - totals[1:].mean()) / len(rows),
        neighbours_p=permutation_p(neighbour_statistics(texts, shards)),
        cut_items=sum(len(one) > len(other) for one, other in zip(whole, rows, strict=True)),
    )


def compare_twins(
    scorer: TextScorer, seen: TextSet, unseen: TextSet | None, seed: int
) -> TwinResult:
    """Min-K%++ of items against twins of the same meaning: see `min_k.py`."""
    values, others, operations = score_twins(scorer, seen, seed)
    differences = values - others
    gap = None if unseen is None else np.subtract(*score_twins(scorer, unseen, seed)[:2])
    return TwinResult(
        **compare_paired(len(seen.items), values, others, differences, gap, seed),
        share=SHARE,
        operations=dict(operations.most_common()),
    )


def score_twins(
    scorer: TextScorer, items: TextSet, seed: int
) -> tuple[Floats, Floats, Counter[str]]:
    """The scores of items that have a twin, those of their twins, and the operations."""

    def differs(one: str, other: str) -> bool:
        first, second = scorer.encode([one, other])
        return first != second

    maker = TwinMaker(items.language, seed, differs)
    pairs: list[tuple[str, str]] = []
    operations: Counter[str] = Counter()
    for item in items.items:
        if (twin := maker.make(item)) is not None:
            operations[twin[0]] += 1
            pairs.append((item.text, twin[1]))
    return *score_pairs(scorer, pairs), operations


def score_pairs(scorer: TextScorer, pairs: Sequence[tuple[str, str]]) -> tuple[Floats, Floats]:
    """Min-K%++ of texts, and of their twins."""
    texts = [text for pair in pairs for text in pair]
    scored = scorer.score(scorer.encode(texts), moments=True) if texts else []
    values = np.array([min_k_score(one) for one in scored]).reshape(-1, 2)
    return values[:, 0], values[:, 1]


def compare_completions(
    scorer: TextScorer, seen: TextSet, unseen: TextSet | None, seed: int
) -> CompletionResult:
    """Let the model continue the first half of each item, and compare with the second half.

    The same continuations, shuffled over the items, show what is near by chance.
    """
    own, shuffled = complete_items(scorer, seen, seed)
    gap = None
    if unseen is not None:
        gap = np.subtract(*complete_items(scorer, unseen, seed))
    return CompletionResult(
        **compare_paired(len(seen.items), own, shuffled, own - shuffled, gap, seed),
        exact=int((own == 1).sum()),
        near=int((own >= 1 - NEAR_DISTANCE).sum()),
        other_exact=int((shuffled == 1).sum()),
        other_near=int((shuffled >= 1 - NEAR_DISTANCE).sum()),
    )


def complete_items(scorer: TextScorer, items: TextSet, seed: int) -> tuple[Floats, Floats]:
    """The similarity of each continuation to the real text, and to that of another item."""
    halves: list[tuple[str, str, TextItem]] = []
    for item in items.items:
        if (pair := item.halves()) is not None:
            halves.append((*pair, item))
    if len(halves) < 2:
        return np.zeros(0), np.zeros(0)
    # between two fields comes a line break; the halves of one text follow each other
    prompts = [first + (FIELD_BREAK if len(item.fields) > 1 else "") for first, _, item in halves]
    targets = [second.partition(FIELD_BREAK)[0].strip() for _, second, _ in halves]
    lengths = [len(row) + 2 for row in scorer.encode(targets)]
    answers = scorer.complete(scorer.encode(prompts), lengths)
    order = np.random.default_rng([seed, len(halves)]).permutation(len(halves))
    partner = np.empty(len(halves), np.int64)
    partner[order] = np.roll(order, 1)
    own: list[float] = []
    shuffled: list[float] = []
    for place, target in enumerate(targets):
        for other, into in ((place, own), (int(partner[place]), shuffled)):
            # a base model goes on after the text that it repeats
            into.append(1 - relative_distance(answers[other][: len(target)], target))
    return np.array(own), np.array(shuffled)


def compare_paired(
    total: int, values: Floats, others: Floats, differences: Floats, gap: Floats | None, seed: int
) -> dict[str, Any]:
    """The fields of a `PairedResult`."""
    has_items = len(values) > 0
    result: dict[str, Any] = {
        "items": len(values),
        "skipped": total - len(values),
        "value": float(values.mean()) if has_items else 0.0,
        "other": float(others.mean()) if has_items else 0.0,
        "p": sign_flip_p(differences, seed) if has_items else None,
    }
    if gap is not None and has_items and len(gap):
        result["unseen_items"] = len(gap)
        result["unseen_gap"] = float(differences.mean() - gap.mean())
        result["unseen_p"] = exchange_p(differences, gap, seed)
    return result


def tabulate_tests(
    order: OrderResult, twins: TwinResult, completion: CompletionResult
) -> tuple[MemoryTest, ...]:
    """The lines of the table: every test with its p-value."""
    rows = [
        MemoryTest(
            test="order, exact",
            items=order.items,
            value=f"{order.gain:+.3f} nats per item",
            compared_with=f"{order.permutations} shuffled orders",
            p=order.p,
        ),
        MemoryTest(
            test="order, t over shards",
            items=order.items,
            value="" if order.t is None else f"t = {order.t:.2f}",
            compared_with=f"{order.shards} shard{'s' * (order.shards != 1)}",
            p=order.t_p,
        ),
        MemoryTest(
            test="Min-K%++",
            items=twins.items,
            value=f"{twins.value:.3f}",
            compared_with=f"{twins.other:.3f} for twins",
            p=twins.p,
        ),
    ]
    if twins.unseen_gap is not None:
        rows.append(
            MemoryTest(
                test="Min-K%++, against unseen",
                items=twins.items,
                value=f"{twins.unseen_gap:+.3f}",
                compared_with=f"{twins.unseen_items} unseen items",
                p=twins.unseen_p,
            )
        )
    rows.append(
        MemoryTest(
            test="completion",
            items=completion.items,
            value=f"{completion.exact} exact, {completion.near} near",
            compared_with=f"{completion.other_exact} exact, {completion.other_near} near if shuffled",
            p=completion.p,
        )
    )
    if completion.unseen_gap is not None:
        rows.append(
            MemoryTest(
                test="completion, against unseen",
                items=completion.items,
                value=f"{completion.unseen_gap:+.3f}",
                compared_with=f"{completion.unseen_items} unseen items",
                p=completion.unseen_p,
            )
        )
    return tuple(rows)


def judge(order: OrderResult, twins: TwinResult, completion: CompletionResult) -> str:
    """The verdict in plain words.

    Evidence are the tests that hold for any model that has not seen the items: the order test if
    the order is random, and the tests against unseen items. With several such tests, Bonferroni's
    correction applies.
    """
    evidence = {}
    if order.is_order_random:
        evidence["it prefers the published order of the items"] = order.p
    if twins.unseen_p is not None:
        evidence["items score higher against their twins than unseen items do"] = twins.unseen_p
    if completion.unseen_p is not None:
        evidence["it completes items better than unseen items"] = completion.unseen_p
    line = ALPHA / max(1, len(evidence))
    reasons = [f"{what} (p = {p:.3g})" for what, p in evidence.items() if p <= line]
    parts = []
    if reasons:
        parts.append(
            f"There is evidence that the model has seen these items: {' and '.join(reasons)}."
        )
    elif evidence:
        parts.append("These tests show no sign that the model has seen the items.")
    else:
        parts.append("These tests cannot tell whether the model has seen the items.")
    if not order.is_order_random:
        what = "Neighbouring items of the file are alike, so its order is not random"
        parts.append(f"{what}: the order test is no evidence (p = {order.p:.3g}).")
    if completion.exact > completion.other_exact:
        share = f"{completion.exact} of {completion.items} items word for word"
        parts.append(f"The model completed {share}; check whether they are easy to guess.")
    return " ".join(parts)


def list_limits(order: OrderResult, twins: TwinResult, has_unseen: bool) -> tuple[str, ...]:
    """What the reader must know to use the verdict."""
    limits = [
        "A high p is no proof that the items are new: a single copy, a reformatted or translated copy, "
        "or another order of the items leaves no trace in these tests.",
        "At a level of 5%, one clean model in twenty shows such evidence by chance.",
        "The order test assumes that the published order was random.",
    ]
    if order.items < FEW_ITEMS:
        limits.append(f"{order.items} items are few: only many copies would show.")
    if order.cut_items:
        limits.append(f"{order.cut_items} long items were cut for the order test.")
    if not has_unseen:
        limits.append(
            "Published text can score above its twin because it reads more naturally, and a model can "
            "guess a text that it has not seen. Pass --unseen with comparable new items to allow for both."
        )
    if twins.skipped:
        limits.append(f"{twins.skipped} items have no twin that the model reads differently.")
    return tuple(limits)
