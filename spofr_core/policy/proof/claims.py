"""What policies and certificates say, list by list, before anything of it is believed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from spofr_core.data.ids import plain
from spofr_core.errors import ConfigError, DataError
from spofr_core.fairness import Discount
from spofr_core.policy.policies import Policies
from spofr_core.policy.policy import Policy
from spofr_core.policy.programme import FloatArray
from spofr_core.policy.proof.certificate import Certificate, read_certificate


@dataclass(frozen=True, eq=False)
class Claim:
    """What is said about one list."""

    rankings: Sequence[Sequence[int]]
    probabilities: FloatArray
    discount: Discount | None
    multipliers: Mapping[str, float] | None
    constraint_multipliers: Sequence[float]
    relaxed: float | None
    query: Any = None
    certificate: Certificate | None = None


def claims_in(claim: Any) -> Iterator[Claim]:
    """A claim for each policy or certificate."""
    if isinstance(claim, Policy):
        yield _of_policy(claim)
    elif isinstance(claim, Policies):
        yield from (_of_policy(policy) for policy in claim)
    elif isinstance(claim, Mapping):
        yield _of_certificate(claim)
    elif isinstance(claim, Sequence) and not isinstance(claim, str):
        yield from (_of_certificate(one) for one in claim)
    else:
        raise DataError(f"A {type(claim).__name__} is neither a policy nor a certificate, nor a batch of them.")


def _of_policy(policy: Policy) -> Claim:
    multipliers = policy.multipliers
    known = all(np.isfinite(value) for value in multipliers.values())
    return Claim(
        rankings=policy.rankings.tolist(),
        probabilities=np.asarray(policy.probabilities),
        discount=policy.discount,
        multipliers=multipliers if known else None,
        constraint_multipliers=policy.constraint_multipliers,
        relaxed=policy.relaxed,
        query=policy.query,
    )


def _of_certificate(given: Any) -> Claim:
    if not isinstance(given, Mapping):
        raise DataError(f"A certificate is an object with named fields, not a {type(given).__name__}.")
    certificate = read_certificate(given)
    try:
        discount = Discount.from_dict(certificate.discount)
    except ConfigError as error:
        raise DataError(f"The discount of the certificate cannot be read: {error}") from error
    return Claim(
        rankings=certificate.rankings,
        probabilities=np.array(certificate.probabilities, dtype=np.float64),
        discount=discount,
        multipliers=certificate.multipliers,
        constraint_multipliers=certificate.constraint_multipliers,
        relaxed=certificate.relaxed,
        query=certificate.query,
        certificate=certificate,
    )


def default_offsets(claim: Any, n_items: int) -> npt.NDArray[np.int64]:
    """Where the lists begin: as a batch of policies has it, or one list of all items."""
    if isinstance(claim, Policies):
        return claim.lists.offsets
    if isinstance(claim, Sequence) and len(claim) != 1:
        raise ConfigError("Certificates of several lists need offsets=, the first item of each list and the end.")
    return np.array([0, n_items], dtype=np.int64)


def claims_of_lists(
    claim: Any, claims: list[Claim], query_ids: Sequence[Any] | npt.NDArray[Any] | None, total: int
) -> list[Claim | None]:
    """The claim about each list, None where there is none: by the ids that claims name, or in the order of lists."""
    batch = isinstance(claim, Policies)
    if query_ids is not None and not batch and (total > 1 or len(claims) > 1):
        return _by_query(claims, query_ids)
    if len(claims) != total:
        raise DataError(f"There are {len(claims)} policies for {total} lists; give one per list.")
    return [None if batch and not len(said.rankings) else said for said in claims]


def _by_query(claims: list[Claim], query_ids: Sequence[Any] | npt.NDArray[Any]) -> list[Claim | None]:
    """The claim that names each list, as text.

    Raises
    ------
    DataError
        When claims name no query, one that is not in the data, or one that another claim names too.
    """
    texts = [str(plain(query)) for query in query_ids]
    places = {text: q for q, text in enumerate(texts)}
    if len(places) < len(texts):
        twice = next(text for text, count in Counter(texts).items() if count > 1)
        raise DataError(f"Two queries of the data have the same id as text ({twice!r}).")
    named = [str(plain(said.query)) for said in claims if said.query is not None]
    unknown = [name for name in named if name not in places]
    seen = Counter(name for name in named if name in places)
    repeated = [name for name, count in seen.items() for _ in range(count - 1)]
    faults = [f"{len(claims) - len(named):,} name none"] if len(named) < len(claims) else []
    for names, what in ((unknown, "that the data does not have"), (repeated, "that another names")):
        if names:
            faults.append(f"{len(names):,} name one {what}, such as {names[0]!r}")
    if faults:
        failed = len(claims) - len(seen)
        raise DataError(
            f"{failed:,} of {len(claims):,} certificates cannot be matched with a query: {', '.join(faults)}. Give one "
            "for each query, under its id in the data."
        )
    found: list[Claim | None] = [None] * len(texts)
    for said in claims:
        found[places[str(plain(said.query))]] = said
    return found


def query_name(claim: Any, said: Claim | None, query_ids: Sequence[Any] | npt.NDArray[Any] | None, q: int) -> Any:
    """What list q is called in a verdict."""
    if query_ids is not None:
        return query_ids[q]
    if isinstance(claim, Policies):
        return claim.lists.query_name(q)
    return q if said is None or said.query is None else said.query
