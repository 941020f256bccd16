"""`Policies`: a lottery over rankings for every list of a batch, in flat arrays."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from operator import index
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from spofr_core.data.rows import list_sums
from spofr_core.policy.expectation import expectation
from spofr_core.policy.lotteries import Lotteries, lotteries_of
from spofr_core.policy.policy import Policy
from spofr_core.policy.programme import FloatArray, PreparedLists
from spofr_core.policy.solvers.solver import Solution

if TYPE_CHECKING:
    import pandas as pd

    from spofr_core.data import RankingDataset
    from spofr_core.fairness import Discount, Fairness


@dataclass(frozen=True, eq=False)
class Policies:
    """Policies of a batch of lists; `policies[q]` is the `Policy` of one.

    Attributes
    ----------
    lists : PreparedLists
        Groups, bounds and vectors of the lists.
    scores : (N,) float
    solution : Solution
        Rankings, probabilities and multipliers. Multipliers and bound are NaN where nothing is known about optimality
        (policies read from a table).
    given_item_ids : (N,), optional
        Ids of the items, for tables.
    """

    lists: PreparedLists
    scores: FloatArray
    solution: Solution
    given_item_ids: npt.NDArray[Any] | None = None

    def __len__(self) -> int:
        """Number of lists."""
        return len(self.lists)

    def __getitem__(self, query: int) -> Policy:
        place = index(query)
        if not -len(self) <= place < len(self):
            raise IndexError(f"list {query} of {len(self)}")
        return Policy(self, place % len(self))

    def __iter__(self) -> Iterator[Policy]:
        return (Policy(self, query) for query in range(len(self)))

    def __repr__(self) -> str:
        return (
            f"Policies({len(self):,} lists, {self.lists.n_items:,} items, solver {self.solution.solver!r}"
            f"{f', {len(self.relaxed)} relaxed' if self.relaxed else ''})"
        )

    @property
    def fairness(self) -> Fairness:
        """What was asked for."""
        return self.lists.fairness

    @property
    def discount(self) -> Discount:
        """The discount of the utility."""
        return self.lists.discount

    @property
    def relaxed(self) -> Mapping[int, float]:
        """Lists that cannot satisfy the delta asked for, with the smallest feasible one that they got instead."""
        return self.lists.relaxed

    @property
    def notes(self) -> tuple[str, ...]:
        """What the caller should know: a change of solver, relaxed lists."""
        return (*self.solution.notes, *relaxed_notes(len(self.relaxed), len(self)), *self._lifted_notes())

    def _lifted_notes(self) -> tuple[str, ...]:
        lifted = len(self.lists.lifted)
        return (f"No ranking of {lifted} of {len(self)} lists can meet the quota; they have none.",) if lifted else ()

    @cached_property
    def item_ids(self) -> npt.NDArray[Any]:
        """(N,): ids of the items; their indices within the list where they have none."""
        if self.given_item_ids is not None:
            return self.given_item_ids
        starts = np.repeat(self.lists.offsets[:-1], np.diff(self.lists.offsets))
        return np.arange(self.lists.n_items) - starts

    def expectation(self, vector: FloatArray) -> FloatArray:
        """(N,): expected vector[position] of every item, for any vector over positions."""
        s = self.solution
        values = np.require(vector, np.float64, ["C", "W"])
        return expectation(s.rankings, s.probabilities, s.counts, self.lists.offsets, values)

    def lotteries(self, kinds: npt.NDArray[np.int64]) -> Lotteries:
        """The rankings with their probabilities, as they are: kinds make no difference to them."""
        s = self.solution
        return lotteries_of(s.rankings, s.probabilities, s.counts, self.lists.offsets)

    @cached_property
    def exposure(self) -> FloatArray:
        """(N,): expected exposure (Pi v)_i of every item."""
        return self.expectation(self.lists.v)

    @cached_property
    def discounted(self) -> FloatArray:
        """(N,): expected discount (Pi w)_i of every item."""
        return self.expectation(self.lists.w)

    @cached_property
    def utility(self) -> FloatArray:
        """(Q,): scores' Pi w of every list."""
        return list_sums(self.scores * self.discounted, self.lists.offsets)

    @cached_property
    def group_exposure(self) -> FloatArray:
        """(Q, G): mean exposure e_g of every group; NaN where it is absent."""
        lists = self.lists
        return lists.terms.composition.group_means(self.exposure, lists.codes, lists.offsets)

    @cached_property
    def violations(self) -> FloatArray:
        """(Q, G): signed violation of the notion; NaN where the group is absent."""
        return self.lists.terms.violations(self.group_exposure)

    @cached_property
    def shadow_prices(self) -> FloatArray:
        """(Q, G): price n_g lambda_g of the active bound on each e_g; see `Policy.shadow_prices`."""
        named = len(self.lists.group_names)
        return np.asarray((self.solution.multipliers * self.lists.sizes)[:, :named])

    @cached_property
    def gap(self) -> FloatArray:
        """(Q,): how far the utility can be from the optimum: dual bound minus utility, not below 0."""
        return np.maximum(self.solution.bound - self.utility, 0.0)

    def part(self, query: int) -> Policies:
        """A batch of one list."""
        lists, s = self.lists, self.solution
        rows = slice(int(lists.offsets[query]), int(lists.offsets[query + 1]))
        one = slice(query, query + 1)
        terms = replace(
            lists.terms,
            composition=lists.terms.composition[one],
            scale=lists.terms.scale[one],
            target=lists.terms.target[one],
            delta=lists.terms.delta[one],
            mean_exposure=lists.terms.mean_exposure[one],
        )
        n = rows.stop - rows.start
        small = replace(
            lists,
            codes=lists.codes[rows],
            offsets=np.array([0, n]),
            terms=terms,
            lower=lists.lower[one],
            upper=lists.upper[one],
            v=lists.v[:n],
            w=lists.w[:n],
            query_ids=[lists.query_name(query)],
            relaxed={0: lists.relaxed[query]} if query in lists.relaxed else {},
            windows=None if lists.windows is None else lists.windows.part(query),
            lifted={0: lists.lifted[query]} if query in lists.lifted else {},
        )
        solution = replace(
            s,
            rankings=s.rankings[:, rows],
            probabilities=s.probabilities[one],
            counts=s.counts[one],
            multipliers=s.multipliers[one],
            bound=s.bound[one],
        )
        return Policies(small, self.scores[rows], solution, self.item_ids[rows])

    def to_frame(self) -> pd.DataFrame:
        """The long table: query_id, ranking, probability, position, item_id, a row per position of each ranking."""
        from spofr_core.policy.policy_table import to_frame

        return to_frame(self)

    @classmethod
    def from_frame(
        cls, frame: pd.DataFrame, data: RankingDataset, fairness: Fairness, *, discount: Discount | None = None
    ) -> Policies:
        """Read the long table back for the lists of `data`.

        Ids are compared as text. What the table says is taken as it is, however odd: `verify` judges it.
        """
        from spofr_core.policy.policy_table import from_frame

        return from_frame(frame, data, fairness, discount=discount)

    def write(self, path: str | Path) -> None:
        """Write the long table as .parquet or .csv."""
        from spofr_core.policy.policy_table import write_table

        write_table(self.to_frame(), path)


def relaxed_notes(relaxed: int, total: int) -> tuple[str, ...]:
    """What to say about lists that got another delta than the one asked for; nothing where there are none."""
    if not relaxed:
        return ()
    return (f"{relaxed} of {total} lists cannot satisfy the delta asked for and got their smallest one.",)
