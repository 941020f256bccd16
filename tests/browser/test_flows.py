"""The dashboard as people use it: a file of their own, from upload to report; links; two visitors at once."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pandas as pd
import pytest
from playwright.sync_api import Page, expect

from spofr_core.data import read_dataset
from spofr_core.evaluation import audit
from spofr_core.fairness import Fairness
from spofr_core.policy import fair_policies, verify
from spofr_core.reporting import verdict
from tests.browser.pages import element, go, headline, no_error, opened, says, settled
from tests.data.test_excel import OLD

pytestmark = pytest.mark.browser

_QUERIES = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa", "lambda", "mu"]
# Large enough that neither team counts as a small group, of which no worst query is named.
SMALL = "qid,doc,team,points,rel\n" + "".join(
    f"{name}{q},d{k},{'xy'[k % 2]},{12 - k - (k % 2) * 3},{k % 3}\n"
    for q, name in enumerate(_QUERIES)
    for k in range(8)
)


def upload(page: Page, name: str, content: str | bytes) -> None:
    data = content.encode() if isinstance(content, str) else content
    page.locator('input[type="file"]').set_input_files({"name": name, "mimeType": "text/csv", "buffer": data})
    page.wait_for_timeout(500)
    settled(page)


def downloaded(page: Page, label: str) -> bytes:
    with page.expect_download() as waiting:
        page.get_by_role("button", name=label).click()
    return Path(waiting.value.path()).read_bytes()


def test_workbooks_and_lines_of_json_are_taken_and_other_files_refused_in_words(page, address, tmp_path):
    frame = pd.read_csv(io.StringIO(SMALL))
    frame.to_excel(tmp_path / "mine.xlsx", index=False)
    frame.to_json(tmp_path / "mine.jsonl", orient="records", lines=True)
    (tmp_path / "mine.xls").write_bytes(OLD)
    for name in ("mine.xlsx", "mine.jsonl"):
        opened(page, f"{address}/data")
        page.locator('input[type="file"]').set_input_files(tmp_path / name)
        expect(page.get_by_role("heading", name=f"Reading {name}")).to_be_visible()
        settled(page)
        choose(page, "Ranked by", "points")
        choose(page, "Group", "team")
        page.get_by_role("button", name="Audit this data").click()
        expect(page.locator("h1").first).to_contain_text("12 queries")
    opened(page, f"{address}/data")
    page.locator('input[type="file"]').set_input_files(tmp_path / "mine.xls")
    expect(page.get_by_text("save it as .xlsx")).to_be_visible()


def test_from_upload_to_report(page, address, chromium):
    roles = {"query": "qid", "item": "doc", "group": "team", "score": "points", "relevance": "rel"}
    data = read_dataset(io.BytesIO(SMALL.encode()), **roles)
    asked = Fairness(delta=0.1, unit="share")

    opened(page, address)
    page.get_by_role("button", name="Use your own data").click()
    expect(page.locator("h1")).to_contain_text("Which rankings")
    upload(page, "mine.csv", SMALL)
    choose(page, "Ranked by", "points")
    choose(page, "Group", "team")
    page.get_by_role("button", name="Audit this data").click()
    expect(page.locator("h1")).to_contain_text("queries")
    settled(page)
    says(page, verdict(audit(data, asked).summary))
    fixed = audit(data, asked, policies=fair_policies(data, asked)).summary["queries"]["fair"]
    expect(page.get_by_text(f"Re-ranked exactly from the same scores, {fixed} of {len(data)} queries")).to_be_visible()
    assert "data=upload" in page.url

    go(page, "Policy")
    worst = audit(data, asked).summary["worst"][0]["query"]
    says(page, f"Query {worst}")
    page.get_by_role("button", name="Verify").click()
    expect(page.get_by_text("Verified without the solver")).to_be_visible()
    settled(page)
    rows = list(csv.DictReader(io.StringIO(downloaded(page, "Policy (CSV)").decode())))
    assert {row["query_id"] for row in rows} == {worst}
    certificate = json.loads(downloaded(page, "Certificate (JSON)"))
    one = data.query(worst)
    names = [data.group_names[code] for code in one.groups]
    assert verify(certificate, one.score, names, asked).ok

    go(page, "Report")
    assert json.loads(downloaded(page, "Summary (JSON)")) == json.loads(json.dumps(audit(data, asked).summary))
    report = downloaded(page, "Report (HTML)")
    assert data.fingerprint in report.decode()
    _reads_offline(chromium, report, verdict(audit(data, asked).summary))
    no_error(page)


def choose(page: Page, label: str, option: str) -> None:
    """Pick an option of a select box of the mapping."""
    box = page.locator(f".st-key-map-{label.replace(' ', '-')}").get_by_role("combobox")
    box.click()
    box.fill(option)
    page.keyboard.press("Enter")
    expect(box).to_have_value(option)
    page.wait_for_timeout(300)
    settled(page)


def _reads_offline(chromium, report: bytes, said: str) -> None:
    """The report opens without a network and without scripts, and asks for nothing."""
    context = chromium.new_context(offline=True, java_script_enabled=False)
    page = context.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.set_content(report.decode())
    assert headline(page) == said
    assert page.locator("svg[role=img]").count() == 3
    assert asked == []
    context.close()


def test_the_worst_query_leads_to_its_policy(page, address):
    opened(page, f"{address}/?data=german-credit&delta=0.03")
    row = page.locator(".st-key-worst-queries button strong").first
    query = row.inner_text()
    row.click()
    says(page, f"Query {query}")
    settled(page)
    assert "query=" in page.url
    no_error(page)


def test_a_link_opens_the_same_view_for_somebody_else(page, stranger, address):
    opened(page, f"{address}/policy?data=hiring&groups=region&delta=0.02&query=S0100")
    says(page, "Query S0100")
    link, first = page.url, element(page, "stPlotlyChart").first.inner_text()
    opened(stranger, link)
    says(stranger, "Query S0100")
    assert element(stranger, "stPlotlyChart").first.inner_text() == first
    assert stranger.locator(".st-key-sidebar-delta").get_by_role("slider").input_value() == "0.02"


def test_two_visitors_do_not_see_each_others_files(page, stranger, address):
    mine = SMALL
    theirs = SMALL.replace("alpha", "omega")
    for who, content in ((page, mine), (stranger, theirs)):
        opened(who, f"{address}/data")
        upload(who, "file.csv", content)
        choose(who, "Ranked by", "points")
        choose(who, "Group", "team")
        who.get_by_role("button", name="Audit this data").click()
        expect(who.locator("h1")).to_contain_text("queries")
        settled(who)
    for who, name, absent in ((page, "alpha", "omega"), (stranger, "omega", "alpha")):
        go(who, "Policy")
        who.locator(".st-key-policy-query").get_by_role("combobox").click()
        options = " ".join(who.get_by_role("option").all_inner_texts())
        assert name in options
        assert absent not in options


def test_a_link_to_an_upload_shows_a_sample_and_says_so(page, address):
    opened(page, f"{address}/?data=upload&delta=0.05")
    expect(page.get_by_text("only the browser that uploaded it can see")).to_be_visible()
    expect(page.locator("h1").first).to_contain_text("of 500 queries")


def test_a_wrong_file_is_refused_in_one_sentence(page, address):
    opened(page, f"{address}/data")
    upload(page, "picture.csv", b"\x89PNG\r\n\x1a\n" + bytes(range(256)))
    expect(page.get_by_text("is a PNG picture")).to_be_visible()
    expect(page.get_by_text("Nothing was changed")).to_be_visible()
    no_error(page)


def runs_nothing(page: Page, ran: list[str]) -> None:
    """No script of a name ran, and no element was made of one: a picture, a link, a letter to somebody."""
    no_error(page)
    assert ran == []
    assert page.locator('img[src="x"], svg[onload]').count() == 0
    links = page.locator("a").evaluate_all("all => all.map(e => e.getAttribute('href') ?? e.outerHTML)")
    assert [link for link in links if "evil" in link] == []


def test_hostile_names_run_nothing(page, address):
    ran: list[str] = []
    page.on("dialog", lambda dialog: (ran.append(dialog.message), dialog.dismiss()))
    script = "<img src=x onerror=alert(1)>"
    names = {
        "team": f"team {script}",
        ",y,": f",y {script} http://evil.example/ [y](http://evil.example/) <a href='http://evil.example/'>y</a>,",
        ",x,": ",x me@evil.example www.evil.example,",
        "alpha0": "<script>alert(2)</script> http://evil.example/q",
        "beta1": "b \u202e\u0001 ://evil",
        ",d1,": ",d1 http://evil.example/ <svg onload=alert(3)>,",
    }
    evil = SMALL
    for old, new in names.items():
        evil = evil.replace(old, new)
    opened(page, f"{address}/data")
    upload(page, f"{script} http:evil.example.csv", evil)
    runs_nothing(page, ran)
    choose(page, "Ranked by", "points")
    choose(page, "Group", f"team {script}")
    page.get_by_role("button", name="Audit this data").click()
    expect(page.locator("h1")).to_contain_text("queries")
    runs_nothing(settled(page), ran)
    for name in ("Policy", "Data", "Compare", "Report", "Train", "Tradeoffs", "Guarantees", "Audit"):
        runs_nothing(go(page, name), ran)
