"""What commands print: JSON, ratios of benchmarks, tables."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from spofr_core.files import write_whole

if TYPE_CHECKING:
    import pandas as pd

JsonOption = Annotated[
    str | None, typer.Option("--json", help="Write the summary as JSON to this file; '-' is stdout.")
]

_RUN_COLUMNS = ("run", "status", "dataset", "method", "delta", "unit", "penalty", "groups", "notion", "clicks", "seed")
_RESULT_COLUMNS = ("dcg", "violation_mean", "fair_share", "seconds")


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
