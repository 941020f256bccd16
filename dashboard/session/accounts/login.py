"""The account of a visitor, where the server asks for a login (`spofr dashboard --login`)."""

from __future__ import annotations

import json
import os

import streamlit as st

from spofr_core.errors import ConfigError
from spofr_core.experiments import LOGIN_VARIABLE


def login_providers() -> list[str]:
    """Who may vouch for visitors; nobody where no login is asked for."""
    return [name for name in os.environ.get(LOGIN_VARIABLE, "").split(",") if name]


def is_signed_in() -> bool:
    """Whether a provider has vouched for this visitor; what is missing never counts as yes."""
    return st.user.get("is_logged_in") is True and all(_claims())


def account() -> str | None:
    """What tells accounts apart, nothing where no login is asked for: who vouches, and the number given to the person.

    Names and e-mail addresses may change hands; an issuer gives no subject to two people.

    Raises
    ------
    ConfigError
        When a login is asked for and has not taken place.
    """
    if not login_providers():
        return None
    if not is_signed_in():
        raise ConfigError("You are not logged in: open the first page of the dashboard and log in.")
    return json.dumps(["account", *_claims()])


def account_name() -> str:
    """What to call the person."""
    known = (st.user.get(claim) for claim in ("name", "email", "sub"))
    return next((str(name) for name in known if name), "")


def _claims() -> tuple[str, str]:
    return str(st.user.get("iss") or ""), str(st.user.get("sub") or "")
