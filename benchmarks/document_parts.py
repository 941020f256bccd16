"""`docs/reliability.md` has a part for each long run, between two marks with its name; its script writes it."""

from __future__ import annotations

from pathlib import Path

DOCUMENT = Path(__file__).resolve().parents[1] / "docs" / "reliability.md"


def write_part(name: str, text: str) -> None:
    """Replace what stands between the marks of this part.

    Raises
    ------
    ValueError
        When the document has no such marks.
    """
    begin, end = f"<!-- {name} -->", f"<!-- /{name} -->"
    document = DOCUMENT.read_text(encoding="utf-8")
    if begin not in document or end not in document:
        raise ValueError(f"{DOCUMENT} has no part {name!r}: put {begin} and {end} where it belongs.")
    before, _, rest = document.partition(begin)
    _, _, after = rest.partition(end)
    DOCUMENT.write_text(f"{before}{begin}\n{text}\n{end}{after}", encoding="utf-8")
