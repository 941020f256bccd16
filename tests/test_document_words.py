"""What a sentence of README and docs says of a number is what its interval says, and no measured number is typed.

A word speaks of the numbers of the study behind it, up to the next such word or the end of the sentence.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGES = ("README.md", "docs/quality.md", "docs/reproduction.md")
WORDS = {
    "neither": r"no difference|nothing|no (?:more|less|better|worse)|not ahead|not behind|ties?|level|do(?:es)? not",
    "above": r"adds?|ahead|more|leads?|gains?|better|worth|brings?|helps?",
    "below": r"behind|less|loses?|lost|costs?|worse|falls?",
    "open": r"changes?|minus|comes? to|is(?= \[)",
}
"""What is said of an interval; the last names no direction."""
WORD = re.compile("|".join(rf"(?P<{said}>\b(?:{words})(?!\w))" for said, words in WORDS.items()), re.IGNORECASE)
MARKED = re.compile(r"<!--= .+? -->(.*?)<!--/-->")
DIFFERENCE = re.compile(r"[+-]\d+\.\d+(?: ± \d+\.\d+)?|\b0(?=(?:,| \()(?: ?)n=)")
END = re.compile(r"(?<=[.?!|])\s|\n|\|")
TYPED = re.compile(r"[+-]\d+\.\d+|± ?\d|\d+\.\d{3,}|\d ?%")
MEASURED_ELSEWHERE = (
    "## How fast",
    "## Further",
    "# spofr",
    "## Audit a file",
    "## Repair and serve it",
    "## What it proves",
)
"""Sections of the README whose numbers are no study's: each names its command, or is what a block prints."""
PLAIN = ("95 %", "2.5 %", "0.005", "100 %")
"""A confidence, a level and a delta: chosen, not measured."""


def prose(text: str) -> str:
    """Without code, and without the parts that are tables of results."""
    text = re.sub(r"```.*?```|`[^`\n]*`", "", text, flags=re.DOTALL)
    return re.sub(r"<!-- begin (.+?) -->.*?<!-- end \1 -->", "", text, flags=re.DOTALL)


def judged(text: str) -> list[tuple[str, str, str]]:
    """Each difference of the study with what is said of it and what its interval says."""
    found = []
    for sentence in END.split(MARKED.sub(lambda m: f"[{m[1]}]", prose(text))):
        said = "open"
        for part in re.finditer(rf"{WORD.pattern}|(?P<number>{DIFFERENCE.pattern})", sentence, re.IGNORECASE):
            if part.lastgroup != "number":
                said = str(part.lastgroup)
            elif said != "open":
                found.append((sentence, said, shown(part["number"])))
    return found


def shown(number: str) -> str:
    """Where the interval lies; a difference without one shows nothing."""
    value, _, half = number.partition(" ± ")
    if not half:
        return "neither"
    return "above" if float(value) > float(half) else "below" if -float(value) > float(half) else "neither"


def typed(text: str) -> list[str]:
    """Measured numbers that no result is asked for."""
    return [
        each
        for each in re.findall(rf".{{0,30}}(?:{TYPED.pattern}).{{0,9}}", MARKED.sub("", prose(text)))
        if not _plain(each)
    ]


def _plain(text: str) -> bool:
    for each in PLAIN:
        text = text.replace(each, "")
    return TYPED.search(text) is None


@pytest.mark.parametrize("page", PAGES)
def test_words_say_what_intervals_say(page):
    found = judged((ROOT / page).read_text("utf-8"))
    assert [each for each in found if each[1] != each[2]] == []


def test_there_are_sentences_to_be_judged():
    assert len(judged((ROOT / "docs/quality.md").read_text("utf-8"))) > 30
    assert len(judged((ROOT / "README.md").read_text("utf-8"))) >= 4


@pytest.mark.parametrize("page", PAGES)
def test_no_measured_number_is_typed(page):
    sections = re.split(r"^(?=##? )", (ROOT / page).read_text("utf-8"), flags=re.MULTILINE)
    kept = [text for text in sections if not (page == "README.md" and text.startswith(MEASURED_ELSEWHERE))]
    assert typed("".join(kept)) == []


def number(value: str) -> str:
    return f"<!--= toy: a - b @ 0 -->{value}<!--/-->"


@pytest.mark.parametrize(
    ("words", "value", "right"),
    [
        ("It adds #.", "+0.0084 ± 0.0029 (n=12)", True),
        ("It adds #.", "+0.0016 ± 0.0023 (n=12)", False),
        ("It adds #.", "-0.0084 ± 0.0029 (n=12)", False),
        ("It is ahead by #.", "+0.0084 (n=1)", False),
        ("It adds nothing that can be shown (#).", "+0.0016 ± 0.0023, n=12", True),
        ("Nothing that can be shown is left: #.", "0 (n=12)", True),
        ("It adds nothing that can be shown at 0.02 (#).", "+0.0032 ± 0.0028, n=12", False),
        ("No difference can be shown: #.", "-0.0054 ± 0.0051 (n=12)", False),
        ("Trees are behind it: # on hiring.", "-0.0171 ± 0.0111 (n=12)", True),
        ("Trees are behind it: # on hiring.", "-0.0071 ± 0.0111 (n=12)", False),
        ("It is no better: #.", "+0.0084 ± 0.0029 (n=12)", False),
        ("It adds much. On MSLR it changes it by #.", "-0.0171 ± 0.0111 (n=12)", True),
        ("| more | # |", "-0.0171 ± 0.0111 (n=12)", True),
    ],
)
def test_a_word_that_its_interval_does_not_bear_out_is_found(words, value, right):
    found = judged(words.replace("#", number(value)))
    assert all(said == shows for _, said, shows in found) is right


def test_a_word_speaks_of_every_number_behind_it_in_its_sentence():
    text = "It adds # at 0, # at 0.01 and nothing that can be shown at 0.02: #. # is another sentence."
    values = ["+0.2 ± 0.1", "+0.1 ± 0.2", "+0.1 ± 0.3", "-0.1 ± 0.01"]
    for value in values:
        text = text.replace("#", number(value), 1)
    assert [(said, shows) for _, said, shows in judged(text)] == [
        ("above", "above"),
        ("above", "neither"),
        ("neither", "neither"),
    ]


def test_a_typed_number_is_found_and_a_chosen_one_is_not():
    assert typed(f"It adds {number('+0.1 ± 0.2')} at delta 0.005, with 95 % intervals, `x=0.123`.") == []
    for text in ("It adds +0.01.", "It lost 0.006 ± 0.012.", "A gain of 0.043 on MSLR.", "It is 97 % of it."):
        assert len(typed(text)) == 1, text
