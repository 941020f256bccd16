"""What the paper shows and claims, and the sweeps that look at each of it.

Kotary, Fioretto, Van Hentenryck, Zhu: End-to-end Learning for Fair Ranking Systems, WWW 2022. `small` is a sketch of
every figure in a few minutes; `paper` has the paper's sizes. Beside the two datasets of the paper the same is asked of
UCI Adult, on which methods differ by more than their intervals.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from spofr_core.errors import ConfigError
from spofr_core.experiments.sweep_spec import SweepSpec

Scale = Literal["small", "paper"]
FIGURES = ("tradeoff", "grid", "guarantee", "multigroup", "sizes", "runtime")
PAPER_DATA = ("german-credit", "mslr")
DATASETS = (*PAPER_DATA, "adult")
"""Samples that figures are drawn on: those of the paper, and one that it does not have."""
THROUGH = ("spofr", "spofr-published")
"""What is trained through the programme: SPOFR by the settings of this package, and by those of the paper."""
RIVALS = (*THROUGH, "pto", "fultr", "deltr")
PAPER_SECONDS = {
    ("spofr", 5_000): (39, 5),
    ("spofr", 50_000): (202, 1),
    ("spofr", 100_000): (398, 1),
    ("fultr", 5_000): (5, 29),
    ("fultr", 50_000): (28, 18),
    ("fultr", 100_000): (60, 18),
}
"""Table 2 of the paper: method (SPOFR* with cached solvers) and training size -> seconds per epoch, epochs."""


@dataclass(frozen=True)
class DataSizes:
    """How much of a dataset is used: clicks to learn from, those compared in figure 6, lists of each part."""

    clicks: int
    all_clicks: tuple[int, ...]
    lists: int
    test_lists: int


@dataclass(frozen=True)
class Sizes:
    """The numbers that differ between the scales."""

    data: Mapping[str, DataSizes]
    deltas: tuple[float, ...]
    few_deltas: tuple[float, ...]
    penalties: tuple[float, ...]
    seeds: int
    group_seeds: int
    group_counts: tuple[int, ...]
    grid_notions: tuple[str, ...]
    training: dict[str, Any]


_DELTAS = (0.0, 0.005, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.2, 0.4)
SIZES: dict[str, Sizes] = {
    "small": Sizes(
        data={
            "german-credit": DataSizes(5_000, (500, 5_000, 20_000), lists=300, test_lists=500),
            "mslr": DataSizes(5_000, (500, 5_000), lists=300, test_lists=500),
            "adult": DataSizes(5_000, (500, 5_000, 20_000), lists=300, test_lists=500),
        },
        deltas=(0.0, 0.01, 0.03, 0.05, 0.1, 0.4),
        few_deltas=(0.0, 0.03, 0.4),
        penalties=(0.0, 1.0, 100.0, 10_000.0),
        seeds=3,
        group_seeds=2,
        group_counts=(2, 3, 4, 5, 6, 7),
        grid_notions=("exposure",),
        training={"max_steps": 500, "patience": 8, "validate_every": 20},
    ),
    "paper": Sizes(
        data={
            "german-credit": DataSizes(100_000, (5_000, 50_000, 100_000), lists=500, test_lists=1_500),
            "mslr": DataSizes(120_000, (12_000, 36_000, 120_000), lists=500, test_lists=4_000),
            "adult": DataSizes(100_000, (5_000, 50_000, 100_000), lists=2_000, test_lists=1_500),
        },
        deltas=_DELTAS,
        few_deltas=_DELTAS,
        penalties=(0.0, 0.1, 1.0, 10.0, 100.0, 1_000.0, 10_000.0, 100_000.0),
        seeds=3,
        group_seeds=3,
        group_counts=(2, 3, 4, 5, 6, 7),
        grid_notions=("exposure", "merit"),
        training={},
    ),
}


def sweeps_for(
    figure: str, scale: Scale, *, datasets: tuple[str, ...] = DATASETS, folder: str | None = None
) -> list[SweepSpec]:
    """The sweeps behind a figure; figures share runs wherever they can.

    Parameters
    ----------
    figure : str
        One of `FIGURES`.
    scale : {"small", "paper"}
    datasets : tuple of str
        Which of `DATASETS` to use. Run time is measured on German Credit alone, and only MSLR has a feature that can be
        cut into any number of groups: figures without a dataset of these have no sweep.
    folder : str, optional
        A Fold folder of MSLR of one's own.
    """
    if figure not in FIGURES:
        raise ConfigError(f"A figure must be one of {list(FIGURES)}, got {figure!r}.")
    if scale not in SIZES:
        raise ConfigError(f"'scale' must be one of {list(SIZES)}, got {scale!r}.")
    for name in datasets:
        if name not in DATASETS:
            raise ConfigError(f"A dataset must be one of {list(DATASETS)}, got {name!r}.")
    sizes = SIZES[scale]
    made = {
        "tradeoff": _tradeoff,
        "grid": _grid,
        "guarantee": _grid,
        "multigroup": _multigroup,
        "sizes": _training_sizes,
        "runtime": _runtime,
    }
    return [spec for name in datasets for spec in made[figure](name, sizes, folder)]


def _spec(name: str, sizes: Sizes, folder: str | None, **grids: Any) -> SweepSpec:
    data = sizes.data[name]
    dataset: dict[str, Any] = {"sample": name, "lists": data.lists, "test_lists": data.test_lists}
    if name == "mslr" and folder is not None:
        dataset["folder"] = folder
    common: dict[str, Any] = {
        "dataset": dataset,
        "clicks": data.clicks,
        "groups": 2,
        "seeds": sizes.seeds,
        "deltas": sizes.deltas,
        "penalties": sizes.penalties,
        "training": sizes.training,
    }
    return SweepSpec.from_dict(common | grids)


def _tradeoff(name: str, sizes: Sizes, folder: str | None) -> list[SweepSpec]:
    return [_spec(name, sizes, folder, methods=THROUGH, notions=("exposure", "merit"))]


def _grid(name: str, sizes: Sizes, folder: str | None) -> list[SweepSpec]:
    return [_spec(name, sizes, folder, methods=[*RIVALS, "unfair", "uniform"], notions=sizes.grid_notions)]


def _multigroup(name: str, sizes: Sizes, folder: str | None) -> list[SweepSpec]:
    if name != "mslr":
        return []
    grids = {"groups": sizes.group_counts, "deltas": sizes.deltas, "seeds": sizes.group_seeds}
    return [_spec(name, sizes, folder, methods=["spofr", "pto"], **grids)]


def _training_sizes(name: str, sizes: Sizes, folder: str | None) -> list[SweepSpec]:
    grids = {"clicks": sizes.data[name].all_clicks, "deltas": sizes.few_deltas}
    return [_spec(name, sizes, folder, methods=["spofr"], **grids)]


def _runtime(name: str, sizes: Sizes, folder: str | None) -> list[SweepSpec]:
    if name != "german-credit":
        return []
    grids: dict[str, Any] = {"clicks": sizes.data[name].all_clicks, "deltas": [0.03], "penalties": [1.0], "seeds": 1}
    return [_spec(name, sizes, folder, methods=RIVALS, **grids)]
