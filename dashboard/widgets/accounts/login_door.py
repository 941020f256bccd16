"""The door: what a visitor sees before the login, and the way out."""

from __future__ import annotations

import streamlit as st

from dashboard.escaping import markdown
from dashboard.session.accounts.login import account_name, is_signed_in, login_providers


def let_in() -> bool:
    """Whether the page may be drawn; if not, the door is."""
    providers = login_providers()
    if not providers or is_signed_in():
        return True
    st.title("spofr: fair exposure in rankings")
    st.write("Log in to go on. What you upload and train is kept for your account alone.")
    for provider in providers:
        alone = provider == "default"
        label = "Log in" if alone else f"Log in with {markdown(provider)}"
        if st.button(label, key=f"login-{provider}", type="primary"):
            st.login(None if alone else provider)
    return False


def way_out() -> None:
    """Who is logged in, and a button to leave; nothing where there is no login."""
    if not login_providers():
        return
    st.caption(f"Logged in as {markdown(account_name(), 60)}.")
    st.button("Log out", key="logout", icon=":material/logout:", on_click=st.logout)
