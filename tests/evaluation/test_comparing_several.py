"""Several rivals at once: what is claimed of all of them together, what is written down, and slices of differences."""

from __future__ import annotations

import json

import numpy as np
import pytest

from spofr_core import Comparison, Fairness, audit, compare, load_sample, repair
from spofr_core.errors import ConfigError
from spofr_core.evaluation.comparing.lines import judged_lines, measured_lines
from spofr_core.evaluation.comparing.quantities import Quantity
from tests.evaluation.lists import dataset, random_dataset
from tests.evaluation.test_comparing import EVERYBODY, SHARE, ranked, row


@pytest.fixture(scope="module")
def audits() -> dict:
    data = load_sample("hiring").test
    fixed = repair(data, SHARE)
    return {"now": fixed.before, "repair": fixed.after, "=1+1": audit(ranked(data, 3), SHARE)}


@pytest.fixture(scope="module")
def several(audits) -> Comparison:
    return compare(audits)


def test_holm_goes_over_the_rows_of_all_rivals(several):
    tested = several.table.dropna(subset="p").sort_values("p", kind="stable")
    m = len(tested)
    stepped = np.maximum.accumulate(tested["p"].to_numpy() * (m - np.arange(m)))
    np.testing.assert_allclose(tested["p_holm"], np.minimum(stepped, 1))
    assert several.summary["tested"] == m == len(several.table)


def test_worse_rows_are_those_on_the_wrong_side(several):
    assert [line.rival for line in several.worse(["ndcg"])] == ["=1+1"]
    assert several.worse(["fair", "exposure_ratio"]) == []
    assert {(line.rival, line.name) for line in several.worse(["exposure"])} == {
        ("repair", "exposure:male"),
        ("=1+1", "exposure:male"),
    }
    with pytest.raises(ConfigError, match="There is no 'beauty'"):
        several.worse(["beauty"])


def test_what_has_no_direction_cannot_be_worse():
    data = random_dataset(2, n_groups=2)
    found = compare({"now": audit(data, SHARE), "strict": audit(data, Fairness(delta="5%"))})
    with pytest.raises(ConfigError, match="'fair' cannot be worse between 'now' and 'strict'"):
        found.worse(["fair"])


def test_summary_and_files_hold_the_same_numbers(several, tmp_path):
    summary = json.loads(several.to_json(tmp_path / "c.json"))
    assert json.loads((tmp_path / "c.json").read_text("utf-8")) == summary
    assert summary["schema"] == 1
    assert list(summary["rivals"]) == ["repair", "=1+1"]
    rows = summary["rivals"]["repair"]["rows"]
    assert [each["name"] for each in rows] == several.table.query("rival == 'repair'")["name"].tolist()
    assert rows[0]["lower"] == several.table["lower"][0]
    several.to_csv(tmp_path / "c.csv")
    assert "\n'=1+1," in (tmp_path / "c.csv").read_text("utf-8")  # a spreadsheet would run it


def test_the_queries_that_changed_most_come_first(several):
    found = several.changed(4, rival="repair")
    values = several.differences("violation", rival="repair")
    assert found["difference"].abs().tolist() == sorted(values["difference"].abs(), reverse=True)[:4]
    listed = several.summary["rivals"]["repair"]["changed"]
    assert listed["name"] == "violation"
    assert [each["query"] for each in listed["queries"]][:4] == found["query"].tolist()
    with pytest.raises(ConfigError, match=r"'rival' must be one of \['repair', '=1\+1'\]"):
        several.changed(rival="nobody")


def test_the_seed_decides_and_not_what_else_is_compared(audits, several):
    alone = compare({"now": audits["now"], "repair": audits["repair"]}, measures=["ndcg"])
    assert row(alone, "ndcg").p == row(several, "ndcg", "repair").p
    assert row(compare(audits, seed=1), "ndcg", "repair").p != row(several, "ndcg", "repair").p


@pytest.mark.parametrize(
    ("results", "message"),
    [({}, "two results or more"), ({"now": 1}, "two results or more"), ({"now": 1, "new": 2}, "'now' is of type int")],
)
def test_what_cannot_be_compared_is_said(results, message):
    with pytest.raises(ConfigError, match=message):
        compare(results)


def test_confidence_is_a_share():
    data = random_dataset(2)
    with pytest.raises(ConfigError, match="'confidence' is 95"):
        compare({"now": audit(data, SHARE), "new": audit(data, SHARE)}, confidence=95)


# -- how often it is wrong ---------------------------------------------------------------------------


def _line(before, after, confidence=0.95):
    quantity = Quantity(name="m", label="m", kind="measure", before=before, after=after, better="higher")
    lines = measured_lines("new", [quantity], None, seed=0, confidence=confidence)
    return judged_lines(lines, confidence=confidence)[0]


def test_intervals_cover_and_claims_are_rare_where_there_is_nothing():
    rng = np.random.default_rng(12)
    covered, claimed, times, n = 0, 0, 150, 40
    for _ in range(times):
        before = rng.exponential(size=n)
        covered_line = _line(before, before + rng.exponential(size=n) - 0.4)  # the mean difference is 0.6
        covered += covered_line.lower <= 0.6 <= covered_line.upper
        claimed += _line(before, before + rng.laplace(size=n)).claims
    assert covered / times > 0.88
    assert claimed / times < 0.1


def test_all_rows_together_rarely_claim_what_is_not_there():
    """Both rankings of each list are drawn alike, so whatever is claimed of them is wrong."""
    wrong, times = 0, 60
    lists = [["a", "b", "c", "a", "b", "c"]] * 15
    rng = np.random.default_rng(20)
    labels = [rng.integers(0, 3, 6) for _ in lists]
    for _ in range(times):
        sides = {
            name: audit(dataset([rng.random(6) for _ in lists], lists, labels), SHARE, small=EVERYBODY)
            for name in ("now", "new")
        }
        wrong += any(line.claims for line in compare(sides).lines)
    assert wrong / times <= 0.12


# -- slices and time ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def by_country() -> Comparison:
    """Sixty lists; the new ranking turns those of DE round, and the first has country and date of its queries."""
    n = 60
    country = np.array(["DE", "FR", "US"] * (n // 3))
    times = np.arange("2024-01-01", "2024-03-01", dtype="datetime64[D]")[:n].astype("datetime64[s]")
    lists, labels = [["a", "b", "b"]] * n, [[1, 0, 0]] * n
    now = dataset([[3, 2, 1]] * n, lists, labels).replace(attributes={"country": country}, times=times)
    new = dataset([[1, 2, 3] if name == "DE" else [3, 2, 1] for name in country], lists, labels)
    return compare({"now": audit(now, SHARE), "new": audit(new, SHARE)})


def test_differences_are_sliced_by_what_the_first_ranking_knows_of_its_queries(by_country):
    found = by_country.slices("country", measure="dcg")
    expected = by_country.differences("dcg").groupby(["DE", "FR", "US"] * 20)["difference"].mean()
    means = found.table.set_index("country")["mean"]
    np.testing.assert_allclose(means[expected.index], expected, atol=1e-12)
    assert means["FR"] == pytest.approx(0)
    assert found.table["country"][0] == "DE"
    assert found.table["differs"].tolist()[0]


def test_differences_go_over_time(by_country):
    course = by_country.over_time("month", measure="dcg")
    expected = by_country.differences("dcg").groupby([0] * 31 + [1] * 29)["difference"].mean()
    np.testing.assert_allclose(course.table["mean"], expected)
    assert not course.change.changed


def test_slices_are_in_summary_and_report(by_country):
    found = by_country.with_slices(["country"], window="month", measures=["dcg", "exposure:a"])
    rival = json.loads(found.to_json())["rivals"]["new"]
    assert [entry["label"] for entry in rival["slices"][0]["measures"]] == [
        "change in DCG",
        "change in the exposure of a",
    ]
    assert rival["time"]["window"] == "month"
    page = found.to_html()
    assert "Differences by slices of the queries" in page
    assert "Differences over time" in page
    assert "slices" not in by_country.summary["rivals"]["new"]
