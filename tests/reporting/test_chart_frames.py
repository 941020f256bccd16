"""Page and report draw the same numbers in the same order under the same labels."""

from __future__ import annotations

import re
from html import unescape

import numpy as np
import pytest

from dashboard.charts import bounds_shares, exposure_by_group, share_curve, violation_histograms
from spofr_core.evaluation import audit
from spofr_core.fairness import Fairness
from spofr_core.reporting import (
    bounds_counts,
    exposure_bars,
    groups_left_out,
    mark_at,
    share_steps,
    violations_by_group,
)
from spofr_core.reporting.chart_frames import LONGEST_LABEL, group_labels
from spofr_core.reporting.svg_charts import exposure_chart, share_chart, violation_chart
from tests.evaluation.lists import dataset, random_dataset

DELTA = 0.05


@pytest.fixture(scope="module")
def result():
    return audit(random_dataset(1, n_queries=80), Fairness(delta=DELTA))


def words(svg: str) -> list[str]:
    """What the texts of an SVG say, without what pointing at them shows."""
    return [unescape(text) for text in re.findall(r"<text[^>]*>(?:<title>.*?</title>)?(.*?)</text>", svg)]


def plain(text: str) -> str:
    """Text of a Plotly label: no markup, no glyph in front."""
    return unescape(re.sub(r"<[^>]*>", "", text)).strip("●■◆▲ ")


def rects(svg: str) -> list[tuple[str, float, float, float]]:
    found = re.findall(r'<rect x="([\d.-]+)" y="[\d.-]+" width="([\d.-]+)" height="([\d.-]+)" fill="([^"]+)"', svg)
    return [(colour, float(x), float(width), float(height)) for x, width, height, colour in found]


def test_exposure_is_the_same_on_page_and_in_the_report(result):
    summary = result.summary
    svg = exposure_chart(exposure_bars(summary))
    page = exposure_by_group(summary).spec
    bar = page["data"][0]
    *rows, mean = words(svg)
    over_all, *said = (plain(note["text"]) for note in page["layout"]["annotations"])
    assert [f"{label}  {text.replace(' · ', ', ')}" for label, text in zip(rows[0::2], rows[1::2], strict=True)] == said
    assert over_all in (f"┆ {mean}", f"{mean} ┆")  # on the side of the line that has room
    drawn = rects(svg)
    assert [colour for colour, *_ in drawn] == bar["marker"]["color"]
    widths = np.array([width for _, _, width, _ in drawn])
    assert widths / widths.sum() == pytest.approx(np.array(bar["x"]) / np.sum(bar["x"]), abs=1e-3)


def test_long_names_that_begin_alike_are_told_apart_by_their_ends():
    begun = "Region of the Northern Association of Towns, "
    names = [f"{begun}harbour district", f"{begun}inland district", "north"]
    assert group_labels(names) == ["Region…bour district", "Region…land district", "north"]
    twins = [f"Region {k} of the Northern Association" for k in range(12)]
    labels = group_labels(twins)
    assert len(set(labels)) == 12
    assert labels[3] == "Region…n Association (4)"
    assert max(len(label) for label in group_labels(names)) == LONGEST_LABEL


def test_the_curve_of_shares_is_the_same_on_page_and_in_the_report(result):
    steps = result.fair_share()
    svg = share_chart(share_steps(steps), mark_at(steps, DELTA))
    page = share_curve(result, DELTA).spec
    assert plain(page["layout"]["annotations"][0]["text"]) in words(svg)
    curve = re.search(r'class="curve" d="M([\d.]+),([\d.]+)(.*)H[\d.]+"', svg)
    left, floor = float(curve[1]), float(curve[2])
    points = np.array(re.findall(r"H([\d.]+)V([\d.]+)", curve[3]), dtype=float)
    x, y = page["data"][2]["x"][1:], page["data"][2]["y"][1:]
    assert (points[:, 0] - left) / (points[-1, 0] - left) == pytest.approx(x / x[-1], abs=1e-3)
    assert (floor - points[:, 1]) / (floor - points[-1, 1]) == pytest.approx(y / y[-1], abs=1e-3)


def test_histograms_are_the_same_on_page_and_in_the_report(result):
    svg = violation_chart(violations_by_group(result, DELTA), DELTA)
    page = violation_histograms(result, DELTA).spec
    labels = [plain(note["text"]) for note in page["layout"]["annotations"]]
    assert [word for word in words(svg) if word in labels] == labels
    for trace in page["data"]:
        counts = trace["y"][trace["y"] > 0]
        heights = [height for colour, _, _, height in rects(svg) if colour == trace["fillcolor"]]
        assert np.array(heights) / max(heights) == pytest.approx(counts / counts.max(), abs=5e-3)


def test_the_table_of_bounds_has_the_counts_that_the_chart_shows(result):
    frame = bounds_counts(result, every_group=True).frame()
    counts = frame[["below", "within", "above"]]
    for trace, column in zip(bounds_shares(result).spec["data"], counts, strict=True):
        assert trace["x"] == pytest.approx(100 * counts[column] / counts.sum(axis=1))
    judged = result.queries[result.queries["applicable"]]
    assert counts.sum(axis=1).tolist() == [int((judged["group"] == name).sum()) for name in frame["group"]]


def test_many_groups_are_the_same_few_in_both_and_that_is_said():
    names = tuple(f"g{k:02d}" for k in range(30))
    rng = np.random.default_rng(3)
    many = audit(dataset([rng.random(30) for _ in range(20)], [names] * 20, names=names), Fairness(delta=DELTA))
    svg = exposure_chart(exposure_bars(many.summary))
    _, *said = (plain(note["text"]) for note in exposure_by_group(many.summary).spec["layout"]["annotations"])
    assert [re.search(r"g\d\d", text)[0] for text in said] == [word for word in words(svg) if word in names]
    assert groups_left_out(many.summary).startswith("Drawn: the 12 of 30 groups")
    assert groups_left_out(many.summary) in many.to_html()


def test_groups_whose_short_names_are_equal_are_told_apart():
    long = ("x" * 30 + "a", "x" * 30 + "b")
    found = audit(dataset([[3.0, 2.0]], [long], names=long), Fairness(delta=DELTA))
    assert len({bar.row.label for bar in exposure_bars(found.summary)}) == 2
