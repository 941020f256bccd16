"""UCI Adult: people of the census of 1994, drawn into lists and ranked by whether they earn more than 50,000 a year.

The people are split before any list is drawn, so nobody of a training list is met again in a test list. Every list has
as many people of each group as its length allows.
"""

from __future__ import annotations

import gzip
import io
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pandas as pd

from spofr_core.config import checked_seed
from spofr_core.data.dataset import RankingDataset
from spofr_core.data.group_spec import GroupSpec, Labels, group_by_labels
from spofr_core.data.limits import Limits
from spofr_core.data.samples import SAMPLES
from spofr_core.data.samples.bundled import sample_path, with_logging_scores
from spofr_core.data.samples.sample import Groups, Sample, reuse_note
from spofr_core.data.shared_features import share
from spofr_core.data.splits import Splits
from spofr_core.errors import ConfigError

IntArray = npt.NDArray[np.int64]

COLUMNS = (
    "age", "workclass", "weight", "education", "education_years", "marital_status", "occupation", "relationship",
    "race", "sex", "gain", "loss", "hours", "country", "income",
)  # fmt: skip
GROUPINGS: Mapping[str, tuple[str, ...]] = {
    "sex": ("Female", "Male"),
    "marital_status": ("married", "never married", "was married"),
    "race": ("Amer-Indian-Eskimo", "Asian-Pac-Islander", "Black", "Other", "White"),
}
"""Columns that groups are made of, and their groups."""
_WORK = ("age", "education_years", "occupation", "hours")
_SEEN = {"all": (*_WORK, "workclass", "marital_status", "race", "sex", "gain", "loss"), "work": _WORK}
_FOLDER = "adult"
_PARTS = (0.4, 0.3, 0.3)
_LISTS = 500


@lru_cache(maxsize=1)
def read_people(folder: Path) -> pd.DataFrame:
    """Both files of the folder, one row per person; gains and losses as logarithms."""
    files = [gzip.decompress((folder / f"adult.{part}.gz").read_bytes()) for part in ("data", "test")]
    text = files[0] + files[1].partition(b"\n")[2]  # the second begins with a line that is no person
    people = pd.read_csv(io.BytesIO(text), names=list(COLUMNS), skipinitialspace=True)
    more = people.income.str.startswith(">50K").astype(float)
    return people.assign(earns_more=more, gain=np.log1p(people.gain), loss=np.log1p(people.loss))


def adult_lists(
    folder: str | Path,
    *,
    groups: str | Sequence[str] = "sex",
    features: str = "all",
    lists: tuple[int, int, int] = (_LISTS, _LISTS, _LISTS),
    list_length: int = 20,
    seed: int = 0,
) -> Splits:
    """Lists of people of UCI Adult.

    Parameters
    ----------
    folder : path
        With adult.data.gz and adult.test.gz.
    groups : str or sequence of str
        "sex", "marital_status" or "race", or several of them, crossed.
    features : {"all", "work"}
        "work": age, years of education, occupation and hours a week. "all": these, the class of work, marital status,
        race, sex, gains and losses. What the groups are made of is never among them, nor is the relationship to the
        household ("husband", "wife"), which gives two of them away.
    lists : (int, int, int)
        Of training, validation and test.
    list_length : int
        People of a list. What cannot be divided by the number of groups goes to each group in turn.
    seed : int
        Of the split and of the lists.

    Returns
    -------
    Splits
        40, 30 and 30 % of the people; relevance 1 for who earns more than 50,000 dollars a year. Numeric features are
        divided by their standard deviation among the training people, not centred.
    """
    columns = _columns(groups)
    if features not in _SEEN:
        raise ConfigError(f"'features' of Adult must be one of {list(_SEEN)}, got {features!r}.")
    people = read_people(Path(folder))
    seen = [column for column in _SEEN[features] if column not in columns]
    dummies = pd.get_dummies(people[seen], prefix_sep="=")
    grouping = group_by_labels([_labels(people, column) for column in columns], GroupSpec(columns=columns), Limits())
    relevance = people.earns_more.to_numpy()
    rng = np.random.default_rng(checked_seed(seed))
    part_of = rng.choice(3, len(people), p=_PARTS)
    table = dummies.to_numpy(dtype=float)
    numeric = [k for k, name in enumerate(dummies.columns) if name in seen]
    table[:, numeric] /= table[part_of == 0][:, numeric].std(axis=0)
    drawn, sizes = {}, np.bincount(part_of, minlength=3).tolist()
    for part, (name, count) in enumerate(zip(("train", "validation", "test"), lists, strict=True)):
        pools = [np.flatnonzero((part_of == part) & (grouping.codes == code)) for code in range(len(grouping.names))]
        rows = _draw_lists(pools, count, list_length, rng)
        drawn[name] = RankingDataset(
            query_ids=np.array([f"{name}-{k:04d}" for k in range(1, count + 1)]),
            offsets=np.arange(count + 1) * list_length,
            item_ids=rows + 1,
            groups=grouping.codes[rows],
            group_names=grouping.names,
            relevance=relevance[rows],
            features=share(table, rows),
            feature_names=tuple(dummies.columns),
            notes=(
                "UCI Adult (Becker and Kohavi 1996): lists are drawn from real people; item ids are line numbers.",
                f"{sizes[part]:,} people are in this part; none of them is in another.",
                *reuse_note(count, len(rows), sizes[part], "people"),
                f"The scorer sees {', '.join(column.replace('_', ' ') for column in seen)}.",
            ),
            group_spec=grouping.spec,
        )
    return Splits(**drawn, sources=tuple(sizes))


def _columns(groups: str | Sequence[str]) -> tuple[str, ...]:
    columns = tuple(groups.split("+")) if isinstance(groups, str) else tuple(groups)
    if not columns or len(set(columns)) < len(columns) or not set(columns) <= set(GROUPINGS):
        known = ", ".join(repr(name) for name in GROUPINGS)
        raise ConfigError(f"'groups' of Adult must be of {known}, or several of them crossed, got {groups!r}.")
    return columns


def _labels(people: pd.DataFrame, column: str) -> Labels:
    """The group of each person; the seven marital statuses of the file make three."""
    values, names = people[column], GROUPINGS[column]
    if column == "marital_status":
        married, never = values.str.startswith("Married"), values == "Never-married"
        values = pd.Series(np.select([married, never], names[:2], names[2]))
    return Labels(np.asarray(pd.Categorical(values, categories=names).codes, dtype=np.int32), names)


def _draw_lists(pools: list[IntArray], count: int, length: int, rng: np.random.Generator) -> IntArray:
    """Rows of all lists, one after the other; each list is shuffled, so that its order tells nothing."""
    each, more = divmod(length, len(pools))
    short = min(len(pool) for pool in pools)
    if count < 1 or each < 1 or each + (more > 0) > short:
        raise ConfigError(
            f"{count} lists of {length} cannot be drawn with as many of each of {len(pools)} groups, the smallest of "
            f"{short} people: ask for other numbers, or cross fewer columns."
        )
    drawn = []
    for k in range(count):
        sizes = [each + ((code - k) % len(pools) < more) for code in range(len(pools))]
        chosen = [rng.choice(pool, size, replace=False) for pool, size in zip(pools, sizes, strict=True)]
        drawn.append(rng.permutation(np.concatenate(chosen)))
    return np.concatenate(drawn)


class Adult(Sample):
    """People of the census, in lists."""

    name = "adult"
    title = "Census income"
    about = (
        "Lists of 20 people of the census of 1994, those first who earn more than 50,000 dollars a year, ranked by a "
        "linear model that saw 1 % of the lists and not the groups."
    )
    drawn_from = "people"
    credit = "Adult, B. Becker and R. Kohavi, UCI Machine Learning Repository, CC BY 4.0."
    groupings: ClassVar[Mapping[str, str]] = {
        "sex": "Sex",
        "marital_status": "Marital status",
        "race": "Race",
        "sex+marital_status": "Sex and marital status, crossed",
        "sex+race": "Sex and race, crossed",
    }
    feature_sets: ClassVar[Mapping[str, str]] = {"all": "All but the groups", "work": "Work only"}
    options = frozenset({"lists", "test_lists", "score", "features"})

    def load(
        self,
        *,
        groups: Groups | None = None,
        seed: int = 0,
        lists: int = _LISTS,
        test_lists: int | None = None,
        score: str | None = None,
        features: str = "all",
        **options: Any,
    ) -> Splits:
        """See `adult_lists`."""
        if isinstance(groups, int):
            known = {self.group_count(name): name for name in self.groupings}
            if groups not in known:
                raise ConfigError(f"'adult' has {', '.join(map(str, known))} groups, got {groups}.")
            groups = known[groups]
        counts = (lists, lists, lists if test_lists is None else test_lists)
        chosen = groups or next(iter(self.groupings))
        folder = sample_path(_FOLDER)
        splits = adult_lists(folder, groups=chosen, features=features, lists=counts, seed=seed)
        return with_logging_scores(splits, score, seed)

    def group_count(self, grouping: str) -> int:
        """Groups of the columns, multiplied where they are crossed."""
        return int(np.prod([len(GROUPINGS[column]) for column in grouping.split("+")]))

    def grouped_by(self, groups: Groups | None) -> str:
        """The columns by name; sex where none is named."""
        named = "sex" if groups is None or isinstance(groups, int) else groups
        columns = named.split("+") if isinstance(named, str) else named
        return " and ".join(column.replace("_", " ") for column in columns)


SAMPLES.register(Adult())
