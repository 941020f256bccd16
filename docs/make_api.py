"""Write docs/api.md and docs/settings.md from docstrings and types: `python docs/make_api.py`."""

from __future__ import annotations

import inspect
import re
import typing
from pathlib import Path

import spofr_core
from spofr_core.learning import LOSSES, METHODS, TrainingSettings

PAGE = Path(__file__).resolve().parent / "api.md"
SETTINGS = PAGE.with_name("settings.md")
HEAD = """# What `spofr_core` publishes

From the docstrings, by `python docs/make_api.py`; a test holds this page to them. [The words](concepts.md) come first.
Each room publishes more: see its `__init__.py`.
"""


def page() -> str:
    """The whole page."""
    names = [name for name in spofr_core.__all__ if not name.startswith("_")]
    toc = ", ".join(f"[`{name}`](#{anchor})" for name, anchor in zip(names, anchors(names), strict=True))
    return "\n".join([HEAD, toc, "", *(section(name, getattr(spofr_core, name)) for name in names)])


SETTINGS_HEAD = """# Settings of every method

From the types that check them, by `python docs/make_api.py`. In Python they are keywords (`SPOFR(fairness, margin=1)`),
in the shell `--set margin=1`, in a sweep `training` for all and `method_settings: {spofr: {margin: 1}}` for one.
"""


def settings_page() -> str:
    """The settings of each method, those that all share first; of a variant, what it changes."""
    blocks = [SETTINGS_HEAD, f"## All methods\n\n{settings_of(TrainingSettings, {})}"]
    for method in METHODS.values():
        kind, usual = method.estimator.settings_type, TrainingSettings.defaults()
        if method.variant_of is not None:
            told = "\n".join(f"- `{name}`: {default_text(value)}" for name, value in method.recipe.items())
            text = f"The settings of `{method.variant_of}`, of which `training` of a sweep leaves alone:\n\n{told}\n"
        else:
            text = settings_of(kind, usual) if kind.defaults().keys() - usual.keys() else "None of its own.\n"
        blocks.append(f"## {method.title}\n\n`--method {method.name}`. {method.about}\n\n{text}")
    names = "\n".join(f"- `{loss.name}`: {loss.label}" for loss in LOSSES.values())
    return "\n".join([*blocks, f"## Losses of relevance\n\n{names}\n"])


def settings_of(kind: type[TrainingSettings], known: dict[str, object]) -> str:
    """The fields of a class of settings beyond those known, or with other defaults, with default and meaning."""
    told = dict(re.findall(r"^- `(\w+)`: .*\n((?:  .*\n?)+)", documented(kind), flags=re.MULTILINE))
    for base in kind.__mro__:
        more = dict(re.findall(r"^- `(\w+)`: .*\n((?:  .*\n?)+)", documented(base), flags=re.MULTILINE))
        told = {**more, **told}
    rows = [
        f"| `{name}` | `{default_text(value)}` | {choices_of(kind, name)}"
        f"{' '.join(told.get(name, '').split()).replace('|', '/')} |"
        for name, value in kind.defaults().items()
        if (name, value) not in known.items()
    ]
    return "\n".join(["| setting | default | meaning |", "|---|---|---|", *rows, ""])


def choices_of(kind: type[TrainingSettings], name: str) -> str:
    """The words that a setting takes, where they are a few."""
    words = [f"`{word}`" for word in typing.get_args(kind.model_fields[name].annotation) if isinstance(word, str)]
    return f"{' or '.join(words)}. " if words else ""


def anchors(names: list[str]) -> list[str]:
    """Where headings are found: in small letters, and numbered where two are the same then (`Repair`, `repair`)."""
    found: list[str] = []
    for name in names:
        before = sum(known.partition("-")[0] == name.lower() for known in found)
        found.append(f"{name.lower()}-{before}" if before else name.lower())
    return found


def section(name: str, thing: object) -> str:
    """One name: how it is called, what it says of itself, and the public members of a class."""
    text = f"## {name}\n\n```text\n{signature(name, thing)}\n```\n\n{documented(thing)}\n"
    if inspect.isclass(thing) and not issubclass(thing, BaseException):
        members = [f"- `{member}`: {first_sentence(value)}" for member, value in public_members(thing)]
        text += "\n" + "\n".join(members) + "\n" if members else ""
    return text


def signature(name: str, thing: object) -> str:
    """How it is called, without the types, which the docstring tells."""
    if not callable(thing) or (inspect.isclass(thing) and issubclass(thing, BaseException)):
        return name
    parameters = inspect.signature(thing).parameters.values()
    shown, starred = [], False
    for each in parameters:
        if each.kind is each.KEYWORD_ONLY and not starred:
            shown.append("*")
        starred = starred or each.kind in (each.KEYWORD_ONLY, each.VAR_POSITIONAL)
        prefix = {each.VAR_POSITIONAL: "*", each.VAR_KEYWORD: "**"}.get(each.kind, "")
        default = "" if each.default is each.empty else f"={default_text(each.default)}"
        shown.append(f"{prefix}{each.name}{default}")
    return f"{name}({', '.join(shown)})"


def default_text(value: object) -> str:
    """A default as it would be typed; what has an address in memory only by its type."""
    text = repr(value)
    return f"<{type(value).__name__}>" if " at 0x" in text else text


def documented(thing: object) -> str:
    """The docstring as Markdown: its sections as bold words, its definitions as lists, its examples as code."""
    text = inspect.cleandoc(inspect.getdoc(thing) or "")
    text = re.sub(r"^(\w[\w ]*)\n-{3,}$", r"**\1**\n", text, flags=re.MULTILINE)
    out, in_code = [], False
    for line in text.splitlines():
        code = line.startswith((">>> ", "... ")) or (in_code and line.strip() != "")
        if code != in_code:
            out.append("```text" if code else "```")
        in_code = code
        out.append(line if code else definition(line))
    return "\n".join([*out, "```"] if in_code else out)


def definition(line: str) -> str:
    """`name : type` of numpydoc, and the indented lines that explain it."""
    found = re.fullmatch(r"([*\w, ]+) : (.+)", line)
    if found:
        return f"- `{found[1]}`: {found[2]}"
    if re.fullmatch(r"\*\*\w+", line):
        return f"- `{line}`"
    return f"  {line.strip()}" if line.startswith("    ") else line


def public_members(kind: type) -> list[tuple[str, object]]:
    """Methods and properties of a class that are its own or its project's, in the order of their names."""
    found = []
    for name in sorted(set(dir(kind))):
        owner = next((base for base in kind.__mro__ if name in vars(base)), None)
        if name.startswith(("_", "model_")) or owner is None or not owner.__module__.startswith("spofr_core"):
            continue
        value = inspect.getattr_static(kind, name)
        if (callable(getattr(value, "__func__", value)) or hasattr(value, "__get__")) and inspect.getdoc(value):
            found.append((name, value))
    return found


def first_sentence(value: object) -> str:
    """What a member says of itself first."""
    return " ".join((inspect.getdoc(value) or "").split("\n\n")[0].split())


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
    SETTINGS.write_text(settings_page(), "utf-8")
