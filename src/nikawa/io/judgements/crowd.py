"""Task and result sheets in the style of the platforms the papers used: Yahoo! Crowdsourcing,
Lancers, SelectStar.

Result sheets are recognised by their headings, in Japanese, Korean or English, long or wide; what a
heading calls otherwise is mapped by hand. Task sheets hold the id and the texts of each item.
"""

from __future__ import annotations

import csv
import io
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nikawa.errors import BadInput, unknown
from nikawa.io.atomic import atomic_write
from nikawa.io.judgements.base import format_answer_cell
from nikawa.io.judgements.sheets import FIELDS, csv_options
from nikawa.records import Example, Judgement


@dataclass(frozen=True)
class Dialect:
    """How one platform writes its sheets."""

    name: str
    """As `write_judgements` and `nikawa agree --save-as` call it."""
    encoding: str
    separator: str
    newline: str
    headings: Mapping[str, str]
    """Field of a judgement to the heading of its column."""


def _headings(words: str) -> dict[str, str]:
    return dict(zip(FIELDS, words.split("|"), strict=True))


DIALECTS = {
    dialect.name: dialect
    for dialect in (
        Dialect(
            "yahoo",
            "utf-8",
            "\t",
            "\n",
            _headings("設問ID|ワーカーID|回答|質問|作業時間(秒)|回答日時"),
        ),
        Dialect(
            "lancers",
            "cp932",
            ",",
            "\r\n",
            _headings("タスクID|ランサーID|回答|質問|作業時間(秒)|完了日時"),
        ),
        Dialect(
            "selectstar",
            "cp949",
            ",",
            "\r\n",
            _headings("작업ID|작업자ID|응답|질문|소요시간(초)|제출일시"),
        ),
    )
}

WORDS = {
    "example": "example exampleid id itemid item taskid task pairid guid 設問id 設問 タスクid タスク 問題id 問題番号 データid 작업id 문항id 문항 데이터id 과제id",
    "worker": "worker workerid user userid annotator annotatorid username performer prolificpid prolificid participantid ワーカーid ワーカー 作業者 作業者id ランサーid ランサー 回答者 回答者id ユーザーid 작업자id 작업자 참여자id 참여자 응답자",
    "answer": "answer label response result judgement judgment choice 回答 回答内容 ラベル 判定 選択肢 응답 답변 레이블 라벨 선택",
    "question": "question questionid 質問 質問id 設問名 질문 질문id",
    "seconds": "seconds duration leadtime 作業時間 所要時間 作業秒数 소요시간 작업시간",
    "at": "at time submittedat createdat 回答日時 完了日時 提出日時 제출일시 완료일시 작업일시",
    "comment": "comment comments remark コメント 備考 의견 코멘트 비고",
    "kind": "kind",
    "prelabel": "prelabel",
}
OTHERWISE = {
    "example": "項目 項目id アイテム アイテムid 作業id 항목 항목id 아이템 아이템id",
    "answer": "判断 답 판단",
}
"""Words that may mean something else too, such as the number of a submission: they count where no
other word does."""
_KNOWN = {word: field for field, words in WORDS.items() for word in words.split()}
_OTHERWISE = {word: field for field, words in OTHERWISE.items() for word in words.split()}


def _plain_heading(heading: str) -> str:
    """A heading without case, width, units and marks."""
    plain = re.sub(r"[(\[].*?[)\]]", "", unicodedata.normalize("NFKC", heading)).casefold()
    return re.sub(r"[\s_\-.:]", "", plain)


def recognise_columns(header: Sequence[str]) -> dict[str, str] | None:
    """The map of a heading whose words are known; None where an item, an answer or a worker is not
    among them.

    >>> recognise_columns(["タスクID", "ランサーID", "回答"])
    {'example': 'タスクID', 'worker': 'ランサーID', 'answer': '回答'}
    >>> recognise_columns(["id", "回答1", "回答2"])
    {'example': 'id', 'answer': '回答*'}
    """
    mapping: dict[str, str] = {}
    for known in (_KNOWN, _OTHERWISE):
        for heading in header:
            field = known.get(_plain_heading(heading))
            if field is not None:
                mapping.setdefault(field, heading)
    if {"example", "worker", "answer"} <= mapping.keys():
        return mapping
    numbered = []  # 回答1, 回答2: a column a worker
    for heading in header:
        plain = _plain_heading(heading)
        field = _KNOWN.get(re.sub(r"\d+$", "", plain))
        if field in ("answer", "worker") and plain[-1].isdigit():
            numbered.append(heading)
    if "example" in mapping and len(numbered) > 1:
        pattern = re.sub(r"[\d０-９]+$", "", numbered[0]) + "*"
        return {"example": mapping["example"], "answer": pattern}
    return None


def find_dialect(name: str) -> Dialect:
    """A platform's way of writing sheets."""
    if name not in DIALECTS:
        raise unknown("platform", name, DIALECTS)
    return DIALECTS[name]


def write_tasks(
    path: Path, examples: Iterable[tuple[str, Example]], platform: str, *, overwrite: bool = False
) -> int:
    """A task sheet to upload: id and inputs of each example (under its full reference); returns how
    many.
    """
    dialect = find_dialect(platform)
    pairs = list(examples)
    inputs = list(dict.fromkeys(name for _, example in pairs for name in example.inputs))
    rows = []
    for name, example in pairs:
        rows.append([name, *(_cell_text(example.inputs.get(i, "")) for i in inputs)])
    return _write_rows(path, [[dialect.headings["example"], *inputs], *rows], dialect, overwrite)


def write_results(
    path: Path, judgements: Iterable[Judgement], platform: str, *, overwrite: bool = False
) -> int:
    """A result sheet as the platform would give it back, a row an answer; returns how many."""
    dialect = find_dialect(platform)
    rows = [
        [
            _cell_text(
                format_answer_cell(each.answer) if field == "answer" else getattr(each, field)
            )
            for field in FIELDS
        ]
        for each in judgements
    ]
    return _write_rows(
        path, [[dialect.headings[field] for field in FIELDS], *rows], dialect, overwrite
    )


def _cell_text(value: Any) -> str:
    if value is None:
        return ""
    return "\n".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _write_rows(
    path: Path, rows: Sequence[Sequence[str]], dialect: Dialect, overwrite: bool
) -> int:
    options = csv_options(dialect.separator)
    with atomic_write(path, overwrite=overwrite) as stream:
        for row in rows:
            buffer = io.StringIO()
            try:
                csv.writer(buffer, lineterminator=dialect.newline, **options).writerow(row)
            except csv.Error:
                what = f"a cell of {row[0]!r} contains a tab or a line break"
                raise BadInput(what, cure="use a platform with CSV sheets") from None
            text = buffer.getvalue()
            try:
                stream.write(text.encode(dialect.encoding))
            except UnicodeEncodeError as problem:
                odd = text[problem.start]
                what = f"{row[0]} contains {odd!r}, which {dialect.encoding} cannot encode"
                cure = "replace it, or use a platform with UTF-8 sheets"
                raise BadInput(what, cure=cure) from None
    return len(rows) - 1
