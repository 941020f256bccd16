"""Slices and courses over time in sentences, cells and charts: what is claimed is what the numbers claim."""

from __future__ import annotations

import re

import numpy as np
import pytest

from spofr_core.evaluation import audit, over_time, sliced_result, slices
from spofr_core.evaluation.slicing.slices import Slices
from spofr_core.fairness import Fairness
from spofr_core.reporting import (
    audit_html,
    change_sentence,
    exposure_cells,
    slice_cells,
    slice_chart,
    slice_head,
    slice_name,
    slice_sentences,
    time_cells,
    time_chart,
    time_sentences,
)
from tests.evaluation.slicing.sliced_lists import sliced_dataset, values

SLICING = {"by": ["country"], "confidence": 0.95, "fewest": 10}


def row(place: str, mean: float, difference: float | None, *, differs: bool = False, n: int = 120, **more) -> dict:
    told = None if difference is None else [difference - 0.02, difference + 0.02]
    found = {
        "slice": place,
        "values": {"country": place},
        "queries": n,
        "n": n,
        "mean": mean,
        "ci": None if difference is None else [mean - 0.01, mean + 0.01],
        "rest": None if difference is None else mean - difference,
        "difference": difference,
        "difference_ci": told,
        "evidence": None,
        "differs": differs,
    }
    return found | more


def entry(*rows: dict, unit: str = "", label: str = "violation") -> dict:
    compared = sum(found["difference"] is not None for found in rows)
    about = {"measure": "violation", "label": label, "unit": unit, "better": "lower"}
    return {**about, "n": 500, "mean": 0.06, "compared": compared, "slices": list(rows)}


def test_the_slice_with_the_most_evidence_has_the_headline():
    found = entry(row("Germany", 0.08, 0.03, differs=True), row("France", 0.04, -0.02), row("Malta", 0.2, None, n=3))
    assert slice_sentences(SLICING, found) == [
        "Country Germany differs most from the rest: violation 0.08 against 0.05 (n = 120; simultaneous 95 % interval "
        "of the difference 0.01 to 0.05).",
        "1 slice with fewer than 10 queries is listed and claims nothing.",
    ]


def test_shares_are_said_as_percentages_and_their_differences_as_points():
    found = entry(row("DE", 0.3, 0.1, differs=True), row("FR", 0.1, -0.15, differs=True), unit="share", label="Share")
    first, second = slice_sentences(SLICING, found)
    assert "share 30 % against 20 %" in first
    assert "difference 8 to 12 percentage points" in first
    assert second == "Different too: country FR (lower)."
    assert slice_cells(found)[0] == ("DE", "120", "30 % (29 % to 31 %)", "+10 (+8 to +12)", "yes")
    assert slice_head(SLICING, found)[3] == "from the rest in points (95 % interval)"


def test_nothing_is_claimed_where_nothing_was_found():
    still = entry(row("DE", 0.06, 0.01), row("FR", 0.05, -0.01))
    assert slice_sentences(SLICING, still) == [
        "By country, no slice differs from the rest in its violation by more than these queries can show."
    ]
    few = entry(row("DE", 0.06, None, n=4), row("FR", 0.05, None, n=3))
    assert slice_sentences(SLICING, few) == [
        "By country, no slice can be compared with the rest: 10 queries are needed in it, and as many outside."
    ]
    assert slice_sentences(SLICING, entry(row("DE", 0.06, None))) == [
        "All queries have country DE: there is no other slice to compare with."
    ]


def test_many_that_differ_are_counted():
    rows = [row(f"c{k}", 0.1, 0.05, differs=True) for k in range(9)]
    assert slice_sentences(SLICING, entry(*rows))[1].endswith("country c4 (higher) and 4 more.")


@pytest.mark.parametrize(
    ("chosen", "name"),
    [
        ({"country": "DE", "device": "mobile"}, "country DE and device mobile"),
        ({"country": "(missing)"}, "queries without country"),
        ({"country": "(missing)", "device": "mobile"}, "device mobile and no country"),
        ({"country": "(missing)", "device": "(missing)"}, "queries without country or device"),
        ({"city": "x" * 99}, "city " + "x" * 13 + "…" + "x" * 26),
        ({"a\nb": "c\td"}, "a b c d"),
    ],
)
def test_slices_are_called_by_their_attributes(chosen, name):
    assert slice_name(chosen) == name


def course(numbers, days, window="day", label="violation", unit=""):
    times = np.datetime64("2024-01-31", "us") + np.asarray(days).astype("timedelta64[D]")
    found = over_time(values(numbers, times), window)
    summary = found.summary | {"label": label, "unit": unit}
    return {"window": found.windows.kind, "confidence": 0.95, "fewest": 10, "without_time": 0}, summary


def test_a_change_is_said_with_both_ends():
    rng = np.random.default_rng(0)
    time, summary = course(np.r_[rng.normal(1, 0.1, 20), rng.normal(2, 0.1, 30)], [0] * 20 + [2] * 30)
    sentence = change_sentence(time, summary)
    assert sentence == (
        "The violation rose from 0.982 (2024-01-31, n = 20) to 2.03 (2024-02-02, n = 30), by 1.05 (95 % interval of "
        "the change 1 to 1.1; p < 0.001, permutation test)."
    )
    assert time_sentences(time, summary)[1] == "1 window has no such query."
    assert time_cells(time, summary)[1] == ("2024-02-01", "0", "-", "-")


def test_no_change_is_said_as_such():
    time, summary = course([0.1, 0.2, 0.2, 0.1], [0, 0, 1, 1], label="nDCG@10", unit="share")
    assert change_sentence(time, summary) == (
        "From first to last, the nDCG@10 goes from 15 % (2024-01-31, n = 2) to 15 % (2024-02-01, n = 2): no change "
        "that these queries can show (95 % interval of the change -30 to 30 percentage points; p = 1, permutation "
        "test)."
    )
    time, summary = course([0.1, 0.2], [0, 0])
    assert (
        change_sentence(time, summary)
        == "The violation is known in one window of time only: there is no change to speak of."
    )


def test_a_chart_draws_every_slice_that_has_an_interval():
    rng = np.random.default_rng(1)
    found: Slices = slices(values(rng.random(200), c=np.resize(["<b>", '"', "東京", "few"], 200)), "c")
    drawn = slice_chart(found.summary)
    assert drawn.count('class="whisker"') == 4
    assert drawn.count("&lt;b&gt;") >= 1
    assert "<b>" not in drawn
    assert slice_chart(entry(row("DE", 0.1, None))) == ""
    time, summary = course(rng.random(30), np.resize([0, 1, 3], 30))
    drawn = time_chart(time, summary)
    assert drawn.count('class="whisker"') == 3
    assert re.search(r'class="curve" d="M[\d.,]+L[\d.,]+M[\d.,]+"', drawn)  # a gap where no query is


def test_the_report_has_a_section_for_each_where_they_were_asked_for():
    result = audit(sliced_dataset(2), Fairness(delta=0.1))
    assert 'id="slices"' not in audit_html(result)
    page = audit_html(result.with_slices(["country", "device"], window="month"))
    assert 'id="slices"' in page
    assert 'id="time"' in page
    for title in ("By country", "By device", "By country and device", "Over time", "Exposure of groups"):
        assert f">{title}<" in page
    assert page.count("<svg") == audit_html(result).count("<svg") + 3 * 2 + 2


def test_names_from_the_data_are_text_in_the_report():
    data = sliced_dataset(2)
    odd = np.resize(["<script>x</script>", '"&"', "=1+1"], len(data))
    result = audit(data.replace(attributes={"<i>who</i>": odd}), Fairness(delta=0.1))
    page = audit_html(result.with_slices(["<i>who</i>"]))
    assert "<script>" not in page
    assert "<i>who" not in page
    assert "&lt;script&gt;x&lt;/script&gt;" in page


def test_exposure_of_groups_has_a_cell_each():
    result = audit(sliced_dataset(2), Fairness(delta=0.1)).with_slices(["country"])
    slicing = result.summary["slices"][0]
    cells = exposure_cells(slicing, ["a", "c"])
    assert [row[0] for row in cells] == ["DE", "FR", "IT"]
    shown = slicing["exposure"][0]["groups"]["c"]
    assert cells[0][2].startswith(f"{100 * shown['relative']:.0f} %")
    assert len(cells[0]) == 4


def test_values_of_ones_own_are_sliced_and_told_alike():
    rng = np.random.default_rng(3)
    found = sliced_result(
        values(np.r_[rng.random(60), rng.random(60) + 1], c=["a"] * 60 + ["b"] * 60), ["c"], measures=["x"]
    )
    slicing = found.summary["slices"][0]
    assert slicing["exposure"] is None
    assert slice_sentences(slicing, slicing["measures"][0])[0].startswith("C a differs most from the rest: x 0.")
