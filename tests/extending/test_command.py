"""A command registered from outside is one of the shell's, with the options that others have and its own."""

from __future__ import annotations


def test_the_shell_has_it(shell):
    options = shell("command sample", "groups", "--help")
    assert "Count the items of each group." in options
    assert "--least" in options
    assert "bakeries" in options  # a plug-in that is named after it
    assert shell("command sample", "groups", "--sample", "bakeries", "--least", "80") == "family: 90\n"
