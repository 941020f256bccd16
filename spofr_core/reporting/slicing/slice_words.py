"""What slices of the queries say, in sentences and cells: the same in the shell, on the pages and in the report.

They read one slicing of the summary of an audit (``summary["slices"][k]``, with ``by``, ``confidence``, ``fewest``) and
one of its ``measures``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from spofr_core.reporting.wording.phrases import (
    counted,
    listed,
    name_text,
    number,
    shortened,
    start_sentence,
    violation_text,
    within_a_sentence,
)

Plain = Mapping[str, Any]

MISSING = "(missing)"
_WITHOUT = "queries without"
MOST_NAMED = 4
"""More slices than this are counted in a sentence."""


def value_text(value: float | None, unit: str) -> str:
    """A mean in its unit: "12 %" or "0.092"."""
    return violation_text(value, "share" if unit == "share" else "absolute")


def difference_text(value: float | None, unit: str) -> str:
    """A difference in its unit: "1.2 percentage points" or "0.092"; the sign, where there is one, stays."""
    if value is None:
        return "-"
    return f"{number(100 * value, 2)} percentage points" if unit == "share" else number(value)


def difference_interval(pair: Sequence[float] | None, unit: str) -> str:
    """The interval of a difference."""
    if pair is None:
        return "-"
    if unit == "share":
        return f"{number(100 * pair[0], 2)} to {number(100 * pair[1], 2)} percentage points"
    return f"{number(pair[0])} to {number(pair[1])}"


def value_interval(pair: Sequence[float] | None, unit: str) -> str:
    """The interval of a mean."""
    return "-" if pair is None else f"{value_text(pair[0], unit)} to {value_text(pair[1], unit)}"


def slice_name(values: Mapping[str, str]) -> str:
    """A slice within a sentence: "country DE and device mobile", "device mobile and no country"."""
    known = [f"{name_text(column)} {shortened(value)}" for column, value in values.items() if value != MISSING]
    unknown = [name_text(column) for column, value in values.items() if value == MISSING]
    if known:
        return listed([*known, *(f"no {column}" for column in unknown)])
    return f"{_WITHOUT} {listed(unknown, word='or')}"


def by_text(by: Sequence[str]) -> str:
    """What is sliced by: "country", or "country and device"."""
    return listed([name_text(name) for name in by])


def slice_sentences(slicing: Plain, entry: Plain) -> list[str]:
    """Which slice differs most, whether others do, and how many are too small; the headline first.

    Parameters
    ----------
    slicing : mapping
        A slicing of the summary.
    entry : mapping
        One of its measures.

    Returns
    -------
    list of str
        Such as "Country DE differs most from the rest: violation 0.08 against 0.05 (n = 120; simultaneous 95 % interval
        of the difference 0.01 to 0.05)."
    """
    rows, label, by = entry["slices"], within_a_sentence(name_text(entry["label"])), by_text(slicing["by"])
    if len(rows) == 1:
        return [f"All queries have {slice_name(rows[0]['values'])}: there is no other slice to compare with."]
    found = [_headline(slicing, entry, label, by)]
    differing = [row for row in rows if row["differs"]]
    if len(differing) > 1:
        found.append(_others(differing[1:]))
    few = sum(row["difference"] is None for row in rows)
    if few and entry["compared"]:
        found.append(
            f"{counted(few, 'slice', 'slices')} with fewer than {slicing['fewest']} queries "
            f"{'is' if few == 1 else 'are'} listed and {'claims' if few == 1 else 'claim'} nothing."
        )
    return found


def _headline(slicing: Plain, entry: Plain, label: str, by: str) -> str:
    first = entry["slices"][0]
    if not entry["compared"]:
        return (
            f"By {by}, no slice can be compared with the rest: {slicing['fewest']} queries are needed in it, and as "
            "many outside."
        )
    if not first["differs"]:
        return f"By {by}, no slice differs from the rest in its {label} by more than these queries can show."
    unit = entry["unit"]
    name = slice_name(first["values"])
    verb = "differ" if name.startswith(_WITHOUT) else "differs"
    interval = difference_interval(first["difference_ci"], unit)
    return (
        f"{start_sentence(name)} {verb} most from the rest: {label} {value_text(first['mean'], unit)} against "
        f"{value_text(first['rest'], unit)} (n = {first['n']:,}; simultaneous {percentage(slicing)} interval of the "
        f"difference {interval})."
    )


def _others(rows: Sequence[Plain]) -> str:
    told = [f"{slice_name(row['values'])} ({'higher' if row['difference'] > 0 else 'lower'})" for row in rows]
    more = [f"{len(told) - MOST_NAMED:,} more"] if len(told) > MOST_NAMED else []
    return f"Different too: {listed([*told[:MOST_NAMED], *more])}."


def slice_basis(slicing: Plain) -> str:
    """How the slices are ordered and what their intervals hold for."""
    return (
        "Slices stand in the order of the evidence: the difference from the rest over its standard error. With "
        f"{percentage(slicing)} confidence the intervals of a column hold for all its slices at once (Bonferroni; "
        "Student's t with the spread of the slice or that of all, whichever is wider; for shares those of Wilson and "
        "Newcombe)."
    )


def percentage(slicing: Plain) -> str:
    """The confidence of a slicing or of a course over time: "95 %"."""
    return f"{number(100 * slicing['confidence'])} %"


def slice_cells(entry: Plain, most: int | None = None) -> list[tuple[str, ...]]:
    """A row of text per slice, below `slice_head`; at most so many."""
    unit = entry["unit"]
    return [
        (
            *(shortened(value) for value in row["values"].values()),
            f"{row['n']:,}",
            _with(value_text(row["mean"], unit), value_interval(row["ci"], unit)),
            _with(_signed(row["difference"], unit), _signed_interval(row["difference_ci"], unit)),
            "yes" if row["differs"] else "too few" if row["difference"] is None else "no",
        )
        for row in entry["slices"][:most]
    ]


def _with(value: str, interval: str) -> str:
    return value if interval == "-" else f"{value} ({interval})"


def _signed(value: float | None, unit: str) -> str:
    """Of a column that need not say its unit in every row."""
    if value is None:
        return "-"
    return f"{'+' if value > 0 else ''}{number(100 * value, 2) if unit == 'share' else number(value)}"


def _signed_interval(pair: Sequence[float] | None, unit: str) -> str:
    return "-" if pair is None else f"{_signed(pair[0], unit)} to {_signed(pair[1], unit)}"


def slice_head(slicing: Plain, entry: Plain) -> tuple[str, ...]:
    """The heads of `slice_cells`: the attributes, then numbers; differences of percentages are in points."""
    sure = f"({percentage(slicing)} interval)"
    points = " in points" if entry["unit"] == "share" else ""
    by = (name_text(name, 24) for name in slicing["by"])
    return (*by, "queries", f"mean {sure}", f"from the rest{points} {sure}", "differs")


def exposure_head(slicing: Plain, groups: Sequence[str]) -> tuple[str, ...]:
    """The heads of `exposure_cells`."""
    by = (name_text(name, 24) for name in slicing["by"])
    return (*by, *(shortened(name, 24) for name in groups), "lowest over highest")


def exposed_groups(slicing: Plain) -> list[str]:
    """The groups that are in some slice."""
    return list(dict.fromkeys(name for entry in slicing["exposure"] for name in entry["groups"]))


def exposure_cells(slicing: Plain, groups: Sequence[str]) -> list[tuple[str, ...]]:
    """A row of text per slice: its attributes, each group's exposure over the mean of its lists, and their ratio.

    Parameters
    ----------
    slicing : mapping
        A slicing of the summary whose exposure is known.
    groups : sequence of str
        Which groups, in this order.
    """
    rows = []
    for entry in slicing["exposure"]:
        told = [_relative(entry["groups"].get(name)) for name in groups]
        ratio = "-" if entry["ratio"] is None else f"{number(entry['ratio'])} ({value_interval(entry['ci'], '')})"
        rows.append((*(shortened(value) for value in entry["values"].values()), *told, ratio))
    return rows


def _relative(group: Plain | None) -> str:
    if group is None or group["relative"] is None:
        return "-"
    text = f"{number(100 * group['relative'], 2)} %"
    return f"{text} (small)" if group["small"] else f"{text} ({value_interval(group['ci'], 'share')})"
