"""IPADIC by MeCab is the same analysis as janome's, which the taggers of the literature used."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from nikawa.io.tsv import read_tsv
from nikawa.text import analyser

SENTENCES = (
    "三匹の白い猫が屋根の上で眠っている。",
    "太郎は花子にりんごを二つあげたかもしれない。",
    "グラベルドロップという街はどこにもない",
    "ﾆｶﾜは絵の具を紙に定着させる膠です。",
    "彼女は、たぶん、明日までに来られないだろう。",
    "誰も庭で犬と遊んでいません　たぶん。",
    "ＡＢＣ社の１２３番目の製品が２０２１年に発売された。",
    "走らされたくなかったのに、走らせられてしまった！",
    "😀と𠮟るの違いは？",
)


@pytest.fixture(scope="module")
def janome() -> Any:
    tokenizer = pytest.importorskip("janome.tokenizer")
    return tokenizer.Tokenizer()


def same(texts: Iterable[str], janome: Any) -> list[str]:
    """The texts that the two analyse differently."""
    found = analyser("ipadic")
    return [
        text
        for text in texts
        if [
            (t.surface, t.base_form, t.part_of_speech, t.infl_type, t.infl_form)
            for t in janome.tokenize(text)
        ]
        != [(t.surface, t.base, t.tag, t.ctype or "*", t.cform or "*") for t in found.analyse(text)]
    ]


@pytest.mark.slow
def test_identical_on_invented_sentences(janome: Any) -> None:
    assert same(SENTENCES, janome) == []


@pytest.mark.slow
def test_identical_on_every_sentence_of_jsick(janome: Any, shared_data: Path) -> None:
    rows = read_tsv(
        shared_data / "jsick" / "jsick" / "jsick.tsv", ["sentence_A_Ja", "sentence_B_Ja"]
    )
    texts = {row[side] for _, row in rows for side in ("sentence_A_Ja", "sentence_B_Ja")}
    assert len(texts) == 5991
    assert same(sorted(texts), janome) == []
