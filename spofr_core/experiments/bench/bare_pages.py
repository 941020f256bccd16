"""The plainest Streamlit pages that do what the dashboard is timed at: one Plotly chart each."""

from __future__ import annotations

from pathlib import Path

_CHART = """import plotly.graph_objects as go
import streamlit as st


def chart(value, label):
    figure = go.Figure(go.Bar(x=[value, 1 - value], y=["a", "b"], orientation="h"))
    figure.add_annotation(x=0.5, y=1.0, text=f"{label} {value:g}", showarrow=False)
    st.plotly_chart(figure, key="chart")

"""

SLIDER = (
    _CHART
    + """
st.title("One chart")
chart(st.slider("delta", 0.0, 1.0, 0.05, step=0.001, format="%.3f", key="delta"), "delta")
"""
)

CHOICE = (
    _CHART
    + """
st.title("Two values")
value = {"One": 0.25, "Two": 0.75}[st.radio("Which", ["One", "Two"], key="which")]
st.header(f"What is in it: {value:g}")
chart(value, "value")
"""
)

TWO_PAGES = (
    _CHART
    + """
def first():
    st.title("One")
    chart(0.25, "delta")


def second():
    st.title("Two")
    chart(0.75, "delta")


st.navigation([st.Page(first, title="One", default=True), st.Page(second, title="Two")], position="top").run()
"""
)

UPLOAD = (
    _CHART
    + """
import pandas as pd

st.title("Upload")
file = st.file_uploader("A table")
if file is not None:
    table = pd.read_csv(file)
    st.header(f"{len(table):,} rows")
    chart(float(table["score"].mean()), "mean")
"""
)


def write_pages(folder: Path) -> dict[str, Path]:
    """The pages as scripts in `folder`, by name: slider, choice, two_pages, upload."""
    pages = {"slider": SLIDER, "choice": CHOICE, "two_pages": TWO_PAGES, "upload": UPLOAD}
    paths = {name: folder / f"bare_{name}.py" for name in pages}
    for name, text in pages.items():
        paths[name].write_text(text, encoding="utf-8")
    return paths
