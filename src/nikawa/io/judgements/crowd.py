"""Task and result sheets in the style of the platforms the papers used: Yahoo! Crowdsourcing, Lancers, SelectStar.

Result sheets are recognised by their headings, in Japanese, Korean or English, long or wide; what a heading calls
otherwise is mapped by hand. Task sheets hold the id and the texts of each item.
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
from nikawa.io.judgements.columns import FIELDS
from nikawa.io.judgements.sheets import quoting
from nikawa.records import Example, Judgement


@dataclass(frozen=True)
class Dialect:
    """How one platform writes its sheets."""

    name: str
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
    "worker": "worker workerid user userid annotator annotatorid username performer ワーカーid ワーカー 作業者 作業者id ランサーid ランサー 回答者 回答者id ユーザーid 작업자id 작업자 참여자id 참여자 응답자",
    "answer": "answer label response result judgement judgment choice 回答 回答内容 ラベル 判定 選択肢 응답 답변 레이블 라벨 선택",
    "question": "question questionid 質問 質問id 設問名 질문 질문id",
    "seconds": "seconds duration leadtime 作業時間 所要時間 作業秒数 소요시간 작업시간",
    "at": "at time submittedat createdat 回答日時 完了日時 提出日時 제출일시 완료일시 작업일시",
}
OTHERWISE = {
    "example": "項目 項目id アイテム アイテムid 作業id 항목 항목id 아이템 아이템id",
    "answer": "判断 답 판단",
}
"""Words that may mean something else too, such as the number of a submission: they count where no other word does."""
_KNOWN = {word: field for field, words in WORDS.items() for word in words.split()}
_OTHERWISE = {word: field for field, words in OTHERWISE.items() for word in words.split()}


def _bare(heading: str) -> str:
    """A heading without case, width, units and marks."""
    plain = re.sub(r"[(\[].*?[)\]]", "", unicodedata.normalize("NFKC", heading)).casefold()
    return re.sub(r"[\s_\-.:]", "", plain)


def recognise(header: Sequence[str]) -> dict[str, str] | None:
    """The map of a heading whose words are known; None where an item, an answer or a worker is not among them."""
    found: dict[str, str] = {}
    for known in (_KNOWN, _OTHERWISE):
        for heading in header:
            field = known.get(_bare(heading))
            if field is not None:
                found.setdefault(field, heading)
    if {"example", "worker", "answer"} <= found.keys():
        return found
    stems = {heading: _KNOWN.get(re.sub(r"\d+$", "", _bare(heading))) for heading in header}
    wide = [
        h for h, field in stems.items() if field in ("answer", "worker") and _bare(h)[-1].isdigit()
    ]
    if "example" in found and len(wide) > 1:
        numbered = re.sub(r"[\d０-９]+$", "", wide[0]) + "*"
        return {"example": found["example"], "answer": numbered}
    return None


def dialect_of(name: str) -> Dialect:
    """A platform's way of writing sheets."""
    if name not in DIALECTS:
        raise unknown("platform", name, DIALECTS)
    return DIALECTS[name]


def write_tasks(
    path: Path, examples: Iterable[tuple[str, Example]], platform: str, *, overwrite: bool = False
) -> int:
    """A task sheet to upload: id and inputs of each example (under its full reference); returns how many."""
    dialect = dialect_of(platform)
    held = list(examples)
    inputs = list(dict.fromkeys(name for _, example in held for name in example.inputs))
    rows = [[name, *(_cell(example.inputs.get(i, "")) for i in inputs)] for name, example in held]
    return _write(path, [[dialect.headings["example"], *inputs], *rows], dialect, overwrite)


def write_results(
    path: Path, judgements: Iterable[Judgement], platform: str, *, overwrite: bool = False
) -> int:
    """A result sheet as the platform would give it back, a row an answer; returns how many."""
    dialect = dialect_of(platform)
    rows = [[_cell(getattr(judgement, field)) for field in FIELDS] for judgement in judgements]
    return _write(path, [[dialect.headings[field] for field in FIELDS], *rows], dialect, overwrite)


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return "\n".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _write(path: Path, rows: Sequence[Sequence[str]], dialect: Dialect, overwrite: bool) -> int:
    with atomic_write(path, overwrite=overwrite) as stream:
        for row in rows:
            buffer = io.StringIO()
            writer = csv.writer(
                buffer, lineterminator=dialect.newline, **quoting(dialect.separator)
            )
            try:
                writer.writerow(row)
            except csv.Error:
                cure = "take a platform whose sheets are CSV"
                raise BadInput(
                    f"a cell of {row[0]!r} holds a tab or a line break", cure=cure
                ) from None
            stream.write(_encoded(buffer.getvalue(), row[0], dialect))
    return len(rows) - 1


def _encoded(text: str, name: str, dialect: Dialect) -> bytes:
    try:
        return text.encode(dialect.encoding)
    except UnicodeEncodeError as problem:
        odd = text[problem.start]
        raise BadInput(
            f"{dialect.encoding} has no character {odd!r}, which {name} holds",
            cure="replace it, or take a platform whose sheets are UTF-8",
        ) from None
