"""The folder of a project: settings, guidelines, items, and the secret that links are made from."""

from __future__ import annotations

import hmac
import secrets
from base64 import b32encode, urlsafe_b64encode
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from nikawa.collect.form import Form, find_form
from nikawa.collect.pseudonyms import OWNER_KEY, PseudonymKey, read_key, write_key
from nikawa.collect.settings import Settings, format_settings, read_settings
from nikawa.collect.writers import WRITERS, Authorship, write_writers
from nikawa.errors import BadInput, name_faulty_file
from nikawa.io.atomic import atomic_folder, atomic_write, private_files
from nikawa.io.lines import read_bytes
from nikawa.io.records import write_records
from nikawa.records import Example
from nikawa.serve.languages import LANGUAGES

SETTINGS, SECRET, EXAMPLES = "project.toml", "secret.key", "examples.jsonl"
KINDS = {"main": EXAMPLES, "gold": "gold.jsonl", "pilot": "pilot.jsonl"}

GUIDELINES = {
    "ja": "# 作業ガイドライン\n\n1. 文をよく読んでください。\n2. 最もよく当てはまる答えを選んでください。\n"
    "3. 判断できない問題や、問題のある文は「報告する」から報告してください。\n",
    "ko": "# 작업 지침\n\n1. 글을 주의 깊게 읽어 주세요.\n2. 가장 알맞은 답을 골라 주세요.\n"
    "3. 판단할 수 없거나 문제가 있는 글은 ‘신고하기’로 신고해 주세요.\n",
    "en": "# Guideline\n\n1. Read the text carefully.\n2. Give the answer that fits best.\n"
    "3. If you cannot decide, or the text has errors, use Report.\n",
}


@dataclass(frozen=True)
class Project:
    """An opened project."""

    folder: Path
    settings: Settings
    form: Form
    options: Any
    """The form's own settings."""
    secret: bytes
    """The key of links, draws and codes: who has it can act as any worker."""
    shared_key: PseudonymKey | None = None
    """The key of pseudonyms that the project shares with others; None: its own secret is the key."""

    def token(self, worker: str) -> str:
        """The unguessable part of a worker's link: 192 bits that only the secret gives."""
        return urlsafe_b64encode(self._keyed("worker", worker)[:24]).decode()

    @cached_property
    def draw_key(self) -> bytes:
        """The key of draws that must stay secret: control items, orders, the start of a search."""
        return self._keyed("draws", "")

    def code(self, worker: str) -> str:
        """The completion code of a worker."""
        fixed = self.settings.crowd.completion_code
        return fixed or b32encode(self._keyed("done", worker)[:10]).decode()[:12]

    @property
    def pseudonym_keys(self) -> tuple[PseudonymKey, ...]:
        """The key of pseudonyms, then those that earlier exports may have been made with."""
        own = PseudonymKey(self.secret, is_folded=False)
        return (own,) if self.shared_key is None else (self.shared_key, own)

    def pseudonym(self, worker: str) -> str:
        """A pseudonym, which shows only that two answers come from the same person."""
        return self.pseudonym_keys[0].make_pseudonym(worker)

    def pseudonyms(self, worker: str) -> list[str]:
        """Every pseudonym a worker may be known by here."""
        return [key.make_pseudonym(worker) for key in self.pseudonym_keys]

    @property
    def is_together(self) -> bool:
        """Whether two workers meet and answer an item together."""
        return self.form.together(self.options)

    @property
    def join_key(self) -> str:
        """The unguessable part of the entrance for a crowd platform."""
        return urlsafe_b64encode(self._keyed("join", "")[:18]).decode()

    @property
    def name(self) -> str:
        """A short name that stays when the folder moves: the schema in PostgreSQL."""
        return self._keyed("schema", "").hex()[:16]

    def guideline(self, language: str) -> str:
        """The guideline in a language, else in the project's own."""
        for choice in (language, self.settings.language, *LANGUAGES):
            path = self.folder / f"guideline.{choice}.md"
            if path.is_file():
                # It may be saved again while workers read it, so half a character is not an error.
                return read_bytes(path, "settings").decode("utf-8", errors="replace")
        return ""

    def _keyed(self, purpose: str, text: str) -> bytes:
        """32 bytes that only the secret gives; two purposes never share any."""
        message = f"{purpose}\0{text}".encode("utf-8", "surrogatepass")
        return hmac.digest(self.secret, message, "sha256")


def open_project(folder: Path) -> Project:
    """Read and check a project's settings and secret.

    Raises `BadInput` where a file is missing or wrong, or the form is unknown.
    """
    settings = read_settings(folder / SETTINGS)
    with name_faulty_file(folder / SETTINGS):
        form = find_form(settings.form)
    options = form.parse_options(settings.options, folder / SETTINGS)
    path = folder / SECRET
    if not path.exists():
        cure = "restore it: without it no worker's link works"
        raise BadInput("is missing", file=path, cure=cure)
    try:
        secret = bytes.fromhex(read_bytes(path, "settings").decode("ascii").strip())
    except ValueError:
        raise BadInput("is not a secret key", file=path, cure="restore the file") from None
    if len(secret) < 32:
        raise BadInput("is too short to be a secret key", file=path, cure="restore the file")
    key_file = folder / OWNER_KEY
    shared_key = read_key(key_file) if key_file.exists() else None
    _check_together(form, options, settings, folder / SETTINGS)
    return Project(folder, settings, form, options, secret, shared_key)


def _check_together(form: Form, options: Any, settings: Settings, file: Path | None = None) -> None:
    """Raise `BadInput` where the settings do not let the two workers meet who answer an item together."""
    if not form.together(options):
        return
    if settings.assign.workers_per_item != 2:
        count = settings.assign.workers_per_item
        what = f"two workers answer an item together, but workers_per_item is {count}"
        cure = "write workers_per_item = 2 (nikawa collect new: --workers-per-item 2)"
        raise BadInput(what, file=file, cure=cure)
    if settings.effort.most:
        what = "two workers answer each item together, so [effort] has nothing to adapt"
        raise BadInput(what, file=file, cure="write most = 0 in [effort]")


def create_project(
    folder: Path,
    settings: Settings,
    examples: Iterable[Example],
    writers: Iterable[Authorship] = (),
    shared_key: PseudonymKey | None = None,
    guidelines: Mapping[str, str] | None = None,
) -> Project:
    """Make the folder of a new project, whole or not at all; it is for its owner alone (mode 0700, files 0600).

    An example that the form cannot show is bad input, as is a folder that exists. `shared_key` is the key of pseudonyms
    it has in common with other projects, `guidelines` by language go before those of the form.
    """
    if folder.exists():
        cure = "choose another name; nikawa collect import PROJECT --examples FILE adds items to a project"
        raise BadInput("the folder already exists", file=folder, cure=cure)
    form = find_form(settings.form)
    settings = replace(settings, options=form.initial_options(settings.options))
    options = form.parse_options(settings.options)
    _check_together(form, options, settings)
    contents = _take_files(form, settings)
    settings = replace(settings, options={**settings.options, **{n: f"{n}.json" for n in contents}})
    with private_files(), atomic_folder(folder) as made:
        for name, content in contents.items():
            (made / f"{name}.json").write_bytes(content)
        (made / SETTINGS).write_text(format_settings(settings), "utf-8")
        texts = {**GUIDELINES, **form.guidelines(options), **(guidelines or {})}
        for language, text in texts.items():
            (made / f"guideline.{language}.md").write_text(text, "utf-8")
        count = write_records(made / EXAMPLES, _refuse_faulty(examples, form, options))
        if not count:
            raise BadInput(
                "there are no examples", cure="pass a file or dataset that contains examples"
            )
        if authors := list(writers):
            write_writers(made / WRITERS, authors)
        for kind in ("gold", "pilot"):
            (made / KINDS[kind]).touch()
        with atomic_write(made / SECRET) as stream:
            stream.write(f"{secrets.token_hex(32)}\n".encode())
        if shared_key is not None:
            write_key(made / OWNER_KEY, shared_key)
        for path in made.iterdir():
            path.chmod(0o600)
    return open_project(folder)


def _take_files(form: Form, settings: Settings) -> dict[str, bytes]:
    """The content of the files that settings of the form name, or hold as they are, by setting."""
    paths = form.find_files(settings.options)
    contents = {name: path.read_bytes() for name, path in paths.items()}
    for name in form.files:
        value = settings.options.get(name)
        if value and name not in contents:
            contents[name] = msgspec.json.format(msgspec.json.encode(value), indent=1) + b"\n"
    return contents


def _refuse_faulty(examples: Iterable[Example], form: Form, options: Any) -> Iterable[Example]:
    """The same examples; one that the form cannot show is bad input."""
    for example in examples:
        fault = form.find_fault(example, options)
        if fault:
            what, cure = (
                f"example {example.id!r}: {fault}",
                "choose another form, or other examples",
            )
            raise BadInput(what, cure=cure)
        yield example
