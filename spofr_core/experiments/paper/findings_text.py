"""Findings in Markdown: a claim with its verdict and one line of numbers, and the full lists behind it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from spofr_core.experiments.paper.findings import Finding

_DIFFERENCE = re.compile(r": ([^:]* minus [^:]*?)(?: is)? ([+-][\d.]+) \(95 % interval ([+-][\d.]+) to ([+-][\d.]+)")
_NUMBER = re.compile(r"[+-]?\d[\d,]*(?:\.\d+)?")
VERDICTS: Mapping[str, str] = {
    "same": "As claimed",
    "different": "Not as claimed",
    "partly": "Partly",
    "open": "Cannot be told",
}


def full_list(findings: Sequence[Finding]) -> str:
    """Every number of every finding."""
    blocks = [
        f"**{finding.claim}** {verdict_text(finding)}\n\n" + "\n".join(f"- {number}" for number in finding.numbers)
        for finding in findings
    ]
    return "\n\n".join(blocks) + "\n"


def verdict_text(finding: Finding) -> str:
    """The verdict as a sentence, which names the dataset if the paper does not have it."""
    verdict = VERDICTS[finding.verdict]
    return f"On {finding.data}: {verdict.lower()}." if finding.data else f"{verdict}."


def one_line(numbers: Sequence[str]) -> str:
    """What a list of measured sentences comes to: how many differences are above or below 0, or the ranges of numbers.

    Examples
    --------
    >>> one_line(["a: x minus y +0.300 (95 % interval +0.1 to +0.5, 3 seeds).",
    ...           "b: x minus y -0.100 (95 % interval -0.2 to +0.1, 3 seeds)."])
    'x minus y: -0.100 to +0.300; 1 of 2 intervals above 0, 0 below.'
    >>> one_line(["a, SPOFR: 65.7% (60% to 71%) of the ideal.", "b, SPOFR: 61.5% (58% to 64%) of the ideal."])
    'SPOFR: 61.5 to 65.7% of the ideal.'
    """
    if len(numbers) < 2 or numbers[0].startswith("Of "):
        return numbers[0] if numbers else ""
    differences = [(number, _DIFFERENCE.search(number)) for number in numbers]
    if any(found for _, found in differences):
        return _counted([found for _, found in differences if found], sum(not found for _, found in differences))
    return _ranges(numbers)


def _counted(differences: Sequence[re.Match[str]], others: int) -> str:
    subjects = list(dict.fromkeys(found[1] for found in differences))
    parts = []
    for subject in subjects:
        own = [found for found in differences if found[1] == subject]
        means = [found[2] for found in own]
        low, high = min(means, key=float), max(means, key=float)
        above, below = sum(float(found[3]) > 0 for found in own), sum(float(found[4]) < 0 for found in own)
        spread = low if low == high else f"{low} to {high}"
        parts.append(f"{subject}: {spread}; {above} of {len(own)} intervals above 0, {below} below")
    rest = f"; at {others} more no rival gets there" if others else ""
    return ". ".join(parts) + rest + "."


def _ranges(numbers: Sequence[str]) -> str:
    """Sentences that differ in their numbers alone, as one with ranges for each method or whatever is named."""
    bodies: dict[str, list[str]] = {}
    for number in numbers:
        where, _, body = number.partition(": ")
        name = where.rpartition(", ")[2]
        bodies.setdefault("" if _NUMBER.search(name) else name, []).append(re.sub(r" ?\([^)]*\)", "", body))
    names: dict[str, list[str]] = {}
    for name, each in bodies.items():
        names.setdefault(_merged(each), []).append(name)
    told = ""
    parts = []
    for body, own in names.items():
        template = _NUMBER.sub("#", body).replace("# to #", "#")
        parts.append(f"{', '.join(own)}: {_from_number(body) if template == told else body}" if own[0] else body)
        told = template
    return " ".join(parts)


def _from_number(body: str) -> str:
    """The sentence from its first number on: enough where the one before begins with the same words."""
    found = _NUMBER.search(body)
    return body[found.start() :] if found else body


def _merged(bodies: Sequence[str]) -> str:
    templates = {_NUMBER.sub("#", body) for body in bodies}
    if len(templates) > 1:
        return " ".join(bodies)
    columns = zip(*(_NUMBER.findall(body) for body in bodies), strict=True)
    spreads = [_spread(column) for column in columns]
    return _NUMBER.sub(lambda _: spreads.pop(0), bodies[0])


def _spread(values: Sequence[str]) -> str:
    ordered = sorted(values, key=lambda value: float(value.replace(",", "")))
    return ordered[0] if ordered[0] == ordered[-1] else f"{ordered[0]} to {ordered[-1]}"
