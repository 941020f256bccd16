"""Files to take away: made after the click, of what was typed before it, and handed over once."""

from __future__ import annotations

import html
import io
import json
import shlex

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest
from typer.testing import CliRunner

from dashboard.charts.policy_charts import lottery
from dashboard.widgets.downloads import Download, part_of_name, save_script
from spofr_core import Fairness, load_sample, repair
from spofr_core.cli import app
from spofr_core.errors import DataError
from spofr_core.reporting import percent
from tests.dashboard.apps import plain, rerun, saved, shown


def _page() -> None:
    import streamlit as st

    from dashboard.widgets.downloads import Download, downloads
    from spofr_core.errors import DataError

    def broken() -> str:
        raise DataError("Row 3 has no group.")

    def typed() -> str:
        return str(st.session_state["text"])

    def interrupted() -> str:
        if st.session_state.setdefault("first", True):
            st.session_state["first"] = False
            st.rerun()
        return "at last"

    st.text_input("Text", key="text")
    downloads(
        Download("Typed", typed, "typed.txt", "text/plain"),
        Download("Broken", broken, "broken.txt", "text/plain"),
        Download("Interrupted", interrupted, "interrupted.txt", "text/plain"),
    )


@pytest.fixture
def page() -> AppTest:
    return rerun(AppTest.from_function(_page))


def test_a_file_is_made_of_what_was_typed_before_the_click(page):
    assert saved(page) == {}
    page.text_input[0].input("häfen")
    page.button(key="download-Typed").click()
    assert saved(rerun(page)) == {"typed.txt": "häfen".encode()}
    assert saved(rerun(page)) == {}


def test_what_goes_wrong_is_told_in_a_sentence_and_not_tried_again(page):
    page.button(key="download-Broken").click()
    assert [plain(error.value) for error in rerun(page).error] == ["Row 3 has no group."]
    assert not rerun(page).error


def test_a_click_is_answered_although_the_page_was_drawn_anew_meanwhile(page):
    page.button(key="download-Interrupted").click()
    assert saved(rerun(page)) == {"interrupted.txt": b"at last"}


def test_no_name_ends_the_script():
    script = save_script(Download("x", str, "</script><b>.csv", "text/csv"), b"")
    assert script.count("</script>") == 1
    assert script.endswith("</script>")


PLAIN = ["S0044", "組", "مجموعة", "con", "a-b"]


@pytest.mark.parametrize("name", [*PLAIN, "a/b", "../../etc", "a b", "x" * 300, "", "\ud800", "é" * 99, "q\u202efdp"])
def test_any_id_can_be_part_of_a_name(name):
    part = part_of_name(name)
    assert 0 < len(f"certificate-{part}.json".encode()) < 200
    assert not set(part) & set('/\\:*?"<>| \n\0\u202e')
    assert not part.startswith(".")
    assert part_of_name(f"{name}?") != part
    assert (part == name) == (name in PLAIN)


def test_what_the_policy_page_hands_out_is_in_one_order_and_is_verified(tmp_path):
    data, asked = load_sample("hiring").test, Fairness(delta=0.1, unit="share")
    mended = repair(data, asked).policies
    place = next(q for q, policy in enumerate(mended) if list(policy.probabilities) == sorted(policy.probabilities)[:2])
    policy = mended[place]
    page = shown("policy", data="hiring", delta=0.1, unit="share", query=policy.query)
    files = {}
    for label in ("Policy (CSV)", "Policy (JSON)", "Certificate (JSON)"):
        page.button(key=f"download-{label}").click()
        files |= saved(rerun(page))
    query = policy.query
    assert list(files) == [f"policy-{query}.csv", f"policy-{query}.json", f"certificate-{query}.json"]
    table = pd.read_csv(io.BytesIO(files[f"policy-{query}.csv"]))
    listed = json.loads(files[f"policy-{query}.json"])["rankings"]
    proved = json.loads(files[f"certificate-{query}.json"])
    heads = [head.text for head in lottery(policy, data.group_names).checked().layout.annotations][1:]
    card = policy._repr_html_()
    lots = zip(policy.rankings.tolist(), policy.probabilities.tolist(), strict=True)
    for k, (ranking, probability) in enumerate(lots):
        rows = table[table["ranking"] == k + 1]
        assert rows["item_id"].tolist() == listed[k]["items"] == policy.item_ids[ranking].tolist()
        assert rows["probability"].iloc[0] == listed[k]["probability"] == proved["probabilities"][k] == probability
        assert proved["rankings"][k] == ranking
        assert heads[k] == f"<b>{percent(probability)}</b><br>ranking {k + 1}"
    assert card.index(percent(policy.probabilities[0])) < card.index(percent(policy.probabilities[1]))
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
        done = CliRunner().invoke(app, ["verify", str(tmp_path / name), "--sample", "hiring", "--delta", "10%"])
        assert done.exit_code == 0, done.output
        assert done.stdout.startswith(f"Query {policy.query!r} holds delta; ")
        assert "there is no policy for the other 499 queries, which were not checked." in done.stdout
    document = json.loads(files[f"policy-{query}.json"])
    document["rankings"][0]["items"] = "nothing"
    (tmp_path / "damaged.json").write_text(json.dumps(document), "utf-8")
    done = CliRunner().invoke(app, ["verify", str(tmp_path / "damaged.json"), "--sample", "hiring", "--delta", "10%"])
    assert done.exit_code in (1, 2), done.output


@pytest.mark.parametrize("page", ["report", "compare"])
def test_a_summary_is_no_policy_and_the_check_says_so(page, tmp_path):
    app_ = shown(page, data="hiring")
    app_.button(key="download-Summary (JSON)").click()
    ((_, content),) = saved(rerun(app_)).items()
    (tmp_path / "summary.json").write_bytes(content)
    done = CliRunner().invoke(app, ["verify", str(tmp_path / "summary.json"), "--sample", "hiring"])
    assert isinstance(done.exception, DataError)
    assert "holds no rankings" in str(done.exception)


def test_the_report_and_the_project_have_the_notes_that_were_typed_last():
    report = shown("report", data="hiring")
    report.text_area[0].input("Ask the harbour office.")
    report.text_input(key="report-auditor").input("A. Auditor")
    report.button(key="download-Report (HTML)").click()
    ((name, content),) = saved(rerun(report)).items()
    assert name.endswith(".html")
    assert b"Ask the harbour office." in content
    assert b"A. Auditor" in content

    data = shown("data", data="hiring")
    data.text_area[0].input("Ask somebody else.")
    data.button(key="download-Project (JSON)").click()
    assert json.loads(saved(rerun(data))["hiring-project.json"])["notes"] == "Ask somebody else."


@pytest.mark.parametrize("asked", [{"data": "hiring", "delta": 0.1, "unit": "share"},
                                   {"data": "hiring", "delta": 0.0, "notion": "merit", "quota": "1@10"}])  # fmt: skip
def test_page_and_report_have_the_lines_that_repair_and_prove(asked, tmp_path, monkeypatch):
    page = shown("report", **asked)
    lines = page.code[-1].value.splitlines()
    assert [line.split()[1] for line in lines] == ["repair", "verify"]
    page.button(key="download-Report (HTML)").click()
    (content,) = saved(rerun(page)).values()
    for line in lines:
        assert line in html.unescape(content.decode())
        # The data is named by its place in the project, the policies by that where somebody works.
        words = [str(tmp_path / word) if word == "policies.parquet" else word for word in shlex.split(line)[1:]]
        done = CliRunner().invoke(app, words)
        assert done.exit_code == 0, done.output


def test_no_line_is_promised_that_would_repair_other_lists():
    page = shown("report", data="hiring", slice="job_family:sales")
    assert not any("spofr repair" in block.value for block in page.code)
