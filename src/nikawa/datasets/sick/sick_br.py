"""SICK-BR: SICK translated into Brazilian Portuguese, under SICK's ids and with its labels."""

from __future__ import annotations

from nikawa.datasets.base import Benchmark, Source
from nikawa.datasets.jsick.jsick import split_of
from nikawa.datasets.jsick.rows import pair_tasks
from nikawa.datasets.sick.rows import NLI_METRICS, STS_METRICS, make_card, read

DATASET = Benchmark(
    name="sick-br",
    language="pt",
    repository="sick-br",
    card=make_card(
        name="sick-br",
        title="SICK-BR: SICK in Brazilian Portuguese",
        languages=("pt",),
        licence="not stated in the repository",
        citation="Real et al. (2018). SICK-BR: a Portuguese corpus for inference. PROPOR.",
        homepage="https://github.com/livyreal/SICK-BR",
        description="The 9,840 pairs of SICK in Brazilian Portuguese, aligned to and translated from SICK.",
        source="SICK (captions of Flickr photographs and of video clips, rewritten by rule), translated",
        problems=(
            "The labels are those of the English pairs; the translations were not judged again.",
            "The file starts with a byte order mark, which is skipped.",
        ),
    ),
    tasks=pair_tasks("sick-br", NLI_METRICS, STS_METRICS),
    sources=(Source("", ("SICK_BR.txt",), holds=("train", "dev", "test")),),
    read=read,
    split_of=split_of,
)
