"""Small pieces that pages share: a chart with its table, an error as one sentence."""

from __future__ import annotations

import functools
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dashboard.charts.drawing import CONFIG, Drawing
from dashboard.escaping import markdown
from spofr_core.data import write_csv
from spofr_core.errors import SpofrError
from spofr_core.files import why_nothing_is_kept
from spofr_core.reporting import meaning, unbroken, within_a_sentence

MOST_ROWS = 5000
"""Rows of a table behind a chart; the downloads have them all."""
HEAD_START = 0.08
"""Seconds that a chart which a reader waits for has to itself."""
_OPENING = "opening"
_LOGGER = logging.getLogger(__name__)


def chart(
    figure: Drawing,
    title: str,
    described: str,
    *,
    table: Callable[[], pd.DataFrame],
    note: str = "",
    headed: bool = True,
    name: str = "",
    word: str = "",
    ahead: bool = False,
    on_mark: Callable[[str], None] | None = None,
) -> None:
    """A titled chart, with words for those who do not see it and its numbers for those who want them.

    The table is made when somebody opens it: most of the time nobody does, and delta draws the page again and again.
    `name` keeps the chart the same for the browser where the title changes; `word` is one of the glossary that the
    title explains; `on_mark` is called with what a clicked mark stands for, its `customdata`. The first chart of a page
    that is being opened, and one that is to be seen `ahead` of what follows it, are drawn before anything else is sent.
    """
    if headed:
        st.header(unbroken(title), anchor=False, help=f"{word}: {meaning(word)}" if word else None)
    key = f"chart-{name or title}"
    clicks: dict[str, Any] = (
        {} if on_mark is None else {"on_select": lambda: _clicked(key, on_mark), "selection_mode": "points"}
    )
    st.plotly_chart(figure, config=CONFIG, alt=described, key=key, **clicks)
    if st.session_state.pop(_OPENING, False) or ahead:
        # A browser draws together what it is told together: the first chart would wait for the last. And what is solved
        # meanwhile takes the time of the processor away from the browser, if both are on the same machine.
        time.sleep(HEAD_START)
    if note:
        st.caption(unbroken(note))
    label = f"The numbers: {markdown(within_a_sentence(title), 1000)}"
    numbers = st.expander(label, key=f"numbers-{name or title}", on_change="rerun")
    if numbers.open:
        with numbers:
            show_table(table(), f"Numbers of: {title}")


def wide(name: str, pixels: int) -> DeltaGenerator:
    """A place for a chart that cannot be read below this width: on a narrower screen it is scrolled sideways."""
    st.html(f"<style>.st-key-wide-{name} [data-testid=stFullScreenFrame] {{ min-width: {pixels}px }}</style>")
    return st.container(key=f"wide-{name}")


def opening(page: str) -> bool:
    """Whether the page that is about to be drawn is another one than before."""
    another = bool(st.session_state.get("page") != page)
    st.session_state.update({_OPENING: another, "page": page})
    return another


def is_opening() -> bool:
    """Whether the page is being opened, and none of its charts has been drawn yet."""
    return bool(st.session_state.get(_OPENING, False))


def cards(shown: Sequence[tuple[str, ...]], places: Sequence[DeltaGenerator] | None = None) -> None:
    """Numbers side by side: what each is, its value, a word about it, and what its name means if that is given.

    All of them are Markdown: names from the data come escaped.

    `places` are columns for them that are there already.
    """
    for column, (label, value, more, *meant) in zip(places or st.columns(len(shown)), shown, strict=True):
        explained = next(filter(None, meant), None)
        column.metric(
            label, value, more, border=True, delta_color="off", delta_arrow="off", height="stretch", help=explained
        )


def _clicked(key: str, on_mark: Callable[[str], None]) -> None:
    marks = st.session_state[key]["selection"]["points"]
    meant = next((mark["customdata"] for mark in marks if mark.get("customdata")), None)
    if meant:
        on_mark(meant if isinstance(meant, str) else str(meant[0]))


def tabs(name: str, views: Mapping[str, Callable[[], None]]) -> None:
    """Views behind tabs, of which only the open one is made: a browser takes longest to draw charts.

    Another tab draws nothing else again.
    """

    @st.fragment
    def drawn() -> None:
        for tab, view in zip(st.tabs(list(views), key=name, on_change="rerun"), views.values(), strict=True):
            if tab.open:
                with tab:
                    explain_errors(view)()

    drawn()


def show_table(frame: pd.DataFrame, described: str, *, columns: dict[str, Any] | None = None) -> None:
    """A table as text and numbers; long ones are cut, and say so. `columns` may set how some of them look."""
    st.dataframe(frame.head(MOST_ROWS), hide_index=True, alt=described, column_config=columns)
    if len(frame) > MOST_ROWS:
        st.caption(f"The first {MOST_ROWS:,} of {len(frame):,} rows.")


def chosen_row(rows: Sequence[str], key: str) -> int | None:
    """A list to choose from: the place of the row that was clicked, or entered from the keyboard, else None.

    Rows are buttons, not cells of a grid: a grid is one picture for a keyboard and for who does not see it.

    Parameters
    ----------
    rows : sequence of str
        What each row says, as Markdown of one line; text from the data escaped.
    key : str
        Of the list; its buttons are named after it and their place.
    """
    chosen = None
    with st.container(key=key, gap=None):
        for place, row in enumerate(rows):
            if st.button(row, key=f"{key}-{place}", type="tertiary"):
                chosen = place
    return chosen


def csv_bytes(frame: pd.DataFrame) -> bytes:
    """A table as CSV whose text cells no spreadsheet runs as formulas."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        write_csv(frame, path)
        return path.read_bytes()


def explain_errors(page: Callable[[], None]) -> Callable[[], None]:
    """Let a page tell what went wrong in the one sentence that the core has for it."""

    @functools.wraps(page)
    def wrapper() -> None:
        try:
            page()
        except SpofrError as error:
            st.error(markdown(error.plain, 1000), icon=":material/error:")
        except OSError as error:
            why = why_nothing_is_kept(error)
            if why is None:
                raise
            # The path is for who runs the server, not for its visitors.
            _LOGGER.error("The disk is %s: %s could not be written.", why, error.filename or "a file")
            sentence = f"The disk of this server is {why}, so nothing new can be kept there. What was kept is safe."
            st.error(f"{sentence} Who runs the server has to mend it.", icon=":material/error:")

    return wrapper
