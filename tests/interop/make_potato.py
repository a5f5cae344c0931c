"""potato 2.12: a server with every common scheme, two people's answers posted as its page posts them, and what it keeps.

Kept are the state of each person (`annotation_output/PERSON/user_state.json`), the `annotations.jsonl` of a snapshot,
and the exports that `potato export` writes as CSV and JSON lines.
"""

from __future__ import annotations

import http.cookiejar
import json
import shutil
import subprocess
import sys
import time
import urllib.parse
import urllib.request
from typing import Any

from tests.interop.environments import FOLDER, ensure_data_folder, ensure_environment
from tests.interop.items import CHOICES, ENTITIES

VERSION = "2.12.0"
PORT = 8932
BASE = f"http://127.0.0.1:{PORT}"
PEOPLE = ("hanako", "minsu")
ORDERS = (("값", "맛", "양"), ("맛", "값", "양"))
"""How each of two people ranks what matters, the same for every item."""
CONFIG: dict[str, Any] = {
    "annotation_task_name": "Nikawa",
    "task_dir": ".",
    "output_annotation_dir": "annotation_output",
    "data_files": ["items.jsonl"],
    "item_properties": {"id_key": "id", "text_key": "text"},
    "user_config": {"allow_all_users": True, "users": []},
    "require_password": False,
    "assignment_strategy": "fixed_order",
    "max_annotations_per_user": -1,
    "annotation_schemes": [
        {
            "annotation_type": "radio",
            "name": "sentiment",
            "description": "How does it feel?",
            "labels": ["positive", "negative"],
        },
        {
            "annotation_type": "likert",
            "name": "fluency",
            "description": "How fluent is it?",
            "size": 5,
            "min_label": "not",
            "max_label": "very",
        },
        {"annotation_type": "text", "name": "reason", "description": "Why?"},
        {
            "annotation_type": "multiselect",
            "name": "topics",
            "description": "What is it about?",
            "labels": ["food", "travel"],
        },
        {
            "annotation_type": "ranking",
            "name": "order",
            "description": "What matters most?",
            "labels": ["맛", "값", "양"],
        },
        {
            "annotation_type": "span",
            "name": "ner",
            "description": "Mark the names",
            "labels": ["PS", "LC", "OG"],
        },
        {
            "annotation_type": "span_link",
            "name": "relations",
            "description": "Link the names",
            "span_schema": "ner",
            "link_types": [{"name": "works_for"}, {"name": "lives_in"}],
        },
    ],
}


class Browser:
    """One person's browser: it keeps the cookie of the session."""

    def __init__(self, person: str) -> None:
        jar = urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
        self.opener = urllib.request.build_opener(jar)
        form = urllib.parse.urlencode({"email": person, "pass": "", "action": "login"}).encode()
        self.opener.open(f"{BASE}/auth", form, timeout=60).read()
        self.opener.open(f"{BASE}/annotate", timeout=60).read()

    def save(self, body: dict[str, Any]) -> None:
        """Post what the page posts when an answer changes."""
        request = urllib.request.Request(f"{BASE}/updateinstance", json.dumps(body).encode())
        request.add_header("Content-Type", "application/json")
        try:
            reply = json.load(self.opener.open(request, timeout=60))
        except urllib.error.HTTPError as problem:
            raise SystemExit(f"{body['instance_id']}: {problem.code} {problem.read()!r}") from None
        if reply.get("status") == "error":
            raise SystemExit(f"{body['instance_id']}: {reply}")

    def tell_time(self, item: str, seconds: float) -> None:
        """Post the events from which the server measures the time spent on an item."""
        now = time.time()
        events = [
            {"event_type": kind, "timestamp": at, "target": "page", "metadata": {}}
            for kind, at in (("page_view", now - seconds), ("save", now))
        ]
        request = urllib.request.Request(
            f"{BASE}/api/track_interactions",
            json.dumps({"instance_id": item, "events": events}).encode(),
        )
        request.add_header("Content-Type", "application/json")
        self.opener.open(request, timeout=60).read()

    def go(self, item: str) -> None:
        """Go on to the next item."""
        request = urllib.request.Request(
            f"{BASE}/annotate",
            json.dumps({"action": "next_instance", "instance_id": item}).encode(),
        )
        request.add_header("Content-Type", "application/json")
        self.opener.open(request, timeout=60).read()


def answer_items(place: int, browser: Browser) -> None:
    """Answer everything as one of two people."""
    for item, _, answers in CHOICES:
        label, stars, reasons = answers[place]
        annotations = {
            f"sentiment:{label}": label,
            f"fluency:{stars}": str(stars),
            "order:rank_order": ",".join(ORDERS[place]),
        }
        if reasons:
            annotations["reason:text_box"] = reasons[0]
        if item == "ja-1":
            annotations["topics:food"] = "food"
        body = {
            "instance_id": item,
            "annotations": annotations,
            "cleared_schemas": [],
            "span_annotations": [],
        }
        browser.save(body)
        browser.tell_time(item, 6.5)
        browser.go(item)
    for item, text, marked in ENTITIES:
        spans, relations = marked[place]
        rows = [
            {
                "schema": "ner",
                "name": label,
                "start": start,
                "end": end,
                "title": label,
                "value": text[start:end],
                "target_field": None,
                "id": f"{item}-{number}",
            }
            for number, (start, end, label) in enumerate(spans)
        ]
        links = [
            {
                "schema": "relations",
                "link_type": label,
                "span_ids": [f"{item}-{source}", f"{item}-{target}"],
                "direction": "directed",
                "id": f"{item}-link-{number}",
            }
            for number, (source, target, label) in enumerate(relations)
        ]
        browser.save({"instance_id": item, "annotations": {}, "span_annotations": rows})
        if links:
            browser.save({"instance_id": item, "link_annotations": links})
        browser.go(item)


def main() -> None:
    """Make the files."""
    bin_folder = ensure_environment("potato", f"potato-annotation=={VERSION}")
    folder = ensure_data_folder("potato")
    work = FOLDER / "potato_work"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    rows = [{"id": item, "text": text} for item, text, _ in (*CHOICES, *ENTITIES)]
    (work / "items.jsonl").write_text(
        "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), "utf-8"
    )
    (work / "config.yaml").write_text(json.dumps(CONFIG, ensure_ascii=False, indent=1), "utf-8")
    words = [
        "start",
        "config.yaml",
        "-p",
        str(PORT),
        "--host",
        "127.0.0.1",
        "--require-password",
        "false",
    ]
    with (FOLDER / "potato.log").open("wb") as log:
        server = subprocess.Popen([bin_folder / "potato", *words], cwd=work, stdout=log, stderr=log)
    try:
        for _ in range(120):
            try:
                urllib.request.urlopen(BASE, timeout=5).read()
                break
            except OSError:
                time.sleep(0.5)
        for place, person in enumerate(PEOPLE):
            answer_items(place, Browser(person))
    finally:
        server.terminate()
        server.wait(30)
    shutil.rmtree(folder)
    shutil.copytree(
        work / "annotation_output",
        folder / "annotation_output",
        ignore=lambda _, names: [
            name for name in names if "." in name and name != "user_state.json"
        ],
    )
    subprocess.run(
        [bin_folder / "potato", "snapshot", "create", "config.yaml"], cwd=work, check=True
    )
    snapshots = sorted(work.rglob("annotations.jsonl"))
    (folder / "snapshot").mkdir()
    shutil.copy(snapshots[0], folder / "snapshot")
    for kind in ("csv", "jsonl"):
        words = ["-m", "potato.export", "--config", "config.yaml", "--format", kind]
        subprocess.run(
            [bin_folder / "python", *words, "--output", str(folder / "export")],
            cwd=work,
            check=True,
        )
    (folder / "VERSION").write_text(f"potato-annotation {VERSION}\n")
    sys.stdout.write(f"{folder}: {sorted(path.name for path in folder.rglob('*'))}\n")


if __name__ == "__main__":
    main()
