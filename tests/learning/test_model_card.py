"""The card of a model says what the fit and its test say, and nothing of the machine that made it."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

from spofr_core import Fairness, load_sample
from spofr_core.data import read_dataset
from spofr_core.evaluation import bootstrap_mean, wilson
from spofr_core.experiments import RunConfig, RunStore, SweepSpec, run_sweep
from spofr_core.learning import CARD_FILE, Uniform, load_model, make_estimator


def card_of(folder) -> str:
    return (folder / CARD_FILE).read_text("utf-8")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A short run on a sample."""
    folder = tmp_path_factory.mktemp("store")
    spec = SweepSpec(dataset={"sample": "hiring"}, methods=["pto"], deltas=["10%"], training={"max_steps": 3})
    store = RunStore(folder)
    run_sweep(spec, store)
    (record,) = store.records()
    return store.folder(record.run)


def test_the_card_of_a_run_has_the_numbers_of_its_test_with_n_and_intervals(run):
    folder = run
    card = card_of(folder / "model")
    test = pd.read_parquet(folder / "test.parquet")
    violations, n = test["violation"].to_numpy(), len(test)
    assert n == 100
    low, high = wilson(int((violations <= 0.1 + 1e-9).sum()), n)
    assert f"| Lists that hold delta = 10 % | 100.0% ({low:.1%} to {high:.1%}) | 100 |" in card
    low, high = (f"{100 * end:.3g} %" for end in bootstrap_mean(np.sort(violations), seed=0))
    assert f"| Mean violation | {100 * violations.mean():.3g} % ({low} to {high}) | 100 |" in card
    assert f"| Largest violation | {100 * violations.max():.3g} % | 100 |" in card
    assert f"{test['dcg'].mean():.4f} (" in card


def test_the_card_names_data_method_notion_delta_limits_and_licence(run):
    folder = run
    card, model, train = card_of(folder / "model"), load_model(folder / "model"), load_sample("hiring").train
    assert f"`sha256:{train.fingerprint}`" in card
    assert f"- Lists to learn from: {len(train):,}" in card
    for told in ("predict-then-optimise", "holds delta in every query", "- delta: 10 %", "- Notion: exposure.",
                 "`hiring`", "Licence of the data: Synthetic; part of spofr (Apache-2.0).", "## Limits",
                 model.fairness.rule.caveat):  # fmt: skip
        assert told in card


def test_a_card_has_no_path_of_the_machine_and_is_the_same_each_time(run, tmp_path):
    folder = run
    assert not re.search(r"(^|[\s`'\"(])(/|~|[A-Z]:\\)\w", card_of(folder / "model"))
    load_model(folder / "model").save(tmp_path / "a")
    load_model(tmp_path / "a").save(tmp_path / "b")
    assert card_of(tmp_path / "a") == card_of(tmp_path / "b")


def test_a_model_that_was_only_saved_says_that_nothing_was_measured(tmp_path):
    Uniform().fit(load_sample("hiring").train).save(tmp_path)
    card = card_of(tmp_path)
    assert "Nothing yet." in card
    assert "Not known here" in card
    assert "delta: none: this method is not asked for one" in card


def test_names_from_the_data_are_never_markup(tmp_path):
    rng = np.random.default_rng(0)
    odd = ["=1+1", "<b>x`|\n# y", "\u202eabc"]
    frame = pd.DataFrame(
        {"query_id": np.repeat(np.arange(20), 6), "item_id": [f"i{k}" for k in range(120)],
         "group": [odd[k % 3] for k in range(120)], "relevance": rng.integers(0, 2, 120),
         "<script>": rng.normal(size=120)}
    )  # fmt: skip
    data = read_dataset(
        frame, query="query_id", item="item_id", group="group", relevance="relevance", features=["<script>"]
    )
    make_estimator("unfair", Fairness(delta=0.1), max_steps=2).fit(data).save(tmp_path)
    card = card_of(tmp_path)
    assert "\u202e" not in card
    assert "\n# y" not in card
    for line in card.splitlines():
        assert "<" not in re.sub(r"`[^`]*`", "", line).replace("<=", "")


def test_the_card_of_a_run_on_a_file_names_the_file_without_its_folder(tmp_path):
    config = RunConfig(dataset={"file": str(tmp_path / "ours.csv"), "columns": {}}, method="pto", delta=0.1)
    assert config.dataset.label == "ours.csv"
