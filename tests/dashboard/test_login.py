"""Behind a login the visitor is the account: nobody else gets in, and nobody is taken for another."""

from __future__ import annotations

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from dashboard.session.solver_warmup import solver
from tests.dashboard.apps import PATIENCE, plain, rerun, shown

APP = Path(__file__).resolve().parents[2] / "dashboard" / "app.py"
ANN = {"is_logged_in": True, "iss": "https://id.example.org", "sub": "17", "name": "Ann <b>*Lee*"}


def _who() -> None:
    import streamlit as st

    from dashboard.session.visitor import remember_visitor, visitor

    st.text(visitor())
    remember_visitor()


def who(user: dict[str, object]) -> str:
    app = AppTest.from_function(_who)
    app.user = user
    return rerun(app).text[0].value


@pytest.fixture
def asked(monkeypatch):
    monkeypatch.setenv("SPOFR_LOGIN", "default")


@pytest.mark.usefixtures("asked")
def test_an_account_is_the_same_visitor_in_every_browser_and_another_account_another():
    assert who(ANN) == who({**ANN, "name": "Ann Lee-Jones", "email": "ann@example.org"})
    others = [{**ANN, "sub": "18"}, {**ANN, "iss": "https://other.example.org"}]
    assert len({who(user) for user in (ANN, *others)}) == 3
    # Neither part may run into the other.
    assert who({**ANN, "iss": "a", "sub": "b c"}) != who({**ANN, "iss": "a b", "sub": "c"})


@pytest.mark.usefixtures("asked")
def test_the_name_of_an_account_in_paths_gives_nothing_away():
    assert len(who(ANN)) == 24
    assert set(who(ANN)) <= set("0123456789abcdef")


@pytest.mark.usefixtures("asked")
def test_an_account_gets_no_cookie_of_ours():
    app = AppTest.from_function(_who)
    app.user = ANN
    assert not rerun(app).get("html")


def test_without_a_login_two_browsers_are_two_visitors_whatever_they_say_of_themselves():
    assert who(ANN) != who(ANN)


def door(user: dict[str, object]) -> AppTest:
    solver().join()
    app = AppTest.from_file(str(APP), default_timeout=PATIENCE)
    app.user = user
    return rerun(app)


@pytest.mark.usefixtures("asked")
@pytest.mark.parametrize(
    "user",
    [{}, {"is_logged_in": False}, {**ANN, "is_logged_in": "yes"}, {**ANN, "sub": ""}, {"is_logged_in": True}],
    ids=["nobody", "logged out", "only said", "no subject", "no claims"],
)
def test_nobody_gets_past_the_door_without_an_account(user):
    app = door(user)
    assert [button.label for button in app.button] == ["Log in"]
    assert len(app.sidebar) == 0
    assert not app.metric


@pytest.mark.usefixtures("asked")
def test_a_visitor_without_an_account_has_no_name_at_all():
    app = AppTest.from_function(_who)
    app.run()
    assert not app.text
    assert len(app.exception) == 1


@pytest.mark.usefixtures("asked")
def test_whoever_is_logged_in_sees_who_they_are_and_the_way_out():
    app = shown("report", user=ANN)
    assert "Logged in as Ann <b>*Lee*." in [plain(text.value) for text in app.sidebar.caption]
    assert [button.label for button in app.sidebar.button if button.key == "logout"] == ["Log out"]


def test_without_a_login_there_is_no_way_out():
    assert not [button for button in shown("report").sidebar.button if button.key == "logout"]
