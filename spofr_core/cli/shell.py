"""`spofr ...`: the operations of the package, from a shell.

Exit code 0: done. 1: the audited thing fails (`--fail-on-violation`, `verify`). 2: bad input, told in one sentence.
"""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from spofr_core.cli.options import DataOptions, FairnessOptions, SchedulerOption, WorkersOption, with_options
from spofr_core.cli.shell_words import in_shell_words
from spofr_core.cli.sweep_command import register as register_experiments
from spofr_core.cli.sweep_command import register_bench
from spofr_core.cli.train_command import register as register_learning
from spofr_core.data import RankingDataset
from spofr_core.errors import ConfigError, SpofrError
from spofr_core.fairness import Fairness
from spofr_core.files import write_whole

if TYPE_CHECKING:
    from spofr_core.evaluation import AuditResult, Map

app = typer.Typer(
    help="Audit, repair and learn rankings whose exposure is provably fair for every query.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
bench_app = typer.Typer(help="Measured ratios, side by side in one run.", no_args_is_help=True)
app.add_typer(bench_app, name="bench")
register_learning(app)
register_experiments(app)
register_bench(bench_app)

JsonOption = Annotated[
    str | None, typer.Option("--json", help="Write the summary as JSON to this file; '-' is stdout.")
]
ModelOption = Annotated[
    Path | None, typer.Option(help="A trained model in place of a score; without FILE, on the test part of its data.")
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
    model: ModelOption = None,
    fail_on_violation: FailOption = False,
    workers: WorkersOption = 1,
    scheduler: SchedulerOption = None,
) -> None:
    """Who gets the exposure, and which queries break delta."""
    from spofr_core.evaluation import audit, audit_folder
    from spofr_core.reporting import Provenance, audit_html, verdict

    data = None
    folder = source.folder if model is None else None
    if folder is not None:
        fairness = ask.of_folder(source)
        with _parts_map(workers, scheduler) as (map_parts, many):
            result = audit_folder(
                folder,
                fairness,
                mapping=source.mapping(),
                cutoff=cutoff,
                seed=seed,
                min_parts=many,
                map_parts=map_parts,
            )
    else:
        _refuse_workers(workers, scheduler, source.source if model is None else f"model {model}")
        if model is not None:
            result, data = _audit_model(model, source, ask, cutoff, seed)
        else:
            data = source.read()
            result = audit(data, ask.build(data), cutoff=cutoff, seed=seed)
    if html is not None:
        named = source.source if model is None else f"model {model}"
        fingerprint = None if data is None else data.fingerprint
        given = Provenance(source=named, fingerprint=fingerprint, command=f"spofr {shlex.join(sys.argv[1:])}")
        write_whole(html, audit_html(result, provenance=given).encode("utf-8"))
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


def _audit_model(
    model: Path, source: DataOptions, ask: FairnessOptions, cutoff: int, seed: int
) -> tuple[AuditResult, RankingDataset]:
    """Audit a model's policies: at another delta the programme is solved anew, a penalty method stays as it is."""
    from spofr_core.cli.train_command import model_and_data
    from spofr_core.evaluation import audit
    from spofr_core.learning import ProgrammeEstimator

    trained, data = model_and_data(model, source)
    fairness = ask.of_model(trained.fairness)
    asked = fairness if isinstance(trained, ProgrammeEstimator) else None
    return audit(data, fairness, policies=trained.policies(data, asked), cutoff=cutoff, seed=seed), data


@contextmanager
def _parts_map(workers: int, scheduler: str | None) -> Iterator[tuple[Map, int]]:
    """How the parts of a folder are worked on, with progress told, and how many parts there should be at least."""
    from spofr_core.experiments import SweepBar, make_executor, map_with_progress

    with make_executor(workers=workers, scheduler=scheduler) as executor, SweepBar(unit="parts") as bar:
        # Two for each worker, so that they end at about the same time.
        yield partial(map_with_progress, executor, bar), 2 * executor.workers if executor.workers > 1 else 1


def _refuse_workers(workers: int, scheduler: str | None, given: str) -> None:
    if workers != 1 or scheduler is not None:
        raise ConfigError(
            f"--workers and --scheduler share out the parts of a folder of Parquet files, which {given!r} is not; "
            "leave them out."
        )


@app.command()
@with_options(source=DataOptions, ask=FairnessOptions)
def rerank(
    source: DataOptions,
    ask: FairnessOptions,
    out: Annotated[
        Path, typer.Option(help="Policies as a long table: .parquet or .csv; for a folder, also a new folder.")
    ],
    json_: JsonOption = None,
    certificates: Annotated[
        Path | None, typer.Option(help="Write the proof of every query, one JSON line each.")
    ] = None,
    model: ModelOption = None,
    solver: Annotated[str, typer.Option(help="'exact' or 'glop'.")] = "exact",
    relax: Annotated[
        bool, typer.Option(help="Where delta is infeasible, use the smallest feasible one and say so.")
    ] = False,
    seed: Annotated[int, typer.Option(help="Breaks ties between equal scores.")] = 0,
    workers: WorkersOption = 1,
    scheduler: SchedulerOption = None,
) -> None:
    """The optimal policies within delta: a lottery over rankings for every query."""
    from spofr_core.evaluation import repair_folder, repair_ranking
    from spofr_core.policy import write_certificates

    folder = source.folder if model is None else None
    how: dict[str, Any] = {"solver": solver, "seed": seed, "relax": relax}
    if folder is not None:
        fairness = ask.of_folder(source)
        where: dict[str, Any] = {"mapping": source.mapping(), "certificates": certificates}
        with _parts_map(workers, scheduler) as (map_parts, _):
            summary = repair_folder(folder, fairness, out, map_parts=map_parts, **where, **how)
    else:
        _refuse_workers(workers, scheduler, source.source if model is None else f"model {model}")
        data, fairness = _scored(model, source, ask)
        repaired = repair_ranking(data, fairness, **how)
        repaired.policies.write(out)
        if certificates is not None:
            write_certificates(repaired.policies, certificates)
        summary = repaired.summary
    _emit_json(summary, json_)
    if json_ != "-":
        _print_repair(summary)
        typer.echo(f"{summary['rankings']:,} rankings of {summary['queries']:,} queries are in {out}")


def _scored(model: Path | None, source: DataOptions, ask: FairnessOptions) -> tuple[RankingDataset, Fairness]:
    """The data with the scores to rank by, and what is asked of it."""
    if model is None:
        data = source.read()
        return data, ask.build(data)
    from spofr_core.cli.train_command import model_and_data

    trained, data = model_and_data(model, source)
    return data.with_scores(trained.scores(data)), ask.of_model(trained.fairness)


@app.command()
@with_options(source=DataOptions, ask=FairnessOptions)
def verify(
    policies: Annotated[
        Path, typer.Argument(help="What `rerank` wrote: .parquet, .csv, a folder, or certificates .jsonl.")
    ],
    source: DataOptions,
    ask: FairnessOptions,
    json_: JsonOption = None,
    optimal: Annotated[bool, typer.Option(help="Ask for the largest utility too, not for delta alone.")] = True,
    allow_relaxed: Annotated[
        bool, typer.Option(help="Accept queries whose delta is infeasible at their smallest feasible one.")
    ] = False,
) -> None:
    """Check policies from scratch; exit code 1 when something does not hold."""
    from spofr_core.policy import verify_file

    data = source.read()
    checked = verify_file(policies, data, ask.build(data), optimal=optimal, allow_relaxed=allow_relaxed)
    table = checked.queries
    summary = {
        "schema": 1,
        "ok": checked.ok,
        "queries": len(table),
        "failed": int((~table["ok"]).sum()),
        "relaxed": int(table["relaxed"].notna().sum()),
        "max_violation": None if table["violation"].isna().all() else checked.max_violation,
        "min_margin": None if table["margin"].isna().all() else float(table["margin"].min()),
        "max_gap": None if table["gap"].isna().all() else checked.gap,
        "reasons": checked.reasons,
    }
    _emit_json(summary, json_)
    if json_ != "-":
        for reason in checked.reasons[:20]:
            typer.echo(in_shell_words(reason))
        typer.echo(_verified(summary))
    if not checked.ok:
        raise typer.Exit(1)


@app.command()
def doctor(json_: JsonOption = None) -> None:
    """Versions, threads, browser; what is missing and how to get it."""
    from spofr_core.cli.doctor import examine

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

    page = Path(__file__).resolve().parents[2] / "dashboard" / "app.py"
    if not page.exists():
        raise ConfigError(f"The dashboard is not at {str(page)!r}: install the project again.")
    command = [sys.executable, "-m", "streamlit", "run", str(page), "--server.address", "127.0.0.1"]
    command += ["--server.port", str(port), "--server.headless", str(headless).lower()]
    typer.echo(f"The dashboard is on http://127.0.0.1:{port}; Ctrl+C ends it.")
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
    from spofr_core.experiments.bench.bench_audit import bench_audit

    _report_bench(bench_audit(queries=queries, rounds=rounds), json_)


@bench_app.command("solver")
def bench_solver_command(
    json_: JsonOption = None,
    rounds: Annotated[int, typer.Option(help="Interleaved rounds.")] = 7,
    quick: Annotated[bool, typer.Option(help="Lists of 20 only.")] = False,
) -> None:
    """The exact solver beside hot-started GLOP, an assignment solver and a plain sort."""
    from spofr_core.experiments.bench.bench_solver import bench_solver

    _report_bench(bench_solver(rounds=rounds, quick=quick), json_)


@bench_app.command("train")
def bench_train_command(
    json_: JsonOption = None,
    rounds: Annotated[int, typer.Option(help="Interleaved rounds.")] = 5,
    quick: Annotated[bool, typer.Option(help="The smaller training set only.")] = False,
) -> None:
    """One epoch of each method beside one of ListNet, on the same clicks."""
    from spofr_core.experiments.bench.bench_train import bench_train

    _report_bench(bench_train(rounds=rounds, quick=quick), json_)


@bench_app.command("dashboard")
def bench_dashboard_command(
    json_: JsonOption = None,
    rounds: Annotated[int, typer.Option(help="Interleaved rounds.")] = 5,
) -> None:
    """What a reader waits for in a real browser, beside bare Streamlit pages with one chart."""
    from spofr_core.experiments.bench.bench_dashboard import bench_dashboard

    _report_bench(bench_dashboard(rounds=rounds), json_)


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
        write_whole(target, (text + "\n").encode("utf-8"))


def _verified(summary: dict[str, Any]) -> str:
    """The verdict of `verify` in one sentence."""
    total, relaxed = summary["queries"], summary["relaxed"]
    if not summary["ok"]:
        said = f"{summary['failed']:,} of {total:,} queries fail"
    elif relaxed:
        said = f"{total - relaxed:,} of {total:,} queries hold delta, the others their smallest feasible one"
    else:
        said = "Every query holds delta"
    for name, words in (("max_violation", "largest violation"), ("max_gap", "largest gap to the optimum")):
        if summary[name] is not None:
            said += f"; {words} {summary[name]:.6g}"
    return said + "."


def _print_repair(summary: dict[str, Any]) -> None:
    before, after = summary["before"], summary["after"]
    typer.echo(f"{'':18} {'before':>10} {'after':>10}")
    for name in ("fair", "violation_mean", "violation_max", "score_utility", "dcg", "ndcg"):
        if before[name] is not None:
            typer.echo(f"{name:18} {before[name]:>10.6g} {after[name]:>10.6g}")
    for query in summary["relaxed"]:
        typer.echo(f"relaxed: query {query['query']} can hold delta = {query['min_delta']:.6g} at best")
    for note in summary["notes"]:
        typer.echo(f"note: {note}")


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
        typer.echo(f"spofr: {in_shell_words(str(error))}", err=True)
        raise SystemExit(2) from None
    except OSError as error:
        typer.echo(f"spofr: {error.strerror or error}: {error.filename or ''}", err=True)
        raise SystemExit(2) from None
