"""Gold that does not fit its item is refused, and the sheet of ties comes back whatever the inputs are called."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nikawa.aggregation.job import AggregateOptions, aggregate
from nikawa.aggregation.report import write_result
from nikawa.errors import BadInput
from nikawa.io.records import write_records
from nikawa.records import Example, Judgement

PASSAGE = "등대에는 석유등이 있다."
LAMP, LIGHTHOUSE = {"text": "석유등", "start": 5}, {"text": "등대", "start": 0}
SPAN = {"start": 0, "end": 2, "label": "LC"}
WORDS = [{"form": form} for form in PASSAGE.split()]
INPUTS: dict[str, Any] = {"context": PASSAGE, "question": "무엇이 있는가?", "words": WORDS}


def write(folder: Path, *answers: Any) -> tuple[str, AggregateOptions]:
    """One item with an answer of each worker, and options for its gold."""
    rows = [
        Judgement(example="m", worker=f"w{n}", question="answers", answer=answer)
        for n, answer in enumerate(answers)
    ]
    write_records(folder / "answers.jsonl", rows)
    write_records(folder / "items.jsonl", [Example(id="m", inputs=INPUTS)])
    options = AggregateOptions(rules=("majority",), examples=str(folder / "items.jsonl"))
    return str(folder / "answers.jsonl"), options


@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        ({**LAMP, "start": 50}, "'석유등' is not at character 50 of the passage; it is at 5"),
        ({"text": "촛불", "start": 5}, "the passage does not contain it"),
        ([{**SPAN, "end": 99}], "a span ends at character 99, and the text has 13"),
        ({"heads": [2, 0], "labels": ["a", "b"]}, "2 heads, and the item has 3 words"),
    ],
)
def test_votes_for_what_is_not_in_the_item_are_refused(
    answer: Any, fault: str, tmp_path: Path
) -> None:
    answers, options = write(tmp_path, answer, answer)
    with pytest.raises(BadInput, match=f"about 'm' make a gold that does not fit it: .*{fault}"):
        aggregate(answers, options=options)


def test_a_sheet_of_ties_comes_back_whatever_the_inputs_are_called(tmp_path: Path) -> None:
    answers, options = write(tmp_path, LAMP, LIGHTHOUSE)
    write_result(aggregate(answers, options=options), tmp_path / "gold")
    sheet = tmp_path / "gold" / "adjudicate.tsv"
    text = sheet.read_text("utf-8-sig")
    assert text.startswith("example\tquestion\tvotes\tanswer\tcontext\tinput question\t")
    for decided, gold in (("5:석유등", [LAMP]), ("4:석유등", None), ("0-99:LC", None)):
        filled = tmp_path / "filled.tsv"
        filled.write_text(text.replace("\t\t", f"\t{decided}\t", 1), "utf-8")
        decides = AggregateOptions(
            rules=options.rules, examples=options.examples, adjudicated=filled
        )
        if gold is None:
            with pytest.raises(BadInput, match=r"filled\.tsv, line 2: the decision"):
                aggregate(answers, options=decides)
        else:
            assert [
                each.answers() for each in aggregate(answers, options=decides).verdicts.values()
            ] == [[gold]]
