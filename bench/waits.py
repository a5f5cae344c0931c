"""What users wait for: CPU seconds and peak memory of everyday jobs, of the start of every verb, and of every command of the docs.

    python -m bench.waits [everyday] [starts] [docs] [--against PATH] [--only REGEX] [--slowest 30] [--workers 1] [--keep DIR]

- `everyday`: jobs on the published data (`../shared/data`, or `NIKAWA_SHARED`), and on invented data of that size where it is absent.
- `starts`: `nikawa VERB --help` of each verb: what a user waits for before the work begins.
- `docs`: the commands of README.md and of each page of docs/, from top to bottom in a folder per page, with the files that the tests of the
  page prepare. What cannot run without a network, a GPU, a server or a person is listed with the reason.

`make bench` measures the `starts` alone. `--workers` runs that many folders at a time, which moves CPU seconds little. The exit status is 1
if a job failed or took longer than its limit, and each such job is listed.

A job is a line for the shell. Its CPU seconds and its peak memory are those of the shell's child and all that it started, as the system
counts them; the memory is that of the largest process. The start of its verb is shown apart and is part of the seconds.
`--against` names another checkout: each job runs there first and then here, and the outputs are compared byte by byte.
BLAS and torch have one thread, since the number of threads moves last digits and threads that wait for each other take seconds too.
"""

from __future__ import annotations

import argparse
import filecmp
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from doctest import DocTestParser
from pathlib import Path

from bench.start import shared

ROOT = Path(__file__).parents[1]
PARTS = ("everyday", "starts", "docs")
STARTS = 3
"""Rounds of `--help`; the least counts."""
MAX_SECONDS = 1800
"""Seconds by the clock after which a job is ended."""
TIMED_OUT = 124
"""The status of such a job."""
NOT_PREPARED = -1
"""The status of a job whose files could not be written."""
LEARNS = re.compile(
    r"nikawa (run (?!list|models|remove)|pretrain (?!.*--only text)|demo|board demo|split .*least-artifact|probe memory)"
    r"|studies|baseline-sweep|judge .*lm:"
)
"""Commands that learn or run models."""
LEARNS_IN_CODE = re.compile(r"\bpretrain\(|from_pretrained|[\"'](lm|encoder):")
"""The same in a block of Python."""
SKIPPED = {
    "installs or sets up the environment": r"^(make|pip|source|python3 -m venv|export|docker|sudo|git|sbatch|aws|hf|pg_)\b",
    "needs a network": r"data fetch|https://|s3://|encoder:(tohoku-nlp|nlp-waseda|FacebookAI|bert-|NAME)|bertscore:",
    "needs the runs of a command that needs a network": r"^encoder: nikawa (run list|analyse sick-)",
    "serves until it is stopped": r" serve\b|(collect|board) demo$",
    "needs a server that somebody started": r"http://|board submit|^collect: python",
    "needs the answers of a chat model": r"^clean: nikawa (collect (new|export) review|aggregate decisions)",
    "needs a cluster": r"--executor ray",
    "needs a password from a terminal": r"(board|collect) password",
    "needs another release of the data": r" --versions\b",
    "needs an own module": r"--set head=first-text",
    "runs all of this or the models of a study": r"nikawa demo$|-m (bench|studies|pytest|tests)",
    "learns from all published data, which takes hours": r"--tasks jglue,klue,jsick,jamp --model majority",
}
"""Why a command of the docs is left out, to what its page and its line have; the first that fits."""
PUBLISHED = r"(jglue|jnli|jsts|jsquad|jcommonsenseqa|jcola|jsick[\w-]*|klue[\w-]*|ynat|jamp:\w+)(?!\w|\.toml)"
"""Names of published data."""
PageCommand = tuple[str, str, list[tuple[str, str, bool]], list[int]]
"""A page, a line, the files that the page shows before it, and the steps before it."""
CLOCK = re.compile(
    rb"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|\+00:00)?|\d+(\.\d+)? ?(s|ms|min)\b"
)
"""Times of the clock and durations in an output, which differ from run to run."""


@dataclass(frozen=True)
class Job:
    """A line for the shell; jobs of one folder run in order in it."""

    part: str
    name: str
    line: str
    folder: str
    files: tuple[tuple[str, str, bool], ...] = ()
    """Files that the page shows before the command, their texts, and whether they are added to a file."""
    steps: tuple[int, ...] = ()
    """Steps of `tests.docs.page_steps` before the command."""

    @property
    def is_judged(self) -> bool:
        """Whether its status may be 1, as of a check that finds something; a script has to end well."""
        return self.line.startswith("nikawa ") or " nikawa " in self.line

    @property
    def runs_models(self) -> bool:
        """Whether it learns or runs models, which takes the time that models take."""
        return bool(LEARNS.search(self.line) or LEARNS_IN_CODE.search(self.code))

    @property
    def code(self) -> str:
        """The block of Python that the line runs, or nothing."""
        return "".join(text for name, text, _ in self.files if self.line == f"python {name}")

    @property
    def verb(self) -> str:
        """The first verb of Nikawa in the line, or nothing."""
        found = re.search(r"\bnikawa ([a-z]+)", self.line)
        return found[1] if found else ""


@dataclass(frozen=True)
class Cost:
    """What a job took."""

    seconds: float
    megabytes: float
    status: int
    output: Path
    error: str
    is_traceback: bool = False


def list_everyday(inputs: Path) -> list[Job]:
    """Jobs on the published data, or on the invented data that replaces it."""
    jobs: list[tuple[str, str]] = []
    for runs in sorted((inputs / "runs").iterdir()):
        answers = f"../../inputs/answers/{runs.name}"
        spec = runs.name if shared().is_dir() else f"../../inputs/{runs.name}"
        here = f"../../inputs/runs/{runs.name}"
        paths = [
            f"{answers}/{path.name}" for path in sorted((inputs / "answers" / runs.name).iterdir())
        ]
        many, three = " ".join(paths), " ".join(paths[:3])
        jobs += [
            (f"report, 8 systems, {runs.name}", f"nikawa report {here} --out page"),
            (f"analyse, 8 systems, {runs.name}", f"nikawa analyse {here} --out analyses --json"),
            (f"compare, 10 systems, {runs.name}", f"nikawa compare {many} --task {spec} --json"),
            (f"compare, 3 systems, {runs.name}", f"nikawa compare {three} --task {spec} --json"),
            (f"score, {runs.name}", f"nikawa score {spec} {answers}/q0.80.jsonl --json"),
            (f"score, 10 files, {runs.name}", f"nikawa score {spec} {many} --as csv"),
        ]
    if shared().is_dir():
        jobs += list_published()
    for name in sorted(path.name for path in (inputs / "recipes").iterdir()):
        config = f"../../inputs/recipes/{name}/config.toml"
        jobs.append(
            (f"build {name}", f"nikawa build {name} --config {config} --out out --simulate 3")
        )
    text = "../../inputs/text.txt"
    jobs += [
        ("clean, 20,000 sentences", f"nikawa clean {text} --language ja --out kept.jsonl --removed removed.jsonl"),
        ("pair greedy, 20,000 sentences", f"nikawa pair greedy {text} --units characters --out pairs.jsonl"),
        ("generate temporal-ja", "nikawa generate temporal-ja -n 100 --seed 1 --out set"),
        ("data list", "nikawa data list"),
        ("tasks", "nikawa tasks"),
        ("agree, 15,000 judgements, page", "nikawa agree ../../inputs/judgements.jsonl --page page"),
        ("aggregate dawid-skene, 15,000 judgements",
         "nikawa aggregate ../../inputs/judgements.jsonl --rule dawid-skene --out gold"),
    ]  # fmt: skip
    listed = [Job("everyday", name, line, name) for name, line in jobs]
    project = [
        ("collect new, 5,000 items",
         "nikawa collect new project --examples ../../inputs/items.jsonl --form inference --set naturalness=false"),
        ("collect import, 15,000 judgements", "nikawa collect import project ../../inputs/judgements.jsonl"),
        ("collect status", "nikawa collect status project"),
        ("collect export", "nikawa collect export project --out judgements.jsonl"),
        ("collect export, pseudonyms", "nikawa collect export project --out hidden.csv --pseudonymise"),
        ("collect export, decisions", "nikawa collect export project --to decisions --out decided.tsv"),
        ("collect export, Label Studio", "nikawa collect export project --to label-studio --out tasks.json"),
    ]  # fmt: skip
    return listed + [Job("everyday", name, line, "project") for name, line in project]


def list_published() -> list[tuple[str, str]]:
    """Jobs that need the published data."""
    checks = ("jnli", "jsts", "jsquad", "jcommonsenseqa", "jcola", "jsick", "jamp", "jsem")
    korean = ("klue-nli", "klue-sts", "klue-ner", "klue-re", "klue-mrc", "klue-dp", "ynat", "wos")
    papers = ("jglue", "klue", "jsick", "jamp")
    pages = ("jsick", "klue-nli", "klue-sts")
    return [
        *((f"data check {name}", f"nikawa data check {name} --json") for name in (*checks, *korean)),
        *((f"reproduce {name}", f"nikawa reproduce {name} --json") for name in papers),
        *((f"agree {name}, page", f"nikawa agree {name} --page page") for name in pages),
        ("aggregate klue-nli", "nikawa aggregate klue-nli --rule majority --out gold"),
        ("probe artifacts jsick", "nikawa probe artifacts jsick --json"),
        ("probe giveaways jsick", "nikawa probe giveaways jsick --json"),
        ("probe giveaways klue-nli", "nikawa probe giveaways klue-nli --json"),
        ("perturb particles jsick", "nikawa perturb particles jsick:test --out sets"),
        ("tag jsick", "nikawa tag jsick --json"),
        ("split jsick, stratified groups", "nikawa split jsick --by stratified-groups --out parts"),
        ("export jsick", "nikawa data export jsick --to hf --out out"),
        ("data show jglue", "nikawa data show jsquad:dev -n 3"),
        ("data shift jsick", "nikawa data shift jsick jsick"),
        ("templates check jamp", "nikawa templates check jamp"),
        ("templates audit jamp", "nikawa templates audit jamp jamp:train"),
        ("lexicon build", "nikawa lexicon build ../../inputs/text.txt --out lexicon --licence CC0"),
    ]  # fmt: skip


def list_starts() -> list[Job]:
    """The help of Nikawa and of each verb."""
    verbs = sorted(path.stem for path in (ROOT / "src" / "nikawa" / "cli").glob("[a-z]*.py"))
    lines = ["nikawa --help", *(f"nikawa {verb} --help" for verb in verbs)]
    return [Job("starts", line, line, "start") for line in ("python -c 'import nikawa'", *lines)]


def list_docs() -> list[Job]:
    """The commands of the pages, in a process of its own, since the tests' code loads much."""
    code = "import json; from bench.waits import read_pages; print(json.dumps(read_pages()))"
    done = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, cwd=ROOT
    )
    return [
        Job("docs", f"{page}.md: {line}", line, page, tuple(map(tuple, files)), tuple(steps))
        for page, line, files, steps in json.loads(done.stdout)
    ]


@dataclass
class _Page:
    """The commands of a page so far, and the files and the Python to come."""

    name: str
    commands: list[PageCommand]
    files: list[tuple[str, str, bool]]
    script: list[str]

    def add(self, line: str) -> None:
        from tests.docs.page_steps import EDITS, find_steps

        for old, new in EDITS.get(self.name, ()):
            line = line.replace(old, new)
        steps = find_steps(self.name, line, not self.commands)
        self.commands.append((self.name, line, self.files, steps))
        self.files = []

    def end_script(self) -> None:
        """Python blocks with no command between them are one script, as a reader's session."""
        if self.script:
            name = f"block{len(self.commands)}.py"
            self.files.append((name, "\n".join(self.script), False))
            self.script = []
            self.add(f"python {name}")


def read_pages() -> list[PageCommand]:
    """The pages' commands and their Python blocks, each with the files to save before it and the steps to take."""
    from tests.docs.page_blocks import read_blocks, read_commands

    commands: list[PageCommand] = []
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))):
        page = _Page(path.stem, [], [], [])
        for block in read_blocks(path.read_text("utf-8")):
            if "." in block.file:
                page.files.append((block.file, block.text, block.is_added))
            elif block.language == "python":
                page.script.append(_read_script(block.text))
            elif block.language in {"sh", "console"}:
                page.end_script()
                for line, _ in read_commands(block):
                    page.add(re.sub(r" +# .*", "", line).rstrip())
        page.end_script()
        commands += page.commands
    return commands


def _read_script(text: str) -> str:
    """The code of a block, which may be a session with its output."""
    if text.startswith(">>>"):
        return "".join(example.source for example in DocTestParser().get_examples(text))
    return text


def explain_skip(job: Job) -> str:
    """Why a job is left out, or nothing."""
    if job.part != "docs":
        found = re.fullmatch(r"data check (klue-\w+|ynat|wos)", job.name)
        files = shared().glob(f"klue/klue_benchmark/{found[1]}-*/*dev*") if found else ()
        return "needs data that is not here" if found and not list(files) else ""
    named = f"{job.folder}: {job.line}"
    if "fetch(" in job.code:
        return "needs a network"
    for reason, pattern in SKIPPED.items():
        if re.search(pattern, named) or re.search(pattern, job.line):
            return reason
    if not shared().is_dir() and needs_published(job):
        return "needs the published data"
    return ""


def needs_published(job: Job) -> bool:
    """Whether a command reads published data; a recipe or an item of a lineage may have the same name."""
    line = re.sub(r"(build|lineage) \S+", "", job.line)
    calls = rf"(load(_task)?|read_judgements|shift|agree|check)\(\s*[\"']{PUBLISHED}"
    return bool(re.search(rf"reproduce |(?<![\w-]){PUBLISHED}", line) or re.search(calls, job.code))


def run_job(job: Job, tree: Path, folder: Path, log: Path) -> Cost:
    """Run a job in its folder by the code of a tree."""
    folder.mkdir(parents=True, exist_ok=True)
    environment = os.environ | {
        "PYTHONPATH": str(tree / "src"),
        "PATH": f"{_write_shims(log.parent)}:{os.environ['PATH']}",
        "OPENBLAS_NUM_THREADS": "1",
        "OMP_NUM_THREADS": "1",
        "COLUMNS": "200",
        "NO_COLOR": "1",
        "HF_HUB_OFFLINE": "1",
        "PYTHONDONTWRITEBYTECODE": "",
    }
    if shared().is_dir():
        environment["NIKAWA_DATA"] = str(shared())
    trouble = prepare_job(job, folder, environment)
    if trouble:
        return Cost(0.0, 0.0, NOT_PREPARED, log, trouble)
    with log.open("wb") as out, log.with_suffix(".err").open("wb") as err:
        process = subprocess.Popen(
            ["timeout", str(MAX_SECONDS), "bash", "-c", job.line],
            cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=out, stderr=err,
        )  # fmt: skip
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    error = log.with_suffix(".err").read_text("utf-8", errors="replace").strip().splitlines()
    return Cost(
        used.ru_utime + used.ru_stime,
        used.ru_maxrss / 1024,
        process.returncode,
        log,
        error[-1] if error else "",
        any(line.startswith("Traceback ") for line in error),
    )


def prepare_job(job: Job, folder: Path, environment: dict[str, str]) -> str:
    """Write the files of the page and take its steps; what went wrong, or nothing."""
    from tests.docs.page_blocks import Block, save

    for name, text, is_added in job.files:
        save(Block("", name, text, is_added), folder)
    for number in job.steps:
        words = ["-m", "tests.docs.page_steps", job.folder, str(number), str(folder)]
        paths = os.pathsep.join((environment["PYTHONPATH"], str(ROOT)))
        done = subprocess.run(
            [sys.executable, *words], cwd=folder, env={**environment, "PYTHONPATH": paths},
            stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode:
            return f"its preparation: {(done.stderr.strip().splitlines() or ['failed'])[-1]}"
    return ""


def _write_shims(folder: Path) -> Path:
    """Commands `nikawa` and `python` of this environment."""
    place = folder / "bin"
    if not place.is_dir():
        place.mkdir()
        for name, words in (("nikawa", " -m nikawa"), ("python", "")):
            shim = place / name
            shim.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)}{words} "$@"\n')
            shim.chmod(0o755)
    return place


def find_differences(one: Path, other: Path) -> list[str]:
    """Files of two folders that are not the same but for times of the clock."""
    names = sorted(
        {p.relative_to(top) for top in (one, other) for p in top.rglob("*") if p.is_file()}
    )
    return [str(name) for name in names if not _is_same(one / name, other / name)]


def _is_same(one: Path, other: Path) -> bool:
    if not (one.is_file() and other.is_file()):
        return False
    if filecmp.cmp(one, other, shallow=False):
        return True
    return CLOCK.sub(b"", one.read_bytes()) == CLOCK.sub(b"", other.read_bytes())


@dataclass
class Row:
    """A job with its cost here and, if asked for, in the other tree."""

    job: Job
    now: Cost
    former: Cost | None = None
    differing: Sequence[str] = ()

    @property
    def has_ended_well(self) -> bool:
        """Whether the status is 0, or 1 of a command that judges, such as a check that finds something."""
        judged = self.now.status == 1 and self.job.is_judged and not self.now.is_traceback
        return self.now.status == 0 or judged


def leave_out(jobs: Iterable[Job]) -> tuple[list[Job], list[tuple[Job, str]]]:
    """The jobs that can run, and the others with the reason; what the page shows before those is there for the next command."""
    kept: list[Job] = []
    left: list[tuple[Job, str]] = []
    waiting: dict[str, Job] = {}
    for found in jobs:
        before = waiting.pop(found.folder, None) if found.part == "docs" else None
        files, steps = (before.files, before.steps) if before else ((), ())
        job = replace(found, files=files + found.files, steps=steps + found.steps)
        reason = explain_skip(job)
        if reason:
            left.append((job, reason))
            waiting[job.folder] = job
        else:
            kept.append(job)
    return kept, left


def measure(
    jobs: Iterable[Job], trees: dict[str, Path], folder: Path, workers: int = 1
) -> list[Row]:
    """Run each job once by each tree, the starts several times; the jobs of a folder one after the other."""
    groups: dict[tuple[str, str], list[tuple[int, Job]]] = {}
    for number, job in enumerate(jobs):
        groups.setdefault((job.part, job.folder), []).append((number, job))
    for name in trees:
        (folder / name).mkdir(exist_ok=True)
        _write_shims(folder / name)

    def work(group: list[tuple[int, Job]]) -> list[tuple[int, Row]]:
        return [(number, _measure_job(number, job, trees, folder)) for number, job in group]

    with ThreadPoolExecutor(workers) as pool:
        found = [row for rows in pool.map(work, groups.values()) for row in rows]
    return [row for _, row in sorted(found, key=lambda pair: pair[0])]


def _measure_job(number: int, job: Job, trees: dict[str, Path], folder: Path) -> Row:
    costs: dict[str, Cost] = {}
    for name, tree in trees.items():
        place = folder / name / re.sub(r"\W+", "-", job.folder)
        rounds = STARTS if job.part == "starts" else 1
        found = [run_job(job, tree, place, folder / name / f"{number}.out") for _ in range(rounds)]
        costs[name] = min(found, key=lambda cost: cost.seconds)
    row = Row(job, costs["new"], costs.get("old"))
    if row.former is not None:
        places = [folder / name / re.sub(r"\W+", "-", job.folder) for name in ("old", "new")]
        same = _is_same(row.former.output, row.now.output)
        row.differing = [*([] if same else ["stdout"]), *find_differences(*places)]
    _say(_tell(row))
    return row


def _tell(row: Row) -> str:
    """One line about a job that ended."""
    former = f"{row.former.seconds:8.2f}" if row.former else ""
    differs = f"  differs: {', '.join(row.differing[:3])}" if row.differing else ""
    failed = "" if row.has_ended_well else f"  status {row.now.status}: {row.now.error[:200]}"
    return f"{former}{row.now.seconds:8.2f} s {row.now.megabytes:6.0f} MB  {row.job.name}{differs}{failed}"


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def print_slowest(rows: list[Row], slowest: int, starts: dict[str, float]) -> None:
    """The Markdown table of the slowest jobs."""
    against = any(row.former for row in rows)
    former = " former |" if against else ""
    print(
        f"| job |{former} CPU seconds | of them start | peak MB |{' output |' if against else ''}"
    )
    print(f"|---|{'---|' if against else ''}---|---|---|{'---|' if against else ''}")
    for row in sort_rows(rows)[:slowest]:
        name = row.job.name if row.job.part == "everyday" else f"`{row.job.name}`"
        mark = " (models)" if row.job.runs_models else ""
        cells = [f"{name}{mark}".replace("|", "\\|")]
        if against:
            cells.append(_tell_seconds(row.former) if row.former else "")
        start = starts.get(row.job.verb)
        cells += [
            _tell_seconds(row.now),
            "" if start is None else f"{start:.2f}",
            f"{row.now.megabytes:.0f}",
        ]
        if against:
            cells.append("differs" if row.differing else "the same")
        print(f"| {' | '.join(cells)} |")


def sort_rows(rows: Iterable[Row]) -> list[Row]:
    """The slowest first."""
    return sorted(rows, key=lambda row: -row.now.seconds)


def _tell_seconds(cost: Cost) -> str:
    return f"{'> ' if cost.status == TIMED_OUT else ''}{cost.seconds:.2f}"


def print_rest(rows: list[Row], left: list[tuple[Job, str]]) -> bool:
    """How many jobs ran, which failed, and what was left out for which reason; whether all ended well."""
    failed = [row for row in rows if not row.has_ended_well]
    print(f"\n{len(rows) - len(failed)} jobs ran, {len(failed)} failed, {len(left)} left out.")
    for row in failed:
        took = f"ended after {MAX_SECONDS} s" if row.now.status == TIMED_OUT else row.now.error
        print(f"- failed: {row.job.name} (status {row.now.status}: {took[:300]})")
    for reason in sorted({reason for _, reason in left}):
        print(f"\nLeft out, {reason}:")
        print("".join(f"- {job.name}\n" for job, why in left if why == reason), end="")
    return not failed


def measure_starts(rows: Iterable[Row], trees: dict[str, Path], folder: Path) -> dict[str, float]:
    """Verb to the CPU seconds of its help, for the verbs of the rows; without a verb, of the import."""
    verbs = {row.job.verb for row in rows}
    known = {row.job.verb: row.now.seconds for row in rows if row.job.part == "starts"}
    missing = [job for job in list_starts() if job.verb in verbs - known.keys()]
    place = folder / "starts"
    place.mkdir()
    return known | {row.job.verb: row.now.seconds for row in measure(missing, trees, place)}


def choose_jobs(parts: Sequence[str], inputs: Path) -> list[Job]:
    """The jobs of the parts that were asked for."""
    listers: dict[str, Callable[[], list[Job]]] = {
        "starts": list_starts,
        "everyday": lambda: list_everyday(inputs),
        "docs": list_docs,
    }
    return [job for part in parts for job in listers[part]()]


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("parts", nargs="*", help=f"{', '.join(PARTS)}; all if none is named")
    parser.add_argument("--against", type=Path, help="another checkout to compare with")
    parser.add_argument(
        "--only", default="", help="only jobs whose name matches this regular expression"
    )
    parser.add_argument("--slowest", type=int, default=30)
    parser.add_argument("--workers", type=int, default=1, help="folders at a time")
    parser.add_argument("--keep", type=Path, help="folder for inputs and outputs")
    given = parser.parse_args(words)
    unknown = sorted({*given.parts} - {*PARTS})
    if unknown:
        parser.error(f"no such part: {', '.join(unknown)}; there are {', '.join(PARTS)}")
    with tempfile.TemporaryDirectory() as temporary:
        folder = (given.keep or Path(temporary)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        parts = given.parts or list(PARTS)
        if "everyday" in parts and not (folder / "inputs").is_dir():
            make_inputs(folder / "inputs")
        if not shared().is_dir():
            print(
                f"There is no published data in {shared()}: jobs on it are left out, and the others work on invented data.\n"
            )
        trees = {"old": given.against.resolve()} if given.against else {}
        trees["new"] = ROOT
        jobs, left = leave_out(choose_jobs(parts, folder / "inputs"))
        jobs = [job for job in jobs if re.search(given.only, job.name)]
        for tree in trees.values():  # as after an installation
            subprocess.run(
                [sys.executable, "-m", "compileall", "-q", str(tree / "src")], check=True
            )
        outputs = Path(tempfile.mkdtemp(dir=folder))
        (outputs / "inputs").symlink_to(folder / "inputs")
        rows = measure(jobs, trees, outputs, given.workers)
        starts = measure_starts(rows, {"new": ROOT}, outputs)
    print_slowest([row for row in rows if row.now.status != NOT_PREPARED], given.slowest, starts)
    if not print_rest(rows, left):
        sys.exit(1)


def make_inputs(folder: Path) -> None:
    """Make what the everyday jobs work on, in a process of its own."""
    words = [sys.executable, "-m", "bench._waits_inputs", str(folder)]
    environment = os.environ | {"PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"}
    subprocess.run(words, check=True, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    main()
