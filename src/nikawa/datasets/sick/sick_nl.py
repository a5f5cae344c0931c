"""SICK-NL: SICK translated into Dutch, under SICK's ids and with its labels."""

from __future__ import annotations

from nikawa.datasets.base import Benchmark, Source
from nikawa.datasets.jsick.jsick import split_of
from nikawa.datasets.jsick.rows import pair_tasks
from nikawa.datasets.sick.rows import NLI_METRICS, STS_METRICS, make_card, read

DATASET = Benchmark(
    name="sick-nl",
    language="nl",
    repository="sick-nl",
    card=make_card(
        name="sick-nl",
        title="SICK-NL: SICK in Dutch",
        languages=("nl",),
        licence="MIT",
        citation="Wijnholds, Moortgat (2021). SICK-NL: A Dataset for Dutch Natural Language Inference. EACL.",
        homepage="https://github.com/gijswijnholds/sick_nl",
        description="The 9,840 pairs of SICK in Dutch, translated by machine and corrected by hand.",
        source="SICK (captions of Flickr photographs and of video clips, rewritten by rule), translated",
        problems=(
            "The labels are those of the English pairs; the translations were not judged again.",
        ),
    ),
    tasks=pair_tasks("sick-nl", NLI_METRICS, STS_METRICS),
    sources=(
        Source(
            "", ("data/tasks/sick_nl/SICK_NL.txt", "SICK_NL.txt"), holds=("train", "dev", "test")
        ),
    ),
    read=read,
    split_of=split_of,
)
