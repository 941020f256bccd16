"""The data on the screen: a bundled sample, or what this session uploaded."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import streamlit as st

from dashboard.escaping import markdown
from dashboard.session.choices import choices, choose
from spofr_core.data import RankingDataset, load_sample, read_dataset, sample_path
from spofr_core.errors import SpofrError

UPLOAD = "upload"
MODEL = "model"
_KEPT = "uploaded"


@dataclass(frozen=True)
class Sample:
    """A bundled dataset: what it is, and the ways its items can be grouped (key to label, the first is the default)."""

    title: str
    about: str
    groups: dict[str, str]
    credit: str = ""


SAMPLES: dict[str, Sample] = {
    "hiring": Sample(
        "Hiring searches (synthetic)",
        "Job searches with 12 to 30 candidates each, ranked by a made-up model that is not fair. Nobody in it is real.",
        {"gender": "Gender", "region": "Region", "gender+region": "Gender and region, crossed"},
    ),
    "german-credit": Sample(
        "German Credit",
        "Lists of 20 loan applicants, 2 of them good risks, ranked by a linear model that saw 1 % of the lists.",
        {"purpose": "Purpose: radio or television, or other", "gender": "Gender", "age": "Age: up to 25, or older"}
        | {str(k): f"{k} age groups" for k in range(3, 8)},
        "Statlog (German Credit Data), H. Hofmann, UCI Machine Learning Repository, CC BY 4.0.",
    ),
    "mslr": Sample(
        "Web search (MSLR-WEB)",
        "Lists of 20 web pages of real queries, ranked by a linear model that saw 1 % of the lists.",
        {str(k): f"{k} groups by page quality" for k in range(2, 8)},
        "MSLR-WEB, T. Qin and T.-Y. Liu, Microsoft, CC BY 4.0.",
    ),
}


@dataclass(frozen=True)
class Loaded:
    """A dataset, what it is called, and the lines that load the same one.

    `arguments` are those of the shell command, or None where no command reads the same rows; `learnable` reads the same
    rows with their features, or is None where the data is a sample, whose features are at hand.
    """

    key: str
    title: str
    data: RankingDataset
    python: str
    arguments: tuple[str, ...] | None = None
    options: dict[str, Any] = field(default_factory=dict)
    learnable: Callable[[], RankingDataset] | None = None

    @property
    def shell(self) -> str | None:
        """The arguments as a shell reads them."""
        return None if self.arguments is None else shlex.join(self.arguments)


def loaded() -> Loaded:
    """What this session looks at: the scores of a trained model if one is chosen, else those of the data itself."""
    run = choices().model
    return loaded_data() if not run else _of_model(run) or loaded_data()


def _of_model(run: str) -> Loaded | None:
    # Models need torch, which takes seconds to import: only who looks at one waits for it.
    from dashboard.session.chosen_model import model_named

    try:
        model = model_named(run)
        why = "The link speaks of a model that is not here."
    except SpofrError as error:
        model, why = None, f"The model cannot be used: {markdown(error, 1000)}"
    if model is None:
        choose(model="")
        st.toast(f"{why} Here is the data itself.", icon=":material/info:", duration="infinite")
        return None
    return Loaded(MODEL, f"Sorted by the scores of {model.title}, test part", model.data, model.python)


def loaded_data() -> Loaded:
    """The data of this session; a link to somebody's upload, or to nothing, opens the first sample and says so."""
    wanted = choices().data
    if wanted == UPLOAD and _KEPT in st.session_state:
        return st.session_state[_KEPT]
    if wanted not in SAMPLES:
        choose(data=next(iter(SAMPLES)))
        lost = (
            "an uploaded file, which only the session that uploaded it can see"
            if wanted == UPLOAD
            else "data that is not here"
        )
        st.toast(
            f"The link speaks of {lost}. Here is a bundled sample instead.", icon=":material/info:", duration="infinite"
        )
        return loaded_data()
    groups = SAMPLES[wanted].groups
    return load_bundled(wanted, choices().groups if choices().groups in groups else next(iter(groups)))


def keep_upload(uploaded: Loaded) -> None:
    """Make an upload the data of this session, and of no other."""
    st.session_state[_KEPT] = uploaded
    choose(data=UPLOAD, groups="", query="", top=0, model="")


@st.cache_resource(max_entries=16, show_spinner="Loading the sample")
def load_bundled(name: str, groups: str) -> Loaded:
    """A bundled sample with its items grouped in one of its ways."""
    title = SAMPLES[name].title
    if name == "hiring":
        columns = groups.split("+")
        roles = {"query": "search_id", "item": "candidate_id", "relevance": "relevance", "score": "score"}
        data = read_dataset(sample_path("hiring.csv"), group=columns, **roles)
        named = "".join(f", {role}={column!r}" for role, column in roles.items())
        given = repr(columns[0] if len(columns) == 1 else columns)
        python = f'data = read_dataset("sample_data/hiring.csv", group={given}{named})'
        options = [part for column in columns for part in ("--group", column)]
        options += [part for role, column in roles.items() for part in (f"--{role}", column)]
        return Loaded(name, title, data, python, ("sample_data/hiring.csv", *options))
    option = int(groups) if groups.isdigit() else groups
    data = load_sample(name, groups=option, score="logging").test
    return Loaded(name, title, data, f'data = load_sample("{name}", groups={option!r}, score="logging").test')
