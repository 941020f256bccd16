"""Names that are markup: on every page, whatever is chosen and opened there, and in every chart they are text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest, element_tree

from dashboard.navigation import PAGES
from dashboard.session.slicing.slice_text import slice_text
from tests.dashboard.apps import rerun, shown
from tests.dashboard.test_shown_page import frame
from tests.dashboard.test_uploads import kept, press, uploaded
from tests.hostile.markup import COLUMNS, HOSTILE, MARKUP, OWN_SCRIPT, escapes_out, hostile_table, misread

ENDS = (0, -1)
"""Of one box the first option and the last: what stands between is drawn by the same code."""
SIDEBAR_MATTERS = ("audit", "policy", "compare")
"""Pages on which more is drawn after a choice in the sidebar than other numbers."""
Choice = Callable[[AppTest], Any]


@pytest.fixture(scope="module")
def upload() -> Any:
    return read_upload()


def read_upload(way: str = "column") -> Any:
    """The hostile file as its owner reads it."""
    app = uploaded("<script>alert(0)<x> http:evil.example.csv", hostile_table())
    if way != "column":
        app.radio(key="map-way").set_value(way)
        rerun(app)
    for box in app.selectbox:
        if box.label.startswith("Group ("):
            box.set_value(COLUMNS[2])
        elif box.label.startswith("Ranked by"):
            box.set_value("score")
    app.multiselect(key="map-slices").set_value([COLUMNS[5]])
    assert misread(rerun(app)) == []
    return kept(press(app))


def with_all_open(name: str, state: dict[str, Any], **choices: Any) -> tuple[AppTest, dict[str, Any]]:
    """The page with every section open that opens when it is clicked, and the state in which it is so."""
    while True:
        app = shown(name, state=state, **choices)
        closed = {part.key for part in app.get("expander") if part.key} - set(state)
        if not closed:
            return app, state
        state = state | dict.fromkeys(closed, True)


def choices_on(app: AppTest, options: Sequence[int] = ENDS) -> Iterator[tuple[str, Choice]]:
    """Everything that a reader may click on a page: its name, and how to do it on a page of the same kind."""
    for kind in ("toggle", "checkbox"):
        for at, box in enumerate(app.get(kind)):
            yield f"{kind} {box.key}", lambda page, kind=kind, at=at: flip(page.get(kind)[at])
    for kind in ("radio", "selectbox", "segmented_control", "multiselect", "pills"):
        for at, box in enumerate(app.get(kind)):
            for k in () if box.proto.disabled or not box.options else options:
                yield f"{kind} {box.key} {k}", lambda page, kind=kind, at=at, k=k: choose(page.get(kind)[at], k)
    alike = {re.sub(r"\d+$", "", button.key or button.label): at for at, button in enumerate(app.button)}
    for name, at in alike.items():
        yield f"button {name}", lambda page, at=at: page.button[at].click()


def flip(box: Any) -> None:
    box.set_value(not box.value)


def choose(box: Any, option: int) -> None:
    label = Label(box.options[option])
    box.set_value([label] if isinstance(box.value, list) else label)


class Label(str):
    """An option as the page shows it, which is what a browser sends."""


@pytest.fixture(autouse=True)
def browsers_send_labels(monkeypatch: pytest.MonkeyPatch) -> None:
    """The harness takes labels too, but formats them a second time unless that fails."""
    formatted = element_tree._format_value_for_widget
    monkeypatch.setattr(
        element_tree,
        "_format_value_for_widget",
        lambda function, value: value if isinstance(value, Label) else formatted(function, value),
    )


@pytest.mark.parametrize("name", list(PAGES))
def test_on_every_page_whatever_is_chosen(upload: Any, name: str) -> None:
    choices = {"data": "upload", "delta": 0.02}
    app, state = with_all_open(name, {"uploaded": upload}, **choices)
    found = {name: misread(app)}
    for what, choice in choices_on(app):
        if "sidebar-" in what and name not in SIDEBAR_MATTERS:
            continue
        page = shown(name, state=state, **choices)
        choice(page)
        found[what] = misread(rerun(page))
    assert {what: texts for what, texts in found.items() if texts} == {}


@pytest.mark.parametrize("name", ["audit", "policy", "report", "compare"])
def test_with_a_quota_and_in_a_slice(upload: Any, name: str) -> None:
    region = upload.data.attributes[COLUMNS[5]][0]
    for choices in ({"quota": "1@4"}, {"slice": slice_text({COLUMNS[5]: region})}):
        app, _ = with_all_open(name, {"uploaded": upload}, data="upload", delta=0.02, **choices)
        assert misread(app) == []


def test_where_each_item_is_on_its_own() -> None:
    source = read_upload(way="each_item")
    for name in ("data", "audit", "policy", "report", "compare"):
        app, _ = with_all_open(name, {"uploaded": source}, data="upload", delta=0.02)
        assert misread(app) == []


def test_in_the_wizard_whatever_is_chosen() -> None:
    def wizard() -> AppTest:
        return uploaded("<script>alert(0)<x> http:evil.example.csv", hostile_table())

    app = wizard()
    found = {}
    for what, choice in choices_on(app, options=[-1]):
        page = wizard()
        page.session_state["map-groups-open"] = True
        choice(page)
        found[what] = misread(rerun(page))
    assert len(found) > 12
    assert {what: texts for what, texts in found.items() if texts} == {}


def test_in_a_log_of_what_was_shown() -> None:
    log = frame().replace({"f": HOSTILE["f"], "m": HOSTILE["m"], "ad0": HOSTILE["d00"]})
    log["keyword"] = log["keyword"].str.replace("=1+1", HOSTILE["q0"])
    app = uploaded("<b>log.csv", log.to_csv(index=False))
    assert misread(app) == []
    assert misread(press(app, "Audit what was shown")) == []


def test_the_check_sees_what_is_not_escaped() -> None:
    for text in ("a http://evil.example/", "**bold**", "<img src=x>", "me\\@evil.example", ":red[x]"):
        assert MARKUP.search(escapes_out(text)), text
    assert OWN_SCRIPT.fullmatch("<script>(({name}) => 1)({'name': '\\u003cimg'})</script>")
    assert not OWN_SCRIPT.fullmatch("<script>({'name': '</script><img>'})</script>")
