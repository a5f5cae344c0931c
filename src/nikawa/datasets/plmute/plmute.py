"""PLMUTE: three English challenge sets on the order of times, durations and units, made from templates."""

from __future__ import annotations

from nikawa.datasets.base import Benchmark, Source
from nikawa.datasets.plmute.rows import DRAWN_TWICE, read
from nikawa.datasets.snli.rows import inference_task
from nikawa.records import Card

DATASET = Benchmark(
    name="plmute",
    language="en",
    repository="plmute",
    card=Card(
        name="plmute",
        title="PLMUTE: temporal expressions in inference",
        version="1.0",
        languages=("en",),
        licence="CC0 1.0",
        citation="Thukral, Kukreja, Kavouras (2021). Probing Language Models for Understanding of Temporal Expressions. BlackboxNLP.",
        homepage="https://github.com/kunalkukreja21/temporal-expressions-evaluation-lm",
        description="Three challenge sets of English pairs made from templates: the order of points in time, the duration between them, times in different units.",
        labels="Computed from the times in the templates.",
        workers="none: the labels are computed",
        workers_are="none",
        source="templates filled with times",
        problems=(
            "The second challenge set has no neutral pair.",
            "The third challenge set writes E, C and N for its labels.",
            "Pairs repeat within a set: 74 of the first training set, 324 of the second.",
        ),
    ),
    tasks=(inference_task("plmute"),),
    sources=(
        Source("train", ("data/cs[123]_train.csv", "cs[123]_train.csv")),
        Source("test", ("data/cs[123]_test.csv", "cs[123]_test.csv")),
    ),
    read=read,
    by_design=DRAWN_TWICE,
)
