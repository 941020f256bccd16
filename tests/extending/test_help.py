"""The help of the shell lists what plug-ins register: one call for all of them, since each takes seconds."""

from __future__ import annotations


def test_the_options_of_an_audit_list_them(shell):
    options = shell("sample notion format executor", "audit", "--help")
    for word in ("bakeries", "relative", "feather", "spoken:NAME"):
        assert word in options
