"""How the group of an item is told: by a column, by quantiles of a number, by crossing columns."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from spofr_core.config import StrictModel

Missing = Literal["error", "own_group", "exclude"]


def _one_or_many(value: Any) -> Any:
    return (value,) if isinstance(value, str) else value


class GroupSpec(StrictModel):
    """Where the groups come from.

    A dataset keeps the spec that it was read with, completed by what was found out (`thresholds` and
    `names`): reading a test part with the spec of the training part gives the same groups under the
    same codes.

    Parameters
    ----------
    columns : str or tuple of str
        The column that holds the group; several columns are crossed ("female & north").
    quantiles : int, optional
        Cut the one (numeric) column at its k-quantiles into this many groups.
    thresholds : tuple of float, optional
        Cut the one (numeric) column here instead: increasing; a value equal to a threshold belongs to
        the group above it.
    against_rest : str, optional
        Two groups only: this value of the column, and everything else.
    missing : {"error", "own_group", "exclude"}
        What to do with an item whose group is missing: refuse the data, make "(missing)" a group of its
        own, or leave the item out (counted in `RankingDataset.excluded`).
    names : tuple of str
        Group names in the order of their codes; values not named here are added behind them.
    """

    columns: Annotated[tuple[str, ...], BeforeValidator(_one_or_many), Field(min_length=1)]
    quantiles: Annotated[int | None, Field(ge=2)] = None
    thresholds: tuple[float, ...] | None = None
    against_rest: str | None = None
    missing: Missing = "error"
    names: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        numeric = self.quantiles is not None or self.thresholds is not None
        if numeric and self.against_rest is not None:
            raise ValueError("'against_rest' names a value and cannot go with 'quantiles' or 'thresholds'.")
        if len(self.columns) > 1 and (numeric or self.against_rest is not None):
            raise ValueError(
                f"{len(self.columns)} columns are crossed as they are; 'quantiles', 'thresholds' and "
                "'against_rest' need exactly one column."
            )
        if self.thresholds is not None and any(
            low >= high for low, high in zip(self.thresholds, self.thresholds[1:], strict=False)
        ):
            raise ValueError(f"'thresholds' must increase, got {list(self.thresholds)}.")
        return self
