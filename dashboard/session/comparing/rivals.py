"""Rivals of the ranking on the screen, in the words of `spofr compare --with`: what this visitor may see."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import streamlit as st

from dashboard.session.choices import Choices, choices
from dashboard.session.remembered import data_key, fairness_of, repaired
from dashboard.session.sources import UPLOAD, Loaded, load_bundled
from dashboard.session.upload_store import Upload
from dashboard.session.uploads import LIMITS, open_upload, own_uploads, read_upload
from spofr_core.data import SAMPLES, RankingDataset, id_texts, preview_table
from spofr_core.errors import DataError
from spofr_core.evaluation import AuditResult, Comparison, Rival, audit, compare, parse_rival
from spofr_core.fairness import Fairness, parse_delta
from spofr_core.policy import RankingPolicies
from spofr_core.reporting import delta_text, name_text

NOW = "now"
REPAIR = "repair"
_KEPT = 12


@dataclass(frozen=True, eq=False)
class Ranking:
    """What readers see of some data, and what is asked of it; without policies, the order of its scores."""

    data: RankingDataset
    fairness: Fairness
    policies: RankingPolicies | None = None


def chosen_rival() -> Rival:
    """What this session compares with; the repair where nothing was chosen."""
    return parse_rival(choices().rival or REPAIR)


def rival_title(source: Loaded, rival: Rival) -> str:
    """What sentences call a rival: names in place of addresses."""
    if rival.file is not None:
        upload = _own_upload(rival.file)
        return name_text(upload.name, 60)
    if rival.model is not None:
        from dashboard.session.chosen_model import model_named

        model = model_named(rival.model)
        return "the model" if model is None else f"the model {name_text(model.title, 80)}"
    if rival.repair:
        return "the repair"
    if rival.group and source.key in SAMPLES:
        return f"by {SAMPLES[source.key].groupings.get(rival.group[0], rival.group[0]).lower()}"
    return rival.title


def now_shown(source: Loaded, fairness: Fairness) -> Ranking:
    """The ranking on the screen: that of the data, or what the model that is looked at shows."""
    model = source.model
    if model is None:
        return Ranking(source.data, fairness)
    policies = repaired(source.data, fairness).policies if model.guaranteed else model.policies
    return Ranking(source.data, fairness, policies)


def rival_shown(source: Loaded, rival: Rival) -> Ranking:
    """What a rival shows.

    Raises
    ------
    DataError
        When it is not there, or not of the same lists.
    """
    other = source
    if rival.file is not None:
        other = _opened(rival.file)
    if rival.model is not None:
        other = _with_model(source, rival.model)
    if rival.group:
        other = _regrouped(source, rival.group)
    if rival.score is not None or rival.rank is not None:
        other = replace(other, data=_ranked_by(source, rival), model=None)
    if source.slice and other is not source:
        other = replace(other, data=_same_queries(source.data, other.data))
    asked = _asked(rival, other.data)
    if rival.repair:
        return Ranking(other.data, asked, repaired(other.data, asked).policies)
    return now_shown(other, asked)


def _same_queries(shown: RankingDataset, data: RankingDataset) -> RankingDataset:
    """Of a rival's data, the queries of the slice that is looked at."""
    there = np.isin(id_texts(data.query_ids), id_texts(shown.query_ids))
    return data[there] if there.any() else data


def _asked(rival: Rival, data: RankingDataset) -> Fairness:
    made: Choices = choices()
    if rival.notion is not None:
        made = replace(made, notion=rival.notion)
    if rival.delta is None:
        return fairness_of(made, data)
    delta, unit = parse_delta(rival.delta)
    return fairness_of(replace(made, unit=unit), data).with_delta(delta)


def _own_upload(address: str) -> Upload:
    """A file of this visitor, by its address; never a path."""
    content = address.removeprefix(f"{UPLOAD}-").partition("-")[0]
    upload = own_uploads().get(content) if address.startswith(f"{UPLOAD}-") else None
    if upload is None:
        raise DataError("The file to compare with is not among your uploads: choose another one.")
    return upload


def _opened(address: str) -> Loaded:
    return open_upload(own_uploads(), _own_upload(address))


def _with_model(source: Loaded, run: str) -> Loaded:
    from dashboard.session.chosen_model import model_named

    model = model_named(run)
    if model is None:
        raise DataError("The model to compare with is not here: choose another one.")
    data = model.data
    same = np.array_equal(data.offsets, source.data.offsets) and np.array_equal(data.item_ids, source.data.item_ids)
    if not same or not np.array_equal(data.query_ids, source.data.query_ids):
        raise DataError(
            f"{model.title!r} was tested on other lists than those on the screen: look at a model on the Tradeoffs "
            "page first, and compare it with another of the same runs."
        )
    return replace(source, data=data, model=model)


def _regrouped(source: Loaded, group: tuple[str, ...]) -> Loaded:
    if source.key in SAMPLES:
        if group[0] not in SAMPLES[source.key].groupings:
            raise DataError(f"The sample has no grouping {group[0]!r}: choose another one.")
        return load_bundled(source.key, group[0])
    return replace(source, data=_reread(source, {"way": "column" if len(group) == 1 else "crossing", "group": group}))


def _ranked_by(source: Loaded, rival: Rival) -> RankingDataset:
    column = rival.score if rival.score is not None else rival.rank
    return _reread(source, {"ranked_by": column, "is_rank": rival.score is None, "insist": True})


def _reread(source: Loaded, changes: Mapping[str, Any]) -> RankingDataset:
    """The upload on the screen, read in another way."""
    if not source.content:
        raise DataError("Other columns can be compared in a file of your own: upload one on the Data page.")
    return _read_again(source.content, json.dumps(changes, sort_keys=True, default=list))


@st.cache_resource(max_entries=_KEPT, show_spinner="Reading the other columns")
def _read_again(content: str, changes: str) -> RankingDataset:
    store = own_uploads()
    upload = store.get(content)
    if upload is None or upload.mapping is None:
        raise DataError("The file is no longer among your uploads: upload it again.")
    given: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in json.loads(changes).items()
    }
    if "group" in given:
        given |= {"group_names": {}, "leave_out": ()}
    mapping = upload.mapping.model_copy(update=given)
    return read_upload(store.checked_path(upload), mapping, title=upload.name, content=content).data


# -- what may be chosen ------------------------------------------------------------------------------------------------


def other_columns(source: Loaded) -> tuple[list[str], list[str]]:
    """Columns of the upload on the screen that it could be ranked by, and those that could make groups."""
    if not source.content:
        return [], []
    upload = own_uploads().get(source.content)
    if upload is None or upload.mapping is None:
        return [], []
    return _columns(source.content, upload.mapping.key)


@st.cache_resource(max_entries=_KEPT, show_spinner=False)
def _columns(content: str, reading: str) -> tuple[list[str], list[str]]:
    store = own_uploads()
    upload = store.get(content)
    if upload is None or upload.mapping is None:
        return [], []
    mapping = upload.mapping
    seen = preview_table(
        store.checked_path(upload),
        limits=LIMITS,
        encoding=mapping.encoding or None,
        header=mapping.header,
        sheet=mapping.sheet or None,
    )
    used = {mapping.query, mapping.item, mapping.ranked_by, mapping.relevance}
    names = [name for name in seen.kinds if name not in used]
    numbers = [name for name in names if seen.kinds[name] == "number"]
    groups = [name for name in names if mapping.group != (name,) and seen.kinds[name] != "number"]
    return numbers, groups


def other_uploads(source: Loaded) -> dict[str, str]:
    """Further files of this visitor that were read before: address to name."""
    mine = own_uploads().uploads()
    return {
        f"{UPLOAD}-{upload.content}": upload.name
        for upload in mine
        if upload.mapping is not None and upload.content != source.content
    }


# -- what is found -----------------------------------------------------------------------------------------------------


def compared(source: Loaded, rival: Rival, measures: tuple[str, ...]) -> tuple[Comparison, str, str]:
    """The ranking on the screen beside a rival, what the rival is called, and a key to remember more of it by."""
    fairness = fairness_of(choices(), source.data)
    title = rival_title(source, rival)
    first, second = now_shown(source, fairness), rival_shown(source, rival)
    key = json.dumps([_key(first), _key(second), title, rival.model_dump(mode="json"), source.address], sort_keys=True)
    return _compared(first, second, title, measures, key), title, json.dumps([key, measures])


def _key(ranking: Ranking) -> list[Any]:
    return [data_key(ranking.data), ranking.fairness.to_dict()]


@st.cache_resource(max_entries=_KEPT, show_spinner="Comparing every query")
def _compared(_first: Ranking, _second: Ranking, title: str, measures: tuple[str, ...], key: str) -> Comparison:
    audits = {NOW: _audited(_first, measures), title: _audited(_second, measures)}
    return compare(audits)


def _audited(ranking: Ranking, measures: tuple[str, ...]) -> AuditResult:
    return audit(ranking.data, ranking.fairness, policies=ranking.policies, measures=measures)


def told_delta(source: Loaded) -> str:
    """What is asked of the ranking on the screen."""
    asked = fairness_of(choices(), source.data)
    quota = asked.every_ranking
    every = "" if quota is None else f", every list drawn: {quota.text}"
    return f"{delta_text(asked.delta, asked.unit)}{every}"
