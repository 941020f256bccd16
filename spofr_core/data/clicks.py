"""Clicks: a logging ranker, position-based simulation, and inverse-propensity labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from spofr_core.config import StrictModel, checked_seed
from spofr_core.data.dataset import RankingDataset
from spofr_core.data.ids import id_texts, string_array
from spofr_core.data.query_attributes import at_queries
from spofr_core.data.rows import rows_of
from spofr_core.data.shared_features import SharedFeatures, share
from spofr_core.errors import ConfigError, DataError

FloatArray = npt.NDArray[np.float64]

_BATCH_ROWS = 10_000_000
_MAX_IMPRESSIONS = 1e9


class IPS(StrictModel):
    """How clicks become labels: click / propensity.

    Parameters
    ----------
    eta : float
        Where no propensity is given, that of position k is (1/k)^eta.
    clip : float
        Smaller propensities count as this one: a click there would otherwise outweigh all others.
    """

    eta: Annotated[float, Field(ge=0)] = 1.0
    clip: Annotated[float, Field(gt=0, le=1)] = 0.01


class ClickModel(StrictModel):
    """The position-based click model.

    An item at position k is examined with probability (1/k)^eta; an examined item is clicked with probability
    epsilon_plus if it is relevant and epsilon_minus if it is not.

    Parameters
    ----------
    eta : float
        How fast attention falls with the position.
    epsilon_plus, epsilon_minus : float
        Click probabilities of examined items; epsilon_minus > 0 is noise.
    relevant_at : float
        An item is relevant from this label on.
    """

    eta: Annotated[float, Field(ge=0)] = 1.0
    epsilon_plus: Annotated[float, Field(ge=0, le=1)] = 1.0
    epsilon_minus: Annotated[float, Field(ge=0, le=1)] = 0.0
    relevant_at: float = 1.0


@dataclass(frozen=True, eq=False)
class LoggingRanker:
    """A linear scorer: the ranker in production while the clicks were logged."""

    weights: FloatArray

    def scores(self, data: RankingDataset) -> FloatArray:
        """One score per item, shape (N,)."""
        return np.asarray(_features_of(data) @ self.weights, dtype=np.float64)


def fit_logging_ranker(data: RankingDataset, *, share: float = 0.01, minimum: int = 5, seed: int = 0) -> LoggingRanker:
    """A linear pairwise model from a few queries: good enough to log with, bad enough to be learned from.

    Minimises the logistic loss of w'(x_i - x_j) over the pairs of a query in which i is more relevant than j, with the
    usual ridge penalty.

    Parameters
    ----------
    data : RankingDataset
        Full-information training data with features and relevance.
    share : float
        Share of the queries to learn from.
    minimum : int
        But at least this many queries.
    seed : int
        Seed of the choice of queries.
    """
    from sklearn.linear_model import LogisticRegression  # here: it takes a second to import

    features, relevance = _features_of(data), _relevance_of(data)
    if not 0 < share <= 1:
        raise ConfigError(f"'share' is a share of the queries, above 0 and at most 1, got {share}.")
    order = np.random.default_rng(checked_seed(seed)).permutation(len(data))
    differences: list[FloatArray] = []
    wanted = max(minimum, round(share * len(data)))
    for query in order:  # queries without a pair teach nothing and do not count
        rows = slice(int(data.offsets[query]), int(data.offsets[query + 1]))
        better, worse = np.nonzero(relevance[rows, None] > relevance[None, rows])
        if len(better):
            differences.append(features[rows][better] - features[rows][worse])
        if len(differences) == wanted:
            break
    if not differences:
        raise DataError("No query has two items of different relevance: a logging ranker cannot be learned.")
    pairs = np.concatenate(differences)
    model = LogisticRegression(fit_intercept=False, max_iter=1000)
    model.fit(np.concatenate([pairs, -pairs]), np.repeat([1, 0], len(pairs)))
    return LoggingRanker(np.asarray(model.coef_[0], dtype=np.float64))


def simulate_clicks(
    data: RankingDataset,
    n_clicks: int,
    *,
    eta: float = 1.0,
    epsilon_plus: float = 1.0,
    epsilon_minus: float = 0.0,
    relevant_at: float = 1.0,
    logging: LoggingRanker | Literal["score"] | None = None,
    clip: float = 0.01,
    seed: int = 0,
) -> RankingDataset:
    """Clicks on rankings of a logging ranker, as training data with inverse-propensity labels.

    Queries are shown at random, each time ranked by the logging ranker (ties broken at random, once). Impressions
    without a click are skipped, as in a click log. The label of an item is click / (1/k)^eta for its position k, so
    that its expectation over examinations is the item's click probability when examined.

    Parameters
    ----------
    data : RankingDataset
        Full-information data.
    n_clicks : int
        Number of clicked impressions: the lists of the result.
    eta, epsilon_plus, epsilon_minus, relevant_at : float
        See `ClickModel`.
    logging : LoggingRanker, "score" or None
        What ranks: a ranker, the score column of the data, or (None) `fit_logging_ranker(data, seed=seed)`.
    clip : float
        Smallest propensity; what is clipped is told in the notes.
    seed : int
        Seed of everything random here.

    Returns
    -------
    RankingDataset
        One list per clicked impression: `relevance` holds the labels; `clicks`, `positions` and `propensities` are
        set. The features are shared with the data, not copied. Query ids read "query/impression".
    """
    if n_clicks < 1:
        raise ConfigError(f"'n_clicks' must be 1 or more, got {n_clicks}.")
    model = ClickModel(eta=eta, epsilon_plus=epsilon_plus, epsilon_minus=epsilon_minus, relevant_at=relevant_at)
    rng = np.random.default_rng(checked_seed(seed))
    positions = positions_of(data, _logged_scores(data, logging, seed), rng)
    examined = np.power(1.0 / positions, model.eta)
    relevant = _relevance_of(data) >= model.relevant_at
    clicked = examined * np.where(relevant, model.epsilon_plus, model.epsilon_minus)
    queries, clicks, shown = _clicked_impressions(data, clicked, n_clicks, rng)
    rows, offsets = rows_of(data.offsets, queries)
    propensities, clipping = _clipped(examined[rows], clicks, IPS(clip=clip))
    return RankingDataset(
        query_ids=_impression_ids(data.query_ids[queries]),
        offsets=offsets,
        item_ids=data.item_ids[rows],
        groups=data.groups[rows],
        group_names=data.group_names,
        relevance=clicks / propensities,
        features=_shared_features(data, rows),
        feature_names=data.feature_names,
        clicks=clicks,
        positions=positions[rows],
        propensities=propensities,
        notes=(
            *data.notes,
            f"Clicks are simulated: {n_clicks:,} clicked impressions of {shown:,} shown, eta {model.eta:g}, "
            f"epsilon {model.epsilon_plus:g} / {model.epsilon_minus:g}, seed {seed}. "
            "Relevance is click / propensity.",
            *clipping,
        ),
        excluded=data.excluded,
        group_spec=data.group_spec,
        **at_queries(data.attributes, data.times, queries),
    )


def with_ips_labels(data: RankingDataset, ips: IPS | None = None) -> RankingDataset:
    """Relevance = click / propensity, with propensities from their column or from the positions.

    Where propensities below `ips.clip` are raised to it, a note counts them.
    """
    ips = ips or IPS()
    if data.clicks is None:
        raise DataError("Labels from clicks need clicks: name the column with click='...'.", column="click")
    if data.propensities is not None:
        propensities, origin = data.propensities, "the propensity column"
    elif data.positions is not None:
        propensities, origin = np.power(1.0 / data.positions, ips.eta), f"the positions with eta {ips.eta:g}"
    else:
        raise DataError(
            "Labels from clicks need to know how likely an item was seen: name a propensity or a position column.",
            column="propensity",
        )
    clipped, clipping = _clipped(propensities, data.clicks, ips)
    note = f"Relevance is click / propensity, with propensities from {origin}."
    return data.replace(propensities=clipped, relevance=data.clicks / clipped, notes=(*data.notes, note, *clipping))


def _clipped(propensities: FloatArray, clicks: FloatArray, ips: IPS) -> tuple[FloatArray, tuple[str, ...]]:
    """Propensities of at least `ips.clip`, and a note that counts those that were below it."""
    small = propensities < ips.clip
    if not small.any():
        return propensities, ()
    harmed = int(np.sum(small & (clicks > 0)))
    note = (
        f"{int(small.sum()):,} propensities below {ips.clip:g} were clipped to it; "
        f"{harmed:,} of these items were clicked."
    )
    return np.maximum(propensities, ips.clip), (note,)


def positions_of(data: RankingDataset, scores: FloatArray, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """Position of each item (1 is the top) when each list is sorted by score, ties in random order."""
    order = np.lexsort((rng.random(data.n_items), -scores, data.query_of_item))
    positions = np.empty(data.n_items, dtype=np.int64)
    positions[order] = np.arange(data.n_items) - np.repeat(data.offsets[:-1], data.list_lengths) + 1
    return positions


def _clicked_impressions(
    data: RankingDataset, clicked: FloatArray, wanted: int, rng: np.random.Generator
) -> tuple[npt.NDArray[np.int64], FloatArray, int]:
    """Queries of the first `wanted` impressions with a click, their clicks row by row, and how many were shown."""
    share = float(np.mean(1 - np.multiply.reduceat(1 - clicked, data.offsets[:-1])))
    if share * _MAX_IMPRESSIONS < wanted:
        raise DataError(
            f"Hardly any impression would be clicked (a share of {share:.2g}): are there relevant items, and are "
            "'relevant_at' and the click probabilities as meant?",
            column="relevance",
        )
    queries: list[npt.NDArray[np.int64]] = []
    clicks: list[FloatArray] = []
    done = shown = 0
    largest = max(1, _BATCH_ROWS // max(1, data.n_items // len(data)))
    while done < wanted:
        batch = min(largest, int((wanted - done) / share * 1.05) + 16)
        drawn = rng.integers(len(data), size=batch)
        rows, offsets = rows_of(data.offsets, drawn)
        hits = rng.random(len(rows)) < clicked[rows]
        kept = np.flatnonzero(np.logical_or.reduceat(hits, offsets[:-1]))[: wanted - done]
        chosen, _ = rows_of(offsets, kept)
        queries.append(drawn[kept])
        clicks.append(hits[chosen].astype(np.float64))
        done += len(kept)
        shown += batch if done < wanted else int(kept[-1]) + 1
    return np.concatenate(queries), np.concatenate(clicks), shown


def _logged_scores(data: RankingDataset, logging: LoggingRanker | Literal["score"] | None, seed: int) -> FloatArray:
    if logging == "score":
        if data.score is None:
            raise DataError("The data has no score to log with: give a LoggingRanker.", column="score")
        return data.score
    if isinstance(logging, str):
        raise ConfigError(f"'logging' must be a LoggingRanker, 'score' or None, got {logging!r}.")
    ranker = fit_logging_ranker(data, seed=seed) if logging is None else logging
    return ranker.scores(data)


def _impression_ids(query_ids: npt.NDArray[Any]) -> npt.NDArray[Any]:
    texts = id_texts(query_ids)
    if texts.dtype.kind == "O":
        return string_array([f"{query}/{number}" for number, query in enumerate(texts.tolist())])
    return np.strings.add(np.strings.add(texts, "/"), np.arange(len(texts)).astype(np.str_))


def _shared_features(data: RankingDataset, rows: npt.NDArray[np.int64]) -> SharedFeatures | None:
    if data.shared_features is not None:
        return data.shared_features[rows]
    return None if data.features is None else share(data.features, rows)


def _features_of(data: RankingDataset) -> FloatArray:
    if data.features is None:
        raise DataError("The data has no features, and a ranker is learned from features.", column="features")
    return data.features


def _relevance_of(data: RankingDataset) -> FloatArray:
    if data.relevance is None:
        raise DataError("The data has no relevance, and clicks are simulated from it.", column="relevance")
    return data.relevance
