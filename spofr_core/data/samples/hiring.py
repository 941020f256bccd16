"""A synthetic hiring market: job searches, candidates, and a ranker that is not fair to all of them.

Nobody in it is real. What it imitates: relevance that does not depend on gender, and a ranker that leans on two proxies
which do (career breaks and overtime), more in some fields of work than in others, so that some searches come out even
and others do not. Fields that lean more on them were searched for more often in the second half of the year.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from spofr_core.data.dataset import RankingDataset
from spofr_core.data.reading.reader import read_dataset
from spofr_core.data.samples import SAMPLES
from spofr_core.data.samples.bundled import sample_path
from spofr_core.data.samples.sample import Groups, Recipe, Sample
from spofr_core.data.splits import Splits
from spofr_core.errors import ConfigError

FloatArray = npt.NDArray[np.float64]

COLUMNS = (
    "search_id", "candidate_id", "gender", "region", "years_experience", "skills_match", "education_level",
    "test_score", "referrals", "career_break_months", "overtime_hours", "commute_km", "relevance", "score",
    "job_family", "date",
)  # fmt: skip
FEATURES = COLUMNS[4:12]
REGIONS = ("north", "south", "east", "west")
_REGION_SHARES = (0.4, 0.3, 0.2, 0.1)
FAMILIES = ("care", "office", "sales", "engineering", "management")
"""Fields of work, from the one that leans least on the proxies."""
_FIRST_DAY = np.datetime64("2024-01-01")
_HALF_YEAR = 183
_FILE = "hiring.csv"
_ROLES: dict[str, Any] = {"query": "search_id", "item": "candidate_id", "relevance": "relevance", "score": "score"}
_ABOUT_QUERY: dict[str, Any] = {"slices": ["job_family"], "time": "date"}
_GROUPS: dict[int, tuple[str, ...]] = {2: ("gender",), 4: ("region",), 8: ("gender", "region")}


def hiring_csv(*, searches: int = 500, seed: int = 2022) -> str:
    """The whole market as CSV text; the bundled file is `hiring_csv()`.

    Only uniform random numbers are drawn, and everything is rounded, so that the text is the same on every machine.
    """
    rng, about = np.random.default_rng(seed), np.random.default_rng([seed, 1])
    out = io.StringIO()
    out.write(",".join(COLUMNS) + "\n")
    candidate = 10_000
    for number in range(1, searches + 1):
        n = 12 + int(rng.random() * 19)
        women_share = 0.25 + 0.4 * rng.random()
        lean = max(0.0, 4.0 * rng.random() - 0.8)  # how much this field of work rewards the proxies
        known = _about_search(lean, about)
        for row in _search(n, women_share, lean, rng):
            candidate += 1
            out.write(f"S{number:04d},C{candidate},{row},{known}\n")
    return out.getvalue()


def _about_search(lean: float, rng: np.random.Generator) -> str:
    """Field of work and day of one search, which its candidates have nothing to do with."""
    leaning = lean / 3.2  # between 0 and 1
    family = FAMILIES[int(np.clip(len(FAMILIES) * (0.7 * leaning + 0.3 * rng.random()), 0, len(FAMILIES) - 1))]
    late = rng.random() < 0.2 + 0.6 * leaning
    return f"{family},{_FIRST_DAY + _HALF_YEAR * late + int(_HALF_YEAR * rng.random())}"


def _search(n: int, women_share: float, lean: float, rng: np.random.Generator) -> list[str]:
    """The rows of one search, in the order in which the candidates applied."""
    woman = rng.random(n) < women_share
    region = np.searchsorted(np.cumsum(_REGION_SHARES)[:-1], rng.random(n), side="right")
    ability = _normal(n, rng)
    years = np.clip(6 + 3 * ability + 3 * _normal(n, rng), 0, 30)
    skills = np.clip(0.55 + 0.15 * ability + 0.12 * _normal(n, rng), 0, 1)
    education = np.clip(np.floor(2.5 + 0.6 * ability + 0.9 * _normal(n, rng)), 1, 5)
    test = np.clip(60 + 12 * ability + 10 * _normal(n, rng), 0, 100)
    referrals = np.floor(3.5 * rng.random(n) ** 2 + 0.5 * (region == 0))
    breaks = np.floor(np.where(woman, 16, 5) * rng.random(n) ** 2)
    overtime = np.clip(np.where(woman, 3.0, 5.5) + 2.5 * _normal(n, rng), 0, 15)
    commute = np.clip(4 + 40 * rng.random(n) ** 2 + 8 * (region == 3), 1, 80)
    relevance = np.clip(np.floor(0.55 + 1.1 * ability + 0.5 * _normal(n, rng)), 0, 3)
    merit = 0.06 * years + 1.6 * skills + 0.15 * education + 0.02 * test
    proxies = -0.05 * breaks + 0.14 * overtime + 0.08 * referrals - 0.006 * commute
    score = merit + lean * proxies + 0.15 * _normal(n, rng)
    return [
        f"{'female' if woman[i] else 'male'},{REGIONS[region[i]]},{years[i]:.1f},{skills[i]:.2f},{education[i]:.0f},"
        f"{test[i]:.0f},{referrals[i]:.0f},{breaks[i]:.0f},{overtime[i]:.1f},{commute[i]:.1f},{relevance[i]:.0f},"
        f"{score[i]:.4f}"
        for i in range(n)
    ]


def _normal(n: int, rng: np.random.Generator) -> FloatArray:
    """Nearly normal numbers: the sum of twelve uniform ones, less six."""
    return np.asarray(rng.random((12, n)).sum(axis=0) - 6.0)


def load_hiring(groups: Groups | None = None) -> RankingDataset:
    """The synthetic hiring market in one piece: features, relevance and score."""
    data = read_dataset(sample_path(_FILE), group=_columns(groups), features=FEATURES, **_ROLES)
    return data.with_notes("Hiring is synthetic: nobody in it is real.")


def _columns(groups: Groups | None) -> list[str]:
    if isinstance(groups, int):
        if groups not in _GROUPS:
            raise ConfigError(f"'hiring' has 2 (gender), 4 (region) or 8 (both crossed) groups, got {groups}.")
        return list(_GROUPS[groups])
    return ["gender"] if groups is None else [groups] if isinstance(groups, str) else list(groups)


class Hiring(Sample):
    """The market, with the score of its ranker."""

    name = "hiring"
    title = "Hiring searches (synthetic)"
    about = (
        "Job searches with 12 to 30 candidates each, ranked by a made-up model that places women lower. "
        "Nobody in it is real."
    )
    groupings: ClassVar[Mapping[str, str]] = {
        "gender": "Gender",
        "region": "Region",
        "gender+region": "Gender and region, crossed",
    }

    def load(self, *, groups: Groups | None = None, seed: int = 0, **options: Any) -> Splits:
        """Split by query, with standardised features."""
        return load_hiring(groups).split(train=0.6, validation=0.2, seed=seed).standardized()

    def groups_of(self, grouping: str | None) -> Groups | None:
        """By the number of groups, so that charts can put them side by side."""
        by_name: dict[str | None, int] = {"+".join(columns): count for count, columns in _GROUPS.items()}
        return by_name.get(grouping) or super().groups_of(grouping)

    def audit_data(self, grouping: str | None = None) -> RankingDataset:
        """All searches, ranked by the score in the file, with their field of work and day."""
        return read_dataset(sample_path(_FILE), group=_columns(self.groups_of(grouping)), **_ROLES, **_ABOUT_QUERY)

    def recipe(self, grouping: str | None = None) -> Recipe:
        """The file itself, with its columns named."""
        columns = _columns(self.groups_of(grouping))
        path = f"sample_data/{_FILE}"
        roles = "".join(f", {role}={column!r}" for role, column in (_ROLES | _ABOUT_QUERY).items())
        options = [part for column in columns for part in ("--group", column)]
        options += [part for role, column in _ROLES.items() for part in (f"--{role}", column)]
        options += ["--slice", *_ABOUT_QUERY["slices"], "--time", _ABOUT_QUERY["time"]]
        chosen = columns[0] if len(columns) == 1 else columns
        return Recipe(f'data = read_dataset("{path}", group={chosen!r}{roles})', (path, *options), in_checkout=True)


SAMPLES.register(Hiring())
