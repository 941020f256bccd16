"""Text from the data stays text."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.escaping import bold, markdown, plot
from tests.dashboard.apps import plain, shown


@given(st.text(alphabet=st.characters(codec="ascii", categories=["L", "N", "P", "S", "Zs"]), max_size=60))
def test_escaped_text_reads_back(text):
    assert plain(markdown(text)) == text


@pytest.mark.parametrize(
    "text", ["**bold**", "[a](http://x)", ":red[x]", "$x$", "<img src=x>", "# head", "`code`", ":smile:"]
)
def test_no_punctuation_is_left_to_markdown(text):
    escaped = markdown(text)
    assert all(escaped[k - 1] == "\\" for k, sign in enumerate(escaped) if sign in "*[]():$<>#`=/")


@pytest.mark.parametrize("text", ["http://evil.example/x", "HTTPS://evil.io", "www.evil.example", "me@evil.example"])
def test_an_address_is_no_link(text):
    """As the screens find them, after the escapes: https://, www. and signs around an @."""
    shown = re.sub(r"\\(.)", r"\1", markdown(f"see {text} there"))
    assert not re.search(r"https?://|www\.|[-.\w+]@[-\w]+\.", shown, re.IGNORECASE)
    assert plain(markdown(text)) == text


def test_plotly_gets_no_tags():
    assert plot("<a href='x'>&") == "&lt;a href='x'&gt;&amp;"


@pytest.mark.parametrize("view", ["data", "audit", "compare", "policy", "report", "train", "tradeoffs", "guarantees"])
def test_no_line_of_a_page_ends_between_a_number_and_its_percent_sign(view):
    app = shown(view, data="adult", delta=0.1, unit="share")
    elements = [*app.title, *app.header, *app.caption, *app.markdown, *app.info, *app.warning, *app.success]
    assert [each.value for each in elements if re.search(r"\d %", each.value)] == []
    assert any(re.search("\\d\N{NO-BREAK SPACE}%", plain_escapes(each.value)) for each in elements)


def plain_escapes(text: str) -> str:
    """Without the signs that keep Markdown from reading anything into it."""
    return text.replace("\\", "")


@pytest.mark.parametrize("name", ["q8 ", " q8", "\tq8\n", " "])
def test_bold_names_end_where_their_letters_end(name):
    """Markdown reads asterisks beside a space as asterisks."""
    assert re.fullmatch(r"\*\*\S(.*\S)?\*\*", bold(name))
