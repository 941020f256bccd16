"""Numbers and names as they stand in sentences."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

from spofr_core.fairness import Unit, format_delta

LONGEST_NAME = 60
"""Names from the data are cut after this many characters when they stand in a sentence."""
LONGEST_GROUP = 40
"""Names of groups are shortened to this many, since a sentence may have two of them."""
MOST_NAMED = 3
"""More groups than this are counted in a sentence, and a name of more words than this stands in quotes."""


def delta_text(delta: float | Mapping[str, float], unit: Unit = "absolute") -> str:
    """delta as sentences name it: "delta = 10 %", "delta = 0.05", "delta by group (A 10 %, B 5 %)"."""
    if isinstance(delta, Mapping):
        return f"delta by group ({_each(delta, unit)})"
    return f"delta = {format_delta(delta, unit)}"


def tolerance_text(delta: float | Mapping[str, float], unit: Unit) -> str:
    """delta as the headline names it: "the tolerance of 10 %"."""
    if isinstance(delta, Mapping):
        return f"its tolerance ({_each(delta, unit)})"
    return f"the tolerance of {format_delta(delta, unit)}"


def _each(delta: Mapping[str, float], unit: Unit) -> str:
    return ", ".join(f"{name_text(name)} {format_delta(value, unit)}" for name, value in delta.items())


def violation_text(value: float | None, unit: Unit) -> str:
    """A violation in its unit: "12 %" or "0.092"; the sign, where there is one, stays."""
    if value is None or math.isnan(value):
        return "-"
    return f"{number(100 * value, 2)} %" if unit == "share" else number(value)


def direction_text(group: object, violation: float | None, unit: Unit) -> str:
    """A group's violation in words that say in whose favour it is: "men 12 % too much"."""
    return f"{named(group)} {off_text(violation, unit)}"


def off_text(violation: float | None, unit: Unit) -> str:
    """A signed violation in words: "12 % too much", "0.092 too little"."""
    if violation is None or math.isnan(violation):
        return "-"
    if abs(violation) < 1e-9:
        return "neither too much nor too little"
    return f"{violation_text(abs(violation), unit)} too {'much' if violation > 0 else 'little'}"


def named(group: object) -> str:
    """A group within a sentence: "women", but "group 0" and "group female"; what is no plain name stands in quotes."""
    text = shortened(group)
    if _is_plural(text):
        return text
    if len(text.split()) <= MOST_NAMED and all(letter.isalnum() or letter in " -/_.+" for letter in text):
        return f"group {text}"
    return f"group ‘{text}’" if "“" in text or "”" in text else f"group “{text}”"


def gets(group: object) -> str:
    """ "get" after a plural, "gets" after all else."""
    return "get" if _is_plural(shortened(group)) else "gets"


def has(group: object) -> str:
    """ "have" after a plural, "has" after all else."""
    return "have" if _is_plural(shortened(group)) else "has"


def _is_plural(name: str) -> bool:
    """Whether a name reads as several people or things; a capital with an s at the end may be Paris."""
    if not all(word.isalpha() for word in name.split()):
        return False
    last = name.split()[-1] if name.split() else ""
    if last.lower() in _PEOPLE:
        return True
    return name.islower() and len(last) > 3 and last.endswith("s") and not last.endswith(("ss", "us", "is"))


_PEOPLE = frozenset({"men", "women", "people", "children", "others"})


def within_a_sentence(label: str) -> str:
    """A label without the capital of a beginning; that of an abbreviation stays."""
    return label[:1].lower() + label[1:] if label[1:2].islower() or label[:2] == "A " else label


def start_sentence(sentence: str) -> str:
    """A sentence with a capital, unless it starts with a name that is no lower-case word."""
    first = sentence.split(" ", 1)[0].rstrip(",:")
    return sentence[:1].upper() + sentence[1:] if first.islower() and first.isalpha() else sentence


def number(value: float | None, digits: int = 3) -> str:
    """Three significant digits without exponents; what is below 1e-9 is what floating point left of 0."""
    if value is None or math.isnan(value):
        return "-"
    if abs(value) < 1e-9:
        return "0"
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    text = f"{value:,.{decimals}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def interval(pair: list[float] | None, unit: Unit = "absolute") -> str:
    """An interval as "0.021 to 0.034", shares as "2.1 % to 3.4 %"; a dash where there is none."""
    return "-" if pair is None else f"{violation_text(pair[0], unit)} to {violation_text(pair[1], unit)}"


def percent(share: float, decimals: int = 1) -> str:
    """A share as "95.5 %"; it says 100 or 0 only where that is exact."""
    shown = round(100 * share, decimals)
    step = 10.0**-decimals
    if shown >= 100 and share < 1:
        shown = 100 - step
    if shown <= 0 and share > 0:
        shown = step
    return f"{shown:.{decimals}f} %"


def unbroken(text: str) -> str:
    """A sentence as a screen shows it: no line ends between a number and its "%".

    Sentences themselves have plain spaces, so that what a shell prints can be searched and copied.
    """
    return _BEFORE_PERCENT.sub("\N{NO-BREAK SPACE}", text)


_BEFORE_PERCENT = re.compile(r"(?<=\d) (?=%)")


def counted(count: int, one: str, many: str) -> str:
    """ "1 query", "2,000 queries"."""
    return f"{count:,} {one if count == 1 else many}"


def listed(names: Sequence[str], *, word: str = "and", start: bool = False) -> str:
    """Names as a list in a sentence: "a, b and c"; with a capital where the sentence starts with it."""
    text = names[0] if len(names) == 1 else f"{', '.join(names[:-1])} {word} {names[-1]}"
    return text[:1].upper() + text[1:] if start else text


def shortened(name: object, longest: int = LONGEST_GROUP) -> str:
    """A name without its middle where it is long: names of one kind begin alike, and differ at their end."""
    text = name_text(name, len(str(name)))
    head = longest // 3
    return text if len(text) <= longest else f"{text[:head]}…{text[head + 1 - longest :]}"


def name_text(name: object, longest: int = LONGEST_NAME) -> str:
    """A name from the data as it may stand in a sentence: one line, printable, not too long."""
    text = "".join(letter if letter.isprintable() else " " for letter in str(name))
    return text if len(text) <= longest else text[: longest - 1] + "…"
