"""Characters, sub-words, or sub-words inside morphemes: which works best for which task (after KLUE's Section 5)?

`python -m studies.tokenizers --ja DIR --ko DIR --out DIR [--workers N]`. DIR contains three encoders of the same size and training budget, in
`characters/`, `subwords/` and `morphemes/`, as `nikawa pretrain --tokenizer …` writes them. Each is fine-tuned on three tasks of its language
with three seeds; the page is that of `nikawa report`, the table with its paired tests is in `results.md`.

Korean has a tagging task (KLUE-NER). Japanese has no tagging task with enough examples, so the study uses JSQuAD: its answer is
a span of characters, so a token that crosses the end of a word does the same harm as in tagging.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from nikawa.datasets.reader import ExampleReader
from nikawa.errors import BadInput, NikawaError
from nikawa.io.atomic import atomic_write
from nikawa.io.json import encode_json
from nikawa.records import Example, texts_inside
from nikawa.reporting.job import ReportOptions, report
from nikawa.runs.job import RunCell, RunReport, RunRequest
from studies._ends import marked, share
from studies._pairs import Contest, contests
from studies._place import Place, at_hand, place_of, said, start, tell, words
from studies._plot import PICTURE, in_order, write_differences
from studies._sizes import (
    BETWEEN,
    ENCODERS,
    SIZES,
    density,
    read_sizes,
    tokenizer_of,
    training,
    unlike,
    weights,
)
from studies._stored import shown_runs, stored_cells
from studies._tables import fewer_seeds, figures, grid_table, section, write_page

KINDS = ("characters", "subwords", "morphemes")
EPOCHS: dict[str, dict[str, float]] = {
    "ja": {"jsquad": 2, "jsick-nli": 8, "jsts": 5},
    "ko": {"klue-ner": 8, "klue-nli": 12, "klue-sts": 20},
}
TINY: dict[str, dict[str, float]] = {"ja": {"mini-ja-ner": 1}, "ko": {"mini-ko-ner": 1}}
LENGTHS = {"jsquad": 384, "klue-ner": 256}
BATCHES = {"klue-sts": 32}
"""The default is 64: this task has too few examples for it."""
RATES = {"ja": (3e-4, 6e-4), "ko": (3e-4, 6e-4, 1e-3)}
FIXED = {"jsquad": (6e-4,)}
"""No choice for a task where one run takes longer than all choices of the others."""
PAIRS = (("subwords", "morphemes"), ("characters", "morphemes"), ("characters", "subwords"))
SAMPLE = 500
"""Texts per task for counting tokens."""
SAID = """Mean ± standard deviation over seeds; one seed chose the learning rate on the set in the table of the grid. Differences are second
minus first, with their 95% interval and p-value (Welch's t over items and seeds, Holm over all {tests} tests of this page); **bold** means p is below 5%. Intervals
are not corrected: one that ends just next to zero may still be due to chance."""


def folders(given: Mapping[str, Path], tiny: bool = False) -> dict[str, dict[str, Path]]:
    """The three encoders of each language; the error for a missing one has the command that makes it."""
    made: dict[str, dict[str, Path]] = {}
    for language, place in given.items():
        made[language] = {kind: place / kind for kind in KINDS}
        for kind, folder in made[language].items():
            if not (folder / "config.json").is_file():
                steps = "--size tiny --steps 4" if tiny else "--size mini --steps 7000"
                cure = f"nikawa pretrain CORPUS --language {language} --tokenizer {kind} {steps} --out {folder}"
                raise BadInput("contains no encoder", file=folder, cure=f"make it: {cure}")
    return made


def requests(models: Mapping[str, Mapping[str, Path]], place: Place) -> list[RunRequest]:
    """Every encoder on every task of its language."""
    tasks = TINY if place.tiny else EPOCHS
    return [
        RunRequest(
            (task,),
            tuple(f"encoder:{folder}" for folder in found.values()),
            tuple(range(place.seeds)),
            {
                "epochs": tasks[language][task],
                "batch": BATCHES.get(task, 64),
                "max_length": LENGTHS.get(task, 128),
                "dropout": 0.1,
            },
            {"learning_rate": FIXED.get(task, RATES[language])},
            choose_seeds=1,
        )
        for language, found in models.items()
        for task in at_hand(tuple(tasks[language]), place)
    ]


def tell_all(place: Place) -> None:
    """The page of the runs, and the tables in Markdown."""
    encoders = read_sizes(place.out / SIZES)
    page = place.out / "report"
    title = f"Characters, sub-words, morphemes{': a trial; its figures have no meaning' if place.tiny else ''}"
    how = ReportOptions(
        place.data,
        title,
        rounds=500 if place.tiny else None,
        overwrite=page.is_dir(),
        on_progress=tell,
    )
    report(shown_runs(place.runs), page, how)
    cells = stored_cells(place.runs, place.data)
    found = contests(place.runs, [(f"encoder:{a}", f"encoder:{b}") for a, b in PAIRS], place)
    marks = {(f"encoder:{a}", f"encoder:{b}"): f"{b} - {a}" for a, b in PAIRS}
    write_differences(
        place.out / PICTURE, in_order(found, EPOCHS), marks, "Differences between kinds of tokens"
    )
    parts = [
        "# Characters, sub-words and sub-words inside morphemes",
        "This is a trial of the study with very small models. Its figures have no meaning."
        if place.tiny
        else "",
        SAID.format(tests=len(found)),
        section("Results", figures(COLUMNS, _rows(cells, found), 3)),
        fewer_seeds(cells, {f"encoder:{kind}": kind for kind in KINDS}),
        f"![Differences in points, with 95% intervals]({PICTURE})" if found else "",
        section("The encoders", figures(ENCODERS, encoders, 2)),
        BETWEEN,
        "\n".join(unlike(encoders)),
        section("The grid", grid_table(place.runs, {f"encoder:{kind}": kind for kind in KINDS})),
    ]
    write_page(place.out / "results.md", parts)
    tell(f"{place.out / 'results.md'}\n{page / 'index.html'}")


COLUMNS = ("task", "metric", "set", "n", *KINDS, *(f"{b} - {a}" for a, b in PAIRS))


def _rows(cells: Sequence[RunCell], found: Sequence[Contest]) -> Iterator[list[Any]]:
    rows: dict[tuple[str, str, str], dict[str, RunCell]] = {}
    for cell in cells:
        if not cell.where:
            rows.setdefault((cell.task, cell.metric, cell.set), {})[cell.model] = cell
    tests = {(c.task, c.metric, c.set, c.first, c.second): c for c in found}
    for key, row in rows.items():
        first = next(iter(row.values()))
        where = f"{first.set}{f' ({first.protocol})' if first.protocol else ''}"
        held = [row.get(f"encoder:{kind}") for kind in KINDS]
        yield [
            key[0],
            key[1],
            where,
            first.n,
            *held,
            *(tests.get((*key, f"encoder:{a}", f"encoder:{b}")) for a, b in PAIRS),
        ]


def _keep_sizes(models: Mapping[str, Mapping[str, Path]], place: Place) -> list[str]:
    """Store the descriptions of the encoders; return their differences."""
    path = place.out / SIZES
    others = [row for row in read_sizes(path) if row[0] not in models] if path.is_file() else []
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = [*others, *_sizes(models, place)]
    with atomic_write(path, overwrite=True) as file:
        file.write(encode_json(rows))
    return unlike(rows)


def _sizes(models: Mapping[str, Mapping[str, Path]], place: Place) -> Iterator[list[Any]]:
    """The vocabulary and the weights of each encoder, its tokens on the texts of its tasks, and its training."""
    for language, found in models.items():
        sets = _sets(language, place)
        texts = [
            text for examples in sets for e in examples[:SAMPLE] for text in texts_inside(e.inputs)
        ]
        answers = marked([example for examples in sets for example in examples])
        for kind, folder in found.items():
            tokenizer = tokenizer_of(folder)
            between = share(tokenizer, answers)
            at_ends = "" if between is None else f"{100 * between:.1f}%"
            yield [
                language,
                kind,
                len(tokenizer),
                weights(folder),
                density(tokenizer, texts),
                *training(folder),
                at_ends,
            ]


def _sets(language: str, place: Place) -> list[Sequence[Example]]:
    """The set of each task that encoders learn from."""
    from nikawa.datasets import tasks

    reader, found = ExampleReader(place.data), list[Sequence[Example]]()
    for name in at_hand(tuple((TINY if place.tiny else EPOCHS)[language]), place):
        dataset = tasks()[name].dataset
        split = next(s for s in ("train", "dev") if s in reader.splits(dataset))
        found.append(reader.all_examples(f"{dataset}:{split}"))
    return found


def main(given: Sequence[str] | None = None) -> int:
    """Run the study; returns 0 when all of it is done, 1 when some runs are not, 2 for bad input."""
    options = words(__doc__ or "", 3)
    options.add_argument("--ja", type=Path, help="folder with three Japanese encoders")
    options.add_argument("--ko", type=Path, help="folder with three Korean encoders")
    asked = options.parse_args(given)
    place, given_ = place_of(asked), {k: v for k, v in (("ja", asked.ja), ("ko", asked.ko)) if v}
    kept = "train" not in place.parts and (place.out / SIZES).is_file()
    if not given_ and not kept:
        return said(
            BadInput(
                "no encoder is named", cure="pass --ja DIR or --ko DIR with three encoders each"
            )
        )
    try:
        if not kept:
            models = folders(given_, place.tiny)
            for line in _keep_sizes(models, place):
                tell(line)
        done: RunReport | None = (
            start(requests(models, place), place) if "train" in place.parts else None
        )
        if "report" in place.parts:
            tell_all(place)
    except NikawaError as problem:
        return said(problem)
    return 1 if done is not None and done.problems else 0


if __name__ == "__main__":
    raise SystemExit(main())
