"""The data on the screen: a bundled sample, or what this visitor uploaded."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

import streamlit as st

from dashboard.charts.drawing import By
from dashboard.escaping import markdown
from dashboard.session.choices import Choices, choices, choose
from dashboard.session.slicing.slice_text import parse_slice
from spofr_core.data import OPENING_SAMPLE, SAMPLES, RankingDataset
from spofr_core.errors import DataError, SpofrError
from spofr_core.reporting import slice_name

if TYPE_CHECKING:
    from dashboard.session.chosen_model import Model

UPLOAD = "upload"
MODEL = "model"
_KEPT = "uploaded"
_SLICED = "sliced"


@dataclass(frozen=True)
class Loaded:
    """A dataset, what it is called, and the lines that load the same one.

    `arguments` are those of the shell command, or None where no command reads the same rows; `where` says from which
    folder, if it matters; `learnable` reads the same rows with their features, or is None where the data is a sample,
    whose features are at hand; `columns` are the options of `read_dataset` that do so. An upload has the `address` that
    opens it again, and the name of its `content`. Where a trained `model` is looked at, the scores are its estimates.
    Where only a `slice` of the queries is looked at, as ``country:DE``, the data are these queries, and the title says
    so.
    """

    key: str
    title: str
    data: RankingDataset
    python: str
    arguments: tuple[str, ...] | None = None
    where: str = ""
    learnable: Callable[[], RankingDataset] | None = None
    columns: Mapping[str, Any] = field(default_factory=dict)
    address: str = ""
    content: str = ""
    model: Model | None = None
    slice: str = ""

    @property
    def chosen(self) -> dict[str, str]:
        """What all queries have in common, by the names of their attributes."""
        return parse_slice(self.slice) if self.slice else {}

    @property
    def by(self) -> list[str]:
        """What the queries can be sliced by."""
        return [name for name in self.data.attributes if name not in self.chosen]

    @property
    def ranked_by(self) -> By:
        """What the present ranking is given by."""
        return "rank" if self.data.ranks else "score"

    @property
    def shell(self) -> str | None:
        """The arguments as a shell reads them."""
        return None if self.arguments is None else shlex.join(self.arguments)


def loaded() -> Loaded:
    """What this session looks at: the scores of a trained model if one is chosen, else those of the data itself.

    If a slice of the queries is chosen, it is all there is. One that the data does not have is dropped, and that said.
    """
    run = choices().model
    source = loaded_data() if not run else _of_model(run) or loaded_data()
    return _in_slice(source, choices().slice) if choices().slice else source


def _in_slice(source: Loaded, text: str) -> Loaded:
    """The queries of a slice; the same object at every touch of the page."""
    kept = st.session_state.get(_SLICED)
    if kept is None or kept[0] is not source or kept[1] != text:
        try:
            kept = st.session_state[_SLICED] = (source, text, _cut_out(source, text))
        except SpofrError as error:
            choose(slice="")
            said = f"{markdown(error.plain, 1000)} Here are all queries."
            st.toast(said, icon=":material/info:", duration="infinite")
            return source
    found: Loaded = kept[2]
    return found


def _cut_out(source: Loaded, text: str) -> Loaded:
    chosen = parse_slice(text)
    arguments = source.arguments
    if arguments is not None:
        # A shell takes what stands before the first sign as the name of the column.
        named = tuple(word for name, value in chosen.items() for word in ("--where", f"{name}={value}"))
        arguments = None if any("=" in name for name in chosen) else (*arguments, *named)
    return replace(
        source,
        title=f"{source.title} · {slice_name(chosen)}",
        data=source.data.where(chosen),
        python=f"{source.python}\ndata = data.where({chosen!r})",
        arguments=arguments,
        slice=text,
    )


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
    return Loaded(MODEL, f"{model.title}, test part", model.data, model.python, model.arguments, model=model)


def loaded_data() -> Loaded:
    """All queries of this session's data; a link to somebody's upload, or to nothing, opens a sample and says so."""
    wanted = choices().data
    if wanted in SAMPLES:
        groups = SAMPLES[wanted].ways
        return load_bundled(wanted, choices().groups if choices().groups in groups else next(iter(groups)))
    if not is_upload(wanted):
        return _sample_instead("The link speaks of data that is not here.")
    kept: Loaded | None = st.session_state.get(_KEPT)
    if kept is not None and wanted in (UPLOAD, kept.address):
        return kept
    try:
        return _from_disk(wanted)
    except SpofrError as error:
        return _sample_instead(f"{markdown(error.plain, 1000)}")


def is_upload(data: str) -> bool:
    """Whether this is what an address calls an upload."""
    return data == UPLOAD or data.startswith(f"{UPLOAD}-")


def _from_disk(wanted: str) -> Loaded:
    """What this visitor uploaded before, perhaps in another tab or before the server started.

    Raises
    ------
    DataError
        When this visitor has no such file, or it cannot be read any more.
    """
    from dashboard.session.uploads import open_upload, own_uploads  # which make what this file hands out

    content, _, reading = wanted.removeprefix(f"{UPLOAD}-").partition("-")
    store = own_uploads()
    upload = store.get(content)
    if upload is None:
        if content in store.damaged():
            raise DataError("The link speaks of a file of yours that is damaged on this machine: upload it again.")
        raise DataError(
            "The link speaks of an uploaded file, which only the browser that uploaded it can see, while it is kept."
        )
    with st.spinner(f"Reading {markdown(upload.name)}"):
        opened = open_upload(store, upload)
    if reading not in ("", opened.address.rpartition("-")[2]):
        st.toast(f"{markdown(upload.name)} is read in another way by now.", icon=":material/info:", duration="long")
    keep_upload(opened, choices())
    return opened


def _sample_instead(why: str) -> Loaded:
    choose(data=OPENING_SAMPLE)
    st.toast(f"{why} Here is a bundled sample instead.", icon=":material/info:", duration="infinite")
    return loaded_data()


def sample_names() -> list[str]:
    """The bundled samples in the order in which pages offer them: the one that the dashboard opens on comes first."""
    return sorted(SAMPLES, key=lambda name: name != OPENING_SAMPLE)


def keep_upload(uploaded: Loaded, seen: Choices | None = None) -> None:
    """Make an upload the data of this session, seen as before (`seen`) or as all data is seen at first."""
    st.session_state[_KEPT] = uploaded
    address = uploaded.address or UPLOAD
    choose(
        **(
            {"groups": "", "query": "", "top": 0, "model": "", "slice": "", "quota_min": ""}
            if seen is None
            else asdict(seen)
        )
        | {"data": address}
    )


def drop_upload(content: str) -> None:
    """Let this session forget an upload, and look at a sample if it was on the screen."""
    kept: Loaded | None = st.session_state.get(_KEPT)
    if kept is not None and kept.content == content:
        del st.session_state[_KEPT]
        st.session_state.pop("learnable", None)
    if choices().log == content:
        choose(log="")
    if choices().data.startswith(f"{UPLOAD}-{content}"):
        choose(data=OPENING_SAMPLE)


@st.cache_resource(max_entries=16, show_spinner="Loading the sample")
def load_bundled(name: str, groups: str) -> Loaded:
    """A bundled sample with its items grouped in one of its ways."""
    sample = SAMPLES[name]
    recipe = sample.grouped_recipe(groups)
    return Loaded(
        name,
        sample.title,
        sample.grouped_data(groups),
        recipe.python,
        recipe.arguments,
        where="from the folder of the project" if recipe.in_checkout else "",
    )
