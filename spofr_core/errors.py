"""The errors that a user may meet. Each message says what is wrong, where, the value seen, and how to mend it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

Question = Literal["header", "rank", "alike", "decimal"]
"""What only the reader of the data can answer: does the first row hold names, is a column a rank or a score, are names
that are written alike the same, is a comma or a point the decimal sign."""


_LONGEST_MESSAGE = 1_500
_LONGEST_QUOTE = 120
_QUOTE = re.compile(rf"(['\"])((?:(?!\1).){{{_LONGEST_QUOTE + 4},}})\1", re.DOTALL)


class SpofrError(Exception):
    """Base class: catching it catches everything this package raises on purpose.

    Messages quote what is in the data, and that may be a whole file in one cell: long ones are shortened.
    """

    def __init__(self, message: str = "") -> None:
        super().__init__(shortened(message))

    @property
    def plain(self) -> str:
        """The message for a page: no word of Python in it."""
        return str(self)


class DataError(SpofrError):
    """Input data that cannot be used as it is.

    Parameters
    ----------
    message : str
        What is wrong, the value seen, and how to mend it.
    column : str, optional
        Name of the offending column.
    row : int, optional
        First offending row, counted from 1 as an editor shows it (the header of a CSV file is line 1).
    fields : sequence of str
        What has to be chosen anew, by the names of the arguments of `read_dataset` ("query", "group", "header",
        "encoding", ...): a form marks these.
    mend : str
        How to mend it in Python, where that is no way to put it on a page; it follows the message.
    on_page : str
        The same for a page, in place of `mend`.
    question : {"header", "rank", "alike", "decimal"}, optional
        Set where the data is fine and only its meaning is in doubt. "header": answered by header=True or False.
        "rank": answered by naming `column` as the rank or as the score, and insist=True.
        "alike": answered by join_alike=True or False. "decimal": answered by decimal="." or ",".
    """

    def __init__(
        self,
        message: str,
        *,
        column: str | None = None,
        row: int | None = None,
        fields: Sequence[str] = (),
        mend: str = "",
        on_page: str = "",
        question: Question | None = None,
    ) -> None:
        super().__init__(f"{message} {mend}".rstrip())
        self.column = column
        self.row = row
        self.fields = tuple(fields)
        self.question = question
        self._plain = shortened(f"{message} {on_page}".rstrip())

    @property
    def plain(self) -> str:
        """The message for a page: it says what to choose instead of what to write."""
        return self._plain


class ConfigError(SpofrError):
    """A setting that is unknown, out of range, or contradicts another."""


class WorkFailed(SpofrError):
    """Work that failed on a worker, or was lost with it: nothing in the input says why."""


class InfeasibleFairness(SpofrError):
    """No ranking policy of this query satisfies the requested bounds.

    Parameters
    ----------
    message : str
        Names the query, the delta asked for and the smallest delta that would do.
    query : object
        Id of the query (its position in the batch where it has no id).
    min_delta : float, optional
        Smallest delta, the same for all groups, for which a policy exists; none where no delta would do.
    min_slack : int, optional
        Smallest slack of a quota with which the delta asked for could be held, where that is what is in the way.
    prefix : int, optional
        The first prefix in which no ranking can meet the quota, where that is so.
    """

    def __init__(
        self,
        message: str,
        *,
        query: object,
        min_delta: float | None = None,
        min_slack: int | None = None,
        prefix: int | None = None,
    ) -> None:
        super().__init__(message)
        self.query = query
        self.min_delta = min_delta
        self.min_slack = min_slack
        self.prefix = prefix

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuild_infeasible, (str(self), self.query, self.min_delta, self.min_slack, self.prefix))


def shortened(message: str) -> str:
    """A message that fits a screen: long quotes are cut, and what is still too long loses its middle."""
    if len(message) <= _LONGEST_MESSAGE:
        return message
    message = _QUOTE.sub(lambda quote: f"{quote[1]}{quote[2][:_LONGEST_QUOTE]}...{quote[1]}", message)
    half = _LONGEST_MESSAGE // 2
    return message if len(message) <= _LONGEST_MESSAGE else f"{message[:half]} ... {message[-half:]}"


def first_line(error: BaseException) -> str:
    """What another library says went wrong, short enough to quote in a sentence."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")


def _rebuild_infeasible(
    message: str, query: object, min_delta: float | None, min_slack: int | None, prefix: int | None
) -> InfeasibleFairness:
    return InfeasibleFairness(message, query=query, min_delta=min_delta, min_slack=min_slack, prefix=prefix)
