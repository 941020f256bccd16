"""`load_sample`: the bundled data, ready to use."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import numpy as np

from spofr_core.data.clicks import fit_logging_ranker
from spofr_core.data.samples import SAMPLES
from spofr_core.data.samples.sample import Groups
from spofr_core.data.splits import Splits
from spofr_core.errors import ConfigError, DataError

_MOST_LISTS = 1_000_000
_OWN = {
    "lists": "lists",
    "test_lists": "lists",
    "mask_group": "features",
    "score": "score",
    "folder": "file",
    "features": "features",
}


def load_sample(
    name: str,
    *,
    groups: Groups | None = None,
    seed: int = 0,
    lists: int | None = None,
    test_lists: int | None = None,
    mask_group: bool = False,
    score: Literal["logging"] | None = None,
    folder: str | Path | None = None,
    features: str | None = None,
) -> Splits:
    """A bundled dataset in three parts, with full-information labels.

    Parameters
    ----------
    name : str
        One of `SAMPLES`. German Credit: lists of 20 real applicants, 2 of them good credits. MSLR: lists of 20 web
        pages of real queries. Hiring: a synthetic market with the score of an unfair ranker; its features are
        standardised. Adult: lists of 20 real people, ranked by whether they earn more than 50,000 dollars.
    groups : optional
        German Credit: "purpose" (default), "gender", "age", or a number of age groups. MSLR: the number of quality
        groups (default 2). Hiring: "gender" (default), "region" or both ["gender", "region"]; also 2, 4 or 8. Adult:
        "sex" (default), "marital_status" (3), "race" (5), or several of them, crossed.
    seed : int
        Seed of splits and lists.
    lists, test_lists : int, optional
        Lists per part (default 500), and of the test part alone. Hiring has its own lists.
    mask_group : bool
        Leave the features out that the groups are made from (German Credit, MSLR).
    score : "logging", optional
        Also give the lists a score, that of a linear ranker trained on 1 % of the training queries. German Credit and
        MSLR have no score of their own, nor has Adult.
    folder : path, optional
        MSLR: your own Fold folder (train.txt, vali.txt, test.txt) in place of the bundled chunk.
    features : {"all", "work"}, optional
        Adult: what a scorer may see. Never the groups; "work" is age, education, occupation and hours alone.

    Returns
    -------
    Splits
        With `.train`, `.validation` and `.test`.
    """
    sample = SAMPLES[name]
    options = {
        "lists": lists,
        "test_lists": test_lists,
        "mask_group": mask_group,
        "score": score,
        "folder": folder,
        "features": features,
    }
    given = {option: value for option, value in options.items() if value is not None and value is not False}
    for option in given:
        if option not in sample.options:
            takers = " and ".join(repr(each.name) for each in SAMPLES.values() if option in each.options)
            raise ConfigError(f"{option!r} is for {takers}; {name!r} has its own {_OWN[option]}.")
    for option in ("lists", "test_lists"):
        if option in given:
            given[option] = _counted(option, given[option])
    if "features" in given and not isinstance(features, str):
        raise ConfigError(f"'features' is {features!r}; give the name of a set of them, such as 'work'.")
    return sample.load(groups=_named(groups), seed=seed, **given)


def _counted(option: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or not 1 <= value <= _MOST_LISTS:
        raise ConfigError(f"{option!r} is {value!r}; give an integer from 1 to {_MOST_LISTS:,}.")
    return int(value)


def _named(groups: Any) -> Groups | None:
    """Groups as samples take them; what is neither a number nor names is refused before a sample sees it."""
    if groups is None:
        return None
    if isinstance(groups, int | np.integer) and not isinstance(groups, bool):
        return int(groups)
    if isinstance(groups, str) and groups:
        return groups
    if isinstance(groups, list | tuple) and groups and all(isinstance(name, str) for name in groups):
        return list(groups)
    raise ConfigError(f"'groups' is {groups!r}; give the name of a column, several names, or a number of groups.")


def sample_path(name: str) -> Path:
    """Path of a file in `sample_data`: inside the package if it was installed, beside it in a checkout."""
    package = Path(__file__).resolve().parents[2]
    for folder in (package, package.parent):
        path = folder / "sample_data" / name
        if path.exists():
            return path
    raise DataError(
        f"The bundled file sample_data/{name} is missing, in {str(package)!r} and beside it: install the project again."
    )


def with_logging_scores(splits: Splits, score: str | None, seed: int) -> Splits:
    """The parts with the scores of a logging ranker, where `score` asks for them."""
    if score is None:
        return splits
    if score != "logging":
        raise ConfigError(f"'score' must be 'logging' or None, got {score!r}.")
    ranker = fit_logging_ranker(splits.train, seed=seed)
    note = "The score is that of a linear ranker trained on 1 % of the training queries."
    return splits.map(lambda part: part.replace(score=ranker.scores(part), ranks=False).with_notes(note))
