"""Rivals of a ranking, built from what differs: another column, file, model, delta, notion or grouping, or a repair."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from spofr_core.data import SAMPLES, RankingDataset, Sample, read_dataset
from spofr_core.errors import ConfigError
from spofr_core.evaluation import AuditResult, Rival, SmallGroups, audit, parse_rival, repair
from spofr_core.fairness import NOTIONS, Fairness, group_merits, parse_delta
from spofr_core.policy import RankingPolicies

if TYPE_CHECKING:
    from spofr_core.learning import Estimator


class ReadAgain(Protocol):
    """Reads the data of the first ranking once more, with changes."""

    def __call__(self, *, file: str | None = None, **changes: Any) -> RankingDataset:
        """`file` in place of the first; `changes` of the arguments of `read_dataset`, None leaving one out."""
        ...


@dataclass(frozen=True, eq=False, kw_only=True)
class FirstRanking:
    """The ranking from which its rivals differ.

    Parameters
    ----------
    data : RankingDataset
    fairness : Fairness
        What is asked of it, and of its rivals where they do not say otherwise.
    read_again : ReadAgain
        How other columns of the same data, or another file, are read: `file_reader`, `sample_reader` or `no_reader`.
    model : Estimator, optional
        The trained model that ranks it, where it is not the score of the data.
    name : str
        What sentences call it.
    """

    data: RankingDataset
    fairness: Fairness
    read_again: ReadAgain
    model: Estimator | None = None
    name: str = "now"


@dataclass(frozen=True, eq=False)
class Shown:
    """A ranking of many lists, with what is asked of it.

    Attributes
    ----------
    data : RankingDataset
    fairness : Fairness
    policies : RankingPolicies, optional
        What its readers see, where that is not the order of the scores of the data.
    """

    data: RankingDataset
    fairness: Fairness
    policies: RankingPolicies | None = None


def file_reader(source: Any, mapping: Mapping[str, Any]) -> ReadAgain:
    """Reads a file, upload or frame with these arguments of `read_dataset`, or another with the same ones."""

    def read_again(*, file: str | None = None, **changes: Any) -> RankingDataset:
        of_file = {"sheet": None} if file is not None else {}  # the sheets of another file have names of their own
        arguments = {name: value for name, value in {**mapping, **of_file, **changes}.items() if value is not None}
        return read_dataset(source if file is None else Path(file), **arguments)

    return read_again


def sample_data(sample: str, grouping: str | None = None, *, test_part: bool = False) -> RankingDataset:
    """What an audit of a bundled dataset opens on; its test part, with features, where a model is to rank it."""
    chosen = SAMPLES[sample]
    return Sample.audit_data(chosen, grouping) if test_part else chosen.audit_data(grouping)


def sample_reader(sample: str, grouping: str | None = None, *, test_part: bool = False) -> ReadAgain:
    """Reads a bundled dataset, of which only the grouping can be another."""

    def read_again(*, file: str | None = None, **changes: Any) -> RankingDataset:
        columns = [name for name in ("score", "rank", "sheet") if changes.get(name) is not None]
        if file is not None or columns:
            what = f"file={file}" if file is not None else f"{columns[0]}={changes[columns[0]]}"
            raise ConfigError(
                f"The bundled dataset {sample!r} has no other columns or files, so {what} cannot be read; name a FILE."
            )
        group = changes.get("group")
        chosen = grouping if group is None else "+".join(group)
        return sample_data(sample, chosen, test_part=test_part)

    return read_again


def no_reader(why: str) -> ReadAgain:
    """For data that cannot be read again; `why` is the beginning of the sentence that says so."""

    def read_again(*, file: str | None = None, **changes: Any) -> RankingDataset:
        raise ConfigError(f"{why}, so no other column, file or grouping of it can be read; name a FILE.")

    return read_again


def audit_rivals(
    first: FirstRanking,
    rivals: Sequence[Rival | str],
    *,
    measures: Sequence[str] = (),
    cutoff: int = 10,
    seed: int = 0,
    small: SmallGroups | None = None,
) -> dict[str, AuditResult]:
    """Audits of a ranking and of its rivals by their names, the first one first: what `compare` takes.

    Parameters
    ----------
    first : FirstRanking
    rivals : sequence of Rival or str
        Texts are read by `parse_rival`. A rival is the first ranking in all that it does not name: ``delta=5%`` of a
        model is that model at 5 %, ``repair,score=new`` the repair of the ranking by another column.
    measures, cutoff, seed, small
        As for `audit`.

    Raises
    ------
    ConfigError
        When two have the same name, or a rival cannot be built from the first.
    """
    how: dict[str, Any] = {"measures": measures, "cutoff": cutoff, "seed": seed, "small": small}
    read = [parse_rival(rival) if isinstance(rival, str) else rival for rival in rivals]
    titles = [first.name, *(rival.title for rival in read)]
    twice = [title for place, title in enumerate(titles) if title in titles[:place]]
    if twice:
        raise ConfigError(f"Two of the rankings are called {twice[0]!r}; give one another name: name=....")
    shown = {first.name: first_shown(first)} | {rival.title: rival_shown(first, rival, seed=seed) for rival in read}
    return {name: audit(each.data, each.fairness, policies=each.policies, **how) for name, each in shown.items()}


def first_shown(first: FirstRanking) -> Shown:
    """What the first ranking shows: the order of its scores, or what its model makes of them."""
    return _shown(first.data, first.fairness, first.model)


def rival_shown(first: FirstRanking, rival: Rival, *, seed: int = 0) -> Shown:
    """What a rival shows: the order of another column, what a model makes of the data, or a repair.

    Raises
    ------
    ConfigError
        When it cannot be built from the first.
    """
    by_column = rival.score is not None or rival.rank is not None
    model = None if by_column else first.model if rival.model is None else _model(rival.model)
    data = _data(first, rival, model)
    fairness = _fairness(first.fairness, rival, data)
    return _repaired(data, fairness, model, seed) if rival.repair else _shown(data, fairness, model)


# Models need torch, which takes seconds to import: only a comparison with one waits for it.


def _model(name: str) -> Estimator:
    from spofr_core.experiments.trained_model import resolve_model

    return resolve_model(name).estimator


def _estimated(model: Estimator | None, data: RankingDataset) -> RankingDataset:
    """The data with what the model ranks by."""
    if model is None:
        return data
    from spofr_core.experiments.trained_model import with_estimates

    return with_estimates(model, data)


def _shown(data: RankingDataset, fairness: Fairness, model: Estimator | None) -> Shown:
    if model is None:
        return Shown(data, fairness)
    from spofr_core.experiments.model_audit import shown_policies

    return Shown(data, fairness, shown_policies(model, data, fairness))


def _repaired(data: RankingDataset, fairness: Fairness, model: Estimator | None, seed: int) -> Shown:
    ranked = _estimated(model, data)
    discount = None if model is None else model.discount
    found = repair(ranked, fairness, discount=discount, seed=seed, on_infeasible="relax")
    relaxed = len(found.policies.relaxed)
    if relaxed:
        lists = "1 query" if relaxed == 1 else f"{relaxed:,} queries"
        ranked = ranked.with_notes(f"In {lists} no repair can hold delta: it comes as close as it can there.")
    return Shown(ranked, fairness, found.policies)


def _data(first: FirstRanking, rival: Rival, model: Estimator | None) -> RankingDataset:
    """The data of a rival: that of the first, unless another column, file, grouping or other features are needed."""
    changes: dict[str, Any] = {}
    if rival.score is not None or rival.rank is not None:
        changes |= {"score": rival.score, "rank": rival.rank}
    if rival.sheet is not None:
        changes["sheet"] = rival.sheet
    if rival.group:
        plain = ("group_quantiles", "group_thresholds", "group_against_rest", "group_names", "leave_out_groups")
        changes |= {"group": list(rival.group), **dict.fromkeys(plain)}
    if model is not None:
        needed = model.learned.feature_names
        if rival.file is not None or rival.group or not set(needed) <= set(first.data.feature_names):
            changes["features"] = list(needed)
    if not changes and rival.file is None:
        return first.data
    spec = first.data.group_spec
    if rival.file is not None and not rival.group and spec is not None and spec.numeric:
        # Cut at the thresholds of the first: groups of the same name are to mean the same.
        cut = ("group_quantiles", "group_thresholds", "group_against_rest", "group_names", "leave_out_groups")
        changes |= {"group": spec, **dict.fromkeys((*cut, "drop_rows"))}
    return first.read_again(file=rival.file, **changes)


def _fairness(asked: Fairness, rival: Rival, data: RankingDataset) -> Fairness:
    """What is asked of a rival; merits of other groups come from their own labels."""
    notion = rival.notion or asked.notion
    delta, unit = (asked.delta, asked.unit) if rival.delta is None else parse_delta(rival.delta)
    merits = None
    if NOTIONS[notion].needs_merits:
        merits = group_merits(data) if asked.merits is None or rival.group else asked.merits
    same = {"position_bias": asked.position_bias, "every_ranking": asked.every_ranking}
    return Fairness(delta=delta, unit=unit, notion=notion, merits=merits, **same)
