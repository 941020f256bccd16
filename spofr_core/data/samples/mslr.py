"""MSLR-WEB (Microsoft): lists of web pages from LETOR files, grouped by a quality score."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from spofr_core.config import checked_seed
from spofr_core.data.dataset import RankingDataset
from spofr_core.data.formats.opening import open_table
from spofr_core.data.formats.tables import to_float
from spofr_core.data.group_spec import GroupSpec, group_by_number
from spofr_core.data.ids import factorize, to_ids
from spofr_core.data.limits import Limits
from spofr_core.data.rows import offsets_of, rows_of
from spofr_core.data.samples import SAMPLES
from spofr_core.data.samples.bundled import sample_path, with_logging_scores
from spofr_core.data.samples.sample import Groups, Sample, reuse_note
from spofr_core.data.shared_features import share
from spofr_core.data.splits import Splits
from spofr_core.errors import ConfigError, DataError

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

_N_FEATURES = 136
_LOGGED = (*range(11, 16), *range(41, 46), *range(91, 96), 128, *range(134, 137))
_RELEVANT_FROM = 3
_TWO_GROUPS_AT = 0.4
_FOLD_FILES = {"train": "train", "validation": "vali", "test": "test"}


@dataclass(frozen=True, eq=False)
class Pages:
    """Usable queries of a part: those with a relevant page. Features are transformed, not yet scaled."""

    query_ids: npt.NDArray[np.int64]
    offsets: IntArray
    rows: IntArray
    features: FloatArray
    relevant: npt.NDArray[np.bool_]
    dropped: int

    def take(self, queries: IntArray) -> Pages:
        """Some of the queries."""
        rows, offsets = rows_of(self.offsets, queries)
        return Pages(
            self.query_ids[queries], offsets, self.rows[rows], self.features[rows], self.relevant[rows], self.dropped
        )


def read_pages(path: str | Path) -> Pages:
    """Read a LETOR file of MSLR-WEB; gzip is fine.

    Relevant is a label of 3 or 4; queries without a relevant page are dropped. abs() of feature 128; log1p of the
    features 11-15, 41-45, 91-95, 128 and 134-136, which are counts and lengths.
    """
    _, table = open_table(path, Limits())
    names = [str(k) for k in range(1, _N_FEATURES + 1)]
    matrix = table.matrix(names)
    if matrix is None or len(table.feature_names) != _N_FEATURES:
        raise DataError(f"{Path(path).name} has {len(table.feature_names)} features; MSLR-WEB has {_N_FEATURES}.")
    query, label = table.roles["query"], table.roles["relevance"]
    columns = table.read({query: "coded", label: "number"})
    codes, distinct = factorize(columns[query])
    query_ids = to_ids(pa.chunked_array([distinct]))
    offsets, order = offsets_of(codes, len(query_ids))
    rows = np.arange(len(codes)) if order is None else order
    relevant = to_float(columns[label])[rows] >= _RELEVANT_FROM
    features = matrix[rows]
    features[:, 127] = np.abs(features[:, 127])
    logged = np.array(_LOGGED) - 1
    features[:, logged] = np.log1p(features[:, logged])
    pages = Pages(query_ids, offsets, rows, features, relevant, 0)
    usable = np.flatnonzero(np.logical_or.reduceat(relevant, offsets[:-1]))
    if not len(usable):
        raise DataError(f"No query of {Path(path).name} has a page of label 3 or 4: no list can be made.")
    kept = pages.take(usable)
    return Pages(kept.query_ids, kept.offsets, kept.rows, kept.features, kept.relevant, len(query_ids) - len(usable))


def mslr_lists(
    train: str | Path,
    validation: str | Path | None,
    test: str | Path,
    *,
    groups: int = 2,
    group_feature: int = 133,
    lists: int | None = None,
    test_lists: int | None = None,
    list_length: int = 20,
    max_relevant: int = 3,
    mask_group: bool = False,
    seed: int = 0,
) -> Splits:
    """Lists of pages from files of MSLR-WEB.

    Parameters
    ----------
    train, validation, test : path
        LETOR files. Without a validation file, 30 % of the training queries become the validation part.
    groups : int
        Number of groups, cut from `group_feature` at thresholds of the training pages: the 40th percentile for two, the
        k-quantiles for k. A page at a threshold belongs to the group above it; larger values than seen in training
        belong to the last group.
    group_feature : int
        133 is the quality score of the literature ("QualityScore2" in Microsoft's list; 132 is "QualityScore").
    lists, test_lists : int, optional
        Lists per part; None draws one from each usable query. More lists than queries means several lists from one
        query, each with other pages.
    list_length, max_relevant : int
        Pages of a list, and how many of them may be relevant; the rest is drawn at random from the others. A query with
        fewer pages gives a shorter list.
    mask_group : bool
        Leave `group_feature` out of the features.
    seed : int
        Seed of the split and of the lists.

    Returns
    -------
    Splits
        Features are divided by their 5-95 % range among the training pages. Relevance is 1 or 0.
    """
    if groups < 2 or not 1 <= group_feature <= _N_FEATURES:
        raise ConfigError(f"'groups' must be 2 or more and 'group_feature' 1..136, got {groups} and {group_feature}.")
    if list_length < 2 or not 1 <= max_relevant <= list_length:
        raise ConfigError(f"Lists of {list_length} with up to {max_relevant} relevant pages cannot be drawn.")
    rng_split, *rng_lists = np.random.default_rng(checked_seed(seed)).spawn(4)
    parts = _read_parts(train, validation, test, rng_split)
    spec, notes = _group_spec(parts["train"].features[:, group_feature - 1], groups, group_feature)
    low, high = np.quantile(parts["train"].features, [0.05, 0.95], axis=0)
    scale = np.where(high > low, high - low, 1.0)
    counts = {"train": lists, "validation": lists, "test": lists if test_lists is None else test_lists}
    kept = np.array([k for k in range(_N_FEATURES) if not (mask_group and k == group_feature - 1)])
    drawn = {}
    for rng, (name, pages) in zip(rng_lists, parts.items(), strict=True):
        rows, offsets, queries = _draw_lists(pages, counts[name], list_length, max_relevant, rng)
        grouping = group_by_number(pages.features[rows, group_feature - 1], spec)
        drawn[name] = RankingDataset(
            query_ids=_list_ids(pages.query_ids[queries]),
            offsets=offsets,
            item_ids=pages.rows[rows] + 1,
            groups=grouping.codes,
            group_names=grouping.names,
            relevance=pages.relevant[rows].astype(np.float64),
            features=share((pages.features / scale)[:, kept], rows),
            feature_names=tuple(str(k + 1) for k in kept),
            notes=(
                *notes,
                *grouping.notes,
                *_part_notes(pages),
                *reuse_note(len(queries), len(queries), len(pages.query_ids), "queries"),
            ),
            group_spec=grouping.spec,
        )
    train_part, validation_part, test_part = (len(parts[name].query_ids) for name in counts)
    return Splits(**drawn, sources=(train_part, validation_part, test_part))


def mslr_fold(folder: str | Path, **options: int | bool | None) -> Splits:
    """Lists from a Fold folder of MSLR-WEB10K or 30K (train.txt, vali.txt, test.txt); options as `mslr_lists`."""
    folder = Path(folder)
    found: dict[str, Path] = {}
    for part, stem in _FOLD_FILES.items():
        candidates = [folder / f"{stem}.txt", folder / f"{stem}.txt.gz"]
        path = next((candidate for candidate in candidates if candidate.is_file()), None)
        if path is None:
            raise DataError(f"The folder {folder.name!r} has no {stem}.txt: point at a Fold folder of MSLR-WEB.")
        found[part] = path
    return mslr_lists(found["train"], found["validation"], found["test"], **options)  # type: ignore[arg-type]


def _read_parts(
    train: str | Path, validation: str | Path | None, test: str | Path, rng: np.random.Generator
) -> dict[str, Pages]:
    whole = read_pages(train)
    if validation is not None:
        return {"train": whole, "validation": read_pages(validation), "test": read_pages(test)}
    order = rng.permutation(len(whole.query_ids))
    first = round(0.7 * len(order))
    return {
        "train": whole.take(np.sort(order[:first])),
        "validation": whole.take(np.sort(order[first:])),
        "test": read_pages(test),
    }


def _group_spec(values: FloatArray, groups: int, feature: int) -> tuple[GroupSpec, tuple[str, ...]]:
    """Thresholds from all pages of the training queries."""
    spec = GroupSpec(columns=str(feature), quantiles=groups)
    if groups == 2:
        spec = GroupSpec(columns=str(feature), thresholds=(float(np.quantile(values, _TWO_GROUPS_AT)),))
    fitted = group_by_number(values, spec)
    fewer = [note for note in fitted.notes if "too many equal values" in note]
    return fitted.spec, (
        "MSLR-WEB (Qin and Liu 2013): lists are drawn from the pages of real queries; item ids are line numbers.",
        f"Group thresholds are those of the training pages, in the unscaled units of feature {feature}.",
        *fewer,
    )


def _draw_lists(
    pages: Pages, lists: int | None, length: int, max_relevant: int, rng: np.random.Generator
) -> tuple[IntArray, IntArray, IntArray]:
    """Rows and offsets of the lists, and the query of each; the queries take turns."""
    count = len(pages.query_ids) if lists is None else lists
    if count < 1:
        raise ConfigError(f"'lists' must be 1 or more, got {lists}.")
    queries = np.arange(count, dtype=np.int64) % len(pages.query_ids)
    drawn = []
    for query in queries:
        rows = np.arange(pages.offsets[query], pages.offsets[query + 1])
        relevant, others = rows[pages.relevant[rows]], rows[~pages.relevant[rows]]
        chosen = rng.choice(relevant, min(max_relevant, len(relevant)), replace=False)
        rest = rng.choice(others, min(length - len(chosen), len(others)), replace=False)
        drawn.append(rng.permutation(np.concatenate([chosen, rest])))
    offsets = np.zeros(count + 1, dtype=np.int64)
    np.cumsum([len(rows) for rows in drawn], out=offsets[1:])
    return np.concatenate(drawn), offsets, queries


def _list_ids(query_ids: npt.NDArray[np.int64]) -> npt.NDArray[np.str_]:
    """The query id, with a number behind it from the second list of a query on."""
    turn = pd.Series(query_ids).groupby(query_ids).cumcount().to_numpy()
    return np.array([f"{query}" if k == 0 else f"{query}/{k + 1}" for query, k in zip(query_ids, turn, strict=True)])


def _part_notes(pages: Pages) -> tuple[str, ...]:
    return (
        f"{len(pages.query_ids):,} queries are in this part; {pages.dropped:,} queries of its file have no relevant "
        "page and were dropped.",
    )


class Mslr(Sample):
    """Web pages of a chunk of MSLR-WEB, in lists; or those of a Fold folder of one's own."""

    name = "mslr"
    title = "Web search (MSLR-WEB)"
    about = "Lists of 20 web pages of real queries, ranked by a linear model that saw 1 % of the lists."
    drawn_from = "queries"
    credit = "MSLR-WEB, T. Qin and T.-Y. Liu, Microsoft, CC BY 4.0."
    groupings: ClassVar[Mapping[str, str]] = {str(k): f"{k} groups by page quality" for k in range(2, 8)}
    options = frozenset({"lists", "test_lists", "mask_group", "score", "folder"})
    delta, unit = 0.05, "absolute"  # as the paper asks it

    def load(
        self,
        *,
        groups: Groups | None = None,
        seed: int = 0,
        score: str | None = None,
        folder: str | Path | None = None,
        **options: Any,
    ) -> Splits:
        """See `mslr_lists` and `mslr_fold`."""
        count = 2 if groups is None else groups
        if not isinstance(count, int):
            raise ConfigError(f"'groups' of MSLR is a number of groups, got {groups!r}.")
        if folder is not None:
            splits = mslr_fold(folder, groups=count, seed=seed, **options)
        else:
            splits = _bundled_chunk(groups=count, seed=seed, **options)
        return with_logging_scores(splits, score, seed)


def _bundled_chunk(*, lists: int = 500, **options: Any) -> Splits:
    train, test = (sample_path(f"mslr/msn1.fold1.{part}.5k.txt.gz") for part in ("train", "test"))
    note = "The bundled files are the first 5,000 lines of their fold, so the last query of each is cut short."
    return mslr_lists(train, None, test, lists=lists, **options).map(lambda part: part.with_notes(note))


SAMPLES.register(Mslr())
