"""Label Studio 1.23: projects of every kind of control, two people's annotations, every export, and our own export taken
in and out again.

The server runs with SQLite in `.interop/`, and is driven over its REST API as its pages drive it. Items and answers are
written here, with emoji (two UTF-16 units each) before the spans, so that offsets tell what they count.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any

from tests.interop.environments import FOLDER, ensure_data_folder, ensure_environment
from tests.interop.items import CHOICES, ENTITIES, LISTS, PAIRS, write_round_trip_project

VERSION = "1.23.0"
PORT = 8931
BASE = f"http://127.0.0.1:{PORT}"
TOKEN = "0123456789abcdef0123456789abcdef01234567"
ANN, BEN = "ann@example.org", "ben@example.org"

TEXT = '<Text name="text" value="$text"/>'
CONFIGS = {
    "choices": f"""<View>{TEXT}
  <Choices name="sentiment" toName="text" choice="single"><Choice value="positive"/><Choice value="negative"/></Choices>
  <Rating name="fluency" toName="text" maxRating="5"/>
  <TextArea name="reason" toName="text"/></View>""",
    "entities": f"""<View>{TEXT}
  <Labels name="ner" toName="text"><Label value="PS"/><Label value="LC"/><Label value="OG"/></Labels>
  <Relations><Relation value="works_for"/><Relation value="lives_in"/></Relations></View>""",
    "ranking": """<View><List name="list" value="$items" title="items"/>
  <Ranker name="order" toName="list"/></View>""",
    "pairwise": """<View><Text name="left" value="$left"/><Text name="right" value="$right"/>
  <Pairwise name="better" toName="left,right"/></View>""",
    "several": f"""<View>{TEXT}
  <Choices name="topics" toName="text" choice="multiple"><Choice value="food"/><Choice value="travel"/></Choices></View>""",
}


def call(method: str, path: str, body: Any = None, *, raw: bool = False) -> Any:
    """What the server answers to a request of its owner."""
    request = urllib.request.Request(f"{BASE}{path}", method=method)
    request.add_header("Authorization", f"Token {TOKEN}")
    data = None
    if body is not None:
        request.add_header("Content-Type", "application/json")
        data = json.dumps(body).encode()
    try:
        with urllib.request.urlopen(request, data, timeout=120) as reply:
            content = reply.read()
    except urllib.error.HTTPError as problem:
        raise SystemExit(f"{method} {path}: {problem.code} {problem.read()[:2000]!r}") from None
    return content if raw else json.loads(content or b"null")


def start_server(bin_folder: Path) -> subprocess.Popen[bytes]:
    """Start the server on an empty database, and wait until it answers."""
    data = FOLDER / "label_studio_data"
    shutil.rmtree(data, ignore_errors=True)
    environment = {
        **os.environ,
        "LABEL_STUDIO_BASE_DATA_DIR": str(data),
        "LABEL_STUDIO_ENABLE_LEGACY_API_TOKEN": "true",
        "COLLECT_ANALYTICS": "False",
        "LATEST_VERSION_CHECK": "False",
    }
    words = ["start", "--no-browser", "--host", BASE, "--internal-host", "127.0.0.1", "-b"]
    words += ["--port", str(PORT), "--data-dir", str(data), "--username", ANN]
    words += ["--password", "secret-secret", "--user-token", TOKEN]
    with (FOLDER / "label_studio.log").open("wb") as log:
        server = subprocess.Popen(
            [bin_folder / "label-studio", *words], stdout=log, stderr=log, env=environment
        )
    for _ in range(600):
        if server.poll() is not None:
            raise SystemExit(f"label-studio ended: see {FOLDER / 'label_studio.log'}")
        try:
            urllib.request.urlopen(f"{BASE}/health", timeout=5)
        except OSError:
            time.sleep(1)
        else:
            return server
    raise SystemExit("label-studio does not answer")


def create_project(title: str, tasks: list[dict[str, Any]]) -> tuple[int, list[int]]:
    """A project with tasks; its number, and the numbers of the tasks in their order."""
    project = call("POST", "/api/projects/", {"title": title, "label_config": CONFIGS[title]})
    number = project["id"]
    call("POST", f"/api/projects/{number}/import", tasks)
    page = call("GET", f"/api/tasks?project={number}&page_size=100&fields=all")
    return number, sorted(task["id"] for task in page["tasks"])


def export(number: int, kind: str, path: Path, *, everything: bool = True) -> None:
    """Write an export of a project just as the server gives it."""
    more = "&download_all_tasks=true" if everything else ""
    content = call("GET", f"/api/projects/{number}/export?exportType={kind}{more}", raw=True)
    path.write_bytes(content)


def format_result(
    name: str, to: str, kind: str, value: dict[str, Any], **more: Any
) -> dict[str, Any]:
    """A result as the page posts it."""
    return {"from_name": name, "to_name": to, "type": kind, "value": value, **more}


def annotate(
    task: int, person: int, result: list[dict[str, Any]], seconds: float, **more: Any
) -> None:
    """Post one person's annotation."""
    body = {"result": result, "lead_time": seconds, "completed_by": person, **more}
    call("POST", f"/api/tasks/{task}/annotations/", body)


def make_choices(people: dict[str, int], folder: Path) -> None:
    """Choices, ratings and texts of two people; one skipped task and one draft."""
    tasks = [{"id": item, "text": text} for item, text, _ in CHOICES]
    number, places = create_project("choices", tasks)
    for (_, _, answers), task in zip(CHOICES, places, strict=True):
        for (person, who), (label, stars, reason) in zip(people.items(), answers, strict=True):
            result = [format_result("sentiment", "text", "choices", {"choices": [label]})]
            result.append(format_result("fluency", "text", "rating", {"rating": stars}))
            if reason:
                result.append(format_result("reason", "text", "textarea", {"text": reason}))
            annotate(task, who, result, 4.5 if person == ANN else 7.25)
    extra = call(
        "POST",
        f"/api/projects/{number}/import?return_task_ids=true",
        [{"id": "skipped", "text": "읽을 수 없는 글"}, {"id": "draft", "text": "書きかけ"}],
    )
    skipped, draft = extra["task_ids"]
    annotate(skipped, people[ANN], [], 2.0, was_cancelled=True)
    half = [format_result("sentiment", "text", "choices", {"choices": ["positive"]})]
    call("POST", f"/api/tasks/{draft}/drafts", {"result": half, "lead_time": 1.0})
    for kind, suffix in (("JSON", "json"), ("JSON_MIN", "min.json"), ("CSV", "csv")):
        export(number, kind, folder / f"choices.{suffix}")


def make_entities(people: dict[str, int], folder: Path) -> None:
    """Spans with and without relations; an item in which one person finds nothing."""
    number, places = create_project(
        "entities", [{"id": item, "text": text} for item, text, _ in ENTITIES]
    )
    for (item, text, answers), task in zip(ENTITIES, places, strict=True):
        for who, (spans, relations) in zip(people.values(), answers, strict=True):
            result = []
            for place, (start, end, label) in enumerate(spans):
                value = {"start": start, "end": end, "text": text[start:end], "labels": [label]}
                result.append(format_result("ner", "text", "labels", value, id=f"{item}-{place}"))
            for source, target, label in relations:
                result.append(
                    {
                        "type": "relation",
                        "from_id": f"{item}-{source}",
                        "to_id": f"{item}-{target}",
                        "direction": "right",
                        "labels": [label],
                    }
                )
            annotate(task, who, result, 12.5)
    kinds = (("JSON", "json"), ("JSON_MIN", "min.json"), ("CSV", "csv"), ("CONLL2003", "conll"))
    for kind, suffix in kinds:
        export(number, kind, folder / f"entities.{suffix}")


def make_rankings(people: dict[str, int], folder: Path) -> None:
    """Orders of lists, choices between two texts, and several labels at once."""
    number, places = create_project(
        "ranking", [{"id": item, "items": items} for item, items, _ in LISTS]
    )
    for (_, _, orders), task in zip(LISTS, places, strict=True):
        for who, order in zip(people.values(), orders, strict=True):
            result = format_result("order", "list", "ranker", {"ranker": {"order": order}})
            annotate(task, who, [result], 9.0)
    for kind, suffix in (("JSON", "json"), ("JSON_MIN", "min.json"), ("CSV", "csv")):
        export(number, kind, folder / f"ranking.{suffix}")
    number, places = create_project(
        "pairwise", [{"id": item, "left": left, "right": right} for item, left, right, _ in PAIRS]
    )
    for (*_, sides), task in zip(PAIRS, places, strict=True):
        for who, side in zip(people.values(), sides, strict=True):
            result = format_result("better", "left,right", "pairwise", {"selected": side})
            annotate(task, who, [result], 3.0)
    for kind, suffix in (("JSON", "json"), ("JSON_MIN", "min.json"), ("CSV", "csv")):
        export(number, kind, folder / f"pairwise.{suffix}")
    number, places = create_project("several", [{"id": "s1", "text": "屋台の多い港町だった。"}])
    both = format_result("topics", "text", "choices", {"choices": ["food", "travel"]})
    annotate(places[0], people[ANN], [both], 3.0)
    export(number, "JSON", folder / "several.json")


def make_round_trip(folder: Path) -> None:
    """Our own export, imported into the server and exported by it."""
    for form in ("span-tagging", "inference", "ranked"):
        ours = folder / f"ours.{form}.json"
        config = write_round_trip_project(form, ours, "label-studio")
        project = call(
            "POST", "/api/projects/", {"title": form, "label_config": config.read_text("utf-8")}
        )
        call("POST", f"/api/projects/{project['id']}/import", json.loads(ours.read_bytes()))
        export(project["id"], "JSON", folder / f"theirs.{form}.json")
        if form == "inference":  # somebody changes an answer there
            task = json.loads((folder / f"theirs.{form}.json").read_bytes())[0]
            annotation = task["annotations"][0]
            result = annotation["result"]
            result[0]["value"]["choices"] = ["contradiction"]
            call("PATCH", f"/api/annotations/{annotation['id']}/", {"result": result})
            export(project["id"], "JSON", folder / f"changed.{form}.json")


def main() -> None:
    """Make the files."""
    bin_folder = ensure_environment("label_studio", f"label-studio=={VERSION}")
    folder = ensure_data_folder("label_studio")
    server = start_server(bin_folder)
    try:
        people = {ANN: call("GET", "/api/current-user/whoami")["id"]}
        new = {"email": BEN, "username": "ben", "first_name": "Ben", "last_name": "Kim"}
        people[BEN] = call("POST", "/api/users/", new)["id"]
        make_choices(people, folder)
        make_entities(people, folder)
        make_rankings(people, folder)
        make_round_trip(folder)
        (folder / "VERSION").write_text(f"label-studio {VERSION}\n")
    finally:
        server.terminate()
        server.wait(30)
    sys.stdout.write(f"{folder}: {len(list(folder.iterdir()))} files\n")


if __name__ == "__main__":
    main()
