"""What users wait for: CPU seconds and peak memory of everyday jobs, of the start of every verb, and of every command of the docs.

    python -m bench.waits [everyday] [starts] [docs] [--against PATH] [--only REGEX] [--slowest 30] [--keep DIR]

- `everyday`: jobs on the published data (`../shared/data`, or `NIKAWA_SHARED`), and on invented data of that size where it is absent.
- `starts`: `nikawa VERB --help` of each verb: what a user waits for before the work begins.
- `docs`: the commands of README.md and of each page of docs/, from top to bottom in an empty folder per page.

A job is a line for the shell. Its CPU seconds and its peak memory are those of the shell's child and all that it started, as the system
counts them; the memory is that of the largest process. The start of its verb is shown apart and is part of the seconds.
`--against` names another checkout: each job runs there first and then here, and the outputs are compared byte by byte.
BLAS has one thread, since the number of threads moves last digits.
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
from dataclasses import dataclass
from pathlib import Path

from bench.start import shared

ROOT = Path(__file__).parents[1]
PARTS = ("everyday", "starts", "docs")
STARTS = 3
"""Rounds of `--help`; the least counts."""
MAX_SECONDS = 600
"""Seconds by the clock after which a job is ended."""
TIMED_OUT = 124
"""The status of such a job."""
LEARNS = re.compile(
    r"nikawa (run (?!list|models|remove)|pretrain|demo|board demo|split .*least-artifact|probe memory)"
    r"|studies|baseline-sweep"
)
"""Commands that learn or run models."""
SKIPPED = re.compile(
    r"^(make|pip|source|python3 -m venv|export|aws|hf|sbatch|pg_|docker|sudo|git|curl|cp -r) ?"
    r"| serve | demo$|data fetch|board (demo|submit)|--executor ray|-m (bench|studies|pytest|tests)|"
    r"https?://|s3://|install"
)
"""Commands of the docs that install, serve until they are stopped, or need a network, a cluster or hours."""
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
    files: tuple[tuple[str, str], ...] = ()
    """Files that the page shows before the command, and their texts."""

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
        ("templates check jamp", "nikawa templates check jamp"),
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
        Job("docs", f"{page}: {line}", line, page, tuple(map(tuple, files)))
        for page, line, files in json.loads(done.stdout)
    ]


def read_pages() -> list[tuple[str, str, list[tuple[str, str]]]]:
    """The pages' commands and their Python blocks, each with the files to save before it."""
    from tests.docs.page_blocks import read_blocks, read_commands

    commands = []
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))):
        files: list[tuple[str, str]] = []
        for number, block in enumerate(read_blocks(path.read_text("utf-8"))):
            if "." in block.file:
                files.append((block.file, block.text))
            elif block.language == "python" and "fetch" not in block.text:
                files.append((f"block{number}.py", block.text))
                commands.append((path.name, f"python block{number}.py", files))
                files = []
            elif block.language in {"sh", "console"}:
                for line, _ in read_commands(block):
                    commands.append((path.name, re.sub(r" +# .*", "", line), files))
                    files = []
    return commands


def run_job(job: Job, tree: Path, folder: Path, log: Path) -> Cost:
    """Run a job in its folder by the code of a tree."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in job.files:
        (folder / name).write_text(text, "utf-8")
    environment = os.environ | {
        "PYTHONPATH": str(tree / "src"),
        "PATH": f"{_write_shims(log.parent)}:{os.environ['PATH']}",
        "OPENBLAS_NUM_THREADS": "1",
        "COLUMNS": "200",
        "NO_COLOR": "1",
        "HF_HUB_OFFLINE": "1",
        "PYTHONDONTWRITEBYTECODE": "",
    }
    if shared().is_dir():
        environment["NIKAWA_DATA"] = str(shared())
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
    )


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
    start: float = 0.0


def measure(jobs: Iterable[Job], trees: dict[str, Path], folder: Path) -> list[Row]:
    """Run each job once by each tree, the starts several times."""
    rows: list[Row] = []
    for number, job in enumerate(jobs):
        costs: dict[str, Cost] = {}
        for name, tree in trees.items():
            place = folder / name / re.sub(r"\W+", "-", job.folder)
            log = folder / name / f"{number}.out"
            log.parent.mkdir(exist_ok=True)
            rounds = STARTS if job.part == "starts" else 1
            found = [run_job(job, tree, place, log) for _ in range(rounds)]
            costs[name] = min(found, key=lambda cost: cost.seconds)
        row = Row(job, costs["new"], costs.get("old"))
        if row.former is not None:
            places = [folder / name / re.sub(r"\W+", "-", job.folder) for name in ("old", "new")]
            same = _is_same(row.former.output, row.now.output)
            row.differing = [*([] if same else ["stdout"]), *find_differences(*places)]
        rows.append(row)
        _say(f"{_tell(row)}")
    return rows


def _tell(row: Row) -> str:
    """One line about a job that ended."""
    former = f"{row.former.seconds:8.2f}" if row.former else ""
    differs = f"  differs: {', '.join(row.differing[:3])}" if row.differing else ""
    failed = f"  status {row.now.status}: {row.now.error[:100]}" if row.now.status else ""
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
    for row in sorted(rows, key=lambda row: -row.now.seconds)[:slowest]:
        name = row.job.name if row.job.part == "everyday" else f"`{row.job.name}`"
        mark = " (models)" if LEARNS.search(row.job.line) else ""
        cells = [f"{name}{mark}".replace("|", "\\|")]
        if against:
            more = "> " if row.former and row.former.status == TIMED_OUT else ""
            cells.append(f"{more}{row.former.seconds:.2f}" if row.former else "")
        start = starts.get(row.job.verb)
        cells += [
            f"{row.now.seconds:.2f}",
            "" if start is None else f"{start:.2f}",
            f"{row.now.megabytes:.0f}",
        ]
        if against:
            cells.append("differs" if row.differing else "the same")
        print(f"| {' | '.join(cells)} |")


def choose_jobs(parts: Sequence[str], inputs: Path) -> list[Job]:
    """The jobs of the parts that were asked for."""
    listers: dict[str, Callable[[], list[Job]]] = {
        "starts": list_starts,
        "everyday": lambda: list_everyday(inputs),
        "docs": list_docs,
    }
    return [job for part in parts for job in listers[part]()]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("parts", nargs="*", default=[], help=", ".join(PARTS))
    parser.add_argument("--against", type=Path, help="another checkout to compare with")
    parser.add_argument(
        "--only", default="", help="only jobs whose name matches this regular expression"
    )
    parser.add_argument("--slowest", type=int, default=30)
    parser.add_argument("--keep", type=Path, help="folder for inputs and outputs")
    given, _ = parser.parse_known_args()
    parts = [part for part in given.parts if part in PARTS] or list(PARTS)
    with tempfile.TemporaryDirectory() as temporary:
        folder = (given.keep or Path(temporary)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        if "everyday" in parts and not (folder / "inputs").is_dir():
            words = [sys.executable, "-m", "bench._waits_inputs", str(folder / "inputs")]
            environment = os.environ | {"PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"}
            subprocess.run(words, check=True, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL)
        trees = {"old": given.against.resolve()} if given.against else {}
        trees["new"] = ROOT
        jobs = [
            job for job in choose_jobs(parts, folder / "inputs") if re.search(given.only, job.name)
        ]
        for tree in trees.values():  # as after an installation
            subprocess.run(
                [sys.executable, "-m", "compileall", "-q", str(tree / "src")], check=True
            )
        outputs = Path(tempfile.mkdtemp(dir=folder))
        (outputs / "inputs").symlink_to(folder / "inputs")
        left = [job for job in jobs if job.part == "docs" and SKIPPED.search(job.line)]
        rows = measure([job for job in jobs if job not in left], trees, outputs)
    starts = {row.job.verb: row.now.seconds for row in rows if row.job.part == "starts"}
    worked = [row for row in rows if row.now.status in (0, 1, TIMED_OUT)]
    print_slowest(worked, given.slowest, starts)
    failed = [row for row in rows if row not in worked]
    if failed or left:
        print(
            f"\n{len(worked)} jobs ran; {len(failed)} could not (files that the page does not show); {len(left)} skipped."
        )


if __name__ == "__main__":
    main()
