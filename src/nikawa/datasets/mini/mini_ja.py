"""mini-ja: 116 Japanese items of five kinds, written for Nikawa and embedded in it."""

from __future__ import annotations

from nikawa.datasets.mini.shared import mini

DATASET = mini(
    "ja",
    "The Japanese mini-benchmark of Nikawa",
    "36 inference, 24 similarity, 18 reading, 18 choice and 20 tagging items in Japanese, for trying every command "
    "without a download. Some digits are full-width and some sentences lack their 。, as in real data.",
)
