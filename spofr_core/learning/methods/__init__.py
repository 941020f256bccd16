"""Methods that learn to rank: one file a method, which says all there is to say about it and registers it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from spofr_core.learning.scorers import SCORERS
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
    variant_of : str or None
        The method that it is, with other settings.
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
    variant_of: str | None = None

    @property
    def recipe(self) -> dict[str, Any]:
        """Of a variant: the settings that make it one, at their values."""
        own = () if self.variant_of is None else self.estimator.settings_type.__annotations__
        return {name: self.defaults[name] for name in own}

    @property
    def defaults(self) -> dict[str, Any]:
        """Its settings where nobody chooses any."""
        return self.estimator.settings_type.defaults()

    @property
    def promise(self) -> str:
        """What a query can count on."""
        return "holds delta in every query" if self.guaranteed else "no guarantee"


METHODS: Registry[Method] = Registry(
    "method",
    {
        "spofr": "spofr_core.learning.methods.spofr",
        "spofr-published": "spofr_core.learning.methods.spofr_published",
        "pto": "spofr_core.learning.methods.predict_then_optimize",
        "fultr": "spofr_core.learning.methods.fultr",
        "deltr": "spofr_core.learning.methods.deltr",
        "unfair": "spofr_core.learning.methods.unfair",
        "uniform": "spofr_core.learning.methods.uniform",
    },
)
"""Every method, in the order of every list and legend."""


WARM_UP = "warm-up"
"""How the name of a stage ends that does not go through the programme, before one that does."""


def method_title(method: object) -> str:
    """How figures and sentences name a method in a variant; its name where nobody registered it."""
    plain, _, variant = str(method).partition(":")
    title = METHODS[plain].title if plain in METHODS else plain
    return f"{title} ({variant})" if variant else title


def with_scorer(method: str, settings: Mapping[str, Any], best: Mapping[str, Any] | None = None) -> str:
    """The method as tables of runs name it: with its scorer behind a colon where that is no network, "pto:trees".

    Whatever compares methods compares these names, and so tells the same method with another scorer apart. `best`, of
    the report of a fit, says which stage its weights come from: SPOFR that kept its warm-up is predict-then-optimise.
    """
    scorer = settings.get("scorer", "network")
    plain = scorer == "network" or scorer in LOSSES_CALLED_SCORERS or (method in METHODS and not METHODS[method].learns)
    variant = "" if plain else scorer
    if best and str(best.get("stage", "")).endswith(WARM_UP):
        variant = joined(variant, f"{METHODS[method].title} kept its {WARM_UP}")
        method = "pto"
    return f"{method}:{variant}" if variant else method


def told_apart(
    methods: Sequence[str], settings: Sequence[Mapping[str, Any]], data: Sequence[object] | None = None
) -> list[str]:
    """The names of `with_scorer`, with the settings in which runs of a name on the same data differ: "spofr:margin 1".

    Settings at the default of the method are not named. Runs on the same data that are named alike differ in nothing
    but what they were asked for and their seed, and may be averaged over seeds.
    """
    keys = list(zip(methods, data or [None] * len(methods), strict=True))
    unusual = [departures(name.partition(":")[0], chosen) for name, chosen in zip(methods, settings, strict=True)]
    shared: dict[tuple[str, object], set[tuple[str, str]]] = {}
    for key, chosen in zip(keys, unusual, strict=True):
        words = {(setting, value) for setting, (value, _) in chosen.items()}
        shared[key] = shared.get(key, words) & words
    told = []
    for (name, where), chosen in zip(keys, unusual, strict=True):
        own = [f"{k} {value}" for k, (value, _) in chosen.items() if (k, value) not in shared[name, where]]
        told.append(joined(name, ", ".join(own), ", " if ":" in name else ":"))
    return told


def departures(method: str, settings: Mapping[str, Any]) -> dict[str, tuple[str, str]]:
    """Settings that are not those that the method, or the one that it is a variant of, has by default with its scorer:
    each with its value and that default, as text."""
    if method not in METHODS or not METHODS[method].learns:
        return {}
    scorer = settings.get("scorer", "network")
    of_scorer = SCORERS[scorer].usual_settings if scorer != "network" and scorer in SCORERS else {}
    own = {**METHODS[method].defaults, **of_scorer}
    usual = own if METHODS[method].variant_of is None else METHODS[str(METHODS[method].variant_of)].defaults
    found = {name: (_written(value), _written(usual.get(name))) for name, value in {**own, **settings}.items()}
    return {name: pair for name, pair in sorted(found.items()) if pair[0] != pair[1] and name not in _NO_VARIANT}


def joined(first: str, second: str, between: str = ", ") -> str:
    """Two texts with something between them, where there are two."""
    return between.join(filter(None, (first, second)))


_NO_VARIANT = ("seed", "penalty", "scorer")
"""What makes no variant of a method: it is averaged over, drawn along an axis, or in the name already."""


def _written(value: Any) -> str:
    if isinstance(value, list | tuple):
        return "-".join(map(str, value)) or "none"
    return f"{value:g}" if isinstance(value, int | float) and not isinstance(value, bool) else str(value)
