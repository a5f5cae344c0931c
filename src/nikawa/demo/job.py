"""The guided tour: a list of small steps over the embedded data, each with the command that does the same."""

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


class Step(Record, frozen=True, kw_only=True):
    """One stop of the tour."""

    title: str
    why: str
    """What a user gains by it, in one sentence."""
    command: str
    """What the user would type to do the same."""
    act: Callable[..., Outcome]
    writes: bool = False
    """Whether it leaves something behind: it is then called with the folder for it."""


class Done(Record, frozen=True, kw_only=True):
    """A step that was taken, as the summary tells it."""

    title: str
    command: str
    seconds: float
    outcome: Outcome


Show = Callable[[int, Step, Outcome], None]
"""Called after each step with its number from 1, the step, and what came of it."""

MARKER = "README.txt"
LEFT = """\
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
        title="See what can be asked",
        why="A task is a question asked of a dataset, with the metrics its answers are scored by.",
        command="nikawa tasks demo",
        act=steps.list_tasks,
    ),
    Step(
        title="Look at the examples",
        why="Read the data before you trust a number: one example of each kind, in both languages.",
        command="nikawa data show mini-ja --split dev",
        act=steps.show_examples,
    ),
    Step(
        title="Check the data",
        why="Faults of shape, repeats, leaks between splits: found before they find their way into a table.",
        command="nikawa data check mini-ko",
        act=steps.check_data,
    ),
    Step(
        title="From workers' answers to gold",
        why="Judgements are kept apart from gold for ever, so that gold can be made again and workers compared.",
        command="""python -c "import nikawa.datasets as b; print(*b.read_judgements('mini-ja'), sep='\\n')\"""",
        act=steps.weigh_judgements,
    ),
    Step(
        title="Take sentences apart",
        why="Tags, perturbations and metrics rest on morphemes whose offsets point into the original text.",
        command="""python -c "from nikawa.text import analyser; print(analyser('ja').analyse('猫が眠る。'))\"""",
        act=steps.analyse_sentences,
    ),
    Step(
        title="Generate a benchmark from templates",
        why="Labels are computed, every cell has its share, no word gives a label away, splits test what was not seen.",
        command="nikawa generate temporal-ja -n 2 --gate --split all --out my-temporal",
        act=steps.make_temporal,
        writes=True,
    ),
    Step(
        title="Find phenomena",
        why="A score by phenomenon says more than one number: packs of patterns tag any text.",
        command="nikawa tag my-temporal:test",
        act=steps.count_tags,
        writes=True,
    ),
    Step(
        title="Change word order and particles",
        why="A model that reads particles keeps its answer when words move and changes it when particles do.",
        command="nikawa perturb swap --case o mini-ja --out swapped.jsonl"
        " && nikawa perturb scramble --case o my-temporal:test --out my-temporal/scramble-o.jsonl",
        act=steps.perturb_pairs,
        writes=True,
    ),
    Step(
        title="Ask workers about it",
        why="Agreement with its interval, and gold by a named rule, before anyone trusts a label.",
        command="nikawa agree my-temporal/judgements.jsonl"
        " && nikawa aggregate my-temporal/judgements.jsonl --rule majority --out gold",
        act=steps.simulate_round,
        writes=True,
    ),
    Step(
        title="Score answers and compare systems",
        why="The official number with its interval, and whether a difference is more than chance.",
        command="nikawa compare a.jsonl b.jsonl --task mini-ja-sts",
        act=steps.score_and_compare,
    ),
    Step(
        title="Train models and read the report",
        why="A dataset of your own is run like a published one; what half of each problem gives away is told beside it.",
        command="nikawa run --model majority --model char-linear --model baseline --tasks my-temporal --seeds 2"
        " && nikawa run --model baseline --inputs hypothesis --tasks my-temporal --seeds 2"
        " && nikawa compare linear=a.jsonl baseline=b.jsonl --task my-temporal"
        " && nikawa report runs --out report",
        act=steps.train_and_report,
        writes=True,
    ),
    Step(
        title="Write a copy and read it back",
        why="Every stage starts from a file and ends in one; a dataset folder is a card and one file a split.",
        command="nikawa data export mini-ja --to jsonl --out mini-ja-copy",
        act=steps.write_and_read_back,
    ),
    Step(
        title="Go on from here",
        why="The same commands work on the published benchmarks and on your own files.",
        command="nikawa --help",
        act=steps.where_next,
        writes=True,
    ),
)


def demo(
    show: Show | None = None, steps: Sequence[Step] = STEPS, out: Path | None = None
) -> tuple[Done, ...]:
    """Walk through the steps, offline; a step whose optional packages are missing says so and the tour goes on.

    What a step leaves behind goes into `out`, which must be new, empty or of an earlier tour; without it, nothing is left.
    """
    done = []
    if out is not None:
        if out.exists() and not out.is_dir():
            raise BadInput(
                "is a file, not a folder", file=out, cure="choose another folder: --out DIR"
            )
        if out.is_dir() and any(out.iterdir()) and not (out / MARKER).is_file():
            cure = "choose another folder: --out DIR"
            raise BadInput("is neither empty nor left by an earlier tour", file=out, cure=cure)
        out.mkdir(parents=True, exist_ok=True)
        with atomic_write(out / MARKER, overwrite=True) as stream:
            stream.write(LEFT.format(out=quote(str(out))).encode())
    with TemporaryDirectory(prefix="nikawa-demo-") as folder:
        for number, step in enumerate(steps, start=1):
            began = perf_counter()
            outcome = _taken(step, out or Path(folder))
            seconds = round(perf_counter() - began, 3)
            done.append(
                Done(title=step.title, command=step.command, seconds=seconds, outcome=outcome)
            )
            if show is not None:
                show(number, step, outcome)
    return tuple(done)


def _taken(step: Step, out: Path) -> Outcome:
    try:
        return step.act(out) if step.writes else step.act()
    except MissingExtra as missing:
        return Outcome(lines=(f"Left out: {missing}",), figures={"left_out": str(missing)})
