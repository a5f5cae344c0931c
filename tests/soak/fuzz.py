"""Damaged files against every command that reads one: whatever a file holds, a command ends as it promises.

`python -m tests.soak.fuzz --cases 20000 --seed 1 --workers 2`
`python -m tests.soak.fuzz --seed 1 --case 17` repeats one case, shows it and keeps its folder.

Each case copies honest files into a folder of its own, damages one or two of them and runs a command there, in a forked
child of a process that has everything imported. What must hold:

- the exit status is 0, 1 or 2, and comes within the time limit and within `MEMORY_LIMIT`;
- at status 2 stderr is one line, `nikawa: …`, of bounded length, which names the damaged file;
- nothing that a terminal would obey instead of show reaches it, and no traceback or warning of Python;
- nothing is written where nobody asked for it, nothing temporary is left, and a refusal leaves no output.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import pkgutil
import random
import re
import resource
import shlex
import shutil
import signal
import stat
import sys
import tempfile
import time
import traceback
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from importlib import import_module
from itertools import count, islice
from multiprocessing.connection import Pipe, wait
from pathlib import Path
from typing import Any, cast

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"  # a forked child has none of its parent's threads

MEMORY_LIMIT = 900_000_000
"""Bytes that a case may take beside what every command takes, so that all of it stays below 1 GB.

The process that cases are forked from holds the modules of all commands at once; what it holds is not counted."""
ADDRESS_LIMIT = 6_000_000_000
"""Bytes of addresses beyond which a case is stopped, to spare the machine."""
MAX_MESSAGE = 2_100
"""Characters of the longest line: `nikawa.printable` cuts what is longer, and says so behind the cut."""
NOBODY = 65534
"""The user that cases run as where the fuzzer is run by root, who could read everything."""
FULL_CASES = 500
"""Cases from which every command is first run on honest files."""
TEMPORARY = re.compile(r"(\.part|\.unfinished|\.tmp)$|^\.new\.")
HEAVY = (
    "nikawa.models.encoder",
    "nikawa.models.bertscore",
    *(
        f"nikawa.pretrain.{name}"
        for name in ("batches", "device", "evaluation", "network", "steps", "training")
    ),
    "nikawa.demo",
    "nikawa.__main__",
)
"""Modules that are left to the cases that need them: torch takes seconds and half of the memory."""


@dataclass(frozen=True)
class Command:
    """A command and what of it is damaged."""

    words: str
    damaged: tuple[str, ...]
    """Files, or folders of which any file may be the one."""
    beside: tuple[str, ...] = ()
    """Further files and folders that it reads."""
    writes: tuple[str, ...] = ()
    """What it may write, apart from what `keeps` names."""
    keeps: tuple[str, ...] = ()
    """What it may have written even where it fails: work to go on from, or a project's own files."""
    published: bool = False
    """Whether `data` is the folder of published datasets."""

    @property
    def verb(self) -> str:
        """The verb, with its part where it has one."""
        words = self.words.split()
        grouped = ("data", "templates", "collect", "lexicon", "probe")
        is_part = words[0] in grouped or (words[0] == "run" and not words[1].startswith("-"))
        return " ".join(words[: 1 + is_part])


def _score(file: str, *more: str) -> Command:
    words = " ".join(("score mini-ja-nli:test", f"answers/{file}", *more))
    return Command(words, (f"answers/{file}",))


LABELLED = (
    "label.jsonl", "map.json", "list.json", "label.csv", "label.tsv", "label.txt", "label.parquet",
    "scores.jsonl", "samples_mini.jsonl", "log.json", "log.eval", "log-zstd.eval",
    "label.jsonl.gz", "label.jsonl.zst", "label.jsonl.xz",
)  # fmt: skip
KEYS = ("../home/data", "paused/people/owner.key")
"""The key of pseudonyms that the projects of one owner, or of one build, share; it is no part of a project."""
RECORDS = ("pairs.jsonl", "pairs.jsonl.gz", "pairs.jsonl.zst")

COMMANDS: tuple[Command, ...] = (
    *(_score(file, "--partial") for file in LABELLED),
    _score("label.npy", "--form indices"),
    _score("label.jsonl", "--by gold --confusion"),
    Command(
        "score own-data:dev answers/own.jsonl --per-item items.jsonl",
        ("own-data",), ("answers/own.jsonl",), ("items.jsonl",),
    ),
    Command("score own-parquet:dev answers/own.jsonl", ("own-parquet",), ("answers/own.jsonl",)),
    Command("score jnli answers/jnli.jsonl --partial --split dev", ("data/jglue/datasets/jnli-v1.3",), ("data", "answers/jnli.jsonl"), published=True),
    Command(
        "compare a=answers/label.jsonl b=answers/other.jsonl --task mini-ja-nli --split test --rounds 100 --items 3",
        ("answers/label.jsonl", "answers/other.jsonl"),
    ),
    *(
        Command(f"agree {file} --question label --resamples 10", (file,))
        for file in ("judgements.jsonl", "judgements.jsonl.gz", "judgements.jsonl.zst", "studio.json", "doccano.jsonl", "yahoo.tsv")
    ),
    Command("agree judgements.jsonl --question score --by topic --examples pairs.jsonl --resamples 10 --page page", ("judgements.jsonl", "pairs.jsonl"), (), ("page",)),
    Command("agree span-judgements.jsonl --examples entities.jsonl --resamples 10", ("span-judgements.jsonl", "entities.jsonl")),
    Command("agree judgements.jsonl --question label --resamples 10 --save saved.tsv", ("judgements.jsonl",), (), ("saved.tsv",)),
    Command("aggregate judgements.jsonl --question label --rule majority --examples pairs.jsonl --out out", ("judgements.jsonl", "pairs.jsonl"), (), ("out",)),
    Command("aggregate judgements.jsonl --question label --rule dawid-skene --out out", ("judgements.jsonl",), (), ("out",)),
    Command("aggregate span-judgements.jsonl --rule majority --examples entities.jsonl --out out", ("span-judgements.jsonl", "entities.jsonl"), (), ("out",)),
    Command("aggregate sheet.csv --map example=task_id,worker=user,answer=label --rule votes:3/5 --out out", ("sheet.csv",), (), ("out",)),
    Command("aggregate ties.jsonl --rule majority --adjudicated adjudicated.tsv --out out", ("ties.jsonl", "adjudicated.tsv"), (), ("out",)),
    Command("aggregate judgements.jsonl --question label --workers --known known.jsonl", ("judgements.jsonl", "known.jsonl")),
    Command("aggregate judgements.jsonl --question label --workers --known known.tsv", ("known.tsv",), ("judgements.jsonl",)),
    Command("aggregate judgements.jsonl --question label --human --task mini-ja-nli", ("judgements.jsonl",)),
    *(Command(f"split {file} --by random --sizes 0.6,0.2,0.2 --card name=by-chance --out out", (file,), (), ("out",)) for file in RECORDS),
    Command("split pairs.jsonl --by stratified --question label --card name=even --out out", ("pairs.jsonl",), (), ("out",)),
    Command("split pairs.jsonl --by date --field date --sizes 0.7,0.3 --card name=newest --out out", ("pairs.jsonl",), (), ("out",)),
    Command("split sims.jsonl --by flat --question score --bins 6 --sizes rest,6,6 --card name=flat --out out", ("sims.jsonl",), (), ("out",)),
    Command("split entities.jsonl --by entities --sizes rest,5,5 --card name=unmet --out out", ("entities.jsonl",), (), ("out",)),
    Command("split own-data --by group --out out", ("own-data",), (), ("out",)),
    Command("tag perturb-ja.jsonl --pack weather.toml --out out.jsonl", ("perturb-ja.jsonl", "weather.toml"), (), ("out.jsonl",)),
    Command("tag own-data --pack none", ("own-data",)),
    Command("tag --pack weather.toml", ("weather.toml",)),
    Command("tag own-data --out out", ("own-data",), (), ("out",)),
    Command("perturb particles perturb-ja.jsonl --out out", ("perturb-ja.jsonl",), (), ("out",)),
    Command("perturb surface own-data --out out", ("own-data",), (), ("out",)),
    Command("pair greedy texts-ja.txt --units characters --out out.jsonl", ("texts-ja.txt",), (), ("out.jsonl",)),
    Command("pair same-image images.jsonl --out out.jsonl", ("images.jsonl",), (), ("out.jsonl",)),
    Command("pair different-intent images.jsonl --within topic --out out.jsonl", ("images.jsonl",), (), ("out.jsonl",)),
    *(
        Command(f"clean {file} --min-length 10 --out out.jsonl --removed removed.jsonl", (file,), (), ("out.jsonl", "removed.jsonl"))
        for file in ("texts-ja.txt", "texts-ko.txt", "articles.jsonl", "texts-ja.txt.gz", "texts-ja.txt.zst", "texts-ja.txt.xz")
    ),
    Command("clean texts-ja.txt --sources sources.tsv --min-length 5 --out out.jsonl", ("sources.tsv",), ("texts-ja.txt",), ("out.jsonl",)),
    Command("clean articles.jsonl --only only.tsv --min-length 5 --out out.jsonl", ("only.tsv", "articles.jsonl"), (), ("out.jsonl",)),
    Command("rank links.tsv -n 4 --out best.tsv", ("links.tsv",), (), ("best.tsv",)),
    Command("generate my-pack -n 2 --seed 1 --split all --out out", ("my-pack",), (), ("out",)),
    Command("generate my-pack -n 1 --seed 1 --out out --overwrite", ("my-pack", "out"), (), ("out",)),
    Command("templates check my-pack", ("my-pack",)),
    Command("templates check my-pack/templates.txt", ("my-pack/templates.txt",)),
    Command("templates show until-1 my-pack -n 2", ("my-pack",)),
    Command("templates audit my-pack made/train.jsonl", ("my-pack", "made/train.jsonl")),
    Command("templates review made --export sheet.tsv -n 6 --pack my-pack", ("made",), ("my-pack",), ("sheet.tsv",)),
    Command("templates review made --import review.tsv --out out --pack my-pack", ("review.tsv", "made"), ("my-pack",), ("out",)),
    Command("lexicon build novel.txt --out out --min-verb 2 --min-count 1 --exclude exclude.txt --agents agents.txt", ("novel.txt", "exclude.txt", "agents.txt"), (), ("out",)),
    Command("lexicon show words", ("words",)),
    *(Command(f"data check {name}", (name,)) for name in ("own-data", "own-parquet", "pairs.jsonl", "entities.jsonl", "made", "trial", "pairs.jsonl.zst")),
    *(Command(f"data show {name} -n 2", (name,)) for name in ("own-data", "own-parquet", "pairs.jsonl", "trial", "pairs.jsonl.gz")),
    Command("data show own-data --card", ("own-data",)),
    Command("data card bare", ("bare",), (), ("bare",)),
    Command("data card own-data --say licence=CC0-1.0 --overwrite", ("own-data",), (), ("own-data",)),
    *(Command(f"data import {name} --out out", (name,), (), ("out",)) for name in ("flat.csv", "flat.jsonl", "flat-hf")),
    *(Command(f"data export own-data --to {form} --out out", ("own-data",), (), ("out",)) for form in ("parquet", "jsonl", "hf", "croissant")),
    Command("data shift own-data pairs.jsonl --question label --by split -n 3", ("own-data", "pairs.jsonl")),
    *(
        Command(f"data {verb} {name}", (f"data/{place}",), ("data",), published=True)
        for verb in ("show", "check")
        for name, place in (
            ("jnli", "jglue/datasets/jnli-v1.3"),
            ("jsts", "jglue/datasets/jsts-v1.3"),
            ("jsquad", "jglue/datasets/jsquad-v1.3"),
            ("klue-nli", "klue/klue_benchmark/klue-nli-v1.1"),
            ("klue-ner", "klue/klue_benchmark/klue-ner-v1.1"),
            ("klue-dp", "klue/klue_benchmark/klue-dp-v1.1"),
            ("wos", "klue/klue_benchmark/wos-v1.1"),
            ("jsick", "jsick/jsick"),
            ("jamp", "jamp/dataset"),
        )
    ),
    *(Command(f"reproduce {paper}", (f"data/{paper}",), ("data",), published=True) for paper in ("jglue", "klue", "jsick", "jamp")),
    Command("build jnli --config jnli.toml --out out --simulate 1", ("jnli.toml", "captions.jsonl"), (), ("out",), ("out",)),
    Command("build ynat --config ynat.toml --out out --simulate 2", ("ynat.toml", "headlines.jsonl"), (), ("out",), ("out",)),
    Command("build jnli --config jnli.toml --out paused", ("paused", "jnli.toml"), ("captions.jsonl",), ("paused",), ("paused",)),
    Command("build jnli --config jnli.toml --out trial --simulate 1", ("trial",), ("captions.jsonl", "jnli.toml"), ("trial",), ("trial",)),
    Command("build --amend mini-ja --relabel corrections.csv --out out --date 2026-01-02", ("corrections.csv",), (), ("out",)),
    Command("build --amend trial --relabel trial.csv --out out --date 2026-01-02", ("trial.csv", "trial"), (), ("out",)),
    Command("lineage dev/0 --in trial", ("trial",)),
    Command("lineage dev/0 --in trial", ("trial/lineage.jsonl",), ("trial",)),
    Command("collect new fresh --examples pairs.jsonl --form scale -k 2", ("pairs.jsonl",), (), ("fresh",), KEYS),
    Command("collect new fresh --examples paused/people/similarity-a/tasks.jsonl", ("paused/people/similarity-a",), ("paused",), ("fresh",), KEYS),
    Command("collect import writing hypotheses.jsonl", ("hypotheses.jsonl", "writing"), (), ("writing",), ("writing",)),
    Command("collect import judging judgements.jsonl", ("judgements.jsonl",), ("judging",), ("judging",), ("judging",)),
    Command("collect export writing --out out.jsonl", ("writing",), (), ("out.jsonl", "out.writers.jsonl", "writing"), ("writing",)),
    Command("collect export writing --to examples --pseudonymise --out out.jsonl", ("writing",), (), ("out.jsonl", "out.writers.jsonl", "writing"), ("writing",)),
    Command("collect status judging", ("judging",), (), ("judging",), ("judging",)),
    Command("collect links judging rin", ("judging",), (), ("judging",), ("judging",)),
    Command("run --model majority --tasks own-data --out out --workers 1", ("own-data",), (), ("out",), ("out",)),
    Command("run --model majority --tasks mini-ja-nli --preset preset.toml --out out --workers 1", ("preset.toml",), (), ("out",), ("out",)),
    Command("run --model x=replay:answers/label.jsonl --tasks mini-ja-nli --out out --workers 1", ("answers/label.jsonl",), (), ("out",), ("out",)),
    Command("run --model majority --tasks own-data --out own-runs --workers 1", ("own-runs",), ("own-data",), ("own-runs",), ("own-runs",)),
    Command("run list --out runs", ("runs",)),
    Command("report runs --out page --rounds 100 --no-dataset", ("runs",), (), ("page",), ("runs",)),
    Command("analyse runs --tokeniser none --resamples 100", ("runs",), (), ("runs",), ("runs",)),
    Command("probe artifacts pairs.jsonl --tokeniser characters --question label --plot plot.svg", ("pairs.jsonl",), (), ("plot.svg",)),
    Command("probe artifacts own-data --tokeniser characters", ("own-data",)),
    Command("probe giveaways own-data", ("own-data",)),
    Command("stress answers/stress.jsonl answers/stress --task perturb-ja.jsonl --sets sets --resamples 100", ("answers/stress.jsonl", "answers/stress", "perturb-ja.jsonl", "sets")),
    Command("tasks own-data", ("own-data",)),
    Command("conformance golden.json", ("golden.json",)),
    Command("pretrain corpus.txt --language ja --tokenizer characters --size tiny --vocabulary 400 --only text --out out", ("corpus.txt",), (), ("out",), ("out",)),
    Command("pretrain corpus.txt --language ja --tokenizer characters --size tiny --only text --sources all-sources.tsv --attribution attribution.md --out out", ("all-sources.tsv", "attribution.md"), ("corpus.txt",), ("out",), ("out",)),
    Command("pretrain --language ja --tokenizer characters --size tiny --vocabulary 400 --steps 60 --batch 512 --only pack --out encoder", ("encoder",), ("corpus.txt",), ("encoder",), ("encoder",)),
)  # fmt: skip


OWNERS: tuple[Command, ...] = (
    Command("data hide own-data --split test --hidden --out out --keys keys.jsonl", ("own-data",), (), ("out", "keys.jsonl")),
    Command("data hide own-data --split test --hidden --secret hidden.keys --out out --keys keys.jsonl", ("hidden.keys",), ("own-data",), ("out", "keys.jsonl")),
    Command("score hidden:test guesses.txt --hidden --keys hidden.keys", ("hidden", "hidden.keys", "guesses.txt")),
    Command("compare a=guesses.txt b=guesses.txt --task hidden --split test --hidden --keys hidden.keys --rounds 100", ("hidden",), ("guesses.txt", "hidden.keys")),
    Command("collect rekey writing", ("writing",), (), ("writing",), ("writing",)),
    Command("collect backup writing --out copy.db", ("writing",), (), ("copy.db", "writing"), ("writing",)),
    Command("run diff runs/first runs/second", ("runs",)),
    Command("run remove --out runs --task mini-ja-nli", ("runs",)),
)  # fmt: skip
"""Commands of whoever holds hidden labels, a project or runs: a twentieth of the cases."""


@dataclass
class Result:
    """How a case ended."""

    case: int
    verb: str
    words: str
    damage: list[str]
    status: int
    seconds: float
    memory: int
    faults: list[tuple[str, str]] = field(default_factory=list)
    """(Kind, detail) of what does not hold."""
    out: str = ""
    err: str = ""


def warm() -> None:
    """Import what the commands import, so that a case costs a fork and its own work."""
    import nikawa

    root = Path(nikawa.__path__[0])
    for file in sorted(root.rglob("*.py")):
        name = ".".join(("nikawa", *file.relative_to(root).with_suffix("").parts))
        if not name.startswith(HEAVY):
            with suppress(ImportError):
                import_module(name.removesuffix(".__init__"))
    import encodings

    for module in pkgutil.iter_modules(encodings.__path__, "encodings."):
        with suppress(ImportError):
            import_module(module.name)
    import_all(
        ("pyarrow.parquet", "sklearn.linear_model", "rich.table", "typer._adapters", "jinja2")
    )
    from nikawa.datasets.names import benchmarks
    from nikawa.metrics import metrics

    benchmarks()  # both are looked for once a process
    metrics()


def import_all(names: Iterable[str]) -> None:
    """Import what commands imported themselves: the user of the cases may not be able to read Python's own files."""
    for name in names:
        if name.partition(".")[0] not in ("__main__", "__mp_main__", "torch", "transformers"):
            with suppress(Exception):
                import_module(name)
    gc.collect()
    gc.freeze()


def run_child(
    words: Sequence[str], folder: Path, seconds: float, *, trusted: bool = False
) -> tuple[int, float, int]:
    """Run `nikawa WORDS` in a folder in a forked child, its output in files beside the folder: status, seconds, memory.

    One that is trusted keeps its user, has no limits and tells which modules it imported. A negative status is the signal that ended it; that of the time limit is SIGKILL.
    """
    begin = time.monotonic()
    held = int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
    child = os.fork()
    if not child:
        _become_command(words, folder, trusted)
    usage, status = None, 0
    while True:
        reaped, status, usage = os.wait4(child, os.WNOHANG)
        if reaped:
            break
        if time.monotonic() - begin > seconds:
            with suppress(ProcessLookupError):
                os.killpg(child, signal.SIGKILL)
            _, status, usage = os.wait4(child, 0)
            break
        time.sleep(0.004)
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(child, signal.SIGKILL)  # what it started and left behind
    return (
        os.waitstatus_to_exitcode(status),
        time.monotonic() - begin,
        usage.ru_maxrss * 1024 - held,
    )


def _become_command(words: Sequence[str], folder: Path, trusted: bool) -> None:
    """In the child: streams, folder, user and limits, then the command; never returns."""
    status: object = 70
    try:
        os.setsid()
        for descriptor, name in ((0, os.devnull), (1, "../out"), (2, "../err")):
            place = name if descriptor == 0 else str(folder / name)
            flags = os.O_RDONLY if descriptor == 0 else os.O_WRONLY | os.O_CREAT | os.O_TRUNC
            os.dup2(os.open(place, flags, 0o666), descriptor)
        for name in [name for name in os.environ if name.startswith("NIKAWA_")]:
            del os.environ[name]
        home = folder.parent / "home"
        os.environ.update(
            NO_COLOR="1", COLUMNS="100", HOME=str(home), TMPDIR=str(folder.parent / "tmp")
        )
        os.environ.update(
            {f"XDG_{kind}_HOME": str(home / kind.lower()) for kind in ("DATA", "CACHE", "CONFIG")}
        )
        if (folder / "data").exists():
            os.environ["NIKAWA_DATA"] = "data"
        tempfile.tempdir = None
        os.chdir(folder)
        if not trusted:
            resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_LIMIT, ADDRESS_LIMIT))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            resource.setrlimit(resource.RLIMIT_FSIZE, (3_000_000_000, 3_000_000_000))
        if os.getuid() == 0 and not trusted:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
        sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
        sys.argv = ["nikawa", *words]
        from nikawa.cli import main

        main()
        status = 0
    except SystemExit as end:
        status = end.code
    except BaseException:
        traceback.print_exc()
        status = 1
    finally:
        if trusted:
            (folder.parent / "modules").write_text("\n".join(sys.modules))
        with suppress(Exception):
            sys.stdout.flush()
        with suppress(Exception):
            sys.stderr.flush()
        os._exit(status if isinstance(status, int) else int(status is not None))


@dataclass
class Fuzzer:
    """The cases of one seed, played below one folder."""

    root: Path
    """Holds the seeds, the bombs and the folders of cases."""
    seed: int
    seconds: float
    others: list[Path] = field(default_factory=list)
    """Honest files whose content may take the place of another's."""

    @property
    def seeds(self) -> Path:
        """The honest files."""
        return self.root / "seeds" / "work"

    def prepare(self, bombs: bool = True) -> None:
        """Make the honest files and the bombs."""
        self.root.chmod(0o755)
        for name in ("work", "home", "tmp"):
            (self.root / "seeds" / name).mkdir(parents=True)
        from tests.soak.fuzz_seeds import make_bombs, make_seeds

        def run(command: str) -> None:
            if problem := self.run_honest(command, self.seeds):
                say(f"no seed by {command!r}: {problem}")

        make_seeds(self.seeds, run)
        (self.root / "bombs").mkdir()
        if bombs:
            child = os.fork()  # what making them takes is not kept
            if not child:
                make_bombs(self.root / "bombs")
                os._exit(0)
            assert os.waitpid(child, 0)[1] == 0, "the bombs could not be made"
        self.others += (
            path
            for path in sorted(self.seeds.rglob("*"))
            if path.is_file() and not path.is_symlink() and path.stat().st_size < 100_000
        )

    def run_honest(self, words: str, folder: Path) -> str:
        """Run a command on files that nobody damaged, and import what it needed; what is wrong, if anything."""
        status, *_ = run_child(shlex.split(words), folder, 300, trusted=True)
        import_all((folder.parent / "modules").read_text().split())
        said = (folder.parent / "err").read_text("utf-8", "replace").strip()
        return f"status {status}: {said[-300:]!a}" if status not in (0, 1) else ""

    def check_honest(self) -> list[str]:
        """The commands that refuse honest files: damage to those would show nothing."""
        refused = []
        for number, command in enumerate((*COMMANDS, *OWNERS)):
            folder = self._make_folder(f"honest-{number}", command)
            if problem := self.run_honest(command.words, folder):
                refused.append(f"{command.words}: {problem}")
            remove(folder.parents[2])
        return refused

    def _make_folder(self, name: str, command: Command) -> Path:
        folder = self.root / "cases" / name / "a" / "b" / "work"
        for place in (folder, folder.parent / "home", folder.parent / "tmp"):
            place.mkdir(parents=True)
        for seed in (*command.beside, *command.damaged):
            self._copy(seed, folder)
        return folder

    def command(self, case: int) -> Command:
        """The command of a case."""
        commands = OWNERS if case % 20 == 19 else COMMANDS
        return random.Random(f"{self.seed}:{case}").choice(commands)

    def play(self, case: int, keep: bool = False) -> Result:
        """Play one case; its folder is kept where something does not hold, or on demand."""
        rng = random.Random(f"{self.seed}:{case}")
        command = rng.choice(OWNERS if case % 20 == 19 else COMMANDS)
        folder = self._make_folder(str(case), command)
        place = folder.parents[2]
        damage, targets = self._damage(command, folder, rng)
        words = shlex.split(command.words)
        if rng.random() < 0.03:
            words, targets = rename_argument(words, targets, folder, rng)
        if rng.random() < 0.3:
            words.append("--json")
        _give_away(place)
        before = dict(list_tree(place))
        writers = [_feed(folder / target) for target in targets if _is_pipe(folder / target)]
        status, seconds, memory = run_child(words, folder, self.seconds)
        for writer in writers:
            with suppress(ProcessLookupError):
                os.kill(writer, signal.SIGKILL)
            os.waitpid(writer, 0)
        after = dict(list_tree(place))
        out, err = ((folder.parent / name).read_bytes() for name in ("out", "err"))
        result = Result(case, command.verb, shlex.join(words), damage, status, seconds, memory)
        result.out, result.err = (data.decode("utf-8", "replace")[:20_000] for data in (out, err))
        result.faults = [
            *judge_end(result, self.seconds),
            *judge_output(out, err, result, [folder / target for target in targets]),
            *judge_files(before, after, command, status),
        ]
        if not (keep or result.faults):
            remove(place)
        return result

    def _copy(self, name: str, folder: Path) -> None:
        source, target = self.seeds / name, folder / name
        if target.exists() or not source.exists():
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, symlinks=True)
        else:
            shutil.copy(source, target)

    def _damage(
        self, command: Command, folder: Path, rng: random.Random
    ) -> tuple[list[str], list[str]]:
        from tests.soak.fuzz_mutations import NAMES, mutate

        said: list[str] = []
        targets: list[str] = []
        renamed = False
        for _ in range(1 if rng.random() < 0.85 else 2):
            start = folder / rng.choice(command.damaged)
            files = (
                [start]
                if not start.is_dir()
                else sorted(p for p in start.rglob("*") if p.is_file())
            )
            files = [
                path
                for path in files
                if path.is_file() and os.access(path, os.R_OK) and path.stat().st_size < 10**8
            ]
            if not files:
                continue
            path = rng.choice(files)
            name = str(path.relative_to(folder))
            if any(line.startswith(name) for line in said):
                continue  # once is enough, and a bomb is not to be unpacked here
            if start.is_dir() and rng.random() < 0.04:  # a name is content too
                new = rng.choice(NAMES).replace("/", "_").replace("\0", "_")[:80]
                new = new.encode("utf-8", "replace").decode()
                new = new if new.strip(".") else "_"
                path = path.rename(path.with_name(f"{new}{path.suffix}"))
                said.append(f"{name} is called {new!r}")
                renamed = True
                continue
            said.append(f"{name}: {mutate(path, rng, self.root / 'bombs', self.others)}")
            targets.append(name)
        return said, [] if renamed else targets  # a file that is missing is what is told first


def rename_argument(
    words: list[str], targets: list[str], folder: Path, rng: random.Random
) -> tuple[list[str], list[str]]:
    """The words with another name for a damaged file among them, one that a terminal would obey or a message flood."""
    from tests.soak.fuzz_mutations import NAMES

    for target in targets:
        path = folder / target
        if target not in words or not (path.exists() or path.is_symlink()):
            continue
        odd = rng.choice(NAMES).replace("/", "_").replace("\0", "_")[:60]
        odd = odd.encode("utf-8", "surrogateescape" if "\ud800" not in odd else "replace").decode()
        name = f"x{odd}{''.join(path.suffixes)}"
        path.rename(path.with_name(name))
        new = str(Path(target).with_name(name))
        words = [new if word == target else word for word in words]
        targets = [new if other == target else other for other in targets]
    return words, targets


def _give_away(folder: Path) -> None:
    """Let the user of the cases own a folder and all in it."""
    if os.getuid() != 0:
        return
    os.chown(folder, NOBODY, NOBODY)
    for place, folders, files in os.walk(folder):
        for name in (*folders, *files):
            os.chown(Path(place, name), NOBODY, NOBODY, follow_symlinks=False)


def _is_pipe(path: Path) -> bool:
    try:
        return stat.S_ISFIFO(path.lstat().st_mode)
    except OSError:
        return False


def _feed(path: Path) -> int:
    """Write a line into a pipe, once, in a process of its own: without a writer any program would wait."""
    child = os.fork()
    if child:
        return child
    with suppress(OSError), path.open("wb") as stream:
        stream.write(b'{"id": "1"}\n')
    os._exit(0)


def list_tree(folder: Path) -> Iterator[tuple[str, tuple[int, int, int]]]:
    """(Path below the folder, what tells whether it changed) of everything in it but the streams of the command."""
    for place, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = Path(place, name)
            found = path.lstat()
            relative = str(path.relative_to(folder))
            if relative not in ("a/b/out", "a/b/err"):
                is_plain = stat.S_ISREG(found.st_mode)  # a pipe is fed, which changes its times
                changed = (0, 0) if not is_plain else (found.st_size, found.st_mtime_ns)
                yield relative, (stat.S_IFMT(found.st_mode), *changed)


def remove(folder: Path) -> None:
    """Remove a case's folder, also where something in it is locked."""

    def unlock(function: Callable[..., object], path: str, _: object) -> None:
        Path(path).parent.chmod(0o700)
        function(path)

    shutil.rmtree(folder, onerror=unlock)


def judge_end(result: Result, limit: float) -> Iterator[tuple[str, str]]:
    """Status, time and memory."""
    if result.seconds > limit:
        yield "time", f"more than {limit:g} s"
    elif result.status < 0:
        yield "signal", signal.Signals(-result.status).name
    elif result.status not in (0, 1, 2):
        yield "status", str(result.status)
    if result.memory > MEMORY_LIMIT:
        yield "memory", "more than 1 GB"


def judge_output(
    out: bytes, err: bytes, result: Result, targets: Sequence[Path]
) -> Iterator[tuple[str, str]]:
    """What reached the terminal."""
    said = err.decode("utf-8", "replace")
    if "Traceback (most recent call last)" in said or "Exception ignored" in said:
        yield "traceback", shape_traceback(said)
        return
    if re.search(r"\b\w*Warning: ", said):
        yield "warning", shape(said)
    for name, data in (("stdout", out), ("stderr", err)):
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError:
            yield "unprintable", f"{name} is not UTF-8"
            continue
        if odd := sorted(char for char in set(text) if is_obeyed(char)):
            yield "unprintable", f"{name}: {', '.join(ascii(char) for char in odd[:4])}"
    if result.status != 2 or result.seconds > 10**6:
        return
    said = PROGRESS.sub("", said)
    lines = said.split("\n")
    if len(lines) != 2 or lines[1]:
        yield "lines", f"{len(lines) - 1} lines: {shape(said)}"
    if not said.startswith("nikawa: "):
        yield "prefix", shape(said)
    if len(said) > MAX_MESSAGE:
        yield "length", f"a long message: {shape(said)}"
    if targets and not any(is_named(target, said) for target in targets):
        yield "unnamed", shape(said)


NOBODYS_FAULT = re.compile(
    r"nothing is left to release|nothing was rewritten|is where .* is built|is not in data/"
    r"|was made with another|which is (?:no|not an) example|do not both have gold|no split of .* has gold|\[form_settings\]"
    r"|: example '.*' has no '|: the examples come from "
)
"""Messages about all of a dataset or folder, or about two files that do not fit: none is to blame alone. An example is
found by the dataset and its id."""
PROGRESS = re.compile(r"^[^\n]*, for \d+:\d\d[^\n]*\n", re.MULTILINE)
"""A line that a long job writes now and then where stderr is a file."""


def is_named(target: Path, said: str) -> bool:
    """Whether a message names a file; one that is gone cannot be told from others, one beside it may be what misfits."""
    from nikawa.printable import printable

    if NOBODYS_FAULT.search(said) or re.search(
        rf":{re.escape(target.stem)}\b|\b{re.escape(target.stem)}/", said
    ):  # as dev/3 and own:dev name dev.jsonl
        return True
    if not target.exists() and not target.is_symlink():
        return True
    beside = (path.name for path in target.parent.iterdir() if not path.name.startswith("."))
    in_root = target.parent.name == "work"
    names = (target.name,) if in_root else (target.name, *beside)
    shown = [printable(name) for name in names]
    return any(name[-60:] in said or name[:20] in said for name in shown)  # a long one is cut


def is_obeyed(char: str) -> bool:
    """Whether a terminal may do something else with a character than show it."""
    return char not in "\n\t" and unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp")


def judge_files(
    before: dict[str, tuple[int, int, int]],
    after: dict[str, tuple[int, int, int]],
    command: Command,
    status: int,
) -> Iterator[tuple[str, str]]:
    """What the command wrote, changed or left behind."""
    for path in sorted({*before, *after}):
        if before.get(path) == after.get(path):
            continue
        inside = path.removeprefix("a/b/work/")
        if inside == path:
            inside = path.replace("a/b/", "../", 1)
        is_kept = _is_below(inside, command.keeps)
        if TEMPORARY.search(Path(path).name) and path in after and status >= 0:
            yield "leftover", shape(inside)
        elif not is_kept and not _is_below(inside, command.writes):
            yield "outside", shape(path)
        elif status == 2 and not is_kept:
            yield "half-written", shape(inside)


def _is_below(path: str, places: Iterable[str]) -> bool:
    return any(path == place or path.startswith(f"{place}/") for place in places)


def shape(text: str) -> str:
    """A message without what differs from case to case."""
    text = re.sub(r"'(?:\\.|[^'])*'|\"(?:\\.|[^\"])*\"|`[^`]*`", "'…'", text[:3_000])
    text = re.sub(r"\d[\d,.]*", "0", text)
    return ascii(re.sub(r"\s+", " ", text).strip()[:160])[1:-1]


def shape_traceback(text: str) -> str:
    """The last frame inside Nikawa and the error."""
    frames = re.findall(r'File "[^"]*?((?:src/)?nikawa/[^"]+)", line (\d+), in (\S+)', text)
    place = f"{frames[-1][0]}:{frames[-1][1]} {frames[-1][2]}" if frames else "outside nikawa"
    errors = [
        line
        for line in text.splitlines()
        if re.match(r"^[\w.]+(Error|Exception|Exit|Interrupt)?\b(:|$)", line)
    ]
    return f"{place}: {shape(errors[-1])[:100] if errors else '?'}"


def play_all(fuzzer: Fuzzer, cases: Sequence[int], workers: int) -> Iterator[Result]:
    """Play the cases in so many processes; results come as they are done."""
    connections, children = [], []
    for worker in range(workers):
        ours, theirs = Pipe(duplex=False)
        child = os.fork()
        if not child:
            status = 1
            try:
                for case in cases[worker::workers]:
                    theirs.send(fuzzer.play(case))
                status = 0
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(status)
        theirs.close()
        connections.append(ours)
        children.append(child)
    while connections:
        for ready in wait(connections):
            try:
                yield cast("Result", cast("Any", ready).recv())
            except EOFError:
                connections.remove(cast("Any", ready))
    failed = [child for child in children if os.waitpid(child, 0)[1]]
    if failed:
        raise RuntimeError("a process of the fuzzer itself failed; see above")


def group_faults(results: Iterable[Result]) -> dict[tuple[str, str, str], list[Result]]:
    """The failures by (verb, kind, shape), the most frequent first."""
    groups: dict[tuple[str, str, str], list[Result]] = defaultdict(list)
    for result in results:
        for kind, detail in result.faults:
            groups[result.verb, kind, detail].append(result)
    return dict(sorted(groups.items(), key=lambda pair: (-len(pair[1]), pair[0])))


def main(words: Sequence[str] | None = None) -> int:
    """Play what the command line asks for; status 1 when something does not hold."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--cases", type=int, default=20_000)
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=30, help="time limit of a case")
    parser.add_argument("--only", help="only commands that begin with this")
    parser.add_argument("--case", type=int, help="repeat this one case and show it")
    parser.add_argument("--again", type=Path, help="play the cases of a file that --save wrote")
    parser.add_argument("--no-bombs", action="store_true", help="do without the packed bombs")
    parser.add_argument(
        "--keep",
        type=Path,
        default=Path(tempfile.gettempdir()) / "nikawa-fuzz",
        help="folder for failing inputs",
    )
    parser.add_argument(
        "--root", type=Path, help="where cases are played; memory is fastest: /dev/shm"
    )
    parser.add_argument("--save", type=Path, help="add the failures to this file as JSON lines")
    options = parser.parse_args(words)
    os.umask(0o022)
    warm()
    with tempfile.TemporaryDirectory(
        prefix="nikawa-fuzz-", dir=options.root, ignore_cleanup_errors=True
    ) as root:
        fuzzer = Fuzzer(Path(root), options.seed, options.seconds)
        fuzzer.prepare(bombs=not options.no_bombs)
        if options.case is not None:
            return show_case(fuzzer, options.case, options.keep)
        if options.cases >= FULL_CASES:
            for refused in fuzzer.check_honest():
                say(f"honest files are refused: {refused}")
        cases: Iterable[int] = count(options.first)
        if options.again:
            lines = options.again.read_text("utf-8").splitlines()
            cases = sorted({int(json.loads(line)["case"]) for line in lines})
        if options.only:
            cases = (n for n in cases if fuzzer.command(n).words.startswith(options.only))
        results = play_all(fuzzer, list(islice(cases, options.cases)), options.workers)
        return report(results, fuzzer, options.keep, options.save)


def show_case(fuzzer: Fuzzer, case: int, keep: Path) -> int:
    """Play one case and show all of it; its folder stays below `keep`."""
    result = fuzzer.play(case, keep=True)
    say(f"nikawa {result.words}")
    for damage in result.damage:
        say(f"  {damage!a}")
    say(f"status {result.status}, {result.seconds:.1f} s, {result.memory / 1e6:.0f} MB")
    say(f"stdout: {result.out[-4_000:]!a}")
    say("stderr:\n" + "\n".join(ascii(line)[1:-1] for line in result.err[-8_000:].splitlines()))
    for kind, detail in result.faults:
        say(f"does not hold: {kind}: {detail}")
    say(f"folder: {keep_case(fuzzer, case, keep)}")
    return int(bool(result.faults))


def keep_case(fuzzer: Fuzzer, case: int, keep: Path) -> Path:
    """Move the folder of a case out of the temporary one; where its command was run."""
    target = keep / f"{fuzzer.seed}-{case}"
    if target.exists():
        remove(target)
    keep.mkdir(parents=True, exist_ok=True)
    shutil.move(fuzzer.root / "cases" / str(case), target)
    return target / "a" / "b" / "work"


def report(results: Iterable[Result], fuzzer: Fuzzer, keep: Path, save: Path | None) -> int:
    """Print the failures by group with a way to repeat each; status 1 when there are any."""
    failed: list[Result] = []
    number, begin, statuses = 0, time.monotonic(), Counter[int]()
    for number, result in enumerate(results, start=1):
        statuses[result.status] += 1
        if result.faults:
            failed.append(result)
            if save:  # at once: a run takes long, and its failures can be looked at meanwhile
                with save.open("a", encoding="utf-8") as stream:
                    stream.write(json.dumps(asdict(result)) + "\n")
        if number % 500 == 0:
            say(f"{number:,} cases, {len(failed):,} failed, {time.monotonic() - begin:.0f} s")
    for (verb, kind, detail), group in group_faults(failed).items():
        first = min(group, key=lambda result: result.case)
        say(f"{len(group):5} {verb}: {kind}: {detail}")
        say(f"      {'; '.join(first.damage)!a}")
        say(f"      python -m tests.soak.fuzz --seed {fuzzer.seed} --case {first.case}")
        with suppress(OSError, shutil.Error):
            keep_case(fuzzer, first.case, keep)
    ends = ", ".join(f"{status}: {n:,}" for status, n in sorted(statuses.items()))
    say(f"{number:,} cases, {len(failed):,} failed; by status {ends}")
    return int(bool(failed))


def say(line: str) -> None:
    """Print a line now: a run takes long."""
    print(line, flush=True)  # noqa: T201


if __name__ == "__main__":
    sys.exit(main())
