"""Results in a notebook: small, escaped, readable on light and dark, with the numbers of their summaries."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

from spofr_core import (
    Fairness,
    Policies,
    audit,
    compare,
    fair_policies,
    fair_policy,
    measure,
    read_dataset,
    selection_rates,
)
from spofr_core.data import RankingDataset, load_hiring
from spofr_core.evaluation import repair
from spofr_core.reporting import verdict, verdict_details
from spofr_core.reporting.palette import GROUP_COLOURS
from tests.evaluation.lists import dataset, random_dataset
from tests.reporting.test_page import HOSTILE, read

LONG = "<b onclick=alert(1)>日本 =1+1 & 'quoted' " * 12


def lists_of_many_groups(groups: int = 100, lists: int = 20) -> RankingDataset:
    rng = np.random.default_rng(0)
    names = tuple(f"{LONG}{number}" for number in range(groups))
    return dataset([rng.random(groups) for _ in range(lists)], [names] * lists, [rng.integers(0, 2, groups)] * lists)


@pytest.fixture(scope="module")
def hiring():
    return load_hiring()[:60]


@pytest.fixture(scope="module")
def cards(hiring) -> dict[str, str]:
    repaired = repair(hiring, Fairness(delta=0.05))
    many = lists_of_many_groups()
    rng = np.random.default_rng(1)
    ids = np.array([f"{LONG}{number}" for number in range(500)], dtype=object)
    frame = pd.DataFrame({"q": LONG, "item": ids, "group": rng.choice(HOSTILE, 500), "score": rng.random(500)})
    long_list = read_dataset(frame, query="q", item="item", group="group", score="score")
    return {
        "audit": audit(hiring, Fairness(delta=0.05))._repr_html_(),
        "audit of 100 groups": audit(many, Fairness(delta=0.05))
        .with_selection(selection_rates(many, k=5))
        ._repr_html_(),
        "measured": measure(hiring, "all")._repr_html_(),
        "measured of 100 groups": measure(many, "all")._repr_html_(),
        "comparison": compare({"now": repaired.before, "repair": repaired.after})._repr_html_(),
        "comparison of 100 groups": compare(
            {LONG: audit(many, Fairness(delta=0.05)), HOSTILE[0]: audit(many, Fairness(delta=0.02))}
        )._repr_html_(),
        "policy": repaired.policies[0]._repr_html_(),
        "policy of 500 items": repair(long_list, Fairness(delta=0.001)).policies[0]._repr_html_(),
        "policy of 100 groups": fair_policy(
            many[:1].score, np.array(many.group_names)[many[:1].groups], Fairness(delta=0.5)
        )._repr_html_(),
    }


NAMES = (
    "audit",
    "audit of 100 groups",
    "measured",
    "measured of 100 groups",
    "comparison",
    "comparison of 100 groups",
    "policy",
    "policy of 500 items",
    "policy of 100 groups",
)


@pytest.mark.parametrize("name", NAMES)
def test_a_card_is_small_needs_nothing_and_runs_nothing(cards, name):
    html = cards[name]
    assert len(html.encode("utf-8")) < 50_000
    page = read(html)
    tags = {tag for tag, _ in page.tags}
    assert tags <= {"div", "svg", "rect", "text", "line", "table", "thead", "tbody", "tr", "th", "td", "span"}
    for _, attributes in page.tags:
        assert not any(attribute.startswith("on") or attribute in ("src", "href") for attribute in attributes)
    assert "url(" not in html


@pytest.mark.parametrize("name", NAMES)
def test_the_text_has_the_colour_of_the_page_so_that_light_and_dark_show_it(cards, name):
    styles = [attributes.get("style") or "" for _, attributes in read(cards[name]).tags]
    assert not any("background" in style for style in styles)
    coloured = {colour for style in styles for colour in re.findall(r"(?<![-\w])color:([^;]+)", style)}
    assert coloured <= set(GROUP_COLOURS)
    fills = {attributes["fill"] for tag, attributes in read(cards[name]).tags if tag == "text"}
    assert fills <= {"currentColor"}


def test_hostile_names_are_text(cards):
    assert "<b onclick" not in "".join(cards.values())
    assert "'quoted' 13" in read(cards["audit of 100 groups"]).text
    data = dataset([[3.0, 2.0, 1.0]] * 2, [HOSTILE] * 2, names=HOSTILE)
    assert HOSTILE[0] in read(audit(data, Fairness(delta=0.01))._repr_html_()).text


def test_an_audit_says_what_its_summary_says(hiring, cards):
    result = audit(hiring, Fairness(delta=0.05))
    page = read(cards["audit"])
    assert page.text.strip().startswith("Exposure audit: exposure, delta = 0.05")
    for line in (verdict(result.summary), *verdict_details(result.summary)):
        assert line in page.text
    for group in result.summary["groups"].values():
        assert f"{group['items']:,}" in page.text
        assert f"{group['exposure_mean']:.3f}".rstrip("0") in page.text


def test_the_bars_are_as_long_as_the_relative_exposures(hiring, cards):
    groups = audit(hiring, Fairness(delta=0.05)).summary["groups"]
    page = read(cards["audit"])
    lengths = [float(attributes["width"]) for tag, attributes in page.tags if tag == "rect"]
    relative = [group["relative_mean"] for group in groups.values()]
    (line,) = [float(attributes["x1"]) - 160 for tag, attributes in page.tags if tag == "line"]
    assert [length / line for length in lengths] == pytest.approx(relative, abs=0.002)


def test_what_is_cut_is_counted(cards):
    assert "and 80 more groups" in cards["audit of 100 groups"]
    assert "and 80 more groups" in cards["policy of 100 groups"]
    assert "and 490 more" in cards["policy of 500 items"]


def test_lists_of_a_single_group_have_no_chart():
    card = audit(dataset([[2.0, 1.0]], [["a", "a"]]), Fairness(delta=0.05))._repr_html_()
    assert "<svg" not in card
    assert "cannot be judged" in card


def test_a_policy_shows_its_lottery_its_violation_and_its_certificate():
    # Two items, one of each group: each first half of the time is the only policy at delta 0.
    policy = fair_policy([2.0, 1.0], ["a", "b"], Fairness(delta=0.0))
    page = read(policy._repr_html_())
    assert "A lottery over 2 rankings of 2 items" in page.text
    assert page.text.count("50.0 %") == 2
    assert "No group gets too much or too little; delta is 0." in page.text
    assert "The certificate proves that its gap to the optimum is below 1e-9." in page.text
    assert policy.gap == pytest.approx(policy.certificate["gap"], abs=1e-12)
    # Exposures 1/2 and 1/3: sorted, each group is 1/12 off.
    loose = read(fair_policy([2.0, 1.0], ["a", "b"], Fairness(delta=0.2))._repr_html_())
    assert "A lottery over 1 ranking of 2 items" in loose.text
    assert "0.0833 too much" in loose.text
    assert "0.0833 too little" in loose.text


def test_a_policy_in_shares_says_per_cent():
    policy = fair_policy([2.0, 1.0], ["a", "b"], Fairness(delta=0.5, unit="share"))
    assert "20 % too much" in policy._repr_html_()  # 1/2 against a mean of 5/12
    assert "delta is 50 %" in policy._repr_html_()


def test_policies_without_multipliers_claim_no_optimum():
    data = random_dataset(1, n_queries=3)
    fairness = Fairness(delta=0.5)
    made = fair_policies(data.score, data.groups, data.offsets, fairness, query_ids=data.query_ids)
    back = Policies.from_frame(made.to_frame(), data, fairness)
    assert "Nothing is known about how far that is from optimal" in back[0]._repr_html_()


def test_one_group_has_nobody_to_be_fair_between():
    assert "nobody to be fair between" in fair_policy([2.0, 1.0], ["a", "a"], Fairness(delta=0.0))._repr_html_()


def test_measures_say_what_they_are_worth_and_where_they_are_not(hiring, cards):
    found = measure(hiring, "all").summary
    page = read(cards["measured"])
    assert f"{len(found['measures'])} measures of 60 queries" in page.text
    for name, entry in found["measures"].items():
        assert name in page.text
        assert f"{entry['n']:,}" in page.text
    gaps = read(measure(random_dataset(2), ["NDKL"])._repr_html_())
    assert "NDKL has no value in" in gaps.text


def test_a_comparison_says_its_headline(cards):
    page = read(cards["comparison"])
    assert "Compared with now" in page.text
    assert "repair gives" in page.text
