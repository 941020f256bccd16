"""Sets of trained models to look at: the bundled sweeps, and those in the run stores that this visitor may see."""

from __future__ import annotations

import hashlib
import json
import shutil
import time
import uuid
import zipfile
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pandas as pd
import streamlit as st

from dashboard.session.choices import choices
from dashboard.session.sources import loaded_data
from dashboard.session.stored_uploads import dataset_of_upload
from dashboard.session.visitor import visitor
from spofr_core.data import SAMPLES, sample_path
from spofr_core.errors import SpofrError
from spofr_core.experiments import (
    RESULT_COLUMNS,
    RunConfig,
    RunStore,
    home,
    pointed_runs,
    private_runs,
    query_results,
    results,
    shared_runs,
    unpacked,
)
from spofr_core.fairness import format_delta
from spofr_core.learning import told_apart
from spofr_core.reporting import counted, in_order, listed, method_title, name_text

Origin = Literal["bundled", "shared", "own"]

SAME = ["dataset", "notion", "unit", "groups", "clicks", "terms", "method", "delta", "penalty", "seed"]
"""What tells two runs apart in a chart."""


@dataclass(frozen=True)
class Sweep:
    """Runs that belong together, and the store that they are in."""

    store: RunStore
    runs: tuple[str, ...]
    started: float
    origin: Origin

    @property
    def key(self) -> str:
        """Its name in an address."""
        return key_of_runs(self.runs)


def key_of_runs(runs: Iterable[str]) -> str:
    """The name of a set of runs in an address: the same runs, the same name."""
    return hashlib.sha256(" ".join(sorted(runs)).encode()).hexdigest()[:12]


def sweeps() -> list[Sweep]:
    """Every sweep that this visitor may see: the latest first, the bundled ones last."""
    root = home()
    places: list[tuple[Path, Origin]] = [(private_runs(root, visitor()), "own"), (shared_runs(root), "shared")]
    pointed = pointed_runs()
    places += [(place, "shared") for place in pointed]
    seen: dict[str, Sweep] = {}
    for place, origin in places:
        if (place / "store.json").exists():
            store = RunStore(place, create=False)
            listed = [Sweep(store, tuple(each["runs"]), float(each["started"]), origin) for each in store.sweeps()]
            listed += _outside_of_sweeps(store, listed) if place in pointed else []
            for sweep in listed:
                seen.setdefault(sweep.key, sweep)
    return sorted(seen.values(), key=lambda sweep: -sweep.started) + list(bundled(root))


def _outside_of_sweeps(store: RunStore, listed: list[Sweep]) -> list[Sweep]:
    """The runs of a store that no sweep of it names, such as unpacked ones, as one more set."""
    named = {run for sweep in listed for run in sweep.runs}
    others = tuple(run for run in store.names() if run not in named)
    return [Sweep(store, others, (store.root / "runs").stat().st_mtime, "shared")] if others else []


@st.cache_resource(show_spinner="Unpacking the bundled models")
def bundled(root: Path) -> tuple[Sweep, ...]:
    """The sweeps in `sample_data/sweep`, unpacked once for each content."""
    return tuple(_unpacked(archive, unpacked(root)) for archive in sorted(sample_path("sweep").glob("*.zip")))


def _unpacked(archive: Path, place: Path) -> Sweep:
    target = place / f"{archive.stem}-{hashlib.sha256(archive.read_bytes()).hexdigest()[:12]}"
    if not (target / "store.json").exists():
        fresh = place / f".new-{uuid.uuid4().hex[:8]}"
        try:
            with zipfile.ZipFile(archive) as file:
                file.extractall(fresh / "runs")
            RunStore(fresh)
            fresh.rename(target)
        except OSError:
            if not (target / "store.json").exists():  # Another process may have been faster.
                raise
        finally:
            shutil.rmtree(fresh, ignore_errors=True)
    store = RunStore(target, create=False)
    records = store.records()
    return Sweep(store, tuple(record.run for record in records), max(r.updated for r in records), "bundled")


def sweep_title(sweep: Sweep) -> str:
    """A sweep in a line: data, methods, how many of its runs are done, where it comes from."""
    return _title(sweep, sweep.key, str(sweep.store.root), _last_change(sweep))


@st.cache_resource(max_entries=64, show_spinner=False)
def _title(_sweep: Sweep, key: str, root: str, changed: tuple[int, int]) -> str:
    frame = _done(_sweep)
    if frame.empty:
        return f"{_when(_sweep)}: {counted(len(_sweep.runs), 'run', 'runs')}, none done yet"
    names = listed([name_text(name, 90) for name in _data_names(_sweep, frame["run"])])
    methods = [method_title(method) for method in in_order(frame["method"])]
    shown = ", ".join(methods[:4]) + (" and more" if len(methods) > 4 else "")
    done = f"{len(frame)} of {len(_sweep.runs)}" if len(frame) < len(_sweep.runs) else f"{len(frame)}"
    return f"{_when(_sweep)}: {names}, {shown}, {done} {'run' if len(_sweep.runs) == 1 else 'runs'}"


def _data_names(sweep: Sweep, runs: Iterable[str]) -> list[str]:
    """The data of these runs, each once with everything that its groups are made of."""
    grouped: dict[tuple[str, int], tuple[dict[str, Any], list[str]]] = {}
    for settings in (sweep.store.find(run).settings for run in runs):
        dataset, seed = settings["dataset"], settings["data_seed"]
        grouped.setdefault((json.dumps(dataset, sort_keys=True), seed), (dataset, []))[1].append(
            grouped_by(dataset, settings["groups"])
        )
    return sorted({_named(dataset, sorted({*by}), seed) for (_, seed), (dataset, by) in grouped.items()})


def _when(sweep: Sweep) -> str:
    return "Bundled" if sweep.origin == "bundled" else time.strftime("%d %b, %H:%M", time.localtime(sweep.started))


def results_of(chosen: list[Sweep]) -> pd.DataFrame:
    """The runs that are done, a row each: the columns of `results.parquet`, the key of their sweep, as `source` the
    plain name of their data, as `data` and `grouping` what `about_runs` says of them, and as `terms` `terms_of` them.

    Data with the same name but other lists is told apart by its name, and methods with other settings by theirs. Of
    runs that differ in neither, the first sweep's is kept; `attrs["left_out"]` counts the others.
    """
    return _results(chosen, state_of(chosen))


@st.cache_resource(max_entries=16, show_spinner=False)
def _results(_chosen: list[Sweep], state: str) -> pd.DataFrame:
    frames = [_done(sweep) for sweep in _chosen]
    if not frames:
        return pd.DataFrame(columns=[*RESULT_COLUMNS, "source", "sweep", "data", "grouping", "terms"])
    runs = pd.concat(frames, ignore_index=True).drop_duplicates("run", ignore_index=True)
    names, settings = runs.pop("named").tolist(), runs.pop("settings").tolist()
    runs["method"] = told_apart(names, settings, runs["dataset"].tolist())
    kept = runs.drop_duplicates(SAME, ignore_index=True)
    kept.attrs["left_out"] = len(runs) - len(kept)
    return kept


def _done(sweep: Sweep) -> pd.DataFrame:
    """The rows of a sweep's runs that are done; read again only when one of its runs has changed."""
    return _read_done(sweep, sweep.key, str(sweep.store.root), _last_change(sweep))


@st.cache_resource(max_entries=64, show_spinner=False)
def _read_done(_sweep: Sweep, key: str, root: str, changed: tuple[int, int]) -> pd.DataFrame:
    frame = results(_sweep.store, _sweep.runs)
    frame = frame[frame["status"] == "done"]
    records = [_sweep.store.find(run) for run in frame["run"]]
    settings = [record.settings for record in records]
    about = [about_runs(each["dataset"], each["groups"]) for each in settings]
    return frame.assign(
        source=frame["dataset"],
        dataset=[data_label(each["dataset"], each["groups"], each["data_seed"]) for each in settings],
        sweep=key,
        named=[record.method for record in records],
        settings=[each.get("settings", {}) for each in settings],
        data=[data for data, _ in about],
        grouping=[grouping for _, grouping in about],
        terms=[terms_of(record.config) for record in records],
    )


def _last_change(sweep: Sweep) -> tuple[int, int]:
    """How many runs have begun, and when one last said something; a bundled sweep has nothing more to say."""
    if sweep.origin == "bundled":
        return len(sweep.runs), 0
    told = []
    for run in sweep.runs:
        with suppress(FileNotFoundError):  # Not begun yet, or removed.
            told.append((sweep.store.folder(run) / "status.json").stat().st_mtime_ns)
    return len(told), sum(told)


def state_of(chosen: list[Sweep]) -> str:
    """Changes when a run of these sweeps says something; equal states have equal results."""
    return ";".join(f"{sweep.key}:{sweep.store.root}:{_last_change(sweep)}" for sweep in chosen)


def queries_of(chosen: list[Sweep], frame: pd.DataFrame, part: str) -> pd.DataFrame:
    """Per-query results of the runs of a `results_of` frame."""
    parts = []
    for sweep in chosen:
        runs = tuple(frame.loc[frame["sweep"] == sweep.key, "run"])
        if runs:
            parts.append(_queries(str(sweep.store.root), runs, part))
    merged = pd.concat(parts, ignore_index=True)
    return merged.astype({"run": "category"})


@st.cache_resource(max_entries=16, show_spinner="Reading the results of every query")
def _queries(root: str, runs: tuple[str, ...], part: str) -> pd.DataFrame:
    return query_results(RunStore(root, create=False), runs, part)


def about_runs(dataset: Mapping[str, Any], groups: Any = None) -> tuple[str, str]:
    """What runs are about, from their settings: a sample or a file, and the key of its grouping.

    A number of groups that the sample does not offer under a name goes by the number; that of a file is in the file.
    """
    sample = str(dataset.get("sample") or "")
    if sample not in SAMPLES:
        return sample or str(dataset.get("file")), "" if groups is None else str(groups)
    known = SAMPLES[sample]
    if groups is None:
        return sample, next(iter(known.groupings))
    plain = "+".join(groups) if isinstance(groups, list | tuple) else groups
    return sample, next((key for key in known.groupings if plain in (key, known.groups_of(key))), str(plain))


def terms_of(config: RunConfig) -> str:
    """What no column of results tells, and runs are not comparable without: how exposure is counted, and what else was
    asked for."""
    delta, quota = config.delta, config.every_ranking
    terms = [config.position_bias.label]
    terms += [f"delta {format_delta(delta, config.unit)}"] if isinstance(delta, dict) else []
    terms += ["merits of one's own"] if config.merits else []
    terms += [quota.text] if quota is not None else []
    terms += [f"noise of clicks {config.click_noise:g}"] if config.click_noise else []
    return ", ".join(terms)


def chosen_about() -> tuple[str, str]:
    """What this session looks at, as `about_runs` says it; an upload that nothing was trained on has no runs."""
    wanted = choices()
    if wanted.data in SAMPLES:
        offered = SAMPLES[wanted.data].groupings
        return wanted.data, wanted.groups if wanted.groups in offered else next(iter(offered))
    # Reading an upload with its features takes time: nobody waits for it who never trained on one.
    if (private_runs(home(), visitor()) / "store.json").exists():
        with suppress(SpofrError):
            return str(dataset_of_upload(loaded_data(), home(), visitor())[0]["file"]), ""
    return wanted.data, ""


def chosen_label() -> str:
    """The data of this session with its grouping, as sentences name it."""
    data, grouping = chosen_about()
    if data not in SAMPLES:
        return name_text(loaded_data().title, 80)
    label = SAMPLES[data].groupings[grouping]
    return f"{SAMPLES[data].title}, {label[:1].lower()}{label[1:]}"


def data_label(dataset: dict[str, Any], groups: Any = None, data_seed: int = 0) -> str:
    """What the lists of a run are called; two runs with the same label are measured on the same lists."""
    return _named(dataset, [grouped_by(dataset, groups)], data_seed)


def _named(dataset: Mapping[str, Any], grouped: list[str], data_seed: int) -> str:
    sample = str(dataset.get("sample") or "")
    named = SAMPLES[sample].title if sample in SAMPLES else sample or Path(str(dataset.get("file"))).stem
    more = [f"{dataset[name]} {word}" for name, word in (("lists", "lists"), ("test_lists", "test lists"))
            if dataset.get(name)]  # fmt: skip
    if dataset.get("lists") == dataset.get("test_lists"):
        more = more[:1]
    by = list(filter(None, grouped))
    more += [f"by {listed(by)}"] if by else []
    more += seen_features(dataset)
    more += [f"split {data_seed}"] if data_seed else []
    return f"{named} ({', '.join(more)})" if more else str(named)


def grouped_by(dataset: Mapping[str, Any], groups: Any) -> str:
    """What the groups of a run are made of, such as "marital status"; empty where that goes without saying."""
    sample = str(dataset.get("sample") or "")
    if sample in SAMPLES:
        return SAMPLES[sample].grouped_by(groups)
    return "" if isinstance(groups, int | None) else groups if isinstance(groups, str) else " and ".join(groups)


def seen_features(dataset: Mapping[str, Any]) -> list[str]:
    """What scorers may see, such as "work only", where that was chosen."""
    sample, seen = str(dataset.get("sample") or ""), dataset.get("features")
    return [SAMPLES[sample].feature_sets.get(seen, seen).lower()] if seen and sample in SAMPLES else []


def sweep_of(run: str, among: list[Sweep]) -> Sweep | None:
    """The sweep that holds this run, if one of them does and the run is done."""
    for sweep in among:
        if run in sweep.runs:
            record = sweep.store.get(run)
            if record is not None and record.status == "done":
                return sweep
    return None
