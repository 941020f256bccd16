"""The data on the screen: a bundled sample, or what this session uploaded."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import dataclass

import streamlit as st

from dashboard.escaping import markdown
from dashboard.session.choices import choices, choose
from spofr_core.data import OPENING_SAMPLE, SAMPLES, RankingDataset
from spofr_core.errors import SpofrError

UPLOAD = "upload"
MODEL = "model"
_KEPT = "uploaded"


@dataclass(frozen=True)
class Loaded:
    """A dataset, what it is called, and the lines that load the same one.

    `arguments` are those of the shell command, or None where no command reads the same rows; `where` says from which
    folder, if it matters; `learnable` reads the same rows with their features, or is None where the data is a sample,
    whose features are at hand.
    """

    key: str
    title: str
    data: RankingDataset
    python: str
    arguments: tuple[str, ...] | None = None
    where: str = ""
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
        kept: Loaded = st.session_state[_KEPT]
        return kept
    if wanted not in SAMPLES:
        choose(data=OPENING_SAMPLE)
        lost = (
            "an uploaded file, which only the session that uploaded it can see"
            if wanted == UPLOAD
            else "data that is not here"
        )
        st.toast(
            f"The link speaks of {lost}. Here is a bundled sample instead.", icon=":material/info:", duration="infinite"
        )
        return loaded_data()
    groups = SAMPLES[wanted].groupings
    return load_bundled(wanted, choices().groups if choices().groups in groups else next(iter(groups)))


def sample_names() -> list[str]:
    """The bundled samples in the order in which pages offer them: the one that the dashboard opens on comes first."""
    return sorted(SAMPLES, key=lambda name: name != OPENING_SAMPLE)


def keep_upload(uploaded: Loaded) -> None:
    """Make an upload the data of this session, and of no other."""
    st.session_state[_KEPT] = uploaded
    choose(data=UPLOAD, groups="", query="", top=0, model="")


@st.cache_resource(max_entries=16, show_spinner="Loading the sample")
def load_bundled(name: str, groups: str) -> Loaded:
    """A bundled sample with its items grouped in one of its ways."""
    sample = SAMPLES[name]
    recipe = sample.recipe(groups)
    return Loaded(
        name,
        sample.title,
        sample.audit_data(groups),
        recipe.python,
        recipe.arguments,
        where="from the folder of the project" if recipe.in_checkout else "",
    )
