"""Methods that learn to rank: one file a method, which says all there is to say about it and registers it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from spofr_core.learning.training_settings import LOSSES_CALLED_SCORERS
from spofr_core.registry import Registry

if TYPE_CHECKING:
    from spofr_core.learning.estimator import Estimator


@dataclass(frozen=True)
class Method:
    """A way to learn to rank, as shell, pages, sweeps and figures know it.

    Attributes
    ----------
    name : str
        In commands, settings and files.
    title : str
        In figures and sentences.
    about : str
        A sentence for those who choose.
    colour, shape : str
        Of its marks in every figure; the shape is one of Plotly's.
    steered_by : {"delta", "penalty"} or None
        What makes it fairer: the bound that it is asked for, the weight of a penalty in its training, or nothing.
    guaranteed : bool
        Whether every policy holds delta in every query.
    role : {"rival", "baseline"}
        A baseline is an end of every chart, not a rival of the others.
    estimator : type of Estimator
        The class that learns.
    learns : bool
        Whether there is a scorer behind it.
    scorers : "any" or "network"
        Which scorers it learns with.
    """

    name: str
    title: str
    about: str
    colour: str
    shape: str
    estimator: type[Estimator]
    steered_by: Literal["delta", "penalty"] | None = None
    guaranteed: bool = False
    role: Literal["rival", "baseline"] = "rival"
    learns: bool = True
    scorers: Literal["any", "network"] = "any"

    @property
    def promise(self) -> str:
        """What a query can count on."""
        return "holds delta in every query" if self.guaranteed else "no guarantee"


METHODS: Registry[Method] = Registry(
    "method",
    {
        "spofr": "spofr_core.learning.methods.spofr",
        "pto": "spofr_core.learning.methods.predict_then_optimize",
        "fultr": "spofr_core.learning.methods.fultr",
        "deltr": "spofr_core.learning.methods.deltr",
        "unfair": "spofr_core.learning.methods.unfair",
        "uniform": "spofr_core.learning.methods.uniform",
    },
)
"""Every method, in the order of every list and legend."""


def with_scorer(method: str, settings: Mapping[str, Any]) -> str:
    """The method as tables of runs name it: with its scorer behind a colon where that is no network, "pto:trees".

    Whatever compares methods compares these names, and so tells the same method with another scorer apart.
    """
    scorer = settings.get("scorer", "network")
    plain = scorer == "network" or scorer in LOSSES_CALLED_SCORERS or (method in METHODS and not METHODS[method].learns)
    return method if plain else f"{method}:{scorer}"
