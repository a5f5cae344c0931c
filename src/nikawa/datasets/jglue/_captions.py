"""What the caption ids of JSTS and JNLI tell: image, sentences, and the flow (A, B, C) a pair came from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from nikawa.errors import BadInput


def caption_meta(pair: str, path: Path, line: int) -> dict[str, Any]:
    """`img-s1-s2` is A (same image), `imgA_imgB-s1-s2` B, a sentence id starting with `g` C (worker-written).

    `pair` names the two sentences without their order, so it is shared by both directions and by JSTS and JNLI.
    """
    parts = pair.split("-")
    if len(parts) != 3 or not all(parts):
        raise BadInput(
            f"yjcaptions_id {pair!r} is not image-sentence-sentence",
            file=path,
            line=line,
            cure="is this JSTS or JNLI?",
        )
    image, first, second = parts
    flow = "C" if first.startswith("g") or second.startswith("g") else "B" if "_" in image else "A"
    unordered = "-".join(sorted((first, second)))
    return {"source": flow, "yjcaptions_id": pair, "image": image, "pair": unordered}
