"""The first page of a report is one sheet of A4, and nothing of it is wider than a telephone."""

from __future__ import annotations

from pathlib import Path

import pytest

from spofr_core.data import read_dataset
from spofr_core.evaluation import repair
from spofr_core.fairness import Fairness, group_merits
from spofr_core.reporting import Provenance, audit_html

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures"
A4 = {"width": round((210 - 2 * 13) / 25.4 * 96), "height": round((297 - 2 * 13) / 25.4 * 96)}
"""Pixels between the margins of the sheet that the style sheet names."""


def twelve():
    return read_dataset(FIXTURES / "twelve.csv"), Fairness(delta=0.1, unit="share")


def portal():
    columns = {"query": "search", "item": "candidate", "group": "gender (self-stated)", "rank": "pos_shown"}
    data = read_dataset(FIXTURES / "portal.csv", decimal=",", relevance="contacted", **columns)
    return data, Fairness(delta=0.1, unit="share", notion="merit", merits=group_merits(data))


@pytest.mark.parametrize("case", [twelve, portal])
def test_the_first_page_fits_a_sheet_and_everything_fits_a_telephone(chromium, tmp_path, case):
    data, asked = case()
    found = repair(data, asked, on_infeasible="relax")
    signed = Provenance(source="a" * 60, fingerprint=data.fingerprint, auditor="b" * 60, notes="A long note. " * 46)
    path = tmp_path / "report.html"
    path.write_text(
        audit_html(found.before, provenance=signed, repaired=found.after, relaxed=len(found.policies.relaxed)), "utf-8"
    )
    page = chromium.new_page(viewport=A4)
    page.goto(path.as_uri())
    page.emulate_media(media="print")
    height = page.evaluate("document.querySelector('.first').getBoundingClientRect().height")
    assert 300 < height <= A4["height"]
    assert page.evaluate("getComputedStyle(document.querySelector('.first')).breakAfter") == "page"
    page.emulate_media(media="screen")
    for width in (420, 280):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        charts = page.evaluate("[...document.querySelectorAll('svg')].map(svg => svg.getBoundingClientRect().right)")
        assert charts
        assert max(charts) <= width
    page.close()
