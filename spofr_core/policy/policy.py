"""`Policy`: a lottery over rankings of one list, with what it does and why it is optimal."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from spofr_core.config import checked_seed
from spofr_core.errors import ConfigError
from spofr_core.notebook import drawn
from spofr_core.policy.programme import FloatArray
from spofr_core.policy.proof.certificate import CertificateDict, certificate_of
from spofr_core.policy.showing.schedule import Schedule

if TYPE_CHECKING:
    import pandas as pd

    from spofr_core.fairness import Discount, Fairness
    from spofr_core.policy.policies import Policies


def most_probable(probabilities: npt.ArrayLike, most: int) -> npt.NDArray[np.intp]:
    """Which rankings of a lottery to show where at most so many fit: the most probable ones, in their own order."""
    return np.sort(np.argsort(-np.asarray(probabilities), kind="stable")[:most])


@dataclass(frozen=True, eq=False)
class Policy:
    """A lottery over rankings of one list: a view of one entry of a batch.

    Made by `fair_policy`, or by indexing `Policies`.
    """

    _batch: Policies
    _index: int

    @property
    def query(self) -> Any:
        """Id of the list; its place in the batch where it has none."""
        return self._batch.lists.query_name(self._index)

    @property
    def _rows(self) -> slice:
        offsets = self._batch.lists.offsets
        return slice(int(offsets[self._index]), int(offsets[self._index + 1]))

    @property
    def _count(self) -> int:
        return int(self._batch.solution.counts[self._index])

    @property
    def rankings(self) -> npt.NDArray[np.int32]:
        """(m, n): item indices of each ranking, from the top down."""
        return self._batch.solution.rankings[: self._count, self._rows]

    @property
    def probabilities(self) -> FloatArray:
        """(m,): probability of each ranking; positive, summing to 1."""
        return self._batch.solution.probabilities[self._index, : self._count]

    @property
    def scores(self) -> FloatArray:
        """(n,): the scores that the policy was made for."""
        return self._batch.scores[self._rows]

    @property
    def groups(self) -> tuple[str | None, ...]:
        """Name of each item's group; None of items without one."""
        names = (*self._batch.lists.group_names, None)
        return tuple(names[code] for code in self._batch.lists.codes[self._rows])

    @property
    def item_ids(self) -> npt.NDArray[Any]:
        """(n,): ids of the items; their indices where they have none."""
        return self._batch.item_ids[self._rows]

    @cached_property
    def matrix(self) -> FloatArray:
        """(n, n): Pi[i, j], the probability that item i stands at position j."""
        n = self.rankings.shape[1]
        matrix = np.zeros((n, n))
        for ranking, probability in zip(self.rankings, self.probabilities, strict=True):
            matrix[ranking, np.arange(n)] += probability
        return matrix

    @property
    def exposure(self) -> FloatArray:
        """(n,): expected exposure (Pi v)_i of each item."""
        return self._batch.exposure[self._rows]

    @property
    def discounted(self) -> FloatArray:
        """(n,): expected discount (Pi w)_i of each item."""
        return self._batch.discounted[self._rows]

    @property
    def utility(self) -> float:
        """scores' Pi w."""
        return float(self._batch.utility[self._index])

    @property
    def group_exposure(self) -> dict[str, float]:
        """Mean exposure e_g of each group of the list."""
        return self._by_group(self._batch.group_exposure)

    @property
    def violations(self) -> dict[str, float]:
        """Signed violation of the notion by each group of the list; the notion asks for abs(violation) <= delta."""
        return self._by_group(self._batch.violations)

    @property
    def bounds(self) -> dict[str, tuple[float, float]]:
        """Interval of each group's mean exposure e_g; infinite where nothing is asked."""
        lower, upper = self._batch.lists.terms.bounds()
        low, high = self._by_group(lower), self._by_group(upper)
        return {name: (low[name], high[name]) for name in low}

    @property
    def deltas(self) -> dict[str, float]:
        """Delta in force for each group: the one asked for, or more where the list was relaxed."""
        return self._by_group(self._batch.lists.terms.delta)

    @property
    def shadow_prices(self) -> dict[str, float]:
        """What each group's active bound costs: abs(price) = d utility / d (the bound on e_g, moved outwards).

        The sign tells which bound it is. Positive: the lower bound on the group's mean exposure is active, and utility
        falls by price per unit that it is raised. Negative: the upper bound is active, and utility falls by abs(price)
        per unit that it is lowered. Zero: neither binds. With lambda_g the multiplier of the group's total exposure
        and n_g its items, price_g = n_g lambda_g. At a kink of the utility this is one of its subgradients.
        """
        return self._by_group(self._batch.shadow_prices)

    @property
    def delta_price(self) -> float:
        """d utility / d delta = sum over groups of abs(price_g) / scale_g, when all groups' deltas move together.

        scale_g is what the notion multiplies e_g by: 1 for exposure, the list's mean merit for merit, n / n_other for
        gap. At a kink this is one of the subgradients.
        """
        terms = self._batch.lists.terms
        priced = terms.constrained[self._index] & (terms.scale[self._index] > 0)
        prices = np.abs(self._batch.shadow_prices[self._index, : len(priced)][priced])
        return float(np.sum(prices / terms.scale[self._index, priced]))

    @property
    def multipliers(self) -> dict[str, float]:
        """Lagrange multiplier of each group's total exposure; NaN where nothing is known (read from a table)."""
        return self._by_group(self._batch.solution.multipliers)

    @property
    def constraint_multipliers(self) -> tuple[float, ...]:
        """Lagrange multipliers of the constraints of one's own, in their order."""
        return tuple(self._batch.solution.constraint_multipliers.tolist())

    @property
    def discount(self) -> Discount:
        """The discount of the utility."""
        return self._batch.discount

    @property
    def fairness(self) -> Fairness:
        """What was asked for."""
        return self._batch.fairness

    @property
    def gap(self) -> float:
        """How far the utility can be from the optimum; NaN where nothing is known (read from a table)."""
        return float(self._batch.gap[self._index])

    @property
    def relaxed(self) -> float | None:
        """The list's smallest feasible delta where it was used instead of the one asked for; otherwise None."""
        return self._batch.relaxed.get(self._index)

    @property
    def lifted(self) -> int | None:
        """The first prefix that no ranking of the list can meet, where it has no quota because of it; else None."""
        return self._batch.lists.lifted.get(self._index)

    @property
    def solver(self) -> str:
        """The solver that did the work."""
        return self._batch.solution.solver

    @property
    def notes(self) -> tuple[str, ...]:
        """What the caller should know about the solution."""
        return self._batch.notes

    @cached_property
    def certificate(self) -> CertificateDict:
        """Everything that proves the policy, as plain JSON-able values; `verify` checks it without any solver."""
        return certificate_of(self._batch, self._index)

    def sample(self, k: int, seed: int = 0) -> npt.NDArray[np.int32]:
        """Draw k rankings, (k, n), item indices from the top down."""
        if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 0:
            raise ConfigError(f"'k' is {k!r}; draw 0 rankings or more.")
        drawn = np.random.default_rng(checked_seed(seed)).choice(self._count, size=k, p=self.probabilities)
        return self.rankings[drawn]

    def schedule(self, impressions: int, seed: int = 0) -> npt.NDArray[np.int64]:
        """Rankings to serve one after the other, (T,) indices into `rankings`: after every one of them, each was served
        as often as its probability says, to less than one. `Schedule` goes on from counts, and knows the bound."""
        if isinstance(impressions, bool) or not isinstance(impressions, int | np.integer) or impressions < 0:
            raise ConfigError(f"'impressions' is {impressions!r}; serve 0 rankings or more.")
        return Schedule(self.probabilities, seed=seed).take(int(impressions))

    def to_frame(self) -> pd.DataFrame:
        """The long table: query_id, ranking, probability, position, item_id."""
        return self._batch.part(self._index).to_frame()

    def _repr_html_(self) -> str:
        return drawn("policy", self)

    def _by_group(self, table: FloatArray) -> dict[str, float]:
        lists = self._batch.lists
        present = np.flatnonzero(lists.terms.composition.present[self._index])
        return {lists.group_names[g]: float(table[self._index, g]) for g in present}

    def __repr__(self) -> str:
        worst = max((abs(v) for v in self.violations.values()), default=0.0)
        return (
            f"Policy(query {self.query!r}: {self.rankings.shape[1]} items, {self._count} rankings, "
            f"utility {self.utility:.6g}, largest violation {worst:.3g})"
        )
