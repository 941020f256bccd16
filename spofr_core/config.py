"""Strict settings: unknown fields are refused, and a refusal is one readable `ConfigError`."""

from __future__ import annotations

import difflib
import re
from typing import Any, Self

import numpy as np
from pydantic import BaseModel, ConfigDict, ValidationError

from spofr_core.errors import ConfigError

_UNION_BRANCH = re.compile(r"(float|int|str|bool|none|function-.*|(dict|list|tuple)\[.*)$")
"""Parts of pydantic's location that name the branch of a union rather than a field."""


class StrictModel(BaseModel):
    """Base of every settings object: keyword-only, immutable, no unknown fields, no NaN.

    A bad value raises `ConfigError` with the field, the value seen and what is allowed.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, arbitrary_types_allowed=True)

    def __init__(self, **settings: Any) -> None:
        try:
            super().__init__(**settings)
        except ValidationError as error:
            raise ConfigError(_sentence(type(self), error)) from error

    @classmethod
    def from_dict(cls, settings: dict[str, Any]) -> Self:
        """Build from a plain dict, such as one read from JSON or YAML."""
        return cls(**settings)

    def to_dict(self) -> dict[str, Any]:
        """Plain, JSON-able dict; `from_dict` reads it back."""
        return self.model_dump(mode="json")


MOST_COUNT = 2**31 - 1
"""No list has more items, and the kernels hold no larger depths."""
MOST_WORKERS = 1_024
"""More processes than any machine of today has cores for: a slip of the finger would bring it to a halt."""


def checked_count(count: Any, name: str, most: int = MOST_COUNT) -> int:
    """A number of things; `ConfigError` unless it is a whole number from 1 to `most`."""
    if isinstance(count, bool) or not isinstance(count, int | np.integer) or not 1 <= count <= most:
        raise ConfigError(f"{name} is {count!r}; give a whole number from 1 to {most:,}.")
    return int(count)


def checked_seed(seed: Any) -> int:
    """The seed as an integer; `ConfigError` for what cannot seed anything."""
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or not 0 <= seed < 2**64:
        raise ConfigError(f"'seed' is {seed!r}; give an integer from 0 to 2^64 - 1.")
    return int(seed)


def _sentence(model: type[BaseModel], error: ValidationError) -> str:
    """The first complaint of pydantic as one sentence in the words of this package."""
    first = error.errors()[0]
    field = ".".join(str(part) for part in first["loc"] if not _UNION_BRANCH.match(str(part)))
    # Who trains "SPOFR" in a shell or on a page knows nothing of a class SPOFRSettings.
    settings = model.__name__.removesuffix("Settings")
    allowed = ", ".join(info.alias or name for name, info in model.model_fields.items())
    if first["type"] == "extra_forbidden":
        close = difflib.get_close_matches(field, list(model.model_fields), n=1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        return f"{settings} has no setting {field!r}; it takes: {allowed}.{hint}"
    if first["type"] == "missing":
        return f"{settings} needs the setting {field!r}; it takes: {allowed}."
    message = first["msg"].removeprefix("Value error, ")
    if first["type"] == "value_error":
        return f"{settings}: {message}"
    if first["type"] == "tuple_type":  # what YAML, JSON and a shell call by another name
        message = 'Input should be a list, such as [8, 4] or ["a", "b"]'
    message = message[0].lower() + message[1:]
    return f"{settings}: {field!r} is {first['input']!r}: {message}."
