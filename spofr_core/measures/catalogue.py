"""Every measure by its name, and texts that name one."""

from __future__ import annotations

from collections.abc import Iterable

from spofr_core.errors import ConfigError
from spofr_core.measures.measure import Measure, parse_text
from spofr_core.registry import Registry

_UTILITY, _EXPOSURE, _PREFIXES = (f"spofr_core.measures.{room}" for room in ("utility", "exposure", "prefixes"))
MEASURES: Registry[Measure] = Registry(
    "measure",
    {
        "dcg": f"{_UTILITY}.dcg",
        "ndcg": f"{_UTILITY}.ndcg",
        "pairwise": f"{_EXPOSURE}.pairwise",
        "max_violation": f"{_EXPOSURE}.max_violation",
        "exposure_ratio": f"{_EXPOSURE}.exposure_ratio",
        "DTR": f"{_EXPOSURE}.treatment",
        "DIR": f"{_EXPOSURE}.treatment",
        "AWRF": f"{_EXPOSURE}.awrf",
        "AWRFxnDCG": f"{_EXPOSURE}.awrf",
        "EE-D": f"{_EXPOSURE}.expected_exposure",
        "EE-R": f"{_EXPOSURE}.expected_exposure",
        "EE-L": f"{_EXPOSURE}.expected_exposure",
        "IAA": f"{_EXPOSURE}.amortized_attention",
        "Gini": f"{_EXPOSURE}.gini",
        "NDKL": f"{_PREFIXES}.ndkl",
        "Skew": f"{_PREFIXES}.skew",
        "MinSkew": f"{_PREFIXES}.skew",
        "MaxSkew": f"{_PREFIXES}.skew",
        "ARP": f"{_PREFIXES}.rank_parity",
        "rND": f"{_PREFIXES}.rnd",
        "infeasible_index": f"{_PREFIXES}.infeasible_index",
        "FA*IR": f"{_PREFIXES}.fair_top_k",
        "impact_ratio": f"{_PREFIXES}.impact_ratio",
    },
)
"""Every measure: an audit computes those that are in every audit and whose needs the data meets, others on request."""


def parse_measure(text: str | Measure) -> Measure:
    """The measure that a text names, such as ``NDKL``, ``Skew@10`` or ``AWRF(target=uniform)``.

    Capitals, spaces, hyphens and underscores in the name make no difference; ``str`` of a measure parses back to it.

    Raises
    ------
    ConfigError
        For a name, a depth or a setting that there is not, and for a measure of one's own with the name of another.

    Examples
    --------
    >>> parse_measure("skew@10(group=women)")
    Skew@10(group=women)
    """
    if isinstance(text, Measure):
        return _unmistaken(text, MEASURES[text.name]) if text.name in MEASURES else text
    if not isinstance(text, str):
        raise ConfigError(f"A measure is named by a text such as 'NDKL' or 'Skew@10', got {text!r}.")
    name, settings = parse_text(text)
    known = {_folded(each): each for each in MEASURES.names}
    found = known.get(_folded(name)) or next((m.name for m in MEASURES.values() if _folded(name) in _aliases(m)), None)
    if found is None:
        raise ConfigError(MEASURES.refusal(name))
    return MEASURES[found](**settings)


def parse_measures(wanted: Iterable[str | Measure] | str | Measure) -> list[Measure]:
    """Several measures, each once, in the order in which they are named; ``"all"`` stands for every one."""
    texts = [wanted] if isinstance(wanted, str | Measure) else list(wanted)
    named = [m for text in texts for m in (MEASURES.values() if text == "all" else [parse_measure(text)])]
    once: dict[Measure, Measure] = {}
    for measure in named:
        _unmistaken(measure, once.setdefault(measure, measure))
    return list(once)


def _unmistaken(mine: Measure, theirs: Measure) -> Measure:
    """The first of two measures of one name, which must find the same."""
    if not mine.finds_what(theirs):
        raise ConfigError(f"There is a measure {mine.name!r} already; give yours another name.")
    return mine


def _aliases(measure: Measure) -> list[str]:
    return [_folded(alias) for alias in measure.aliases]


def _folded(name: str) -> str:
    return "".join(sign for sign in name.lower() if sign not in " -_*×")
