"""Lists and demands that a solver of rankings would rather not meet, a numbered block of them at a time.

Ties, one-item groups, scores from 1e-300 to 1e300, vectors with steps and zeros, deltas of zero, per group, as shares
and on the very boundary of what is feasible, quotas, cut-offs and merits. Lists of a block share their demand, because
a batch does; block `b` is the same in every run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from spofr_core import Discount, Fairness, InfeasibleFairness, PositionBias, Quota, fair_policies

FloatArray = npt.NDArray[np.float64]
SEED = 20_240_817
NAMES = tuple("abcdefgh")


@dataclass(frozen=True, eq=False)
class Block:
    """A batch for `fair_policies`, and what is nasty about it."""

    number: int
    scores: FloatArray
    codes: npt.NDArray[np.int32]
    offsets: npt.NDArray[np.int64]
    fairness: Fairness
    discount: Discount
    names: tuple[str, ...]
    kinds: tuple[str, ...]
    demand: str

    def __len__(self) -> int:
        """Number of lists."""
        return len(self.offsets) - 1

    def one(self, q: int) -> Block:
        """List q alone."""
        rows = slice(int(self.offsets[q]), int(self.offsets[q + 1]))
        own = {"scores": self.scores[rows], "codes": self.codes[rows], "kinds": (self.kinds[q],)}
        return replace(self, offsets=np.array([0, rows.stop - rows.start]), **own)

    def some(self, queries: npt.NDArray[np.int64]) -> Block:
        """These lists alone."""
        lengths = np.diff(self.offsets)[queries]
        rows = np.concatenate([np.arange(self.offsets[q], self.offsets[q + 1]) for q in queries])
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        kinds = tuple(self.kinds[q] for q in queries)
        return replace(self, scores=self.scores[rows], codes=self.codes[rows], offsets=offsets, kinds=kinds)

    def to_dict(self) -> dict[str, Any]:
        """Everything that is needed to try it again."""
        return {
            "block": self.number,
            "demand": self.demand,
            "kinds": self.kinds,
            "scores": [repr(score) for score in self.scores.tolist()],
            "groups": [self.names[code] for code in self.codes.tolist()],
            "names": self.names,
            "offsets": self.offsets.tolist(),
            "fairness": self.fairness.to_dict(),
            "discount": self.discount.to_dict(),
        }

    @classmethod
    def from_dict(cls, told: Mapping[str, Any]) -> Block:
        """What `to_dict` told."""
        names = tuple(told["names"])
        return cls(
            number=told["block"],
            scores=np.array([float(score) for score in told["scores"]]),
            codes=np.array([names.index(group) for group in told["groups"]], dtype=np.int32),
            offsets=np.array(told["offsets"]),
            fairness=Fairness.from_dict(told["fairness"]),
            discount=Discount.from_dict(told["discount"]),
            names=names,
            kinds=tuple(told["kinds"]),
            demand=told["demand"],
        )


def _powers(rng: np.random.Generator, n: int, low: float, high: float) -> FloatArray:
    return np.asarray(10.0 ** rng.uniform(low, high, n))


SCORES: Mapping[str, Callable[[np.random.Generator, int], FloatArray]] = {
    "plain": lambda rng, n: rng.random(n),
    "signed": lambda rng, n: rng.normal(size=n),
    "ties": lambda rng, n: rng.integers(0, 3, n).astype(float),
    "all equal": lambda rng, n: np.full(n, rng.choice([0.0, -1.0, 1e-300, 1e300, rng.random()])),
    "one scale": lambda rng, n: rng.random(n) * 10.0 ** rng.uniform(-300, 300),
    "ties at a scale": lambda rng, n: rng.integers(-1, 3, n) / 2.0 * 10.0 ** rng.uniform(-300, 300),
    "many scales": lambda rng, n: rng.choice([-1.0, 1.0], n) * _powers(rng, n, -300, 300),
    "nearly tied": lambda rng, n: 1.0 + rng.integers(-3, 4, n) * 2.0**-52,
    "far from zero": lambda rng, n: 1e15 + rng.integers(0, 100, n).astype(float),
    "next to nothing, and one": lambda rng, n: np.where(np.arange(n) == 0, 1.0, rng.integers(0, 50, n) * 5e-324),
    "one giant": lambda rng, n: np.where(np.arange(n) == rng.integers(n), 1e300, rng.random(n)),
}


def block(number: int, size: int) -> Block:
    """The block of this number, of so many lists."""
    rng = np.random.default_rng([SEED, number])
    notion = str(rng.choice(["exposure", "merit", "gap"], p=[0.5, 0.3, 0.2]))
    most_groups = 2 if notion == "gap" else int(rng.choice([2, 3, 5, 8]))
    on_the_edge = bool(rng.random() < (0.4 if notion == "merit" else 0.1))
    lengths = _lengths(rng, size)
    if on_the_edge:
        lengths[:] = rng.integers(3, 12)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    codes = _codes(rng, lengths, most_groups, alike=on_the_edge)
    kinds = tuple(rng.choice(list(SCORES), size).tolist())
    scores = np.concatenate([SCORES[kind](rng, int(n)) for kind, n in zip(kinds, lengths, strict=True)])
    longest = int(lengths.max())
    fairness, demand = _fairness(rng, notion, most_groups, longest)
    names = NAMES[:most_groups]
    made = Block(number, scores, codes, offsets, fairness, _discount(rng, longest), names, kinds, demand)
    return _on_the_edge(made, rng) if on_the_edge else made


def _lengths(rng: np.random.Generator, size: int) -> npt.NDArray[np.int64]:
    lengths = rng.integers(1, 10, size)
    longer = rng.random(size)
    lengths = np.where(longer < 0.02, rng.integers(10, 60, size), lengths)
    return np.where(longer < 0.001, rng.integers(60, 200, size), lengths)


def _codes(
    rng: np.random.Generator, lengths: npt.NDArray[np.int64], most: int, *, alike: bool
) -> npt.NDArray[np.int32]:
    """Groups of random sizes, some of a single item; `alike` gives every list the same sizes."""
    shares = [rng.dirichlet(np.full(most, rng.choice([0.2, 1.0, 5.0]))) for _ in lengths]
    lists = [rng.choice(most, n, p=share) for n, share in zip(lengths, shares, strict=True)]
    if alike:
        lists = [rng.permutation(lists[0]) for _ in lists]
    return np.concatenate(lists).astype(np.int32)


def _fairness(rng: np.random.Generator, notion: str, groups: int, longest: int) -> tuple[Fairness, str]:
    names = NAMES[:groups]
    told = [notion]
    delta: float | dict[str, float] = float(rng.choice([0.0, 1e-15, 1e-9, 0.001, 0.02, 0.05, 0.2, 10.0]))
    if rng.random() < 0.25:
        delta = {name: float(rng.choice([0.0, 1e-12, 0.01, 0.05, 0.5])) for name in names}
        told.append("a delta per group")
    settings: dict[str, Any] = {"notion": notion, "delta": delta}
    if rng.random() < 0.3:
        settings["unit"] = "share"
        told.append("as a share")
    if notion == "merit":
        settings["merits"] = {name: float(rng.choice([0.0, 1e-6, 0.3, 0.5, 1.0, 3.0, 1e6])) for name in names}
    if rng.random() < 0.25:
        settings["every_ranking"] = _quota(rng, names, longest)
        told.append("a quota")
    settings["position_bias"], what = _bias(rng, longest)
    return Fairness(**settings), ", ".join([*told, what])


def _quota(rng: np.random.Generator, names: tuple[str, ...], longest: int) -> Quota:
    if rng.random() < 0.3:
        depth = int(rng.integers(1, longest + 1))
        return Quota(minimum={str(rng.choice(names)): {depth: int(rng.integers(0, min(depth, 4) + 1))}})
    top = int(rng.integers(1, longest + 1)) if rng.random() < 0.5 else None
    return Quota(slack=int(rng.integers(0, 3)), top=top)


def _bias(rng: np.random.Generator, longest: int) -> tuple[PositionBias, str]:
    kinds = ["formula", "steep", "cut off", "steps", "scaled", "flat"]
    kind = str(rng.choice(kinds, p=[0.4, 0.15, 0.2, 0.15, 0.05, 0.05]))
    if kind == "formula":
        return PositionBias(shift=float(rng.choice([0.0, 1.0]))), "plain exposure"
    if kind == "steep":
        return PositionBias(power=float(rng.choice([0.01, 3.0, 20.0]))), "steep or flat exposure"
    if kind == "cut off":
        return PositionBias(cutoff=int(rng.integers(1, 12))), "exposure cut off"
    if kind == "flat":
        return PositionBias(values=[0.5] * longest), "the same exposure everywhere"
    steps = np.sort(rng.integers(0, 4, longest) / 4.0)[::-1]
    steps[0] = 1.0
    if kind == "steps":
        return PositionBias(values=steps), "exposure in steps"
    return PositionBias(values=steps * 10.0 ** rng.uniform(-29, 29)), "exposure at another scale"


def _discount(rng: np.random.Generator, longest: int) -> Discount:
    kind = rng.random()
    if kind < 0.6:
        return Discount()
    if kind < 0.8:
        return Discount(cutoff=int(rng.integers(1, 12)))
    return Discount(values=np.sort(rng.integers(0, 5, longest) / 4.0 + 1e-3)[::-1])


def _on_the_edge(made: Block, rng: np.random.Generator) -> Block:
    """The same lists with a delta at their smallest feasible one, or a hair to either side of it."""
    first = made.one(0)
    strictest = made.fairness.with_delta(0.0)
    try:
        fair_policies(np.zeros(len(first.codes)), first.codes, first.offsets, strictest, group_names=made.names)
        return made
    except InfeasibleFairness as error:
        least = error.min_delta
    if least is None or not np.isfinite(least):
        return made
    nudge = float(rng.choice([0.0, 1e-16, 1e-13, 1e-10, 1e-7, -1e-16, -1e-13, -1e-10, -1e-7]))
    fairness = made.fairness.with_delta(max(0.0, least * (1.0 + nudge)))
    return replace(made, fairness=fairness, demand=f"{made.demand}, on the edge of feasibility")
