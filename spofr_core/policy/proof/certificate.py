"""Certificates: all that is needed to check a policy and its optimality without a solver, as plain JSON.

schema 1, one object per list:

========================  ==========================================================================================
schema                    1
query                     id of the list (null where it has none)
fairness, discount        settings as `Fairness.to_dict` and `Discount.to_dict` give them
deltas                    {group: delta in force}; larger than asked for where the list was relaxed
relaxed                   null, or the list's smallest feasible delta, which was used instead of the one asked for
rankings, probabilities   the lottery: item indices from the top down
bounds                    {group: [lower, upper]} on the group's mean exposure; null for no bound
multipliers               {group: lambda_g} of the group's total exposure; > 0 lower bound active, < 0 upper bound
constraint_multipliers    the same for the constraints of one's own, in their order
utility                   scores' Pi w
dual_bound                max over rankings of the Lagrangian, minus what the bounds cost
gap                       dual_bound - utility
========================  ==========================================================================================
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypedDict

import numpy as np
from pydantic import Field

from spofr_core.config import StrictModel
from spofr_core.errors import ConfigError, DataError
from spofr_core.fairness import TOLERANCE
from spofr_core.files import parse_json, write_whole

if TYPE_CHECKING:
    from spofr_core.policy.policies import Policies

SCHEMA: Literal[1] = 1


class CertificateDict(TypedDict):
    """A certificate as plain values; the fields are described at the top of this module."""

    schema: int
    query: Any
    fairness: dict[str, Any]
    discount: dict[str, Any]
    deltas: dict[str, float]
    relaxed: float | None
    rankings: list[list[int]]
    probabilities: list[float]
    bounds: dict[str, list[float | None]]
    multipliers: dict[str, float]
    constraint_multipliers: list[float]
    utility: float
    dual_bound: float
    gap: float


class Certificate(StrictModel):
    """A certificate that has been read: every field is there and of its type. Nothing in it is trusted."""

    schema_version: Literal[1] = Field(alias="schema")
    query: int | str | float | bool | None
    fairness: dict[str, Any]
    discount: dict[str, Any]
    deltas: dict[str, float]
    relaxed: float | None
    rankings: list[list[int]]
    probabilities: list[float]
    bounds: dict[str, tuple[float | None, float | None]]
    multipliers: dict[str, float]
    constraint_multipliers: list[float]
    utility: float
    dual_bound: float
    gap: float


def certificate_of(policies: Policies, query: int) -> CertificateDict:
    """The certificate of one list of a batch."""
    policy = policies[query]
    if not np.isfinite(policies.solution.bound[query]):
        raise ConfigError(
            "These policies were read from a table and carry no multipliers, so there is no proof of optimality "
            "to write; make them with fair_policies."
        )
    bound, utility = float(policies.solution.bound[query]), policy.utility
    return {
        "schema": SCHEMA,
        "query": policy.query if policies.lists.query_ids is not None else None,
        "fairness": policies.fairness.to_dict(),
        "discount": policies.discount.to_dict(),
        "deltas": policy.deltas,
        "relaxed": policy.relaxed,
        "rankings": policy.rankings.tolist(),
        "probabilities": policy.probabilities.tolist(),
        "bounds": {name: [_finite(low), _finite(high)] for name, (low, high) in policy.bounds.items()},
        "multipliers": policy.multipliers,
        "constraint_multipliers": list(policy.constraint_multipliers),
        "utility": utility,
        "dual_bound": bound,
        "gap": bound - utility,
    }


def gap_text(gap: float) -> str:
    """A gap as sentences name it; digits below 1e-9 are rounding's, and differ from one processor to the next."""
    return "below 1e-9" if gap < TOLERANCE else f"{gap:.2g}"


def read_certificate(given: Mapping[str, Any]) -> Certificate:
    """Check that a certificate can be read at all.

    Raises
    ------
    DataError
        When a field is missing, unknown or of the wrong type.
    """
    try:
        return Certificate(**given)
    except ConfigError as error:
        raise DataError(f"The certificate cannot be read: {error}") from error


def certificate_lines(policies: Policies) -> list[str]:
    """The certificates of a batch, each as one line of JSON."""
    return [json.dumps(policy.certificate, allow_nan=False) for policy in policies]


def write_certificates(policies: Policies, path: str | Path) -> None:
    """Write the certificates of a batch, one JSON object per line."""
    write_whole(path, ("\n".join(certificate_lines(policies)) + "\n").encode("utf-8"))


def read_certificates(path: str | Path) -> list[dict[str, Any]]:
    """Read certificates, an object a line as `write_certificates` writes them, or a single one over several lines.

    `verify` takes the list and believes none of it.

    Raises
    ------
    DataError
        When a line is not JSON.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path} cannot be read as certificates: {error}") from error
    try:
        whole = parse_json(text)
    except ValueError:  # more than one, each on its line
        return [_certificate_in(line, f"Line {k} of {path}", k) for k, line in _lines(text)]
    return whole if isinstance(whole, list) else [whole]


def _lines(text: str) -> Iterator[tuple[int, str]]:
    return ((number, line) for number, line in enumerate(text.splitlines(), start=1) if line.strip())


def _certificate_in(line: str, place: str, number: int) -> Any:
    try:
        return parse_json(line)
    except ValueError as error:
        raise DataError(f"{place} is not a certificate: {error}", row=number) from error


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
