"""mini-ko: 116 Korean items of five kinds, written for Nikawa and embedded in it."""

from __future__ import annotations

from nikawa.datasets.mini.shared import mini

DATASET = mini(
    "ko",
    "The Korean mini-benchmark of Nikawa",
    "36 inference, 24 similarity, 18 reading, 18 choice and 20 tagging items in Korean, for trying every command "
    "without a download. Particles hang on to the entities, and some sentences lack their full stop, as in real data.",
)
