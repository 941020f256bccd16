"""Every page over files at the edges: huge and tiny numbers, few distinct scores, one list, one group."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pandas as pd
import pytest

from dashboard.navigation import PAGES
from tests.dashboard.apps import charts, plain, rerun, shown
from tests.dashboard.test_uploads import kept, press, uploaded

NO_NUMBER = re.compile(r"(?<![a-z])(nan|-?inf(inity)?)(?![a-z])", re.IGNORECASE)


def frame(n_lists: int = 25, n: int = 8) -> pd.DataFrame:
    rng = np.random.default_rng(11)
    rows = n_lists * n
    return pd.DataFrame(
        {
            "qid": np.repeat([f"q{k}" for k in range(n_lists)], n),
            "doc": [f"d{k}" for k in range(rows)],
            "sex": rng.choice(["f", "m"], rows),
            "model_score": rng.normal(size=rows),
            "rel": rng.integers(0, 3, rows),
        }
    )


def files() -> dict[str, pd.DataFrame]:
    plain_one, rng = frame(), np.random.default_rng(12)
    rows = len(plain_one)

    def some(*values: float) -> np.ndarray:
        return rng.choice(values, rows)

    return {
        "huge scores": plain_one.assign(model_score=some(1e308, -1e308, 1.5, 5e-324)),
        "tiny scores": plain_one.assign(model_score=some(5e-324, 1e-323, 0.0)),
        "large labels": plain_one.assign(rel=some(0.0, 1e200, 3e200)),
        "small labels": plain_one.assign(rel=some(0.0, 1e-200, 3e-200)),
        "no relevant item": plain_one.assign(rel=0),
        "constant scores": plain_one.assign(model_score=1.0),
        "two scores": plain_one.assign(model_score=some(0, 1)),
        "many ties": plain_one.assign(model_score=np.where(rng.random(rows) < 0.4, 0.5, plain_one["model_score"])),
        "one list": plain_one.head(8),
        "one group": plain_one.assign(sex="f"),
        "a group of one": plain_one.assign(sex=np.where(np.arange(rows) == 3, "m", "f")),
    }


@pytest.fixture(scope="module", params=files())
def upload(request):
    return kept(press(uploaded("edge.csv", files()[request.param].to_csv(index=False))))


@pytest.mark.parametrize("view", PAGES)
def test_no_page_shows_what_is_no_number(view, upload):
    page = shown(view, state={"uploaded": upload}, data="upload", delta=0.1, unit="share")
    for element in (*page.title, *page.markdown, *page.caption, *page.error, *page.info):
        assert not NO_NUMBER.search(plain(element.value)), element.value
    for table in page.dataframe:
        assert not table.value.isin([np.inf, -np.inf]).to_numpy().any()
    for figure in charts(page):
        assert figure["layout"]["xaxis"].get("range", [0, 1]) != [0, 0]
        for place in ("xaxis", "yaxis"):
            ends = figure["layout"][place].get("range", [0, 1])
            assert all(end is not None for end in ends)
            assert ends[0] != ends[1]


def test_the_audit_of_scores_that_cannot_be_added_up_says_that_only_the_repair_is_missing():
    mine = kept(press(uploaded("edge.csv", files()["huge scores"].to_csv(index=False))))
    page = shown("audit", state={"uploaded": mine}, data="upload", delta=0.1, unit="share")
    assert ["overflow" in error.value for error in page.error] == [True]
    assert "Groups" in " ".join(tab.label for tab in page.tabs) or page.dataframe
    report = shown("report", state={"uploaded": mine}, data="upload", delta=0.1, unit="share")
    assert not report.error
    assert ["says nothing of a repair" in info.value for info in report.info] == [True]
    assert any(header.value == "Find it again" for header in report.header)


def test_labels_that_overflow_are_refused_on_the_page():
    app = press(uploaded("edge.csv", frame().assign(rel=1e308).to_csv(index=False)))
    assert "The largest relevance of query" in " ".join(plain(error.value) for error in app.error)


def test_a_warning_on_a_page_fails_its_test(monkeypatch):
    monkeypatch.setattr(
        "dashboard.views.data_page.page", lambda: warnings.warn("of numpy", RuntimeWarning, stacklevel=1)
    )
    with pytest.raises(AssertionError):
        shown("data")


def test_a_warning_on_a_page_that_is_run_again_fails_its_test(monkeypatch):
    app = shown("data")
    monkeypatch.setattr(
        "dashboard.views.data_page.page", lambda: warnings.warn("of numpy", RuntimeWarning, stacklevel=1)
    )
    with pytest.raises(AssertionError):
        rerun(app)
