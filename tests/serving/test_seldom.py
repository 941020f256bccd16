"""A line a minute of each kind, and none uncounted."""

from __future__ import annotations

import logging

import pytest

from spofr_core.serving.seldom import Seldom


@pytest.fixture
def said():
    """What is said of so many errors at a time of the clock."""
    now, lines = [0.0], []
    logger = logging.getLogger("tests.seldom")
    seldom, handler = Seldom(lambda: now[0]), logging.Handler()
    handler.emit = lambda record: lines.append(record.getMessage())
    logger.addFilter(seldom)
    logger.addHandler(handler)
    logger.propagate = False

    def say(at: float, times: int, error: Exception | None = None) -> list[str]:
        now[0] = at
        lines.clear()
        for k in range(times):
            logger.error("It went wrong: %s", k, exc_info=error)
        if not times:
            seldom.tell()
        return list(lines)

    yield say
    logger.removeFilter(seldom)
    logger.removeHandler(handler)


def test_what_is_repeated_is_counted_in_the_line_of_the_next_minute(said):
    assert said(0, 1000) == ["It went wrong: 0"]
    assert said(59, 500) == []
    assert said(60, 2) == ["It went wrong: 0 (1,499 more such lines were left out.)"]
    assert said(121, 1) == ["It went wrong: 0 (1 more such lines were left out.)"]


def test_when_nothing_more_goes_wrong_the_rest_is_told_once(said):
    assert said(0, 6) == ["It went wrong: 0"]
    assert said(30, 0) == []
    assert said(61, 0) == ["It went wrong: 5 (4 more such lines were left out.)"]
    assert said(200, 0) == []
    assert said(200, 1) == ["It went wrong: 0"]


def test_errors_of_another_kind_have_a_line_of_their_own(said):
    assert said(0, 3, ValueError("x")) == ["It went wrong: 0"]
    assert said(1, 3, OSError("y")) == ["It went wrong: 0"]
    assert said(2, 3, OSError("z")) == []
