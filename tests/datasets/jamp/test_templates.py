from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from nikawa.datasets.jamp.templates import COLUMNS, read_templates
from nikawa.errors import BadInput

Write = Callable[..., Path]

HEADER = "\t".join(COLUMNS)
LINE = "7\tagent_1[ガ格:1] は tp_1 に vp_zi_1_past[ガ格:tp:1] 。\tagent_1 は vp_zi_1_past 。\tTrue\tFalse\tyear\tNone\t完了"


def test_a_line_becomes_a_template(write_rows: Write) -> None:
    (template,) = read_templates(write_rows(LINE, header=HEADER))
    assert template.id == 7
    assert template.hypothesis == "agent_1 は vp_zi_1_past 。"
    assert (template.entailment, template.contradiction) == ("True", "False")
    assert (template.ng_time_unit, template.test_time_format, template.category) == (
        "year",
        "None",
        "完了",
    )


@pytest.mark.parametrize(
    ("header", "lines", "says"),
    [
        (HEADER, [LINE, LINE], "line 3: template 7 was on line 2 already"),
        (HEADER, [LINE.replace("完了", "完")], "line 2: category '完' is not known; "),
        (HEADER, [LINE.replace("7\t", "七\t", 1)], "line 2: template id '七' is not a number"),
        (HEADER, [LINE.rpartition("\t")[0]], "line 2: has 7 columns, the header has 8"),
        (HEADER.replace("ng time unit", "ng"), [LINE], "line 1: column 'ng time unit' is missing"),
        (HEADER + "\tnote", [LINE + "\t"], "line 1: has a column 'note' too many"),
    ],
)
def test_what_is_refused(write_rows: Write, header: str, lines: list[str], says: str) -> None:
    path = write_rows(*lines, header=header)
    with pytest.raises(BadInput) as caught:
        read_templates(path)
    assert f"{path}, {says}" in str(caught.value)
