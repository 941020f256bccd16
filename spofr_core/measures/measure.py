"""What a measure is: a value whose text parses back, such as ``Skew@10(group=women)``."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from spofr_core.config import MOST_COUNT
from spofr_core.errors import ConfigError, first_line
from spofr_core.files import parse_json
from spofr_core.read_only import read_only

if TYPE_CHECKING:
    from spofr_core.data import RankingDataset
    from spofr_core.measures.ranking_view import RankingView

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
UNKNOWN_GROUP = "the group of an item is not known"
Better = Literal["higher", "lower", "closer", ""]

COLUMNS = frozenset(
    ("query", "group", "n", "exposure", "lower", "upper", "violation", "delta_fair", "applicable", "feasible")
)
"""Columns that the table of an audit has besides those of the measures."""
_ROUNDING = 1e-9
_PLAIN = re.compile(r"[^\W\d][\w.+-]*")
"""A word that needs no quotes in the text of a measure."""


@dataclass(frozen=True, eq=False)
class Values:
    """One value per query, and why there is none where there is none.

    Attributes
    ----------
    values : (Q,) float
        NaN where the measure is undefined.
    why : mapping of str to (Q,) bool
        Reasons, in words, and the queries that each concerns.
    error : (Q,) float, optional
        Standard error where the value is a mean over drawn orders of ties; 0 where it is exact.
    overall : float, optional
        Of the data as a whole, where that is not the mean over queries.
    """

    values: FloatArray
    why: Mapping[str, BoolArray] = field(default_factory=dict)
    error: FloatArray | None = None
    overall: float | None = None


@dataclass(frozen=True, kw_only=True)
class Measure:
    """One measure, with everything that is said about it.

    Parameters
    ----------
    name : str
        In summaries, and as a column of tables.
    label : str
        On screens and in reports; "@k" in it becomes the depth, as in "nDCG@10".
    per_query : callable
        From a `RankingView`, and the settings by keyword (`k` is the depth), to one value per query: an array (Q,) with
        NaN where it is undefined, or `Values` that say why.
    unit : str
        What the numbers count, such as "exposure"; empty where they have no unit.
    better : {"higher", "lower", "closer", ""}
        Which way is better, if one is; "closer" is to `ideal`.
    ideal : float, optional
        The best value, where there is one.
    limits : tuple of float
        The least and the largest value that it can have.
    flag_below : float, optional
        What is below it is flagged, as the four-fifths rule does.
    needs : tuple of str
        Attributes of `RankingDataset` that must be there, such as "relevance".
    of_gains : bool
        Whether it takes labels of 0 or more: `RankingView.gains` and not `RankingView.relevance`.
    of_groups : bool
        Whether it compares groups, and so says nothing where each item is on its own, or the group of one not known.
    description, formula, source : str
        A sentence, the formula in plain characters, and who proposed it.
    parameters : mapping of str to default
        What may be set in parentheses.
    depth : int or None
        Whether "@k" may be said: 0 where it may not; otherwise the depth where none is said, None being the whole list.
    in_audit : bool
        Whether every audit has it; the others are in an audit that asks for them.
    aliases : tuple of str
        Other names that it is known by.
    settings : mapping
        What was set, the depth as "k".
    """

    name: str
    label: str
    per_query: Callable[..., FloatArray | Values]
    unit: str = ""
    better: Better = ""
    ideal: float | None = None
    limits: tuple[float, float] = (-np.inf, np.inf)
    flag_below: float | None = None
    needs: tuple[str, ...] = ()
    of_gains: bool = False
    of_groups: bool = False
    description: str = ""
    formula: str = ""
    source: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    depth: int | None = 0
    in_audit: bool = True
    aliases: tuple[str, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.name in COLUMNS:
            raise ConfigError(f"A measure cannot be called {self.name!r}: the table of an audit has that column.")
        object.__setattr__(self, "settings", read_only(self.settings))

    # -- the value -----------------------------------------------------------------------------------

    def __str__(self) -> str:
        depth = self.settings.get("k", self.depth)
        at = f"@{depth}" if self.depth != 0 and depth is not None else ""
        said = ", ".join(f"{name}={_written(value)}" for name, value in self.settings.items() if name != "k")
        return f"{self.name}{at}{f'({said})' if said else ''}"

    def __repr__(self) -> str:
        return str(self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Measure) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))

    def __call__(self, **settings: Any) -> Measure:
        """The same measure with other settings, as in ``AWRF(target="uniform")``.

        Raises
        ------
        ConfigError
            For a setting that it has not.
        """
        unknown = [name for name in settings if name not in self.parameters and not (name == "k" and self.depth != 0)]
        if unknown:
            known = ", ".join((*(("k",) if self.depth != 0 else ()), *self.parameters)) or "no settings at all"
            raise ConfigError(f"The measure {self.name} has no setting {unknown[0]!r}; it has {known}.")
        merged = {**self.settings, **settings}
        if "k" in merged:
            merged["k"] = _checked_depth(merged["k"], self.name)
        order = ["k", *self.parameters]
        kept = {name: merged[name] for name in order if name in merged}
        return replace(self, settings={n: v for n, v in kept.items() if n == "k" or v != self.parameters[n]})

    # -- what it finds -------------------------------------------------------------------------------

    def applies(self, data: RankingDataset) -> bool:
        """Whether the data has what the measure needs."""
        return self.missing(data) is None

    def missing(self, data: RankingDataset) -> str | None:
        """What the data lacks, as a reason."""
        if self.of_groups and data.each_item:
            return "it compares groups, and each item is on its own"
        lacking = [need for need in self.needs if getattr(data, need) is None]
        return f"the data has no {' and no '.join(lacking)}" if lacking else None

    def values(self, view: RankingView) -> Values:
        """One value per query, with the reasons where there is none.

        Raises
        ------
        ConfigError
            When the measure returns another number of values.
        """
        queries = len(view.data)
        lacking = self.missing(view.data)
        if lacking is not None:
            return Values(np.full(queries, np.nan), {lacking: np.ones(queries, dtype=bool)})
        depth = {} if self.depth == 0 else {"k": self.settings.get("k", self.depth)}
        found = self.per_query(view, **{**self.parameters, **self.settings, **depth})
        whole = found if isinstance(found, Values) else Values(found)
        values = np.asarray(whole.values, dtype=np.float64)
        if values.shape != (queries,):
            raise ConfigError(
                f"The measure {self.name!r} returned values of shape {values.shape} for {queries} queries; "
                "return one value per query, NaN where it is undefined."
            )
        for place in np.flatnonzero(np.isinf(values))[:1]:
            raise ConfigError(
                f"The measure {self.name!r} is {values[place]} for query {str(view.data.query_ids[place])!r}; "
                "return a finite value, or NaN where it is undefined."
            )
        overall = whole.overall
        if self.of_groups and view.unknown_group.any():
            values, overall = np.where(view.unknown_group, np.nan, values), None
            kept = {reason: where & ~view.unknown_group for reason, where in whole.why.items()}
            whole = replace(whole, why={**kept, UNKNOWN_GROUP: view.unknown_group})
        silent = np.isnan(values) & ~np.any([*whole.why.values(), np.zeros(queries, dtype=bool)], axis=0)
        why = {reason: np.asarray(where) for reason, where in sorted(whole.why.items()) if np.any(where)}
        return Values(values, why | ({"it is undefined there": silent} if silent.any() else {}), whole.error, overall)

    def limits_of(self, values: FloatArray) -> tuple[float, float]:
        """`limits`, or none on a side where values are beyond it: the DCG of labels below 0 may be below 0."""
        low, high = self.limits
        below, above = np.any(values < low - _ROUNDING), np.any(values > high + _ROUNDING)
        return -np.inf if below else low, np.inf if above else high

    # -- words ---------------------------------------------------------------------------------------

    def hangs_on_shift(self, target: Any = None) -> bool:
        """Whether it changes with what is added to all labels; `target` is that of measures that do not say theirs."""
        own = self.settings.get("target") or target
        return self.of_gains or ("target" in self.parameters and own == "relevant")

    def title(self, cutoff: int = 10, *, label_shift: float = 0.0, target: Any = None) -> str:
        """The label with the depth in it, and the settings behind it; `cutoff` is the depth where none is set.

        So is a shift of the labels that it hangs on.
        """
        depth = self.settings.get("k", self.depth)
        shown = self.label.replace("@k", f"@{depth or cutoff}") if "@k" in self.label else self.label
        if "@k" not in self.label and self.settings.get("k") is not None:
            shown = f"{shown}@{self.settings['k']}"
        said = [f"{name} {value}" for name, value in self.settings.items() if name != "k"]
        said += [f"labels + {label_shift:.4g}"] if label_shift and self.hangs_on_shift(target) else []
        return f"{shown} ({', '.join(said)})" if said else shown

    def finds_what(self, other: Measure) -> bool:
        """Whether both are worked out by the same function, whatever is set."""
        return bool(_told_apart(self.per_query) == _told_apart(other.per_query))

    def wins(self, difference: float) -> bool | None:
        """Whether a difference (new minus old) is for the better; None where no way is, or it depends on the ideal."""
        if self.better not in ("higher", "lower") or difference == 0:
            return None
        return (difference > 0) == (self.better == "higher")


def parse_text(text: str) -> tuple[str, dict[str, Any]]:
    """``NAME@k(setting=value, ...)`` as the name and the settings.

    A value is a word, a number, or JSON: ``AWRF(target={"women": 0.5, "men": 0.5})``.

    Raises
    ------
    ConfigError
        When it is not of that form.
    """
    shape = re.fullmatch(r"\s*(?P<name>[^@()]+?)\s*(@\s*(?P<k>[^()]*?))?\s*(\((?P<said>.*)\))?\s*", text, re.DOTALL)
    if shape is None:
        raise ConfigError(f"{text!r} is no measure; write it as NDKL, Skew@10 or AWRF(target=uniform).")
    settings: dict[str, Any] = {}
    if shape["k"] is not None:
        settings["k"] = _checked_depth(shape["k"], shape["name"])
    rest = shape["said"] or ""
    while rest.strip():
        name, sign, after = rest.partition("=")
        if not sign or not name.strip():
            raise ConfigError(f"{rest.strip()!r} in {text!r} is no setting; write setting=value, such as group=women.")
        settings[name.strip()], rest = _read_value(after, text)
    return shape["name"], settings


def _read_value(text: str, whole: str) -> tuple[Any, str]:
    """The value at the beginning of a text, and what comes after its comma."""
    text = text.lstrip()
    if text[:1] in ('"', "{", "["):
        try:
            value, end = json.JSONDecoder().raw_decode(text)
        except (ValueError, RecursionError) as error:
            raise ConfigError(f"{text!r} in {whole!r} cannot be read as JSON ({first_line(error)}).") from error
        rest = text[end:].lstrip()
        if rest and not rest.startswith(","):
            raise ConfigError(
                f"There is {rest!r} after the value of a setting in {whole!r}; put a comma between settings."
            )
        return value, rest[1:]
    word, _, rest = text.partition(",")
    word = word.strip()
    if not word:
        raise ConfigError(f"A setting in {whole!r} has no value; write setting=value, such as group=women.")
    try:
        return parse_json(word), rest
    except ValueError:
        return word, rest


def _checked_depth(depth: Any, name: str) -> int:
    try:
        whole = int(depth)
    except (TypeError, ValueError):
        whole = 0
    if not 1 <= whole <= MOST_COUNT or isinstance(depth, bool) or str(depth).strip() != str(whole):
        allowed = "of 1 or more" if whole < 1 else f"up to {MOST_COUNT:,}"
        raise ConfigError(f"The depth of {name}@k must be a whole number {allowed}, got {depth!r}.")
    return whole


def _told_apart(function: Callable[..., Any]) -> Any:
    """What makes a function what it is: two partial functions are never equal."""
    return (function.func, function.args, function.keywords) if isinstance(function, partial) else function


def _written(value: Any) -> str:
    if isinstance(value, str) and _PLAIN.fullmatch(value) and value not in ("true", "false", "null", "NaN", "Infinity"):
        return value
    return json.dumps(value, ensure_ascii=False)
