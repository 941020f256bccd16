"""Who is there: a random number in a cookie, so that a refresh, a second tab and a restarted server find the same jobs.

It is no login: it keeps visitors of one server from seeing each other's uploads and jobs. It is not part of the
address, because addresses are for sharing. Where the server asks for a login, the visitor is the account instead, on
every machine that the person uses, and there is no such cookie.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from pathlib import Path

import streamlit as st

from dashboard.session.accounts.login import account
from spofr_core.experiments import private_runs

COOKIE = "spofr_visitor"
_KEY = "visitor"
_TOKEN = re.compile(r"[0-9a-f]{32}")
_YEAR = 365 * 24 * 3600


def visitor() -> str:
    """Name of this visitor in paths and records: a hash, so that no record holds the cookie or the account itself."""
    return hashlib.sha256((account() or _token()).encode()).hexdigest()[:24]


class VisitorFolder:
    """A place on the disk that is one visitor's own.

    Parameters
    ----------
    root : path
        See `spofr_core.experiments.home`.
    visitor : str
        See `dashboard.session.visitor`.
    """

    def __init__(self, root: Path, visitor: str) -> None:
        self.root = root
        self.visitor = visitor
        self.own = private_runs(root, visitor)


def remember_visitor() -> None:
    """Leave the cookie in a browser that has none yet."""
    if st.session_state.get("visitor-told"):
        return
    st.session_state["visitor-told"] = True
    if account() is not None:
        return
    token = _token()
    if st.context.cookies.get(COOKIE) == token:
        return
    # Only hexadecimal digits get here, so nothing can break out of the string.
    st.html(
        f"<script>document.cookie = '{COOKIE}={token}; path=/; max-age={_YEAR}; SameSite=Strict';</script>",
        unsafe_allow_javascript=True,
    )


def _token() -> str:
    if _KEY not in st.session_state:
        found = str(st.context.cookies.get(COOKIE) or "")
        st.session_state[_KEY] = found if _TOKEN.fullmatch(found) else secrets.token_hex(16)
    return str(st.session_state[_KEY])
