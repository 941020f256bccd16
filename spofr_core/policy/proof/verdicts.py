"""What a check of policies comes to: list by list, in numbers, and in one sentence."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from spofr_core.data.ids import plain
from spofr_core.fairness import Fairness, format_delta
from spofr_core.policy.proof.certificate import gap_text

ROUNDING = 1e-12
"""What floating point leaves of 0 is said as 0; the numbers have it to the last digit."""
NO_POLICY = "there is no policy for it"


@dataclass(frozen=True, eq=False)
class Verification:
    """What a check came to.

    In every form of it, here, per list, in the JSON and in the exit code of `spofr verify`, the words mean the same:

    - fair: delta, the quota and constraints of one's own hold as asked. With `allow_relaxed` a list that cannot hold
      them may hold its smallest feasible delta, or delta without a quota that no ranking can meet; such lists are
      counted apart, in `relaxed`.
    - optimal: no fair policy has more utility, and that is proved. False where the multipliers leave a gap; None where
      nothing is proved: without multipliers, by a certificate that states something false, and of a list that is not
      fair.
    - ok: fair and optimal. Never True where nothing is proved.
    - passed: what was asked for is so. That is `ok`, and `fair` where utility was not asked about (`optimal=False`).

    Attributes
    ----------
    queries : DataFrame
        A row per list: query, ok, fair, optimal (True, False or None), violation (largest abs over groups), margin
        (smallest delta_g - abs(violation_g); negative where delta is broken), utility, gap (dual bound minus utility:
        of a fair list, the largest possible distance to the optimum; NaN without multipliers), relaxed (smallest
        feasible delta, used instead of the one asked for), lifted (first prefix in which no ranking can meet the
        quota), reasons (empty where the list passed).
    fairness : Fairness
        What was asked for.
    total : int
        Lists that there are. `queries` has one row alone where there is a policy for one of them alone.
    unknown : int
        Items, in lists that were checked, whose group is not known: they have no bound, so what is fair is so of the
        others.
    """

    queries: pd.DataFrame
    fairness: Fairness
    total: int
    unknown: int = 0

    @property
    def ok(self) -> bool:
        """Whether every list is fair, and proved to be optimal."""
        return self.fair and self.optimal is True

    @property
    def fair(self) -> bool:
        """Whether every list is fair."""
        return bool(self.queries["fair"].all())

    @property
    def optimal(self) -> bool | None:
        """Whether every list is proved to be optimal; None where nothing proves it of some, and none is worse."""
        known = self.queries["optimal"].tolist()
        return False if False in known else None if None in known else True

    @property
    def passed(self) -> bool:
        """Whether what was asked for is so of every list."""
        return not self.queries["reasons"].any()

    @property
    def relaxed(self) -> int:
        """Lists that cannot be held to what was asked: those with a delta of their own, and those without a quota."""
        return int(self.queries[["relaxed", "lifted"]].notna().any(axis=1).sum())

    @property
    def missing(self) -> int:
        """Lists without a policy. They fail, unless there is a policy for a single list, which is then checked."""
        return self.total - len(self.queries) + int((self.queries["reasons"] == NO_POLICY).sum())

    @property
    def max_violation(self) -> float:
        """Largest abs(violation) of any group of any list; NaN if no list could be computed or none has two groups."""
        return float(self.queries["violation"].max())

    @property
    def gap(self) -> float:
        """Largest distance to the optimum, in utility; NaN if nothing is claimed about it."""
        return float(self.queries["gap"].max())

    @property
    def reasons(self) -> list[str]:
        """Why it did not pass, a sentence per list that failed, and one for all that have no policy."""
        failed = self.queries[self.queries["reasons"] != ""]
        absent = failed["reasons"] == NO_POLICY
        told = [
            f"query {q!r}: {why}" for q, why in zip(failed["query"][~absent], failed["reasons"][~absent], strict=True)
        ]
        if absent.any():
            first = plain(failed["query"][absent].iloc[0])
            told.append(f"there is no policy for {absent.sum():,} of {self.total:,} queries, the first is {first!r}")
        return told

    @cached_property
    def summary(self) -> dict[str, Any]:
        """The numbers, as plain values: what `spofr verify --json` writes."""
        table, quota = self.queries, self.fairness.every_ranking
        return {
            "schema": 1,
            "ok": self.ok,
            "fair": self.fair,
            "optimal": self.optimal,
            "passed": self.passed,
            "delta": self.fairness.delta,
            "unit": self.fairness.unit,
            "quota": None if quota is None else quota.to_dict(),
            "queries": self.total,
            "missing": self.missing,
            "unknown": self.unknown,
            "failed": int((table["reasons"] != "").sum()),
            "unfair": int((~table["fair"]).sum()),
            "suboptimal": sum(optimal is False for optimal in table["optimal"]),
            "unproved": sum(optimal is None for optimal in table["optimal"][table["fair"]]),
            "relaxed": self.relaxed,
            "raised": int(table["relaxed"].notna().sum()),
            "lifted": int(table["lifted"].notna().sum()),
            "max_violation": _number(self.max_violation),
            "min_margin": _number(float(table["margin"].min())),
            "max_gap": _number(self.gap),
            "reasons": self.reasons,
        }

    @cached_property
    def sentence(self) -> str:
        """The verdict in one sentence."""
        said, checked = self.summary, len(self.queries)
        parts = [self._fails() if said["failed"] else self._holds()]
        parts += self._exceptions()
        if said["max_violation"] is not None:
            largest = said["max_violation"] if said["max_violation"] > ROUNDING else 0.0
            parts.append(f"largest violation {format_delta(largest, self.fairness.unit)}")
        if said["max_gap"] is not None and not said["unfair"]:
            parts.append(f"largest gap to the optimum {gap_text(said['max_gap'])}")
        elif said["unproved"] and not said["failed"]:
            parts.append("nothing is said about utility")
        if checked < self.total:
            parts.append(f"there is no policy for the other {self.total - checked:,} queries, which were not checked")
        return "; ".join(parts) + "."

    def _fails(self) -> str:
        said, checked = self.summary, len(self.queries)
        counts = {
            "not fair": said["unfair"] - (said["missing"] if checked == self.total else 0),
            "without a policy": said["missing"] if checked == self.total else 0,
            "fair, but not optimal": said["suboptimal"],
            "fair, but not proved to be optimal": said["unproved"],
        }
        why = ", ".join(f"{count:,} {what}" for what, count in counts.items() if count)
        failed = f"Query {self._only!r} fails" if checked == 1 else f"{said['failed']:,} of {checked:,} queries fail"
        return f"{failed} ({why})"

    def _holds(self) -> str:
        checked, strict = len(self.queries), len(self.queries) - self.relaxed
        if checked == 1:
            who = f"Query {self._only!r} holds"
        else:
            who = "Every query holds" if not self.relaxed else f"{strict:,} of {checked:,} queries hold"
        if checked == 1 and self.relaxed:
            return f"{who} what it can"
        of = " for the items whose group is known" if self.unknown else ""
        quota = "" if self.fairness.every_ranking is None else ", and every ranking keeps the quota"
        return f"{who} delta{of}{quota}"

    def _exceptions(self) -> list[str]:
        """Lists that nothing can hold to what was asked, and what is asked of them instead, if that is allowed."""
        said, single = [], len(self.queries) == 1
        for column, what, instead in (
            ("lifted", "no ranking{} can meet the quota", ", so delta alone is asked there"),
            (
                "relaxed",
                "no policy{} can hold the delta asked for",
                ", so the smallest that can be held is asked there",
            ),
        ):
            such = self.queries[self.queries[column].notna()]
            if len(such):
                of = "" if single else f" of {len(such):,}"
                said.append(what.format(of) + (instead if such["fair"].all() else ""))
        return said

    @property
    def _only(self) -> Any:
        return plain(self.queries["query"].iloc[0])

    def __repr__(self) -> str:
        passed = int((self.queries["reasons"] == "").sum())
        return (
            f"Verification({passed} of {len(self.queries)} lists passed, fair={self.fair}, optimal={self.optimal}, "
            f"largest violation {self.max_violation:.3g}, largest gap {gap_text(self.gap)})"
        )


def _number(value: float) -> float | None:
    return None if np.isnan(value) else value
