"""SICK: English sentence pairs with an inference label and a relatedness, from SICK's own file.

The side of SICK that JSICK was translated from is `jsick-en`.
"""

from __future__ import annotations

from nikawa.datasets.base import Benchmark, Source
from nikawa.datasets.jsick.jsick import split_of
from nikawa.datasets.jsick.rows import pair_tasks
from nikawa.datasets.sick.rows import NLI_METRICS, STS_METRICS, make_card, read

DATASET = Benchmark(
    name="sick",
    language="en",
    repository="sick",
    instead_of_fetch="download SICK.zip from https://zenodo.org/record/2787612 and put SICK.txt into {folder}",
    card=make_card(
        name="sick",
        title="SICK: Sentences Involving Compositional Knowledge",
        languages=("en",),
        licence="CC BY-NC-SA 3.0",
        citation="Marelli et al. (2014). A SICK cure for the evaluation of compositional distributional semantic models. LREC.",
        homepage="https://zenodo.org/record/2787612",
        description="9,840 pairs of English sentences with an inference label and a relatedness from 1 to 5.",
        source="captions of Flickr photographs and of video clips, rewritten by rule",
        problems=(
            "The published file was not available when this reader was written: it follows the published layout, which SICK-NL and SICK-BR share.",
            "SICK-NL and SICK-BR have 9,840 pairs and JSICK 9,927: jsick-en has the English pairs that JSICK was translated from.",
        ),
    ),
    tasks=pair_tasks("sick", NLI_METRICS, STS_METRICS),
    sources=(Source("", ("SICK.txt", "*/SICK.txt"), holds=("train", "dev", "test")),),
    read=read,
    split_of=split_of,
)
