"""What is said of a quota, against summaries written by hand."""

from __future__ import annotations

from typing import Any

import pytest

from spofr_core.fairness import Quota
from spofr_core.reporting import audit_html, caveats, plain_summary, repair_sentence, verdict_details
from tests.reporting.test_words import queries, summary


def counted(broken: int, applicable: int = 500, share: float | None = None, **changes: Any) -> dict[str, Any]:
    quota = {"slack": 1, "top": 10, "minimum": None} | {
        name: changes.pop(name) for name in Quota.model_fields & changes.keys()
    }
    found = broken / applicable if applicable else None
    return (
        quota
        | {
            "text": Quota(**quota).text,
            "queries": {"applicable": applicable, "broken": broken, "share": found, "ci": None},
            "draws": {"share": found if share is None else share, "ci": None},
            "error": 0.0,
            "impossible": 0,
            "impossible_queries": [],
        }
        | changes
    )


@pytest.mark.parametrize(
    ("quota", "said"),
    [
        (
            counted(112),
            "In 112 of 500 queries some ranking that may be shown has a group more than 1 away from its share in the "
            "top 10.",
        ),
        (
            counted(112, share=0.201, slack=0, top=None),
            "In 112 of 500 queries some ranking that may be shown has a group off its share, rounded either way, in "
            "some prefix; 20.1 % of what is shown does.",
        ),
        (
            counted(500, share=0.3, error=0.004, slack=None, top=None, minimum={"women": {10: 2, 5: 1}}),
            "In all 500 queries some ranking that may be shown has fewer than 1 of women in the top 5 or fewer than 2 "
            "of women in the top 10; 30.0 % of what is shown does (drawn, give or take 0.8 %).",
        ),
        (
            counted(0),
            "Every ranking that may be shown is within the quota: at most 1 from its share in every prefix of the top "
            "10.",
        ),
        (counted(0, 0), "No query can be asked about the quota: none has two groups and a ranking that meets it."),
    ],
)
def test_how_often_it_is_broken(quota, said):
    assert verdict_details(summary(quota=quota))[0] == said


def test_lists_that_cannot_meet_it_are_counted_apart():
    quota = counted(3, impossible=2, impossible_queries=[{"query": "q7", "prefix": 4}, {"query": "q9", "prefix": 1}])
    assert (
        "2 queries of which no ranking can meet the quota, such as q7 in its first 4 positions; counted, not judged."
        in caveats(summary(quota=quota))
    )


def priced(share: float | None, mean: float = 0.0) -> dict[str, Any]:
    return {"text": "", "price": {"without": 1.0, "mean": mean, "ci": [], "share": share}}


@pytest.mark.parametrize(
    ("price", "said"),
    [
        (priced(0.00024), "It costs 0.02 % of the utility beyond what delta costs."),
        (priced(3e-6), "It costs less than 0.01 % of the utility beyond what delta costs."),
        (priced(0.0), "It costs nothing beyond delta."),
        (priced(None, 0.25), "It costs 0.25 of utility beyond what delta costs."),
    ],
)
def test_a_repair_names_the_price(price, said):
    before, after = summary(quota=counted(112)), summary(queries=queries(fair=500), quota=counted(0))
    whole = repair_sentence(before, after, 0, quota=price)
    assert whole.startswith("Re-ranked exactly from the same scores, 500 of 500 queries hold delta = 10 %.")
    assert whole.endswith(f"Every ranking that can be drawn is within the quota. {said}")


def test_a_quota_alone_is_reason_enough_to_change_something():
    held = queries(fair=500, share=1.0)
    before, after = summary(queries=held, quota=counted(112)), summary(queries=held, quota=counted(0))
    assert repair_sentence(before, after, 0, quota=priced(0.01)) == (
        "Every judged query holds delta = 10 % as it is. Every ranking that can be drawn is within the quota. It costs "
        "1.00 % of the utility beyond what delta costs."
    )
    assert "What can be done: nothing has to change." not in plain_summary(before, after)
    kept = summary(queries=held, quota=counted(0))
    assert repair_sentence(kept, kept, 0).startswith("Nothing has to change")
    assert "What can be done: nothing has to change." in plain_summary(kept, kept)


def test_plain_words_speak_of_single_lists():
    (said,) = [line for line in plain_summary(summary(quota=counted(112))) if line.startswith("One list at a time")]
    assert said == (
        "One list at a time: in 112 of 500 lists readers may see an order that breaks the rule for single lists (at "
        "most 1 from its share in every prefix of the top 10)."
    )


def test_methods_without_a_guarantee_say_so():
    model = {"title": "FULTR", "guaranteed": False, "plain_sort": None}
    said = verdict_details(summary(quota=counted(112), model=model))[0]
    assert said == "Audited is what FULTR puts out, which has no guarantee: it can hold neither delta nor a quota."


def test_the_report_has_question_answer_price_and_definition():
    from spofr_core import Fairness, load_sample
    from spofr_core.evaluation import repair

    fixed = repair(load_sample("hiring").test, Fairness(delta=0.05, every_ranking=Quota(slack=1, top=10)))
    page = audit_html(fixed.before, repaired=fixed.after, quota=fixed.summary["quota"]).replace(
        "\N{NO-BREAK SPACE}", " "
    )
    for words in (
        "In every ranking that may be shown: at most 1 from its share in every prefix of the top 10.",
        "In 34 of 100 queries some ranking that may be shown has a group more than 1 away",
        "Every ranking that can be drawn is within the quota. It costs 0.02 % of the utility beyond what delta costs.",
        "rounded down or up",
    ):
        assert words in page
