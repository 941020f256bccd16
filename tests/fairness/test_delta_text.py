"""delta as it is written: 0.05 is an exposure, 10% a share."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spofr_core.errors import ConfigError
from spofr_core.fairness import Fairness, format_delta, parse_delta, parse_deltas, written_delta


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("0.05", (0.05, "absolute")),
        ("10%", (0.1, "share")),
        (" 12.5 % ", (0.125, "share")),
        ("7%", (0.07, "share")),
        ("250%", (2.5, "share")),
        ("1e-3", (0.001, "absolute")),
        ("0", (0.0, "absolute")),
        ("0%", (0.0, "share")),
        ("women=10%, men=5%", ({"women": 0.1, "men": 0.05}, "share")),
        ("a=0.1,b=0.2", ({"a": 0.1, "b": 0.2}, "absolute")),
        ("a=10%,b=0", ({"a": 0.1, "b": 0.0}, "share")),  # nothing is nothing in both
        ("x = y=3%", ({"x = y": 0.03}, "share")),
    ],
)
def test_what_is_read(text, read):
    assert parse_delta(text) == read


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("little", "--delta is 'little'; give a number such as 0.05, or a share such as 10%."),
        ("%", "--delta is '%'; give a number"),
        ("", "--delta is ''; give a number"),
        ("nan%", "--delta is 'nan%'; give a number"),
        ("inf", "--delta is 'inf'; give a number"),
        ("10%%", "--delta is '10%%'; give a number"),
        ("-10%", "--delta is '-10%'; give a number >= 0"),
        ("a=10%,b", "--delta is 'b'; write group=number, such as women=10%."),
        ("=10%", "--delta is '=10%'; write group=number"),
        ("a=10%,b=0.05", "--delta mixes the share 10% with the absolute 0.05; write all of them with % or none."),
    ],
)
def test_what_is_refused_is_refused_in_one_sentence(text, message):
    with pytest.raises(ConfigError) as caught:
        parse_delta(text, "--delta")
    assert str(caught.value).startswith(message)
    assert str(caught.value).count(". ") == 0


@given(st.floats(0, 1e9), st.sampled_from(["absolute", "share"]))
def test_what_is_written_is_read_back_to_the_last_digit(delta, unit):
    assert parse_delta(written_delta(delta, unit)) == (delta, unit if delta or unit == "share" else "absolute")
    named = {"women": delta, "men and boys": 0.25}
    assert parse_delta(written_delta(named, unit)) == (named, unit)


def test_what_people_read():
    assert format_delta(0.1, "share") == "10 %"
    assert format_delta(0.07, "share") == "7 %"
    assert format_delta(0.05) == "0.05"
    assert format_delta({"a": 0.1, "b": 0.025}, "share") == "a 10 %, b 2.5 %"


def test_several_are_of_one_unit():
    assert parse_deltas(["0", "5%", "10%"]) == ((0.0, 0.05, 0.1), "share")
    assert parse_deltas([0.01, "0.05"]) == ((0.01, 0.05), "absolute")
    with pytest.raises(ConfigError, match=r"deltas mixes the share 5% with the absolute 0.1"):
        parse_deltas(["5%", 0.1])


def test_a_fairness_takes_it_as_a_text():
    assert Fairness(delta="10%") == Fairness(delta=0.1, unit="share")
    assert Fairness(delta={"a": "10%", "b": "5%"}) == Fairness(delta={"a": 0.1, "b": 0.05}, unit="share")
    assert Fairness(delta="0.05") == Fairness(delta=0.05)
    with pytest.raises(ConfigError, match="'delta' is '10%', which is not of the unit 'absolute'"):
        Fairness(delta="10%", unit="absolute")


def test_another_delta_keeps_the_unit_unless_told():
    share = Fairness(delta=0.1, unit="share")
    assert share.with_delta(0.2) == Fairness(delta=0.2, unit="share")
    assert share.with_delta(0.05, "absolute") == Fairness(delta=0.05)
    assert share.delta_text == "10 %"
