"""The server around the pages, for `streamlit run`: it answers to its own names alone, and ends with who started it.

Streamlit by itself sends its empty page to everybody and refuses a foreign name only afterwards, in the log.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import webbrowser
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import streamlit as st
from starlette.middleware import Middleware

from spofr_core.parent import end_with_parent
from spofr_core.serving import OwnHosts, Seldom

AFTER = 0.5
"""Seconds until the browser is opened: the server answers as soon as it has started."""


@asynccontextmanager
async def _lifespan(_: st.App) -> AsyncIterator[None]:
    end_with_parent(lambda: os.kill(os.getpid(), signal.SIGTERM))
    logging.getLogger("asyncio").addFilter(Seldom())  # a line per connection that cannot be accepted, by the thousand
    if not st.get_option("server.headless"):
        host = st.get_option("server.address")
        host = "localhost" if host in ("0.0.0.0", "::") else f"[{host}]" if ":" in host else host
        asyncio.get_running_loop().call_later(AFTER, webbrowser.open, f"http://{host}:{st.get_option('server.port')}")
    yield


app = st.App(
    Path(__file__).with_name("app.py"),
    lifespan=_lifespan,
    middleware=[Middleware(OwnHosts, names=st.get_option("server.allowedHosts"), numbers=False)],
)
