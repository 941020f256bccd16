"""Train: what to train, how long it will take, and how far it is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import streamlit as st
import yaml

from dashboard.escaping import markdown
from dashboard.jobs.durations import from_a_probe
from dashboard.jobs.job_board import workers
from dashboard.navigation import page_named
from dashboard.session.choices import choices, choose, follow
from dashboard.session.sources import UPLOAD, Loaded, loaded_data
from dashboard.session.stored_uploads import dataset_of_upload, forget_uploads, write_upload
from dashboard.session.visible_runs import results_of, sweeps
from dashboard.session.visitor import visitor
from dashboard.widgets.elements import explain_errors
from dashboard.widgets.job_panel import job_panel
from dashboard.widgets.job_tray import board
from dashboard.widgets.sidebar import notion_label, notions_for
from spofr_core.data import SAMPLES
from spofr_core.errors import SpofrError
from spofr_core.experiments import (
    Plan,
    RunConfig,
    RunStore,
    home,
    missing_runs,
    parse_numbers,
    plan_sweep,
    sample_groups,
    shared_sample,
    time_from_earlier_runs,
)
from spofr_core.learning import METHODS, SCORERS
from spofr_core.reporting import baselines, counted, listed, method_title

DELTAS = "0, 0.01, 0.03, 0.05, 0.1, 0.4"
PENALTIES = "0, 10, 100, 1000, 10000"
USUAL: dict[str, Any] = {"max_steps": 3000, "patience": 20, "learning_rate": 1e-3, "lists": 500, "scorer": "network"}


@explain_errors
def page() -> None:
    """The page."""
    st.title("Train rankers that hold delta", anchor=False)
    left, right = st.columns([4, 3], gap="large")
    with left:
        _form(loaded_data())
    with right:
        job_panel()


def _form(source: Loaded) -> None:
    st.header(f"On {markdown(source.title, 80)}", anchor=False)
    st.page_link(page_named("data"), label="Other data", icon=":material/table_view:")
    try:
        _estimate_and_start(source, _grids(source))
    except SpofrError as error:  # told here, so that the jobs beside it stay on the screen
        st.error(markdown(error, 1000), icon=":material/error:")


def _grids(source: Loaded) -> dict[str, Any]:
    """Everything that is chosen, as a sweep takes it.

    Raises
    ------
    ConfigError
        When something is missing or makes no sense.
    """
    rivals = [method for method in METHODS.values() if method.role == "rival"]
    methods = st.pills(
        "Methods",
        [method.name for method in rivals],
        selection_mode="multi",
        default=[method.name for method in rivals if method.guaranteed],
        format_func=method_title,
        key="train-methods",
        wrap=True,
        help="\n".join(f"- **{markdown(m.title)}** ({m.promise}): {markdown(m.about, 500)}" for m in rivals),
    )
    ends = st.checkbox(
        "And the two ends of every chart",
        value=True,
        key="train-ends",
        help=" ".join(markdown(METHODS[name].about, 500) for name in baselines()),
    )
    deltas, penalties = _strengths(methods)
    one, two = st.columns(2)
    with one:
        groups = _groups(source)
    with two:
        offered = notions_for(source)
        default = [choices().notion] if choices().notion in offered else offered[:1]
        notions = st.multiselect(
            "Notions of fairness", offered, default=default, format_func=notion_label, key="train-notions"
        )
    one, two, three = st.columns(3)
    with one:
        learned = st.segmented_control(
            "Learn from",
            ["labels", "clicks"],
            default="labels",
            format_func={"labels": "Labels", "clicks": "Clicks"}.__getitem__,
            required=True,
            key="train-learn",
            help="Labels: the true relevance. Clicks: simulated on the lists of a weak ranker.",
        )
    seeds = two.number_input("Seeds", 1, 50, 1, key="train-seeds", help="Three or more give bands.")
    clicks = ""
    if learned == "clicks":
        clicks = three.text_input(
            "Clicks", "5000", key="train-clicks", help="Training sizes; several make a curve each."
        )
    training = _training(source)
    return {
        "lists": training.pop("lists"),
        "methods": [*methods, *(baselines() if ends else ())],
        "deltas": parse_numbers(deltas, "deltas"),
        "penalties": parse_numbers(penalties, "Penalties"),
        "groups": sample_groups(groups, source.key) if source.key in SAMPLES else [None],
        "notions": list(notions),
        "clicks": [None] if learned == "labels" else parse_numbers(clicks, "Clicks", int),
        "seeds": int(seeds),
        "training": training,
        "position_bias": choices().position_bias.to_dict(),
    }


def _strengths(methods: list[str]) -> tuple[str, str]:
    """The deltas and penalties of the chosen methods, each asked for where a method takes it."""
    offered = {"deltas": ("deltas", "delta", DELTAS), "penalties": ("Penalties", "penalty", PENALTIES)}
    takers = {
        name: [METHODS[method].title for method in methods if METHODS[method].steered_by == steer]
        for name, (_, steer, _) in offered.items()
    }
    given = {name: usual for name, (*_, usual) in offered.items()}
    wanted = [name for name in offered if takers[name]]
    for column, name in zip(st.columns(len(wanted)) if wanted else (), wanted, strict=True):
        label, _, usual = offered[name]
        given[name] = column.text_input(label, usual, key=f"train-{name}", help=f"For {listed(takers[name])}.")
    return given["deltas"], given["penalties"]


def _groups(source: Loaded) -> list[str]:
    if source.key not in SAMPLES:
        st.multiselect("Groups", ["As in the file"], default=["As in the file"], disabled=True, key="train-groups-file")
        return []
    offered = SAMPLES[source.key].groupings
    current = choices().groups if choices().groups in offered else next(iter(offered))
    return st.multiselect(
        "Groups",
        list(offered),
        default=[current],
        format_func=offered.__getitem__,
        key=f"train-groups-{source.key}",
        help="Several numbers of groups make a curve each.",
    )


def _training(source: Loaded) -> dict[str, Any]:
    """What is seldom changed; it is kept while its fields are closed."""
    given = {**USUAL, **st.session_state.get("training", {})}

    def field(name: str, label: str, low: float, high: float, **more: Any) -> None:
        key = f"train-{name}"
        follow(key, given[name])
        keep = lambda: st.session_state.update(training={**given, name: st.session_state[key]})  # noqa: E731
        st.number_input(label, low, high, key=key, on_change=keep, **more)

    settings = st.expander("Training settings", key="train-settings", on_change="rerun")
    drawn = source.key in SAMPLES and "lists" in SAMPLES[source.key].options
    if settings.open:
        with settings:
            one, two, three = st.columns(3)
            with one:
                field("max_steps", "Steps at most", 10, 100_000, step=100)
            with two:
                field("patience", "Patience", 1, 1000, help="Validations without a new best until training stops.")
            with three:
                field("learning_rate", "Learning rate", 1e-5, 1.0, format="%g")
            if len(SCORERS) > 1:
                _scorer(given)
            if drawn:
                field("lists", "Lists drawn per part", 20, 5000, step=100)
    changed = {name: value for name, value in given.items() if name != "lists" and value != USUAL[name]}
    return {**changed, "lists": given["lists"] if drawn else USUAL["lists"]}


def _scorer(given: dict[str, Any]) -> None:
    """What gives the scores, where there is a choice."""
    follow("train-scorer", given["scorer"])
    keep = lambda: st.session_state.update(training={**given, "scorer": st.session_state["train-scorer"]})  # noqa: E731
    st.selectbox("Scorer", SCORERS.names, key="train-scorer", on_change=keep, help="What gives an item its score.")


def _estimate_and_start(source: Loaded, given: dict[str, Any]) -> None:
    plan = _plan(source, given.pop("lists"), given)
    begun = (plan.store / "store.json").exists()
    missing = missing_runs(plan.runs, RunStore(plan.store, create=False)) if begun else plan.runs
    already = len(plan.runs) - len(missing)
    told_ = f"**{counted(len(plan.runs), 'run', 'runs')}**" + (f", {already} of them done before" if already else "")
    earlier = time_from_earlier_runs(missing, results_of(sweeps()), workers())
    unknown = ". Runs like these were never timed here" if missing else ""
    st.markdown(told_ + (f": {earlier}." if earlier else f"{unknown}."))
    with st.container(horizontal=True):
        start = st.button("Start", type="primary", icon=":material/play_arrow:", key="train-start")
        probe = st.button("Time a few steps first", icon=":material/timer:", key="train-probe", disabled=not missing)
    if source.key == UPLOAD:
        st.caption("The job keeps a copy of your file on this machine, for you alone, until you forget the job.")
    if probe:
        _probe(source, plan.store, missing)
    if start:
        _start(source, plan)
    shell = st.expander("The same from a shell", key="train-shell", on_change="rerun")
    if shell.open:
        with shell:
            st.caption("Save this as sweep.yaml, then:")
            st.code("spofr sweep sweep.yaml --out runs", language="bash")
            st.code(yaml.safe_dump(plan.spec.to_dict(), sort_keys=False, allow_unicode=True), language="yaml")


def _probe(source: Loaded, store: Path, missing: tuple[RunConfig, ...]) -> None:
    with st.spinner("Timing a few steps of each method"):
        write_upload(source, store)
        try:
            st.info(markdown(from_a_probe(missing, workers())), icon=":material/timer:")
        finally:
            forget_uploads(home(), visitor(), board().files(visitor()))


def _plan(source: Loaded, lists: int, given: dict[str, Any]) -> Plan:
    if source.key == UPLOAD:
        dataset, store = dataset_of_upload(source, home(), visitor())
    else:
        dataset, store = shared_sample(home(), source.key, lists)
    return plan_sweep(dataset, store, **given)


def _start(source: Loaded, plan: Plan) -> None:
    write_upload(source, plan.store)
    board().start(
        plan.spec.to_dict(),
        title=_title(source, list(plan.spec.methods), len(plan.runs)),
        visitor=visitor(),
        store=plan.store,
        runs=[config.run for config in plan.runs],
    )
    choose(sweep="")
    st.rerun()


def _title(source: Loaded, methods: list[str], count: int) -> str:
    names = ", ".join(method_title(method) for method in methods)
    return f"{source.title}: {names} ({counted(count, 'run', 'runs')})"
