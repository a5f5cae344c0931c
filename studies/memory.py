"""How well `nikawa probe memory` finds a benchmark in the training data, and how often it raises a false alarm.

Causal models are trained on a text with benchmark-shaped items planted 0, 1, 10 and 100 times, then probed on the planted
items and on items that no model has seen. Every clean test has its own items, so the tests are independent.

    python -m studies.memory --text corpus.txt --out memory
    python -m studies.memory --tiny --out memory

The items come from `nikawa generate`. Make them on a machine with the Japanese analyser, because twins need it, and
carry the file: `--only-items` writes OUT/items.json and stops; `--items FILE` reads it. The seeds are fixed here, before any test.
"""

from __future__ import annotations

import argparse
import gc
import math
import os
import sys
import time
import unicodedata
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import numpy as np

from nikawa.analysis.memory.job import (
    MemoryOptions,
    TextScorer,
    compare_orders,
    complete_items,
    open_scorer,
    score_pairs,
)
from nikawa.analysis.memory.min_k import exchange_p
from nikawa.analysis.memory.texts import (
    FIELD_BREAK,
    ITEM_BREAK,
    TextItem,
    TextSet,
    TwinMaker,
    load_items,
    make_items,
)
from nikawa.pretrain.card import CardFacts, write_model
from nikawa.pretrain.packing import (
    META_FILE,
    TOKENS_FILE,
    WORD_STARTS_FILE,
    Pack,
    PackOptions,
    open_pack,
    pack_text,
)
from nikawa.pretrain.settings import TrainSettings
from nikawa.pretrain.tokenizer import FIRST_TEXT_ID, build_tokenizer, save_tokenizer
from nikawa.pretrain.training import TrainOptions, train
from nikawa.pretrain.vocabulary import VocabularyOptions, learn_vocabulary, read_text_lines
from nikawa.stats.distributions import wilson_interval

ALPHA = 0.05
ITEM_SEED, SET_SEED, TEST_SEED = 25, 2_023, 1
"""Fixed beforehand: of the generated items, of their order, of the shuffled orders of test number 0."""
LANGUAGE = "ja"
PACK_OF_ITEMS = "temporal-ja"
CELLS = 2_100
"""Problems that the pack gives per problem of a cell, about."""


@dataclass(frozen=True)
class Plan:
    """How much is trained and tested."""

    copies: tuple[int, ...] = (0, 1, 10, 100)
    seeds: int = 2
    """Models of each number of copies."""
    planted: int = 20
    """Sets of items planted in each model."""
    clean: int = 30
    """Sets of items of each model that no model has seen."""
    items: int = 100
    """Items of a set."""
    permutations: int = 99
    size: str = "mini"
    vocabulary: int = 8_000
    sample: int = 2_000_000
    """Characters that the vocabulary is learned from."""
    length: int = 512
    batch: int = 32_768
    rounds: float = 2.0
    """How often the text is read."""

    @property
    def models(self) -> int:
        """Models in all."""
        return len(self.copies) * self.seeds

    @property
    def sets(self) -> int:
        """Sets in all: those planted for each seed, and clean ones for each model."""
        return self.seeds * self.planted + self.models * self.clean


TINY = Plan(
    copies=(0, 20),
    seeds=1,
    planted=1,
    clean=2,
    items=12,
    permutations=19,
    size="tiny",
    vocabulary=1_500,
    sample=100_000,
    length=128,
    batch=1_024,
    rounds=2.0,
)


class StudyItem(msgspec.Struct, frozen=True):
    """One item, and its twin where it has one."""

    id: str
    fields: tuple[str, ...]
    twin: str = ""


class ProbeResult(msgspec.Struct, frozen=True):
    """The p-values of one set of items under one model."""

    copies: int
    seed: int
    set: int
    planted: bool
    order_p: float
    t_p: float | None
    twins_p: float | None
    completion_p: float | None
    exact: int
    completed: int
    gain: float


def make_study_items(count: int, dev: str | None, data: Path | None) -> list[StudyItem]:
    """So many items in random order, each once, with their twins.

    The items of a published dev set come first, in the order of the file, and so into the planted sets.
    """
    import nikawa as nk

    per_cell = -(-count * 5 // 4 // CELLS)
    made = nk.generate(PACK_OF_ITEMS, per_cell={"train": per_cell, "test": 0}, seed=ITEM_SEED)
    items = list(make_items(PACK_OF_ITEMS, LANGUAGE, made["train"]).items)
    Random(SET_SEED).shuffle(items)  # noqa: S311  # the test needs a random order
    if dev is not None:
        items = [*load_items(dev, data).items, *items]
    maker = TwinMaker(
        LANGUAGE,
        SET_SEED,
        lambda one, other: (
            unicodedata.normalize("NFKC", one) != unicodedata.normalize("NFKC", other)
        ),
    )
    study_items: dict[str, StudyItem] = {}
    for item in items:
        if item.text not in study_items and len(study_items) < count:
            twin = maker.make(item)
            study_items[item.text] = StudyItem(item.id, item.fields, twin[1] if twin else "")
    if len(study_items) < count:
        raise SystemExit(
            f"the pack gives {len(study_items):,} different items instead of {count:,}"
        )
    return list(study_items.values())


def learn_tokenizer(text: Path, folder: Path, plan: Plan) -> None:
    """Sub-words of the text."""
    folder.mkdir(parents=True, exist_ok=True)
    options = VocabularyOptions(LANGUAGE, "subwords", plan.vocabulary, sample=plan.sample)
    vocabulary = learn_vocabulary(lambda: read_text_lines(text), options)
    save_tokenizer(build_tokenizer(LANGUAGE, vocabulary.tokens), folder)
    (folder / "vocabulary.json").write_text(f'{{"first_piece": {FIRST_TEXT_ID}}}', encoding="utf-8")


def plant(base: Pack, document: Pack, copies: int, out: Path) -> Pack:
    """The base text with so many copies of the planted documents at its end.

    Windows of the text are drawn in random order, so the place makes no difference.
    """
    separator = np.array([base.meta.special["sep"]])
    ids = [np.asarray(base.ids())] + [separator, np.asarray(document.ids())] * copies
    begins = [base.begins()] + [np.array([True]), document.begins()] * copies
    tokens = np.concatenate(ids).astype(base.ids().dtype)
    out.mkdir(parents=True, exist_ok=True)
    (out / TOKENS_FILE).write_bytes(tokens.tobytes())
    bits = np.packbits(np.concatenate(begins), bitorder="little")
    (out / WORD_STARTS_FILE).write_bytes(bits.tobytes())
    meta = msgspec.structs.replace(
        base.meta,
        pieces=len(tokens),
        documents=base.meta.documents + copies * document.meta.documents,
        fingerprint=f"{base.meta.fingerprint}+{copies}*{document.meta.fingerprint}",
    )
    (out / META_FILE).write_bytes(msgspec.json.encode(meta))
    return open_pack(out)


def train_model(pack: Pack, tokenizer: Path, out: Path, plan: Plan, seed: int, device: str) -> Any:
    """Train a causal model on a pack, and save it as `lm:` opens it."""
    settings = TrainSettings(
        size=plan.size,
        objective="causal",
        steps=max(1, round(plan.rounds * pack.tokens / plan.batch)),
        seed=seed,
        batch=plan.batch,
        lengths=((plan.length, 1.0),),
        device=device,
    )
    trained = train(TrainOptions(tokenizer, pack.folder, settings=settings))
    facts = CardFacts(name=out.name, language=LANGUAGE, command="python -m studies.memory")
    write_model(trained.model, trained.figures, tokenizer, out, facts, overwrite=True)
    return trained.figures


def free_memory() -> None:
    """Give back what a model took, before the next one is trained."""
    import torch

    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


def as_set(items: Sequence[StudyItem]) -> TextSet:
    """Items as the probes take them."""
    return TextSet("study", LANGUAGE, tuple(TextItem(item.id, item.fields) for item in items))


def probe_sets(
    scorer: TextScorer,
    sets: Sequence[tuple[int, bool, Sequence[StudyItem]]],
    plan: Plan,
    copies: int,
    seed: int,
) -> list[ProbeResult]:
    """All tests of one model.

    A planted set is compared with a clean set for Min-K%++ and completion, a clean one by its halves: each item is used
    once.
    """
    everything = [item for _, _, items in sets for item in items]
    with_twin = [item for item in everything if item.twin]
    pairs = [(FIELD_BREAK.join(item.fields), item.twin) for item in with_twin]
    values, others = score_pairs(scorer, pairs)
    twin_gain = dict(zip((item.id for item in with_twin), values - others, strict=True))
    own, shuffled = complete_items(scorer, as_set(everything), TEST_SEED)
    completable = [item for item in everything if TextItem(item.id, item.fields).halves()]
    nearness = dict(zip((item.id for item in completable), own, strict=True))
    completion_gain = dict(zip((item.id for item in completable), own - shuffled, strict=True))
    clean_sets = [items for _, planted, items in sets if not planted]
    results = []
    for place, (number, planted, items) in enumerate(sets):
        options = MemoryOptions(permutations=plan.permutations, seed=TEST_SEED + number)
        order = compare_orders(scorer, as_set(items), options)
        half = len(items) // 2
        seen, unseen = (
            (items, clean_sets[place % len(clean_sets)])
            if planted
            else (items[:half], items[half:])
        )
        gaps = []
        for gain in (twin_gain, completion_gain):
            one, other = (
                np.array([gain[i.id] for i in part if i.id in gain]) for part in (seen, unseen)
            )
            gaps.append(
                exchange_p(one, other, TEST_SEED + number, 999) if len(one) and len(other) else None
            )
        near = [nearness[item.id] for item in items if item.id in nearness]
        results.append(
            ProbeResult(
                copies=copies,
                seed=seed,
                set=number,
                planted=planted,
                order_p=order.p,
                t_p=order.t_p,
                twins_p=gaps[0],
                completion_p=gaps[1],
                exact=sum(bool(value == 1) for value in near),
                completed=len(near),
                gain=order.gain,
            )
        )
    return results


TESTS = {
    "order": "order_p",
    "t over shards": "t_p",
    "Min-K%++": "twins_p",
    "completion": "completion_p",
}


def summarise(results: Sequence[ProbeResult], plan: Plan) -> dict[str, Any]:
    """The power of each test by copies, and its calibration on clean items."""
    power: list[dict[str, Any]] = []
    for copies in plan.copies:
        part = [one for one in results if one.planted and one.copies == copies]
        row: dict[str, Any] = {"copies": copies, "tests": len(part)}
        for name, field in TESTS.items():
            p_values = [p for one in part if (p := getattr(one, field)) is not None]
            share = sum(p <= ALPHA for p in p_values) / max(1, len(p_values))
            row[name] = {"share": share, "interval": wilson_interval(share, len(p_values))}
        row["exact"] = sum(one.exact for one in part) / max(1, sum(one.completed for one in part))
        power.append(row)
    calibration = {}
    for name, field in TESTS.items():
        p_values = [
            p for one in results if not one.planted and (p := getattr(one, field)) is not None
        ]
        if p_values:
            calibration[name] = calibrate(
                p_values, plan.permutations + 1 if name == "order" else 1_000
            )
    return {"power": power, "calibration": calibration}


def calibrate(p_values: Sequence[float], steps: int) -> dict[str, Any]:
    """Kolmogorov-Smirnov against the uniform distribution, and the share at most 0.05 against its binomial interval.

    The p-values are multiples of 1/steps, so distribution functions are compared there.
    """
    values, count = np.sort(np.array(p_values)), len(p_values)
    grid = np.arange(1, steps + 1) / steps
    distance = float(np.abs(np.searchsorted(values, grid + 1e-9) / count - grid).max())
    low, high = binomial_interval(count, ALPHA)
    under = int((values <= ALPHA + 1e-9).sum())
    return {
        "tests": count,
        "ks": distance,
        "ks_p": kolmogorov_p(distance, count),
        "under": under / count,
        "interval": (low / count, high / count),
        "inside": low <= under <= high,
    }


def kolmogorov_p(distance: float, count: int) -> float:
    """The p of a Kolmogorov-Smirnov distance, by the limit distribution with Stephens' correction (1970).

    P(D > d) = 2 sum over j >= 1 of (-1)^(j-1) exp(-2 j^2 x^2) at x = d (sqrt(n) + 0.12 + 0.11 / sqrt(n)).

    >>> round(kolmogorov_p(0.0878, 240), 2)
    0.05
    """
    root = math.sqrt(count)
    x = distance * (root + 0.12 + 0.11 / root)
    if x < 0.2:
        return 1.0
    terms = [math.exp(-2 * j * j * x * x) for j in range(1, 101)]
    total = sum(terms[::2]) - sum(terms[1::2])
    return min(1.0, max(0.0, 2 * total))


def binomial_interval(count: int, share: float, level: float = 0.95) -> tuple[int, int]:
    """The counts between the quantiles of a binomial distribution, `level` of it at least.

    >>> binomial_interval(200, 0.05)
    (4, 16)
    """
    tail, total, low = (1 - level) / 2, 0.0, -1
    for k in range(count + 1):
        log = math.lgamma(count + 1) - math.lgamma(k + 1) - math.lgamma(count - k + 1)
        total += math.exp(log + k * math.log(share) + (count - k) * math.log(1 - share))
        if low < 0 and total > tail:
            low = k
        if total >= 1 - tail:
            return low, k
    return low, count


def show(summary: dict[str, Any]) -> str:
    """The two tables."""
    lines = [
        "copies  tests  " + "  ".join(f"{name:>22}" for name in TESTS) + "   exact completions"
    ]
    for row in summary["power"]:
        cells = []
        for name in TESTS:
            low, high = row[name]["interval"]
            cells.append(f"{row[name]['share']:>7.1%} ({low:.1%} to {high:.1%})".rjust(22))
        lines.append(
            f"{row['copies']:>6}  {row['tests']:>5}  {'  '.join(cells)}   {row['exact']:.1%}"
        )
    lines += ["", "clean tests      tests    KS D    KS p   p <= 0.05   binomial 95%"]
    for name, row in summary["calibration"].items():
        low, high = row["interval"]
        inside = "inside" if row["inside"] else "OUTSIDE"
        lines.append(
            f"{name:<15}  {row['tests']:>5}  {row['ks']:.4f}  {row['ks_p']:.4f}   {row['under']:>8.1%}"
            f"   {low:.1%} to {high:.1%} {inside}"
        )
    return "\n".join(lines)


def invent_text(path: Path) -> None:
    """A small text for `--tiny`."""
    draw = Random(0)  # noqa: S311
    words = (
        "庭師は",
        "船長は",
        "港で",
        "坂の上で",
        "手紙を",
        "林檎を",
        "拾った。",
        "数えた。",
        "2015年に",
        "5月1日に",
        "今日は",
    )
    lines = []
    for number in range(600):
        lines.append("".join(draw.choice(words) for _ in range(8)))
        lines += [""] * (number % 6 == 5)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def read_items(path: Path | None, plan: Plan, asked: argparse.Namespace) -> list[StudyItem]:
    """The items of a file, or new ones."""
    count = plan.sets * plan.items
    if path is None:
        return make_study_items(count, asked.dev, asked.data)
    items = msgspec.json.decode(path.read_bytes(), type=list[StudyItem])
    if len(items) < count:
        raise SystemExit(f"{path} has {len(items):,} items, but the study needs {count:,}")
    return items[:count]


def main(words: Sequence[str] | None = None) -> None:
    """Run the study."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--out", type=Path, required=True, help="folder of models and results")
    parser.add_argument(
        "--text", type=Path, help="text file: one paragraph per line, blank lines between documents"
    )
    parser.add_argument("--items", type=Path, help="items.json of an earlier call")
    parser.add_argument("--only-items", action="store_true", help="write the items and stop")
    parser.add_argument("--dev", help="a published dev set whose items are planted first")
    parser.add_argument("--data", type=Path, help="folder of the published data")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--rounds", type=float, help="how often the text is read")
    parser.add_argument("--seeds", type=int, help="models of each number of copies")
    parser.add_argument("--clean", type=int, help="sets of unseen items of each model")
    parser.add_argument(
        "--megabytes", type=float, default=0, help="read only the start of the text"
    )
    parser.add_argument("--tiny", action="store_true", help="very small models and few tests")
    asked = parser.parse_args(words)
    plan = TINY if asked.tiny else Plan()
    for name in ("rounds", "seeds", "clean"):
        if value := getattr(asked, name):
            plan = replace(plan, **{name: value})
    began = time.perf_counter()
    if asked.tiny:
        import torch

        torch.set_num_threads(1)  # small matrices gain nothing from threads

    def report(what: str) -> None:
        sys.stderr.write(f"{time.perf_counter() - began:6.1f} s  {what}\n")
        sys.stderr.flush()

    out: Path = asked.out
    out.mkdir(parents=True, exist_ok=True)
    items = read_items(asked.items, plan, asked)
    (out / "items.json").write_bytes(msgspec.json.encode(items))
    report(f"{len(items):,} items, {sum(bool(item.twin) for item in items):,} with a twin")
    if asked.only_items:
        return
    text = out / "text.txt"
    if asked.text is None and not asked.tiny:
        raise SystemExit("pass --text FILE")
    if asked.text is None:
        invent_text(text)
    else:
        whole = asked.text.read_bytes()
        size = round(asked.megabytes * 1e6) or len(whole)
        text.write_bytes(whole[: whole.rfind(b"\n", 0, size) + 1] if size < len(whole) else whole)
    tokenizer = out / "tokenizer"
    learn_tokenizer(text, tokenizer, plan)
    report("vocabulary learned")
    workers = max(1, min(8, os.cpu_count() or 1))
    base = pack_text(tokenizer, text, out / "base", PackOptions(where=workers, overwrite=True))
    report(f"{base.tokens:,} tokens of text")
    sets = [items[at : at + plan.items] for at in range(0, len(items), plan.items)]
    next_clean = plan.seeds * plan.planted
    results: list[ProbeResult] = []
    models = []
    for seed in range(plan.seeds):
        first = seed * plan.planted
        planted = [(number, True, sets[number]) for number in range(first, first + plan.planted)]
        # one line per set: each copy of a set is a document, with the breaks that the tokenizer reads as blanks
        document = out / f"planted-{seed}.txt"
        texts = []
        for _, _, part in planted:
            joined = ITEM_BREAK.join(FIELD_BREAK.join(item.fields) for item in part)
            texts.append(" ".join(joined.split()))
        document.write_text("\n\n".join(texts) + "\n", encoding="utf-8")
        extra = pack_text(tokenizer, document, out / f"planted-{seed}", PackOptions(overwrite=True))
        for copies in plan.copies:
            pack = plant(base, extra, copies, out / f"text-{copies}-{seed}")
            folder = out / f"model-{copies}-{seed}"
            figures = train_model(pack, tokenizer, folder, plan, seed, asked.device)
            report(
                f"{copies} copies, seed {seed}: {figures.parameters:,} parameters, {figures.steps:,} steps, "
                f"loss {figures.loss:.3f}, {figures.pieces_a_second:,} tokens/s {'; '.join(figures.notes)}"
            )
            clean = [
                (number, False, sets[number])
                for number in range(next_clean, next_clean + plan.clean)
            ]
            next_clean += plan.clean
            settings: dict[str, Any] = {"device": asked.device}
            if asked.device != "cpu" and not asked.tiny:
                settings["batch_tokens"] = 65_536
            scorer = open_scorer(f"lm:{folder}", settings)
            results += probe_sets(scorer, [*planted, *clean], plan, copies, seed)
            models.append(
                {
                    "copies": copies,
                    "seed": seed,
                    "loss": figures.loss,
                    "seconds": figures.seconds,
                    "tokens_per_second": figures.pieces_a_second,
                    "notes": figures.notes,
                }
            )
            report(f"{copies} copies, seed {seed}: probed {len(planted) + len(clean)} sets")
            del scorer
            free_memory()
    summary = summarise(results, plan)
    document_tokens = extra.tokens
    everything = {
        "plan": asdict(plan),
        "text_tokens": base.tokens,
        "planted_tokens": document_tokens,
        "parameters": figures.parameters,
        "models": models,
        "seconds": round(time.perf_counter() - began, 1),
        **summary,
        "results": msgspec.to_builtins(results),
    }
    (out / "memory.json").write_bytes(msgspec.json.format(msgspec.json.encode(everything)) + b"\n")
    sys.stdout.write(show(summary) + "\n")
    report("done")


if __name__ == "__main__":
    main()
