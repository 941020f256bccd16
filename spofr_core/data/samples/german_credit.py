"""German Credit: people from the Statlog file, drawn into lists of applicants.

Few applicants of a list are good credits; the ranker should find them. The people are split before any list is drawn,
so nobody of a training list is met again in a test list.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal, cast

import numpy as np
import numpy.typing as npt

from spofr_core.config import checked_seed
from spofr_core.data.dataset import RankingDataset
from spofr_core.data.group_spec import Grouping, GroupSpec, Labels, group_by_labels, group_by_number
from spofr_core.data.limits import Limits
from spofr_core.data.samples import SAMPLES
from spofr_core.data.samples.bundled import sample_path, with_logging_scores
from spofr_core.data.samples.sample import Groups, Sample, reuse_note
from spofr_core.data.shared_features import share
from spofr_core.data.splits import Splits
from spofr_core.errors import ConfigError, DataError

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
GermanGroups = Literal["purpose", "gender", "age"]

_COLUMNS = (
    "checking_account", "duration", "credit_history", "purpose", "amount", "savings", "employment", "installment_rate",
    "personal_status", "debtors", "residence_years", "property", "age", "other_plans", "housing", "credits", "job",
    "dependants", "telephone", "foreign_worker", "credit",
)  # fmt: skip
_NUMERIC = ("duration", "amount", "installment_rate", "residence_years", "age", "credits", "dependants")
_WOMEN = ("A92", "A95")  # personal status: divorced/separated/married, and single
_RADIO_TV = "A43"
_PARTS = {"train": 0.35, "validation": 0.35, "test": 0.30}


@dataclass(frozen=True, eq=False)
class People:
    """The 1000 people of the file: 58 features, good credit or not."""

    features: FloatArray
    feature_names: tuple[str, ...]
    good: npt.NDArray[np.bool_]
    columns: dict[str, npt.NDArray[np.str_]] = field(repr=False)


def read_people(path: str | Path) -> People:
    """Read german.data: one-hot codes, one gender bit for the personal status, numbers as they are."""
    lines = Path(path).read_text(encoding="ascii").split("\n")
    rows = [line.split() for line in lines if line.strip()]
    for number, row in enumerate(rows, 1):
        if len(row) != len(_COLUMNS):
            raise DataError(
                f"Line {number} of {Path(path).name} has {len(row)} fields, not {len(_COLUMNS)}.", row=number
            )
    table = np.array(rows, dtype=np.str_)
    columns = {name: table[:, k] for k, name in enumerate(_COLUMNS)}
    names: list[str] = []
    blocks: list[FloatArray] = []
    for name in _COLUMNS[:-1]:
        if name in _NUMERIC:
            names.append(name)
            blocks.append(columns[name].astype(np.float64)[:, None])
        elif name == "personal_status":
            names.append("woman")
            blocks.append(np.isin(columns[name], _WOMEN).astype(np.float64)[:, None])
        else:
            codes = np.unique(columns[name])
            names.extend(f"{name}={code}" for code in codes)
            blocks.append((columns[name][:, None] == codes).astype(np.float64))
    return People(np.hstack(blocks), tuple(names), columns["credit"] == "1", columns)


def german_credit_lists(
    path: str | Path,
    *,
    groups: GermanGroups | int = "purpose",
    lists: int = 500,
    test_lists: int | None = None,
    list_length: int = 20,
    good_per_list: int = 2,
    mask_group: bool = False,
    seed: int = 0,
) -> Splits:
    """Lists of applicants from the Statlog file.

    Parameters
    ----------
    path : path
        german.data as distributed.
    groups : {"purpose", "gender", "age"} or int
        Two groups by the purpose of the credit (radio or television, A43, against the rest), by gender, or by age (25
        and younger against older); an int k > 2 cuts the age at its k-quantiles among the training people; 2 is
        "purpose".
    lists, test_lists : int
        Lists per part; `test_lists` defaults to `lists`.
    list_length, good_per_list : int
        Applicants of a list, and how many of them are good credits (relevance 1).
    mask_group : bool
        Leave the features out that the groups are made from.
    seed : int
        Seed of the split and of the lists.

    Returns
    -------
    Splits
        People are split 35/35/30, stratified by group and credit, before lists are drawn without replacement within a
        list. Numeric features are divided by their 25-75 % range among the training people, not centred.
    """
    people = read_people(path)
    rng_split, *rng_lists = np.random.default_rng(checked_seed(seed)).spawn(4)
    provisional = _grouping(people, groups, None)
    parts = _split_people(provisional.codes, people.good, rng_split)
    grouping = _grouping(people, groups, parts["train"])
    features, names = _scaled_features(people, parts["train"], groups if mask_group else None)
    counts = {"train": lists, "validation": lists, "test": lists if test_lists is None else test_lists}
    drawn = {}
    for rng, (name, members) in zip(rng_lists, parts.items(), strict=True):
        rows = _draw_lists(members, people.good, counts[name], list_length, good_per_list, rng)
        drawn[name] = RankingDataset(
            query_ids=np.array([f"{name}-{k:04d}" for k in range(1, counts[name] + 1)]),
            offsets=np.arange(counts[name] + 1) * list_length,
            item_ids=rows + 1,
            groups=grouping.codes[rows],
            group_names=grouping.names,
            relevance=people.good[rows].astype(np.float64),
            features=share(features, rows),
            feature_names=names,
            notes=(
                "German Credit (Hofmann 1994, Statlog): lists are drawn from real people; item ids are line numbers.",
                *grouping.notes,
                f"{len(members)} people are in this part; none of them is in another.",
                *reuse_note(counts[name], len(rows), len(members), "people"),
            ),
            group_spec=grouping.spec,
        )
    return Splits(**drawn, sources=(len(parts["train"]), len(parts["validation"]), len(parts["test"])))


def _grouping(people: People, groups: GermanGroups | int, train: IntArray | None) -> Grouping:
    """The group of each person; quantiles are those of the training people (of everybody before the split)."""
    if groups in ("purpose", 2):
        return _two_groups(people.columns["purpose"] == _RADIO_TV, "purpose", ("radio/TV", "other purpose"))
    if groups == "gender":
        return _two_groups(np.isin(people.columns["personal_status"], _WOMEN), "personal_status", ("female", "male"))
    age = people.columns["age"].astype(np.float64)
    if groups == "age":
        return _two_groups(age <= 25, "age", ("25 and younger", "older than 25"))
    if not isinstance(groups, int) or not 2 < groups <= 10:
        raise ConfigError(
            "'groups' of German Credit must be one of ['purpose', 'gender', 'age'] or an int from 2 to 10, "
            f"got {groups!r}."
        )
    spec = GroupSpec(columns="age", quantiles=groups)
    if train is not None:
        spec = group_by_number(age[train], spec).spec
    return group_by_number(age, spec)


def _two_groups(first: npt.NDArray[np.bool_], column: str, names: tuple[str, str]) -> Grouping:
    labels = Labels(np.where(first, 0, 1).astype(np.int32), names)
    return group_by_labels([labels], GroupSpec(columns=column, names=names), Limits())


def _split_people(
    groups: npt.NDArray[np.int32], good: npt.NDArray[np.bool_], rng: np.random.Generator
) -> dict[str, IntArray]:
    """Shares of every group x credit cell, so that the parts look alike."""
    parts: dict[str, list[IntArray]] = {name: [] for name in _PARTS}
    edges = np.cumsum(list(_PARTS.values()))[:-1]
    cells = groups * 2 + good
    for cell in np.unique(cells):
        members = rng.permutation(np.flatnonzero(cells == cell))
        pieces = np.split(members, np.round(edges * len(members)).astype(int))
        for part, piece in zip(parts.values(), pieces, strict=True):
            part.append(piece)
    return {name: np.sort(np.concatenate(pieces)) for name, pieces in parts.items()}


def _scaled_features(
    people: People, train: IntArray, masked: GermanGroups | int | None
) -> tuple[FloatArray, tuple[str, ...]]:
    features = people.features.copy()
    for name in _NUMERIC:
        k = people.feature_names.index(name)
        low, high = np.quantile(features[train, k], [0.25, 0.75])
        features[:, k] /= high - low if high > low else 1.0
    if masked is None:
        return features, people.feature_names
    prefix = {"purpose": "purpose=", 2: "purpose=", "gender": "woman"}.get(masked, "age")
    kept = [k for k, name in enumerate(people.feature_names) if not name.startswith(prefix)]
    return features[:, kept], tuple(people.feature_names[k] for k in kept)


def _draw_lists(
    members: IntArray,
    good: npt.NDArray[np.bool_],
    lists: int,
    length: int,
    good_per_list: int,
    rng: np.random.Generator,
) -> IntArray:
    """Rows of all lists, one after the other; each list is shuffled, so that its order tells nothing."""
    pool_good, pool_bad = members[good[members]], members[~good[members]]
    bad_per_list = length - good_per_list
    if not 0 <= good_per_list <= min(length, len(pool_good)) or bad_per_list > len(pool_bad) or lists < 1:
        raise ConfigError(
            f"{lists} lists of {length} with {good_per_list} good credits cannot be drawn from a part with "
            f"{len(pool_good)} good and {len(pool_bad)} bad credits."
        )
    drawn = [
        rng.permutation(
            np.concatenate(
                [
                    rng.choice(pool_bad, bad_per_list, replace=False),
                    rng.choice(pool_good, good_per_list, replace=False),
                ]
            )
        )
        for _ in range(lists)
    ]
    return np.concatenate(drawn)


class GermanCredit(Sample):
    """Loan applicants of the Statlog file, in lists."""

    name = "german-credit"
    title = "German Credit"
    about = "Lists of 20 loan applicants, 2 of them good risks, ranked by a linear model that saw 1 % of the lists."
    drawn_from = "people"
    credit = "Statlog (German Credit Data), H. Hofmann, UCI Machine Learning Repository, CC BY 4.0."
    groupings: ClassVar[Mapping[str, str]] = {
        "purpose": "Purpose: radio or television, or other",
        "gender": "Gender",
        "age": "Age: up to 25, or older",
    } | {str(k): f"{k} age groups" for k in range(3, 8)}
    options = frozenset({"lists", "test_lists", "mask_group", "score"})
    delta, unit = 0.05, "absolute"  # as the paper asks it

    def load(
        self, *, groups: Groups | None = None, seed: int = 0, lists: int = 500, score: str | None = None, **options: Any
    ) -> Splits:
        """See `german_credit_lists`."""
        chosen = cast(Any, "purpose" if groups is None else groups)
        path = sample_path("german_credit/german.data")
        splits = german_credit_lists(path, groups=chosen, lists=lists, seed=seed, **options)
        return with_logging_scores(splits, score, seed)

    def grouped_by(self, groups: Groups | None) -> str:
        """Numbers of groups are cut from the age."""
        if groups is None:
            return "purpose"
        return "age" if isinstance(groups, int) else super().grouped_by(groups)


SAMPLES.register(GermanCredit())
