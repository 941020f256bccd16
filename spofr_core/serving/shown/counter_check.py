"""Is the log complete? What it says was shown, beside what the counters of the service say."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from spofr_core.errors import ConfigError, DataError
from spofr_core.serving.shown.shown_log import ShownLog


class CounterCheck(NamedTuple):
    """What counters and log say of each other.

    Attributes
    ----------
    counted : int
        Impressions of the counters.
    logged : int
        Impressions of the log that the counters speak of: they forget what was not shown for 30 days.
    waiting : int
        Impressions that wait for the log; a service that runs writes them within seconds.
    differing : int
        (query, policy, ranking) with another count in the log than in the counters.
    """

    counted: int
    logged: int
    waiting: int
    differing: int

    @property
    def ok(self) -> bool:
        """Whether every impression that was counted is in the log, or waits for it, and no other is."""
        return self.counted == self.logged + self.waiting and (self.differing == 0 or self.waiting > 0)

    def sentence(self) -> str:
        """The same in words."""
        if self.ok and not self.waiting:
            return f"Log and counters agree: {self.counted:,} impressions were counted, and each is in the log once."
        if self.ok:
            return (
                f"{self.counted:,} impressions were counted: {self.logged:,} are in the log, and {self.waiting:,} wait "
                "for it in the file of the counters; a running service writes them within seconds."
            )
        return (
            f"Log and counters differ: {self.counted:,} impressions were counted, {self.logged:,} are in the log and "
            f"{self.waiting:,} wait for it; {self.differing:,} rankings have other counts. Is this the log of these "
            "counters, and are all its parts there?"
        )


def check_counters(log: ShownLog, state: str | Path) -> CounterCheck:
    """Compare a service's log with the file of its counters (`spofr serve --state`), which is only read.

    Raises
    ------
    ConfigError
        When there is no such file.
    DataError
        When the log is none of a service.
    """
    if log.own is None:
        raise DataError("The log is none of `spofr serve`, so that no counters belong to it; leave --state out.")
    counts, waiting = _read(Path(state))
    frame = pd.DataFrame({"query": log.queries, "policy": log.own.policies, "ranking": log.own.rankings})
    sizes = frame.groupby(["query", "policy", "ranking"], as_index=False).size()
    names = [log.query_names[query] for query in sizes["query"]]
    logged = dict(zip(zip(names, sizes["policy"], sizes["ranking"], strict=True), sizes["size"], strict=True))
    known = {(query, policy) for query, policy, _ in counts}
    of_counters = {key: n for key, n in logged.items() if key[:2] in known}
    differing = sum(counts.get(key, 0) != of_counters.get(key, 0) for key in {*counts, *of_counters})
    return CounterCheck(sum(counts.values()), sum(of_counters.values()), waiting, differing)


def _read(state: Path) -> tuple[dict[tuple[str, str, int], int], int]:
    """Counts of every (query, policy, ranking) that was shown, and how many counted impressions wait for the log."""
    if not state.is_file():
        raise ConfigError(f"There are no counters at {str(state)!r}; name the file of `spofr serve --state`.")
    try:
        with closing(sqlite3.connect(f"{state.resolve().as_uri()}?mode=ro", uri=True)) as database:
            rows = database.execute("SELECT query, policy, counts FROM counters").fetchall()
            records = [json.loads(text) for (text,) in database.execute("SELECT record FROM records")]
    except sqlite3.DatabaseError as error:
        raise ConfigError(f"The counters in {str(state)!r} cannot be read ({error}); name another file.") from error
    counts = {
        (query, policy, ranking): count
        for query, policy, text in rows
        for ranking, count in enumerate(json.loads(text))
        if count
    }
    return counts, sum(1 for record in records if record[1] is not None and record[2])
