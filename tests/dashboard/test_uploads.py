"""Files of one's own: mapped, read, and refused in one sentence that leaves everything as it was."""

from __future__ import annotations

import gzip
import io
import json
import shlex

import numpy as np
import openpyxl
import pandas as pd
import pytest

from dashboard.session.choices import Choices
from dashboard.session.commands import command_lines, python_lines
from spofr_core.data import load_hiring, read_dataset, sample_path
from spofr_core.evaluation import audit
from spofr_core.fairness import Fairness
from spofr_core.reporting import verdict
from tests.dashboard.apps import plain, rerun, shown, titles
from tests.data.test_excel import OLD, archive

GOOD = "qid,doc,sex,model_score,rel\n" + "".join(
    f"q{q},d{q}{k},{'fm'[(q + k) % 2]},{(7 * k + q) % 5 + 0.25},{k % 2}\n" for q in range(6) for k in range(5)
)
LETOR = "".join(f"{k % 3} qid:{q} 1:{k}.5 2:{(k * q) % 4} 3:{k % 2}\r\n" for q in range(1, 5) for k in range(6))


def uploaded(name: str, content: bytes | str):
    return add(shown("data"), name, content)


def workbook(*tables: str) -> bytes:
    made = openpyxl.Workbook()
    made.remove(made.active)
    for k, text in enumerate(tables, 1):
        sheet = made.create_sheet(str(k))
        frame = pd.read_csv(io.StringIO(text))
        for row in [list(frame.columns), *frame.to_numpy(dtype=object).tolist()]:
            sheet.append(row)
    content = io.BytesIO()
    made.save(content)
    return content.getvalue()


def add(app, name: str, content: bytes | str):
    data = content.encode() if isinstance(content, str) else content
    app.file_uploader[0].upload(name, data)
    return rerun(app)


def press(app, label: str = "Audit this data"):
    next(button for button in app.button if button.label == label).click()
    return rerun(app)


def kept(app):
    return app.session_state["uploaded"]


def test_a_good_file_is_guessed_and_audited():
    app = uploaded("mine.csv", GOOD)
    boxes = {box.label: box.value for box in app.selectbox}
    labels = ("Query (required)", "Item", "Ranked by (required)", "Relevance", "Group (required)")
    assert [boxes[label] for label in labels] == ["qid", "doc", "model_score", "rel", "sex"]
    assert len(app.dataframe[0].value) == 5
    press(app)
    direct = read_dataset(io.BytesIO(GOOD.encode()))
    assert kept(app).data.fingerprint == direct.fingerprint
    assert app.session_state["choices"].data == kept(app).address
    audited = shown("audit", state={"uploaded": kept(app)}, data="upload")
    assert titles(audited) == [verdict(audit(direct, Fairness(delta=0.05)).summary)]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("t.tsv", GOOD.replace(",", "\t").encode()),
        ("t.csv.gz", gzip.compress(GOOD.encode(), mtime=0)),
        ("bom.csv", b"\xef\xbb\xbf" + GOOD.encode()),
        ("t.json", pd.read_csv(io.StringIO(GOOD)).to_json(orient="split").encode()),
        ("t.jsonl", pd.read_csv(io.StringIO(GOOD)).to_json(orient="records", lines=True).encode()),
        ("t.xlsx", workbook(GOOD)),
    ],
)
def test_other_wrappings_of_the_same_table(name, content):
    app = press(uploaded(name, content))
    assert kept(app).data.fingerprint == read_dataset(GOOD.encode()).fingerprint


@pytest.mark.parametrize("name", ["t.xlsx", "t.json"])
def test_a_file_of_several_tables_asks_for_the_one_that_is_meant(name: str) -> None:
    short = GOOD[: GOOD.index("q4")]
    rows = [json.loads(pd.read_csv(io.StringIO(text)).to_json(orient="records")) for text in (short, GOOD)]
    content = workbook(short, GOOD) if name == "t.xlsx" else json.dumps({"1": rows[0], "2": rows[1]}).encode()
    app = uploaded(name, content)
    box = next(box for box in app.selectbox if box.label == "Sheet")
    assert (box.options, box.value) == (["1", "2"], "1")
    box.select("2")
    app = press(rerun(app))
    assert kept(app).data.fingerprint == read_dataset(GOOD.encode()).fingerprint
    lines = command_lines(kept(app), Choices()) + python_lines(kept(app), Choices())
    assert "--sheet 2" in str(lines)
    assert "sheet='2'" in str(lines)


def test_a_sheet_that_cannot_be_read_leaves_a_way_to_the_others() -> None:
    made = openpyxl.load_workbook(io.BytesIO(workbook(GOOD, GOOD)))
    made["2"].merge_cells("A1:B1")
    content = io.BytesIO()
    made.save(content)
    app = uploaded("t.xlsx", content.getvalue())
    next(box for box in app.selectbox if box.label == "Sheet").select("2")
    assert "are merged" in plain(rerun(app).error[0].value)
    app = press(press(app, "Choose another sheet"))
    assert kept(app).data.fingerprint == read_dataset(GOOD.encode()).fingerprint


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("t.xls", OLD + bytes(600), "save it as .xlsx"),
        ("t.ods", archive("mimetype", "content.xml"), "an OpenDocument file: save it as .xlsx"),
        ("t.zip", archive("t.csv"), "unpack it"),
        ("t.xls", b"<html><table><tr><td>qid</td></tr>\n</table></html>", "t.xls is a web page"),
        ("t.pdf", b"%PDF-1.7 \n", "a PDF"),
    ],
)
def test_what_is_no_table_is_refused_in_words_whatever_its_name(name, content, words):
    (error,) = uploaded(name, content).error
    assert words in plain(error.value)


def test_a_table_may_have_any_name():
    assert kept(press(uploaded("export.2024-05", GOOD))).data.fingerprint == read_dataset(GOOD.encode()).fingerprint


@pytest.mark.parametrize(("names", "words"), [(",", ""), (",x,x", "'x'"), (",model_score", "'model_score'")])
def test_columns_without_a_name_or_with_one_that_another_has(names, words):
    cells = "," * names.count(",")
    head, *rows = GOOD.splitlines()
    app = uploaded("t.csv", "\n".join([head + names + ",", *(row + cells + "," for row in rows)]))
    assert ("rename" in "".join(plain(each.value) for each in app.caption)) == bool(words)
    app = press(app)
    if "model_score" in words:
        assert "several columns called 'model_score'" in plain(app.error[0].value)
    else:
        assert kept(app).data.fingerprint == read_dataset(GOOD.encode()).fingerprint


def test_parquet_ranks_and_a_crossing():
    frame = pd.read_csv(io.StringIO(GOOD)).rename(columns={"model_score": "rank"})
    frame["rank"] = frame.groupby("qid").cumcount() + 1
    frame["region"] = np.where(frame.index % 3 == 0, "north", "south")
    content = io.BytesIO()
    frame.to_parquet(content)
    app = uploaded("t.parquet", content.getvalue())
    assert app.toggle(key="map-is-rank").value is True
    app.radio(key="map-way").set_value("crossing")
    rerun(app)
    app.multiselect(key="map-crossed").set_value(["sex", "region"])
    press(rerun(app))
    direct = read_dataset(frame, rank="rank", group=["sex", "region"])
    assert kept(app).data.group_names == direct.group_names
    assert np.array_equal(kept(app).data.score, direct.score)


def test_quantiles_of_a_number():
    app = uploaded("t.csv", GOOD)
    app.radio(key="map-way").set_value("quantiles")
    rerun(app)
    app.selectbox(key="map-Number to cut").set_value("model_score")
    app.slider(key="map-quantiles").set_value(3)
    press(rerun(app))
    assert kept(app).data.n_groups == 3


def test_letor_is_ranked_by_one_of_its_features():
    app = uploaded("train.txt", LETOR)
    app.selectbox(key="map-Ranked by").set_value("2")
    app.selectbox(key="map-Number to cut").set_value("1")
    press(rerun(app))
    data = kept(app).data
    assert len(data) == 4
    assert np.array_equal(data.score, data.features[:, 1])
    command = command_lines(kept(app), Choices(delta=0.1))
    assert shlex.split(command) == shlex.split(
        "spofr audit train.txt --score 2 --group 1 --quantiles 2 --no-guess --delta 0.1"
    )
    assert "read_dataset('train.txt', score='2', group='1', group_quantiles=2" in python_lines(kept(app), Choices())


def test_missing_groups_are_an_explicit_choice():
    holed = GOOD.replace("q1,d10,m", "q1,d10,")
    app = press(uploaded("holed.csv", holed))
    assert "d10" in app.error[0].value or "sex" in app.error[0].value
    for choice, groups, items in (("own_group", 3, 30), ("keep", 2, 30), ("exclude", 2, 30), ("drop", 2, 29)):
        app.selectbox(key="map-missing").set_value(choice)
        press(rerun(app))
        assert app.error == []
        assert (kept(app).data.n_groups, kept(app).data.n_items) == (groups, items)
        press(app, "Change how it is read")
    assert sum(kept(app).data.excluded.values()) == 1
    page = shown("data", state={"uploaded": kept(app)}, data="upload")
    assert any("Left out" in text.value for text in page.markdown)


BAD = {
    "empty.csv": b"",
    "header-only.csv": b"query,item,group,score\n",
    "no-query.csv": b"a,b\n1,2\n",
    "twice.csv": b"query,item,group,score\nq,i,a,1\nq,i,b,2\n",
    "nan.csv": b"query,item,group,score\nq,i,a,nan\nq,j,b,2\n",
    "inf.csv": b"query,item,group,score\nq,i,a,inf\nq,j,b,2\n",
    "infinite.csv": b"query,item,group,score,relevance\nq,i,a,1,-inf\nq,j,b,2,0\n",
    "text.csv": b"query,item,group,score\nq,i,a,high\nq,j,b,low\n",
    "many.csv": b"query,item,group,score\n" + b"".join(b"q,%d,g%d,1\n" % (k, k) for k in range(10_000)),
    "cut.csv.gz": gzip.compress(GOOD.encode(), mtime=0)[:60],
    "picture.csv": b"\x89PNG\r\n\x1a\n" + bytes(range(256)),
    "pickle.csv": b"\x80\x04\x95" + bytes(200),
    "latin.csv": b"query,item,group,score\nq,i,caf\xe9,1\nq,j,b,2\n",
    "broken.txt": b"2 qid:1 1:0.5\n1 qid:1 1:x\n",
    "fake.parquet": b"PAR1 this is not parquet",
    "ragged.csv": b"query,item,group,score\nq,i,a,1,extra,more\nq,j\n",
}


@pytest.mark.parametrize("name", BAD)
def test_a_wrong_file_gets_one_sentence_and_changes_nothing(name):
    app = uploaded(name, BAD[name])
    if not app.error and any(button.label == "Audit this data" for button in app.button):
        press(app)
    assert len(app.error) == 1
    assert len(app.error[0].value) > 30
    assert "Traceback" not in app.error[0].value
    assert app.session_state["choices"].data == "hiring"
    assert "uploaded" not in app.session_state
    assert any("Nothing was changed" in text.value for text in app.caption)


def test_latin_1_can_be_read_when_it_is_named():
    app = uploaded("latin.csv", BAD["latin.csv"])
    app.selectbox(key="upload-encoding").set_value("latin-1")
    press(rerun(app))
    assert "café" in kept(app).data.group_names


def test_hostile_names_are_text_on_every_page():
    hostile = GOOD.replace(",f,", ",<img src=x onerror=alert(1)>**b**,").replace("q0,", '"[q](http://x) :red[0] $x$",')
    app = press(uploaded("<script>.csv", hostile))
    for view in ("audit", "policy", "data", "report"):
        page = shown(view, state={"uploaded": kept(app)}, data="upload", delta=0.0)
        for element in (*page.title, *page.markdown, *page.caption, *page.header, *page.sidebar.caption):
            assert not element.proto.allow_html if hasattr(element.proto, "allow_html") else True
            if "onerror" in element.value:
                assert "\\<img" in element.value
        if view == "audit":
            assert any("onerror" in plain(element.value) for element in (*page.title, *page.markdown))


def test_the_lines_of_the_report_read_the_same_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my file.csv").write_text(GOOD)
    app = press(uploaded("my file.csv", GOOD))
    scope: dict = {}
    exec(compile(kept(app).python, "report", "exec"), {"read_dataset": read_dataset}, scope)
    assert scope["data"].fingerprint == kept(app).data.fingerprint
    words = shlex.split(command_lines(kept(app), Choices(delta=0.1)))
    assert words[:3] == ["spofr", "audit", "my file.csv"]
    assert words[-2:] == ["--delta", "0.1"]


def test_relevance_below_zero_is_shifted_or_clipped_and_the_audit_says_which():
    below = GOOD.replace(",0\n", ",-1.5\n")
    app = press(uploaded("z.csv", below))
    assert kept(app).data.label_shift == 1.5
    page = shown("audit", state={"uploaded": kept(app)}, data="upload")
    assert "nDCG@10 (labels + 1.5)" in [metric.label for metric in page.metric]
    page = shown("policy", state={"uploaded": kept(app)}, data="upload", notion="merit")
    assert any("those of labels + 1.5" in plain(text.value) for text in page.sidebar.caption)
    press(app, "Change how it is read")
    app.selectbox(key="map-negative-labels").set_value("clip")
    press(rerun(app))
    assert (kept(app).data.label_shift, kept(app).data.relevance.min()) == (0.0, 0.0)
    assert any("labels are below 0 and count as 0" in plain(text.value) for text in app.markdown)
    press(app, "Change how it is read")
    app.selectbox(key="map-Relevance").set_value("(none)")
    assert "map-negative-labels" not in [box.key for box in rerun(app).selectbox]


def test_a_second_file_is_guessed_afresh():
    app = uploaded("mine.csv", GOOD)
    app.selectbox(key="map-Relevance").set_value("(none)")
    add(rerun(app), "other.csv", GOOD.replace("model_score", "score"))
    assert app.selectbox(key="map-Ranked by").value == "score"
    assert app.selectbox(key="map-Relevance").value == "rel"


def test_the_template_is_a_file_that_the_page_takes():
    app = press(uploaded("template.csv", sample_path("template.csv").read_bytes()))
    assert kept(app).data.n_items > 0


def test_the_hiring_file_uploaded_is_the_hiring_sample():
    app = press(uploaded("hiring.csv", sample_path("hiring.csv").read_bytes()))
    theirs, ours = (
        audit(kept(app).data, Fairness(delta=0.05)).summary,
        audit(load_hiring(), Fairness(delta=0.05)).summary,
    )
    assert theirs["queries"] == ours["queries"]
