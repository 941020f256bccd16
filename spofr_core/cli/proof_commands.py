"""The lines of shell that repair what an audit was asked about, and check the repair."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

import typer
from typer.core import TyperGroup, TyperOption

POLICIES = "policies.parquet"
_CHANGES_THE_DATA = ("--where", "--model")
"""Options of an audit after which neither command would speak of the same queries and scores."""


def proof_lines(arguments: Sequence[str], *, relaxed: bool = False) -> str | None:
    """`spofr repair` and `spofr verify` for the words of a `spofr audit`; None where they would read other data.

    Parameters
    ----------
    arguments : sequence of str
        What stood behind `spofr audit`; options that all three commands take are carried over.
    relaxed : bool
        Whether some list cannot hold delta, so that its smallest feasible one is asked for.
    """
    kept = (
        None if any(_named(word) in _CHANGES_THE_DATA for word in arguments) else _kept(arguments, "repair", "verify")
    )
    if kept is None:
        return None
    repair = ["spofr", "repair", *kept, "--out", POLICIES, *(["--relax"] if relaxed else [])]
    verify = ["spofr", "verify", POLICIES, *kept, *(["--allow-relaxed"] if relaxed else [])]
    return f"{shlex.join(repair)}\n{shlex.join(verify)}"


def check_line(arguments: Sequence[str], file: str, *, relaxed: bool = False) -> str | None:
    """`spofr verify` of the policy of one query in a file, for the words of a `spofr audit`; None where it would be
    held to something else: which queries are looked at says what groups deserve, and nothing else of a query."""
    kept = _kept(arguments, "verify")
    if kept is None or ("--where" in map(_named, arguments) and "--notion" in kept):
        return None
    return shlex.join(["spofr", "verify", file, *kept, *(["--allow-relaxed"] if relaxed else [])])


def _named(word: str) -> str:
    return word.partition("=")[0]


def _kept(arguments: Sequence[str], *commands: str) -> list[str] | None:
    """The words of a `spofr audit` without the options that not all of these commands take; None for other words."""
    known, *shared = (_options(name) for name in ("audit", *commands))
    kept: list[str] = []
    words = iter(arguments)
    for word in words:
        name, has_value, _ = word.partition("=")
        if not word.startswith("--"):
            kept.append(word)
            continue
        if name not in known:
            return None
        taken = [word] if has_value or known[name].is_flag else [word, next(words, "")]
        if name != "--json" and all(name in options for options in shared):
            kept += taken
    return kept


def _options(command: str) -> dict[str, TyperOption]:
    from spofr_core.cli.application import app

    shell = typer.main.get_command(app)
    found = shell.commands[command].params if isinstance(shell, TyperGroup) else []
    options = [parameter for parameter in found if isinstance(parameter, TyperOption)]
    return {name: option for option in options for name in (*option.opts, *option.secondary_opts)}
