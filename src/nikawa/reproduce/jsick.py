"""The figures of the JSICK paper, recomputed from the released files."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from nikawa.datasets.base import Splits
from nikawa.datasets.jsick.answers import (
    OPERATIONS,
    STRESS_ANSWERS,
    StressAnswers,
    narrow,
    read_answers,
    read_stress_answers,
)
from nikawa.datasets.jsick.jsick import DATASET
from nikawa.datasets.jsick.rows import ANSWERS, LABELS, TAGS
from nikawa.datasets.locate import repository_folder
from nikawa.metrics.classes import macro_f1_of, macro_precision_of, macro_recall_of
from nikawa.records import Example
from nikawa.reproduce.figures import (
    SPLITS,
    FigureValues,
    Partial,
    Value,
    label_of,
    load_splits,
    read_figures,
)

BINS = ("1-2", "2-3", "3-4", "4-5")
UNNATURAL = re.compile("文[AＡ].*不自然")
"""How a worker says that the premise is unnatural; other remarks are about something else."""


def compute(data: Path | None = None) -> Mapping[str, Value]:
    """Figure id to value, for every figure whose files are here."""
    japanese, english = load_splits("jsick", data), load_splits("jsick-en", data)
    folder = repository_folder(DATASET, data)
    figures: dict[str, Value] = dict(score_printed_matrices())
    if japanese and english:
        for tabulate in (count_tags, cross_labels, share_tags, count_denominators):
            figures.update(tabulate(japanese))
        figures.update(count_splits(japanese, english))
        every = [example for examples in english.values() for example in examples]
        figures["section3.1.pairs"] = len(every)
        figures["section3.1.sentences"] = len({text for e in every for text in e.inputs.values()})
        before = {e.id: label_of(e) for e in every}
        after = {e.id: label_of(e) for examples in japanese.values() for e in examples}
        figures["section3.4.changed-to-neutral"] = Partial(
            sum(label == "neutral" != before[pair] for pair, label in after.items()),
            "the authors' choice by hand of those due to grammar",
        )
    if (folder / "jsick" / ANSWERS).is_file():
        rows = list(read_answers(folder / "jsick" / ANSWERS))
        figures.update(measure_agreement(row.labels for row in rows))
        figures.update(count_intended_bins(row.scores for row in rows))
    if (folder / "jsick-stress" / STRESS_ANSWERS).is_file():
        stress_rows = list(read_stress_answers(folder / "jsick-stress" / STRESS_ANSWERS))
        figures.update(measure_stress(stress_rows))
    for name, examples in load_splits("jsick-stress", data).items():
        # pairs a particle's three sets hold: the same ones in each
        figures[f"section5.1.{name.rpartition('-')[2]}"] = len(examples)
    return figures


def score_bin(example: Example) -> str:
    """The paper's bin of a score: open to the right, but for the last."""
    return BINS[min(int(example.gold["relatedness"]), 4) - 1]


def tag_counts(examples: Iterable[Example]) -> Counter[str]:
    """Examples of each phenomenon, by the name the paper prints."""
    return Counter(TAGS[tag] for example in examples for tag in example.tags)


def count_tags(splits: Splits) -> FigureValues:
    """Table 2: phenomena by split."""
    counts = {split: tag_counts(splits.get(split, ())) for split in SPLITS}
    for tag in TAGS.values():
        for split in SPLITS:
            yield f"table2.{tag}.{split}", counts[split][tag]
        yield f"table2.{tag}.total", sum(count[tag] for count in counts.values())


def count_splits(japanese: Splits, english: Splits) -> FigureValues:
    """Table 3: labels and bins of similarity by split, for JSICK and for SICK."""
    for name, splits in (("", japanese), ("sick-", english)):
        yield from share_rows(f"{name}nli", splits, LABELS, label_of)
        yield from share_rows(f"{name}sts", splits, BINS, score_bin)
    for split in SPLITS:
        yield f"table3.total.{split}", len(japanese.get(split, ()))
    yield "table3.total.total", sum(len(examples) for examples in japanese.values())


def share_rows(
    block: str, splits: Splits, names: Sequence[str], key: Callable[[Example], str]
) -> FigureValues:
    """Counts of one block of Table 3, and their percentages of the split."""
    counts = {split: Counter(map(key, splits.get(split, ()))) for split in SPLITS}
    counts["total"] = sum(counts.values(), Counter())
    for column, count in counts.items():
        for name in names:
            yield f"table3.{block}.{name}.{column}", count[name]
            yield f"table3.percent.{block}.{name}.{column}", percent(count[name], count.total())


def cross_labels(splits: Splits) -> FigureValues:
    """Table 4: labels by similarity over all splits; percentages are of the label."""
    cells = Counter((score_bin(e), label_of(e)) for examples in splits.values() for e in examples)
    totals = {label: sum(cells[b, label] for b in BINS) for label in LABELS}
    for name in BINS:
        for label in LABELS:
            yield f"table4.{name}.{label}", cells[name, label]
            yield f"table4.percent.{name}.{label}", percent(cells[name, label], totals[label])
        yield f"table4.{name}.total", sum(cells[name, label] for label in LABELS)
    for label in LABELS:
        yield f"table4.total.{label}", totals[label]


def share_tags(splits: Splits) -> FigureValues:
    """Table 5: phenomena of the test split."""
    test = splits.get("test", ())
    counts = tag_counts(test)
    for tag in TAGS.values():
        yield f"table5.jsick.{tag}", counts[tag]
        yield f"table5.percent.jsick.{tag}", percent(counts[tag], len(test))
    yield "table5.jsick.total", len(test)


def count_denominators(splits: Splits) -> FigureValues:
    """The numbers of pairs the accuracies of Table 9 are over: here a score of 5.0 is in no bin."""
    test = splits.get("test", ())
    cells = Counter((score_bin(e), label_of(e)) for e in test if e.gold["relatedness"] < 5)
    for name in BINS:
        for label in LABELS:
            if (name, label) != ("1-2", "entailment"):  # printed as a dash
                yield f"table9.denominator.{name}.{label}", cells[name, label]
        yield f"table9.denominator.{name}.all", sum(cells[name, label] for label in LABELS)
    for label, count in Counter(map(label_of, test)).items():
        yield f"table9.denominator.all.{label}", count


def measure_stress(rows: Sequence[StressAnswers]) -> FigureValues:
    """Human: majority label equal to the original one. Natural: one worker or more did not object."""
    for operation in OPERATIONS.values():
        some = [row for row in rows if row.set.startswith(operation)]
        if not some:
            continue
        same = sum(row.label == row.inherited for row in some)
        natural = sum(not all(map(UNNATURAL.search, row.remarks)) for row in some)
        yield f"table16.human.{operation}", percent(same, len(some))
        yield f"table16.natural.{operation}", percent(natural, len(some))
    yield "section5.1.judged", len(rows)


def measure_agreement(labels: Iterable[tuple[str, ...]]) -> FigureValues:
    """Agreement; a pair with a blank answer is in none of the three counts."""
    rows = [tuple(filter(None, row)) for row in labels]
    kinds = Counter(len(set(row)) for row in rows if len(row) == 3)
    for different, name in enumerate(("three-agree", "two-agree", "none-agree"), start=1):
        yield f"section3.2.{name}", kinds[different]
        yield f"section3.2.percent.{name}", percent(kinds[different], len(rows))
    alpha = nominal_alpha(rows)
    if alpha is not None:
        yield "section3.2.alpha", alpha


def count_intended_bins(scores: Iterable[tuple[str, ...]]) -> FigureValues:
    """Table 3's bins of relatedness as section 3.2 defines it: the mean of all answers, full-width digits read as well."""
    counts: Counter[str] = Counter()
    for row in scores:
        answers = [float(narrow(text)) for text in row if text]
        if answers:
            mean = sum(answers) / len(answers)
            counts[BINS[min(int(mean), 4) - 1]] += 1
    for name in BINS:
        yield f"table3.sts-intended.{name}.total", counts[name]


def percent(part: int, whole: int) -> float:
    """A share in percent; 0 of nothing."""
    return 100 * part / whole if whole else 0.0


def nominal_alpha(units: Iterable[Sequence[str]]) -> float | None:
    """Krippendorff's alpha for categories, 1 - D_o / D_e, answers missing or not; None where undefined.

    A unit u with m_u >= 2 answers n_uc of category c adds (m_u^2 - sum_c n_uc^2) / (m_u - 1) to the observed
    disagreement; the expected one is (n^2 - sum_c n_c^2) / (n - 1) over all n pairable answers.
    """
    totals: Counter[str] = Counter()
    observed = 0.0
    for unit in units:
        if len(unit) < 2:
            continue
        counts = Counter(unit)
        totals += counts
        pairs_apart = len(unit) ** 2 - sum(c * c for c in counts.values())
        observed += pairs_apart / (len(unit) - 1)
    n = totals.total()
    disagreement = n * n - sum(c * c for c in totals.values())
    return 1 - observed * (n - 1) / disagreement if disagreement else None


def score_printed_matrices() -> FigureValues:
    """Table 12 from the confusion matrices of Table 13, and whose gold labels those hold."""
    for language, rows in read_figures("jsick").inputs["table13"].items():
        matrix = np.array(rows, dtype=np.float64)
        answered, wanted = matrix.sum(axis=0), matrix.sum(axis=1)
        sums = np.concatenate([np.diag(matrix), answered, wanted])
        yield f"table12.{language}.precision", 100 * float(macro_precision_of(sums))
        yield f"table12.{language}.recall", 100 * float(macro_recall_of(sums))
        yield f"table12.{language}.macro-f1", 100 * float(macro_f1_of(sums))
        yield f"table12.{language}.accuracy", 100 * float(np.trace(matrix) / matrix.sum())
        if language.startswith("ja"):
            labels = ("entailment", "contradiction", "neutral")
            for label, count in zip(labels, wanted, strict=True):
                yield f"table13.gold.{language}.{label}", int(count)
