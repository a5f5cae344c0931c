"""The folder of a project: settings, guidelines, items, and the secret that links are made from."""

from __future__ import annotations

import hmac
import os
import secrets
from base64 import b32encode, urlsafe_b64encode
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from nikawa.collect.form import Form, find_form
from nikawa.collect.settings import Settings, format_settings, read_settings
from nikawa.collect.writers import WRITERS, Authorship, write_writers
from nikawa.errors import BadInput
from nikawa.io.atomic import atomic_folder
from nikawa.io.records import write_records
from nikawa.records import Example
from nikawa.serve.languages import LANGUAGES

SETTINGS, SECRET, EXAMPLES = "project.toml", "secret.key", "examples.jsonl"
KINDS = {"main": EXAMPLES, "gold": "gold.jsonl", "pilot": "pilot.jsonl"}
MAX_NAME_CHARS = 200
"""Of a worker's name."""

GUIDELINES = {
    "ja": "# 作業の手引き\n\n1. 文をよく読んでください。\n2. 一番よく当てはまる答えを選んでください。\n"
    "3. 判断できないときや、問題のある文は「報告する」から知らせてください。\n",
    "ko": "# 작업 지침\n\n1. 글을 잘 읽어 주세요.\n2. 가장 알맞은 답을 골라 주세요.\n"
    "3. 판단할 수 없거나 문제가 있는 글은 '신고하기'로 알려 주세요.\n",
    "en": "# Guideline\n\n1. Read the text with care.\n2. Give the answer that fits best.\n"
    "3. Where you cannot decide, or the text is faulty, use Report.\n",
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
    """The key of links, pseudonyms and codes: who has it can act as any worker."""

    def token(self, worker: str) -> str:
        """The unguessable part of a worker's link: 192 bits that only the secret gives."""
        return urlsafe_b64encode(self._keyed("worker", worker)[:24]).decode()

    def code(self, worker: str) -> str:
        """The completion code of a worker."""
        fixed = self.settings.crowd.completion_code
        return fixed or b32encode(self._keyed("done", worker)[:10]).decode()[:12]

    def pseudonym(self, worker: str) -> str:
        """A name that tells nothing but that two answers are the same person's."""
        return f"w-{self._keyed('pseudonym', worker).hex()[:16]}"

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
                # It may be saved anew while workers read it: half a character is no fault.
                return path.read_text("utf-8", errors="replace")
        return ""

    def _keyed(self, purpose: str, text: str) -> bytes:
        """32 bytes that only the secret gives; two purposes never share any."""
        message = f"{purpose}\0{text}".encode("utf-8", "surrogatepass")
        return hmac.digest(self.secret, message, "sha256")


def is_person_name(name: str) -> bool:
    """Whether a person may go by a name: something to see, and nothing unseen but blanks, wide ones too."""
    if not 0 < len(name) <= MAX_NAME_CHARS or not name.strip():
        return False
    return name.replace("\u3000", " ").isprintable()


def open_project(folder: Path) -> Project:
    """Read and check a project's settings and secret.

    Raises `BadInput` where a file is missing or wrong, or the form is unknown.
    """
    settings = read_settings(folder / SETTINGS)
    form = find_form(settings.form)
    options = form.parse_options(settings.options, folder / SETTINGS)
    path = folder / SECRET
    try:
        secret = bytes.fromhex(path.read_text("ascii").strip())
    except FileNotFoundError:
        cure = "restore it: without it no worker's link works"
        raise BadInput("is missing", file=path, cure=cure) from None
    except ValueError:
        raise BadInput("is not a secret key", file=path, cure="restore the file") from None
    if len(secret) < 32:
        raise BadInput("is too short to be a secret key", file=path, cure="restore the file")
    return Project(folder, settings, form, options, secret)


def create_project(
    folder: Path,
    settings: Settings,
    examples: Iterable[Example],
    writers: Iterable[Authorship] = (),
) -> Project:
    """Make the folder of a new project, whole or not at all.

    An example that the form cannot show is bad input, as is a folder that exists.
    """
    if folder.exists():
        cure = "choose another name; nikawa collect import PROJECT --examples FILE adds items to a project"
        raise BadInput("exists already", file=folder, cure=cure)
    form = find_form(settings.form)
    settings = replace(settings, options=form.initial_options(settings.options))
    options = form.parse_options(settings.options)
    with atomic_folder(folder) as made:
        (made / SETTINGS).write_text(format_settings(settings), "utf-8")
        for language, text in {**GUIDELINES, **form.guidelines(options)}.items():
            (made / f"guideline.{language}.md").write_text(text, "utf-8")
        count = write_records(made / EXAMPLES, _refuse_faulty(examples, form, options))
        if not count:
            raise BadInput("there are no examples", cure="name a file or dataset that holds some")
        if authors := list(writers):
            write_writers(made / WRITERS, authors)
        for kind in ("gold", "pilot"):
            (made / KINDS[kind]).touch()
        descriptor = os.open(made / SECRET, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="ascii") as stream:
            stream.write(secrets.token_hex(32) + "\n")
    return open_project(folder)


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
