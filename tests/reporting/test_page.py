"""The report: well formed, escaped, complete, and the same numbers as the summary."""

from __future__ import annotations

import datetime
import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

from spofr_core.data import load_hiring
from spofr_core.evaluation import audit, repair
from spofr_core.fairness import Fairness, group_merits
from spofr_core.reporting import (
    SECTIONS,
    Content,
    Provenance,
    Section,
    Table,
    audit_html,
    plain_summary,
    repair_sentence,
    report_name,
    verdict,
    verdict_details,
)
from spofr_core.reporting.chart_frames import (
    exposure_bars,
    group_rows,
    mark_at,
    share_steps,
    thinned,
    violation_bins,
)
from spofr_core.reporting.svg_charts import exposure_chart, share_chart, ticks, violation_chart
from tests.evaluation.lists import dataset, random_dataset

HOSTILE = ("<script>alert('g')</script>", '"><img src=x onerror=alert(1)>', "'&amp;{{7*7}}</style>")
VOID = {"meta", "rect", "circle", "line", "path", "polygon", "br"}


class Reader(HTMLParser):
    """Collects text and tags, and checks that what is opened is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert tag in VOID or self.open.pop() == tag

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.text += data.replace("\N{NO-BREAK SPACE}", " ") + "\n"


def read(html: str) -> Reader:
    reader = Reader()
    reader.feed(html)
    assert reader.open == []
    return reader


def test_the_report_says_what_the_summary_says():
    result = audit(random_dataset(3, n_queries=60), Fairness(delta=0.05))
    given = Provenance(source="lists.csv", fingerprint="ab" * 32, command="spofr audit lists.csv", python="audit(data)")
    page = read(audit_html(result, provenance=given))
    summary = result.summary
    assert verdict(summary) in page.text
    for said in (
        summary["definition"],
        summary["formula"],
        summary["position_bias"],
        "lists.csv",
        "spofr audit lists.csv",
    ):
        assert said in page.text
    assert "sha256:" + "ab" * 32 in page.text
    assert summary["queries"]["not_applicable"] > 0
    assert "nobody to be fair between" in page.text
    assert "What this does not show" in page.text
    for worst in summary["worst"]:
        assert worst["query"] in page.text


def test_the_report_needs_nothing_but_itself():
    page = read(audit_html(audit(random_dataset(3), Fairness(delta=0.05))))
    assert not any(tag in ("script", "link", "img", "iframe") for tag, _ in page.tags)
    assert not any("src" in attrs or "href" in attrs for _, attrs in page.tags)


def test_hostile_names_stay_text():
    data = dataset([[3.0, 2.0, 1.0], [1.0, 2.0, 3.0]], [HOSTILE, HOSTILE], names=HOSTILE)
    data = type(data)(**{**vars_of(data), "query_ids": np.array(HOSTILE[:2], dtype=object)})
    provenance = Provenance(source=HOSTILE[0], command=HOSTILE[1], python=HOSTILE[2])
    html = audit_html(audit(data, Fairness(delta=0.01)), provenance=provenance)
    page = read(html)
    assert not any(tag in ("script", "img") for tag, _ in page.tags)
    assert not any(name.startswith("on") for _, attrs in page.tags for name in attrs)
    assert html.count("</style>") == 1
    for name in HOSTILE:
        assert name in page.text


def vars_of(data):
    return {
        name: getattr(data, name) for name in ("query_ids", "offsets", "item_ids", "groups", "group_names", "score")
    }


@pytest.mark.parametrize(
    "data",
    [random_dataset(0)[0:0], dataset([[1.0, 2.0]], ["aa"]), dataset([[1.0]], ["a"]), dataset([[2.0, 1.0]], ["ab"])],
    ids=["no queries", "one group", "one item", "two items"],
)
def test_small_audits_have_a_report_too(data):
    result = audit(data, Fairness(delta=0.1))
    page = read(audit_html(result))
    assert verdict(result.summary) in page.text


def test_infeasible_queries_are_listed_with_the_delta_that_would_do():
    data = random_dataset(5, n_queries=80)
    result = audit(data, Fairness(delta=0.0, notion="merit", merits={**group_merits(data), "a": 9.0}))
    infeasible = result.summary["infeasible"]
    assert infeasible["count"] > 10
    page = read(audit_html(result))
    assert f"The 10 hardest of {infeasible['count']:,}." in page.text
    assert infeasible["queries"][0]["query"] in page.text


def test_delta_per_group_is_named_in_the_report():
    page = read(audit_html(audit(random_dataset(3), Fairness(delta={"a": 0.1, "b": 0.05, "c": 0.2}))))
    assert "delta by group (a 0.1, b 0.05, c 0.2)" in page.text


def test_the_share_chart_marks_the_exact_share_even_of_a_thinned_curve():
    many = steps(np.linspace(0, 1, 5000), np.arange(1, 5001) / 5000)
    assert "delta = 0.5: 50.0 %" in share_chart(share_steps(many), mark_at(many, 0.5))
    one = steps(np.array([0.2]), np.array([1.0]))
    assert "delta = 0.1: 0.0 %" in share_chart(share_steps(one), mark_at(one, 0.1))


def test_the_curve_ends_where_few_queries_could_still_exceed_delta_but_not_before_the_chosen_one():
    ending = steps(np.array([0.1, 0.2, 0.3, 0.4]), np.array([0.5, 0.75, 0.99, 1.0]))
    ending["cannot_fail"] = [0, 50, 91, 100]
    drawn = share_steps(ending)
    assert (drawn.delta.tolist(), drawn.share.tolist()) == ([0, 0.1, 0.2, 0.3], [0, 0.5, 0.75, 0.99])
    assert drawn.cannot_fail.tolist() == [0, 0, 0.5, 0.91]
    assert share_steps(ending, 0.35).delta.tolist() == [0, 0.1, 0.2, 0.3, 0.4]
    assert (mark_at(ending, 0.35).share, mark_at(ending, 0.4).share) == (0.99, None)


def steps(deltas, shares):
    counts = {"delta": deltas, "hold": 100 * shares, "cannot_fail": 0, "queries": 100}
    return pd.DataFrame({**counts, "share": shares, "lower": shares, "upper": shares})


def test_queries_that_cannot_fail_are_shaded_below_the_curve():
    ending = steps(np.array([0.1, 0.2]), np.array([0.5, 1.0])).assign(cannot_fail=[25, 50])
    drawn = read(share_chart(share_steps(ending), None))
    paths = {attrs["class"]: attrs["d"] for tag, attrs in drawn.tags if tag == "path"}
    floor, *heights = (float(y) for y in re.findall(r"[,V]([\d.]+)", paths["idle"]))
    top = min(float(y) for y in re.findall(r"[,V]([\d.]+)", paths["curve"]))
    assert [(floor - y) / (floor - top) for y in heights] == pytest.approx([0.25, 0.5, 0], abs=1e-3)


def test_numbers_in_a_row_are_of_the_same_items():
    """Two lists of both groups, five of one: of a 4 items are compared in 2 lists, of b 3."""
    data = dataset([[3.0, 2.0, 1.0], [4.0, 3.0, 2.0, 1.0], *[[2.0, 1.0]] * 5], ["aab", "aabb", *["aa", "bb"] * 2, "aa"])
    found = audit(data, Fairness(delta=0.1))
    assert {name: group["items"] for name, group in found.summary["groups"].items()} == {"a": 10, "b": 7}
    for html in (found.to_html(), found._repr_html_()):
        rows = re.findall(r" (a|b)(?:</span>)*</td><td[^>]*>(\d+)</td><td[^>]*>(\d+)</td>", html)
        assert rows == [("a", "4", "2"), ("b", "3", "2")]
    assert [bar.size for bar in exposure_bars(found.summary)] == ["4 items in 2 lists", "3 items in 2 lists"]


def test_bars_are_as_long_as_their_values():
    rest = {"compared": 10, "compared_queries": 5, "exposure_mean": 0.1, "relative_ci": None, "small": False}
    groups = {name: {"relative_mean": share, **rest} for name, share in (("a", 0.67), ("b", 1.34))}
    page = read(exposure_chart(exposure_bars({"groups": groups})))
    widths = [float(attrs["width"]) for tag, attrs in page.tags if tag == "rect"]
    assert widths[1] == pytest.approx(2 * widths[0], abs=0.2)
    assert "33 % below" in page.text
    assert "34 % above" in page.text


def test_violation_bars_stand_at_their_values():
    frame = violation_bins(group_rows(["a"], ["a"]), np.array([[-0.1], [-0.1], [0.1]]), None)
    page = read(violation_chart(frame, None))
    bars = [(float(a["x"]), float(a["height"])) for tag, a in page.tags if tag == "rect"]
    assert len(bars) == 2
    assert bars[0][0] < bars[1][0]
    assert bars[0][1] == pytest.approx(2 * bars[1][1], abs=0.2)


def test_ticks_are_round_and_cover_the_range():
    assert ticks(0, 1, 4) == [0, 0.25, 0.5, 0.75, 1.0]
    assert ticks(-0.1, 0.1, 4) == [-0.1, -0.05, 0, 0.05, 0.1]
    assert ticks(2, 2) == [2]


def test_a_thinned_curve_keeps_its_ends():
    xs = ys = np.arange(10_000.0)[thinned(10_000)]
    assert len(xs) <= 400
    assert (xs[0], xs[-1], ys[-1]) == (0, 9999, 9999)


def test_a_section_of_ones_own_is_one_call_and_its_words_stay_text():
    rows = [("a", "<1>"), (HOSTILE[0], "2")]

    def content(report):
        total = report.summary["queries"]["total"]
        return Content(sentences=[f"{total} {HOSTILE[1]}"], table=Table(("x", "n"), rows))

    result = audit(random_dataset(3, n_queries=5), Fairness(delta=0.05))
    SECTIONS.register(Section("contact", "Whom to ask & when", content))
    try:
        html = audit_html(result)
    finally:
        SECTIONS.unregister("contact")
    page = read(html)
    assert "Whom to ask & when" in page.text
    assert f"5 {HOSTILE[1]}" in page.text
    assert "<1>" in page.text
    assert not any(tag in ("script", "img") for tag, _ in page.tags)
    assert html.index("How to check this") < html.index("Whom to ask")
    assert "Whom to ask" not in audit_html(result)


def test_a_report_allows_no_script_and_prints_on_paper():
    html = audit_html(audit(random_dataset(3), Fairness(delta=0.05)))
    policy = next(a["content"] for tag, a in read(html).tags if a.get("http-equiv") == "Content-Security-Policy")
    assert policy == "default-src 'none'; style-src 'unsafe-inline'"
    assert "size: A4" in html
    assert "prefers-color-scheme: dark" in html


def signed(**changes):
    given = {"source": "data/Lists of 2026.csv", "fingerprint": "ab" * 32, "date": datetime.date(2026, 11, 16)}
    return Provenance(**(given | {"auditor": "Ada <b>", "notes": "Asked twice."} | changes))


def test_the_first_page_has_data_date_auditor_question_verdict_and_repair():
    data, asked = load_hiring()[:60], Fairness(delta=0.1, unit="share")
    found = repair(data, asked)
    html = audit_html(found.before, provenance=signed(), repaired=found.after)
    first = read(html[html.index('<div class="first">') : html.index('<figure id="exposure"')])
    for said in (
        verdict(found.before.summary),
        *verdict_details(found.before.summary),
        f"data/Lists of 2026.csv: 60 queries, {data.n_items:,} items, 2 groups",
        "sha256:" + "ab" * 32,
        "2026-11-16",
        "Ada <b>",
        "Asked twice.",
        found.before.summary["definition"],
        "delta = 10 %",
        repair_sentence(found.before.summary, found.after.summary, 0),
        *plain_summary(found.before.summary, found.after.summary),
    ):
        assert said in first.text


def test_a_report_without_a_repair_says_so_and_who_audited_is_not_invented():
    page = read(audit_html(audit(random_dataset(3), Fairness(delta=0.05))))
    assert "Not computed here" in page.text
    assert "Auditor\nnot named" in page.text
    assert datetime.date.today().isoformat() in page.text


def test_a_report_says_how_to_check_it_and_claims_no_way_that_is_not_there():
    found = repair(load_hiring()[:5], Fairness(delta=0.1, unit="share"))
    last = audit_html(found.before, provenance=signed(command="spofr audit x.csv"), repaired=found.after)
    assert "and so are the numbers. That the repair holds delta" in read(last).text
    alone = read(audit_html(found.before, provenance=signed())).text
    assert "How to check this" in alone
    assert "so are the numbers" not in alone
    assert "proof" not in alone


@pytest.mark.parametrize(
    ("source", "asked", "name"),
    [
        ("hiring.csv.gz", Fairness(delta=0.1, unit="share"), "hiring-exposure-delta-10pct"),
        ("a/b/Lists of 2026.csv", Fairness(delta=0.05), "lists-of-2026-exposure-delta-0.05"),
        (None, Fairness(delta={"a": 0.1, "b": 0.1, "c": 1}), "data-exposure-delta-by-group"),
        ("Übersicht_組.csv", Fairness(delta=0.05), "übersicht-組-exposure-delta-0.05"),
        ("…/../?.csv", Fairness(delta=0.075, unit="share"), "data-exposure-delta-7.5pct"),
    ],
)  # fmt: skip
def test_the_name_of_a_report_says_what_it_is(source, asked, name):
    assert (
        report_name(audit(random_dataset(3), asked).summary, signed(source=source))
        == f"spofr-audit-{name}-2026-11-16.html"
    )


def test_a_report_goes_into_a_folder_under_its_name(tmp_path):
    audit(random_dataset(3), Fairness(delta=0.05)).to_html(tmp_path, auditor="Ada")
    (written,) = tmp_path.iterdir()
    assert written.name.startswith("spofr-audit-data-exposure-delta-0.05-")
    assert "Ada" in read(written.read_text("utf-8")).text
