"""The relations of the form `tree`: those of KLUE-DP for Korean, fifteen of Universal Dependencies for Japanese.

For each set the relations that a word's last tags make likely, which the page shows first. A key is a tag (`JKS`), or a
morpheme with its tag (`は/助詞-係助詞`); what has no key, such as a full stop, is passed over from the end of the word.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

PHRASES = (
    ("NP", "体言", "체언구", "noun phrase"),
    ("VP", "用言", "용언구", "verb phrase"),
    ("VNP", "体言の述語", "긍정지정사구", "copula phrase"),
    ("AP", "副詞", "부사구", "adverb phrase"),
    ("DP", "連体詞", "관형사구", "adnominal phrase"),
    ("IP", "感嘆詞", "감탄사구", "interjection"),
    ("X", "助詞・語尾のみ", "의사구", "particle or ending alone"),
    ("L", "開く記号", "왼쪽 부호", "opening mark"),
    ("R", "閉じる記号", "오른쪽 부호", "closing mark"),
)
FUNCTIONS = (
    ("SBJ", "主語", "주어", "subject"),
    ("OBJ", "目的語", "목적어", "object"),
    ("MOD", "連体修飾", "관형어", "modifier"),
    ("AJT", "連用修飾", "부사어", "adjunct"),
    ("CMP", "補語", "보어", "complement"),
    ("CNJ", "並列", "접속어", "conjunct"),
)
KLUE_RELATIONS = (
    *("NP", "NP_SBJ", "NP_OBJ", "NP_MOD", "NP_AJT", "NP_CMP", "NP_CNJ"),
    *("VP", "VP_SBJ", "VP_OBJ", "VP_MOD", "VP_AJT", "VP_CMP", "VP_CNJ"),
    *("VNP", "VNP_SBJ", "VNP_OBJ", "VNP_MOD", "VNP_AJT", "VNP_CMP", "VNP_CNJ"),
    *("AP", "AP_SBJ", "AP_MOD", "AP_AJT", "AP_CMP", "DP", "IP"),
    *("X", "X_SBJ", "X_OBJ", "X_MOD", "X_AJT", "X_CMP", "X_CNJ", "L", "R"),
)
"""The labels of KLUE-DP without the misspelt NP_SVJ of its list."""
JAPANESE_RELATIONS = (
    ("root", "文の中心", "문장의 중심", "centre of the sentence"),
    ("nsubj", "主語", "주어", "subject"),
    ("obj", "目的語", "목적어", "object"),
    ("obl", "補語・連用修飾（に・で・と・から）", "부사어(에·에서·와·에게)", "oblique"),
    ("nmod", "体言の連体修飾（の）", "체언의 관형어(의)", "noun that modifies a noun"),
    ("acl", "連体節", "관형절", "clause that modifies a noun"),
    ("advcl", "連用節", "부사절", "adverbial clause"),
    ("advmod", "副詞", "부사", "adverb"),
    ("det", "連体詞（この・その）", "관형사(이·그)", "determiner"),
    ("conj", "並列", "병렬", "conjunct"),
    ("cc", "接続詞", "접속 부사", "conjunction"),
    ("ccomp", "引用・内容の節", "인용절·내용절", "complement clause"),
    ("csubj", "主語の節", "주어절", "clausal subject"),
    ("discourse", "感動詞・呼びかけ", "감탄사·호칭", "interjection, address"),
    ("dep", "その他", "기타", "other"),
)
"""Label, and its name in Japanese, Korean and English. The official LAS takes the labels from the sixteenth on as one,
so a longer list would mix several labels."""

KLUE_LIKELY: Mapping[str, tuple[str, ...]] = {
    "JKS": ("NP_SBJ", "VP_SBJ", "NP_CMP"),
    "JKC": ("NP_CMP", "NP_SBJ"),
    "JKO": ("NP_OBJ", "VP_OBJ"),
    "JKG": ("NP_MOD",),
    "JKB": ("NP_AJT", "VP_AJT", "NP_CNJ"),
    "JKV": ("IP", "NP"),
    "JKQ": ("VP_CMP", "VNP_CMP", "NP_CMP"),
    "JC": ("NP_CNJ", "NP_AJT", "VP_CNJ"),
    "JX": ("NP_SBJ", "NP_AJT", "NP_OBJ", "VP", "VP_AJT", "VP_SBJ", "NP_CMP"),
    "ETM": ("VP_MOD", "VNP_MOD"),
    "ETN": ("VP", "VP_SBJ", "VP_OBJ", "VP_CNJ", "VP_AJT", "VNP"),
    "EC": ("VP", "VP_AJT", "VP_CMP", "VNP", "VNP_CMP"),
    "EF": ("VP", "VNP", "VP_CMP", "VNP_CMP"),
    "MAG": ("AP", "AP_MOD", "NP_AJT"),
    "MAJ": ("AP", "IP"),
    "MM": ("DP",),
    "MMA": ("DP",),
    "MMD": ("DP",),
    "MMN": ("DP",),
    "IC": ("IP",),
    **dict.fromkeys(
        ("NNG", "NNP", "NNB", "NR", "NP", "SN", "SL", "SH", "XSN", "XR"),
        ("NP", "NP_AJT", "NP_CNJ", "NP_SBJ", "NP_OBJ"),
    ),
}
"""What is frequent by the last tag in the published dev set of KLUE-DP."""
_NOUN = ("obl", "nsubj", "nmod", "conj", "root")
JAPANESE_LIKELY: Mapping[str, tuple[str, ...]] = {
    "は/助詞-係助詞": ("nsubj", "obl", "obj", "csubj"),
    "も/助詞-係助詞": ("nsubj", "obl", "obj", "advmod"),
    "が/助詞-格助詞": ("nsubj", "csubj", "obj"),
    "を/助詞-格助詞": ("obj", "obl"),
    "の/助詞-格助詞": ("nmod", "acl", "nsubj"),
    "と/助詞-格助詞": ("obl", "conj", "ccomp"),
    "や/助詞-副助詞": ("conj", "nmod"),
    "助詞-格助詞": ("obl", "nmod", "obj"),
    "助詞-係助詞": ("nsubj", "obl", "obj"),
    "助詞-副助詞": ("obl", "nmod", "advmod"),
    "助詞-接続助詞": ("advcl", "acl", "conj"),
    "助詞-準体助詞": ("nsubj", "root", "csubj"),
    "助動詞": ("root", "acl", "advcl", "ccomp"),
    "動詞": ("acl", "advcl", "root", "ccomp"),
    "形容詞": ("acl", "advcl", "root"),
    "副詞": ("advmod",),
    "連体詞": ("det",),
    "接続詞": ("cc", "advmod"),
    "感動詞": ("discourse",),
    "形状詞": ("acl", "advcl", "root"),
    "名詞": _NOUN,
    "代名詞": _NOUN,
    "接尾辞": _NOUN,
}
"""By UniDic's tags, as GiNZA has them; a tag also stands for those that it begins."""


LIKELY = {**KLUE_LIKELY, **JAPANESE_LIKELY}


def relation_names(column: int) -> dict[str, str]:
    """The messages of all relations in the language of a column: 1 Japanese, 2 Korean, 3 English."""
    phrases = {row[0]: row[column] for row in PHRASES}
    functions = {row[0]: row[column] for row in FUNCTIONS}
    names = {}
    for label in KLUE_RELATIONS:
        phrase, _, function = label.partition("_")
        name = phrases[phrase]
        names[label] = f"{name}・{functions[function]}" if function and column == 1 else name
        if function and column > 1:
            names[label] = (
                f"{name}·{functions[function]}" if column == 2 else f"{name}, {functions[function]}"
            )
    names |= {row[0]: row[column] for row in JAPANESE_RELATIONS}
    return {f"label_{label}": name for label, name in names.items()}


def likely_relations(
    word: Mapping[str, Any], candidates: Mapping[str, Sequence[str]], labels: Sequence[str]
) -> list[str]:
    """The relations that the tags of a word make likely, the most likely first; none where no tag has a key.

    >>> likely_relations({"lemma": "종 을", "pos": "NNG+JKO"}, KLUE_LIKELY, KLUE_RELATIONS)
    ['NP_OBJ', 'VP_OBJ']
    """
    tags = str(word.get("pos", "")).split("+")
    morphemes = str(word.get("lemma", "")).split(" ")
    if len(morphemes) != len(tags):
        morphemes = [""] * len(tags)
    for morpheme, tag in zip(reversed(morphemes), reversed(tags), strict=True):
        parts = tag.split("-")
        starts = ["-".join(parts[:end]) for end in range(len(parts), 0, -1)]
        for key in (*(f"{morpheme}/{start}" for start in starts), *starts):
            if key in candidates:
                return [label for label in candidates[key] if label in labels]
    return []
