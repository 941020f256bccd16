"""Sentences against summaries written by hand, and against small audits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from spofr_core.data import load_hiring
from spofr_core.evaluation import SmallGroups, audit
from spofr_core.fairness import NOTIONS, Fairness, Notion
from spofr_core.reporting import (
    caveats,
    delta_text,
    difference_text,
    direction_text,
    exposure_sentence,
    name_text,
    named,
    number,
    percent,
    plain_summary,
    repair_sentence,
    verdict,
    verdict_details,
    violation_text,
    within_a_sentence,
)
from spofr_core.reporting.wording.phrases import start_sentence
from spofr_core.reporting.words import OF_LISTS
from tests.evaluation.lists import dataset, random_dataset


def group(**changes: Any) -> dict[str, Any]:
    base = {"items": 900, "queries": 500, "compared": 900, "compared_queries": 500, "small": False}
    return (
        base
        | {
            "exposure_mean": 0.2,
            "relative_mean": 1.0,
            "exposure_ci": [0.19, 0.21],
            "relative_ci": [0.98, 1.02],
            "violation_mean": -0.1,
            "violation_ci": [-0.12, -0.08],
        }
        | changes
    )


def queries(**changes: Any) -> dict[str, Any]:
    base = {"total": 500, "applicable": 500, "not_applicable": 0, "cannot_fail": 0, "judged": 500, "fair": 326}
    return base | {"share": 0.652, "ci": [0.6092, 0.6923], "small_only": 0} | changes


def summary(**changes: Any) -> dict[str, Any]:
    women, men = group(relative_mean=0.828), group(relative_mean=1.15, violation_mean=0.1)
    base = {
        "delta": 0.1,
        "unit": "share",
        "notion": "exposure",
        "queries": queries(),
        "suggested_delta": None,
        "worst": [
            {"query": "q811", "group": "women", "violation": -0.34, "exposure": 0.125, "mean_exposure": 0.19},
        ],
        "groups": {"women": women, "men": men},
        "small_groups": {"items": 30, "lists": 10},
        "exposure_ratio": {"value": 0.72, "ci": [0.69, 0.75], "lowest": "women", "highest": "men"},
        "infeasible": {"count": 0, "queries": []},
        "excluded": {},
        "notes": [],
        "utility": None,
        "quota": None,
        "model": None,
    }
    return base | changes


def ratio(lowest: str, highest: str, value: float | None = 0.72, ci: list[float] | None = None) -> dict[str, Any]:
    return {"value": value, "ci": ci or [0.69, 0.75], "lowest": lowest, "highest": highest}


FIVE = {name: group() for name in ("a", "b", "c", "d", "e")}
IN_174 = "In 174 of 500 queries the difference from the list's mean exceeds the tolerance of 10 %."

SITUATIONS = {
    "two groups": ({}, f"Women get 28 % less exposure than men. {IN_174}"),
    "an absolute delta": (
        {"delta": 0.05, "unit": "absolute"},
        "Women get 28 % less exposure than men. "
        "In 174 of 500 queries the difference from the list's mean exceeds the tolerance of 0.05.",
    ),
    "names that are no nouns": (
        {"groups": {"0": group(), "1": group()}, "exposure_ratio": ratio("0", "1")},
        f"Group 0 gets 28 % less exposure than group 1. {IN_174}",
    ),
    "names as adjectives": (
        {"groups": {"female": group(), "male": group()}, "exposure_ratio": ratio("female", "male")},
        f"Group female gets 28 % less exposure than group male. {IN_174}",
    ),
    "a name with a capital": (
        {"groups": {"Paris": group(), "iPads": group()}, "exposure_ratio": ratio("Paris", "iPads")},
        f"Group Paris gets 28 % less exposure than group iPads. {IN_174}",
    ),
    "many groups": (
        {"groups": FIVE, "exposure_ratio": ratio("b", "e")},
        f"Of 5 groups, group b gets the least exposure: 28 % less than group e, the most exposed. {IN_174}",
    ),
    "many groups with a small one": (
        {"groups": FIVE | {"f": group(small=True)}, "exposure_ratio": ratio("b", "e")},
        f"Of 5 groups, group b gets the least exposure: 28 % less than group e, the most exposed. {IN_174}",
    ),
    "no difference that can be shown": (
        {"exposure_ratio": ratio("women", "men", 0.97, [0.93, 1.01])},
        f"Between women and men there is no difference in exposure that these queries can show. {IN_174}",
    ),
    "no difference among many": (
        {"groups": FIVE, "exposure_ratio": ratio("b", "e", 0.97, [0.93, 1.01])},
        f"Among the 5 groups there is no difference in exposure that these queries can show. {IN_174}",
    ),
    "a difference too small for a number": (
        {"exposure_ratio": ratio("women", "men", 0.997, [0.995, 0.999])},
        f"Between women and men the exposure differs by less than half a per cent. {IN_174}",
    ),
    "no exposure at all": (
        {"exposure_ratio": ratio("women", "men", 0.0, [0.0, 0.0])},
        f"Women get no exposure at all, unlike men. {IN_174}",
    ),
    "merit": (
        {"notion": "merit"},
        "Women get 28 % less exposure than men, before merit is taken into account. "
        "In 174 of 500 queries the difference from what merit calls for exceeds the tolerance of 10 %.",
    ),
    "gap": (
        {"notion": "gap"},
        "Women get 28 % less exposure than men. "
        "In 174 of 500 queries the difference between the groups exceeds the tolerance of 10 %.",
    ),
    "delta by group": (
        {"delta": {"women": 0.1, "men": 0.05}},
        "Women get 28 % less exposure than men. "
        "In 174 of 500 queries the difference from the list's mean exceeds its tolerance (women 10 %, men 5 %).",
    ),
    "everything holds": (
        {"queries": queries(fair=500, share=1.0, ci=[0.992, 1.0])},
        "Women get 28 % less exposure than men. All 500 queries stay within the tolerance of 10 %.",
    ),
    "nothing holds": (
        {"queries": queries(fair=0, share=0.0, ci=[0.0, 0.008])},
        "Women get 28 % less exposure than men. "
        "In all 500 queries the difference from the list's mean exceeds the tolerance of 10 %.",
    ),
    "delta forbids nothing": (
        {
            "delta": 0.05,
            "unit": "absolute",
            "queries": queries(total=5, applicable=5, cannot_fail=5, judged=0, fair=0, share=None, ci=None),
            "suggested_delta": 0.002,
        },
        "Women get 28 % less exposure than men. "
        "This delta forbids nothing here: no ranking of these lists could exceed it; 0.002 would forbid something.",
    ),
    "no delta could forbid anything": (
        {"queries": queries(cannot_fail=500, judged=0, fair=0, share=None, ci=None)},
        "Women get 28 % less exposure than men. "
        "This delta forbids nothing here: no ranking of these lists could exceed it.",
    ),
    "some cannot fail": (
        {"queries": queries(cannot_fail=20, judged=480, fair=306)},
        "Women get 28 % less exposure than men. "
        "In 174 of 480 queries the difference from the list's mean exceeds the tolerance of 10 %.",
    ),
    "small groups exceed it too": (
        {"queries": queries(small_only=4)},
        "Women get 28 % less exposure than men. "
        "In 170 of 500 queries the difference from the list's mean exceeds the tolerance of 10 %.",
    ),
    "small groups alone exceed it": (
        {"queries": queries(fair=497, small_only=3)},
        "Women get 28 % less exposure than men. Only small groups exceed the tolerance of 10 %, in 3 of 500 queries.",
    ),
    "all small": (
        {"groups": {n: group(small=True) for n in "ab"}, "exposure_ratio": None, "queries": queries(small_only=174)},
        f"Every group is too small to compare: each has fewer than 30 items or 10 lists. {IN_174}",
    ),
    "one that is not small": (
        {"groups": {"a": group(), "b": group(small=True)}, "exposure_ratio": None},
        f"Only group a is large enough to compare: the other groups have fewer than 30 items or 10 lists. {IN_174}",
    ),
    "one list": (
        {
            "queries": queries(total=1, applicable=1, judged=1, fair=0, share=0.0),
            "exposure_ratio": {"value": 0.72, "ci": None, "lowest": "women", "highest": "men"},
        },
        "In the one query, women get 28 % less exposure than men. "
        "The difference from the list's mean exceeds the tolerance of 10 %.",
    ),
    "single groups": (
        {"queries": queries(total=2, applicable=0, not_applicable=2, judged=0)},
        "None of the 2 queries can be judged: each has items of a single group.",
    ),
    "one single group": (
        {"queries": queries(total=1, applicable=0, not_applicable=1, judged=0)},
        "The only query cannot be judged: it has items of a single group.",
    ),
    "no queries": ({"queries": queries(total=0, applicable=0, judged=0)}, "There are no queries to judge."),
}


@pytest.mark.parametrize(("changes", "said"), SITUATIONS.values(), ids=list(SITUATIONS))
def test_the_headline_of(changes, said):
    assert verdict(summary(**changes)) == said


def test_the_headline_of_a_notion_of_ones_own_speaks_of_its_violation():
    class Own(Notion):
        name = "own"

        def scale_and_target(self, fairness, composition, mean_exposure):
            raise NotImplementedError

    NOTIONS.register(Own())
    try:
        said = verdict(summary(notion="own"))
    finally:
        NOTIONS.unregister("own")
    assert said.endswith("In 174 of 500 queries the violation exceeds the tolerance of 10 %.")


def test_the_details_say_n_interval_ratio_and_the_worst_case_with_its_direction():
    assert verdict_details(summary()) == [
        "326 of 500 judged queries hold delta = 10 %: 65.2 % (95 % CI 60.9 to 69.2).",
        "Of the mean exposure in their lists, women get 83 % and men 115 %, a ratio of 0.72 (95 % CI 0.69 to 0.75).",
        "Furthest off: query q811, where women get 34 % too little (exposure 0.125; the list's mean is 0.19).",
    ]


def test_the_details_count_what_the_headline_leaves_out():
    small = {"old": group(small=True), "young": group(small=True)}
    said = verdict_details(
        summary(queries=queries(cannot_fail=1, small_only=4), groups=summary()["groups"] | small, worst=[])
    )
    assert said[1:3] == [
        "In 4 queries only small groups (group old and group young) exceed it.",
        "1 more query could not exceed it in any order, and is not counted.",
    ]
    assert len(said) == 4


def test_few_queries_are_said_to_make_rough_intervals():
    few = queries(total=5, applicable=5, judged=5, fair=1, share=0.2, ci=[0.036, 0.624])
    assert verdict_details(summary(queries=few))[0] == (
        "1 of 5 judged queries hold delta = 10 %: 20.0 % (95 % CI 3.6 to 62.4). So few queries make rough intervals."
    )


def test_a_delta_that_forbids_nothing_has_no_share():
    nothing = queries(cannot_fail=500, judged=0, fair=0, share=None, ci=None)
    said = " ".join([verdict(summary(queries=nothing)), *verdict_details(summary(queries=nothing))])
    assert "100" not in said
    assert "hold" not in said


def test_being_in_longer_lists_makes_no_headline():
    """Women mostly in lists of 60, men mostly in lists of 6: drawn at random within each list, nobody gets less."""
    rng = np.random.default_rng(2)
    groups = [rng.permutation(["women"] * 50 + ["men"] * 10) for _ in range(60)]
    groups += [rng.permutation(["women"] + ["men"] * 5) for _ in range(300)]
    said = audit(dataset([rng.random(len(each)) for each in groups], groups), Fairness(delta=0.1)).summary
    assert said["groups"]["women"]["exposure_mean"] < 0.6 * said["groups"]["men"]["exposure_mean"]
    assert exposure_sentence(said).endswith("there is no difference in exposure that these queries can show.")


def test_nothing_to_judge_is_said_instead_of_a_number():
    single = audit(dataset([[1.0, 2.0], [1.0]], ["aa", "a"]), Fairness(delta=0.1)).summary
    assert verdict(single) == "None of the 2 queries can be judged: each has items of a single group."
    assert exposure_sentence(single) is None
    assert verdict_details(single) == []
    of_lists = audit(dataset([[1.0, 2.0], [1.0]], ["aa", "b"]), Fairness(delta=0.1)).summary
    assert verdict_details(of_lists) == [OF_LISTS]
    assert caveats(of_lists) == [
        "2 queries with items of a single group: there is nobody to be fair between; counted, not judged."
    ]
    single_items = audit(dataset([[1.0], [1.0]], ["a", "b"]), Fairness(delta=0.1)).summary
    assert verdict_details(single_items) == []
    empty = audit(random_dataset(0)[0:0], Fairness(delta=0.1)).summary
    assert verdict(empty) == "There are no queries to judge."


def test_items_that_stand_beside_no_other_group_are_counted_apart():
    data = dataset([[4.0, 3.0, 2.0], [2.0, 1.0], [1.0]], ["aab", "aa", "b"])
    assert caveats(audit(data, Fairness(delta=0.1), small=SmallGroups(items=0, lists=0)).summary)[0] == (
        "2 queries with items of a single group: there is nobody to be fair between; counted, not judged. "
        "Their 3 items are in none of the numbers of groups."
    )


def test_one_query_is_grammatical():
    data, every = dataset([[3.0, 2.0]], ["ab"]), SmallGroups(items=0, lists=0)
    said = audit(data, Fairness(delta=1.0), small=every).summary
    assert verdict(said) == (
        "In the one query, group b gets 33 % less exposure than group a. "
        "This delta forbids nothing here: no ranking of this list could exceed it; 0.01 would forbid something."
    )
    said = audit(data, Fairness(delta=0.01), small=every).summary
    assert verdict(said) == (
        "In the one query, group b gets 33 % less exposure than group a. "
        "The difference from the list's mean exceeds the tolerance of 0.01."
    )
    assert verdict_details(said)[0] == "A single query was judged: it says nothing about others."


def test_caveats_count_everything_that_the_verdict_leaves_out():
    few = group(items=12, queries=3, compared=9, small=True)
    said = caveats(
        summary(
            queries=queries(not_applicable=10, cannot_fail=7),
            groups={"A": group(), "B": few},
            infeasible={"count": 3, "queries": [{"query": "q5", "min_delta": 0.071}]},
            excluded={"rows without a group": 17, "nothing": 0},
            notes=["Column 'qid' was taken as the query."],
        )
    )
    assert [line.split(" ")[0] for line in said] == ["10", "7", "3", "17", "Group", "Column"]
    assert "needs at least 7.1 %" in said[2]
    assert said[4] == (
        "Group B has only 12 items in 3 lists, 9 of them beside another group: too few to stand in the headline."
    )


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (queries(), queries(fair=500), "Re-ranked exactly from the same scores, 500 of 500 queries hold delta = 10 %."),
        (
            queries(fair=500),
            queries(fair=500),
            "Nothing has to change: every judged query holds delta = 10 % as it is.",
        ),
        (
            queries(cannot_fail=500, judged=0, fair=0),
            queries(cannot_fail=500, judged=0, fair=0),
            "Nothing has to change: this delta forbids nothing here.",
        ),
        (
            queries(applicable=0, judged=0, fair=0),
            queries(applicable=0, judged=0, fair=0),
            "Nothing has to change: there is nothing to judge.",
        ),
    ],
)
def test_what_a_repair_changes(before, after, said):
    assert repair_sentence(summary(queries=before), summary(queries=after), 0) == said


def test_a_repair_of_ranks_is_not_said_to_be_one_of_scores():
    told = repair_sentence(summary(), summary(queries=queries(fair=500)), 0, ranks=True)
    assert told == "Re-ranked exactly from the same ranks, 500 of 500 queries hold delta = 10 %."


def test_a_repair_says_what_it_costs_and_what_cannot_be_had():
    before = summary(utility={"dcg": 26.284, "queries_without_relevant": 0})
    after = summary(queries=queries(fair=498), utility={"dcg": 25.758, "queries_without_relevant": 0})
    assert repair_sentence(before, after, 2) == (
        "Re-ranked exactly from the same scores, 498 of 500 queries hold delta = 10 %; DCG goes from 26.28 to 25.76 "
        "(-2.0 %); 2 queries cannot hold it and got the least that they can."
    )
    after = summary(queries=queries(fair=500), utility={"dcg": 26.2841, "queries_without_relevant": 0})
    assert "from 26.28 to 26.28 (less than 0.1 % of a change)." in repair_sentence(before, after, 0)


@pytest.mark.parametrize(
    ("group_name", "violation", "unit", "said"),
    [
        ("men", 0.1234, "share", "men 12 % too much"),
        ("women", -0.0921, "absolute", "women 0.0921 too little"),
        ("0", 1.87, "share", "group 0 187 % too much"),
        ("men", 0.0, "share", "men neither too much nor too little"),
        ("men", None, "share", "men -"),
    ],
)
def test_a_violation_says_in_whose_favour_it_is(group_name, violation, unit, said):
    assert direction_text(group_name, violation, unit) == said


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [(0.123, "share", "12 %"), (-0.0042, "share", "-0.42 %"), (0.0954, "share", "9.5 %"), (1.39, "share", "139 %"),
     (0.0921, "absolute", "0.0921"), (None, "share", "-"), (float("nan"), "share", "-"), (0.0, "share", "0 %")],
)  # fmt: skip
def test_violations(value, unit, text):
    assert violation_text(value, unit) == text


def test_delta_keeps_the_digits_that_were_typed():
    assert delta_text(0.125, "share") == "delta = 12.5 %"
    assert delta_text(0.07, "share") == "delta = 7 %"
    assert delta_text(0.05, "absolute") == "delta = 0.05"
    assert delta_text({"A": 0.1, "B": 0.05}, "share") == "delta by group (A 10 %, B 5 %)"


@pytest.mark.parametrize(
    ("name", "said"),
    [("women", "women"), ("Men", "Men"), ("other purposes", "other purposes"), ("seniors", "seniors"), ("", "group "),
     ("business", "group business"), ("Texas", "group Texas"), ("US", "group US"), ("radio/TV", "group radio/TV"),
     ("< 5", "group “< 5”"), ("Men / “other”", "group ‘Men / “other”’"),
     ("one two three four", "group “one two three four”"),
     ("The Association of Towns, harbour district, mainland", "group “The Associati…harbour district, mainland”"),
     ("женщины", "group женщины"), ("18-25", "group 18-25"), ("missing", "group missing")],
)  # fmt: skip
def test_groups_are_named_so_that_a_verb_can_follow(name, said):
    assert named(name) == said


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0"), (1e-17, "0"), (-0.0921234, "-0.0921"), (0.05, "0.05"), (1234.5, "1,234"), (10.0, "10"), (None, "-"),
     (float("nan"), "-"), (0.000123456, "0.000123"), (100.0, "100"), (0.9999, "1")],
)  # fmt: skip
def test_numbers(value, text):
    assert number(value) == text


@pytest.mark.parametrize(
    ("share", "text"), [(1.0, "100.0 %"), (0.99999, "99.9 %"), (0.0, "0.0 %"), (0.00001, "0.1 %"), (0.9546, "95.5 %")]
)
def test_percentages_say_all_or_none_only_where_it_is_exact(share, text):
    assert percent(share) == text


def test_names_are_one_printable_line():
    assert name_text("a\nb\x1b[31mc\u202ed") == "a b [31mc d"
    assert len(name_text("x" * 500)) == 60


PLAIN_SORT = {"queries": queries(fair=326), "violation": {"mean": 0.1, "max": 0.41}, "dcg": None}


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (
            {"title": "SPOFR", "guaranteed": True, "plain_sort": PLAIN_SORT},
            "Audited are the policies of SPOFR, which hold delta wherever a list can; sorted plainly by the same "
            "scores, 326 of 500 judged queries would, with violations of up to 41 %.",
        ),
        (
            {"title": "Uniform", "guaranteed": True, "plain_sort": None},
            "Audited are the policies of Uniform, which hold delta wherever a list can.",
        ),
        (
            {"title": "DELTR", "guaranteed": False, "plain_sort": None},
            "Audited is what DELTR puts out, which has no guarantee.",
        ),
        (
            {"title": "sorted by score", "guaranteed": False, "plain_sort": None},
            "Audited is what “sorted by score” puts out, which has no guarantee.",
        ),
    ],
)
def test_the_details_begin_with_whose_policies_were_audited(model: dict[str, Any], said: str) -> None:
    assert verdict_details(summary(model=model))[0] == said
    assert verdict_details(summary(model=model))[1:] == verdict_details(summary())


def test_a_label_goes_on_within_a_sentence_and_a_name_of_the_data_begins_one_as_it_is():
    assert within_a_sentence("A schedule instead of dice") == "a schedule instead of dice"
    assert within_a_sentence("DCG against violation") == "DCG against violation"
    assert start_sentence("country DE differs") == "Country DE differs"
    assert start_sentence("job_family sales differs") == "job_family sales differs"


def test_a_difference_that_rounds_to_nothing_has_the_same_sign_on_every_processor():
    told = {difference_text({"difference": d, "lower": np.nan, "upper": np.nan, "n": 1}) for d in (-1e-17, 0.0, 1e-17)}
    assert told == {"+0.000 (one seed)"}


def test_three_counts_where_groups_are_unknown():
    """81 hold, 402 break, 17 depend: in the headline, beneath it, and in plain words."""
    data = load_hiring()
    codes = data.groups.copy()
    codes[data.offsets[:40]] = -1
    summary = audit(data.replace(groups=codes), Fairness(delta="10%")).summary
    fair, broken, undecided = (summary["unknown"][name] for name in ("fair", "broken", "undecided"))
    depend = f"{undecided} depend on the 40 items whose group is unknown"
    assert f"In {broken} of 500 queries" in verdict(summary)
    assert f"; in {undecided} it depends on the 40 items whose group is unknown." in verdict(summary)
    assert verdict(summary).startswith("Where the group is known, ")
    assert any(
        f"{fair} hold delta = 10 % whatever the unknown groups are, {broken} break it, and {depend}" in said
        for said in verdict_details(summary)
    )
    assert any(f"{broken} do and {fair} keep it, whatever is not known; {depend}" in s for s in plain_summary(summary))
    assert any("Measures of groups leave out 40 lists" in said for said in caveats(summary))


def test_all_of_them_may_depend_on_unknown_groups():
    data = dataset([[4, 3, 2, 1]] * 30, ["axxb"] * 30, names=("a", "b", "x"))
    data = data.replace(groups=np.where(data.groups == 2, -1, data.groups), group_names=("a", "b"))
    said = verdict(audit(data, Fairness(delta="20%")).summary)
    assert "depends, in all 30 queries, on the 60 items whose group is unknown." in said
    alone = verdict(audit(data[:1], Fairness(delta="20%")).summary)
    assert alone.endswith("exceeds the tolerance of 20 % depends on the 2 items whose group is unknown.")
