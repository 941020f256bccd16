"""README and docs say what the code says: folders, notions, methods, and the recipes of CONTRIBUTING.md."""

from __future__ import annotations

import re
from pathlib import Path

from spofr_core.fairness import NOTIONS
from spofr_core.learning import METHODS
from spofr_core.measures import MEASURES
from tests.test_architecture import DASHBOARD, ROOMS

ROOT = Path(__file__).resolve().parent.parent


def rows(document: str, header: str) -> list[list[str]]:
    """The cells of the table whose first line begins with this header."""
    lines = (ROOT / document).read_text("utf-8").splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith(header))
    found = []
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            break
        found.append([cell.strip() for cell in line.strip("|").split("|")])
    return found


def first_cells(document: str, header: str) -> list[str]:
    return [row[0].strip("`") for row in rows(document, header)]


def test_the_page_on_the_architecture_names_every_folder():
    text = (ROOT / "docs/architecture.md").read_text("utf-8")
    kept = {path.name for path in ROOT.iterdir() if path.is_dir() and re.match(r"[a-z]", path.name)}
    kept -= {"build", "dist", "runs", "reproduction", "screenshots", "spofr.egg-info"}  # made, not kept
    assert [name for name in sorted(kept) if f"`{name}" not in text] == []


def test_links_lead_somewhere():
    for page in [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]:
        text = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
        for target in re.findall(r"\]\(([^)\s]+)\)", text):
            if "://" in target:
                continue
            name, _, part = target.partition("#")
            file = page.parent / name if name else page
            assert file.exists(), (page.name, target)
            assert not part or part in anchors(file), (page.name, target)


def anchors(file: Path) -> set[str]:
    """What headings can be linked by: a title that comes again gets a number."""
    titles = re.findall(r"^#+ (.*)$", file.read_text("utf-8"), flags=re.MULTILINE)
    names = [re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles]
    return {f"{name}-{before}" if (before := names[:at].count(name)) else name for at, name in enumerate(names)}


def test_the_page_on_the_architecture_names_every_room():
    listed = first_cells("docs/architecture.md", "| room |")
    folders = [room for room in DASHBOARD if (ROOT / "dashboard" / room).is_dir()]
    assert listed == [
        "spofr_core/*.py",
        *(f"spofr_core/{room}" for room in ROOMS),
        *(f"dashboard/{f}" for f in folders),
    ]
    for folder, _, parts in rows("docs/architecture.md", "| room |"):
        for name in re.findall(r"`(\w+/)`", parts):
            assert (ROOT / folder.strip("`") / name).is_dir(), name


def test_the_methods_of_the_readme_are_the_methods():
    expected = [[f"`{m.name}`", m.title, m.steered_by or "", m.promise] for m in METHODS.values()]
    assert rows("README.md", "| `--method` |") == expected


def test_the_page_on_measures_is_the_catalogue():
    expected = [
        [
            f"`{m.name}`",
            m.description,
            m.formula.replace("|", r"\|"),
            ", ".join(["@k"] * (m.depth != 0) + [*m.parameters]),
        ]
        for m in MEASURES.values()
    ]
    text = (ROOT / "docs/measures.md").read_text("utf-8")
    lines = text[text.index("| measure |") :].split("\n\n")[0].splitlines()[2:]
    listed = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip("|"))] for line in lines]
    assert [[name, what, formula, settings] for name, what, formula, _, settings, _ in listed] == expected


def test_the_notions_of_the_guide_are_the_notions():
    listed = rows("docs/guide.md", "| notion |")
    assert [row[0] for row in listed] == [f"`{name}`" for name in NOTIONS]
    for notion, row in zip(NOTIONS.values(), listed, strict=True):
        assert row[1].startswith(re.sub(r"\|([^|]*)\|", r"abs(\1)", notion.formula))  # a bar would end the cell


def test_the_recipes_are_the_code_that_is_tested():
    folder = ROOT / "tests" / "extending"
    files = {
        path.read_text("utf-8") for path in folder.glob("*.py") if not path.stem.startswith(("test_", "__", "conf"))
    }
    recipes = (ROOT / "CONTRIBUTING.md").read_text("utf-8").split("\n### ")[1:]
    quoted = [code for recipe in recipes for code in re.findall(r"```python\n(.*?)```", recipe, flags=re.DOTALL)]
    assert set(quoted) == files
    assert len(recipes) == len(quoted) == len(files) == 11


def test_recipes_name_files_and_folders_that_exist():
    named = re.findall(r"`((?:spofr_core|dashboard|tests)/[\w/.]+)`", (ROOT / "CONTRIBUTING.md").read_text("utf-8"))
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_the_first_lines_of_the_readme_say_what_they_print(capsys, monkeypatch):
    monkeypatch.chdir(ROOT)
    lines = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), flags=re.DOTALL)[1]
    found: dict = {}
    exec(lines, found)  # what the README tells people to run
    queries = found["result"].summary["queries"]
    assert (
        f"# {queries['fair']} of {queries['judged']} queries hold delta: share {queries['share']:.3f}, "
        f"95 % interval {queries['ci'][0]:.3f} to {queries['ci'][1]:.3f}"
    ) in lines
