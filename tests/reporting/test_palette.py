"""One palette: no other file of the package writes a colour."""

from __future__ import annotations

import re
from pathlib import Path

from spofr_core.reporting import palette

ROOT = Path(__file__).resolve().parents[2]
COLOUR = re.compile(r"""["'( :]#(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6}|[0-9a-fA-F]{8})\b|\brgba?\(\s*\d""")
OWN = "spofr_core/learning/methods/"
"""A method brings its own colour, like its name."""


STYLE = ROOT / "dashboard" / "assets" / "style.css"
"""Streamlit reads it as it is, so that it cannot ask the palette."""


def test_the_stylesheet_has_no_colour_of_its_own():
    colours = set(re.findall(r"#[0-9a-fA-F]{3,8}\b", STYLE.read_text("utf-8")))
    assert colours
    assert colours <= {value for value in vars(palette).values() if isinstance(value, str)}


def test_every_colour_is_in_the_palette():
    found = [
        f"{path.relative_to(ROOT)}: {line.strip()}"
        for top in ("spofr_core", "dashboard")
        for kind in ("*.py", "*.j2", "*.css")
        for path in (ROOT / top).rglob(kind)
        if path.name != "palette.py" and path != STYLE and not path.relative_to(ROOT).as_posix().startswith(OWN)
        for line in path.read_text("utf-8").splitlines()
        if COLOUR.search(line)
    ]
    assert found == []


def test_the_search_for_colours_finds_them():
    for line in ('INK = "#444"', "h2 { color: #9aa3ad; }", '"rgba(38, 120, 184, 0.15)"', "x = 'rgb(1,2,3)'"):
        assert COLOUR.search(line), line
    assert not COLOUR.search("see issue #7 and f'#{name}' and href=\"#grid\"")


def test_a_see_through_colour_is_the_same_colour():
    assert palette.see_through("#2678b8", 0.15) == "rgba(38, 120, 184, 0.15)"
