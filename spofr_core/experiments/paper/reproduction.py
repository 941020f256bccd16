"""`reproduce`: run what is missing, then write the frames, the figures and one page that says what was found."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import plotly.graph_objects as go
from plotly.offline import get_plotlyjs

from spofr_core.data import SAMPLES, write_csv
from spofr_core.errors import ConfigError
from spofr_core.evaluation.exact_tradeoff import exact_tradeoff
from spofr_core.evaluation.fronts import best_at_violation, grid_search
from spofr_core.evaluation.guarantees import guarantees
from spofr_core.evaluation.tradeoffs import (
    asked_and_achieved,
    done,
    method_difference,
    multi_group,
    price_of_fairness,
    run_times,
    tradeoff,
    training_sizes,
)
from spofr_core.experiments.executors import Executor
from spofr_core.experiments.paper.findings import Finding, findings
from spofr_core.experiments.paper.findings_text import full_list
from spofr_core.experiments.paper.paper_sweeps import (
    DATASETS,
    FIGURES,
    PAPER_DATA,
    RIVALS,
    Scale,
    sweeps_for,
)
from spofr_core.experiments.paper.reproduction_page import index_page
from spofr_core.experiments.progress import OnProgress
from spofr_core.experiments.run_data import load_splits
from spofr_core.experiments.runs.result_tables import query_results, results
from spofr_core.experiments.runs.store import RunStore
from spofr_core.experiments.sweep import SweepOutcome, run_sweep
from spofr_core.experiments.sweep_spec import RunConfig
from spofr_core.files import explain_full_disk, write_whole
from spofr_core.learning import load_model
from spofr_core.learning.methods.guaranteed import ProgrammeEstimator
from spofr_core.reporting import method_title
from spofr_core.reporting import run_figures as draw
from spofr_core.reporting.pictures import write_images

SHOWN_LEVELS = (0.5, 0.9, 1.0)


@dataclass(frozen=True)
class Reproduction:
    """What `reproduce` did.

    Attributes
    ----------
    folder : Path
        `index.html` in it shows everything.
    outcome : SweepOutcome
        Of the runs.
    findings : list of Finding
    notes : list of str
        What is missing, and why.
    """

    folder: Path
    outcome: SweepOutcome
    findings: list[Finding]
    notes: list[str]


def planned_runs(
    figures: Sequence[str],
    scale: Scale,
    *,
    datasets: tuple[str, ...] = DATASETS,
    folder: str | None = None,
) -> tuple[RunConfig, ...]:
    """The runs behind these figures, each once."""
    found: dict[str, RunConfig] = {}
    for figure in chosen_figures(figures):
        for spec in sweeps_for(figure, scale, datasets=datasets, folder=folder):
            for config in spec.runs():
                found.setdefault(config.run, config)
    # Runs that learn from the same data beside each other, whichever figure asked for them.
    return tuple(sorted(found.values(), key=lambda config: (config.seed, config.data_key, config.clicks or 0)))


def chosen_figures(figures: Sequence[str]) -> tuple[str, ...]:
    """The figures meant; "all", or none, means all of them."""
    wanted = list(FIGURES) if not figures or "all" in figures else list(dict.fromkeys(figures))
    unknown = [name for name in wanted if name not in FIGURES]
    if unknown:
        raise ConfigError(f"A figure must be one of {[*FIGURES, 'all']}, got {unknown[0]!r}.")
    return tuple(wanted)


def reproduce(
    figures: Sequence[str],
    scale: Scale,
    out: str | Path,
    *,
    executor: Executor | None = None,
    on_progress: OnProgress | None = None,
    stop: Callable[[], bool] | None = None,
    datasets: tuple[str, ...] = DATASETS,
    folder: str | None = None,
    images: bool = True,
) -> Reproduction:
    """Redraw figures of the paper.

    Parameters
    ----------
    figures : sequence of str
        Of `FIGURES`, or "all".
    scale : {"small", "paper"}
    out : path
        Gets `runs/` (the store), `frames/` (Parquet and CSV), `figures/` (HTML, and PNG and SVG where there is a
        browser), `findings.json`, `findings.md` and `index.html`. What was run before is kept and used.
    executor, on_progress, stop
        As for `run_sweep`. A stopped reproduction draws what there is; the next call goes on.
    datasets : tuple of str
        Of `DATASETS`. Those of the paper are judged together, as it speaks of them; any other by itself.
    folder : str, optional
        MSLR: a Fold folder of one's own.
    images : bool
        Whether to try static pictures.
    """
    wanted = chosen_figures(figures)
    place = Path(out)
    configs = planned_runs(wanted, scale, datasets=datasets, folder=folder)
    store = RunStore(place / "runs")
    outcome = run_sweep(configs, store, executor, on_progress=on_progress, stop=stop)
    made = [
        _make(figure, planned, store, data)
        for figure in wanted
        for data, names in _judged_together(datasets).items()
        if (planned := planned_runs([figure], scale, datasets=names, folder=folder)) or not data
    ]
    first_of = {str(config.dataset.sample): config for config in reversed(configs)}
    sources = {name: SAMPLES[name].sources_text(load_splits(config)) for name, config in sorted(first_of.items())}
    return _write(place, scale, made, outcome, images, sources)


def _judged_together(datasets: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """The datasets of the paper under the empty name, and each other one under its own."""
    together = {"": tuple(name for name in datasets if name in PAPER_DATA)}
    together |= {name: (name,) for name in datasets if name not in PAPER_DATA}
    return {data: names for data, names in together.items() if names}


@dataclass(frozen=True, eq=False)
class MadeFigure:
    """A figure of the paper on its datasets, or on another: tidy frames, charts by name, findings."""

    name: str
    data: str
    frames: dict[str, pd.DataFrame]
    charts: dict[str, go.Figure]
    findings: list[Finding]


def _make(figure: str, configs: Sequence[RunConfig], store: RunStore, data: str) -> MadeFigure:
    frame = results(store, [config.run for config in configs])
    frames: dict[str, pd.DataFrame] = {"results": frame}
    charts: dict[str, go.Figure] = {}
    if len(done(frame)):
        _DRAWN[figure](store, frame, frames, charts)
    return MadeFigure(figure, data, frames, charts, findings(figure, frames, data) if charts else [])


Drawer = Callable[[RunStore, pd.DataFrame, dict[str, pd.DataFrame], dict[str, go.Figure]], None]


def _draw_tradeoff(
    store: RunStore, runs: pd.DataFrame, frames: dict[str, pd.DataFrame], charts: dict[str, go.Figure]
) -> None:
    frames["tradeoff"] = tradeoff(runs)
    frames["price"] = price_of_fairness(runs)
    frames["achieved"] = asked_and_achieved(runs)
    for (dataset, method), part in frames["tradeoff"].groupby(["dataset", "method"], observed=True):
        title = f"{dataset}: {method_title(method)}, fairness against utility"
        charts[f"tradeoff-{dataset}-{method}"] = draw.tradeoff_figure(part, "notion", title=title)
    for (dataset, notion), part in frames["achieved"].groupby(["dataset", "notion"], observed=True):
        title = f"{dataset}, {notion}: asked for and achieved"
        charts[f"achieved-{dataset}-{notion}"] = draw.achieved_figure(part, title=title)
    exact = _exact(store, runs)
    if exact is not None:
        frames["exact"] = exact
        for (dataset,), part in exact.groupby(["dataset"], observed=True):
            title = f"{dataset}: one trained SPOFR model at 41 deltas, no retraining"
            charts[f"exact-{dataset}"] = draw.exact_figure(part, title=title)


def _draw_grid(
    store: RunStore, runs: pd.DataFrame, frames: dict[str, pd.DataFrame], charts: dict[str, go.Figure]
) -> None:
    frames["grid"] = grid_search(runs)
    frames["matched"] = best_at_violation(runs)
    frames["end-to-end"] = method_difference(runs, "spofr", "pto")
    for (dataset, notion), part in frames["grid"].groupby(["dataset", "notion"], observed=True):
        charts[f"grid-{dataset}-{notion}"] = draw.grid_figure(part, title=f"{dataset}, {notion}: every trained model")


def _draw_guarantee(
    store: RunStore, runs: pd.DataFrame, frames: dict[str, pd.DataFrame], charts: dict[str, go.Figure]
) -> None:
    names = done(runs)["run"].tolist()
    test, validation = (query_results(store, names, part) for part in ("test", "validation"))
    frames["guarantee"] = guarantees(runs, test, validation)
    frames["guarantee-by-seed"] = pd.concat(
        [
            guarantees(part, *(each[each["run"].isin(part["run"])] for each in (test, validation))).assign(seed=seed)
            for seed, part in done(runs).groupby("seed")
        ],
        ignore_index=True,
    )
    frames["guarantee-selected-on-test"] = guarantees(runs, test, select="test")
    shown = frames["guarantee"][frames["guarantee"]["level"].isin(SHOWN_LEVELS)]
    shown = shown[shown["method"].isin(RIVALS)]
    for (dataset, notion), part in shown.groupby(["dataset", "notion"], observed=True):
        title = f"{dataset}, {notion}: best model for each delta and share of queries"
        charts[f"guarantee-{dataset}-{notion}"] = draw.guarantee_figure(part, title=title)


def _draw_multigroup(
    store: RunStore, runs: pd.DataFrame, frames: dict[str, pd.DataFrame], charts: dict[str, go.Figure]
) -> None:
    frames["multigroup"] = multi_group(runs)
    for (dataset, method), part in frames["multigroup"].groupby(["dataset", "method"], observed=True):
        title = f"{dataset}: {method_title(method)} with 2 to 7 groups"
        charts[f"multigroup-{dataset}-{method}"] = draw.tradeoff_figure(part, "groups", title=title)


def _draw_sizes(
    store: RunStore, runs: pd.DataFrame, frames: dict[str, pd.DataFrame], charts: dict[str, go.Figure]
) -> None:
    frames["sizes"] = training_sizes(runs)
    for (dataset,), part in frames["sizes"].groupby(["dataset"], observed=True):
        title = f"{dataset}: SPOFR by training size"
        charts[f"sizes-{dataset}"] = draw.tradeoff_figure(part, "clicks", title=title)


def _draw_runtime(
    store: RunStore, runs: pd.DataFrame, frames: dict[str, pd.DataFrame], charts: dict[str, go.Figure]
) -> None:
    frames["runtime"] = run_times(runs)
    for (dataset,), part in frames["runtime"].groupby(["dataset"], observed=True):
        charts[f"runtime-{dataset}"] = draw.run_time_figure(part, title=f"{dataset}: time of an epoch")


_DRAWN: dict[str, Drawer] = {
    "tradeoff": _draw_tradeoff,
    "grid": _draw_grid,
    "guarantee": _draw_guarantee,
    "multigroup": _draw_multigroup,
    "sizes": _draw_sizes,
    "runtime": _draw_runtime,
}


def _exact(store: RunStore, runs: pd.DataFrame) -> pd.DataFrame | None:
    """The exact tradeoff of one trained model per dataset: that of the smallest delta and seed under "exposure"."""
    parts = []
    chosen = done(runs)
    chosen = chosen[(chosen["method"] == "spofr") & (chosen["notion"] == "exposure")]
    for dataset, part in chosen.groupby("dataset", observed=True):
        run = str(part.sort_values(["delta", "seed"])["run"].iloc[0])
        record = store.get(run)
        model = load_model(store.model_folder(run))
        if record is None or not isinstance(model, ProgrammeEstimator):
            continue
        test = load_splits(record.config).test
        parts.append(exact_tradeoff(model.estimates(test), test, model.fairness).assign(dataset=dataset, run=run))
    return pd.concat(parts, ignore_index=True) if parts else None


def _write(
    place: Path,
    scale: str,
    made: list[MadeFigure],
    outcome: SweepOutcome,
    images: bool,
    sources: Mapping[str, str],
) -> Reproduction:
    notes = [f"{run}: {reason}" for run, reason in outcome.failures.items()]
    if outcome.stopped:
        notes.append(f"{outcome.done + outcome.skipped} of {outcome.total} runs are done; the figures show these.")
    charts = {name: chart for figure in made for name, chart in figure.charts.items()}
    with explain_full_disk(place):
        for name, parts in _frames_by_file(made).items():
            _write_frame(place / "frames", name, pd.concat(parts, ignore_index=True))
        write_whole(place / "figures" / "plotly.min.js", get_plotlyjs().encode("utf-8"))
        for name, chart in charts.items():
            text = chart.to_html(include_plotlyjs="directory", full_html=True, config={"displaylogo": False})
            write_whole(place / "figures" / f"{name}.html", text.encode("utf-8"))
        if images:
            _, problem = write_images(charts, place / "figures")
            notes += [problem] if problem else []
        found = [finding for figure in made for finding in figure.findings]
        plain: dict[str, Any] = {"scale": scale, "notes": notes, "findings": [asdict(finding) for finding in found]}
        write_whole(place / "findings.json", json.dumps(plain, indent=2, ensure_ascii=False).encode("utf-8"))
        write_whole(place / "findings.md", full_list(found).encode("utf-8"))
        sections = [(figure.name, figure.data, figure.charts, figure.findings) for figure in made]
        page = index_page(scale, sections, outcome, notes, sources)
        write_whole(place / "index.html", page.encode("utf-8"))
    return Reproduction(place, outcome, found, notes)


def _frames_by_file(made: Sequence[MadeFigure]) -> dict[str, list[pd.DataFrame]]:
    """Frames of the same kind go into one file, whichever datasets they are of."""
    found: dict[str, list[pd.DataFrame]] = {}
    for figure in made:
        for name, frame in figure.frames.items():
            found.setdefault(f"{figure.name}-{name}" if name == "results" else name, []).append(frame)
    return found


def _write_frame(folder: Path, name: str, frame: pd.DataFrame) -> None:
    buffer = io.BytesIO()
    frame.to_parquet(buffer, index=False)
    write_whole(folder / f"{name}.parquet", buffer.getvalue())
    write_csv(frame, folder / f"{name}.csv")
