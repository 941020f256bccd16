"""Methods by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from spofr_core.errors import ConfigError, DataError
from spofr_core.fairness import Discount, Fairness
from spofr_core.learning.estimator import Estimator
from spofr_core.learning.methods.baselines import Unfair, Uniform
from spofr_core.learning.methods.deltr import DELTR
from spofr_core.learning.methods.fultr import FULTR
from spofr_core.learning.methods.predict_then_optimize import PredictThenOptimize
from spofr_core.learning.methods.spofr import SPOFR
from spofr_core.learning.model_files import read_model

METHODS: dict[str, type[Estimator]] = {
    method.method: method for method in (SPOFR, PredictThenOptimize, FULTR, DELTR, Unfair, Uniform)
}
"""Every method; a new one is a new file and one more name here."""


def method_named(name: str) -> type[Estimator]:
    """The class of this method.

    Raises
    ------
    ConfigError
        When there is no such method.
    """
    if name not in METHODS:
        raise ConfigError(f"'method' must be one of {list(METHODS)}, got {name!r}.")
    return METHODS[name]


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
    return METHODS[name].load(directory)
