"""Train: what to train, how long it will take, and how far it is."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import streamlit as st
import yaml
from streamlit.delta_generator import DeltaGenerator

from dashboard.escaping import markdown
from dashboard.jobs.durations import from_a_probe
from dashboard.jobs.job_board import workers
from dashboard.navigation import page_named
from dashboard.session.choices import choices, choose, follow
from dashboard.session.every_list.quota_address import quota_for
from dashboard.session.sources import UPLOAD, Loaded, loaded_data
from dashboard.session.stored_uploads import dataset_of_upload, forget_uploads, write_upload
from dashboard.session.visible_runs import grouped_by, results_of, seen_features, sweeps
from dashboard.session.visitor import visitor
from dashboard.widgets.elements import explain_errors
from dashboard.widgets.job_panel import job_panel
from dashboard.widgets.job_tray import board
from dashboard.widgets.sidebar import delta_range, notion_label, notions_for
from spofr_core.data import SAMPLES
from spofr_core.errors import ConfigError, SpofrError
from spofr_core.evaluation import TOLERANCE
from spofr_core.experiments import (
    Plan,
    RunConfig,
    RunStore,
    home,
    missing_runs,
    offered_deltas,
    parse_numbers,
    plan_sweep,
    sample_groups,
    shared_sample,
    time_from_earlier_runs,
)
from spofr_core.fairness import Quota, Unit, format_delta, parse_deltas
from spofr_core.learning import LOSSES, METHODS, SCORERS, with_scorer
from spofr_core.reporting import baselines, counted, listed, method_title, slice_name

PENALTIES = "0, 10, 100, 1000, 10000"
STAGES = (
    "At most, of each stage. SPOFR has two, and may take twice as many: relevance and the fair re-ranking together, "
    "then the re-ranking alone. A stage ends sooner where validation stops improving."
)
USUAL: dict[str, Any] = {
    "max_steps": 3000, "patience": 20, "learning_rate": 1e-3, "lists": 500, "scorer": "network", "loss": "listnet",
    "hidden": "32", "batch_size": 64, "warm_up": "", "margin": None,
}  # fmt: skip
MARGIN = (
    "Standard errors on the validation lists that the re-ranking alone must gain: as usual 1, over both together. A "
    "number is cautious: over a plain first stage, or the model is predict-then-optimise. 0 keeps the best of all."
)


NO_ITEMS = (
    "A model is trained with groups, which training and test lists share; an item on its own is in one list. Train "
    "with groups: the scores that come of it can be repaired with each item on its own."
)


@explain_errors
def page() -> None:
    """The page."""
    st.title("Train rankers that hold delta", anchor=False)
    # The key is what the stylesheet knows them by: it puts them below each other where they have no room.
    left, right = st.container(key="train-halves").columns([4, 3], gap="large")
    with left:
        _form(loaded_data())
    with right:
        job_panel()


def _form(source: Loaded) -> None:
    st.header(f"On {markdown(source.title, 80)}", anchor=False)
    if choices().slice:
        st.caption("On all of its queries: a slice that is looked at does not change what is learned from.")
    st.page_link(page_named("data"), label="Other data", icon=":material/table_view:")
    if source.data.each_item:
        st.info(NO_ITEMS, icon=":material/info:")
        if source.key not in SAMPLES:
            return
    try:
        _estimate_and_start(source, _grids(source))
    except SpofrError as error:  # told here, so that the jobs beside it stay on the screen
        st.error(markdown(error.plain, 1000), icon=":material/error:")


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
        default=[method.name for method in rivals if method.guaranteed and method.variant_of is None],
        format_func=method_title,
        key="train-methods",
        wrap=True,
        help="\n".join(f"- **{markdown(m.title)}** ({m.promise}): {markdown(m.about, 500)}" for m in rivals),
    )
    ends = st.checkbox(
        "Also the plain sort and a random ranking",
        value=True,
        key="train-ends",
        help=" ".join(markdown(METHODS[name].about, 500) for name in baselines()),
    )
    deltas, unit, penalties = _strengths(source, methods)
    one, two = st.columns(2)
    with one:
        groups = _groups(source)
    with two:
        offered = notions_for(source)
        default = [choices().notion] if choices().notion in offered else offered[:1]
        notions = st.multiselect(
            "Notions of fairness", offered, default=default, format_func=notion_label, key="train-notions", wrap=True
        )
    one, two, three = st.columns([4, 3, 3])
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
    seeds = two.number_input(
        "Seeds", 1, 50, 1, key="train-seeds", help="Three or more give the curves bands, and let methods be told apart."
    )
    clicks = ""
    if learned == "clicks":
        clicks = three.text_input(
            "Clicks", "5000", key="train-clicks", help="Training sizes; several make a curve each."
        )
    quota = _every_list(source, groups, methods)
    features = _feature_set(source)
    training = _training(source)
    own = _own_settings({name: training.pop(name, None) for name in ("loss", "warm_up", "margin")})
    chosen = [*methods, *(baselines() if ends else ())]
    return {
        "lists": training.pop("lists"),
        "features": features,
        "methods": chosen,
        "method_settings": {name: each for name, each in own.items() if name in chosen and each},
        "deltas": deltas,
        "unit": unit,
        "penalties": parse_numbers(penalties, "Penalties"),
        "groups": sample_groups(groups, source.key) if source.key in SAMPLES else [None],
        "notions": list(notions),
        "clicks": [None] if learned == "labels" else parse_numbers(clicks, "Clicks", int),
        "seeds": int(seeds),
        "training": training,
        "position_bias": choices().position_bias.to_dict(),
        **({} if quota is None else {"every_ranking": quota.to_dict()}),
    }


def _strengths(source: Loaded, methods: list[str]) -> tuple[list[float], Unit, str]:
    """The deltas, with their unit, and the penalties of the chosen methods, each asked for where a method takes it."""
    ends = delta_range(source)
    usual = ", ".join(format_delta(delta, choices().unit).replace(" ", "") for delta in offered_deltas(*ends))
    if st.session_state.get("train-deltas-of") != usual:
        # Other data, another notion or another unit: what was right for the last one is not for this.
        st.session_state.update({"train-deltas": usual, "train-deltas-of": usual})
    fields = {
        "deltas": ("deltas", "delta", usual, " 10% is a share of the list's mean exposure, 0.05 an absolute delta."),
        "penalties": ("Penalties", "penalty", PENALTIES, ""),
    }
    takers = {
        name: [METHODS[method].title for method in methods if METHODS[method].steered_by == steer]
        for name, (_, steer, *_) in fields.items()
    }
    given = {"deltas": usual, "penalties": PENALTIES}
    wanted = [name for name in fields if takers[name]]
    for column, name in zip(st.columns(len(wanted)) if wanted else (), wanted, strict=True):
        label, _, text, more = fields[name]
        st.session_state.setdefault(f"train-{name}", text)
        given[name] = column.text_input(label, key=f"train-{name}", help=f"For {listed(takers[name])}.{more}")
    deltas, unit = asked_deltas(given["deltas"], choices().unit)
    if takers["deltas"]:
        st.caption(markdown(range_sentence(deltas, unit, ends)))
    return deltas, unit, given["penalties"]


def _every_list(source: Loaded, groups: list[str], methods: list[str]) -> Quota | None:
    """What every list that is drawn has to hold, which the sidebar asks; said with the methods that keep it.

    Raises
    ------
    ConfigError
        When it names groups, and runs are to have others.
    """
    quota = quota_for(choices().quota, choices().quota_min, source.data.group_names)
    if quota is None:
        return None
    own = choices().groups or (next(iter(SAMPLES[source.key].groupings)) if source.key in SAMPLES else "")
    if quota.minimum and any(each != own for each in groups):
        raise ConfigError(
            "The minimum beside delta names groups of the data on the screen: train with these groups alone, or take "
            "the minimum away."
        )
    ending = [METHODS[name].title for name in methods if METHODS[name].guaranteed]
    verb = "keep" if len(ending) > 1 else "keeps"
    ends = f"{listed(ending)} {verb} to it." if ending else "No chosen method keeps to it."
    st.caption(markdown(f"{quota.definition} {ends}", 1000))
    return quota


def asked_deltas(text: str, usual: Unit) -> tuple[list[float], Unit]:
    """Deltas from a text such as "0, 5%, 10%" and their unit; zeros alone are of the usual one.

    Raises
    ------
    ConfigError
        When there is none, one is no delta, or shares and absolute deltas are mixed.
    """
    words = [word for word in re.split(r"[,;\s]+", re.sub(r"\s+%", "%", text)) if word]
    if not words:
        raise ConfigError("deltas: give at least one number.")
    deltas, unit = parse_deltas(words)
    return list(dict.fromkeys(deltas)), unit if any(deltas) else usual


def range_sentence(deltas: list[float], unit: Unit, ends: tuple[float, float]) -> str:
    """What deltas mean on this data, and which of them lie outside of its range."""
    if unit != choices().unit:
        return ""
    low, high = (format_delta(end, unit, 3) for end in ends)
    told = f"On this data {low} asks for everything, and from {high} on nothing is forbidden."
    beyond = [format_delta(delta, unit) for delta in deltas if delta > 1.1 * ends[1]]
    below = [format_delta(delta, unit) for delta in deltas if delta < ends[0] - TOLERANCE]
    if beyond:
        told += f" {listed(beyond)} {'lie' if len(beyond) > 1 else 'lies'} beyond that."
    if below:
        told += f" Some lists cannot hold {listed(below, word='or')}: they get the smallest delta that they can."
    return told


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
        wrap=True,
    )


def _feature_set(source: Loaded) -> str | None:
    """What the scorers may see, where the data offers a choice; None is the first."""
    offered = SAMPLES[source.key].feature_sets if source.key in SAMPLES else {}
    if not offered:
        return None
    chosen = st.segmented_control(
        "Features",
        list(offered),
        default=next(iter(offered)),
        format_func=offered.__getitem__,
        required=True,
        key=f"train-features-{source.key}",
        help="What the scorers may see. What the groups are made of is never among it.",
    )
    return None if chosen == next(iter(offered)) else chosen


def _training(source: Loaded) -> dict[str, Any]:
    """What is seldom changed; it is kept while its fields are closed."""
    stored: dict[str, Any] = st.session_state.get("training", {})
    scorer = stored.get("scorer", USUAL["scorer"])
    own = {} if scorer == USUAL["scorer"] else SCORERS[scorer].usual_settings  # that of networks would load torch
    usual = {**USUAL, **{name: value for name, value in own.items() if name in USUAL}}
    given = {**usual, **stored}

    def kept(name: str, before: dict[str, Any] = stored) -> dict[str, Any]:
        """The arguments of a widget that shows a setting, and keeps what becomes of it."""
        key = f"train-{name}"
        follow(key, given[name])
        keep = lambda: st.session_state.update(training={**before, name: st.session_state[key]})  # noqa: E731
        return {"key": key, "on_change": keep}

    settings = st.expander("Training settings", key="train-settings", on_change="rerun")
    drawn = source.key in SAMPLES and "lists" in SAMPLES[source.key].options
    if settings.open:
        with settings:
            one, two, three = st.columns(3, vertical_alignment="bottom")
            one.number_input("Steps per stage", 10, 100_000, step=100, help=STAGES, **kept("max_steps"))
            about = "Validations without a new best until training stops."
            two.number_input("Patience", 1, 1000, help=about, **kept("patience"))
            three.number_input("Learning rate", 1e-6, 1.0, format="%g", **kept("learning_rate"))
            one, two, three = st.columns(3, vertical_alignment="bottom")
            rates = {name: value for name, value in stored.items() if name not in ("learning_rate", "patience")}
            about = "What gives an item its score; each has a usual rate and patience. DELTR and FULTR take networks."
            one.selectbox("Scorer", SCORERS.names, help=about, **kept("scorer", rates))
            about = "Widths of the hidden layers of a network: 64, 32, or halving, or none for a linear scorer."
            two.text_input("Layers", help=about, disabled=scorer != USUAL["scorer"], **kept("hidden"))
            about = "FULTR takes 16, unless this is changed."
            three.number_input("Lists per step", 1, 10_000, help=about, **kept("batch_size"))
            one, two, three = st.columns(3, vertical_alignment="bottom")
            about = "Of predict-then-optimise, the plain sort, and the first stage of SPOFR; pairs cannot teach that."
            one.selectbox("Loss", LOSSES.names, format_func=_loss_label, help=about, **kept("loss"))
            firsts = ["", *(name for name in LOSSES.names if name != "lambdarank"), "none"]
            about = "The loss of relevance that SPOFR learns first, beside the one through the re-ranking."
            two.selectbox("SPOFR's first stage", firsts, format_func=_loss_label, help=about, **kept("warm_up"))
            three.number_input(
                "SPOFR's margin", 0.0, 10.0, None, format="%g", help=MARGIN, placeholder="as usual", **kept("margin")
            )
            if drawn:
                st.number_input("Lists drawn per part", 20, 5000, step=100, **kept("lists"))
    changed = {name: value for name, value in given.items() if name != "lists" and value != usual[name]}
    changed |= {} if scorer == USUAL["scorer"] else {"scorer": scorer}
    if "hidden" in changed:
        changed["hidden"] = asked_layers(changed["hidden"])
    return {**changed, "lists": given["lists"] if drawn else USUAL["lists"]}


def _loss_label(name: str) -> str:
    return {"": "As the loss", "none": "None"}.get(name) or LOSSES[name].label


def _own_settings(given: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The settings of single methods; the first stage of SPOFR has the loss of the others, unless it has its own."""
    loss = given["loss"]
    first = given["warm_up"] or (None if loss == "lambdarank" else loss)
    spofr = {"warm_up": first, "margin": given["margin"]}
    own: dict[str, dict[str, Any]] = {"pto": {"loss": loss}, "unfair": {"loss": loss}, "spofr": spofr}
    return {method: {name: value for name, value in each.items() if value is not None} for method, each in own.items()}


def asked_layers(text: str) -> tuple[int, ...] | str:
    """Widths of layers from a text such as "64, 32"; "none" is a linear scorer.

    Raises
    ------
    ConfigError
        When it is neither.
    """
    plain = text.strip().lower()
    if plain in ("halving", "none"):
        return () if plain == "none" else plain
    words = [word for word in re.split(r"[,;\s]+", plain) if word]
    if not words or not all(word.isdecimal() and int(word) for word in words):
        raise ConfigError(f"Layers: {text!r} is no list of widths; write 64, 32, or halving, or none.")
    return tuple(map(int, words))


def _estimate_and_start(source: Loaded, given: dict[str, Any]) -> None:
    plan = _plan(source, given.pop("lists"), given.pop("features"), given)
    begun = (plan.store / "store.json").exists()
    missing = missing_runs(plan.runs, RunStore(plan.store, create=False)) if begun else plan.runs
    already = len(plan.runs) - len(missing)
    told_ = f"**{counted(len(plan.runs), 'run', 'runs')}**" + (f", {already} of them done before" if already else "")
    earlier = time_from_earlier_runs(missing, results_of(sweeps()), workers())
    unknown = ". How long they take is not known: nothing like them has run here" if missing else ""
    st.markdown(told_ + (f": {earlier}." if earlier else f"{unknown}."))
    with st.container(horizontal=True, vertical_alignment="center"):
        start = st.button("Start", type="primary", icon=":material/play_arrow:", key="train-start")
        probe = st.button("Time a few steps first", icon=":material/timer:", key="train-probe", disabled=not missing)
        beside = st.empty()
    if source.key == UPLOAD:
        st.caption(
            "The job keeps a copy of your file on this machine, for you alone, until you forget the job or the file."
        )
    if probe:
        _probe(source, plan.store, missing, beside)
    if start:
        with beside, st.spinner("Starting"):
            _start(source, plan)
    shell = st.expander("The same from a shell", key="train-shell", on_change="rerun")
    if shell.open:
        with shell:
            st.caption("Save this as sweep.yaml, then:")
            st.code("spofr sweep sweep.yaml --out runs", language="bash")
            st.code(yaml.safe_dump(_of_a_shell(source, plan), sort_keys=False, allow_unicode=True), language="yaml")


def _of_a_shell(source: Loaded, plan: Plan) -> dict[str, Any]:
    """The sweep for who has the file at hand: a job here reads its own copy, in columns of its own."""
    spec = plan.spec.to_dict()
    if not source.columns:
        return spec
    file = source.title.removesuffix(f" · {slice_name(source.chosen)}") if source.slice else source.title
    return spec | {"dataset": {"file": file, "columns": dict(source.columns)}}


def _probe(source: Loaded, store: Path, missing: tuple[RunConfig, ...], beside: DeltaGenerator) -> None:
    with beside, st.spinner("Timing a few steps of each method"):
        write_upload(source, store)
        try:
            told = from_a_probe(missing, workers())
        finally:
            forget_uploads(home(), visitor(), board().files(visitor()))
    st.info(markdown(told), icon=":material/timer:")


def _plan(source: Loaded, lists: int, features: str | None, given: dict[str, Any]) -> Plan:
    if source.key == UPLOAD:
        dataset, store = dataset_of_upload(source, home(), visitor())
    else:
        dataset, store = shared_sample(home(), source.key, lists, features)
    return plan_sweep(dataset, store, **given)


def _start(source: Loaded, plan: Plan) -> None:
    write_upload(source, plan.store)
    board().start(
        plan.spec.to_dict(),
        title=_title(source, plan),
        visitor=visitor(),
        store=plan.store,
        runs=[config.run for config in plan.runs],
    )
    choose(sweep="")
    st.rerun()


def _title(source: Loaded, plan: Plan) -> str:
    """A job among others: on which data, by which groups, from which features, with which methods and scorer."""
    spec = plan.spec
    by = list(dict.fromkeys(filter(None, (grouped_by(spec.dataset.to_dict(), groups) for groups in spec.groups))))
    more = [*([f"by {listed(by)}"] if by else []), *seen_features(spec.dataset.to_dict())]
    named = f"{source.title} ({', '.join(more)})" if more else source.title
    methods = ", ".join(method_title(with_scorer(method, spec.training)) for method in spec.methods)
    return f"{named}: {methods} ({counted(len(plan.runs), 'run', 'runs')})"
