"""What to compare with: one choice of a kind, and one of what is there of that kind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import streamlit as st

from dashboard.session.choices import choices, choose, follow
from dashboard.session.comparing.rivals import REPAIR, other_columns, other_uploads
from dashboard.session.sources import Loaded
from dashboard.widgets.sidebar import delta_scale, notion_label, notions_for
from spofr_core.data import SAMPLES
from spofr_core.evaluation import Rival
from spofr_core.fairness import written_delta
from spofr_core.reporting import name_text


@dataclass(frozen=True)
class Kind:
    """A kind of rival: what it is called, and what there is of it on this data, text of the rival to its label."""

    name: str
    label: str
    offered: Callable[[Loaded], dict[str, str]]


def rival_picker(source: Loaded, rival: Rival) -> None:
    """Let the reader choose; a choice takes effect at once."""
    kinds = {kind.name: kind for kind in KINDS if kind.name == "delta" or kind.offered(source)}
    current = _kind_of(rival)
    if current not in kinds:
        current = REPAIR
    follow("rival-kind", current, of=(source.key, source.address, tuple(kinds)))
    left, right = st.columns([1, 1], vertical_alignment="bottom")
    left.selectbox(
        "Compare with",
        list(kinds),
        format_func=lambda name: kinds[name].label,
        key="rival-kind",
        on_change=lambda: _take_kind(source, kinds[st.session_state["rival-kind"]]),
    )
    with right:
        if current == "delta":
            _other_delta(source)
        elif current != REPAIR:
            _of_kind(source, kinds[current])


def _of_kind(source: Loaded, kind: Kind) -> None:
    offered = kind.offered(source)
    here = choices().rival if choices().rival in offered else next(iter(offered))
    follow("rival-of-kind", here, of=(kind.name, tuple(offered)))
    st.selectbox(
        "Which one",
        list(offered),
        format_func=offered.__getitem__,
        key="rival-of-kind",
        on_change=lambda: choose(rival=st.session_state["rival-of-kind"]),
    )


def _other_delta(source: Loaded) -> None:
    scale = delta_scale(source)
    unit = "%" if scale.unit == "share" else ""
    shown = choices().rival.removeprefix("delta=").removesuffix("%")
    follow("rival-delta", float(shown), of=scale)
    st.number_input(
        f"The other delta{', in %' if unit else ''}",
        min_value=0.0,
        step=scale.step,
        format=f"%.{max(scale.places, 3)}g",
        key="rival-delta",
        on_change=lambda: choose(rival=f"delta={st.session_state['rival-delta']:g}{unit}"),
    )


def _take_kind(source: Loaded, kind: Kind) -> None:
    if kind.name == "delta":
        made = choices()
        choose(rival=f"delta={written_delta(made.delta / 2, made.unit)}")
    elif kind.name == REPAIR:
        choose(rival="")
    else:
        choose(rival=next(iter(kind.offered(source))))


def _kind_of(rival: Rival) -> str:
    for name in ("file", "model", "score", "rank", "group", "notion"):
        if getattr(rival, name):
            return "column" if name in ("score", "rank") else name
    return "delta" if rival.delta is not None and not rival.repair else REPAIR


def _columns(source: Loaded) -> dict[str, str]:
    numbers, _ = other_columns(source)
    by_score = {f"score={_quoted(name)}": f"{name_text(name, 40)}, the highest on top" for name in numbers}
    by_rank = {f"rank={_quoted(name)}": f"{name_text(name, 40)}, 1 on top" for name in numbers}
    return {text: label for pair in zip(by_score.items(), by_rank.items(), strict=True) for text, label in pair}


def _groups(source: Loaded) -> dict[str, str]:
    if source.key in SAMPLES:
        groupings = {} if source.data.each_item else SAMPLES[source.key].groupings
        here = choices().groups if choices().groups in groupings else next(iter(groupings), "")
        return {f"group={_quoted(key)}": label for key, label in groupings.items() if key != here}
    if source.data.each_item:
        return {}
    return {f"group={_quoted(name)}": name_text(name, 40) for name in other_columns(source)[1]}


def _models(source: Loaded) -> dict[str, str]:
    """Other models of the runs of the one that is looked at: they were tested on the same lists."""
    if source.model is None:
        return {}
    from dashboard.session.chosen_model import run_title
    from dashboard.session.visible_runs import results_of, sweep_of, sweeps

    sweep = sweep_of(source.model.run, sweeps())
    if sweep is None:
        return {}
    frame = results_of([sweep])
    rows = frame[frame["run"] != source.model.run].to_dict("records")
    return {f"model={row['run']}": run_title({str(name): value for name, value in row.items()}) for row in rows}


def _notions(source: Loaded) -> dict[str, str]:
    others = [name for name in notions_for(source) if name != choices().notion]
    return {f"notion={name}": notion_label(name) for name in others}


def _files(source: Loaded) -> dict[str, str]:
    return {f"file={address}": name_text(name, 40) for address, name in other_uploads(source).items()}


def _quoted(name: str) -> str:
    return f'"{name}"' if "," in name else name


KINDS = (
    Kind(REPAIR, "the repair, with delta held", lambda source: {REPAIR: ""}),
    Kind("column", "another column of this file", _columns),
    Kind("file", "another file of yours", _files),
    Kind("model", "another model of the same runs", _models),
    Kind("group", "other groups of the same items", _groups),
    Kind("notion", "another notion of fairness", _notions),
    Kind("delta", "another delta", lambda source: {}),
)
"""In the order in which they are offered; those of which there is nothing are not."""
