"""What commands print: JSON, ratios of benchmarks, tables."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_type_hints

import typer
from typer.models import ParameterInfo

from spofr_core.files import check_outputs, write_whole

if TYPE_CHECKING:
    import pandas as pd

JsonOption = Annotated[
    str | None, typer.Option("--json", writable=True, help="Write the summary as JSON to this file; '-' is stdout.")
]

_RUN_COLUMNS = ("run", "status", "dataset", "method", "delta", "unit", "penalty", "groups", "notion", "clicks", "seed")
_RESULT_COLUMNS = ("dcg", "violation_mean", "fair_share", "seconds")


def keep_inputs(command: Callable[..., Any]) -> Callable[..., Any]:
    """The command, which begins only where no output (a parameter with `writable=True`) is a file that it reads."""

    @functools.wraps(command)
    def wrapper(**values: Any) -> Any:
        writes = output_parameters(command)
        outputs = [values[name] for name in writes if values[name] not in (None, "-")]
        check_outputs(outputs, [each for name, each in values.items() if isinstance(each, Path) and name not in writes])
        return command(**values)

    return wrapper


def output_parameters(command: Callable[..., Any]) -> dict[str, ParameterInfo]:
    """The parameters of a command that name files to write."""
    hints = get_type_hints(command, include_extras=True)
    declared = ((name, each) for name, hint in hints.items() for each in get_args(hint))
    return {name: each for name, each in declared if isinstance(each, ParameterInfo) and each.writable}


def emit_json(content: Any, target: str | None) -> None:
    """Write plain values as JSON to a file, to stdout for "-", or nowhere for None."""
    if target is None:
        return
    text = json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False)
    if target == "-":
        typer.echo(text)
    else:
        write_whole(target, (text + "\n").encode("utf-8"))


def print_ratios(measured: dict[str, Any], json_: str | None) -> None:
    """What a benchmark measured: all of it as JSON, its ratios as lines, with the limit of those that have one."""
    emit_json(measured, json_)
    limits = measured.get("limits", {})
    if json_ != "-":
        width = max(map(len, measured["ratios"]), default=0)
        for name, ratio in measured["ratios"].items():
            limit = f"  (at most {limits[name]:g})" if name in limits else ""
            typer.echo(f"{name:{width}} {ratio:10.3g}{limit}")


def run_table(frame: pd.DataFrame) -> str:
    """Runs and their results as a table of plain text."""
    shown = frame[[*_RUN_COLUMNS, *_RESULT_COLUMNS]]
    return "No runs." if shown.empty else shown.to_string(index=False, na_rep="-", float_format="%.4g")
