"""How far Nikawa goes: sentences a second of each stage on one core, growth with the number of sentences, and clusters.

    python -m bench.scale [stages] [driver] [growth] [overhead] [nodes] [memory] [--sizes 10000,100000,1000000] [--on-nodes generate]

- `stages`: what one core does, in a process of its own for each stage.
- `driver`: what the process that reads and writes does itself, while others work for it.
- `growth`: CPU seconds and peak memory of cleaning, near-duplicates and pairing.
- `overhead`: the same runs in a pool of two processes and on two nodes of a Ray cluster on this machine.
- `nodes`: the same runs and the same cleaning on one node and on two, with one CPU each.
- `memory`: the peak memory of the command and of each of two nodes, at growing sizes.

The text is invented: Chinese characters at random with Japanese particles and endings. One sentence in twenty repeats an earlier
one but for a letter.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from itertools import accumulate, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.cluster.nodes import TestCluster

STAGES = (
    "clean",
    "near-duplicates",
    "tag",
    "perturb",
    "generate",
    "probe",
    "split",
    "check",
    "pair",
    "score",
    "pretrain text",
    "run",
)
GROWING = ("clean", "near-duplicates", "pair")
ON_NODES = ("clean", "near-duplicates", "tag", "generate")
"""Stages whose memory on nodes is measured."""
POLL_SECONDS = 0.1
STAGE_SENTENCES = 100_000
PARTICLES = ("は", "が", "を", "に", "で")
ENDS = ("見た。", "行った。", "来なかった。", "言われた。", "だろう。")
LABELS = ("entailment", "neutral", "contradiction")
SWEEP_ROWS = 100_000
"""Training examples with which a run takes about ten seconds of one core here."""
SWEEP_RUNS = 4
ROUNDS = 2
CLEANED_SENTENCES = 150_000
DRIVEN_SENTENCES = 500_000
FINISHED_ITEMS, FINISHED_RUNS = 2_434, 20
"""As many items as JNLI has for validation."""


def write_sentences(path: Path, count: int) -> None:
    """One sentence a line."""
    rng = random.Random(count)
    # words of one to three of 2,000 characters; the n-th is as frequent as 1 / n, as in real text
    words = [
        "".join(chr(0x4E00 + rng.randrange(2000)) for _ in range(rng.choice((1, 2, 2, 3))))
        for _ in range(20_000)
    ]
    weights = list(accumulate(1 / rank for rank in range(2, 20_002)))
    recent: list[str] = []
    with path.open("w", encoding="utf-8") as out:
        for _ in range(count):
            if recent and rng.random() < 0.05:
                text = rng.choice(recent)
                at = rng.randrange(len(text) - 1)
                text = f"{text[:at]}花{text[at + 1 :]}"
            else:
                chosen = rng.choices(words, cum_weights=weights, k=8)
                pairs = zip(chosen, (*rng.choices(PARTICLES, k=7), ""), strict=True)
                text = "".join(part for pair in pairs for part in pair) + rng.choice(ENDS)
                recent = [*recent[-999:], text]
            out.write(text + "\n")


def write_inference_data(folder: Path, sentences: list[str]) -> None:
    """A dataset `mine` of pairs of sentences, and answers to it."""
    import msgspec
    from tests.cluster.desk import CARD

    from nikawa.io.folders import write_folder
    from nikawa.records import Dataset, Example

    examples = tuple(
        Example(
            id=str(number),
            inputs={"premise": text, "hypothesis": sentences[number - 1]},
            gold={"label": LABELS[number % 3]},
        )
        for number, text in enumerate(sentences)
    )
    card = msgspec.structs.replace(CARD, languages=("ja",))
    made = Dataset(name="mine", language="ja", version="1", card=card, splits={"test": examples})
    write_folder(made, folder / "mine")
    answers = (f'{{"id":"{n}","answer":"{LABELS[n % 2]}"}}\n' for n in range(len(sentences)))
    (folder / "answers.jsonl").write_text("".join(answers), "utf-8")


def do_on_nodes(stage: str, folder: Path, address: str) -> None:
    """Do a stage once, on the nodes of a cluster, from a file to a file."""
    text, out = folder / "text.txt", folder / "out.jsonl"
    where: Any = {"executor": "ray", "address": address}
    if stage in ("clean", "near-duplicates"):
        from nikawa.cleaning.job import CleanOptions, clean

        steps = ("duplicates",) if stage == "near-duplicates" else None
        clean([text], out, CleanOptions(steps=steps, **where))
    elif stage == "tag":
        from nikawa.tagging.job import TagOptions, tag

        tag(str(folder / "records.jsonl"), options=TagOptions(out=out, **where))
    elif stage == "generate":
        from nikawa.generation.job import GenerateOptions, generate

        with text.open("rb") as lines:
            counts = {"": sum(1 for _ in lines)}
        made = GenerateOptions(counts=counts, per="total", **where)
        generate("comparative-ja", out.with_suffix(""), options=made)
    else:
        raise ValueError(stage)


def do_stage(stage: str, folder: Path) -> None:
    """Do a stage once, in this process, on what `write_sentences` and `write_inference_data` wrote."""
    text, out, data = folder / "text.txt", folder / stage, str(folder / "mine")
    if stage == "clean":
        from nikawa.cleaning.job import CleanOptions, clean

        clean([text], out.with_suffix(".jsonl"), CleanOptions(overwrite=True))
    elif stage == "near-duplicates":
        from nikawa.cleaning.duplicates import Duplicates
        from nikawa.cleaning.minhash import compute_signatures

        seen = Duplicates(0.8, 1 << 20)
        with text.open(encoding="utf-8") as lines:
            while batch := list(islice(lines, 2000)):
                for _ in seen.find_twins(compute_signatures(batch)):
                    pass
    elif stage == "pair":
        from nikawa.pairing.job import PairOptions, pair

        options = PairOptions(units="characters", out=out.with_suffix(".jsonl"), overwrite=True)
        pair("greedy", text, options=options)
    elif stage == "tag":
        from nikawa.tagging.job import TagOptions, tag

        tag(data, options=TagOptions(out=out, overwrite=True))
    elif stage == "perturb":
        from nikawa.perturbation.job import PerturbOptions, perturb

        options = PerturbOptions(assume_eligible=True, out=out, overwrite=True)  # type: ignore[assignment]
        perturb("swap-o,width-full", data, options=options)  # type: ignore[arg-type]
    elif stage == "generate":
        from nikawa.generation.job import GenerateOptions, generate

        made = GenerateOptions(counts={"": STAGE_SENTENCES}, per="total", overwrite=True)
        generate("comparative-ja", out, options=made)
    elif stage == "probe":
        from nikawa.checks.probe import probe_artifacts

        probe_artifacts(data)
    elif stage == "score":
        from nikawa.scoring.score import score

        score(f"{data}:test", folder / "answers.jsonl")
    elif stage == "split":
        from nikawa.splitting.job import SplitOptions, split

        split(data, options=SplitOptions(out=out, overwrite=True))
    elif stage == "check":
        from nikawa.checks.job import check

        check(data)
    elif stage == "pretrain text":
        from nikawa.pretrain.job import PretrainOptions, pretrain

        pretrain([text], out, PretrainOptions(language="ja", only="text", overwrite=True))
    elif stage == "run":
        from nikawa.runs.job import RunOptions, run
        from nikawa.runs.request import RunRequest

        request = RunRequest((data,), (f"replay:{folder / 'answers.jsonl'}",))
        run(request, RunOptions(out=out, workers=1))
    else:
        raise ValueError(stage)


def measure_stage(stage: str, folder: Path) -> tuple[float, int]:
    """CPU seconds and peak memory in MB of a stage in a process of its own."""
    command = [sys.executable, "-m", "bench.scale", "--do", stage, "--folder", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr[-2000:])
    seconds, megabytes = done.stdout.split()
    return float(seconds), int(megabytes)


def report_line(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def bench_stages() -> None:
    """Sentences, examples or problems a second of one core, without the start of the process."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        write_sentences(folder / "text.txt", STAGE_SENTENCES)
        sentences = (folder / "text.txt").read_text("utf-8").splitlines()
        write_inference_data(folder, sentences)
        report_line(
            f"\nOne core, {STAGE_SENTENCES:,} sentences (pairs of sentences: tag to score)\n"
        )
        report_line("| stage | CPU s | per second | peak MB |\n|---|---|---|---|")
        for stage in STAGES:
            if stage == "pair":  # its speed depends on the number
                continue
            seconds, megabytes = measure_stage(stage, folder)
            report_line(
                f"| {stage} | {seconds:.1f} | {STAGE_SENTENCES / seconds:,.0f} | {megabytes} |"
            )


def bench_growth(sizes: list[int], most_pairs: int) -> None:
    """CPU seconds and peak memory at several sizes."""
    report_line("\nGrowth on one core\n")
    report_line("| sentences | text MB | stage | CPU s | µs a sentence | peak MB |")
    report_line("|---|---|---|---|---|---|")
    for size in sizes:
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place)
            write_sentences(folder / "text.txt", size)
            megabytes_read = (folder / "text.txt").stat().st_size / 1e6
            for stage in GROWING:
                if stage == "pair" and size > most_pairs:
                    continue
                seconds, megabytes = measure_stage(stage, folder)
                report_line(
                    f"| {size:,} | {megabytes_read:,.1f} | {stage} | {seconds:,.1f} | {seconds / size * 1e6:,.1f} | {megabytes} |"
                )


def bench_driver() -> None:
    """CPU seconds of the process that reads and writes while others work for it: they bound the speed of a cluster."""
    report_line(f"\nThe process of the command, cleaning {DRIVEN_SENTENCES:,} sentences\n")
    report_line("| where | steps | µs a sentence |\n|---|---|---|")
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as place:
        os.chdir(place)
        try:
            write_sentences(Path("text.txt"), DRIVEN_SENTENCES)

            def measure(name: str, **where: Any) -> None:
                for steps, without in (("all", ()), ("without duplicates", ("duplicates",))):
                    begin = count_cpu()
                    out = Path(f"{name}.jsonl")
                    clean_text(out, Path("text.txt"), without=without, overwrite=True, **where)
                    each = (count_cpu() - begin) / DRIVEN_SENTENCES * 1e6
                    report_line(f"| {name} | {steps} | {each:.1f} |")

            measure("pool of two", workers=2)
            with_cluster(
                2, lambda cluster: measure("two nodes", executor="ray", address=cluster.address)
            )
        finally:
            os.chdir(before)


def bench_finishing() -> None:
    """CPU seconds that the process of the command spends on each run of a cluster: it stores and scores the answers."""
    from nikawa.runs.job import RunOptions, run
    from nikawa.runs.plan import plan_runs
    from nikawa.runs.request import RunRequest
    from nikawa.runs.store import locate_run

    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        write_sentences(folder / "text.txt", FINISHED_ITEMS)
        write_inference_data(folder, (folder / "text.txt").read_text("utf-8").splitlines())
        names = tuple(f"m{n}=replay:{folder / 'answers.jsonl'}" for n in range(2 * FINISHED_RUNS))
        seconds = []
        for half in (names[:FINISHED_RUNS], names):  # the second call does the other half
            before = count_cpu()
            options = RunOptions(out=folder / "runs", workers=1, executor="here")
            run(RunRequest((str(folder / "mine"),), half), options)
            seconds.append(count_cpu() - before)
    each = seconds[1] / FINISHED_RUNS * 1e3
    report_line(f"\nStoring and scoring a run of {FINISHED_ITEMS:,} items: {each:.0f} ms")
    begin = count_cpu()
    seeds = tuple(range(10_000))
    plan = plan_runs(RunRequest(("mini-ja-nli",), ("char-linear",), seeds=seeds))
    for family in plan.families:
        for planned in family.runs(family.options[0]):
            locate_run(Path("runs"), planned)
    report_line(f"Planning {len(seeds):,} runs: {count_cpu() - begin:.1f} s")


def write_records(folder: Path) -> None:
    """The sentences as records of a task of one text each, a line each."""
    with (
        (folder / "text.txt").open(encoding="utf-8") as lines,
        (folder / "records.jsonl").open("w", encoding="utf-8") as out,
    ):
        for number, line in enumerate(lines):
            label = LABELS[number % 3]
            out.write(
                f'{{"id":"{number}","inputs":{{"text":"{line.strip()}"}},"gold":{{"label":"{label}"}}}}\n'
            )


def bench_memory(sizes: list[int], stages: list[str]) -> None:
    """Peak memory of the command and of each node; each figure is of a cluster and a command that were started for it."""
    report_line("\nPeak memory of a command and of two nodes with one CPU each, in MB\n")
    report_line("| stage | sentences | command | first node | second node | s |")
    report_line("|---|---|---|---|---|---|")
    for stage in stages:
        for size in sizes:
            with tempfile.TemporaryDirectory() as place:
                folder = Path(place)
                write_sentences(folder / "text.txt", size)
                write_records(folder)
                with_cluster(2, partial(measure_memory, stage, size, folder), warm=False)


def measure_memory(stage: str, size: int, folder: Path, cluster: TestCluster) -> None:
    """Do a stage on nodes in a process of its own, while this one looks at the memory of the nodes' processes."""
    words = ("--do", stage, "--folder", str(folder), "--address", cluster.address)
    begin = time.monotonic()
    command = subprocess.Popen(
        [sys.executable, "-m", "bench.scale", *words], stdout=subprocess.DEVNULL
    )
    peaks: dict[str, int] = defaultdict(int)
    while command.poll() is None:
        for name, bytes_now in weigh_processes(command.pid, cluster.folder).items():
            peaks[name] = max(peaks[name], bytes_now)
        time.sleep(POLL_SECONDS)
    if command.returncode:
        raise RuntimeError(f"{stage} ended with status {command.returncode}")
    cells = [f"{peaks[name] // 2**20}" for name in sorted(peaks)]  # the command is the first
    report_line(f"| {stage} | {size:,} | {' | '.join(cells)} | {time.monotonic() - begin:.0f} |")


def weigh_processes(command: int, nodes: Path) -> dict[str, int]:
    """The memory of the command, and by its folder of each node, without the object stores.

    The processes of a node share the files that they map, such as libraries: those of the largest process count.
    """
    own: dict[str, int] = defaultdict(int)
    shared: dict[str, int] = defaultdict(int)
    for place in Path("/proc").glob("[0-9]*"):
        try:
            name = "" if place.name == str(command) else find_node(place, nodes)
            status = (place / "status").read_text("utf-8")
        except (OSError, ValueError):  # it ended, or belongs to no node
            continue
        sizes = dict(line.split(":", 1) for line in status.splitlines())
        if "RssAnon" in sizes:  # otherwise it ended just now
            own[name] += int(sizes["RssAnon"].split()[0]) * 1024
            shared[name] = max(shared[name], int(sizes["RssFile"].split()[0]) * 1024)
    return {name: size + shared[name] for name, size in own.items()}


def find_node(process: Path, nodes: Path) -> str:
    """The folder of the node that a process works for. Raises ValueError for a process that does not work for one."""
    settings = (process / "environ").read_bytes().split(b"\0")
    (folder,) = (each for each in settings if each.startswith(b"NIKAWA_NODE_DIR="))
    path = Path(folder.decode().partition("=")[2])
    if path.parent != nodes or not (process / "cmdline").read_bytes().startswith(b"ray::"):
        raise ValueError(process)
    return path.name


def count_cpu() -> float:
    """CPU seconds of this process so far."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def sweep(out: Path, **where: Any) -> float:
    """Wall-clock seconds of a sweep, from the call to the report."""
    from nikawa.runs.job import RunOptions, run
    from nikawa.runs.request import RunRequest

    request = RunRequest(("mine",), ("char-linear",), seeds=tuple(range(SWEEP_RUNS)))
    begin = time.monotonic()
    report = run(request, RunOptions(out=out, threads=1, **where))
    if report.done != SWEEP_RUNS:
        raise RuntimeError(report.problems)
    return time.monotonic() - begin


def clean_text(out: Path, text: Path, **where: Any) -> float:
    """Wall-clock seconds of a cleaning."""
    from nikawa.cleaning.job import CleanOptions, clean

    begin = time.monotonic()
    clean([text], out, CleanOptions(**where))
    return time.monotonic() - begin


def with_cluster(nodes: int, work: Callable[[TestCluster], None], *, warm: bool = True) -> None:
    """Call something with a cluster of so many nodes, one CPU each, which has been warmed up if `warm`."""
    from tests.cluster.nodes import start_cluster

    from nikawa.execute import ExecuteOptions
    from nikawa.execute.ordered import map_in_order

    warnings.simplefilter("ignore")  # Ray announces changes of its own
    with (
        tempfile.TemporaryDirectory() as own,
        tempfile.TemporaryDirectory() as nothing,
        start_cluster(Path(own), Path(nothing), nodes) as cluster,
    ):
        if warm:
            where = ExecuteOptions("ray", address=cluster.address)
            list(map_in_order(abs, range(4 * nodes), where))
        work(cluster)


def bench_cluster(*, overhead: bool, nodes: bool) -> None:
    """Runs and a cleaning in a pool, on one node and on two: the best of some rounds, for other programs only make them slower."""
    from tests.cluster.desk import write_dataset

    times: dict[str, list[float]] = defaultdict(list)
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as place:
        os.chdir(place)
        try:
            write_dataset(Path(place), {"train": SWEEP_ROWS, "dev": 300, "test": 300})
            write_sentences(Path("text.txt"), CLEANED_SENTENCES)
            for number in range(ROUNDS):
                if overhead:
                    seconds = sweep(Path(f"pool-{number}"), executor="pool", workers=2)
                    times["runs, pool of two processes"].append(seconds)
                for count in (1, 2) if nodes else (2,):
                    with_cluster(count, partial(time_on_nodes, times, number, count, nodes))
        finally:
            os.chdir(before)
    best = {name: min(every) for name, every in times.items()}
    report_line(
        f"\n{SWEEP_RUNS} runs, {CLEANED_SENTENCES:,} sentences: wall-clock seconds, best of {ROUNDS}\n"
    )
    for name, every in times.items():
        report_line(f"- {name}: {best[name]:.1f} ({', '.join(f'{one:.1f}' for one in every)})")
    runs, cleaning = "runs, {} node(s)", "cleaning, {} node(s)"
    if overhead:
        ratio = best[runs.format(2)] / best["runs, pool of two processes"]
        report_line(f"Two nodes against a pool of two: {ratio - 1:+.1%}")
    if nodes:
        for what in (runs, cleaning):
            ratio = best[what.format(1)] / best[what.format(2)]
            report_line(f"{what.format('two against one')}: {ratio:.2f} times as fast")


def time_on_nodes(
    times: dict[str, list[float]], number: int, count: int, cleans: bool, cluster: TestCluster
) -> None:
    """Time the runs, and the cleaning if asked for, on a cluster of so many nodes."""
    where = {"executor": "ray", "address": cluster.address}
    times[f"runs, {count} node(s)"].append(sweep(Path(f"ray{count}-{number}"), **where))
    if cleans:
        out = Path(f"clean{count}-{number}.jsonl")
        times[f"cleaning, {count} node(s)"].append(clean_text(out, Path("text.txt"), **where))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "parts",
        nargs="*",
        default=["stages", "driver", "growth", "overhead", "nodes", "memory"],
    )
    parser.add_argument("--sizes", default="10000,100000,1000000")
    parser.add_argument(
        "--pair-most", type=int, default=100_000, help="pair no more sentences than this"
    )
    parser.add_argument(
        "--on-nodes", default=",".join(ON_NODES), help="measure the memory of these stages"
    )
    parser.add_argument("--do", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--address", help=argparse.SUPPRESS)
    chosen = parser.parse_args([] if sys.argv[0].endswith("bench/__main__.py") else None)
    if chosen.do:
        if chosen.address:
            do_on_nodes(chosen.do, chosen.folder, chosen.address)
        else:
            do_stage(chosen.do, chosen.folder)
        usage = resource.getrusage(resource.RUSAGE_SELF)
        status = Path("/proc/self/status").read_text("ascii")
        # unlike ru_maxrss, it begins again with the program
        peak = next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM:"))
        report_line(f"{usage.ru_utime + usage.ru_stime:.3f} {int(peak) // 1024}")
        return
    if "stages" in chosen.parts:
        bench_stages()
    if "driver" in chosen.parts:
        bench_driver()
        bench_finishing()
    if "growth" in chosen.parts:
        bench_growth([int(size) for size in chosen.sizes.split(",")], chosen.pair_most)
    if "memory" in chosen.parts:
        sizes = [int(size) for size in chosen.sizes.split(",")]
        bench_memory(sizes, chosen.on_nodes.split(","))
    if {"overhead", "nodes"} & set(chosen.parts):
        bench_cluster(overhead="overhead" in chosen.parts, nodes="nodes" in chosen.parts)


if __name__ == "__main__":
    main()
