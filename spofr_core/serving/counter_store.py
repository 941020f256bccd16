"""Counters in a file that several processes share, and the impressions that are not in the log yet.

SQLite in WAL mode. An impression is one transaction: the count goes up and the record of the impression is kept, or
neither; what was answered was committed before, so that a process that is killed loses nothing. (A machine that loses
its power may lose the last moments.)

Records leave the file in *parts* for `impression_log`, one writer at a time: a part is first claimed (a range of
records), then written elsewhere under a name that follows from the range, then struck from the file. Whoever dies on
the way leaves the claim, and the next writer writes the same part again: no record is lost, none is written twice.
"""

from __future__ import annotations

import json
import secrets
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from spofr_core.errors import ConfigError
from spofr_core.experiments.runs.run_lock import FileLock
from spofr_core.serving.counters import Choose, Record, Served

WAIT = 5.0
"""Seconds to wait for another process that is writing."""
_ROOM = 100_000
_MOST_PAGES = 20_000
"""Of the write-ahead log, if nobody tidies up."""
_TABLES = """
CREATE TABLE IF NOT EXISTS counters (
    query TEXT NOT NULL, policy TEXT NOT NULL, counts TEXT NOT NULL, impressions INTEGER NOT NULL, shown REAL NOT NULL,
    PRIMARY KEY (query, policy)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS records (id INTEGER PRIMARY KEY AUTOINCREMENT, record TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS claims (first INTEGER PRIMARY KEY, last INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS settings (name TEXT PRIMARY KEY, value TEXT NOT NULL);
"""


class Part(NamedTuple):
    """Records that somebody has claimed: their numbers from first to last, and what they say."""

    first: int
    last: int
    records: list[tuple[int, str]]


class CounterStore:
    """`Counters` in a SQLite file; see the module. For any number of processes and threads.

    Parameters
    ----------
    path : str or Path
        Made where it is not there.
    keep_days : float
        Counters of policies that were not shown for so long are forgotten when the store is opened.

    Raises
    ------
    ConfigError
        When the file is no such store.
    """

    def __init__(self, path: str | Path, *, keep_days: float = 30.0) -> None:
        self.path = Path(path)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._lock = threading.Lock()
        try:
            self._connection = sqlite3.connect(
                self.path, timeout=WAIT, isolation_level=None, check_same_thread=False, cached_statements=64
            )
            self._connection.execute("PRAGMA journal_mode=WAL")
            self._connection.execute("PRAGMA synchronous=NORMAL")
            # To move the write-ahead log into the file waits for the disk: `tidy` does it while no reader waits.
            self._connection.execute(f"PRAGMA wal_autocheckpoint={_MOST_PAGES}")
            with self._transaction() as db:
                for statement in _TABLES.split(";"):
                    db.execute(statement)
                for name, value in (("seed", str(secrets.randbits(63))), ("name", secrets.token_hex(4))):
                    db.execute("INSERT OR IGNORE INTO settings VALUES (?, ?)", (name, value))
                db.execute("DELETE FROM counters WHERE shown < ?", (time.time() - 86_400 * keep_days,))
        except sqlite3.DatabaseError as error:
            raise ConfigError(
                f"The counters cannot be kept in {str(self.path)!r} ({error}); name another file."
            ) from error

    @property
    def seed(self) -> int:
        """A secret of this store, drawn when it was made: what is shown next cannot be guessed without it."""
        return int(self._setting("seed"))

    @property
    def name(self) -> str:
        """Tells this store from others that write into the same log."""
        return self._setting("name")

    def _setting(self, name: str) -> str:
        with self._lock:
            row = self._connection.execute("SELECT value FROM settings WHERE name = ?", (name,)).fetchone()
        return str(row[0])

    def serve(self, query: str, policy: str, rankings: int, choose: Choose, record: Record | None = None) -> Served:
        """Let `choose` say which ranking comes after the counts until now; count and record it in one transaction."""
        with self._transaction() as db:
            row = db.execute("SELECT counts FROM counters WHERE query = ? AND policy = ?", (query, policy)).fetchone()
            anew = False
            counts = [0] * rankings
            if row is not None:
                counts = json.loads(row[0])
            else:
                anew = db.execute("SELECT 1 FROM counters WHERE query = ? LIMIT 1", (query,)).fetchone() is not None
            place = choose(counts)
            counts[place] += 1
            served = Served(place, sum(counts), anew)
            db.execute(
                "INSERT OR REPLACE INTO counters VALUES (?, ?, ?, ?, ?)",
                (query, policy, json.dumps(counts), served.impressions, time.time()),
            )
            told = record(served) if record is not None else None
            if told is not None:
                db.execute("INSERT INTO records (record) VALUES (?)", (told,))
        return served

    def keep(self, record: str) -> None:
        """Keep the record of an impression that nobody counts."""
        with self._transaction() as db:
            db.execute("INSERT INTO records (record) VALUES (?)", (record,))

    def try_to_write(self) -> None:
        """Write what takes as much room as a long list, and nothing lasting; raises where there is none."""
        with self._transaction() as db:
            db.execute("INSERT OR REPLACE INTO settings VALUES ('room', ?)", ("-" * _ROOM,))
        with self._transaction() as db:
            db.execute("DELETE FROM settings WHERE name = 'room'")

    def counters(self) -> dict[tuple[str, str], list[int]]:
        """Counts of every (query, policy)."""
        with self._lock:
            rows = self._connection.execute("SELECT query, policy, counts FROM counters").fetchall()
        return {(query, policy): json.loads(counts) for query, policy, counts in rows}

    def waiting(self) -> int:
        """Records that are in no finished part."""
        with self._lock:
            return int(self._connection.execute("SELECT COUNT(*) FROM records").fetchone()[0])

    @contextmanager
    def writer(self, *, patience: float = 0.0) -> Iterator[bool]:
        """The right to claim and strike, which one process has at a time; False while another has it.

        The system takes it from a process that dies, so that nobody has to guess whether a claim is abandoned.
        """
        lock = FileLock.acquire(self.path.with_name(f"{self.path.name}.writer"), patience=patience)
        try:
            yield lock is not None
        finally:
            if lock is not None:
                lock.release()

    def claim(self, *, most: int, most_bytes: int) -> Part | None:
        """The oldest records up to a number and a size, or those that a writer who died had claimed; None without any.

        For the `writer` alone.
        """
        with self._lock:
            found = self._connection.execute("SELECT first, last FROM claims ORDER BY first LIMIT 1").fetchone()
        if found is None:
            found = self._oldest(most, most_bytes)
            if found is None:
                return None
            with self._transaction() as db:
                db.execute("INSERT INTO claims VALUES (?, ?)", found)
        with self._lock:  # records do not change, so that nobody has to wait while they are read
            records = self._connection.execute(
                "SELECT id, record FROM records WHERE id BETWEEN ? AND ? ORDER BY id", found
            ).fetchall()
        return Part(found[0], found[1], records)

    def _oldest(self, most: int, most_bytes: int) -> tuple[int, int] | None:
        """First and last of the oldest records that keep within both limits; of one record at least."""
        oldest = "SELECT id, LENGTH(CAST(record AS BLOB)) FROM records ORDER BY id LIMIT ?"
        first = last = None
        with self._lock:
            for number, size in self._connection.execute(oldest, (most,)):  # a record is read when its turn comes
                most_bytes -= size
                if last is not None and most_bytes < 0:
                    break
                first, last = number if first is None else first, number
        return None if first is None or last is None else (first, last)

    def strike(self, part: Part) -> None:
        """Forget the records of a part that has been written."""
        with self._transaction() as db:
            db.execute("DELETE FROM records WHERE id BETWEEN ? AND ?", (part.first, part.last))
            db.execute("DELETE FROM claims WHERE first = ?", (part.first,))

    def tidy(self) -> None:
        """Move what was written last into the file proper, as far as nobody is reading it."""
        with self._lock:
            self._connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._connection.close()

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """All or nothing; others wait."""
        with self._lock:
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
            except BaseException:
                self._connection.execute("ROLLBACK")
                raise
            self._connection.execute("COMMIT")
