"""A newcomer with a file of their own: from the first screen to a sentence that is right, in a few clicks.

What the sentence has to say is computed here from the file with nothing but arithmetic; that a refresh in the middle
loses nothing is part of every journey.
"""

from __future__ import annotations

import csv
import re
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.pages import element, headline, no_error, opened, settled

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures"
MOST_CLICKS = 8


@dataclass
class Hand:
    """A hand on the mouse, which counts what it presses; to choose from a list takes two clicks."""

    page: Page
    clicks: int = field(default=0)

    def click(self, target: Locator) -> None:
        target.scroll_into_view_if_needed()
        self.page.wait_for_timeout(300)  # a list that has opened closes when the page still scrolls
        target.click()
        self.clicks += 1
        self.page.wait_for_timeout(300)
        settled(self.page)

    def press(self, name: str) -> None:
        self.click(self.page.get_by_role("button", name=name))

    def upload(self, path: Path) -> None:
        with self.page.expect_file_chooser() as chooser:
            element(self.page, "stFileUploaderDropzone").locator("button").click()
        self.clicks += 1
        chooser.value.set_files(path)
        expect(self.page.get_by_role("heading", name=f"Reading {path.name}")).to_be_visible()
        settled(self.page)

    def choose(self, label: str, option: str) -> None:
        self.click(box(self.page, label))
        self.click(self.page.get_by_role("option", name=option))
        expect(box(self.page, label)).to_have_value(re.compile(re.escape(option)))


def box(page: Page, label: str) -> Locator:
    """A select box of the mapping."""
    return page.locator(f".st-key-map-{label.replace(' ', '-')}").get_by_role("combobox")


@dataclass(frozen=True)
class Expected:
    """What is true of a file when delta is 10 % of the mean exposure."""

    least: str
    most: str
    gap: int
    exceeding: int
    judged: int
    items: int


def expected(rows: list[tuple[str, float, str]], *, small: tuple[str, ...] = ()) -> Expected:
    """By hand: position j of a list has the exposure 1 / (1 + j). Rows are query, place in the list's order, group."""
    lists: dict[str, list[tuple[float, str]]] = defaultdict(list)
    for query, key, group in rows:
        lists[query].append((key, group))
    exposure: dict[str, list[float]] = defaultdict(list)
    even: dict[str, list[float]] = defaultdict(list)  # what each group would get if its items had their lists' means
    exceeding = judged = 0
    for shown in lists.values():
        groups = np.array([group for _, group in sorted(shown, key=lambda row: row[0])])
        attention = 1 / (1 + np.arange(1, len(groups) + 1))
        names = sorted(set(groups))
        if len(names) == 1:  # nobody to compare them with
            continue
        for name in names:
            exposure[name].append(attention[groups == name].sum())
            even[name].append(attention.mean() * (groups == name).sum())
        judged += 1
        exceeding += any(abs(attention[groups == name].mean() / attention.mean() - 1) > 0.1 for name in names)
    means = {name: sum(exposure[name]) / sum(even[name]) for name in exposure if name not in small}
    least, most = min(means, key=lambda name: means[name]), max(means, key=lambda name: means[name])
    gap = round(100 * (1 - means[least] / means[most]))
    return Expected(least, most, gap, exceeding, judged, len(rows))


def rows_of(name: str, **options: str) -> list[list[str]]:
    encoding = options.pop("encoding", "utf-8")
    with (FIXTURES / name).open(encoding=encoding, newline="") as file:
        return list(csv.reader(file, **options))


def says_what_is_true(page: Page, truth: Expected) -> str:
    """The largest text names who gets less than whom, by how much, and in how many lists that is too much."""
    first = page.locator("h1").first
    expect(first).to_contain_text(f"{truth.gap} % less exposure than")
    settled(page)
    said = headline(page)
    lower, _, upper = said.partition(f"{truth.gap} % less exposure than")
    assert truth.least[:12].casefold() in lower.casefold(), said
    assert truth.most[:12].casefold() in upper.casefold(), said
    assert f"{truth.exceeding} of {truth.judged} " in said, said
    assert "10 %" in said, said
    expect(page.get_by_text(f"{truth.items:,} items").first).to_be_visible()
    no_error(page)
    return said


def refreshed(page: Page, mapped: dict[str, str]) -> None:
    """The page is loaded anew, and what was chosen is still there."""
    page.reload()
    settled(page)
    for label, option in mapped.items():
        expect(box(page, label)).to_have_value(re.compile(re.escape(option)))


def journey(page: Page, address: str, name: str, truth: Expected, say: Callable[[Hand], dict[str, str]]) -> None:
    """Upload a file, say what its columns are, refresh, read the verdict, refresh again."""
    hand = Hand(page)
    opened(page, address)
    hand.press("Use your own data")
    hand.upload(FIXTURES / name)
    mapped = say(hand)
    refreshed(page, mapped)
    hand.press("Audit this data")
    said = says_what_is_true(page, truth)
    assert hand.clicks <= MOST_CLICKS
    page.reload()
    settled(page)
    expect(page.locator("h1").first).to_have_text(said)
    expect(page.get_by_text(name).first).to_be_attached()
    no_error(page)


def test_long_lists_under_a_delta_that_is_a_share(page, address):
    table = rows_of("entrants.csv")[1:]
    truth = expected([(row[0], -float(row[3]), row[2]) for row in table])
    assert (truth.gap, truth.judged) == (39, 5)

    def say(hand: Hand) -> dict[str, str]:
        hand.choose("Query", "Year of entry")
        hand.choose("Ranked by", "Points (of 200)")
        return {"Query": "Year of entry", "Ranked by": "Points (of 200)", "Group": "sex"}

    journey(page, address, "entrants.csv", truth, say)


def test_ranks_under_another_name_and_a_group_of_one(page, address):
    table = rows_of("portal.csv", encoding="utf-8-sig", delimiter=";")[1:]
    alone = next(row[3] for row in table if [other[3] for other in table].count(row[3]) == 1)
    truth = expected([(row[0], float(row[2]), row[3]) for row in table], small=(alone,))
    assert truth.judged == 55

    def say(hand: Hand) -> dict[str, str]:
        hand.choose("Group", "gender (self-stated)")
        return {"Ranked by": "pos_shown", "Group": "gender (self-stated)"}

    journey(page, address, "portal.csv", truth, say)
    expect(page.get_by_text(alone[:10]).first).to_be_attached()


def test_a_file_without_a_line_of_names(page, address):
    table = rows_of("experts.csv")
    truth = expected([(row[0], -float(row[2]), row[3]) for row in table])
    assert (truth.judged, truth.items) == (36, 36 * 24)

    def say(hand: Hand) -> dict[str, str]:
        hand.click(hand.page.get_by_text("No, it is data"))
        return {"Query": "column 1", "Ranked by": "column 3", "Group": "column 4"}

    journey(page, address, "experts.csv", truth, say)
