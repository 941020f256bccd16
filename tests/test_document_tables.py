"""Tables in docs/quality.md and docs/reproduction.md are what the results in the repository say."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

from spofr_core.experiments.paper.findings import CLAIMS
from spofr_core.experiments.paper.findings_text import one_line

SCRIPT = Path(__file__).resolve().parent.parent / "docs" / "make_tables.py"


@pytest.fixture
def make_tables():
    before = set(sys.modules)
    spec = importlib.util.spec_from_file_location("make_tables", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    for name in set(sys.modules) - before:
        if name.startswith("quality"):
            del sys.modules[name]


def test_the_tables_are_current(make_tables):
    for path, text in make_tables.documents().items():
        assert path.read_text("utf-8") == text, f"{path.name} is out of date: python docs/make_tables.py"
    pages = [(make_tables.DOCS / name).read_text("utf-8") for name in ("quality.md", "quality_tables.md")]
    assert [page.count("<!-- begin ") for page in pages] == [1, 11]


def test_a_number_in_a_sentence_is_replaced_by_the_answer_to_its_question(make_tables):
    text = "Trees add <!--= toy: a - b @ 0 -->old<!--/-->, <!--= what? --><!--/--> more."
    once = make_tables.with_numbers(text, str.upper)
    assert once == "Trees add <!--= toy: a - b @ 0 -->TOY: A - B @ 0<!--/-->, <!--= what? -->WHAT?<!--/--> more."
    assert make_tables.with_numbers(once, str.upper) == once


def test_a_part_is_replaced_whole_and_an_unknown_one_is_refused(make_tables):
    text = "a\n<!-- begin x -->\nold | numbers\n<!-- end x -->\nb"
    once = make_tables.with_parts(text, {"x": "new"})
    assert once == "a\n<!-- begin x -->\n\nnew\n\n<!-- end x -->\nb" == make_tables.with_parts(once, {"x": "new"})
    with pytest.raises(KeyError):
        make_tables.with_parts(text, {"y": "new"})


def test_facts_of_the_reproduction_come_from_its_findings_and_its_data(make_tables):
    told = {
        "a": [
            "mslr, exposure, SPOFR: 61.5% (58% to 64%) of the ideal DCG at delta 0.4.",
            "adult, e, SPOFR: 90.0% of the ideal.",
        ],
        "b": [
            "500 clicks: SPOFR 0.10 s per epoch, FULTR 0.50 s.",
            "5,000 clicks: SPOFR 0.90 s per epoch, FULTR 1.80 s.",
        ],
        "c": ["adult, e, delta 0: SPOFR as published (SPO+) minus FULTR +0.1 (95 % interval +0.05 to +0.15, 3 seeds)."],
    }
    told["c"] += ["adult, e, delta 0: SPOFR minus FULTR +0.300 (95 % interval -0.100 to +0.500, 3 seeds)."]
    told["c"] += ["adult, e, delta 1: SPOFR minus FULTR +0.200 (95 % interval +0.100 to +0.300, 3 seeds)."]
    findings = [make_tables.Finding("f", name, "open", numbers) for name, numbers in told.items()]
    answers = {
        "margin": "5 %",
        "paper seconds": "6.6 to 7.8",
        "drawn from: german-credit": "350, 350 and 300 people",
        "drawn from: mslr": "16, 7 and 29 queries",
        "share of ideal: german-credit, mslr": "62 %",
        "share of ideal: adult": "90 %",
        "seconds: FULTR": "0.50 to 1.80",
        "seconds: SPOFR / FULTR": "0.20 to 0.50",
        "difference: SPOFR minus FULTR on adult": "+0.200 to +0.300; 1 of 2 intervals above 0, 0 below",
    }
    assert {asked: make_tables.fact(findings, asked) for asked in answers} == answers
    for wrong in ("difference: SPOFR minus FULTR on mslr", "merits: adult"):
        with pytest.raises(KeyError):
            make_tables.fact(findings, wrong)


def test_merit_by_means_and_by_sums_favours_other_groups_of_german_credit(make_tables):
    ways = {
        kind: [
            float(make_tables.fact([], f"{kind}: german-credit, {group}")) for group in ("radio/TV", "other purpose")
        ]
        for kind in ("merit", "merit sum")
    }
    assert ways["merit"][0] > ways["merit"][1]
    assert ways["merit sum"][0] < ways["merit sum"][1]
    assert sum(ways["merit sum"]) == pytest.approx(2, abs=0.05)  # good credits of a list


def test_every_claim_has_its_finding_at_both_scales(make_tables):
    claims = [(figure, each.text) for figure, judged in CLAIMS.items() for each in judged]
    for scale in ("small", "paper"):
        found = make_tables.read_findings(scale)
        assert [(finding.figure, finding.claim) for finding in found if not finding.data] == claims
        on_adult = [(finding.figure, finding.claim) for finding in found if finding.data == "adult"]
        assert on_adult == [claim for claim in claims if claim[0] not in ("multigroup", "runtime")]


def test_one_line_counts_the_intervals_that_exclude_zero():
    numbers = [
        "mslr, exposure, delta 0: SPOFR minus FULTR +0.300 (95 % interval +0.100 to +0.500, 3 seeds).",
        "mslr, exposure, delta 0.1: SPOFR minus FULTR -0.020 (95 % interval -0.030 to -0.010, 3 seeds).",
        "mslr, exposure, delta 0.2: SPOFR minus DELTR +0.010 (95 % interval -0.030 to +0.050, 3 seeds).",
        "mslr, exposure, mean violation <= 0.005: SPOFR 1.068, no FULTR or DELTR gets there.",
    ]
    assert one_line(numbers) == (
        "SPOFR minus FULTR: -0.020 to +0.300; 1 of 2 intervals above 0, 1 below. "
        "SPOFR minus DELTR: +0.010; 0 of 1 intervals above 0, 0 below; at 1 more no rival gets there."
    )


def test_one_line_gives_ranges_and_names_methods_with_the_same_numbers_together():
    numbers = [
        "a, exposure, FULTR: every query at 4 of 7 deltas.",
        "b, exposure, FULTR: every query at 2 of 7 deltas.",
        "a, exposure, SPOFR: every query at 7 of 7 deltas.",
        "b, exposure, random ranking: every query at 7 of 7 deltas.",
    ]
    assert one_line(numbers) == ("FULTR: every query at 2 to 4 of 7 deltas. SPOFR, random ranking: 7 of 7 deltas.")
    sizes = [
        "500 clicks: SPOFR 0.07 s per epoch (66 epochs), FULTR 0.13 s (63 epochs).",
        "5,000 clicks: SPOFR 0.27 s per epoch (7 epochs), FULTR 1.24 s (7 epochs) (paper: 39 s and 5 s).",
    ]
    assert one_line(sizes) == "SPOFR 0.07 to 0.27 s per epoch, FULTR 0.13 to 1.24 s."
    assert one_line([]) == ""
