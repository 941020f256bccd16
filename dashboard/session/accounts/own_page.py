"""Whether it is a page of this server that asks, and not one of another program on the same machine.

Streamlit lets pages of any port of localhost open its websocket, and browsers send cookies to all ports of a host: what
somebody else's page on this machine asked for would be answered as if the visitor had. So the page itself looks at who
asks. A program that is no browser names no page, and could name any.
"""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

import streamlit as st


def is_own_page(headers: Mapping[str, str]) -> bool:
    """Whether the page that opened the websocket has the address that it asked, with its port; or none is named."""
    origin = headers.get("Origin")
    try:
        return origin is None or urlsplit(origin).netloc.lower() == str(headers.get("Host", "")).lower()
    except ValueError:
        return False


def refused() -> bool:
    """Whether the visitor is at another's page; that is all it is told then."""
    if is_own_page(st.context.headers):
        return False
    st.error(
        "This page was opened from the address of another one, which is not answered. A proxy before this server must "
        "pass on the Host that the browser asked for."
    )
    return True
