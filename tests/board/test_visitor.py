"""What visitors get: tables, ranks, pages that are made once per change, and nothing that is not shown."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from starlette.testclient import TestClient
from tests.board.filled import DAY, MARKUP, NOW, ODD, USUAL, Entrant, fill_store, make_board

from nikawa.board import rendering
from nikawa.board.app import create_app
from nikawa.board.records import ShownComparison
from nikawa.board.store import (
    BoardStore,
    open_store,
    read_shown_scores,
    read_shown_ties,
    save_shown_scores,
    save_shown_ties,
)
from nikawa.serve.languages import LANGUAGES

PRIVATE = Entrant("a private system", 99.0, state="private", days=11)
GONE = Entrant("a withdrawn system", 98.0, state="withdrawn", days=13)
ENTRANTS = (*USUAL, *ODD, PRIVATE, GONE)
IDS = {entrant.name: f"sys{i:09}" for i, entrant in enumerate(ENTRANTS)}


class Queue:
    """Compares instead of the scoring process."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, ...]] = []

    def compare_shown(
        self, task: str, split: str, first: str, second: str
    ) -> list[ShownComparison]:
        self.asked.append((task, split, first, second))
        return [
            ShownComparison(
                task=task, split=split, metric="accuracy", first=first, second=second,
                difference=-3.5, low=-5.0, high=-2.0, p="<0.001",
            )
        ]  # fmt: skip


class Served:
    """A board in memory, and its clock."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.now, self.queue = folder, NOW, Queue()
        self.board = make_board(
            folder,
            address="http://testserver",
            shown={"slices": ["tag", "meta.source"]},
            dates={"closes": "2027-03-01T00:00:00+09:00"},
        )
        self.store: BoardStore = open_store("", self.board)
        fill_store(self.store, self.board, ENTRANTS)
        queue: Any = self.queue
        app = create_app(
            self.board, self.store, clock=lambda: self.now, view_seconds=0.0, queue=queue
        )
        self.client = TestClient(app, headers={"accept-language": "en"})

    def get(self, path: str, **headers: str) -> str:
        response = self.client.get(path, headers={"accept": "text/html", **headers})
        assert response.status_code == 200, path
        return response.text


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    served = Served(tmp_path_factory.mktemp("board"))
    yield served
    served.store.close()


def rows_of(page: str) -> list[list[str]]:
    """The texts of the cells of the first table."""
    body = page.split("<tbody>")[1].split("</tbody>", maxsplit=1)[0]
    rows = []
    for row in body.split("</tr>")[:-1]:
        cells = re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row, re.DOTALL)
        rows.append([re.sub(r"<[^>]+>", "", cell).strip() for cell in cells])
    return rows


def names_of(page: str) -> list[str]:
    return [row[1] for row in rows_of(page)]


def test_a_table_has_ranks_that_ties_share(here: Served) -> None:
    rows = rows_of(here.get("/t/tides"))
    ranks = {row[1]: row[0] for row in rows}
    assert ranks["Tide-Large-v2潮汐研究室"] == ranks["한국어 추론 모델바다 연구소"] == "1"
    assert ranks["people (3 judgements)people"] == "–"
    assert int(ranks["majoritybaseline"]) > int(ranks["tf-idf + logistic regressionbaseline"])
    assert rows[-1][1] == "later versionHarbour University"
    assert rows[-1][2] == "no new best"
    best = next(row for row in rows if row[0] == "1")
    assert "in the table only" in here.get("/t/tides")
    assert best[2] == "88.5 ±0.495% interval 87.1–89.9"


def test_links_sort_a_table(here: Served) -> None:
    page = here.get("/t/tides")
    assert (
        'aria-sort="descending"><a href="/t/tides?split=test&amp;sort=accuracy&amp;order=worst">'
        in page
    )
    worst = names_of(here.get("/t/tides?sort=accuracy&order=worst"))
    assert worst[0] == "majoritybaseline"
    assert worst[-1].startswith("later version")
    newest = names_of(here.get("/t/tides?sort=date"))
    assert newest[0].startswith("later version")
    largest = names_of(here.get("/t/tides?sort=parameters"))
    assert largest[:2] == ["日本語大規模推論モデル・潮騒灯台チーム", "한국어 추론 모델바다 연구소"]
    assert names_of(here.get("/t/tides?sort=nonsense&order=<x>")) == names_of(page)


def test_a_table_by_slice_has_a_column_for_each(here: Served) -> None:
    page = here.get("/t/tides?by=tag")
    assert [name for name in ("negation", "tense", "comparative") if f">{name}<" in page]
    assert "333 items" in page
    first = names_of(here.get("/t/tides?by=tag&sort=tag%3Dtense"))
    assert first != names_of(page)
    assert here.client.get("/t/tides?split=other").status_code == 404
    assert here.client.get("/t/other").status_code == 404


def test_what_is_private_is_nowhere(here: Served) -> None:
    paths = ["/", "/t/tides", "/about", "/compare", "/embed/tides", "/board.csv", "/board.json"]
    paths += [f"/s/{IDS[name]}" for name in IDS if name != PRIVATE.name]
    for path in paths:
        text = here.client.get(path).text
        for secret in ("a private system", "hidden name", "no one knows", "sub000000"):
            assert secret not in text, (path, secret)
    assert here.client.get(f"/s/{IDS[PRIVATE.name]}").status_code == 404
    assert here.client.get("/s/unknown").text == here.client.get("/s/no one").text


def test_a_withdrawn_system_keeps_its_address_and_nothing_else(here: Served) -> None:
    page = here.get(f"/s/{IDS[GONE.name]}")
    assert "withdrawn on 2027-01-15" in page
    assert "98" not in re.sub(r"<(style|script).*?</\1>|sys\d+", "", page.split("<main")[1])
    assert "a withdrawn system" not in here.get("/t/tides")


def test_markup_of_submitters_stays_text(here: Served) -> None:
    for path in ("/t/tides", f"/s/{IDS[MARKUP]}", "/compare", "/embed/tides"):
        page = here.get(path)
        assert "<script>" not in page
        assert "<b>bold" not in page
        assert "&lt;script&gt;" in page
    page = here.get(f"/s/{IDS[MARKUP]}")
    assert 'href="javascript' not in page
    assert 'href="https://ok.example" rel="noreferrer noopener"' in page
    assert 'href="https://paper.example/" rel="nofollow ugc noreferrer noopener"' in page


def test_an_entry_is_cited_by_its_address(here: Served) -> None:
    page = here.get(f"/s/{IDS['Tide-Base']}")
    address = f"http://testserver/s/{IDS['Tide-Base']}"
    assert f"2026-12-06. {address}" in page
    assert f"howpublished = {{\\url{{{address}}}}}" in page
    assert f'<link rel="canonical" href="{address}">' in page


def test_pages_are_made_once_until_something_changes(
    here: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []
    render = rendering._render

    def count(name: str, *more: Any, **how: Any) -> str:
        made.append(name)
        return render(name, *more, **how)

    monkeypatch.setattr(rendering, "_render", count)
    here.now += DAY  # a new day is a change
    first = here.client.get("/t/tides?lang=ko")
    again = here.client.get("/t/tides?lang=ko")
    assert (made, first.content == again.content) == (["task.html"], True)
    tag = first.headers["etag"]
    kept = here.client.get("/t/tides?lang=ko", headers={"if-none-match": f'W/{tag}, "x"'})
    assert (kept.status_code, kept.content, kept.headers["etag"]) == (304, b"", tag)
    here.store.write(
        lambda db: db.execute("UPDATE systems SET name = 'renamed' WHERE name = 'SmallTide'")
    )
    changed = here.client.get("/t/tides?lang=ko", headers={"if-none-match": tag})
    assert changed.status_code == 200
    assert "renamed" in changed.text
    here.store.write(
        lambda db: db.execute("UPDATE systems SET name = 'SmallTide' WHERE name = 'renamed'")
    )
    here.now -= DAY
    here.client.cookies.clear()


def test_a_new_score_or_tie_is_a_change(here: Served) -> None:
    (row, *_) = here.store.read(read_shown_scores, NOW, submission="sub000000008")

    def set_value(value: float, tick: float) -> None:
        here.store.write(save_shown_scores, [replace(row, value=value, visible_at=tick)])

    page = here.get("/t/tides")
    set_value(79.9, NOW + 300)
    assert "79.9" not in here.get("/t/tides")
    here.now += 300
    assert "79.9" in here.get("/t/tides")
    here.now -= 300
    set_value(79.5, 0.0)
    assert here.get("/t/tides") == page
    ties = here.store.read(read_shown_ties, NOW, "tides", "test")
    letters = {submission: letter for (submission, _), letter in ties.items()}
    here.store.write(save_shown_ties, "tides", "test", "accuracy", dict.fromkeys(letters, "a"), NOW)
    assert {row[0] for row in rows_of(here.get("/t/tides"))} == {"1", "–"}
    here.store.write(save_shown_ties, "tides", "test", "accuracy", letters, 0.0)
    assert here.get("/t/tides") == page


def test_what_is_to_be_seen_later_is_not_seen_before(here: Served) -> None:
    assert "hidden name" not in here.get("/t/tides")
    here.now += 60 * DAY  # the board has closed
    page = here.get("/t/tides")
    assert "hidden name" in page
    assert "closed on 2027-03-01 00:00 UTC+9" in page
    here.now -= 60 * DAY


def test_the_language_is_chosen_by_link_then_cookie_then_browser(here: Served) -> None:
    client = here.client
    assert '<html lang="ko">' in here.get("/", **{"accept-language": "ko"})
    assert '<html lang="ja">' in here.get("/?lang=ja")
    assert client.cookies["nikawa_language"] == "ja"
    assert '<html lang="ja">' in here.get("/about")
    client.cookies.clear()
    page = here.get("/t/tides?sort=date&order=worst")
    for code in LANGUAGES:
        if code != "en":
            assert f'href="?sort=date&amp;order=worst&amp;lang={code}"' in page


def test_only_the_embedded_table_may_be_framed(here: Served) -> None:
    headers = here.client.get("/embed/tides").headers
    assert "frame-ancestors *" in headers["content-security-policy"]
    assert "x-frame-options" not in headers
    for path in ("/", "/t/tides", "/about", "/compare"):
        headers = here.client.get(path).headers
        assert "frame-ancestors 'none'" in headers["content-security-policy"], path
        assert headers["x-frame-options"] == "DENY", path
    assert "&lt;iframe src=&#34;http://testserver/embed/tides&#34;" in here.get("/t/tides")


def test_a_comparison_shows_only_p_and_the_interval(here: Served) -> None:
    a, b = IDS["Tide-Large-v2"], IDS["Tide-Base"]
    here.queue.asked.clear()
    page = here.get(f"/compare?a={a}&b={b}")
    cells = rows_of(page)[0]
    assert cells[1] == "A is significantly betterp &lt;0.001"
    assert cells[2] == "−3.595% interval −5.0 – −2.0"
    assert here.queue.asked == [("tides", "test", "sub000000000", "sub000000001")]
    for query in (
        f"a={a}&b={a}",
        f"a={a}",
        f"a={a}&b={IDS[PRIVATE.name]}",
        f"a={a}&b={IDS[GONE.name]}",
    ):
        assert "A is significantly better" not in here.get(f"/compare?{query}")
    assert "no score on the same test set" in here.get(f"/compare?a={a}&b={IDS['later version']}")
    people = IDS["people (3 judgements)"]  # they have no answers of one system
    assert people not in here.get("/compare")
    assert "A is significantly better" not in here.get(f"/compare?a={a}&b={people}")
    assert 'action="/compare"' not in here.get(f"/s/{people}")
    assert 'action="/compare"' in here.get(f"/s/{a}")
    assert len(here.queue.asked) == 1


def test_the_whole_board_comes_as_csv_and_json(here: Served) -> None:
    response = here.client.get("/board.csv")
    assert response.headers["access-control-allow-origin"] == "*"
    rows = list(csv.DictReader(io.StringIO(response.content.decode("utf-8-sig"), newline="")))
    main = [row for row in rows if row["system"] == "Tide-Base" and not row["slice"]]
    assert [(row["metric"], row["value"], row["rank"], row["seeds"]) for row in main] == [
        ("accuracy", "85.0", "5", "0 1 2"),
        ("macro-f1", "84.4", "", "0 1 2"),
    ] or main[0]["rank"].isdigit()
    assert "'=cmd|' /C calc'!A0" in {row["system"] for row in rows}
    board = here.client.get("/board.json").json()
    assert board["title"] == "潮の満ち引き Leaderboard"
    entry = next(entry for entry in board["entries"] if entry["name"] == "Tide-Base")
    assert entry["scores"][0]["value"] == 85.0


def test_an_unknown_page_says_so_in_the_language_of_the_reader(here: Served) -> None:
    response = here.client.get("/nothing", headers={"accept": "text/html", "accept-language": "ko"})
    assert response.status_code == 404
    assert "페이지를 찾을 수 없습니다" in response.text
