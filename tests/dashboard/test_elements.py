"""What pages share."""

from __future__ import annotations

from streamlit.testing.v1 import AppTest


def _list_to_choose_from() -> None:
    import streamlit as st

    from dashboard.widgets.elements import chosen_row

    st.text(str(chosen_row(["first", "second"], "rows")))


def test_a_row_is_chosen_by_its_own_button_and_only_once():
    app = AppTest.from_function(_list_to_choose_from).run()
    assert [button.label for button in app.button] == ["first", "second"]
    assert app.text[0].value == "None"
    app.button(key="rows-1").click().run()
    assert app.text[0].value == "1"
    app.run()
    assert app.text[0].value == "None"
