"""The shell command and the Python lines that give what is on the screen."""

from __future__ import annotations

import shlex
from dataclasses import replace
from functools import lru_cache

from dashboard.session.choices import Choices, written
from dashboard.session.every_list.quota_address import read_quota
from dashboard.session.findings.report_parts import NOTHING_MORE, ReportParts, usable_window
from dashboard.session.sources import Loaded
from spofr_core.evaluation import Rival
from spofr_core.fairness import NOTIONS, quota_options, written_delta

_IMPORTED = {
    "read_dataset": "data",
    "load_sample": "data",
    "RunStore": "experiments",
    "load_splits": "experiments",
    "load_model": "learning",
    "selection_rates": "evaluation",
    "shown_policies": "experiments",
    "with_estimates": "experiments",
}
"""What the lines that load the data may call, and the room that it comes from."""


def comparison_lines(source: Loaded, choices: Choices, rival: Rival, parts: ReportParts = NOTHING_MORE) -> str | None:
    """`spofr compare ...`; None where no command compares the same rankings."""
    audited = command_lines(source, choices, replace(parts, selected=""))
    text = choices.rival or "repair"
    # Files and models have other names in a shell than in an address.
    if audited is None or rival.file is not None or rival.model is not None:
        return None
    return f"{audited.replace('spofr audit', 'spofr compare', 1)} --with {shlex.quote(text)}"


def command_lines(source: Loaded, choices: Choices, parts: ReportParts = NOTHING_MORE) -> str | None:
    """`spofr audit ...`; None where no command reads the same rows."""
    if source.arguments is None:
        return None
    quota = read_quota(choices.quota, choices.quota_min)
    options = ["--delta", written_delta(choices.delta, choices.unit), *_options(source, parts), *quota_options(quota)]
    if source.model is not None:
        # The shell asks a model for the notion and exposure model that it was trained for, at any delta.
        trained = source.model.fairness
        same = (trained.notion, trained.position_bias) == (choices.notion, choices.position_bias)
        same = same and (trained.every_ranking is None or quota is not None)  # it would keep that of its training
        return shlex.join(["spofr", "audit", *source.arguments, *options]) if same and not trained.merits else None
    if choices.notion != Choices.notion:
        options += ["--notion", choices.notion]
    if choices.power != 1:
        options += ["--power", written(choices.power)]
    if choices.shift != 1:
        options += ["--shift", written(choices.shift)]
    if choices.top:
        options += ["--exposure-cutoff", str(choices.top)]
    return shlex.join(["spofr", "audit", *source.arguments, *options])


@lru_cache(maxsize=64)
def proof_of(command: str, relaxed: bool) -> str | None:
    """`spofr repair` and `spofr verify` for what this `spofr audit` reads; None where they would read other data.

    `relaxed` says whether some list cannot hold delta.
    """
    from spofr_core.cli import proof_lines  # all commands come with it, and only a report asks for them

    return proof_lines(shlex.split(command)[2:], relaxed=relaxed)


@lru_cache(maxsize=64)
def check_of(command: str, file: str, relaxed: bool) -> str | None:
    """`spofr verify` of the policy of one query in a file, for what this `spofr audit` reads."""
    from spofr_core.cli import check_line

    return check_line(shlex.split(command)[2:], file, relaxed=relaxed)


def _options(source: Loaded, parts: ReportParts) -> list[str]:
    window = usable_window(source.data, parts)
    timed = window is not None and window != ReportParts.window
    return [*(["--window", str(window)] if timed else []), *parts.options]


def python_lines(source: Loaded, choices: Choices, parts: ReportParts = NOTHING_MORE) -> str:
    """A script that computes the same summary."""
    fairness_names = ["Fairness", *(["PositionBias"] if _bias(choices) else [])]
    fairness_names += ["group_merits"] if NOTIONS[choices.notion].needs_merits else []
    given = [f"delta={choices.delta!r}"]
    if choices.unit != "absolute":
        given.append(f'unit="{choices.unit}"')
    if choices.notion != Choices.notion:
        given.append(f'notion="{choices.notion}"')
    if NOTIONS[choices.notion].needs_merits:
        given.append("merits=group_merits(data)")
    if _bias(choices):
        given.append(f"position_bias={_bias(choices)}")
    quota = read_quota(choices.quota, choices.quota_min)
    if quota is not None:
        fairness_names.append("Quota")
        settings = ", ".join(f"{name}={value!r}" for name, value in quota.model_dump(exclude_none=True).items())
        given.append(f"every_ranking=Quota({settings})")
    called, room = ("audit", "evaluation") if source.model is None else ("audit_model", "experiments")
    imported: dict[str, list[str]] = {room: [called], "fairness": fairness_names}
    more = [*_sliced_lines(source, parts), *_selected_lines(source, parts)]
    for name, room in _IMPORTED.items():
        if any(f"{name}(" in line for line in (source.python, *more)):
            imported.setdefault(room, []).append(name)
    return "\n".join(
        [
            *(f"from spofr_core.{room} import {', '.join(imported[room])}" for room in sorted(imported)),
            "",
            source.python,
            f"result = {called}({'' if source.model is None else 'model, '}data, Fairness({', '.join(given)}))",
            *more,
            "print(result.to_json())",
        ]
    )


def _sliced_lines(source: Loaded, parts: ReportParts) -> list[str]:
    if not source.by and source.data.times is None:
        return []
    window = usable_window(source.data, parts)
    timed = "" if window is None else f', window="{window}"'
    return [f"result = result.with_slices({source.by!r}{timed})"]


def _selected_lines(source: Loaded, parts: ReportParts) -> list[str]:
    if not parts.selected:
        return []
    given = ["data" if source.model is None or parts.selected == "top" else "with_estimates(model, data)"]
    given += [f"{name}={value!r}" for name, value in parts.selection.items()]
    if source.model is not None and parts.selected == "top":
        given.append("policies=shown_policies(model, data, result.fairness)")
    return [f"result = result.with_selection(selection_rates({', '.join(given)}))"]


def _bias(choices: Choices) -> str:
    given = []
    if choices.power != 1:
        given.append(f"power={written(choices.power)}")
    if choices.shift != 1:
        given.append(f"shift={written(choices.shift)}")
    if choices.top:
        given.append(f"cutoff={choices.top}")
    return f"PositionBias({', '.join(given)})" if given else ""
