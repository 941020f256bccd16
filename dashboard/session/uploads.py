"""From an uploaded file and a mapping of its columns to data on the screen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from dashboard.session.sources import UPLOAD, Loaded
from spofr_core.data import Limits, RankingDataset, read_dataset
from spofr_core.errors import DataError

LIMITS = Limits(file_bytes=2 * 2**30, rows=5_000_000, groups=50, list_length=20_000)
"""What a page takes; the shell and Python take more."""

GroupWay = Literal["column", "quantiles", "crossing"]


@dataclass(frozen=True)
class Mapping:
    """Which column is what, as the reader of the page has said it. Empty text: none, or what the format knows."""

    query: str
    item: str
    ranked_by: str
    is_rank: bool
    relevance: str
    way: GroupWay
    group: tuple[str, ...]
    quantiles: int
    missing: str

    def options(self) -> dict[str, Any]:
        """The keyword arguments of `read_dataset`."""
        given: dict[str, Any] = {"group": self.group[0] if len(self.group) == 1 else list(self.group)}
        if self.way == "quantiles":
            given["group_quantiles"] = self.quantiles
        if self.missing != "error":
            given["missing"] = self.missing
        ranked = {"rank" if self.is_rank else "score": self.ranked_by}
        named = {"query": self.query, "item": self.item, **ranked, "relevance": self.relevance}
        return {role: column for role, column in named.items() if column} | given | {"guess": False}


def read_upload(file: Any, mapping: Mapping, *, encoding: str | None = None) -> Loaded:
    """Read the file as mapped.

    Raises
    ------
    DataError
        When the mapping is incomplete or the file is not what it says.
    """
    if not mapping.group:
        raise DataError("Which column is the group? Choose one under 'Groups'.")
    if not mapping.ranked_by:
        raise DataError("What are the items ranked by? Choose a score or rank column.")
    options = mapping.options() | ({"encoding": encoding} if encoding else {})
    data = read_dataset(file, limits=LIMITS, **options)
    python = f"data = read_dataset({file.name!r}, {_keywords(options)})"
    arguments = (file.name, *_arguments(options))
    return Loaded(UPLOAD, file.name, data, python, arguments, learnable=lambda: _with_features(file, options, data))


def _with_features(file: Any, options: dict[str, Any], data: RankingDataset) -> RankingDataset:
    """The same rows with what a scorer can learn from: every number that has no other role."""
    if data.features is not None:
        return data
    file.seek(0)
    return read_dataset(file, limits=LIMITS, features="auto", **options)


def _keywords(options: dict[str, Any]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in options.items())


def _arguments(options: dict[str, Any]) -> list[str]:
    """The same options for the shell, which guesses what is not named."""
    names = {"group_quantiles": "quantiles"}
    given = []
    for name, value in options.items():
        if name == "guess":
            continue
        for each in value if isinstance(value, list) else [value]:
            given += [f"--{names.get(name, name)}", str(each)]
    return given
