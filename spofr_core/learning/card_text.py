"""The card of a saved model: what it is, what it learned from, what was measured and what that does not say.

It is plain Markdown beside the model, for people. Nothing reads it back, and it holds no path and no time, so that the
same fit writes the same card.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from spofr_core.learning.methods import METHODS, departures, method_title, with_scorer

if TYPE_CHECKING:
    from spofr_core.learning.estimator import Estimator

CARD_FILE = "model_card.md"
UNKNOWN_LICENCE = "Not known here: it is that of whoever provided the data."
_COUNTED = {
    "training_lists": "Lists to learn from",
    "training_items": "Items in them",
    "validation_lists": "Lists to stop by",
}
_NAMED = 12
"""Names that are listed before the rest is only counted."""


@dataclass(frozen=True)
class Figure:
    """Something that was measured: its name, its value as text, and how many lists say so."""

    name: str
    value: str
    n: int


@dataclass(frozen=True)
class CardFacts:
    """What a model does not know of itself, and whoever trained it may tell.

    Attributes
    ----------
    data : str
        Name of the data, without its path.
    licence : str
        Under which the data may be used.
    figures : sequence of Figure
        What was measured on lists that it had not seen.
    notes : sequence of str
        What a reader of the numbers must know.
    """

    data: str = ""
    licence: str = UNKNOWN_LICENCE
    figures: Sequence[Figure] = ()
    notes: Sequence[str] = ()


def model_card(model: Estimator, facts: CardFacts | None = None) -> str:
    """The card of a trained model, as Markdown."""
    told, learned, method, fairness = facts or CardFacts(), model.learned, METHODS[model.method], model.fairness
    quota, settings = fairness.every_ranking, model.settings.to_dict()
    title = method_title(with_scorer(model.method, settings, learned.report.best))
    unusual = departures(model.method, settings).items()
    delta = fairness.delta_text if method.steered_by == "delta" else "none: this method is not asked for one"
    sections = {
        "What it is": [
            f"A ranker trained with **{title}** (`--method {method.name}`). {method.about}",
            f"What a query can count on: {method.promise}.",
        ],
        "What it was asked for": [
            f"- Notion: {fairness.notion}. {fairness.definition} `{fairness.formula}`",
            f"- delta: {delta}",
            *([] if quota is None else [f"- In every ranking: {quota.text}"]),
            f"- Exposure of position j: `{fairness.position_bias.label}`",
            f"- Groups: {_names(learned.group_names)}",
        ],
        "How it was trained": [f"- {name}: {value} (by default: {usual})" for name, (value, usual) in unusual]
        or ["With all settings at their defaults."],
        "What it learned from": [
            f"- Data: {_code(told.data) if told.data else 'not named'}",
            *(f"- Fingerprint of the {part} part: `sha256:{digest}`" for part, digest in learned.report.data.items()),
            *(f"- {_COUNTED[name]}: {count:,}" for name, count in learned.report.counts.items() if name in _COUNTED),
            f"- Features, {len(learned.feature_names):,}: {_names(learned.feature_names)}",
            f"- Licence of the data: {told.licence}",
        ],
        "What was measured": _measured(told.figures),
        "Limits": [f"- {sentence}" for sentence in _limits(model, told)],
        "Made with": [", ".join(f"{name} {number}" for name, number in learned.report.versions.items()) + "."],
    }
    body = "\n\n".join(f"## {title}\n\n" + _joined(lines) for title, lines in sections.items())
    return f"# Model card: {title}\n\n{body}\n"


def _measured(figures: Sequence[Figure]) -> list[str]:
    if not figures:
        return ["Nothing yet. `spofr audit --model` on lists that it has not seen says how it does."]
    rows = [f"| {figure.name} | {figure.value} | {figure.n:,} |" for figure in figures]
    head = ["| | value | lists |", "|---|---|---|"]
    return ["On lists that it did not learn from, with 95 % intervals over lists:", *head, *rows]


def _limits(model: Estimator, facts: CardFacts) -> list[str]:
    method, rule = METHODS[model.method], model.fairness.rule
    promised = (
        "Its guarantee is about the lottery of each list under the exposure model named here; it says nothing of what "
        "readers really look at, nor of what happens to items outside the list."
        if method.guaranteed
        else "It promises no delta: what was measured may be otherwise on other lists."
    )
    return [
        promised,
        rule.caveat,
        "It has seen the queries and groups of its data. On others, audit it again before it is used.",
        *facts.notes,
        *(note for note in model.learned.report.notes if note not in facts.notes),
    ]


def _names(names: Iterable[str]) -> str:
    listed = [_code(name) for name in names]
    more = f" and {len(listed) - _NAMED:,} more" if len(listed) > _NAMED else ""
    return ", ".join(listed[:_NAMED]) + more if listed else "none"


def _code(text: object) -> str:
    """A name from the data as it may stand in Markdown: one line, never markup, and nothing that ends the cell."""
    plain = re.sub(r"[^\S ]|[\x00-\x1f\x7f\u200e\u200f\u202a-\u202e\u2066-\u2069]", " ", str(text))
    return f"`{plain.replace('`', chr(39)).replace('|', '/')[:80]}`"


def _joined(lines: list[str]) -> str:
    """Lines of a list or table below each other, sentences as paragraphs."""
    close = ("- ", "|")
    return "".join(line + ("\n" if line.startswith(close) else "\n\n") for line in lines).rstrip("\n")
