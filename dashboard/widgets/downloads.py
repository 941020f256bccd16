"""Files to take away, made when somebody asks for them.

A click is an ordinary one, so it comes after whatever was typed or chosen before it, and the file is made of that. The
file travels in the page's own message and the browser saves it. Streamlit's download button hands out addresses
instead, which it takes back whenever a page is drawn again, by this visitor or by another one: a click in that moment
saves nothing.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from uuid import uuid4

import streamlit as st

from dashboard.escaping import markdown
from dashboard.widgets.elements import explain_errors

_ASKED = "downloads-asked"

# Drawn twice it saves once: what is behind an expander is drawn again when that opens.
_SAVE = """<script>(async ({serial, name, kind, content}) => {
  const saved = (window.spofrSaved ??= new Set());
  if (saved.has(serial)) return;
  saved.add(serial);
  const packed = Uint8Array.from(atob(content), (letter) => letter.charCodeAt(0));
  const bytes = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  const address = URL.createObjectURL(new Blob([await new Response(bytes).arrayBuffer()], {type: kind}));
  const link = Object.assign(document.createElement("a"), {href: address, download: name});
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 60000);
})(%s)</script>"""


@dataclass(frozen=True)
class Download:
    """A button and the file behind it.

    Parameters
    ----------
    label : str
        On the button; no two on a page say the same.
    make : callable
        Gives the content; called after the click, and never before.
    name : str
        Of the file.
    kind : str
        Its MIME type.
    icon : str
        On the button.
    main : bool
        Whether it is what most readers come for.
    """

    label: str
    make: Callable[[], bytes | str]
    name: str
    kind: str
    icon: str = ":material/download:"
    main: bool = False


def part_of_name(text: object) -> str:
    """Any text as a part of a file's name; where something of it cannot stand there, eight letters tell it apart."""
    whole = str(text)
    kept = re.sub(r"[^\w.-]+", "-", whole)[:40].strip("-.")
    if kept and kept == whole:
        return kept
    return f"{kept}-{hashlib.sha256(whole.encode(errors='surrogatepass')).hexdigest()[:8]}".lstrip("-")


@st.fragment
def downloads(*files: Download) -> None:
    """Buttons in a row; nothing but them is drawn again by a click."""
    with st.container(horizontal=True):
        for file in files:
            st.button(
                file.label,
                key=f"download-{file.label}",
                type="primary" if file.main else "secondary",
                icon=file.icon,
                on_click=_ask,
                args=(file.label,),
            )
    for file in files:
        if file.label in st.session_state.get(_ASKED, ()):
            explain_errors(lambda file=file: _hand_out(file))()  # type: ignore[misc]


def _ask(label: str) -> None:
    """Remember a click until its file was sent: a page that is drawn anew meanwhile sends it then."""
    st.session_state.setdefault(_ASKED, set()).add(label)


def _hand_out(file: Download) -> None:
    try:
        with st.spinner(f"Making {markdown(file.name)}"):
            content = file.make()
    except Exception:
        st.session_state[_ASKED].discard(file.label)
        raise
    with st.container(key=f"handed-out-{file.label}"):
        st.html(save_script(file, content), unsafe_allow_javascript=True)
    st.session_state[_ASKED].discard(file.label)


def forget_downloads() -> None:
    """Ask for nothing any more: another page is being opened, and a file of this one would come as a surprise."""
    st.session_state.pop(_ASKED, None)


def save_script(file: Download, content: bytes | str) -> str:
    """What makes a browser save a file, once."""
    packed = gzip.compress(content.encode() if isinstance(content, str) else content, mtime=0)
    told = {"serial": uuid4().hex, "name": file.name, "kind": file.kind, "content": base64.b64encode(packed).decode()}
    # A name may have been thought out by somebody who would like to end the script.
    return _SAVE % json.dumps(told).replace("<", "\\u003c")
