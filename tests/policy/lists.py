"""Random lists, and the notions to ask of them, for property tests."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from spofr_core.fairness import Discount, Fairness, PositionBias


@dataclass(frozen=True)
class Case:
    """One list with what is asked of it."""

    scores: np.ndarray
    groups: np.ndarray
    fairness: Fairness
    discount: Discount


def drawn_scores(draw: st.DrawFn, rng: np.random.Generator, codes: np.ndarray) -> np.ndarray:
    """Scores of every kind that has once broken a solver."""
    n = len(codes)
    kind = draw(st.sampled_from(["normal", "binary", "ties", "equal", "tiny", "huge", "shifted"]))
    lean = 0.7 * codes
    return {
        "normal": lambda: rng.normal(size=n) + lean,
        "binary": lambda: (rng.random(n) < 0.2).astype(float),
        "ties": lambda: np.round(rng.normal(size=n) + lean),
        "equal": lambda: np.full(n, 0.3),
        "tiny": lambda: 1e-6 * (rng.normal(size=n) + lean),
        "huge": lambda: 1e6 * (rng.normal(size=n) + lean),
        "shifted": lambda: 1e6 + rng.normal(size=n) + lean,
    }[kind]()


@st.composite
def cases(
    draw: st.DrawFn,
    *,
    notions: tuple[str, ...] = ("exposure", "merit", "gap"),
    most: int = 14,
    some_ungrouped: bool = False,
) -> Case:
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.integers(1, most))
    notion = draw(st.sampled_from(notions))
    n_groups = draw(st.integers(1, 2 if notion == "gap" else 6))
    codes = rng.integers(0, n_groups, n)
    groups = np.array(["f", "m", "x", "d", "a", "b"])[codes]
    names = [*sorted(set(groups.tolist())), "absent"]
    delta: float | dict[str, float] = draw(st.sampled_from([0.0, 0.003, 0.02, 0.1, 50.0]))
    if draw(st.booleans()):
        delta = {name: float(rng.choice([0.0, 0.01, 0.05, 1.0])) for name in names}
    bias = draw(st.sampled_from([{}, {"shift": 0.0}, {"cutoff": 3}, {"power": 0.3}, {"values": np.full(most, 0.5)}]))
    fairness = Fairness(
        delta=delta,
        notion=notion,
        merits={name: float(rng.choice([0.0, 0.5, 1.0, 1.7])) for name in names} if notion == "merit" else None,
        position_bias=PositionBias(**bias),
    )
    discount = Discount(cutoff=draw(st.sampled_from([None, 4])))
    if some_ungrouped:
        groups = np.where(rng.random(n) < draw(st.sampled_from([0.1, 0.5, 1.0])), None, groups.astype(object))
    return Case(drawn_scores(draw, rng, codes), groups, fairness, discount)
