"""Metrics against seqeval, scikit-learn, scipy and the official functions, on the same inputs, in one run.

Inputs: the folder bench/ of NIKAWA_SHARED, otherwise of `shared` next to the checkout. Official functions that cannot be
installed were timed on another machine together with seqeval (official_times.json): their times are scaled by the ratio of seqeval's times.
"""

from __future__ import annotations

import gzip
import json
import os
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from nikawa.metrics import Items, jsquad, klue_dp, klue_mrc, klue_ner, klue_re, metrics, wos
from nikawa.metrics.classes import macro_f1_of
from nikawa.stats.resample import TEST_RESAMPLES, bootstrap

SEQEVAL = (
    "seqeval 1.2.2 strict IOB2, one list per sentence (same inputs as klue_ner_entity_macro_f1)"
)


def folder() -> Path:
    given = os.environ.get("NIKAWA_SHARED")
    return (Path(given) if given else Path(__file__).parents[2] / "shared") / "bench"


def load(name: str) -> Any:
    with gzip.open(folder() / f"{name}.json.gz") as stream:
        return json.load(stream)


def best(run: Callable[[], Any], times: int = 7) -> tuple[float, Any]:
    """CPU seconds, best of several, and what came out."""
    found = []
    for _ in range(times):
        start = time.process_time()
        result = run()
        found.append(time.process_time() - start)
    return min(found), result


def line(what: str, peer: float, own: float, target: float, same: bool | None = None) -> None:
    """One row of the table; `same` is whether the values agree, None if they were not compared."""
    values = {True: "same value", False: "OTHER VALUE", None: ""}[same]
    verdict = "" if peer / own >= target else "MISSED"
    times = f"{peer * 1e3:10.1f} ms  nikawa {own * 1e3:8.2f} ms  {peer / own:8.1f}x (target {target:g}x)"
    print(f"{what:58} {times}  {values} {verdict}".rstrip())


def ner_peers(data: dict[str, Any]) -> tuple[float, float]:
    """seqeval a sentence at a time: its seconds and its value in percent."""
    from seqeval.metrics import f1_score
    from seqeval.scheme import IOB2

    names = data["label_list"]
    gold, pred = (
        [[names[code] for code in row] for row in data[side]] for side in ("gold", "pred")
    )
    seconds, value = best(
        lambda: f1_score(gold, pred, average="macro", mode="strict", scheme=IOB2), 3
    )
    return seconds, 100 * value


def entity(data: dict[str, Any]) -> float:
    tags = klue_ner.encode_tags(data["gold"], data["pred"])
    return 100 * float(macro_f1_of(klue_ner.entity_counts(tags).sum(axis=0)))


def characters(data: dict[str, Any]) -> float:
    return 100 * klue_ner.official_char_f1(klue_ner.encode_tags(data["gold"], data["pred"]))


def squad(rows: list[dict[str, Any]]) -> list[float]:
    items = Items([row["answers"] for row in rows], [row["prediction"] for row in rows])
    return [100 * float(np.mean(side)) for side in jsquad.item_scores(items)]


def rouge(rows: list[dict[str, Any]]) -> float:
    items = Items([row["answers"] for row in rows], [row["prediction"] for row in rows])
    return 100 * klue_mrc.rouge_w_mean(items, "official").value


def slots(rows: list[list[list[str]]]) -> float:
    return 100 * wos.slot_f1(Items([gold for _, gold in rows], [pred for pred, _ in rows])).value


def near(one: Any, other: Any) -> bool:
    return bool(np.allclose(one, other, rtol=0, atol=1e-9))


def official(seqeval: float) -> dict[str, tuple[float, Any]]:
    """Seconds the official functions would take here, and their values."""
    rows = {
        row["what"]: row
        for row in json.loads((folder() / "official_times.json").read_text())["rows"]
    }
    ratio = seqeval / rows[SEQEVAL]["cpu_best_s"]
    print(f"official times are scaled by {ratio:.2f}: seqeval took {seqeval:.2f} s here")
    return {what: (row["cpu_best_s"] * ratio, row["result"]) for what, row in rows.items()}


def against_official() -> None:
    ner, trees = load("ner"), load("dp")
    seqeval, value = ner_peers(ner)
    times = official(seqeval)
    own, found = best(lambda: entity(ner))
    line("NER entities: seqeval per sentence", seqeval, own, 15, near(found, value))
    joined = times["klue_ner_entity_macro_f1"]
    line("NER entities: official, joined (scaled)", joined[0], own, 300, near(found, joined[1]))
    questions, answers, turns = load("jsquad"), load("mrc"), load("wos")
    runs: list[tuple[str, Callable[[], Any], float]] = [
        ("klue_ner_char_macro_f1", lambda: characters(ner), 20),
        ("jsquad squad_evaluate (EM+char F1)", lambda: squad(questions), 3),
        ("klue_mrc_rouge_w", lambda: rouge(answers), 3),
        (
            "klue_dp_uas_macro_f1",
            lambda: 100 * klue_dp.uas_macro(klue_dp.encode_words(trees)).value,
            3,
        ),
        (
            "klue_dp_las_macro_f1",
            lambda: 100 * klue_dp.las_macro(klue_dp.encode_words(trees), True).value,
            3,
        ),
        ("wos_slot_micro_f1", lambda: slots(turns), 1),
    ]
    for what, run, target in runs:
        seconds, expected = times[what]
        own, found = best(run)
        values = list(expected.values()) if isinstance(expected, dict) else expected
        line(f"{what} (scaled)", seconds, own, target, near(found, values))


def areas() -> None:
    from sklearn.metrics import auc, precision_recall_curve

    generator = np.random.default_rng(0)
    gold = generator.integers(0, 30, 7765)
    scores = generator.random((7765, 30)) + np.eye(30)[gold] / 4

    def peer() -> float:
        curves = (precision_recall_curve(gold == c, scores[:, c]) for c in range(30))
        return float(np.mean([auc(recall, precision) for precision, recall, _ in curves]))

    seconds, expected = best(peer)
    own, found = best(lambda: klue_re.auprc_of(scores, gold, "official").value)
    line("AUPRC 7,765 x 30: scikit-learn", seconds, own, 3, near(expected, found))


def labels_and_scores() -> None:
    from scipy.stats import spearmanr
    from sklearn.metrics import f1_score

    generator = np.random.default_rng(0)
    gold, answers = (generator.integers(0, 7, 9107).astype(str).tolist() for _ in range(2))
    seconds, expected = best(lambda: f1_score(gold, answers, average="macro"))
    own, found = best(
        lambda: metrics()["macro-f1"].evaluate(Items(gold, answers), "official").value
    )
    line("macro F1 of 9,107 labels: scikit-learn", seconds, own, 1, near(expected, found))
    x = generator.random(4927)
    y = (np.round(x * 20 + generator.random(4927)) / 5).tolist()
    seconds, expected = best(lambda: spearmanr(x.tolist(), y)[0])
    own, found = best(
        lambda: metrics()["spearman"].evaluate(Items(y, x.tolist()), "documented").value
    )
    line("Spearman of 4,927: scipy", seconds, own, 1, near(expected, found))


def samples() -> dict[str, Items]:
    """Items at the size of the dev sets, by metric."""
    generator = np.random.default_rng(0)
    labels = [str(i) for i in range(7)]
    gold, answers = (generator.choice(labels, 9107).tolist() for _ in range(2))
    news = Items(gold, answers, labels=labels)
    x = generator.random(4927)
    pairs = Items((np.round(x * 20 + generator.random(4927)) / 5).tolist(), x.tolist())
    questions, passages = load("jsquad"), load("mrc")
    return {
        **dict.fromkeys(("accuracy", "mcc", "macro-f1"), news),
        **dict.fromkeys(("pearson", "spearman"), pairs),
        "jsquad-f1": Items([q["answers"] for q in questions], [q["prediction"] for q in questions]),
        "rouge-w": Items([q["answers"] for q in passages], [q["prediction"] for q in passages]),
    }


def resampling() -> None:
    """The bootstrap against drawing items and running the metric on them again."""
    generator = np.random.default_rng(0)
    for name, items in samples().items():
        evaluate, n = metrics()[name].evaluate, len(items.gold)

        def again(items: Items = items, n: int = n, evaluate: Any = evaluate) -> float:
            picks = generator.integers(0, n, n).tolist()
            gold, answers = ([side[i] for i in picks] for side in (items.gold, items.answers))
            return float(evaluate(Items(gold, answers, labels=items.labels), "official").value)

        once, _ = best(again)
        evaluation = evaluate(items, "official")
        own, _ = best(lambda evaluation=evaluation, n=n: bootstrap(evaluation, np.arange(n)), 2)  # type: ignore[misc]
        line(
            f"bootstrap of {name}, {n:,} items: one run x {TEST_RESAMPLES:,}",
            once * TEST_RESAMPLES,
            own,
            100,
        )


def resampling_areas() -> None:
    """The same for AUPRC, 1,000 resamples, from the matrix of scores."""
    generator = np.random.default_rng(0)
    gold = generator.integers(0, 30, 7765)
    scores = generator.random((7765, 30)) + np.eye(30)[gold] / 4

    def again() -> float:
        picks = generator.integers(0, len(gold), len(gold))
        return klue_re.auprc_of(scores[picks], gold[picks], "documented").value

    once, _ = best(again)
    evaluation = klue_re.auprc_of(scores, gold, "documented")
    own, _ = best(lambda: bootstrap(evaluation, np.arange(len(gold)), resamples=1000), 2)
    line("bootstrap of auprc, 7,765 items: one run x 1,000", once * 1000, own, 100)


def main() -> None:
    if not folder().is_dir():
        print("skipped: there are no inputs; set NIKAWA_SHARED to a folder that contains bench/")
        return
    from threadpoolctl import threadpool_limits

    with warnings.catch_warnings(), threadpool_limits(1):  # CPU time would count waiting threads
        warnings.simplefilter("ignore")
        against_official()
        areas()
        labels_and_scores()
        resampling()
        resampling_areas()
