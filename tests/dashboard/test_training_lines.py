"""What the Train page learns from, and what its file for a shell says: the rows, groups and labels of the upload."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dashboard.session.stored_uploads import dataset_of_upload, learnable, write_upload
from dashboard.views.train_page import _of_a_shell
from spofr_core.data import NO_GROUP, UNKNOWN, RankingDataset, read_dataset
from spofr_core.experiments import plan_sweep
from tests.dashboard.test_reproducing_lines import LABELLED, SITUATIONS, Situation, alike, holes

HOLED = {
    "unknown groups, and groups left out": Situation(
        LABELLED | {"missing": "keep", "leave_out": ("x",)}, content=holes()
    ),
    "names written alike joined, groups left out": Situation(
        LABELLED | {"join_alike": True, "leave_out": ("x",)}, content=alike()
    ),
}
CASES = {name: each for name, each in (SITUATIONS | HOLED).items() if each.mapping.get("relevance")}
LEARNED = {name: each for name, each in CASES.items() if each.mapping.get("way") != "each_item"}


def named(data: RankingDataset) -> list[Any]:
    """The group of each item by its name; the order of the names is no content."""
    names = {UNKNOWN: UNKNOWN, NO_GROUP: NO_GROUP, **dict(enumerate(data.group_names))}
    return [names[code] for code in data.groups.tolist()]


@pytest.mark.parametrize("name", LEARNED)
def test_a_job_and_a_shell_learn_from_what_was_uploaded(name: str, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    source = LEARNED[name].load()
    dataset, store = dataset_of_upload(source, tmp_path / "home", "visitor")
    write_upload(source, store)
    spec = _of_a_shell(source, plan_sweep(dataset, store, methods=["uniform"]))["dataset"]
    mine = learnable(source)
    for told in (dataset, spec):
        data = read_dataset(told["file"], **told["columns"])
        assert named(data) == named(mine)
        assert np.array_equal(data.offsets, mine.offsets)
        assert np.array_equal(data.relevance, mine.relevance)
        assert [name.removeprefix("feature:") for name in data.feature_names] == [*mine.feature_names]
        assert np.array_equal(data.features, mine.features)
