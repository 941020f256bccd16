"""`load_sample`: the bundled data, ready to use."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, cast

from spofr_core.data.clicks import fit_logging_ranker
from spofr_core.data.dataset import RankingDataset, Splits
from spofr_core.data.reading.reader import read_dataset
from spofr_core.data.samples.german_credit import german_credit_lists
from spofr_core.data.samples.hiring import FEATURES
from spofr_core.data.samples.mslr import mslr_fold, mslr_lists
from spofr_core.errors import ConfigError, DataError

SAMPLES: tuple[str, ...] = ("german-credit", "mslr", "hiring")
_HIRING_GROUPS: dict[int, tuple[str, ...]] = {2: ("gender",), 4: ("region",), 8: ("gender", "region")}


def load_sample(
    name: str,
    *,
    groups: int | str | Sequence[str] | None = None,
    seed: int = 0,
    lists: int | None = None,
    test_lists: int | None = None,
    mask_group: bool = False,
    score: Literal["logging"] | None = None,
    folder: str | Path | None = None,
) -> Splits:
    """A bundled dataset in three parts, with full-information labels.

    Parameters
    ----------
    name : {"german-credit", "mslr", "hiring"}
        German Credit: lists of 20 real applicants, 2 of them good credits. MSLR: lists of 20 web pages of real queries.
        Hiring: a synthetic market with the score of an unfair ranker; its features are standardised.
    groups : optional
        German Credit: "purpose" (default), "gender", "age", or a number of age groups. MSLR: the number of quality
        groups (default 2). Hiring: "gender" (default), "region" or both ["gender", "region"]; also 2, 4 or 8.
    seed : int
        Seed of splits and lists.
    lists, test_lists : int, optional
        Lists per part (default 500), and of the test part alone. Hiring has its own lists.
    mask_group : bool
        Leave the features out that the groups are made from (German Credit, MSLR).
    score : "logging", optional
        Also give the lists a score, that of a linear ranker trained on 1 % of the training queries. German Credit and
        MSLR have no score of their own.
    folder : path, optional
        MSLR: your own Fold folder (train.txt, vali.txt, test.txt) in place of the bundled chunk.

    Returns
    -------
    Splits
        With `.train`, `.validation` and `.test`.
    """
    if folder is not None and name != "mslr":
        raise ConfigError(f"'folder' is for 'mslr'; {name!r} has its own file.")
    if name == "german-credit":
        splits = german_credit_lists(
            sample_path("german_credit/german.data"),
            groups=cast(Any, "purpose" if groups is None else groups),
            lists=500 if lists is None else lists,
            test_lists=test_lists,
            mask_group=mask_group,
            seed=seed,
        )
    elif name == "mslr":
        splits = _mslr(groups, folder, lists, test_lists, mask_group, seed)
    elif name == "hiring":
        if lists is not None or test_lists is not None or mask_group or score is not None:
            raise ConfigError("'hiring' has its own lists, features and score: it takes 'groups' and 'seed' only.")
        return load_hiring(groups).split(train=0.6, validation=0.2, seed=seed).standardized()
    else:
        raise ConfigError(f"A sample must be one of {list(SAMPLES)}, got {name!r}.")
    return _logged(splits, score, seed)


def load_hiring(groups: int | str | Sequence[str] | None = None) -> RankingDataset:
    """The synthetic hiring market in one piece: features, relevance and score."""
    chosen: Sequence[str] | str = "gender" if groups is None else cast(Any, groups)
    if isinstance(groups, int):
        if groups not in _HIRING_GROUPS:
            raise ConfigError(f"'hiring' has 2 (gender), 4 (region) or 8 (both crossed) groups, got {groups}.")
        chosen = _HIRING_GROUPS[groups]
    data = read_dataset(
        sample_path("hiring.csv"),
        query="search_id",
        item="candidate_id",
        group=chosen,
        relevance="relevance",
        score="score",
        features=FEATURES,
    )
    return data.with_notes("Hiring is synthetic: nobody in it is real.")


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


def _mslr(
    groups: int | str | Sequence[str] | None,
    folder: str | Path | None,
    lists: int | None,
    test_lists: int | None,
    mask_group: bool,
    seed: int,
) -> Splits:
    count = 2 if groups is None else groups
    if not isinstance(count, int):
        raise ConfigError(f"'groups' of MSLR is a number of groups, got {groups!r}.")
    if folder is not None:
        return mslr_fold(folder, groups=count, lists=lists, test_lists=test_lists, mask_group=mask_group, seed=seed)
    splits = mslr_lists(
        sample_path("mslr/msn1.fold1.train.5k.txt.gz"),
        None,
        sample_path("mslr/msn1.fold1.test.5k.txt.gz"),
        groups=count,
        lists=500 if lists is None else lists,
        test_lists=test_lists,
        mask_group=mask_group,
        seed=seed,
    )
    note = "The bundled files are the first 5,000 lines of their fold, so the last query of each is cut short."
    parts = (splits.train, splits.validation, splits.test)
    return Splits(*(part.with_notes(note) for part in parts))


def _logged(splits: Splits, score: str | None, seed: int) -> Splits:
    if score is None:
        return splits
    if score != "logging":
        raise ConfigError(f"'score' must be 'logging' or None, got {score!r}.")
    ranker = fit_logging_ranker(splits.train, seed=seed)
    note = "The score is that of a linear ranker trained on 1 % of the training queries."
    parts = (splits.train, splits.validation, splits.test)
    return Splits(*(part.with_scores(ranker.scores(part)).with_notes(note) for part in parts))
