"""An annotation project by command: made, filled, looked at, exported, imported, backed up."""

from __future__ import annotations

import json
import socket
import stat
from functools import partial
from pathlib import Path

import psycopg
import pytest
from typer.testing import CliRunner

from nikawa.cli.terminal.app import build
from nikawa.collect.adjudication import add_decision
from nikawa.collect.export import ExportOptions, export
from nikawa.collect.form import find_form, forms
from nikawa.collect.items import import_judgements, open_synced
from nikawa.collect.job import (
    ServeOptions,
    create,
    create_demo,
    create_links,
    read_status,
    serve,
    set_password,
)
from nikawa.collect.project import open_project
from nikawa.collect.settings import Settings, format_settings, read_settings
from nikawa.collect.sources import NewProject
from nikawa.collect.writers import read_writers
from nikawa.errors import BadInput, NikawaError
from nikawa.io.judgements import JudgementOptions
from nikawa.io.records import read_records, write_records
from nikawa.records import Example, Judgement


def run(*words: str | Path) -> str:
    done = CliRunner().invoke(build(), [str(word) for word in words])
    if isinstance(done.exception, NikawaError):
        raise done.exception
    assert done.exit_code == 0, done.output
    return done.output


@pytest.fixture
def project(tmp_path: Path) -> Path:
    examples = tmp_path / "pairs.jsonl"
    write_records(
        examples, [Example(id=f"p{n}", inputs={"text": f"箱が{n}個ある。"}) for n in range(3)]
    )
    words = (
        "collect",
        "new",
        tmp_path / "round",
        "--examples",
        examples,
        "--form",
        "choice",
        "-k",
        "2",
    )
    run(*words, "--language", "ko", "--set", 'labels=["yes", "no"]', "--set", "question=label")
    return tmp_path / "round"


def test_a_new_project_is_a_readable_folder(project: Path) -> None:
    names = {path.name for path in project.iterdir()}
    assert {
        "project.toml",
        "guideline.ja.md",
        "guideline.ko.md",
        "guideline.en.md",
        "examples.jsonl",
        "gold.jsonl",
        "pilot.jsonl",
        "secret.key",
        "collect.db",
    } <= names
    assert stat.S_IMODE((project / "secret.key").stat().st_mode) == 0o600
    assert stat.S_IMODE((project / "collect.db").stat().st_mode) == 0o600
    found = open_project(project)
    assert (found.settings.assign.workers_per_item, found.settings.language) == (2, "ko")
    assert found.options.labels == ("yes", "no")


def test_what_is_there_is_not_replaced(project: Path, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="already exists"):
        create(project, str(tmp_path / "pairs.jsonl"), NewProject("choice"))


@pytest.mark.parametrize(
    ("how", "said"),
    [
        (NewProject("chioce"), "did you mean 'choice'"),
        (NewProject("choice", workers=0), "one worker"),
        (NewProject("choice", language="fr"), "no language"),
        (NewProject("choice", options={"colour": 1}), "no setting 'colour'"),
        (NewProject("choice", options={"labels": ["one"]}), "labels"),
    ],
)
def test_a_faulty_project_is_not_made(how: NewProject, said: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=said):
        create(tmp_path / "p", "mini-ja", how)
    assert not (tmp_path / "p").exists()


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("[gold]", "[glod]", "did you mean 'gold'"),
        ("pass_mark = 0.7", "pass_mark = 7", "project.toml, line 1"),
        ("seed = 0", "sead = 0", "did you mean 'seed'"),
        ("title =", "title", "is not TOML"),
        ('order = "random"', 'order = "any"', "project.toml, line 10"),
    ],
)
def test_a_faulty_setting_is_told(before: str, after: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "project.toml"
    path.write_text(
        format_settings(Settings(title="t", form="choice")).replace(before, after), "utf-8"
    )
    with pytest.raises(BadInput) as caught:
        read_settings(path)
    assert said in str(caught.value)


def test_written_settings_are_read_as_they_were(tmp_path: Path) -> None:
    path = tmp_path / "project.toml"
    options = {"labels": ["は\"い'", "\\"], "question": "q", "深": {"a b": [1, 2.5, True]}}
    path.write_text(
        format_settings(Settings(title='表"題\n', form="choice", options=options)), "utf-8"
    )
    found = read_settings(path)
    assert (found.title, found.options) == ('表"題\n', options)
    assert (found.gold.rate, found.pilot.pass_mark) == (0.1, 0.8)


def test_no_project_and_no_secret(project: Path, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="nikawa collect new"):
        read_status(tmp_path / "nothing")
    (project / "secret.key").write_text("abc")
    with pytest.raises(BadInput, match="secret key"):
        read_status(project)


def test_links_stay_the_same(project: Path) -> None:
    found = create_links(project, ["hanako"], "https://a.example/")
    assert found == create_links(project, ["hanako"], "https://a.example")
    assert found.links[0][1].startswith("https://a.example/w/")
    assert "hanako\thttp" in run("collect", "links", project, "hanako")
    with pytest.raises(BadInput, match="cannot be a worker's name"):
        create_links(project, ["a\nb"], "http://x")


def test_sheets_in_and_judgements_out(project: Path, tmp_path: Path) -> None:
    sheet = tmp_path / "results.csv"
    sheet.write_text("タスクID,ランサーID,回答\np0,=x,yes\np0,y,no\np1,y,yes\n", "cp932")
    assert "3 answers" in run("collect", "import", project, sheet)
    assert import_judgements(project, sheet, JudgementOptions()).known == 3
    out = tmp_path / "judgements.jsonl"
    assert "3 judgements" in run("collect", "export", project, "--out", out)
    found = list(read_records(out, Judgement))
    assert [(j.example, j.worker, j.question, j.answer) for j in found] == [
        ("p0", "=x", "label", "yes"),
        ("p0", "y", "label", "no"),
        ("p1", "y", "label", "yes"),
    ]
    hidden = tmp_path / "hidden.tsv"
    assert export(project, hidden, ExportOptions(pseudonymise=True)).written == 3
    assert len({j.worker for j in read_records(hidden, Judgement)} - {"=x", "y"}) == 2
    table = tmp_path / "table.csv"
    assert export(project, table).written == 3
    assert "'=x" in table.read_text("utf-8-sig")
    assert export(project, tmp_path / "yahoo.tsv", ExportOptions(form="yahoo")).written == 3
    assert "'=x" in (tmp_path / "yahoo.tsv").read_text("utf-8")
    with pytest.raises(BadInput, match="already exists"):
        export(project, out)
    with pytest.raises(BadInput, match="did you mean 'pilot'"):
        export(project, tmp_path / "n.jsonl", ExportOptions(parts=("pilto",)))
    assert not (tmp_path / "n.jsonl").exists()
    shown = json.loads(run("collect", "status", project, "--json"))
    assert (shown["progress"]["complete"], shown["progress"]["done"]) == (1, 3)
    assert "1 of 3 items complete" in run("collect", "status", project)


def test_what_is_collected_can_be_aggregated(project: Path, tmp_path: Path) -> None:
    rows = [
        Judgement(example=f"p{n}", worker=w, question="label", answer="yes")
        for n in range(3)
        for w in "abc"
    ]
    write_records(tmp_path / "in.jsonl", rows)
    import_judgements(project, tmp_path / "in.jsonl", JudgementOptions())
    export(project, tmp_path / "out.jsonl")
    words = (
        "aggregate",
        tmp_path / "out.jsonl",
        "--examples",
        project / "examples.jsonl",
        "--out",
        tmp_path / "gold",
    )
    run(*words, "--rule", "majority", "--quiet")
    gold = tmp_path / "gold" / "examples.jsonl"
    assert '"label":"yes"' in gold.read_text("utf-8").replace(" ", "")


def test_further_examples(project: Path, tmp_path: Path) -> None:
    write_records(
        tmp_path / "more.jsonl", [Example(id=f"p{n}", inputs={"text": "袋"}) for n in (2, 3, 4)]
    )
    assert (
        import_judgements(project, None, JudgementOptions(), str(tmp_path / "more.jsonl")).examples
        == 2
    )
    assert read_status(project)["progress"]["items"] == 5
    with pytest.raises(BadInput, match="the file to import is missing"):
        run("collect", "import", project)


def test_backup_password_and_forms(project: Path, tmp_path: Path) -> None:
    run("collect", "backup", project, "--out", tmp_path / "copy.db")
    assert (tmp_path / "copy.db").stat().st_size > 10_000
    assert len(set_password(project, "rev", "reviewer")) >= 10
    with pytest.raises(BadInput, match="shorter"):
        set_password(project, "rev", "reviewer", "short")
    with pytest.raises(BadInput, match="no role"):
        set_password(project, "rev", "king")
    assert "choice" in run("collect", "forms")
    assert (
        json.loads(run("collect", "password", project, "--name", "x", "--json"))["role"] == "owner"
    )


def test_the_demo_is_whole(tmp_path: Path) -> None:
    report = create_demo(tmp_path / "demo")
    with open_synced(tmp_path / "demo") as (found, store):
        kinds: dict[str, int] = dict(
            store.read(lambda db: db.rows("SELECT kind, count(*) FROM items GROUP BY kind"))
        )
        assert kinds == {"main": report.items, "gold": 10, "pilot": 3}
        assert found.form.name == "choice"
    assert "worker-1\thttp" in run("collect", "demo", tmp_path / "again", "--no-serve")
    assert "worker-1\thttp" in run("collect", "demo", tmp_path / "again", "--no-serve")


def test_links_begin_where_the_server_was_started(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert create_links(project, ["a"]).address == "http://127.0.0.1:8000"
    monkeypatch.setattr(
        "nikawa.serve.server.run_server", lambda *_, on_start, **_more: on_start(4321)
    )
    for host, wanted in (("10.0.0.7", "10.0.0.7"), ("::", "[::1]"), ("0.0.0.0", "127.0.0.1")):
        serve(project, ServeOptions(host, 0))
        found = create_links(project, ["a"])
        assert found.address == f"http://{wanted}:4321"
        assert found.links[0][1].startswith(f"{found.address}/w/")
    assert "a\thttp://127.0.0.1:4321/w/" in run("collect", "links", project, "a")
    path = project / "project.toml"
    text = path.read_text("utf-8")
    path.write_text(text.replace('address = ""', 'address = "https://label.example/"'), "utf-8")
    assert "a\thttps://label.example/w/" in run("collect", "links", project, "a")
    assert "a\thttps://b.example/w/" in run(
        "collect", "links", project, "a", "--address", "https://b.example"
    )
    path.write_text(text.replace('address = ""', 'address = "label.example"'), "utf-8")
    with pytest.raises(BadInput, match=r"project\.toml, line 5"):
        create_links(project, ["a"])


def test_a_port_that_is_taken_is_told(project: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(BadInput, match="choose another port"):
            serve(project, ServeOptions(port=port))


@pytest.fixture
def writing(tmp_path: Path) -> tuple[Path, list[str]]:
    """A project in which nagi wrote three hypotheses a premise, and mado broke the rules."""
    sample = forms()["write-hypotheses"].sample
    assert sample is not None
    write_records(
        tmp_path / "p.jsonl", [Example(id=f"p{n}", inputs=dict(sample.inputs)) for n in range(12)]
    )
    create(tmp_path / "w", str(tmp_path / "p.jsonl"), NewProject("write-hypotheses", workers=2))
    texts = sample.answer["hypotheses"]
    given = [
        Judgement(example=f"p{n}", worker=worker, question="hypotheses", answer=answer)
        for n in range(12)
        for worker, answer in (("nagi", texts), ("mado", ["짧다.", "짧다.", ""]))
    ]
    write_records(tmp_path / "j.jsonl", given)
    import_judgements(tmp_path / "w", tmp_path / "j.jsonl", JudgementOptions(), skip_invalid=True)
    return tmp_path / "w", texts


def free_for(folder: Path, name: str) -> int:
    """How many items of a project a worker may be given."""
    create_links(folder, [name], "")
    with open_synced(folder) as (_, store):
        sql = (
            "SELECT count(*) FROM items i WHERE NOT EXISTS (SELECT 1 FROM seen s JOIN workers w ON w.id = s.worker"
            " WHERE s.item = i.id AND w.name = ?)"
        )
        return int(store.read(lambda db: db.rows(sql, name))[0][0])


def test_what_was_written_goes_to_others_to_judge(
    tmp_path: Path, writing: tuple[Path, list[str]]
) -> None:
    """Under a number that does not tell what it was meant to be; that, and who wrote it, stands in a file apart."""
    folder, texts = writing
    pairs, names = tmp_path / "pairs.jsonl", tmp_path / "pairs.writers.jsonl"
    said = run("collect", "export", folder, "--to", "examples", "--out", pairs)
    assert said.startswith("36 examples written")
    assert str(names) in said
    found, wrote = list(read_records(pairs, Example)), read_writers(names)
    assert {wrote[one.id].writer for one in found} == {"nagi"}  # the other broke the rules
    assert {wrote[one.id].meant: one.inputs["hypothesis"] for one in found} == dict(
        zip(("entailment", "contradiction", "neutral"), texts, strict=True)
    )
    assert len({wrote[one.id].meant for one in found if one.id.endswith("-1")}) > 1
    assert {one.group for one in found if one.id.startswith("p3-")} == {"p3"}
    assert {tuple(one.meta) for one in found} == {("writer",)}
    assert not any(word in pairs.read_text("utf-8") for word in ("nagi", "meant", "entailment"))
    assert names.stat().st_mode & 0o077 == 0
    with pytest.raises(BadInput, match="already exists"):
        export(folder, pairs, ExportOptions(form="examples"))
    create(tmp_path / "j", str(pairs), NewProject("inference"))
    with pytest.raises(BadInput, match="does not ask workers to write texts"):
        export(tmp_path / "j", tmp_path / "none.jsonl", ExportOptions(form="examples"))
    assert not list(tmp_path.glob("none*"))


def test_nobody_judges_what_they_wrote(tmp_path: Path, writing: tuple[Path, list[str]]) -> None:
    folder, pairs = writing[0], tmp_path / "pairs.jsonl"
    export(folder, pairs, ExportOptions(form="examples"))
    report = create(tmp_path / "j", str(pairs), NewProject("inference"))
    assert (report.items, report.notes) == (36, ())
    assert (free_for(tmp_path / "j", "nagi"), free_for(tmp_path / "j", "yura")) == (0, 36)
    assert "nagi" not in (tmp_path / "j" / "examples.jsonl").read_text("utf-8")
    first = list(read_records(pairs, Example))
    write_records(tmp_path / "few.jsonl", [Example(id="z", inputs=first[0].inputs)])
    create(tmp_path / "k", str(tmp_path / "few.jsonl"), NewProject("inference"))
    import_judgements(tmp_path / "k", None, JudgementOptions(), str(pairs))
    assert (free_for(tmp_path / "k", "nagi"), free_for(tmp_path / "k", "yura")) == (1, 37)


def test_writers_that_are_not_named_are_told(
    tmp_path: Path, writing: tuple[Path, list[str]]
) -> None:
    folder, pairs = writing[0], tmp_path / "pairs.jsonl"
    said = run("collect", "export", folder, "--to", "examples", "--out", pairs, "--pseudonymise")
    assert "--share-key-with" in said
    assert not any("nagi" in path.read_text("utf-8") for path in tmp_path.glob("pairs*"))
    other = NewProject("inference", key=tmp_path / "other.key")
    (note,) = create(tmp_path / "j", str(pairs), other).notes
    assert note.startswith("36 texts name their writers by pseudonyms of another key")
    (tmp_path / "pairs.writers.jsonl").unlink()
    (note,) = create(tmp_path / "i", str(pairs), other).notes
    assert note.startswith("36 texts name their writers by pseudonyms without saying which key")
    old = [Example(id="o", inputs={"premise": "a", "hypothesis": "b"}, meta={"writer": "nagi"})]
    write_records(tmp_path / "old.jsonl", old)
    assert create(tmp_path / "o", str(tmp_path / "old.jsonl"), NewProject("inference")).notes == ()
    assert free_for(tmp_path / "o", "nagi") == 0


@pytest.mark.parametrize("name", [form.name for form in forms().values() if form.writes])
def test_every_writing_form_hands_its_texts_on(name: str) -> None:
    form = forms()[name]
    assert form.sample is not None
    assert form.to_judge is not None
    example = Example(id="i", inputs=dict(form.sample.inputs))
    options = form.parse_options(form.sample.settings)
    found = form.to_judge(dict(form.sample.answer), example, options)
    texts = [text for one in found for text in one.inputs.values()]
    assert found
    assert all(isinstance(text, str | list | tuple) for text in texts)


def test_decisions_settle_ties(project: Path, tmp_path: Path) -> None:
    """What the owner decides on the page is what `aggregate` takes for the ties."""
    answers = [
        Judgement(example="p0", worker="a", question="label", answer="yes"),
        Judgement(example="p0", worker="b", question="label", answer="no"),
        Judgement(example="p1", worker="a", question="label", answer="yes"),
        Judgement(example="p1", worker="b", question="label", answer="yes"),
    ]
    write_records(tmp_path / "in.jsonl", answers)
    import_judgements(project, tmp_path / "in.jsonl", JudgementOptions())
    with open_synced(project) as (_, store):
        for label in ("yes", "no"):
            body = json.dumps({"label": label})
            store.write(
                partial(
                    add_decision, ref="p0", body=body, reason="=1+1 読み直した", who="o", now=1.0
                )
            )
    sheet, out = tmp_path / "decided.tsv", tmp_path / "judgements.jsonl"
    assert run("collect", "export", project, "--to", "decisions", "--out", sheet).startswith(
        "1 decisions"
    )
    row = sheet.read_text("utf-8").splitlines()[1].split("\t")
    assert row[:5] == ["p0", "label", "no", "o", "'=1+1 読み直した"]
    assert row[5:7] == ["1970-01-01T00:00:01.000+00:00", "override"]
    assert [one["answer"] for one in json.loads(row[7])] == ["yes"]
    export(project, out)
    run(
        "aggregate",
        out,
        "--rule",
        "majority",
        "--adjudicated",
        sheet,
        "--examples",
        project / "examples.jsonl",
        "--out",
        tmp_path / "gold",
    )
    found = {
        one.id: one.gold for one in read_records(tmp_path / "gold" / "examples.jsonl", Example)
    }
    assert found == {"p0": {"label": "no"}, "p1": {"label": "yes"}}


def test_the_demo_shows_links_that_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The port is known only once the server listens."""
    monkeypatch.setattr(
        "nikawa.collect.job.serve", lambda _folder, how, started, _note: started(how.port or 4321)
    )
    said = run("collect", "demo", tmp_path / "d", "--port", "0")
    address = create_links(tmp_path / "d", ["worker-1"], "http://127.0.0.1:4321").links[0][1]
    assert f"worker-1\t{address}\n" in said
    assert "with the password" in said
    first = json.loads(run("collect", "demo", tmp_path / "e", "--port", "80", "--json"))
    assert first["password"]
    again = json.loads(run("collect", "demo", tmp_path / "e", "--port", "80", "--json"))
    assert again["links"] == first["links"]
    assert again["links"]["worker-1"].startswith("http://127.0.0.1:80/w/")
    assert "sets a new password" in run("collect", "demo", tmp_path / "d", "--no-serve")


def line(**fields: object) -> str:
    return json.dumps(fields, ensure_ascii=False) + "\n"


@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        (
            "gold",
            line(id="g", inputs={"text": "x"}, gold={"label": "perhaps"}),
            "'perhaps' is not a valid answer to 'label'",
        ),
        (
            "gold",
            line(id="g", inputs={"text": "x"}, gold={"score": 3}),
            "needs gold for one of these questions: label",
        ),
        ("pilot", line(id="g", inputs={"text": "x"}), "needs gold for"),
        ("examples", line(id="e", inputs={"text": 5}), "finds no input to show"),
    ],
    ids=["no label", "another question", "no gold", "no text"],
)
def test_an_item_that_nobody_could_answer_is_refused(
    project: Path, file: str, text: str, said: str
) -> None:
    """Before a worker meets it: a control item with a misspelt label would exclude everybody."""
    path = project / f"{file}.jsonl"
    path.write_text(path.read_text("utf-8") + text, "utf-8")
    with pytest.raises(BadInput, match=said) as problem:
        read_status(project)
    assert f"{file}.jsonl" in str(problem.value)


def test_a_control_item_may_have_more_gold_than_is_asked(project: Path) -> None:
    more = line(id="g", inputs={"text": "x"}, gold={"label": "yes", "score": 3.5})
    (project / "gold.jsonl").write_text(more, "utf-8")
    with open_synced(project) as (_, store):
        kept = store.read(lambda db: db.rows("SELECT gold FROM texts WHERE gold IS NOT NULL"))
    assert [json.loads(row[0]) for row in kept] == [{"label": "yes"}]


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("question =", "quesiton =", "no setting 'quesiton'; did you mean 'question'"),
        ('labels = ["yes", "no"]', "labels = 3", "labels"),
        ("rate = 0.1", "rat = 0.1", "no setting 'rat'; did you mean 'rate'"),
    ],
)
def test_a_faulty_setting_is_told_with_its_line(
    project: Path, before: str, after: str, said: str
) -> None:
    path = project / "project.toml"
    text = path.read_text("utf-8")
    assert before in text
    path.write_text(text.replace(before, after), "utf-8")
    number = next(n for n, row in enumerate(text.splitlines(), start=1) if row.startswith(before))
    with pytest.raises(BadInput, match=said) as problem:
        open_project(project)
    assert f"project.toml, line {number}:" in str(problem.value)


@pytest.mark.parametrize(
    ("name", "form"), [("j.csv", None), ("j.tsv", None), ("j.tsv", "yahoo"), ("j.csv", "csv")]
)
def test_no_sheet_runs_what_somebody_wrote(tmp_path: Path, name: str, form: str | None) -> None:
    write_records(tmp_path / "e.jsonl", [Example(id="=1+1", inputs={"text": "x"})])
    create(
        tmp_path / "p",
        str(tmp_path / "e.jsonl"),
        NewProject("choice", options={"labels": ["@yes", "no"]}),
    )
    given = Judgement(example="=1+1", worker="+w", question="label", answer="@yes")
    write_records(tmp_path / "in.jsonl", [given])
    import_judgements(tmp_path / "p", tmp_path / "in.jsonl", JudgementOptions())
    export(tmp_path / "p", tmp_path / name, ExportOptions(form=form))
    row = (tmp_path / name).read_text("utf-8-sig").splitlines()[1]
    assert {"'=1+1", "'+w", "'@yes"} <= set(row.replace("\t", ",").split(","))
    export(tmp_path / "p", tmp_path / "j.jsonl")  # records are no sheet: they stay as they are
    (kept,) = read_records(tmp_path / "j.jsonl", Judgement)
    assert (kept.example, kept.worker, kept.answer) == ("=1+1", "+w", "@yes")


def test_a_decision_against_the_vote_is_gold(project: Path, tmp_path: Path) -> None:
    answers = [
        Judgement(example="p0", worker=worker, question="label", answer=answer)
        for worker, answer in (("a", "yes"), ("b", "yes"), ("c", "no"))
    ]
    write_records(tmp_path / "in.jsonl", answers)
    import_judgements(project, tmp_path / "in.jsonl", JudgementOptions())
    with open_synced(project) as (_, store):
        store.write(
            partial(
                add_decision,
                ref="p0",
                body='{"label": "no"}',
                reason="読み直した",
                who="o",
                now=1.0,
            )
        )
    export(project, tmp_path / "decided.tsv", ExportOptions(form="decisions"))
    words = (
        "aggregate",
        tmp_path / "in.jsonl",
        "--rule",
        "majority",
        "--adjudicated",
        tmp_path / "decided.tsv",
    )
    assert "1 decided against the votes (p0)" in run(*words)
    assert "1 decisions do not count" in run(*words, "--decisions", "ties")


def test_a_number_that_is_a_worker_stays_in_a_comment(project: Path, tmp_path: Path) -> None:
    """Names are hidden inside comments as words; one letter or a small number speaks of nobody."""
    names = ("1", "an", "花子", "Mio")
    rows = [
        Judgement(example="p0", worker=name, question="label", answer="yes", comment=comment)
        for name, comment in zip(
            names, ("1つ目 and mio", "花子さんと MIO", "an は Miori か", ""), strict=True
        )
    ]
    write_records(tmp_path / "in.jsonl", rows)
    import_judgements(project, tmp_path / "in.jsonl", JudgementOptions())
    out = tmp_path / "hidden.jsonl"
    export(project, out, ExportOptions(pseudonymise=True))
    hidden = {name: open_project(project).pseudonym(name) for name in names}
    told = {one.worker: one.comment for one in read_records(out, Judgement)}
    assert told[hidden["1"]] == f"1つ目 and {hidden['Mio']}"
    assert told[hidden["an"]] == f"{hidden['花子']}さんと {hidden['Mio']}"
    assert told[hidden["花子"]] == f"{hidden['an']} は Miori か"


def test_a_sheet_comes_back_as_it_went(tmp_path: Path) -> None:
    """Labels such as + and - are guarded in the sheet, and are themselves again when it is read."""
    write_records(tmp_path / "e.jsonl", [Example(id="=1", inputs={"text": "x"})])
    for name in ("one", "two"):
        create(
            tmp_path / name,
            str(tmp_path / "e.jsonl"),
            NewProject("choice", options={"labels": ["+", "-"]}),
        )
    write_records(
        tmp_path / "in.jsonl", [Judgement(example="=1", worker="@w", question="label", answer="+")]
    )
    import_judgements(tmp_path / "one", tmp_path / "in.jsonl", JudgementOptions())
    for sheet in ("j.csv", "j.tsv"):
        export(tmp_path / "one", tmp_path / sheet)
        assert import_judgements(tmp_path / "one", tmp_path / sheet, JudgementOptions()).known == 1
    assert import_judgements(tmp_path / "two", tmp_path / "j.csv", JudgementOptions()).answers == 1
    export(tmp_path / "two", tmp_path / "two.jsonl")
    (kept,) = read_records(tmp_path / "two.jsonl", Judgement)
    assert (kept.example, kept.worker, kept.answer) == ("=1", "@w", "+")


def test_a_database_that_does_not_answer_leaves_no_project(tmp_path: Path) -> None:
    write_records(tmp_path / "e.jsonl", [Example(id="a", inputs={"text": "x"})])
    how = NewProject("choice", database="postgresql://nobody:hush@127.0.0.1:1/none")
    with pytest.raises(BadInput, match="does not answer") as problem:
        create(tmp_path / "p", str(tmp_path / "e.jsonl"), how)
    assert "hush" not in str(problem.value)
    assert not (tmp_path / "p").exists()


def test_a_database_without_the_project_is_refused_and_nothing_is_created(
    tmp_path: Path, database: str, postgres: str
) -> None:
    """A server on an empty database would take answers that the owner never finds again."""
    write_records(tmp_path / "e.jsonl", [Example(id="a", inputs={"text": "x"})])
    folder, other = tmp_path / "p", "" if database else postgres
    create(folder, str(tmp_path / "e.jsonl"), NewProject("choice", database=database))
    for use in (
        lambda: read_status(folder, other),
        lambda: serve(folder, ServeOptions(port=0, database=other)),
        lambda: create_links(folder, ["aki"], database=other),
    ):
        with pytest.raises(BadInput, match="NIKAWA_COLLECT_DATABASE"):
            use()
    assert (folder / "collect.db").exists() == (not database)
    with psycopg.connect(postgres) as db:
        sql = "SELECT 1 FROM pg_namespace WHERE nspname = %s"
        row = db.execute(sql, (f"nikawa_{open_project(folder).name}",)).fetchone()
    assert (row is not None) == bool(database)
    assert read_status(folder, database)["project"] == str(folder)


def test_a_name_that_is_taken_and_one_with_blanks(tmp_path: Path) -> None:
    write_records(tmp_path / "e.jsonl", [Example(id="a", inputs={"text": "x"})])
    words = (
        "collect",
        "new",
        tmp_path / "내 라운드",
        "--examples",
        tmp_path / "e.jsonl",
        "--form",
        "choice",
    )
    assert f"nikawa collect links '{tmp_path / '내 라운드'}' NAME" in run(*words)
    with pytest.raises(
        BadInput, match="already exists; choose another name; nikawa collect import"
    ):
        create(tmp_path / "내 라운드", str(tmp_path / "e.jsonl"), NewProject("choice"))


def test_names_that_are_none(project: Path, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="cannot be a worker's name"):
        create_links(project, [" "], "http://x")
    for name in ("", "a\0b", "x" * 201):
        with pytest.raises(BadInput, match="cannot log in"):
            set_password(project, name, "owner")
    (tmp_path / "names.txt").write_bytes("花子".encode("shift_jis"))
    with pytest.raises(BadInput, match="is not UTF-8"):
        run("collect", "links", project, "--from", tmp_path / "names.txt")


@pytest.mark.parametrize(
    ("name", "offered"), [("relation", True), ("span-tagging", False), ("choice", False)]
)
def test_only_forms_with_entities_offer_a_wrong_boundary(
    name: str, offered: bool, tmp_path: Path
) -> None:
    form = find_form(name)
    assert form.sample is not None
    write_records(tmp_path / "i.jsonl", [Example(id="1", inputs=dict(form.sample.inputs))])
    options = dict(form.sample.settings)
    create(tmp_path / "p", str(tmp_path / "i.jsonl"), NewProject(name, options=options))
    codes = open_project(tmp_path / "p").settings.reports.codes
    assert ("boundary" in codes) is offered
    assert codes[-1] == "other"
