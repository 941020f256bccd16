"""The paper's claims one by one, each beside what our runs say: numbers first, then a word.

A finding is computed, never typed: the same code speaks for the small scale and for the paper's, and one rule
(`claim_rule`) for every claim. What is asked of a claim's numbers stands beside it in `CLAIMS`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from spofr_core.evaluation.fronts import LEVELS_OF_VIOLATION, best_at_violation, lead_at_violation
from spofr_core.evaluation.seeds import mean_interval, paired_difference
from spofr_core.evaluation.tradeoffs import SETTING, done, method_difference
from spofr_core.experiments.paper.claim_rule import (
    MARGIN,
    Measured,
    Verdict,
    less,
    more,
    no_effect,
    of_seeds,
    substantially_more,
    verdict,
)
from spofr_core.experiments.paper.paper_sweeps import PAPER_SECONDS, THROUGH
from spofr_core.fairness import TOLERANCE
from spofr_core.reporting import difference_text, method_title

Frames = dict[str, pd.DataFrame]
PENALISED = ("fultr", "deltr")
NEAR, MUCH_LOWER, FOLLOWS, HARDLY = 0.95, 0.5, -0.8, -0.5
"""What counts as near the ideal, as much lower, and as a rank correlation by which one falls with the other or not."""
AS_SLOW = (
    min(PAPER_SECONDS["spofr", size][0] / PAPER_SECONDS["fultr", size][0] for size in (5_000, 50_000, 100_000)) / 2
)
"""Half the least ratio of the paper's epochs."""
_ALL = (0.999, inf)
_NOT_ALL = (-inf, 0.999)
_UNRIVALLED = Measured(1.0, (0.0, inf))
"""Of a comparison in which no rival gets to where SPOFR is."""


@dataclass(frozen=True)
class Finding:
    """A claim of the paper, and ours.

    Attributes
    ----------
    figure : str
    claim : str
        What the paper says, in our words.
    verdict : {"same", "different", "partly", "open"}
        "open": the runs do not tell.
    numbers : list of str
        What we measured, a sentence each.
    data : str
        A dataset that the paper does not have; empty for those of the paper, taken together.
    """

    figure: str
    claim: str
    verdict: Verdict
    numbers: list[str]
    data: str = ""


def findings(figure: str, frames: Frames, data: str = "") -> list[Finding]:
    """Everything that can be said about a figure from its frames ("results" and the tidy ones)."""
    made = []
    for claim in CLAIMS.get(figure, []):
        numbers, told = claim.measure(frames)
        made.append(Finding(figure, claim.text, verdict(numbers), told, data))
    return made


Measurement = Callable[[Frames], tuple[list[Measured], list[str]]]


@dataclass(frozen=True)
class Claim:
    """What the paper says, what is asked of a number for it to be shown, and how the numbers are measured."""

    text: str
    asked: str
    measure: Measurement


def _relaxing_helps(frames: Frames) -> tuple[list[Measured], list[str]]:
    runs = _asked(frames)
    told, numbers = [], []
    for key, part in runs.groupby([*SETTING, "method"], dropna=False, observed=True):
        ends = part[part["delta"].isin([part["delta"].min(), part["delta"].max()])]
        if ends["delta"].nunique() < 2:
            continue
        low, high = ends["delta"].min(), ends["delta"].max()
        named = ends.assign(end=np.where(ends["delta"] == high, "free", "tight"))
        found = paired_difference(named, ["method"], "dcg", between="end", first="free", second="tight")
        row = found.iloc[0]
        numbers.append(more(row, ends["dcg"].mean()))
        told.append(f"{_where(key)}: DCG at delta {high:g} minus delta {low:g} is {difference_text(row)}.")
    return numbers, told


def _merit_costs(frames: Frames) -> tuple[list[Measured], list[str]]:
    runs = _asked(frames)
    told, numbers = [], []
    for (dataset, method), part in runs.groupby(["dataset", "method"], observed=True):
        found = paired_difference(part, ["delta"], "dcg", between="notion", first="merit", second="exposure")
        for row in found.to_dict("records")[:3]:
            numbers.append(less(row, part.loc[part["delta"] == row["delta"], "dcg"].mean()))
            told.append(
                f"{dataset}, {_name(method)}, delta {row['delta']:g}: merit minus exposure {difference_text(row)}."
            )
    return numbers, told


def _always_held(frames: Frames) -> tuple[list[Measured], list[str]]:
    runs = _asked(frames)
    beyond = runs["violation_max"] - runs["delta"]
    broken = runs[beyond > TOLERANCE]
    told = [f"{len(runs) - len(broken)} of {len(runs)} models hold their delta on every test query (to 1e-9)."]
    for row in broken.head(3).to_dict("records"):
        told.append(
            f"{row['dataset']}, {row['notion']}, delta {row['delta']:g}: {row['fair_share']:.1%} hold it; the others "
            "cannot hold it with any policy and were given the smallest delta that they can."
        )
    return [Measured(float(each), (-inf, 2 * TOLERANCE)) for each in beyond], told


def _beats_penalties(frames: Frames) -> tuple[list[Measured], list[str]]:
    told, numbers = [], []
    for key, runs in done(frames["results"]).groupby(["dataset", "notion"], observed=True):
        for level in LEVELS_OF_VIOLATION:
            where = f"{key[0]}, {key[1]}, mean violation <= {level:g}"
            best = best_at_violation(runs, (level,)).dropna(subset=["dcg"])
            dcg = {str(row["method"]): float(row["dcg"]) for row in best.to_dict("records")}
            if "spofr" not in dcg:
                continue
            rivals = [rival for rival in PENALISED if rival in dcg]
            if not rivals:
                numbers.append(_UNRIVALLED)
                told.append(f"{where}: SPOFR {dcg['spofr']:.3f}, no FULTR or DELTR gets there.")
            for rival in rivals:
                row = lead_at_violation(runs[runs["method"].isin(["spofr", rival])], level, ahead="spofr").iloc[0]
                numbers.append(substantially_more(row, (dcg["spofr"] + dcg[rival]) / 2))
                told.append(f"{where}: SPOFR minus {_name(rival)} {difference_text(row)}.")
    return numbers, told


def _near_ideal(frames: Frames) -> tuple[list[Measured], list[str]]:
    runs = _asked(frames)
    told, numbers = [], []
    for key, part in runs.groupby([*SETTING, "method"], dropna=False, observed=True):
        if key[-1] == "pto":
            continue
        free = part[part["delta"] == part["delta"].max()]
        shares = (free["dcg"] / free["ideal_dcg"]).to_numpy(dtype=float)
        mean, lower, upper = mean_interval(shares)
        numbers.append(of_seeds(shares, (NEAR, inf)))
        band = "" if np.isnan(lower) else f" ({lower:.1%} to {upper:.1%})"
        told.append(f"{_where(key)}: {mean:.1%}{band} of the ideal DCG at delta {free['delta'].max():g}.")
    return numbers, told


def _mean_below_delta(frames: Frames) -> tuple[list[Measured], list[str]]:
    runs = _asked(frames)
    runs = runs[(runs["delta"] > 0) & runs["method"].isin(THROUGH)]
    told, numbers = [], []
    for key, part in runs.groupby(["dataset", "notion", "delta", "method"], observed=True):
        ratios = part["violation_mean"] / part["delta"]
        numbers.append(of_seeds(ratios, (-inf, MUCH_LOWER)))
        where = f"{key[0]}, {key[1]}, delta {key[2]:g}, {_name(key[3])}"
        told.append(f"{where}: the mean violation is {ratios.mean():.0%} of delta.")
    return numbers, told


def _penalty_steers_badly(frames: Frames) -> tuple[list[Measured], list[str]]:
    runs = done(frames["results"])
    runs = runs[runs["penalty"].notna()]
    told, numbers = [], []
    for key, part in runs.groupby(["dataset", "notion", "method"], observed=True):
        if part["penalty"].nunique() < 3:
            continue
        if np.ptp(part["violation_mean"].to_numpy()) == 0:
            told.append(f"{key[0]}, {key[1]}, {_name(key[2])}: the violation is the same at every penalty.")
            continue
        rank = float(stats.spearmanr(part["penalty"], part["violation_mean"]).statistic)
        numbers.append(Measured(rank, (HARDLY, inf), (FOLLOWS, inf)))
        told.append(
            f"{key[0]}, {key[1]}, {_name(key[2])}: rank correlation of penalty and violation {rank:+z.2f} "
            "(-1: a larger penalty always means a smaller violation)."
        )
    return numbers, told


def _end_to_end_adds(frames: Frames) -> tuple[list[Measured], list[str]]:
    told, numbers = [], []
    for first in THROUGH:
        runs = _asked(frames)
        runs = runs[runs["method"].isin([first, "pto"])]
        for row in method_difference(runs, first, "pto").to_dict("records"):
            alike = np.all([runs[name] == row[name] for name in ("dataset", "notion", "delta")], axis=0)
            numbers.append(more(row, runs.loc[alike, "dcg"].mean()))
            where = f"{row['dataset']}, {row['notion']}, delta {row['delta']:g}"
            told.append(f"{where}: {_name(first)} minus predict-then-optimise {difference_text(row)}.")
    return numbers, told


def _all_queries(frames: Frames) -> tuple[list[Measured], list[str]]:
    frame = frames["guarantee"]
    told, numbers = [], []
    whole = frame[frame["level"] == 1.0]
    for key, part in whole.groupby(["dataset", "notion", "method"], observed=True):
        reached = part["dcg"].notna() & part["holds"].fillna(value=False).astype(bool)
        told.append(f"{key[0]}, {key[1]}, {_name(key[2])}: every query at {reached.sum()} of {len(part)} deltas.")
        if key[2] in THROUGH:
            numbers.append(Measured(float(reached.mean()), _ALL))
        elif key[2] in PENALISED:
            numbers.append(Measured(float(reached.mean()), _NOT_ALL))
    return numbers, told


def _best_at_every_level(frames: Frames) -> tuple[list[Measured], list[str]]:
    """A slot is a delta and a level; each method stands there with its best model of a seed."""
    bars = frames["guarantee-by-seed"].dropna(subset=["dcg"])
    told, numbers = [], []
    for key, part in bars.groupby(["dataset", "notion"], observed=True):
        slots = part.pivot_table(index=["delta", "level", "seed"], columns="method", values="dcg", observed=True)
        for rival in (rival for rival in PENALISED if rival in set(frames["guarantee"]["method"])):
            where = f"{key[0]}, {key[1]}"
            both = slots[["spofr", rival]].dropna() if {"spofr", rival} <= set(slots) else slots.iloc[:0]
            if both.empty:
                numbers += [_UNRIVALLED] if "spofr" in slots else []
                told.append(f"{where}: {_name(rival)} has no bar beside one of SPOFR's.")
                continue
            means = both.groupby("seed").mean()
            mean, lower, upper = mean_interval((means["spofr"] - means[rival]).to_numpy(dtype=float))
            row = {"n": len(means), "difference": mean, "lower": lower, "upper": upper}
            numbers.append(more(row, float(means[["spofr", rival]].to_numpy().mean())))
            shared = both.groupby(["delta", "level"]).ngroups
            beside = f"{shared} of {slots['spofr'].dropna().groupby(['delta', 'level']).ngroups} bars of SPOFR's"
            told.append(f"{where}: SPOFR minus {_name(rival)} {difference_text(row)}, the mean over {beside}.")
    return numbers, told


def _signs_cancel(frames: Frames) -> tuple[list[Measured], list[str]]:
    runs = done(frames["results"])
    told, numbers = [], []
    for key, part in runs[runs["method"] == "fultr"].groupby(["dataset", "notion"], observed=True):
        strong = part[part["penalty"] == part["penalty"].max()]
        signed, plain = float(strong["violation_signed_mean"].abs().mean()), float(strong["violation_mean"].mean())
        sizes = strong["violation_signed_mean"].abs() / strong["violation_mean"].where(strong["violation_mean"] > 0)
        numbers.append(of_seeds(sizes.fillna(1.0), (-inf, MUCH_LOWER)))
        told.append(
            f"{key[0]}, {key[1]}: at the largest penalty the signed mean is {signed:.4f}, the mean size {plain:.4f}."
        )
    return numbers, told


def _more_groups_cost(frames: Frames) -> tuple[list[Measured], list[str]]:
    curve = frames["multigroup"]
    told, numbers = [], []
    for (dataset, method), part in curve.groupby(["dataset", "method"], observed=True):
        tight = part[part["delta"] == part["delta"].min()].sort_values("groups")
        shown = ", ".join(f"{int(g)}: {d:.3f}" for g, d in zip(tight["groups"], tight["dcg"], strict=True))
        told.append(f"{dataset}, {_name(method)}, delta {tight['delta'].min():g}, DCG by number of groups: {shown}.")
        if len(tight) > 2 and np.ptp(tight["dcg"].to_numpy()) > 0:
            rank = float(stats.spearmanr(tight["groups"].astype(float), tight["dcg"]).statistic)
            numbers.append(Measured(rank, (-inf, FOLLOWS), (-inf, HARDLY)))
    return numbers, told


def _groups_converge(frames: Frames) -> tuple[list[Measured], list[str]]:
    curve = frames["multigroup"]
    told, numbers = [], []
    for (dataset, method), part in curve.groupby(["dataset", "method"], observed=True):
        ends = [part[part["delta"] == end()]["dcg"] for end in (part["delta"].min, part["delta"].max)]
        tight, free = (float(end.max() - end.min()) for end in ends)
        if tight > 0:
            numbers.append(Measured(free / tight, (-inf, MUCH_LOWER)))
        told.append(
            f"{dataset}, {_name(method)}: DCG differs by {tight:.3f} at the smallest delta, {free:.3f} at the largest."
        )
    return numbers, told


def _size_does_not_matter(frames: Frames) -> tuple[list[Measured], list[str]]:
    runs = _asked(frames)
    runs = runs[runs["method"] == "spofr"]
    told, numbers = [], []
    for key, part in runs.groupby(["dataset", "notion", "delta"], observed=True):
        sizes = sorted(part["clicks"].dropna().unique())
        if len(sizes) < 2:
            continue
        named = part.assign(size=part["clicks"].astype("float64").map({sizes[0]: "few", sizes[-1]: "many"}))
        found = paired_difference(named, ["method"], "dcg", between="size", first="many", second="few")
        if found.empty:
            continue
        row = found.iloc[0]
        numbers.append(no_effect(row, named.loc[named["size"].notna(), "dcg"].mean()))
        told.append(
            f"{key[0]}, delta {key[2]:g}: {int(sizes[-1]):,} minus {int(sizes[0]):,} clicks {difference_text(row)}."
        )
    return numbers, told


def _slower_than_fultr(frames: Frames) -> tuple[list[Measured], list[str]]:
    times = frames["runtime"]
    told, numbers = [], []
    for clicks, part in times.groupby("clicks", observed=True):
        seconds = part.set_index("method")["seconds_per_epoch"]
        epochs = part.set_index("method")["epochs"].map("{:.3g} epochs".format)
        if not {"spofr", "fultr"} <= set(seconds.index):
            continue
        ratio = float(seconds["spofr"] / seconds["fultr"])
        numbers.append(Measured(ratio, (AS_SLOW, inf)))
        paper = [PAPER_SECONDS.get((method, int(str(clicks)))) for method in ("spofr", "fultr")]
        beside = f" (paper: {paper[0][0]} s and {paper[1][0]} s)" if paper[0] and paper[1] else ""
        told.append(
            f"{int(str(clicks)):,} clicks: SPOFR {seconds['spofr']:.2f} s per epoch ({epochs['spofr']}), "
            f"FULTR {seconds['fultr']:.2f} s ({epochs['fultr']}), {ratio:.2f} times as long{beside}."
        )
    return numbers, told


CLAIMS: dict[str, list[Claim]] = {
    "tradeoff": [
        Claim(
            "Utility rises as delta is relaxed, on every dataset and for both notions.",
            "DCG at the largest delta is above that at the smallest",
            _relaxing_helps,
        ),
        Claim(
            "Merit-weighted fairness costs more utility than unweighted fairness.",
            "DCG under merit is below that under exposure, at each of the three smallest deltas",
            _merit_costs,
        ),
        Claim("delta bounds the violation of every query.", "each model holds it on every test query", _always_held),
    ],
    "grid": [
        Claim(
            "SPOFR attains substantially more utility than FULTR and DELTR.",
            "DCG is above each rival's by more than the margin, at each mean violation allowed, or no rival gets there",
            _beats_penalties,
        ),
        Claim(
            "As delta is relaxed, SPOFR comes very close to the ideal DCG.",
            f"more than {NEAR:.0%} of it at the largest delta",
            _near_ideal,
        ),
        Claim(
            "Mean violations of SPOFR are much lower than its delta.",
            f"less than {MUCH_LOWER:.0%} of it, at each delta",
            _mean_below_delta,
        ),
        Claim(
            "A larger penalty does not reliably mean a smaller violation for FULTR and DELTR.",
            f"their rank correlation is above {HARDLY:g}; below {FOLLOWS:g} against it",
            _penalty_steers_badly,
        ),
        Claim(
            "(Not in the paper.) Training through the programme adds utility to predict-then-optimise.",
            "DCG is above that of predict-then-optimise, at each delta",
            _end_to_end_adds,
        ),
    ],
    "guarantee": [
        Claim(
            "SPOFR holds delta on 100 % of the queries; the baselines cannot.",
            "SPOFR has such a model for every delta, FULTR and DELTR have not",
            _all_queries,
        ),
        Claim(
            "It does so while surpassing the baselines in utility.",
            "DCG is above each rival's, the mean over the deltas and levels for which both have a model",
            _best_at_every_level,
        ),
        Claim(
            "Penalties act on averages, in which violations of opposite sign cancel.",
            f"FULTR's signed mean is less than {MUCH_LOWER:.0%} of the mean size, at the largest penalty",
            _signs_cancel,
        ),
    ],
    "multigroup": [
        Claim(
            "Utility falls as the number of groups grows.",
            f"their rank correlation is below {FOLLOWS:g} at the smallest delta; above {HARDLY:g} against it",
            _more_groups_cost,
        ),
        Claim(
            "It converges for all numbers of groups as delta grows.",
            f"DCG differs less than {MUCH_LOWER:.0%} as much at the largest delta as at the smallest",
            _groups_converge,
        ),
    ],
    "sizes": [
        Claim(
            "The size of the training set does not affect the utility at convergence.",
            f"DCG with most and with fewest clicks differs by less than {MARGIN:.0%}",
            _size_does_not_matter,
        )
    ],
    "runtime": [
        Claim(
            "An epoch of SPOFR (with cached solvers) takes 6.6 to 7.8 times as long as one of FULTR.",
            f"more than {AS_SLOW:.1f} times as long, half of the least ratio in the paper",
            _slower_than_fultr,
        )
    ],
}


def _asked(frames: Frames) -> pd.DataFrame:
    runs = done(frames["results"])
    return runs[runs["delta"].notna()]


def _name(method: Any) -> str:
    return method_title(method)


def _where(key: Any) -> str:
    dataset, notion, *_, method = key
    return f"{dataset}, {notion}, {_name(method)}"
