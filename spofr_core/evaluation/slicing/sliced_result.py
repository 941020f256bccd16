"""What an audit says of slices and of time, together: every slicing that was asked for, and its plain summary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from spofr_core.errors import ConfigError
from spofr_core.evaluation.slicing.crossing import cross
from spofr_core.evaluation.slicing.over_time import OverTime, over_time
from spofr_core.evaluation.slicing.query_values import FAIR, VIOLATION, Source, values_of
from spofr_core.evaluation.slicing.slice_exposure import SlicedExposure
from spofr_core.evaluation.slicing.slices import Slices, slices
from spofr_core.evaluation.slicing.windows import Window

USUAL = (VIOLATION, FAIR)


@dataclass(frozen=True, eq=False)
class Slicing:
    """Measures by one attribute, or one crossing of attributes; with the exposure of groups where it is known."""

    measures: tuple[Slices, ...]
    exposure: SlicedExposure | None = None

    @property
    def by(self) -> tuple[str, ...]:
        """The attributes."""
        return self.measures[0].crossing.by

    @property
    def summary(self) -> dict[str, Any]:
        """Plain: by, confidence, fewest, measures [`Slices.summary`], exposure [`SlicedExposure.summary`] or null."""
        first = self.measures[0]
        return {
            "by": list(self.by),
            "confidence": first.confidence,
            "fewest": first.fewest,
            "measures": [found.summary for found in self.measures],
            "exposure": None if self.exposure is None else self.exposure.summary,
        }


@dataclass(frozen=True, eq=False)
class SlicedResult:
    """Slices and courses over time of one result.

    Attributes
    ----------
    slicings : tuple of Slicing
    courses : tuple of OverTime
        One per measure, all over the same windows.
    not_crossed : str
        Why several attributes are told each alone and not crossed, where that is so.
    """

    slicings: tuple[Slicing, ...] = ()
    courses: tuple[OverTime, ...] = ()
    not_crossed: str = ""

    @property
    def summary(self) -> dict[str, Any]:
        """Plain: slices [`Slicing.summary`], not_crossed, and time {window, confidence, fewest, without_time,
        measures}; what was not asked for, or is not to be said, is not in it."""
        found: dict[str, Any] = {}
        if self.slicings:
            found["slices"] = [slicing.summary for slicing in self.slicings]
        if self.not_crossed:
            found["not_crossed"] = self.not_crossed
        if self.courses:
            first = self.courses[0]
            found["time"] = {
                "window": first.windows.kind,
                "confidence": first.confidence,
                "fewest": first.fewest,
                "without_time": first.without_time,
                "measures": [course.summary for course in self.courses],
            }
        return found


def sliced_result(
    source: Source,
    by: Sequence[str] = (),
    *,
    window: Window | None = None,
    measures: Sequence[str] = USUAL,
    exposure: Sequence[SlicedExposure] = (),
    seed: int = 0,
) -> SlicedResult:
    """Slices by each attribute alone and, of several, by their crossing where it can be told; and courses over time.

    Parameters
    ----------
    source : AuditResult, Measured, or anything with a method `query_values`
    by : sequence of str
        Attributes of the queries.
    window : {"auto", "day", "week", "month", "year"} or int, optional
        Without it nothing is said about time.
    measures : sequence of str
        Which measures; see `values_of`.
    exposure : sequence of SlicedExposure
        By the attributes of each slicing in turn, where groups are known.
    seed : int
        Of the permutation tests over time.
    """
    if not measures:
        raise ConfigError("Name a measure to slice, such as 'violation'.")
    named = list(dict.fromkeys(measures))
    given = {found.crossing.by: found for found in exposure}
    told, not_crossed = slicings_of(by, values_of(source, named[0]).attributes)
    slicings = tuple(
        Slicing(tuple(slices(source, names, measure=measure) for measure in named), given.get(names)) for names in told
    )
    courses = () if window is None else tuple(over_time(source, window, measure=name, seed=seed) for name in named)
    return SlicedResult(slicings, courses, not_crossed)


def slicings_of(by: Sequence[str], attributes: Mapping[str, NDArray[Any]]) -> tuple[list[tuple[str, ...]], str]:
    """Each attribute alone, and of several their crossing; where that makes too many slices, a sentence in its place.

    Raises
    ------
    DataError
        When the queries have no such attribute.
    """
    names = tuple(dict.fromkeys(by))
    alone: list[tuple[str, ...]] = [(name,) for name in names]
    if len(names) < 2:
        return alone, ""
    try:
        cross(attributes, names)
    except ConfigError as error:
        return alone, f"They are told each alone, and not crossed: {error.plain}"
    return [*alone, names], ""
