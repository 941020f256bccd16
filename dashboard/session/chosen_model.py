"""One trained model: its scores on the test part, and what it could do at any delta without being trained again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from dashboard.session.visible_runs import data_label, sweep_of, sweeps
from spofr_core.data import RankingDataset
from spofr_core.evaluation import exact_tradeoff
from spofr_core.experiments import (
    RunRecord,
    RunStore,
    load_splits,
    run_fairness,
    training_data,
    with_estimates,
)
from spofr_core.fairness import Fairness, format_delta
from spofr_core.learning import ProgrammeEstimator, load_model
from spofr_core.policy import RankingPolicies
from spofr_core.reporting import method_title


@dataclass(frozen=True)
class Model:
    """A run that is done, and the data that it is measured on with its scores.

    `guaranteed` models solve the programme anew at every delta; of the others, `policies` are what they put out. The
    lines of `python` make `model` and `data`; `arguments` are those of the shell.
    """

    run: str
    title: str
    method: str
    record: RunRecord
    data: RankingDataset
    fairness: Fairness
    guaranteed: bool
    policies: RankingPolicies | None
    python: str
    arguments: tuple[str, ...]


def model_named(run: str) -> Model | None:
    """The model of a run, or None where this visitor has no such run."""
    sweep = sweep_of(run, sweeps())
    return None if sweep is None else _model(str(sweep.store.root), run)


@st.cache_resource(max_entries=8, show_spinner="Loading the model")
def _model(root: str, run: str) -> Model:
    store = RunStore(root, create=False)
    record = store.find(run)
    config = record.config
    estimator = load_model(store.model_folder(run))
    splits = load_splits(config)
    guaranteed = isinstance(estimator, ProgrammeEstimator)
    python = "\n".join(
        [
            f"store = RunStore({root!r})",
            f"data = load_splits(store.find({run!r}).config).test",
            f"model = load_model(store.model_folder({run!r}))",
        ]
    )
    fairness = run_fairness(config, training_data(config, splits).train)
    return Model(
        run,
        model_title(record),
        method_title(record.method),
        record,
        with_estimates(estimator, splits.test),
        fairness,
        guaranteed,
        None if guaranteed else estimator.policies(splits.test),
        python,
        ("--model", str(store.folder(run))),
    )


@st.cache_resource(max_entries=16, show_spinner="Solving every list for 41 deltas")
def exact_curve(_model: Model, run: str) -> pd.DataFrame:
    """The exact tradeoff of the model's scores, by the solver alone."""
    return exact_tradeoff(np.asarray(_model.data.score), _model.data, _model.fairness)


def run_title(settings: Mapping[str, Any]) -> str:
    """A run among others on the same data, such as "SPOFR, delta 0.05, seed 0"; its method as tables name it."""
    parts = [method_title(settings["method"])]
    delta, penalty = settings["delta"], settings["penalty"]
    if isinstance(delta, dict) or not pd.isna(delta):
        parts.append(f"delta {format_delta(delta, settings.get('unit', 'absolute'))}")
    if not pd.isna(penalty):
        parts.append(f"penalty {penalty:g}")
    return ", ".join([*parts, f"seed {settings['seed']}"])


def model_title(record: RunRecord) -> str:
    """A run in a few words, such as "SPOFR, delta 0.05, seed 0 on German Credit"."""
    settings = record.settings
    data = data_label(settings["dataset"], settings["groups"], settings["data_seed"])
    return f"{run_title({**settings, 'method': record.method})} on {data}"
