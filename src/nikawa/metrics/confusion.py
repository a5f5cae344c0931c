"""Confusion: how often each gold label was answered with each label (JSICK, Table 13).

Rows are gold, columns answers, in the task's order of labels; answers outside it and answers that could not
be read have separate columns at the end.
"""

from __future__ import annotations

from collections import Counter

from nikawa.metrics.base import Items

UNREAD = "(unread)"


def count_confusion(items: Items) -> dict[str, dict[str, int]]:
    """Gold label to answer to count; every label that is declared or occurs has its row and column."""
    answers = [UNREAD if answer is None else str(answer) for answer in items.answers]
    counts = Counter(zip(map(str, items.gold), answers, strict=True))
    declared = [str(label) for label in items.labels]
    others = sorted({name for pair in counts for name in pair} - {*declared, UNREAD})
    gold_labels = {gold for gold, _ in counts}
    rows = declared + [label for label in others if label in gold_labels]
    columns = declared + others
    if UNREAD in answers:
        columns.append(UNREAD)
    return {gold: {answer: counts[gold, answer] for answer in columns} for gold in rows}
