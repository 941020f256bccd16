"""Both rankings of one query, side by side."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from dashboard.session.choices import choices
from dashboard.session.comparing.rivals import NOW, Ranking, now_shown, rival_shown
from dashboard.session.remembered import fairness_of
from dashboard.session.sources import Loaded
from spofr_core.data import RankingDataset, id_texts
from spofr_core.evaluation import Rival
from spofr_core.reporting import group_styles, name_text, percent, style_of

MOST_POSITIONS = 100
"""Positions of two rankings that are put side by side."""


def side_by_side(source: Loaded, rival: Rival, query: str, title: str) -> pd.DataFrame | None:
    """Both rankings of one query, a row per position; None where the rival does not have the query.

    Of a lottery its most probable ranking is shown, with its probability in the name of the column.
    """
    first = now_shown(source, fairness_of(choices(), source.data))
    second = rival_shown(source, rival)
    before, after = _most_probable(first, query), _most_probable(second, query)
    if before is None or after is None:
        return None
    (old, old_share), (new, new_share) = before, after
    came_from = {item: place for place, (item, _) in enumerate(old, 1)}
    shown = min(max(len(old), len(new)), MOST_POSITIONS)
    return pd.DataFrame(
        {
            "position": np.arange(1, shown + 1),
            _named(NOW, old_share): [_item(row, first.data) for row in _padded(old, shown)],
            _named(title, new_share): [_item(row, second.data) for row in _padded(new, shown)],
            "moved": [_moved(row, came_from, place) for place, row in enumerate(_padded(new, shown), 1)],
        }
    )


def _padded(rows: list[tuple[str, str | None]], count: int) -> list[tuple[str, str | None] | None]:
    return [*rows[:count], *([None] * (count - len(rows)))]


def _named(title: str, share: float) -> str:
    return title if share > 1 - 1e-9 else f"{title}, in {percent(share, 0)} of the draws"


def _item(row: tuple[str, str | None] | None, data: RankingDataset) -> str:
    if row is None:
        return ""
    if data.each_item:
        return name_text(row[0], 40)
    return f"{style_of(group_styles(data.group_names), row[1]).glyph} {name_text(row[0], 40)}"


def _moved(row: tuple[str, str | None] | None, came_from: Mapping[str, int], place: int) -> str:
    if row is None or row[0] not in came_from:
        return "" if row is None else "new"
    steps = came_from[row[0]] - place
    return "" if steps == 0 else f"↑ {steps}" if steps > 0 else f"↓ {-steps}"


def _most_probable(ranking: Ranking, query: str) -> tuple[list[tuple[str, str | None]], float] | None:
    """Item and group at each position of the most probable ranking of a query, and its probability."""
    data = ranking.data
    places = np.flatnonzero(id_texts(data.query_ids) == query)
    if not len(places):
        return None
    one, place = data[int(places[0])], int(places[0])
    order, share = np.argsort(-np.asarray(one.score), kind="stable") if one.score is not None else np.arange(0), 1.0
    if ranking.policies is not None:
        lotteries = ranking.policies.lotteries(data.groups.astype(np.int64))
        span = slice(int(lotteries.first[place]), int(lotteries.first[place + 1]))
        best = span.start + int(np.argmax(lotteries.weights[span]))
        order = lotteries.rows[lotteries.starts[best] : lotteries.starts[best + 1]] - data.offsets[place]
        share = float(lotteries.weights[best])
    names = dict(enumerate(one.group_names))
    return [(str(one.item_ids[k]), names.get(int(one.groups[k]))) for k in order], share
