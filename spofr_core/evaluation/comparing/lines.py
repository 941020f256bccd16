"""The rows of a comparison: how far two rankings differ in something, how sure that is, and what may be said of it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from spofr_core.evaluation.comparing.group_sums import GroupSums, alike
from spofr_core.evaluation.comparing.quantities import Kind, Quantity
from spofr_core.evaluation.comparing.sign_flips import (
    EXACT_BELOW,
    MANY,
    FlipTest,
    How,
    holm,
    normal_p,
    sign_flip_tests,
    swap_test,
)
from spofr_core.evaluation.intervals import Interval, RatiosOfSums, bootstrap_mean
from spofr_core.evaluation.query_table import FloatArray
from spofr_core.measures import Better

BETTER, WORSE, DIFFERENT = "better", "worse", "different"


@dataclass(frozen=True, kw_only=True)
class Line:
    """One row of a comparison; see `Comparison.table` for what its columns are."""

    rival: str
    name: str
    label: str
    kind: Kind
    group: str | None
    small: bool
    better: Better
    unit: str
    relative: bool
    before: float | None
    after: float | None
    difference: float | None
    lower: float | None
    upper: float | None
    n: int
    left_out: int
    p: float | None
    p_holm: float | None = None
    test: How | None = None
    verdict: str = ""

    @property
    def claims(self) -> bool:
        """Whether the interval excludes 0."""
        return self.lower is not None and self.upper is not None and (self.lower > 0 or self.upper < 0)

    @property
    def is_worse(self) -> bool:
        """Whether the interval lies on the wrong side; for a group that is the side of less exposure."""
        if not self.claims or self.difference is None:
            return False
        return self.difference < 0 if self.kind == "group" else self.verdict == WORSE


def no_difference(n: int) -> str:
    """What is said where the queries show none."""
    return f"no difference that {n:,} {'query' if n == 1 else 'queries'} can show"


def measured_lines(
    rival: str, found: Sequence[Quantity], sums: GroupSums | None, *, seed: int, confidence: float
) -> list[Line]:
    """Estimates, intervals and p-values, before anything is made of their number.

    - Of a mean: the mean of the paired differences, its percentile bootstrap interval over queries, and the sign-flip
      test of it.
    - Of a group's relative exposure R = sum_q got_q / sum_q due_q: R_after / R_before - 1, its interval from resampled
      queries, and the sign-flip test of d_q = (got - r due)_after - (got - r due)_before with r the pooled R of both:
      swapping the two rankings of a query flips the sign of d_q and leaves r as it is, and the sum of the d_q has the
      sign of R_after - R_before.
    - Of the exposure ratio min_g R_g / max_g R_g: the difference of the two, an interval for the pairs of groups that
      were found (which allows for their having been picked), and the test that swaps whole queries and picks anew.

    What is the same in every query is not tested: there is nothing that could be flipped.
    """
    ratios = None if sums is None else _Ratios(sums, seed)
    columns = {
        quantity.name: sums.pooled_differences(sums.before.names.index(str(quantity.group)))
        if quantity.kind == "group" and sums is not None
        else np.nan_to_num(quantity.difference)
        for quantity in found
        if not quantity.small and quantity.kind != "ratio"
    }
    columns = {name: differences for name, differences in columns.items() if np.any(differences)}
    tests: dict[str, FlipTest] = {}
    if columns:
        flips = sign_flip_tests(np.stack(list(columns.values()), axis=1), seed=seed)
        tests = dict(zip(columns, flips, strict=True))
    lines = []
    for quantity in found:
        if quantity.kind == "group" and ratios is not None:
            numbers = ratios.of_group(ratios.sums.before.names.index(str(quantity.group)), confidence)
        elif quantity.kind == "ratio" and ratios is not None:
            numbers, test = ratios.lowest_over_highest(confidence)
            if test is not None:
                tests[quantity.name] = test
        else:
            numbers = _of_means(quantity, seed, confidence)
        lines.append(_line(rival, quantity, numbers, tests.get(quantity.name)))
    return lines


def line_beyond(
    rival: str, quantity: Quantity, sums: GroupSums | None, margin: float, *, seed: int, confidence: float
) -> Line:
    """The row of one quantity with a margin taken off: it is worse where the rival is worse by more than the margin.

    Of a mean the margin is taken off every difference, and their signs are flipped after that. What a group gets of
    the rival is divided by 1 - margin, so that R_after / R_before is 1 where it is 1 - margin. Of the exposure ratio
    queries cannot be swapped any more: its test is normal, where the queries are enough for that.
    """
    if quantity.kind == "ratio" and sums is not None:
        numbers, test = _Ratios(sums, seed).lowest_over_highest(confidence, margin)
        return _line(rival, quantity, numbers, test)
    if quantity.kind == "group":
        sums = None if sums is None else replace(sums, after=replace(sums.after, got=sums.after.got / (1 - margin)))
    else:
        quantity = replace(quantity, before=quantity.before + (margin if quantity.better == "lower" else -margin))
    return measured_lines(rival, [quantity], sums, seed=seed, confidence=confidence)[0]


def judged_lines(lines: Sequence[Line], *, confidence: float) -> list[Line]:
    """The lines with p-values adjusted by Holm over all that were tested, intervals that agree with them, and verdicts.

    One rule decides: a difference is claimed where the interval excludes 0. Where the test does not reject after
    Holm's adjustment at 1 - confidence, the interval is extended to reach 0, since a value that is not refuted belongs
    into it. So nothing is claimed from too few queries, or because many things were looked at, and no interval
    contradicts its verdict. An interval that is extended covers at least as often as before.
    """
    places = [place for place, line in enumerate(lines) if line.p is not None]
    adjusted = holm(np.array([lines[place].p for place in places], dtype=np.float64))
    by_place = dict(zip(places, adjusted.tolist(), strict=True))
    return [_judged(line, by_place.get(place), 1 - confidence) for place, line in enumerate(lines)]


@dataclass(frozen=True)
class _Numbers:
    before: float | None
    after: float | None
    difference: float | None
    interval: Interval | None
    n: int


def _line(rival: str, quantity: Quantity, numbers: _Numbers, test: FlipTest | None) -> Line:
    lower, upper = numbers.interval or (None, None)
    known = numbers.difference is not None and test is not None
    return Line(
        rival=rival,
        name=quantity.name,
        label=quantity.label,
        kind=quantity.kind,
        group=quantity.group,
        small=quantity.small,
        better=quantity.better,
        unit=quantity.unit,
        relative=quantity.kind == "group",
        before=numbers.before,
        after=numbers.after,
        difference=numbers.difference,
        lower=lower,
        upper=upper,
        n=numbers.n,
        left_out=len(quantity.before) - numbers.n,
        p=test.p if known and test is not None else None,
        test=test.how if known and test is not None else None,
    )


def _judged(line: Line, p_holm: float | None, alpha: float) -> Line:
    lower, upper = line.lower, line.upper
    if lower is not None and upper is not None and (p_holm is None or p_holm > alpha):
        lower, upper = min(lower, 0.0), max(upper, 0.0)
    judged = replace(line, p_holm=p_holm, lower=lower, upper=upper)
    return replace(judged, verdict=_verdict(judged))


def _verdict(line: Line) -> str:
    if not line.claims or line.difference is None:
        return no_difference(line.n)
    if line.better == "":
        return DIFFERENT
    return BETTER if (line.difference > 0) == (line.better == "higher") else WORSE


def _of_means(quantity: Quantity, seed: int, confidence: float) -> _Numbers:
    chosen = quantity.defined
    n = int(np.count_nonzero(chosen))
    if n == 0:
        return _Numbers(None, None, None, None, 0)
    differences = quantity.difference[chosen]
    interval = bootstrap_mean(differences, seed=seed, confidence=confidence) if n > 1 else None
    before, after = float(quantity.before[chosen].mean()), float(quantity.after[chosen].mean())
    return _Numbers(before, after, float(differences.mean()), interval, n)


class _Ratios:
    """Relative exposures of all groups on both sides, from the same resampled queries."""

    def __init__(self, sums: GroupSums, seed: int) -> None:
        self.sums, self.seed = sums, seed
        got, due = np.hstack([sums.before.got, sums.after.got]), np.hstack([sums.before.due, sums.after.due])
        self.ratios = RatiosOfSums(got, due, seed=seed)
        self.shift = len(sums.before.names)
        self.before, self.after = np.split(self.ratios.values, [self.shift])

    def of_group(self, g: int, confidence: float) -> _Numbers:
        there = (self.sums.before.due[:, g] > 0) & (self.sums.after.due[:, g] > 0)
        n, before, after = int(np.count_nonzero(there)), _known(self.before[g]), _known(self.after[g])
        if before is None or after is None or not before > 0:
            return _Numbers(before, after, None, None, n)
        found = self.ratios.quotient_interval(self.shift + g, g, confidence=confidence)
        if self.sums.same(g):
            return _Numbers(before, after, 0.0, None if found is None else (0.0, 0.0), n)
        return _Numbers(before, after, after / before - 1, found and (found[0] - 1, found[1] - 1), n)

    def lowest_over_highest(self, confidence: float, margin: float = 0.0) -> tuple[_Numbers, FlipTest | None]:
        sums = self.sums
        n = int(np.count_nonzero((sums.before.due > 0).any(axis=1)))
        values, places = [], []
        for side, relative, shift in ((sums.before, self.before, 0), (sums.after, self.after, self.shift)):
            low, high = (int(side.large[place(relative[side.large])]) for place in (np.argmin, np.argmax))
            if not relative[high] > 0:
                return _Numbers(None, None, None, None, n), None
            values.append(float(relative[low] / relative[high]))
            places.append((low + shift, high + shift))
        if sums.same_names and all(sums.same(g) for g in sums.before.large.tolist()):
            return _Numbers(values[0], values[1], 0.0, (0.0, 0.0) if n > 1 else None, n), None
        picked = max(len(side.large) * (len(side.large) - 1) // 2 for side in (sums.before, sums.after))
        level = 1 - (1 - confidence) / picked
        interval = self.ratios.contrast_interval(places[1], places[0], confidence=level)
        moved = interval and (interval[0] + margin, interval[1] + margin)
        return _Numbers(values[0], values[1], values[1] - values[0] + margin, moved, n), self._test(places, n, margin)

    def _test(self, places: list[tuple[int, int]], n: int, margin: float) -> FlipTest | None:
        """The test of the ratio. Other groups cannot be swapped: a normal test, where the queries are enough for it."""
        sums = self.sums
        if n >= MANY or not sums.same_names or margin:
            contrast, error = self.ratios.contrast(places[1], places[0])
            return FlipTest(normal_p(contrast + margin, error), "normal") if n >= EXACT_BELOW else None
        large = sums.before.large
        before, after = (np.hstack([side.got[:, large], side.due[:, large]]) for side in (sums.before, sums.after))
        return swap_test(before, np.where(alike(before, after), before, after), _ratio_change, seed=self.seed)


def _ratio_change(before: FloatArray, after: FloatArray) -> FloatArray:
    """min over max of the relative exposures after, less the same before; (R, 2G) sums of got and due."""

    def ratio(sums: FloatArray) -> FloatArray:
        got, due = np.split(sums, 2, axis=1)
        relative = np.divide(got, due, out=np.ones_like(got), where=due > 0)
        high = relative.max(axis=1)
        return np.asarray(np.divide(relative.min(axis=1), high, out=np.ones(len(high)), where=high > 0))

    return ratio(after) - ratio(before)


def _known(value: float) -> float | None:
    return None if math.isnan(value) else float(value)
