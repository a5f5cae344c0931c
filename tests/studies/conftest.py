"""Small invented files in the published formats, and encoders with random weights."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))  # studies lie beside the package, not in it

LABELS = ("entailment", "neutral", "contradiction")
JAMP = (
    "num",
    "premise",
    "hypothesis",
    "gold_label",
    "template_num",
    "time_format",
    "time_span",
    "category",
)
JSICK = (
    "pair_ID",
    "data",
    "sentence_A_En",
    "sentence_B_En",
    "entailment_label_En",
    "relatedness_score_En",
    "corr_entailment_labelAB_En",
    "corr_entailment_labelBA_En",
    "sentence_A_Ja",
    "sentence_B_Ja",
    "entailment_label_Ja",
    "relatedness_score_Ja",
    "image_ID",
    "original_caption",
    "semtag_short",
    "semtag_long",
)
KINDS = (
    (1, "以来（状態動詞）", "年", "None"),
    (9, "順序（推移律）", "None", "None"),
    (20, "期間（持続）", "年月", "短期間"),
)


def _lines(columns: tuple[str, ...], rows: list[dict[str, str]]) -> str:
    return (
        "\n".join(
            ["\t".join(columns), *("\t".join(row.get(c, "") for c in columns) for row in rows)]
        )
        + "\n"
    )


def _jamp(rows: int) -> str:
    made: list[dict[str, str]] = []
    for template, category, form, span in KINDS:
        for label in LABELS[:2]:
            for row in range(rows):
                values = (
                    str(len(made) + 1),
                    f"{row}番の人は{row}年から住む。",
                    f"{label[0]}番の人がいる。",
                    label,
                    str(template),
                    form,
                    span,
                    category,
                )
                made.append(dict(zip(JAMP, values, strict=True)))
    return _lines(JAMP, made)


def _pair(i: int, split: str) -> dict[str, str]:
    premise = f"{i}番の子が庭で凧を揚げている"
    hypothesis = ("子が凧を揚げている", "犬が川を渡っている", "子は凧を揚げていない")[i % 3]
    sides = {
        "sentence_A_En": f"Child {i} flies a kite",
        "sentence_B_En": "A child plays",
        "entailment_label_En": LABELS[i % 3],
        "relatedness_score_En": "3.5",
    }
    own = {
        "sentence_A_Ja": premise,
        "sentence_B_Ja": hypothesis,
        "entailment_label_Ja": LABELS[i % 3],
    }
    return {
        "pair_ID": str(i),
        "data": split,
        "relatedness_score_Ja": str(1 + i % 4),
        **sides,
        **own,
    }


@pytest.fixture(scope="session")
def invented_data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with JAMP's training file, JSICK, and one of its stress sets."""
    root = tmp_path_factory.mktemp("data")
    jamp, pairs, stress = (
        root / "jamp" / "dataset",
        root / "jsick" / "jsick",
        root / "jsick" / "jsick-stress" / "ex_ga_o",
    )
    for folder in (jamp, pairs, stress):
        folder.mkdir(parents=True)
    (jamp / "train_all.tsv").write_text(_jamp(8), "utf-8")
    rows = [_pair(i, "train" if i < 30 else "trial" if i < 39 else "test") for i in range(60)]
    (pairs / "jsick.tsv").write_text(_lines(JSICK, rows), "utf-8")
    more = {"mod_A": "TRUE"}
    made = [
        row
        | more
        | {
            "sentence_A_Ja_origin": row["sentence_A_Ja"],
            "sentence_A_Ja": row["sentence_A_Ja"].replace("が", "を", 1),
        }
        for row in rows[39:]
    ]
    (stress / "test.tsv").write_text(
        _lines((*JSICK, "mod_A", "sentence_A_Ja_origin"), made), "utf-8"
    )
    return root


@pytest.fixture(scope="session")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """A folder with an encoder of random weights, by its name."""
    place = tmp_path_factory.mktemp("encoders")

    def make(name: str) -> Path:
        import torch
        from transformers import BertConfig, BertModel

        from nikawa.datasets import load
        from nikawa.records import texts_inside
        from studies import _folder

        examples = [
            e
            for name in ("mini-ja", "mini-ko")
            for part in load(name).splits.values()
            for e in part
        ]
        folder = _folder.characters(
            place / name, [t for e in examples for t in texts_inside(e.inputs)], _folder.TINY
        )
        if not (folder / "model.safetensors").is_file():
            with torch.random.fork_rng():
                torch.manual_seed(len(name))
                BertModel(BertConfig.from_pretrained(folder)).save_pretrained(folder)
        return folder

    return make


@pytest.fixture(autouse=True)
def _one_thread() -> None:
    import torch

    torch.set_num_threads(1)
