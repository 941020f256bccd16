"""What is typed is not in a fragment: the click that ends the typing would be swallowed.

A browser sends a text and the click after it together. A page that is run as a whole hears both; a fragment around the
field alone hears the text, and what was clicked stands outside of it.
"""

from __future__ import annotations

import pytest

from tests.dashboard.apps import rerun, shown

TYPED = ("number_input", "text_input", "text_area")
OPEN = {
    "audit": {"audit-slices-closer": True, "calibration-open": True, "measures-by-name": True, "sidebar-quota": True},
    "compare": {"compare-slices-closer": True},
    "data": {"project-open": True},
    "policy": {"policy-compare": True},
    "report": {"selection-open": True},
    "train": {"train-settings": True},
}


@pytest.mark.parametrize("name", list(OPEN))
def test_no_field_to_type_in_is_in_a_fragment(name):
    app = shown(name, state=OPEN[name], data="hiring", delta=0.1, unit="share")
    for box in app.selectbox:
        if box.key and box.key.endswith("-window"):
            box.set_value("parts")
    rerun(app)
    known = app.session_state._state._state._new_widget_state.widget_metadata
    fields = {field.key or field.label: known[field.id].fragment_id for kind in TYPED for field in app.get(kind)}
    assert "sidebar-delta-typed" in fields
    assert {field for field, fragment in fields.items() if fragment} == set()
    inside = [box.key for box in app.selectbox if known[box.id].fragment_id]
    assert name not in ("audit", "compare") or f"{name}-slices-window" in inside  # so that the check sees fragments
