"""doccano 1.8.4: every kind of project for texts, two people's labels, each export; and our own export taken in and out
again.

Web server and task worker run with SQLite in `.interop/`, and are driven over the interface that the pages use. The
release needs marshmallow below 4 and NumPy below 2, which its own requirements do not say.
"""

from __future__ import annotations

import io
import json
import os
import shutil
import struct
import subprocess
import sys
import time
import urllib.error
import urllib.request
import wave
import zipfile
import zlib
from pathlib import Path
from typing import Any

from tests.interop.environments import FOLDER, ensure_data_folder, ensure_environment
from tests.interop.items import CHOICES, ENTITIES, write_round_trip_project

VERSION = "1.8.4"
PORT = 8933
BASE = f"http://127.0.0.1:{PORT}/v1"
PEOPLE = ("hanako", "minsu")
WAIT = 120


class Person:
    """One person's session."""

    def __init__(self, name: str) -> None:
        self.token = ""
        self.token = self.call("POST", "/auth/login/", {"username": name, "password": "secret"})[
            "key"
        ]
        self.number = self.call("GET", "/me")["id"]

    def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        raw: bool = False,
        kind: str = "application/json",
    ) -> Any:
        """What the server answers."""
        data = (
            body if isinstance(body, bytes) else None if body is None else json.dumps(body).encode()
        )
        request = urllib.request.Request(f"{BASE}{path}", data, method=method)
        request.add_header("Content-Type", kind)
        if self.token:
            request.add_header("Authorization", f"Token {self.token}")
        try:
            with urllib.request.urlopen(request, timeout=60) as reply:
                content = reply.read()
        except urllib.error.HTTPError as problem:
            raise SystemExit(f"{method} {path}: {problem.code} {problem.read()[:500]!r}") from None
        return content if raw else json.loads(content or b"null")


def start_servers(bin_folder: Path) -> list[subprocess.Popen[bytes]]:
    """Start web server and task worker on an empty database, and wait until they answer."""
    home = FOLDER / "doccano_home"
    shutil.rmtree(home, ignore_errors=True)
    environment = {**os.environ, "DOCCANO_HOME": str(home)}
    doccano = bin_folder / "doccano"
    with (FOLDER / "doccano.log").open("wb") as log:
        subprocess.run([doccano, "init"], env=environment, stdout=log, stderr=log, check=True)
        for name in PEOPLE:
            words = [
                "createuser",
                "--username",
                name,
                "--password",
                "secret",
                "--email",
                f"{name}@example.org",
            ]
            subprocess.run([doccano, *words], env=environment, stdout=log, stderr=log, check=True)
        servers = [
            subprocess.Popen([doccano, *words], env=environment, stdout=log, stderr=log)
            for words in (["webserver", "--port", str(PORT)], ["task"])
        ]
    for _ in range(WAIT):
        try:
            urllib.request.urlopen(f"{BASE}/auth/login/", timeout=5)
        except urllib.error.HTTPError:
            return servers  # it answers: a log-in is posted
        except OSError:
            time.sleep(1)
    raise SystemExit(f"doccano does not answer: see {FOLDER / 'doccano.log'}")


def create_project(people: list[Person], name: str, kind: str, **settings: Any) -> str:
    """A project with all people as members; the address of its parts."""
    owner = people[0]
    body: dict[str, Any] = {
        "name": name,
        "description": name,
        "project_type": kind,
        "resourcetype": f"{kind}Project",
    }
    body |= {"guideline": "", "collaborative_annotation": False, "random_order": False, "tags": []}
    if kind == "DocumentClassification":
        body["resourcetype"] = "TextClassificationProject"
    number = owner.call("POST", "/projects", body | settings)["id"]
    roles = {role["name"]: role["id"] for role in owner.call("GET", "/roles")}
    for person in people[1:]:
        member = {"user": person.number, "role": roles["annotator"]}
        owner.call("POST", f"/projects/{number}/members", member)
    return f"/projects/{number}"


def add_examples(owner: Person, project: str, items: list[tuple[str, str]]) -> dict[str, int]:
    """Documents with our ids as metadata; the number of each."""
    return {
        item: owner.call("POST", f"{project}/examples", {"text": text, "meta": {"example": item}})[
            "id"
        ]
        for item, text in items
    }


def add_types(owner: Person, project: str, kind: str, names: list[str]) -> dict[str, int]:
    """Labels of a kind (`category`, `span`, `relation`); the number of each."""
    numbers = {}
    for name in names:
        body = {"text": name, "prefixKey": None, "suffixKey": None, "backgroundColor": "#209cee"}
        numbers[name] = owner.call("POST", f"{project}/{kind}-types", body)["id"]
    return numbers


def wait_for_file(owner: Person, project: str, kind: str, confirmed: bool = False) -> bytes:
    """The archive that an export makes."""
    body = {"format": kind, "exportApproved": confirmed}
    task = owner.call("POST", f"{project}/download", body)["task_id"]
    for _ in range(WAIT):
        content = owner.call("GET", f"{project}/download?taskId={task}", raw=True)
        if not content.startswith(b"{"):
            return bytes(content)
        time.sleep(0.5)
    raise SystemExit("the export does not end")


def unpack(content: bytes, folder: Path) -> None:
    """Unpack an export as a person does."""
    shutil.rmtree(folder, ignore_errors=True)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        archive.extractall(folder)


def mark_spans(person: Person, at: str, spans: list[Any], types: dict[str, int]) -> list[int]:
    """Post a person's spans of a document; the number of each.

    They are in UTF-16 units, as the page posts what was marked in a browser (in grapheme mode it posts graphemes).
    """
    numbers = []
    text = person.call("GET", at)["text"]
    for start, end, label in spans:
        units = [len(text[:offset].encode("utf-16-le")) // 2 for offset in (start, end)]
        body = {"start_offset": units[0], "end_offset": units[1], "label": types[label]}
        numbers.append(person.call("POST", f"{at}/spans", body)["id"])
    return numbers


def make_classification(people: list[Person], folder: Path) -> None:
    """One label a document, exported as JSON lines, JSON, CSV and fastText."""
    project = create_project(
        people, "sentiment", "DocumentClassification", single_class_classification=True
    )
    items = [(item, text) for item, text, _ in CHOICES]
    examples = add_examples(people[0], project, [*items, ("open", "まだ誰も読んでいない文。")])
    types = add_types(people[0], project, "category", ["positive", "negative"])
    for item, _, answers in CHOICES:
        for person, (label, *_) in zip(people, answers, strict=True):
            at = f"{project}/examples/{examples[item]}"
            person.call("POST", f"{at}/categories", {"label": types[label]})
            person.call("POST", f"{at}/states", {})
    for kind in ("JSONL", "JSON", "CSV", "fastText"):
        unpack(wait_for_file(people[0], project, kind), folder / f"classification_{kind.lower()}")


def make_spans(people: list[Person], folder: Path) -> None:
    """Spans, and spans with relations; one document without any, one that nobody opened."""
    for name, use_relation in (("spans", False), ("relations", True)):
        project = create_project(
            people,
            name,
            "SequenceLabeling",
            use_relation=use_relation,
            allow_overlapping=False,
            grapheme_mode=False,
        )
        items = [(item, text) for item, text, _ in ENTITIES]
        examples = add_examples(people[0], project, [*items, ("open", "まだ誰も読んでいない文。")])
        types = add_types(people[0], project, "span", ["PS", "LC", "OG"])
        links = (
            add_types(people[0], project, "relation", ["works_for", "lives_in"])
            if use_relation
            else {}
        )
        for item, _, answers in ENTITIES:
            for person, (spans, relations) in zip(people, answers, strict=True):
                at = f"{project}/examples/{examples[item]}"
                numbers = mark_spans(person, at, spans, types)
                for source, target, label in relations if use_relation else ():
                    body = {
                        "from_id": numbers[source],
                        "to_id": numbers[target],
                        "type": links[label],
                    }
                    person.call("POST", f"{at}/relations", body)
                person.call("POST", f"{at}/states", {})
        unpack(wait_for_file(people[0], project, "JSONL"), folder / name)
        unpack(
            wait_for_file(people[0], project, "JSONL", confirmed=True), folder / f"{name}_confirmed"
        )


def make_texts(people: list[Person], folder: Path) -> None:
    """Texts that people write, and intents with slots."""
    project = create_project(people, "reasons", "Seq2seq")
    examples = add_examples(people[0], project, [(item, text) for item, text, _ in CHOICES])
    for item, _, answers in CHOICES:
        for person, (_, _, reasons) in zip(people, answers, strict=True):
            for reason in reasons:
                person.call("POST", f"{project}/examples/{examples[item]}/texts", {"text": reason})
    unpack(wait_for_file(people[0], project, "JSONL"), folder / "texts")
    project = create_project(people, "intents", "IntentDetectionAndSlotFilling")
    examples = add_examples(people[0], project, [(item, text) for item, text, _ in ENTITIES])
    intents = add_types(people[0], project, "category", ["tell", "ask"])
    types = add_types(people[0], project, "span", ["PS", "LC", "OG"])
    for item, _, marked in ENTITIES:
        for person, (spans, _) in zip(people, marked, strict=True):
            at = f"{project}/examples/{examples[item]}"
            person.call("POST", f"{at}/categories", {"label": intents["tell"]})
            mark_spans(person, at, spans, types)
    unpack(wait_for_file(people[0], project, "JSONL"), folder / "intents")


def make_media(people: list[Person], folder: Path) -> None:
    """Projects of pictures and sound: labels and texts are answers as any, boxes and outlines are not."""
    picture, sound = folder / "dot.png", folder / "tone.wav"
    rows = zlib.compress(b"\0\xff")
    head = struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0)
    parts = ((b"IHDR", head), (b"IDAT", rows), (b"IEND", b""))
    chunks = [
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        for name, data in parts
    ]
    picture.write_bytes(b"\x89PNG\r\n\x1a\n" + b"".join(chunks))
    with wave.open(str(sound), "wb") as out:
        out.setparams((1, 2, 8000, 0, "NONE", ""))
        out.writeframes(b"\0\0" * 80)
    kinds = {
        "ImageClassification": ("ImageFile", picture, "categories"),
        "BoundingBox": ("ImageFile", picture, "bboxes"),
        "Segmentation": ("ImageFile", picture, "segments"),
        "ImageCaptioning": ("ImageFile", picture, "texts"),
        "Speech2text": ("AudioFile", sound, "texts"),
    }
    for kind, (file_format, file, part) in kinds.items():
        project = create_project(people, kind, kind)
        body = {"format": file_format, "task": kind, "uploadIds": [upload(people[0], file)]}
        import_files(people[0], project, body)
        example = people[0].call("GET", f"{project}/examples")["results"][0]["id"]
        types = {}
        if part != "texts":
            types = add_types(people[0], project, "category", ["dot"])
        label = types.get("dot")
        bodies: dict[str, dict[str, Any]] = {
            "categories": {"label": label},
            "bboxes": {"x": 0, "y": 0, "width": 1, "height": 1, "label": label},
            "segments": {"points": [0, 0, 1, 1], "label": label},
            "texts": {"text": "点がひとつ"},
        }
        for person in people:
            person.call("POST", f"{project}/examples/{example}/{part}", bodies[part])
        unpack(wait_for_file(people[0], project, "JSONL"), folder / kind)
    picture.unlink()
    sound.unlink()


def import_files(owner: Person, project: str, body: dict[str, Any]) -> None:
    """Take uploaded files into a project, and wait for the end of it."""
    task = owner.call("POST", f"{project}/upload", body)["task_id"]
    for _ in range(WAIT):
        status = owner.call("GET", f"/tasks/status/{task}")
        if status["ready"]:
            break
        time.sleep(0.5)
    if status.get("error"):
        raise SystemExit(f"{project}: {status}")


def upload(owner: Person, path: Path) -> str:
    """Send a file; the name the server knows it by."""
    edge = "nikawa-edge"
    head = (
        f'--{edge}\r\nContent-Disposition: form-data; name="filepond"; filename="{path.name}"\r\n'
    )
    head += "Content-Type: application/json\r\n\r\n"
    body = head.encode() + path.read_bytes() + f"\r\n--{edge}--\r\n".encode()
    kind = f"multipart/form-data; boundary={edge}"
    return str(owner.call("POST", "/fp/process/", body, raw=True, kind=kind).decode())


def make_round_trip(people: list[Person], folder: Path) -> None:
    """Our own export, imported into the server by its owner and exported by it."""
    owner = people[0]
    kinds = {
        "span-tagging": ("SequenceLabeling", {"allow_overlapping": False, "grapheme_mode": False}),
        "scale": ("DocumentClassification", {}),
        "translation": ("Seq2seq", {}),
    }
    for form, (kind, settings) in kinds.items():
        ours = folder / f"ours.{form}"
        write_round_trip_project(form, ours, "doccano")
        project = create_project(people[:1], form, kind, **settings)
        uploads = [upload(owner, file) for file in sorted(ours.glob("*.jsonl"))]
        body = {"format": "JSONL", "task": kind, "uploadIds": uploads, "column_data": "text"}
        body |= {"column_label": "label", "encoding": "utf_8"}
        import_files(owner, project, body)
        unpack(wait_for_file(owner, project, "JSONL"), folder / f"theirs.{form}")


def main() -> None:
    """Make the files."""
    bin_folder = ensure_environment("doccano", f"doccano=={VERSION}", "marshmallow<4", "numpy<2")
    folder = ensure_data_folder("doccano")
    servers = start_servers(bin_folder)
    try:
        people = [Person(name) for name in PEOPLE]
        make_classification(people, folder)
        make_spans(people, folder)
        make_texts(people, folder)
        make_media(people, folder)
        make_round_trip(people, folder)
        (folder / "VERSION").write_text(f"doccano {VERSION}\n")
    finally:
        for server in servers:
            server.terminate()
        for server in servers:
            try:
                server.wait(20)
            except subprocess.TimeoutExpired:  # the task worker waits for its own workers
                server.kill()
    sys.stdout.write(f"{folder}: {len(list(folder.rglob('*')))} files\n")


if __name__ == "__main__":
    main()
