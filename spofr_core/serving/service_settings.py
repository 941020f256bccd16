"""What a service is started with, and how its workers get to know it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from spofr_core.config import StrictModel
from spofr_core.errors import ConfigError
from spofr_core.fairness import Discount, Fairness
from spofr_core.serving.own_hosts import LOOPBACK_NAMES
from spofr_core.serving.recent import MOST_BYTES

VARIABLE = "SPOFR_SERVICE"
TOKEN_VARIABLE = "SPOFR_TOKEN"


class ServiceSettings(StrictModel):
    """The settings of `spofr serve`.

    Parameters
    ----------
    fairness : Fairness
    discount : Discount
    state : Path
        The file of the counters (SQLite).
    log : Path, optional
        Folder of the log of what was shown.
    otherwise : {"sort", "relax", "refuse"}
        What is answered where no policy holds delta, or none can be computed: the list sorted by score and marked so;
        the list with its smallest feasible delta (sorted where there is none); or an error.
    strict : bool
        Whether a list that would be sorted by score is answered with an error (503).
    token : str, optional
        What a request has to bring in its header.
    hosts : tuple of str
        Names that requests may ask it by, beside numbers such as 10.0.0.7; "*.example.org" is all below that.
    most_items, most_groups, most_bytes : int
        Of one request.
    missing : {"error", "keep"}
        Whether an item whose group is null is refused, or keeps its place without a bound.
    each_item : bool
        Each item is on its own: delta bounds the exposure of every single item, and groups are not asked for.
    most_alone : int
        Items of one request where each is on its own: the time to solve a list grows with its cube.
    cache_bytes : int
        Of what one worker remembers of lists that were asked for before.
    most_connections : int
        Of one worker at a time.
    request_seconds : float
        That the header of a request may take to arrive, its body, and its answer to be read.
    flush_seconds : float
        How often the log is written.
    """

    fairness: Fairness
    discount: Discount = Field(default_factory=Discount)
    state: Path
    log: Path | None = None
    otherwise: Literal["sort", "relax", "refuse"] = "sort"
    strict: bool = False
    token: str | None = Field(default=None, repr=False)
    hosts: tuple[str, ...] = LOOPBACK_NAMES
    most_items: int = Field(default=1000, ge=1)
    most_groups: int = Field(default=20, ge=1)
    missing: Literal["error", "keep"] = "error"
    each_item: bool = False
    most_alone: int = Field(default=100, ge=1)
    most_bytes: int = Field(default=1_000_000, ge=100)
    cache_bytes: int = Field(default=MOST_BYTES, ge=2**20)
    most_connections: int = Field(default=1000, ge=1)
    request_seconds: float = Field(default=20.0, gt=0)
    flush_seconds: float = Field(default=5.0, gt=0)

    @field_validator("fairness", mode="before")
    @classmethod
    def _fairness_from_dict(cls, given: Any) -> Any:
        return Fairness.from_dict(given) if isinstance(given, dict) else given

    @model_validator(mode="after")
    def _fairness_for_items(self) -> Self:
        if self.each_item:
            self.fairness.check_items()
        return self

    @field_validator("token")
    @classmethod
    def _token_of_letters(cls, token: str | None) -> str | None:
        if token is not None and not (token.strip() and token.isascii() and token.isprintable()):
            raise ValueError("the token is empty or has letters that a header cannot carry; use plain letters.")
        return token

    def to_environment(self) -> dict[str, str]:
        """What the processes that do the work read; the token has a variable of its own."""
        told = self.to_dict()
        token = told.pop("token")
        return {VARIABLE: json.dumps(told)} | ({TOKEN_VARIABLE: token} if token else {})

    @classmethod
    def from_environment(cls) -> ServiceSettings:
        """The settings that `to_environment` wrote down."""
        told = os.environ.get(VARIABLE)
        if told is None:
            raise ConfigError(f"{VARIABLE} is not set; start the service with `spofr serve`.")
        return cls(**json.loads(told), token=os.environ.get(TOKEN_VARIABLE))
