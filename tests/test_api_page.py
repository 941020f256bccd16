"""docs/api.md and docs/settings.md are what docstrings and types say."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import spofr_core
from spofr_core.learning import METHODS

SCRIPT = Path(__file__).resolve().parent.parent / "docs" / "make_api.py"


def test_the_page_is_current_and_has_every_public_name():
    spec = importlib.util.spec_from_file_location("make_api", SCRIPT)
    make_api = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(make_api)
    text = make_api.PAGE.read_text("utf-8")
    assert text == make_api.page(), "docs/api.md is out of date: python docs/make_api.py"
    assert re.findall(r"^## (\w+)$", text, flags=re.MULTILINE) == list(spofr_core.__all__)
    assert " at 0x" not in text
    assert text.count("\n```") % 2 == 0
    settings = make_api.SETTINGS.read_text("utf-8")
    assert settings == make_api.settings_page(), "docs/settings.md is out of date: python docs/make_api.py"
    for method in METHODS.values():
        assert f"`--method {method.name}`" in settings
    assert not re.search(r"\| *\|$", settings, flags=re.MULTILINE), "a setting without a meaning"
