"""A quota in an address, in a project and in the lines that a page prints."""

from __future__ import annotations

import json
import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.session.choices import Choices
from dashboard.session.commands import command_lines, python_lines
from dashboard.session.every_list.quota_address import minima_text, quota_for, read_minima, read_quota, share_text
from dashboard.session.projects.project import project_bytes, project_of, read_project
from dashboard.session.remembered import fairness_of
from dashboard.session.sources import load_bundled
from spofr_core.errors import ConfigError, DataError
from spofr_core.evaluation import audit
from spofr_core.fairness import Fairness, Quota

counts = st.integers(1, 40).flatmap(lambda depth: st.tuples(st.just(depth), st.integers(0, depth)))


@given(
    minima=st.dictionaries(
        st.text(min_size=1, max_size=20), st.lists(counts, min_size=1, max_size=3).map(dict), max_size=3
    ),
    slack=st.none() | st.integers(0, 99),
    top=st.none() | st.integers(1, 999),
)
def test_any_quota_reads_back(minima, slack, top):
    written = share_text(slack, top), minima_text(minima)
    assert read_minima(written[1]) == minima
    if slack is None and not minima:
        assert read_quota(*written) is None
    else:
        wanted = Quota(slack=slack, top=top if slack is not None else None, minimum=minima or None)
        assert read_quota(*written) == wanted


@pytest.mark.parametrize("bad", ["x", "1@", "@10", "-1@10", "1@0", "1.5", "1@10@5", "9999999"])
def test_what_is_no_quota_is_refused_in_one_sentence(bad):
    with pytest.raises(ConfigError):
        read_quota(bad, "")


@pytest.mark.parametrize("bad", ["women", "women@10", "women@2:3", "@10:2", "women@10:2,", "women@0:0", "a@b@3:1"])
def test_what_is_no_minimum_is_refused_too(bad):
    with pytest.raises(ConfigError):
        read_quota("1@10", bad)


def test_an_address_says_it_in_short_and_reads_back():
    chosen = Choices(quota="1@10", quota_min=minima_text({"a,b": {10: 2}}))
    written = chosen.to_address()
    assert (written["quota"], written["quota_min"]) == ("1@10", "a%2Cb@10:2")
    assert Choices.from_address(written) == chosen


def test_it_is_asked_of_the_data_without_minima_of_groups_that_it_does_not_have():
    data = load_bundled("hiring", "gender").data
    made = Choices(quota="1@10", quota_min="female@10:2,nobody@3:1")
    asked = fairness_of(made, data).every_ranking
    assert asked == Quota(slack=1, top=10, minimum={"female": {10: 2}})
    assert quota_for("", "nobody@3:1", data.group_names) is None


def test_a_project_keeps_it():
    source = load_bundled("hiring", "gender")
    made = Choices(quota="0", quota_min="female@10:2")
    project = read_project(project_bytes(project_of(source, made, None, "")))
    assert (project.asked["quota"], project.asked["quota_min"]) == ("0", "female@10:2")
    damaged = {**json.loads(project_bytes(project)), "quota": "many"}
    with pytest.raises(DataError, match="'many' is no quota"):
        read_project(json.dumps(damaged).encode())


def test_the_lines_of_a_page_ask_for_the_same():
    source = load_bundled("hiring", "gender")
    made = Choices(delta=0.1, unit="share", quota="1@10", quota_min=minima_text({"female": {10: 2, 5: 1}}))
    words = shlex.split(command_lines(source, made))
    at = words.index("--quota-slack")
    assert words[at : at + 8] == [
        "--quota-slack", "1", "--quota-top", "10", "--quota-min", "female@10=2", "--quota-min", "female@5=1",
    ]  # fmt: skip
    assert "quota" not in command_lines(source, Choices(delta=0.1))
    said = {}
    exec(python_lines(source, made), said)
    quota = Quota(slack=1, top=10, minimum={"female": {10: 2, 5: 1}})
    assert said["result"].fairness == Fairness(delta=0.1, unit="share", every_ranking=quota)
    assert said["result"].summary["queries"] == audit(source.data, said["result"].fairness).summary["queries"]
