"""Small files of our own in the published layouts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

RELEASED = {
    "pair_ID": "1",
    "data": "test",
    "sentence_A_En": "A kite circles the old tower",
    "sentence_B_En": "A kite is in the air",
    "entailment_label_En": "entailment",
    "relatedness_score_En": "4.2",
    "corr_entailment_labelAB_En": "",
    "corr_entailment_labelBA_En": "",
    "sentence_A_Ja": "凧が古い塔を巡っている",
    "sentence_B_Ja": "凧が空を飛んでいる",
    "entailment_label_Ja": "entailment",
    "relatedness_score_Ja": "4.3",
    "image_ID": "",
    "original_caption": "",
    "semtag_short": "",
    "semtag_long": "",
}
BLANK = ("data", "_En", "relatedness_score_Ja")
TRAIN = {k: "" if k.endswith(BLANK) else v for k, v in RELEASED.items()}
EACH = {f"entailment_label_Ja{k}": "entailment" for k in (1, 2, 3)}
ANSWERS = {k: v for k, v in RELEASED.items() if k.startswith(("pair", "sent", "ent", "rel"))} | EACH
ANSWERS |= {
    "relatedness_score_Ja1": "4.0",
    "relatedness_score_Ja2": "4",
    "relatedness_score_Ja3": "5",
}
SWAPPED = RELEASED | {"mod_A": "TRUE", "sentence_A_Ja": "凧を古い塔が巡っている"}
SWAPPED |= {"sentence_A_Ja_origin": RELEASED["sentence_A_Ja"]}
SCRAMBLED = RELEASED | {"mod_A": "True", "sentence_A_Ja": "古い塔を凧が巡っている"}
SCRAMBLED |= {"sentence_A_Ja_origin": SWAPPED["sentence_A_Ja"], "pred_ori": "neutral"}
STRESS_ANSWERS = {
    "pair_ID": "1_wo_o",
    "case_particles": "wo",
    "rephrase_type": "o",
    "entailment_label_origin": "entailment",
    "entailment_label_Ja": "neutral",
    "relatedness_score_Ja": "3.3",
    **(EACH | {"entailment_label_Ja1": "neutral", "entailment_label_Ja2": "neutral"}),
    "relatedness_score_Ja1": "3.0",
    "relatedness_score_Ja2": "3.0",
    "relatedness_score_Ja3": "4.0",
    "naturalness_Ja1": "文Ａは並びが少し不自然です",
    "naturalness_Ja2": "",
    "naturalness_Ja3": "文Aはとても不自然だ",
}

Rows = Sequence[Mapping[str, str]]
Write = Callable[[str, Rows], Path]


def layout(name: str) -> dict[str, str]:
    """The columns of a published file, with a value for each."""
    if name.endswith("stress-all-annotations.tsv"):
        return STRESS_ANSWERS
    if name.endswith("all-annotations.tsv"):
        return ANSWERS
    if "_ga_" in name:
        return SCRAMBLED if "scrum" in name else SWAPPED
    return TRAIN if name.endswith("train.tsv") else RELEASED


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A data folder of our own."""
    return tmp_path / "data"


@pytest.fixture
def write(data: Path) -> Write:
    """Write a file below the repository folder: its columns and missing cells come from its name."""

    def write_rows(name: str, rows: Rows) -> Path:
        cells = layout(name)
        lines = ["\t".join(cells), *("\t".join({**cells, **row}.values()) for row in rows)]
        path = data / "jsick" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        text = "\r\n".join(lines) if "all-annotations" in name else "\n".join([*lines, ""])
        path.write_bytes(text.encode())
        return path

    return write_rows
