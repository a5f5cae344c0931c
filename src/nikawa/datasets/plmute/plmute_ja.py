"""PLMUTE_ja: the first challenge set of PLMUTE, on the order of times, in Japanese."""

from __future__ import annotations

from nikawa.datasets.base import Benchmark, Source
from nikawa.datasets.plmute.rows import DRAWN_TWICE, read
from nikawa.datasets.snli.rows import inference_task
from nikawa.records import Card

DATASET = Benchmark(
    name="plmute-ja",
    language="ja",
    repository="plmute-ja",
    card=Card(
        name="plmute-ja",
        title="PLMUTE_ja: temporal order in Japanese",
        version="1.0",
        languages=("ja",),
        licence="CC BY-SA 4.0",
        citation="Sugimoto, Yanaka (2022). Compositional Semantics and Inference System for Temporal Order based on Japanese CCG. ACL SRW.",
        homepage="https://github.com/ynklab/ccgtemp",
        description="11,220 training and 3,820 test pairs on the order of points in time, translated from PLMUTE's first challenge set.",
        labels="PLMUTE's own, computed from the times in the templates.",
        workers="none: the labels are computed",
        workers_are="none",
        source="PLMUTE (templates filled with times), in Japanese",
        problems=(
            "Pairs repeat: 44 of train, 19 of test.",
            "cs1_train_few_ja.csv, a part of train, is not read.",
        ),
    ),
    tasks=(inference_task("plmute-ja"),),
    sources=(
        Source("train", ("data/plmute/cs1_train_ja.csv", "cs1_train_ja.csv")),
        Source("test", ("data/plmute/cs1_test_ja.csv", "cs1_test_ja.csv")),
    ),
    read=read,
    by_design=DRAWN_TWICE,
)
