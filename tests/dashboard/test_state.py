"""Choices and the address that carries them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.session.choices import Choices


def test_an_address_names_what_differs_and_reads_back():
    chosen = Choices(data="mslr", groups="5", delta=0.013, notion="merit", shift=0.0, top=10, query="q 7&x")
    written = chosen.to_address()
    assert written == {
        "data": "mslr", "groups": "5", "delta": "0.013", "notion": "merit", "shift": "0", "top": "10", "query": "q 7&x",
    }  # fmt: skip
    assert Choices.from_address(written) == chosen
    assert Choices().to_address() == {"data": "hiring", "delta": "0.05"}
    shared = Choices(delta=0.1, unit="share")
    assert shared.to_address() == {"data": "hiring", "delta": "0.1", "unit": "share"}
    assert Choices.from_address(shared.to_address()) == shared


def test_a_link_that_names_a_delta_and_no_unit_means_an_exposure():
    assert Choices.from_address({"data": "hiring", "delta": "0.1"}) == Choices(delta=0.1, unit="absolute")


@pytest.mark.parametrize(
    ("data", "delta", "unit"),
    [("", 0.1, "share"), ("hiring", 0.1, "share"), ("upload", 0.1, "share"), ("german-credit", 0.05, "absolute"),
     ("mslr", 0.05, "absolute")],
)  # fmt: skip
def test_data_opens_with_its_own_delta(data, delta, unit):
    opened = Choices.from_address({"data": data})
    assert (opened.delta, opened.unit) == (delta, unit)


@pytest.mark.parametrize(
    "bad",
    [{"delta": "nan"}, {"delta": "-1"}, {"delta": "abc"}, {"notion": "best"}, {"top": "0"}, {"top": "1.5"},
     {"power": "0"}, {"shift": "inf"}, {"query": "x" * 5000}, {"unknown": "1"}, {"unit": "metres"}],
)  # fmt: skip
def test_nonsense_in_an_address_changes_nothing(bad):
    assert Choices.from_address(bad) == Choices.from_address({}) == Choices(delta=0.1, unit="share")


@given(st.dictionaries(st.sampled_from([*Choices.__dataclass_fields__, "other"]), st.text(max_size=30)))
def test_no_address_can_break_the_choices(parameters):
    chosen = Choices.from_address(parameters)
    assert Choices.from_address(chosen.to_address()) == chosen
    assert chosen.position_bias.vector(5).shape == (5,)


def test_a_link_keeps_every_digit():
    made = Choices(delta=0.1 / 3, power=4 / 3, shift=1e-7)
    assert Choices.from_address(made.to_address()) == made
    assert Choices(power=2.0).to_address()["power"] == "2"
