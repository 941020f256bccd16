"""Models by the name of their method: made anew, or read from disk."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from spofr_core.errors import DataError
from spofr_core.fairness import Discount, Fairness
from spofr_core.learning.estimator import Estimator
from spofr_core.learning.methods import METHODS
from spofr_core.learning.model_files import read_model


def method_named(name: str) -> type[Estimator]:
    """The class of this method.

    Raises
    ------
    ConfigError
        When there is no such method.
    """
    return METHODS[name].estimator


def make_estimator(name: str, fairness: Fairness, *, discount: Discount | None = None, **settings: Any) -> Estimator:
    """An untrained estimator of this method; every method takes a fairness, if only for its reports."""
    return method_named(name)(fairness, discount=discount, **settings)


def load_model(directory: str | Path) -> Estimator:
    """Read a saved model of any method.

    Raises
    ------
    DataError
        When the directory holds no model, or a damaged one.
    """
    name = read_model(directory).header.get("method")
    if name not in METHODS:
        raise DataError(f"{directory} holds a model of the unknown method {name!r}; known are {list(METHODS)}.")
    return method_named(str(name)).load(directory)
