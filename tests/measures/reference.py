"""The measures once more, from their definitions: one ranking at a time, in plain Python."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby, permutations, product


def orders(scores: Sequence[float]) -> Iterator[tuple[int, ...]]:
    """Every order of the items from the highest score down, the ties in every order; all equally likely."""
    places = sorted(range(len(scores)), key=lambda i: -scores[i])
    ties = [list(tie) for _, tie in groupby(places, key=lambda i: scores[i])]
    for chosen in product(*(permutations(tie) for tie in ties)):
        yield tuple(item for tie in chosen for item in tie)


def expectation(scores: Sequence[float], value: Callable[[tuple[int, ...]], float]) -> float:
    """Mean over the orders."""
    found = [value(order) for order in orders(scores)]
    return sum(found) / len(found)


def list_target(groups: Sequence[str]) -> dict[str, float]:
    return {g: groups.count(g) / len(groups) for g in sorted(set(groups))}


def ndkl(shown: Sequence[str], target: dict[str, float], depth: int | None = None) -> float:
    total = z = 0.0
    for k in range(1, min(len(shown), depth or len(shown)) + 1):
        divergence = 0.0
        for g, p in target.items():
            share = shown[:k].count(g) / k
            if share:
                divergence += share * math.log(share / p)
        total += divergence / math.log2(k + 1)
        z += 1 / math.log2(k + 1)
    return total / z


def skew(shown: Sequence[str], group: str, target: dict[str, float], k: int) -> float:
    top = shown[:k]
    share = top.count(group) / len(top)
    return math.log(share / target[group]) if share else -math.inf


def arp(shown: Sequence[str]) -> float:
    wins = dict.fromkeys(shown, 0)
    pairs = dict.fromkeys(shown, 0)
    for i, above in enumerate(shown):
        for below in shown[i + 1 :]:
            if above != below:
                wins[above] += 1
                pairs[above] += 1
                pairs[below] += 1
    shares = [wins[g] / pairs[g] for g in wins]
    return max(shares) - min(shares)


def rnd_sum(shown: Sequence[str], group: str, step: int) -> float:
    p = shown.count(group) / len(shown)
    return sum(abs(shown[:i].count(group) / i - p) / math.log2(i) for i in range(step, len(shown) + 1, step) if i > 1)


def rnd(shown: Sequence[str], group: str, step: int) -> float:
    """Over the largest value of any order, found by trying them all."""
    return rnd_sum(shown, group, step) / max(rnd_sum(order, group, step) for order in set(permutations(shown)))


def infeasible_index(shown: Sequence[str], target: dict[str, float]) -> int:
    return sum(
        any(shown[:k].count(g) < math.floor(p * k + 1e-9) for g, p in target.items()) for k in range(1, len(shown) + 1)
    )


def impact_ratio(shown: Sequence[str], k: int) -> float:
    rates = [shown[:k].count(g) / shown.count(g) for g in set(shown)]
    return min(rates) / max(rates)


def jsd2(p: Sequence[float], q: Sequence[float]) -> float:
    middle = [(a + b) / 2 for a, b in zip(p, q, strict=True)]

    def kl(x: Sequence[float]) -> float:
        return sum(a * math.log2(a / m) for a, m in zip(x, middle, strict=True) if a)

    return (kl(p) + kl(q)) / 2


def awrf(shown: Sequence[str], target: dict[str, float], attention: Callable[[int], float]) -> float:
    total = sum(attention(j) for j in range(1, len(shown) + 1))
    shares = [sum(attention(j) for j, g in enumerate(shown, 1) if g == name) / total for name in target]
    return 1 - jsd2(shares, list(target.values()))


def trec_attention(j: int) -> float:
    return 1 / math.log2(max(j, 2))


def ndcg_of(relevance: Sequence[float], attention: Callable[[int], float]) -> float:
    def dcg(values: Sequence[float]) -> float:
        return sum(value * attention(j) for j, value in enumerate(values, 1))

    return dcg(relevance) / dcg(sorted(relevance, reverse=True))


def gini(x: Sequence[float]) -> float:
    """Mean absolute difference between two items, over twice the mean."""
    n = len(x)
    return sum(abs(a - b) for a in x for b in x) / (2 * n * n * (sum(x) / n))


def binomial_cdf(m: int, k: int, p: float) -> float:
    return sum(math.comb(k, i) * p**i * (1 - p) ** (k - i) for i in range(m + 1))
