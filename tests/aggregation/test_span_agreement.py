"""Agreement about spans against its definition, written out a character and a pair at a time."""

from __future__ import annotations

from itertools import combinations, permutations
from random import Random

import pytest

from nikawa.aggregation.alpha import alpha
from nikawa.aggregation.measure import SummedMeasure
from nikawa.aggregation.span_agreement import count_overlapping, span_measures
from nikawa.aggregation.spans import (
    Marks,
    count_equal,
    count_spans_by_label,
    freeze_spans,
    holds_spans,
)
from nikawa.aggregation.table import Table
from nikawa.errors import BadInput
from nikawa.records import Judgement

LONG = 30


def invented(seed: int, items: int = 12) -> dict[str, dict[str, Marks]]:
    """Spans of two to four workers an item, which do not overlap within an answer."""
    random = Random(seed)
    found: dict[str, dict[str, Marks]] = {}
    for item in range(items):
        for worker in random.sample("abcd", random.choice((2, 3, 4))):
            edges = sorted(random.sample(range(LONG + 1), 2 * random.randrange(4)))
            marks = tuple(
                (start, end, random.choice(("PS", "LC")))
                for start, end in zip(edges[::2], edges[1::2], strict=True)
            )
            found.setdefault(f"i{item}", {})[worker] = marks
    return found


def table_of(given: dict[str, dict[str, Marks]]) -> Table:
    cells = [
        Judgement(
            example=item,
            worker=worker,
            question="spans",
            answer=[{"start": s, "end": e, "label": name} for s, e, name in reversed(marks)],
        )
        for item, by_worker in given.items()
        for worker, marks in by_worker.items()
    ]
    return Table.from_judgements(freeze_spans(cells, "spans"))


def measures(table: Table, length: int | None = LONG) -> dict[str, SummedMeasure]:
    lengths = None if length is None else dict.fromkeys(table.items, length)
    return {measure.name: measure for measure in span_measures(table, lengths)}


def most_pairs(one: Marks, other: Marks) -> int:
    """The most spans that can be paired, every way tried."""
    few, many = sorted((one, other), key=len)
    return max(
        sum(a[2] == b[2] and a[0] < b[1] and b[0] < a[1] for a, b in zip(few, chosen, strict=True))
        for chosen in permutations(many, len(few))
    )


@pytest.mark.parametrize("seed", range(4))
def test_alpha_is_that_of_a_table_with_a_row_a_character(seed: int) -> None:
    given = invented(seed)
    rows = [
        (f"{item}/{place}", worker, next((m[2] for m in marks if m[0] <= place < m[1]), "none"))
        for item, by_worker in given.items()
        for worker, marks in by_worker.items()
        for place in range(LONG)
    ]
    items, workers, answers = (list(column) for column in zip(*rows, strict=True))
    whole = alpha(Table.from_columns(items, workers, answers)).value
    assert measures(table_of(given))["alpha-characters"].value == pytest.approx(whole, abs=1e-12)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", ["span-f1", "span-f1-overlap"])
def test_f1_is_summed_over_pairs_of_workers(seed: int, name: str) -> None:
    given, top, bottom = invented(seed), 0.0, 0.0
    for by_worker in given.values():
        for one, other in combinations(by_worker.values(), 2):
            shared = len(set(one) & set(other)) if name == "span-f1" else most_pairs(one, other)
            top += 2 * shared / (len(by_worker) - 1)
            bottom += (len(one) + len(other)) / (len(by_worker) - 1)
    assert measures(table_of(given))[name].value == pytest.approx(top / bottom)


def test_two_workers_have_the_f1_that_papers_print() -> None:
    gold = {"1": ((0, 3, "PS"), (5, 8, "LC")), "2": ((1, 4, "PS"),)}
    other = {"1": ((0, 3, "PS"), (5, 7, "LC")), "2": ((1, 4, "LC"), (6, 7, "PS"))}
    found = measures(table_of({item: {"a": gold[item], "b": other[item]} for item in gold}))
    precision, recall = 1 / 4, 1 / 3
    assert found["span-f1"].value == pytest.approx(2 * precision * recall / (precision + recall))
    assert found["span-f1-overlap"].value == pytest.approx(4 / 7)


def test_adjacent_spans_do_not_overlap_and_one_is_matched_once() -> None:
    assert count_overlapping(((0, 3, ""),), ((3, 5, ""),)) == 0
    assert count_overlapping(((0, 9, ""),), ((0, 3, ""), (4, 6, ""))) == 1
    assert count_overlapping(((0, 3, "PS"), (4, 6, "LC")), ((2, 5, "LC"),)) == 1
    assert count_equal(((0, 3, "PS"),), ((0, 3, "LC"),)) == 0


def test_resamples_draw_whole_items() -> None:
    table = table_of(invented(1))
    first = [1.0] * 6 + [0.0] * 6
    half = table_of({item: found for item, found in invented(1).items() if int(item[1:]) < 6})
    for name, measure in measures(table).items():
        assert measure.under(first) == pytest.approx(measures(half)[name].value)  # type: ignore[arg-type]


def test_spans_that_overlap_within_an_answer() -> None:
    nested = {"1": {"a": ((0, 6, "PS"), (2, 4, "LC")), "b": ((0, 6, "PS"),)}}
    rows = [
        (c, w, "both" if w == "a" and 2 <= c < 4 else "PS" if c < 6 else "")
        for w in "ab"
        for c in range(8)
    ]
    places, workers, answers = (list(column) for column in zip(*rows, strict=True))
    whole = alpha(Table.from_columns(places, workers, answers)).value
    assert measures(table_of(nested), 8)["alpha-characters"].value == pytest.approx(whole)


def test_no_alpha_without_the_texts_and_no_f1_without_spans() -> None:
    assert set(measures(table_of(invented(1)), None)) == {"span-f1", "span-f1-overlap"}
    none = table_of({"1": {"a": (), "b": ()}})
    assert holds_spans(none)
    assert all(str(measure.value) == "nan" for measure in measures(none).values())


def test_spans_are_counted_by_label_and_repeats_once() -> None:
    twice = {"start": 0, "end": 2, "label": "PS"}
    answers = [[twice, twice], twice, [{"start": 4, "end": 5}]]
    said = [
        Judgement(example="1", worker=str(n), question="q", answer=a) for n, a in enumerate(answers)
    ]
    table = Table.from_judgements(freeze_spans(said, None))
    assert table.categories == (((0, 2, "PS"),), ((4, 5, ""),))
    assert count_spans_by_label(table) == {"": 1, "PS": 2}


@pytest.mark.parametrize(
    ("start", "end"), [(3, 3), (-1, 2), ("0", 2), (True, 2), (0, None)], ids=repr
)
def test_a_span_that_is_none_is_refused(start: object, end: object) -> None:
    said = [Judgement(example="7", worker="ann", question="q", answer={"start": start, "end": end})]
    with pytest.raises(BadInput, match=r"worker ann marks characters .* of 7; a span starts at 0"):
        list(freeze_spans(said, "q"))


def test_a_span_beyond_its_text_is_refused() -> None:
    with pytest.raises(BadInput, match="ends at character 9 of 1, whose text has 8"):
        measures(table_of({"1": {"a": ((0, 9, "PS"),), "b": ()}}), 8)


def test_spans_beside_labels_are_refused_and_other_questions_left_alone() -> None:
    span, words = [{"start": 0, "end": 1}], ["x"]
    said = [
        Judgement(example="1", worker="a", question="q", answer=span),
        Judgement(example="1", worker="b", question="q", answer="none"),
        Judgement(example="1", worker="b", question="other", answer=words),
    ]
    read = list(freeze_spans(said, "q"))
    assert [judgement.answer for judgement in read] == [((0, 1, ""),), "none", words]
    with pytest.raises(BadInput, match="some answers to 'q' are spans, some are not"):
        holds_spans(Table.from_judgements(read, "q"))
