"""The errors that a user may meet. Each message says what is wrong, where, the value seen, and how to mend it."""

from __future__ import annotations


class SpofrError(Exception):
    """Base class: catching it catches everything this package raises on purpose."""


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
    """

    def __init__(self, message: str, *, column: str | None = None, row: int | None = None) -> None:
        super().__init__(message)
        self.column = column
        self.row = row


class ConfigError(SpofrError):
    """A setting that is unknown, out of range, or contradicts another."""


class InfeasibleFairness(SpofrError):
    """No ranking policy of this query satisfies the requested bounds.

    Parameters
    ----------
    message : str
        Names the query, the delta asked for and the smallest delta that would do.
    query : object
        Id of the query (its position in the batch where it has no id).
    min_delta : float
        Smallest delta, the same for all groups, for which a policy exists.
    """

    def __init__(self, message: str, *, query: object, min_delta: float) -> None:
        super().__init__(message)
        self.query = query
        self.min_delta = min_delta

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuild_infeasible, (str(self), self.query, self.min_delta))


def first_line(error: BaseException) -> str:
    """What another library says went wrong, short enough to quote in a sentence."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")


def _rebuild_infeasible(message: str, query: object, min_delta: float) -> InfeasibleFairness:
    return InfeasibleFairness(message, query=query, min_delta=min_delta)
