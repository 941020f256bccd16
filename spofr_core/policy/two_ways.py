"""Functions that take a dataset, or flat arrays."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from spofr_core.data import RankingDataset
from spofr_core.errors import ConfigError

Result = TypeVar("Result")


def call_either(
    of_data: Callable[..., Result],
    of_arrays: Callable[..., Result],
    ways: str,
    given: tuple[Any, ...],
    settings: Mapping[str, Any],
) -> Result:
    """Call the one that `given` is meant for: `of_data` where there is a dataset among it.

    Raises
    ------
    ConfigError
        When its parameters are others; `ways` says what may be given.
    """
    chosen = of_data if any(isinstance(value, RankingDataset) for value in given) else of_arrays
    try:
        inspect.signature(chosen).bind(*given, **settings)
    except TypeError:
        seen = ", ".join([*(type(value).__name__ for value in given), *(f"{name}=" for name in settings)])
        raise ConfigError(f"{ways}, and settings by name; got ({seen}).") from None
    return chosen(*given, **settings)
