"""The paper's claims one by one, each beside what our runs say: numbers first, then a word.

A finding is computed, never typed: the same code speaks for the small scale and for the paper's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from scipy import stats

from spofr_core.evaluation.fronts import LEVELS_OF_VIOLATION, best_at_violation, lead_at_violation
from spofr_core.evaluation.seeds import mean_interval, paired_difference, sign_of
from spofr_core.evaluation.tradeoffs import SETTING, done, method_difference
from spofr_core.experiments.paper.paper_sweeps import PAPER_SECONDS, THROUGH
from spofr_core.fairness import TOLERANCE
from spofr_core.reporting import difference_text, method_title

Verdict = Literal["same", "different", "partly", "open"]
Frames = dict[str, pd.DataFrame]


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
    return [Finding(figure, claim, *judge(frames), data) for claim, judge in _CLAIMS.get(figure, [])]


Judge = Callable[[Frames], tuple[Verdict, list[str]]]


def _relaxing_helps(frames: Frames) -> tuple[Verdict, list[str]]:
    runs = _asked(frames)
    told, signs = [], []
    for key, part in runs.groupby([*SETTING, "method"], dropna=False, observed=True):
        ends = part[part["delta"].isin([part["delta"].min(), part["delta"].max()])]
        if ends["delta"].nunique() < 2:
            continue
        low, high = ends["delta"].min(), ends["delta"].max()
        named = ends.assign(end=np.where(ends["delta"] == high, "free", "tight"))
        found = paired_difference(named, ["method"], "dcg", between="end", first="free", second="tight")
        row = found.iloc[0]
        signs.append(sign_of(row))
        told.append(f"{_where(key)}: DCG at delta {high:g} minus delta {low:g} is {difference_text(row)}.")
    return _all_of(signs, "+"), told


def _merit_costs(frames: Frames) -> tuple[Verdict, list[str]]:
    runs = _asked(frames)
    told, signs = [], []
    for (dataset, method), part in runs.groupby(["dataset", "method"], observed=True):
        found = paired_difference(part, ["delta"], "dcg", between="notion", first="merit", second="exposure")
        for row in found.to_dict("records")[:3]:
            signs.append(sign_of(row))
            told.append(
                f"{dataset}, {_name(method)}, delta {row['delta']:g}: merit minus exposure {difference_text(row)}."
            )
    return _all_of(signs, "-"), told


def _always_held(frames: Frames) -> tuple[Verdict, list[str]]:
    runs = _asked(frames)
    broken = runs[runs["violation_max"] > runs["delta"] + TOLERANCE]
    told = [f"{len(runs) - len(broken)} of {len(runs)} models hold their delta on every test query (to 1e-9)."]
    for row in broken.head(3).to_dict("records"):
        told.append(
            f"{row['dataset']}, {row['notion']}, delta {row['delta']:g}: {row['fair_share']:.1%} hold it; the others "
            "cannot hold it with any policy and were given the smallest delta that they can."
        )
    if not len(runs):
        return "open", told
    return ("same" if broken.empty else "partly"), told


def _beats_penalties(frames: Frames) -> tuple[Verdict, list[str]]:
    told, signs = [], []
    for key, runs in done(frames["results"]).groupby(["dataset", "notion"], observed=True):
        for level in LEVELS_OF_VIOLATION:
            where = f"{key[0]}, {key[1]}, mean violation <= {level:g}"
            best = best_at_violation(runs, (level,)).dropna(subset=["dcg"])
            there = set(best["method"])
            if "spofr" not in there:
                continue
            rivals = [rival for rival in ("fultr", "deltr") if rival in there]
            if not rivals:
                ours = float(best.loc[best["method"] == "spofr", "dcg"].iloc[0])
                signs.append("+")
                told.append(f"{where}: SPOFR {ours:.3f}, no FULTR or DELTR gets there.")
            for rival in rivals:
                row = lead_at_violation(runs[runs["method"].isin(["spofr", rival])], level, ahead="spofr").iloc[0]
                signs.append(row["sign"])
                told.append(f"{where}: SPOFR minus {_name(rival)} {difference_text(row)}.")
    return _all_of(signs, "+"), told


def _near_ideal(frames: Frames) -> tuple[Verdict, list[str]]:
    runs = _asked(frames)
    told, shares = [], []
    for key, part in runs.groupby([*SETTING, "method"], dropna=False, observed=True):
        if key[-1] == "pto":
            continue
        free = part[part["delta"] == part["delta"].max()]
        mean, lower, upper = mean_interval((free["dcg"] / free["ideal_dcg"]).to_numpy(dtype=float))
        shares.append(mean)
        band = "" if np.isnan(lower) else f" ({lower:.1%} to {upper:.1%})"
        told.append(f"{_where(key)}: {mean:.1%}{band} of the ideal DCG at delta {free['delta'].max():g}.")
    if not shares:
        return "open", told
    return ("same" if min(shares) > 0.95 else "different"), told


def _mean_below_delta(frames: Frames) -> tuple[Verdict, list[str]]:
    runs = _asked(frames)
    runs = runs[(runs["delta"] > 0) & runs["method"].isin(THROUGH)]
    told, ratios = [], []
    for key, part in runs.groupby(["dataset", "notion", "delta"], observed=True):
        ratio = float((part["violation_mean"] / part["delta"]).mean())
        ratios.append(ratio)
        told.append(f"{key[0]}, {key[1]}, delta {key[2]:g}: the mean violation is {ratio:.0%} of delta.")
    return _all_of(["+" if ratio < 0.5 else "0" for ratio in ratios], "+"), told


def _penalty_steers_badly(frames: Frames) -> tuple[Verdict, list[str]]:
    runs = done(frames["results"])
    runs = runs[runs["penalty"].notna()]
    told, ranks = [], []
    for key, part in runs.groupby(["dataset", "notion", "method"], observed=True):
        if part["penalty"].nunique() < 3:
            continue
        if np.ptp(part["violation_mean"].to_numpy()) == 0:
            told.append(f"{key[0]}, {key[1]}, {_name(key[2])}: the violation is the same at every penalty.")
            continue
        rank = float(stats.spearmanr(part["penalty"], part["violation_mean"]).statistic)
        ranks.append(rank)
        told.append(
            f"{key[0]}, {key[1]}, {_name(key[2])}: rank correlation of penalty and violation {rank:+z.2f} "
            "(-1: a larger penalty always means a smaller violation)."
        )
    if not ranks:
        return "open", told
    return ("different" if max(ranks) < -0.8 else "same" if min(ranks) > -0.5 else "partly"), told


def _end_to_end_adds(frames: Frames) -> tuple[Verdict, list[str]]:
    told, signs = [], []
    for first in THROUGH:
        for row in method_difference(frames["results"], first, "pto").to_dict("records"):
            signs.append(sign_of(row))
            where = f"{row['dataset']}, {row['notion']}, delta {row['delta']:g}"
            told.append(f"{where}: {_name(first)} minus predict-then-optimise {difference_text(row)}.")
    return "open", told


def _all_queries(frames: Frames) -> tuple[Verdict, list[str]]:
    frame = frames["guarantee"]
    told, good = [], []
    whole = frame[frame["level"] == 1.0]
    for key, part in whole.groupby(["dataset", "notion", "method"], observed=True):
        reached = part["dcg"].notna() & part["holds"].fillna(value=False).astype(bool)
        told.append(f"{key[0]}, {key[1]}, {_name(key[2])}: every query at {reached.sum()} of {len(part)} deltas.")
        if key[2] in (*THROUGH, "pto"):
            good.append(bool(reached.all()))
    return ("open" if not good else "same" if all(good) else "partly"), told


def _best_at_every_level(frames: Frames) -> tuple[Verdict, list[str]]:
    """A slot is one model of each method: they differ where their intervals over the test queries do not overlap."""
    frame = frames["guarantee"]
    told, signs = [], []
    for key, part in frame.groupby(["dataset", "notion", "delta", "level"], observed=True):
        slots = part.dropna(subset=["dcg"]).set_index("method")
        rivals = slots[slots.index.isin(["fultr", "deltr"])]
        if "spofr" not in slots.index or rivals.empty:
            continue
        ours, rival = slots.loc["spofr"], rivals.sort_values("dcg").iloc[-1]
        ahead, behind = ours["dcg_lower"] > rivals["dcg_upper"].max(), ours["dcg_upper"] < rivals["dcg_lower"].max()
        signs.append("+" if ahead else "-" if behind else "0")
        if behind:
            told.append(
                f"{key[0]}, {key[1]}, delta {key[2]:g}, level {key[3]:.0%}: "
                f"{_name(rival.name)} {rival['dcg']:.3f}, SPOFR {ours['dcg']:.3f}."
            )
    told.insert(
        0,
        f"Of {len(signs)} slots where FULTR or DELTR has a bar, SPOFR is ahead in {signs.count('+')} and behind in "
        f"{signs.count('-')}; in {signs.count('0')} the intervals over the test queries overlap.",
    )
    return _all_of(signs, "+"), told[:8]


def _signs_cancel(frames: Frames) -> tuple[Verdict, list[str]]:
    runs = done(frames["results"])
    told, ratios = [], []
    for key, part in runs[runs["method"] == "fultr"].groupby(["dataset", "notion"], observed=True):
        strong = part[part["penalty"] == part["penalty"].max()]
        signed, plain = float(strong["violation_signed_mean"].abs().mean()), float(strong["violation_mean"].mean())
        ratios.append(signed / plain if plain > 0 else 1.0)
        told.append(
            f"{key[0]}, {key[1]}: at the largest penalty the signed mean is {signed:.4f}, the mean size {plain:.4f}."
        )
    if not ratios:
        return "open", told
    return ("same" if max(ratios) < 0.5 else "partly"), told


def _more_groups_cost(frames: Frames) -> tuple[Verdict, list[str]]:
    curve = frames["multigroup"]
    told, signs = [], []
    for (dataset, method), part in curve.groupby(["dataset", "method"], observed=True):
        tight = part[part["delta"] == part["delta"].min()].sort_values("groups")
        shown = ", ".join(f"{int(g)}: {d:.3f}" for g, d in zip(tight["groups"], tight["dcg"], strict=True))
        told.append(f"{dataset}, {_name(method)}, delta {tight['delta'].min():g}, DCG by number of groups: {shown}.")
        if len(tight) > 2 and np.ptp(tight["dcg"].to_numpy()) > 0:
            rank = float(stats.spearmanr(tight["groups"].astype(float), tight["dcg"]).statistic)
            signs.append("-" if rank < -0.8 else "0")
    return _all_of(signs, "-"), told


def _groups_converge(frames: Frames) -> tuple[Verdict, list[str]]:
    curve = frames["multigroup"]
    told, good = [], []
    for (dataset, method), part in curve.groupby(["dataset", "method"], observed=True):
        ends = [part[part["delta"] == end()]["dcg"] for end in (part["delta"].min, part["delta"].max)]
        tight, free = (float(end.max() - end.min()) for end in ends)
        good.append(free < 0.5 * tight)
        told.append(
            f"{dataset}, {_name(method)}: DCG differs by {tight:.3f} at the smallest delta, {free:.3f} at the largest."
        )
    return ("open" if not good else "same" if all(good) else "partly"), told


def _size_does_not_matter(frames: Frames) -> tuple[Verdict, list[str]]:
    runs = _asked(frames)
    runs = runs[runs["method"] == "spofr"]
    told, signs = [], []
    for key, part in runs.groupby(["dataset", "notion", "delta"], observed=True):
        sizes = sorted(part["clicks"].dropna().unique())
        if len(sizes) < 2:
            continue
        named = part.assign(size=part["clicks"].astype("float64").map({sizes[0]: "few", sizes[-1]: "many"}))
        found = paired_difference(named, ["method"], "dcg", between="size", first="many", second="few")
        if found.empty:
            continue
        row = found.iloc[0]
        signs.append(_sameness(row, float(part["dcg"].mean())))
        told.append(
            f"{key[0]}, delta {key[2]:g}: {int(sizes[-1]):,} minus {int(sizes[0]):,} clicks {difference_text(row)}."
        )
    if "?" in signs and "different" not in signs:
        return "open", told
    return _all_of(signs, "same"), told


def _sameness(row: Any, mean: float) -> str:
    """ "same" if the interval of a difference lies within 5 % of the mean, "?" if it is too wide to tell."""
    if sign_of(row) in "+-":
        return "different"
    return "same" if max(-row["lower"], row["upper"]) <= 0.05 * mean else "?"


def _slower_than_fultr(frames: Frames) -> tuple[Verdict, list[str]]:
    times = frames["runtime"]
    told, ratios = [], []
    for clicks, part in times.groupby("clicks", observed=True):
        seconds = part.set_index("method")["seconds_per_epoch"]
        epochs = part.set_index("method")["epochs"].map("{:.3g} epochs".format)
        if not {"spofr", "fultr"} <= set(seconds.index):
            continue
        ratios.append(float(seconds["spofr"] / seconds["fultr"]))
        paper = [PAPER_SECONDS.get((method, int(str(clicks)))) for method in ("spofr", "fultr")]
        beside = f" (paper: {paper[0][0]} s and {paper[1][0]} s)" if paper[0] and paper[1] else ""
        told.append(
            f"{int(str(clicks)):,} clicks: SPOFR {seconds['spofr']:.2f} s per epoch ({epochs['spofr']}), "
            f"FULTR {seconds['fultr']:.2f} s ({epochs['fultr']}){beside}."
        )
    if not ratios:
        return "open", told
    return ("same" if min(ratios) > 1 else "different" if max(ratios) < 1 else "partly"), told


_CLAIMS: dict[str, list[tuple[str, Judge]]] = {
    "tradeoff": [
        ("Utility rises as delta is relaxed, on every dataset and for both notions.", _relaxing_helps),
        ("Merit-weighted fairness costs more utility than unweighted fairness.", _merit_costs),
        ("delta bounds the violation of every query.", _always_held),
    ],
    "grid": [
        ("SPOFR attains substantially more utility than FULTR and DELTR.", _beats_penalties),
        ("As delta is relaxed, SPOFR comes very close to the ideal DCG.", _near_ideal),
        ("Mean violations of SPOFR are much lower than its delta.", _mean_below_delta),
        ("A larger penalty does not reliably mean a smaller violation for FULTR and DELTR.", _penalty_steers_badly),
        (
            "(Not asked in the paper.) What does training through the programme add to predict-then-optimise?",
            _end_to_end_adds,
        ),
    ],
    "guarantee": [
        ("SPOFR holds delta on 100 % of the queries; the baselines cannot.", _all_queries),
        ("It does so while surpassing the baselines in utility.", _best_at_every_level),
        ("Penalties act on averages, in which violations of opposite sign cancel.", _signs_cancel),
    ],
    "multigroup": [
        ("Utility falls as the number of groups grows.", _more_groups_cost),
        ("It converges for all numbers of groups as delta grows.", _groups_converge),
    ],
    "sizes": [("The size of the training set does not affect the utility at convergence.", _size_does_not_matter)],
    "runtime": [
        ("An epoch of SPOFR (with cached solvers) takes 6.6 to 7.8 times as long as one of FULTR.", _slower_than_fultr)
    ],
}


def _asked(frames: Frames) -> pd.DataFrame:
    runs = done(frames["results"])
    return runs[runs["delta"].notna()]


def _all_of(signs: Sequence[str], wanted: str) -> Verdict:
    """ "same" if all are as claimed, "different" if none is, "open" if nothing is known."""
    known = [sign for sign in signs if sign != "?"]
    if not known:
        return "open"
    if all(sign == wanted for sign in known):
        return "same"
    return "different" if wanted not in known else "partly"


def _name(method: Any) -> str:
    return method_title(method)


def _where(key: Any) -> str:
    dataset, notion, *_, method = key
    return f"{dataset}, {notion}, {_name(method)}"
