"""Formats and samples are objects in registries: what is registered is read, loaded and offered like the others."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import pandas as pd
import pytest
from typer.testing import CliRunner

from dashboard.session.sources import load_bundled, sample_names
from spofr_core.cli import app
from spofr_core.data import (
    FORMATS,
    OPENING_SAMPLE,
    SAMPLES,
    Format,
    FrameTable,
    Limits,
    RankingDataset,
    Raw,
    Sample,
    Splits,
    Table,
    TextOptions,
    format_labels,
    load_sample,
    preview_table,
    read_dataset,
)
from spofr_core.errors import ConfigError, DataError
from spofr_core.experiments.plans import sample_groups, shared_sample

LINES = b"""#rows
query,item,group,score
1,a,x,3
1,b,y,2
2,a,x,5
"""


class Rows(Format):
    name = "rows"
    label = "Rows"
    suffixes = (".rows",)

    def sniff(self, raw: Raw) -> bool:
        return raw.head.startswith(b"#rows")

    def open(self, raw: Raw, limits: Limits, options: TextOptions) -> Table:
        return FrameTable(pd.read_csv(io.BytesIO(bytes(raw.data)), comment="#"), limits, raw.name)


class Coins(Sample):
    name = "coins"
    title = "Coins"
    about = "Lists of coins."
    groupings: ClassVar[Mapping[str, str]] = {"side": "Side", "2": "Two of them", "3": "Three of them"}
    options = frozenset({"lists"})

    def load(self, *, groups: Any = None, seed: int = 0, lists: int = 20, **options: Any) -> Splits:
        names = ["heads", "tails", "edge"][: groups if isinstance(groups, int) else 2]
        frame = pd.DataFrame(
            [(q, f"{q}-{k}", names[k % len(names)], (k * 7 + q) % 5) for q in range(lists) for k in range(6)],
            columns=["query_id", "item_id", "group", "score"],
        )
        return RankingDataset.from_frame(frame).split(seed=seed)


@pytest.fixture
def rows() -> Iterator[Format]:
    yield FORMATS.register(Rows())
    FORMATS.unregister("rows")


@pytest.fixture
def coins() -> Iterator[Sample]:
    yield SAMPLES.register(Coins())
    SAMPLES.unregister("coins")


def test_a_format_of_ones_own_is_found_by_its_content(rows: Format) -> None:
    data = read_dataset(LINES)
    assert data.query_ids.tolist() == [1, 2]
    assert data.score.tolist() == [3, 2, 5]
    assert read_dataset(gzip.compress(LINES)).fingerprint == data.fingerprint
    assert read_dataset(LINES, format="rows").fingerprint == data.fingerprint
    preview = preview_table(LINES)
    assert preview.format == "rows"
    assert preview.mapping["score"] == "score"


def test_a_format_of_ones_own_is_offered(rows: Format) -> None:
    assert format_labels().endswith("or Rows")
    with pytest.raises(
        ConfigError, match=r"one of \['csv', 'parquet', 'letor', 'trec', 'json', 'excel', 'rows'\], got 'xls'"
    ):
        read_dataset(LINES, format="xls")


@pytest.mark.parametrize("source", [LINES, pd.DataFrame({"query": [1]})])
def test_a_format_that_is_not_known_is_refused_whatever_the_source(source: Any) -> None:
    for read in (read_dataset, preview_table):
        with pytest.raises(
            ConfigError, match=r"'format' must be one of \['csv', 'parquet', 'letor', 'trec', 'json', 'excel'\]"
        ):
            read(source, format="rows")


def test_what_no_format_knows_goes_by_its_ending_and_then_to_csv() -> None:
    named = io.BytesIO(b"what is this\n")
    named.name = "x.svm"
    with pytest.raises(DataError, match="label qid:ID"):
        read_dataset(named, group="1")
    named.name = "x.parquet"
    with pytest.raises(DataError, match="as Parquet"):
        read_dataset(named, group="1")
    named.name = "x.dat"
    with pytest.raises(DataError, match="Which column"):
        read_dataset(named)


def test_a_sample_of_ones_own_is_loaded_and_offered(coins: Sample) -> None:
    splits = load_sample("coins", lists=10)
    assert len(splits.train) == 6
    assert load_sample("coins", groups=3).test.n_groups == 3
    with pytest.raises(ConfigError, match="'folder' is for 'mslr'; 'coins' has its own file"):
        load_sample("coins", folder="x")
    assert sample_names()[0] == OPENING_SAMPLE
    assert "coins" in sample_names()
    shown = load_bundled("coins", "3")
    assert shown.data.n_groups == 3
    assert shown.title == "Coins"
    scope: dict[str, Any] = {"load_sample": load_sample}
    exec(shown.python, scope)
    assert scope["data"].fingerprint == shown.data.fingerprint


def test_the_shell_and_sweeps_take_a_sample_of_ones_own(coins: Sample) -> None:
    done = CliRunner().invoke(app, ["audit", "--sample", "coins", "--groups", "3", "--json", "-"])
    assert done.exit_code == 0, done.output
    assert len(json.loads(done.stdout)["groups"]) == 3
    assert sample_groups(["side", "3"], "coins") == ["side", 3]
    with pytest.raises(ConfigError, match="'Side' and 'Two of them' both make 2 groups"):
        sample_groups(["side", "2"], "coins")


def test_a_sample_is_asked_only_for_what_it_takes(coins: Sample, tmp_path: Any) -> None:
    assert shared_sample(tmp_path, "coins", 40)[0] == {"sample": "coins", "lists": 40}
    assert shared_sample(tmp_path, "hiring", 40)[0] == {"sample": "hiring"}


@pytest.mark.parametrize("name", SAMPLES)
def test_every_grouping_of_a_sample_opens_with_as_many_groups_as_it_says(name: str) -> None:
    sample = SAMPLES[name]
    for grouping in sample.groupings:
        data = sample.audit_data(grouping)
        assert data.n_groups == sample.group_count(grouping)
        assert data.score is not None


def test_the_shell_groups_a_sample_by_name() -> None:
    given = ["audit", "--sample", "german-credit", "--groups", "gender", "--json", "-"]
    done = CliRunner().invoke(app, given)
    assert done.exit_code == 0, done.output
    assert set(json.loads(done.stdout)["groups"]) == {"female", "male"}
    recipe = SAMPLES["german-credit"].recipe("gender")
    assert list(recipe.arguments) == given[1:5]
