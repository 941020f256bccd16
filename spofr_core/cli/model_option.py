"""`--model`: a trained model in the place of a score column."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Annotated, Any

import typer

from spofr_core.cli.options import DataOptions
from spofr_core.data import RankingDataset
from spofr_core.files import remember_input

if TYPE_CHECKING:
    from spofr_core.learning import Estimator

ModelOption = Annotated[
    str | None,
    typer.Option(
        help="A trained model in place of a score: its directory, or the name of a run; without FILE, on the test part "
        "of its data."
    ),
]


def model_and_data(name: str, source: DataOptions, **changes: Any) -> tuple[Estimator, RankingDataset]:
    """A trained model with the data it is to rank: what is named, or the test part that it was trained beside.

    `changes` are more arguments of `read_dataset`, for a file.
    """
    from spofr_core.experiments import resolve_model

    if source.each_item:
        # Its scores are the same whatever the groups are; only what is asked of the lists changes.
        trained, data = model_and_data(name, dataclasses.replace(source, each_item=False), **changes)
        return trained, data.with_each_item()
    model = resolve_model(name)
    for pattern in ("model*", "trees.txt", "status.json"):
        for file in model.folder.rglob(pattern):
            remember_input(file)
    if source.file is None and source.sample is None:
        return model.estimator, model.test_data()
    if source.sample is not None:
        return model.estimator, source.splits().test
    learned = model.estimator.learned
    mapped = dataclasses.replace(source, features=list(learned.feature_names))
    if source.group is None and learned.group_spec is not None:
        return model.estimator, mapped.read(group=learned.group_spec, **changes)
    return model.estimator, mapped.read(**changes)
