"""The names of what is compared, as people write them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from spofr_core.errors import ConfigError
from spofr_core.evaluation.comparing.quantities import EXPOSURE, QUOTA, SAME_AS_VIOLATION, VIOLATION, Quantity
from spofr_core.measures import parse_measure

AUDITED = (EXPOSURE, "exposure_ratio", VIOLATION, "fair", QUOTA)
"""What audits are compared in; "exposure" stands for all groups, "exposure:women" for one."""


def is_audited(name: str) -> bool:
    """Whether a name is of something that every audit has, and no measure that has to be asked for."""
    folded = name.strip().lower()
    return folded in (*AUDITED, SAME_AS_VIOLATION) or folded.startswith(f"{EXPOSURE}:")


def named_measures(names: Sequence[str]) -> list[str]:
    """Those of the names that are of measures, which an audit has to be asked for: ``audit(..., measures=...)``."""
    return [name for name in names if not is_audited(name)]


def chosen_names(texts: Sequence[str], known: Iterable[Quantity], refused: Mapping[str, str]) -> list[str]:
    """The names that these texts stand for, each once.

    Parameters
    ----------
    texts : sequence of str
        Names or labels; capitals make no difference, and a measure may be written in any way that parses.
    known : iterable of Quantity
        What is compared.
    refused : mapping of str to str
        Names of what is not compared, and why.

    Raises
    ------
    ConfigError
        When one is not known, or is known and nowhere compared.
    """
    labels: dict[str, str] = {}
    also: dict[str, str] = {}
    for quantity in known:
        labels[quantity.name] = quantity.label
        also |= dict.fromkeys(quantity.also, quantity.name)
    found: list[str] = []
    for text in texts:
        meant = _meant(str(text).strip(), labels | dict.fromkeys(also, ""))
        names = [also.get(name, name) for name in meant] or _meant(str(text).strip(), dict.fromkeys(refused, ""))
        if not names:
            more = "; audit(..., measures=[...]) adds measures by their names"
            raise ConfigError(f"There is no {str(text)!r} to compare; there is {', '.join(_offered(labels))}{more}.")
        if not any(name in labels for name in names):
            raise ConfigError(f"{str(text)!r} cannot be compared here: {refused[names[0]]}.")
        found += names
    return list(dict.fromkeys(found))


def _meant(text: str, known: Mapping[str, str]) -> list[str]:
    if text in known:
        return [text]
    folded = text.lower()
    if folded == EXPOSURE:
        return [name for name in known if name.startswith(f"{EXPOSURE}:")]
    if folded == SAME_AS_VIOLATION and VIOLATION in known:
        return [VIOLATION]
    alike = [name for name, label in known.items() if folded in (name.lower(), label.lower())]
    if alike:
        return alike[:1]
    try:
        measure = str(parse_measure(text))
    except ConfigError:
        return []
    return [measure] if measure in known else []


def _offered(known: Mapping[str, str]) -> list[str]:
    return [repr(name) for name in known] or ["nothing"]
