"""Each item on its own on the pages: chosen for a sample, asked for in the wizard, and told in its own words."""

from __future__ import annotations

import numpy as np
import pytest

from dashboard.charts import item_histogram
from dashboard.charts.policy_charts import exposure_in_bounds, heat_map, lottery
from dashboard.session.choices import Choices
from dashboard.session.mapping import Mapping
from dashboard.session.sources import load_bundled
from dashboard.views.audit_page import worst_table
from dashboard.views.policy_page import before_and_after, price_sentence
from spofr_core import Fairness, audit
from spofr_core.data import EACH_ITEM
from spofr_core.evaluation import item_repair_seconds, repair
from spofr_core.policy import policy_document
from spofr_core.reporting import item_bins, verdict
from tests.dashboard.apps import plain, rerun, shown, titles
from tests.dashboard.test_uploads import GOOD, kept, press, uploaded

HIRING = {"data": "hiring", "groups": EACH_ITEM, "delta": 0.5, "unit": "share"}


def texts(app) -> str:
    said = [*app.title, *app.header, *app.subheader, *app.markdown, *app.caption, *app.info]
    return plain(" ".join(str(element.value) for element in said))


def test_a_sample_is_audited_item_by_item():
    app = shown("audit", **HIRING)
    data = load_bundled("hiring", EACH_ITEM).data
    assert data.each_item
    assert titles(app) == [verdict(audit(data, Fairness(delta=0.5, unit="share")).summary)]
    said = texts(app)
    assert "In all 500 lists some item is more than 50 % away from its list's mean exposure." in said
    assert "each item on its own" in said
    assert "Exposure by item" in said
    assert "Exposure by group" not in said
    assert "500 of 500 queries hold delta = 50 %" in said
    assert not any("item 1" in str(frame.value.to_dict()) for frame in app.dataframe)
    assert not [toggle for toggle in app.toggle if toggle.label == "Every list that is drawn"]
    assert [control.options for control in app.sidebar.segmented_control][:1] in ([["Exposure"]], [])


def test_a_quota_in_the_link_is_dropped():
    app = shown("audit", **HIRING, quota="1@10")
    assert app.session_state["choices"].quota == ""


def test_the_wizard_reads_a_file_without_any_group_column():
    app = uploaded("mine.csv", GOOD.replace(",sex,", ",code,"))
    way = next(radio for radio in app.radio if radio.label == "Groups come from")
    way.set_value("each_item")
    rerun(app)
    assert not [box for box in app.selectbox if box.label == "Group (required)"]
    assert not [box for box in app.expander if "Rename" in box.label]
    press(app)
    data = kept(app).data
    assert data.each_item
    assert "--each-item" in kept(app).arguments
    assert "each_item=True" in kept(app).python
    audited = shown("audit", state={"uploaded": kept(app)}, data="upload", delta=0.1, unit="share")
    assert titles(audited) == [verdict(audit(data, Fairness(delta=0.1, unit="share")).summary)]
    for page in ("data", "policy", "report", "compare"):
        said = texts(shown(page, state={"uploaded": kept(app)}, data="upload", delta=0.1, unit="share"))
        assert "item 1 " not in said
    assert "A model is trained with groups" in texts(shown("train", state={"uploaded": kept(app)}, data="upload"))


def test_ways_of_reading_are_told_apart_and_kept():
    alone = Mapping(query="qid", ranked_by="score", way="each_item")
    assert alone.missing_fields() == []
    assert alone.options() == {"query": "qid", "score": "score", "each_item": True, "guess": False}
    assert alone.key != alone.model_copy(update={"way": "column"}).key
    assert Mapping.from_dict(alone.to_dict()) == alone
    assert Choices.from_address(Choices(**HIRING).to_address()) == Choices(**HIRING)


@pytest.fixture(scope="module")
def hiring():
    data = load_bundled("hiring", EACH_ITEM).data[:12]
    asked = Fairness(delta=0.5, unit="share")
    return audit(data, asked), repair(data, asked).policies


def test_the_page_of_a_query_names_items(hiring):
    result, policies = hiring
    said = f"{before_and_after(result, 0, policies[0])} {price_sentence(policies[0], 'share', each_item=True)}"
    first = policies[0].item_ids[policies[0].scores.argmax()]
    assert f"Sorted by score: item {first} " in said
    assert f"of the {len(policies[0].scores)} items" in said
    assert "group" not in said
    assert all("group" not in item for item in policy_document(policies[0], each_item=True)["items"])


def test_its_charts_have_one_colour_and_the_names_of_items(hiring):
    result, policies = hiring
    policy, names = policies[0], result.table.group_names
    drawn = lottery(policy, names, each_item=True)
    assert len(drawn.checked().data) == 1
    now = {name: float(result.table.exposure[0, k]) for k, name in enumerate(names) if result.table.present[0, k]}
    written = str(exposure_in_bounds([("delta", policy)], now, names, each_item=True))
    assert str(policy.item_ids[0]) in written
    assert "item 1" not in written + str(heat_map(policy, names, each_item=True)) + str(drawn)
    bars = item_histogram(item_bins(result)).checked().data[0]
    assert sum(bars.y) == result.summary["items"]["compared"]


def test_the_worst_queries_name_an_item(hiring):
    frame = worst_table(hiring[0], 5)
    assert list(frame.columns) == ["query", "item", "violation", "in whose favour", "holds delta"]
    assert frame["in whose favour"].iloc[0].startswith(f"item {frame['item'].iloc[0]} ")
    assert (frame["violation"].abs().diff().dropna() <= 1e-12).all()


def test_long_lists_wait_to_be_asked():
    data = load_bundled("hiring", EACH_ITEM).data
    assert item_repair_seconds(data[:1]) < item_repair_seconds(data) < 3
    long = data.replace(
        query_ids=np.array(["long"]), offsets=np.array([0, data.n_items]), attributes={}, times=None
    ).with_groups(np.zeros(data.n_items, dtype=np.int32), ["all"])
    assert item_repair_seconds(long) > 60
