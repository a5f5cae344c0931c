"""The guided tour: a list of small steps over the embedded data, each with the command that does
the same.

`demo` takes the steps of `STEPS` in order; `steps` holds what each of them does. A step works
alone, too: what it needs of an earlier one and does not find, it makes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from shlex import quote
from tempfile import TemporaryDirectory
from time import perf_counter

from nikawa.demo import steps
from nikawa.demo.steps import Outcome
from nikawa.errors import BadInput, MissingExtra
from nikawa.io.atomic import atomic_write
from nikawa.records import Record


class Step(Record, frozen=True):
    """One stop of the tour."""

    title: str
    """What is done, as an order."""
    why: str
    """Why a user would do this, in one sentence."""
    command: str
    """What the user would type to do the same; several commands are joined by ` && `."""
    act: Callable[..., Outcome]
    """Does it, and says what came of it."""
    writes: bool = False
    """Whether it leaves something behind: it is then called with the folder for it."""


class Done(Record, frozen=True, kw_only=True):
    """A finished step, as `nikawa demo --json` prints it."""

    title: str
    command: str
    seconds: float
    """How long it took."""
    outcome: Outcome
    """The result, or the reason why the step was skipped."""


Show = Callable[[int, Step, Outcome], None]
"""Called after each step with its number from 1, the step, and what came of it."""

MARKER = "README.txt"
"""The file by which a folder is known to be left by a tour."""
MARKER_TEXT = """\
Left by `nikawa demo`, which replaces it when it is taken again.

report/index.html   open it in a browser; it needs no network
temporal/           a generated benchmark, its test problems scrambled, and what simulated workers answered
runs/               models on it

From the folder the tour was taken in:

nikawa data show {out}/temporal
nikawa run list --out {out}/runs
nikawa run --model baseline --tasks {out}/temporal --train {out}/temporal:template-easy --out {out}/runs
nikawa analyse {out}/runs
"""

STEPS: tuple[Step, ...] = (
    Step(
        "List the tasks",
        "A task is a question about a dataset, with the metrics that score its answers.",
        "nikawa tasks demo",
        steps.list_tasks,
    ),
    Step(
        "Look at the examples",
        "Read the data before you trust a number: one example of each kind, in both languages.",
        "nikawa data show mini-ja --split dev",
        steps.show_examples,
    ),
    Step(
        "Check the data",
        "The check finds wrong shapes, repeats and leaks between splits before they reach a table.",
        "nikawa data check mini-ko",
        steps.check_data,
    ),
    Step(
        "From workers' answers to gold",
        "Judgements are always stored separately from gold, so that you can make gold again and compare workers.",
        """python -c "import nikawa.datasets as b; print(*b.read_judgements('mini-ja'), sep='\\n')\"""",
        steps.weigh_judgements,
    ),
    Step(
        "Take sentences apart",
        "Tags, perturbations and metrics use morphemes whose offsets refer to the original text.",
        """python -c "from nikawa.text import analyser; print(analyser('ja').analyse('猫が眠る。'))\"""",
        steps.analyse_sentences,
    ),
    Step(
        "Generate a benchmark from templates",
        "Labels are computed, every cell has its share, no word gives a label away, and the splits test unseen material.",
        "nikawa generate temporal-ja -n 2 --gate --split all --out my-temporal",
        steps.make_temporal,
        writes=True,
    ),
    Step(
        "Find phenomena",
        "Scores per phenomenon say more than one number. Packs of patterns tag any text.",
        "nikawa tag my-temporal:test",
        steps.count_tags,
        writes=True,
    ),
    Step(
        "Change word order and particles",
        "A model that reads particles keeps its answer when words move and changes it when particles do.",
        "nikawa perturb swap --case o mini-ja --out swapped.jsonl"
        " && nikawa perturb scramble --case o my-temporal:test --out my-temporal/scramble-o.jsonl",
        steps.perturb_pairs,
        writes=True,
    ),
    Step(
        "Ask workers about it",
        "Measure agreement with its confidence interval and make gold with a named rule before you trust a label.",
        "nikawa agree my-temporal/judgements.jsonl"
        " && nikawa aggregate my-temporal/judgements.jsonl --rule majority --out gold",
        steps.simulate_round,
        writes=True,
    ),
    Step(
        "Score answers and compare systems",
        "Get the official score with its confidence interval, and see whether a difference is significant.",
        "nikawa compare a.jsonl b.jsonl --task mini-ja-sts",
        steps.score_and_compare,
    ),
    Step(
        "Train models and read the report",
        "A custom dataset runs like a published one. The report also shows how much half of each problem gives away.",
        "nikawa run --model majority --model char-linear --model baseline --tasks my-temporal --seeds 2"
        " && nikawa run --model baseline --inputs hypothesis --tasks my-temporal --seeds 2"
        " && nikawa compare linear=a.jsonl baseline=b.jsonl --task my-temporal"
        " && nikawa report runs --out report",
        steps.train_and_report,
        writes=True,
    ),
    Step(
        "Write a copy and read it back",
        "Every stage reads and writes files; a dataset folder is a card and one file per split.",
        "nikawa data export mini-ja --to jsonl --out mini-ja-copy",
        steps.write_and_read_back,
    ),
    Step(
        "Go on from here",
        "The same commands work on the published benchmarks and on your own files.",
        "nikawa --help",
        steps.where_next,
        writes=True,
    ),
)


def demo(
    show: Show | None = None, steps: Sequence[Step] = STEPS, out: Path | None = None
) -> tuple[Done, ...]:
    """Walk through the steps, offline.

    A step whose optional packages are missing says so, and the tour continues.
    Args:
        show: called after each step; without it, nothing is shown.
        steps: the stops of the tour; all by default.
        out: the folder for what the steps leave behind: new, empty or of an earlier tour. Without it, nothing is left.

    Raises:
        BadInput: `out` is a file, or holds something else.
    """
    done = []
    if out is not None:
        cure = "choose another folder with --out DIR"
        if out.exists() and not out.is_dir():
            raise BadInput("is a file, not a folder", file=out, cure=cure)
        if out.is_dir() and any(out.iterdir()) and not (out / MARKER).is_file():
            raise BadInput("is neither empty nor left by an earlier tour", file=out, cure=cure)
        out.mkdir(parents=True, exist_ok=True)
        with atomic_write(out / MARKER, overwrite=True) as stream:
            stream.write(MARKER_TEXT.format(out=quote(str(out))).encode())
    with TemporaryDirectory(prefix="nikawa-demo-") as folder:
        for number, step in enumerate(steps, start=1):
            began = perf_counter()
            try:
                outcome = step.act(out or Path(folder)) if step.writes else step.act()
            except MissingExtra as missing:
                left_out = str(missing)
                outcome = Outcome(lines=(f"Left out: {left_out}",), figures={"left_out": left_out})
            seconds = round(perf_counter() - began, 3)
            done.append(
                Done(title=step.title, command=step.command, seconds=seconds, outcome=outcome)
            )
            if show is not None:
                show(number, step, outcome)
    return tuple(done)
