"""`spofr ...`: the operations of the package, from a shell.

Exit code 0: done. 1: the audited thing fails (`--fail-on-violation`, `verify`). 2: bad input, told in one sentence.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from spofr_core.cli_options import DataOptions, FairnessOptions, with_options
from spofr_core.errors import ConfigError, SpofrError

app = typer.Typer(
    help="Audit, repair and learn rankings whose exposure is provably fair for every query.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
bench_app = typer.Typer(help="Measured ratios, side by side in one run.", no_args_is_help=True)
app.add_typer(bench_app, name="bench")

JsonOption = Annotated[
    str | None, typer.Option("--json", help="Write the summary as JSON to this file; '-' is stdout.")
]
FailOption = Annotated[bool, typer.Option("--fail-on-violation", help="Exit with 1 when a query breaks delta.")]


@app.command("audit")
@with_options(source=DataOptions, ask=FairnessOptions)
def audit_command(
    source: DataOptions,
    ask: FairnessOptions,
    json_: JsonOption = None,
    html: Annotated[Path | None, typer.Option(help="Write a self-contained report.")] = None,
    csv: Annotated[Path | None, typer.Option(help="Write the table query x group.")] = None,
    cutoff: Annotated[int, typer.Option(help="Depth of nDCG.")] = 10,
    seed: Annotated[int, typer.Option(help="Of the bootstrap intervals.")] = 0,
    fail_on_violation: FailOption = False,
) -> None:
    """Who gets the exposure, and which queries break delta."""
    from spofr_core.evaluation import audit, audit_folder
    from spofr_core.reporting import verdict

    if source.file is not None and source.file.is_dir():
        result = audit_folder(source.file, ask.build(None), mapping=source.mapping(), cutoff=cutoff, seed=seed)
    else:
        data = source.read()
        result = audit(data, ask.build(data), cutoff=cutoff, seed=seed)
    if html is not None:
        result.to_html(html)
    if csv is not None:
        result.to_csv(csv)
    _emit_json(result.summary, json_)
    if json_ != "-":
        typer.echo(verdict(result.summary))
        _print_groups(result.summary)
        for note in result.summary["notes"]:
            typer.echo(f"note: {note}")
    if fail_on_violation and not result.ok:
        raise typer.Exit(1)


@app.command()
def doctor(json_: JsonOption = None) -> None:
    """Versions, threads, browser; what is missing and how to get it."""
    from spofr_core.doctor import examine

    found = examine()
    _emit_json(found, json_)
    if json_ != "-":
        for name in ("python", "platform", "cpus", "numba_threads", "browser", "sample_data"):
            typer.echo(f"{name:14} {found[name]}")
        for name, version in found["packages"].items():
            typer.echo(f"{name:14} {version or 'missing'}")
        typer.echo("\n".join(found["missing"]) or "Nothing is missing.")
    if found["missing"]:
        raise typer.Exit(1)


@app.command()
def dashboard(
    port: Annotated[int, typer.Option(help="Port on 127.0.0.1.")] = 8501,
    headless: Annotated[bool, typer.Option(help="Do not open a browser.")] = False,
) -> None:
    """Open the dashboard in the browser."""
    import subprocess

    page = Path(__file__).resolve().parent.parent / "dashboard" / "app.py"
    if not page.exists():
        raise ConfigError(f"The dashboard is not at {str(page)!r}; run it from a checkout of the project.")
    command = [sys.executable, "-m", "streamlit", "run", str(page), "--server.address", "127.0.0.1"]
    command += ["--server.port", str(port), "--server.headless", str(headless).lower()]
    try:
        raise typer.Exit(subprocess.call(command, cwd=page.parent.parent))
    except KeyboardInterrupt:
        raise typer.Exit(0) from None


@bench_app.command("audit")
def bench_audit_command(
    json_: JsonOption = None,
    queries: Annotated[int, typer.Option(help="Lists of 20 items.")] = 50_000,
    rounds: Annotated[int, typer.Option(help="Interleaved rounds.")] = 5,
) -> None:
    """A million rows from CSV to summary, beside pandas reading the same file."""
    from spofr_core.experiments.bench.audit import bench_audit

    _report_bench(bench_audit(queries=queries, rounds=rounds), json_)


def _report_bench(measured: dict[str, Any], json_: str | None) -> None:
    _emit_json(measured, json_)
    if json_ != "-":
        for name, ratio in measured["ratios"].items():
            typer.echo(f"{name:36} {ratio:10.3g}")


def _emit_json(content: dict[str, Any], target: str | None) -> None:
    if target is None:
        return
    text = json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False)
    if target == "-":
        typer.echo(text)
    else:
        from spofr_core.data import write_whole

        write_whole(target, (text + "\n").encode("utf-8"))


def _print_groups(summary: dict[str, Any]) -> None:
    width = max((len(name) for name in summary["groups"]), default=5)
    typer.echo(f"{'group':{width}}  {'items':>9}  {'lists':>8}  exposure  violation")
    for name, group in summary["groups"].items():
        exposure, violation = group["exposure_mean"], group["violation_mean"]
        cells = ("-" if exposure is None else f"{exposure:.4f}", "-" if violation is None else f"{violation:+.4f}")
        small = "  (few items: read with care)" if group["small"] else ""
        typer.echo(f"{name:{width}}  {group['items']:>9,}  {group['queries']:>8,}  {cells[0]:>8}  {cells[1]:>9}{small}")


def main() -> None:
    """Entry point: what goes wrong on purpose is one sentence on stderr and exit code 2."""
    try:
        app()
    except SpofrError as error:
        typer.echo(f"spofr: {error}", err=True)
        raise SystemExit(2) from None
    except OSError as error:
        typer.echo(f"spofr: {error.strerror or error}: {error.filename or ''}", err=True)
        raise SystemExit(2) from None
