"""Metrics of other tools: Nikawa's metric that fits each of them, and how they differ."""

from __future__ import annotations

FLEXEVAL_CHOICE_METRICS = (
    "accuracy",
    "byte_norm_accuracy",
    "macro_f1_score",
    "micro_f1_score",
)
"""What flexeval reports for choices, without settings."""
FOR_SCORES = "pearson"
"""The metric of scores, for any metric of texts."""
WHOLE_REPLY = (
    "compares the whole reply with the answer; nikawa score first reads the answer from the reply"
)
LENGTHS = "divides each likelihood by the length of the choice; score the choice that it takes"
NUMBERS = "compares replies as texts; the official metric correlates numbers"
BEST_ANSWER = "compares with one answer; the official metric takes the best of all answers"
JUDGE = "asks a model for a grade"
SPACES = "counts words between spaces; the official metric counts characters or morphemes"
DIFFERENCES: dict[str, dict[str, tuple[str, str]]] = {
    "lm-eval": {
        "acc": ("accuracy", ""),
        "acc_norm": ("accuracy", LENGTHS),
        "acc_bytes": ("accuracy", LENGTHS),
        "exact_match": ("accuracy", WHOLE_REPLY),
        "f1": ("macro-f1", "is the F1 of one class, unless its settings name another average"),
        "mcc": ("mcc", ""),
    },
    "flexeval": {
        "accuracy": ("accuracy", ""),
        "byte_norm_accuracy": ("accuracy", LENGTHS),
        "macro_f1_score": ("macro-f1", "averages over the places that occur"),
        "ExactMatch": ("accuracy", WHOLE_REPLY),
        "CharF1": (
            "jsquad-f1",
            "is a ratio of edits, rounded to whole percent; the official F1 counts shared characters",
        ),
    },
    "inspect": {
        "choice": ("accuracy", ""),
        "match": (
            "accuracy",
            "looks for the answer at one end of the reply; nikawa score reads replies itself",
        ),
        "includes": (
            "accuracy",
            "accepts the answer anywhere in the reply; nikawa score reads replies itself",
        ),
        "exact": ("accuracy", WHOLE_REPLY),
        "pattern": (
            "accuracy",
            "reads the reply with its own pattern; nikawa score reads replies itself",
        ),
        "answer": ("accuracy", "reads the reply after ANSWER:; nikawa score reads replies itself"),
        "f1": ("jsquad-f1", SPACES),
        "model_graded_qa": ("", JUDGE),
        "model_graded_fact": ("", JUDGE),
    },
}
"""Tool and metric to Nikawa's metric and the difference."""
OTHER_FORMS = {
    "accuracy": ("jsquad-em", "klue-em"),
    "jsquad-f1": ("jsquad-f1", "rouge-w"),
}
"""The metrics of passages that stand for others."""
