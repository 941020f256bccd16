"""Real files, mutated, through every reader: each must end in a dataset or in a `SpofrError` of one sentence.

`python benchmarks/hostile.py fuzz` runs it at length; `tests/hostile/test_fuzz.py` a few hundred of the same.
"""

from __future__ import annotations

import csv
import decimal
import gzip
import io
import json
import signal
import warnings
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from spofr_core.data import preview_table, read_dataset
from spofr_core.errors import SpofrError

ROOT = Path(__file__).resolve().parents[1]
LONGEST_MESSAGE = 2_000
SECONDS = 30

_SEEN = 6_000
_NASTY = [
    *(
        b'"',
        b"'",
        b"\r",
        b"\n",
        b"\r\n",
        b"\x00",
        b"\x1a",
        b"\xff",
        b"\xc3",
        b"\xef\xbb\xbf",
        b"\xff\xfe",
        b",,,",
        b";",
    ),
    *(b",,,", b"|", b"#", b":", b" ", b"nan", b"NaN", b"inf", b"-inf", b"1e400", b"-1e400", b"1e-400", b"-0", b"0x10"),
    *(b"1_000", b"", b"null", b"true", b"=1+1", b"@SUM(A1)", b"<script>alert(1)</script>", b"qid:", b"qid:1", b"Q0"),
    *("\u2028".encode(), "\u00a0".encode(), "\u0085".encode(), "\u202e".encode(), "\ud7ff".encode(), "é".encode()),
    *(b"9" * 19, b"9" * 400, b"9" * 5_000, b"-9223372036854775808", b"x" * 70_000, b"y" * 140_000, b"[" * 3_000),
    *(b"999999", b"1000000:1", b"2020-01-01", b"9999-99-99", b"\x1f\x8b", b"PAR1", b"../../x", "٣".encode()),
]
_ENCODINGS = ("latin-1", "utf-16", "ascii", "undefined", "idna", "base64", "ascii\0", "utf-7", "nope")
_SIGNS = (",", ";", "é", "", "..", '"', "\n", "a", "\0", " ")


@dataclass(frozen=True)
class Failure:
    """A mutated file that did neither: what was raised, or how it went beyond its bounds."""

    number: int
    reader: str
    seed_file: str
    what: str


class TooSlow(BaseException):
    """A try took longer than it may; no reader catches it."""


@cache
def seed_files() -> Mapping[str, bytes]:
    """Real files of every format, cut to a size at which thousands can be tried."""
    fixtures = ROOT / "tests" / "fixtures"
    files = {path.name: path.read_bytes() for path in sorted(fixtures.glob("*.csv"))}
    files["hiring.csv"] = (ROOT / "sample_data" / "hiring.csv").read_bytes()
    files["mslr.txt"] = gzip.decompress((ROOT / "sample_data/mslr/msn1.fold1.test.5k.txt.gz").read_bytes())
    files = {name: _first_lines(content) for name, content in files.items()}
    files["sparse.svm"] = b"".join(
        f"{i % 3} qid:{'q' * (i % 2)}{i // 5} {1 + i % 4}:{i / 7:.3f} 9:1 # doc{i}\n".encode() for i in range(60)
    )
    rows = [{"query": i // 5, "item": f"d{i}", "group": "fm"[i % 2], "score": i / 7} for i in range(60)]
    files["shown.jsonl"] = b"".join(json.dumps(row).encode() + b"\n" for row in rows)
    files["shown.json"] = json.dumps({"count": 60, "rows": rows}, indent=1).encode()
    files["run.trec"] = b"".join(f"q{i // 5} Q0 d{i} {1 + i % 5} {9 - i % 5} tag\n".encode() for i in range(60))
    return files


_ROLES: Mapping[str, dict[str, Any]] = {
    "entrants.csv": {"query": "Year of entry", "item": "entrant no.", "group": "sex", "score": "Points (of 200)"},
    "experts.csv": {
        **{"header": False, "query": "column 1", "item": "column 2", "score": "column 3", "group": "column 4"},
    },
    "portal.csv": {"query": "search", "item": "candidate", "rank": "pos_shown", "group": "gender (self-stated)"},
    "twelve.csv": {},
    "hiring.csv": {"slices": ["job_family", "region"], "time": "date", "group": ("gender", "region")},
    "mslr.txt": {"group": "133", "group_quantiles": 3, "score": "110"},
    "sparse.svm": {"group": "1", "group_quantiles": 2, "score": "2"},
    "shown.jsonl": {},
    "shown.json": {"time": "when"},
    "run.trec": {"item_groups": b"item,group\n" + b"".join(f"d{i},g{i % 3}\n".encode() for i in range(60))},
}
"""How each of them is read when nothing is wrong with it."""


def _first_lines(content: bytes) -> bytes:
    return content[: content.rfind(b"\n", 0, _SEEN) + 1]


def mutated(content: bytes, rng: np.random.Generator) -> bytes:
    """One to four changes of the kinds that copying, editing, encoding and malice make."""
    for _ in range(min(4, int(rng.geometric(0.6)))):
        content = _CHANGES[int(rng.integers(len(_CHANGES)))](content, rng)
    return content


def packed(content: bytes, name: str, rng: np.random.Generator) -> bytes:
    """The file as it stands, as Parquet, or gzipped; these may be damaged in turn."""
    kind = rng.random()
    if kind < 0.25 and name.endswith(".csv"):
        content = _as_parquet(content, rng)
    elif kind > 0.9:
        content = gzip.compress(content)
    return _flip(content, rng) if kind < 0.05 or kind > 0.97 else content


def _as_parquet(content: bytes, rng: np.random.Generator) -> bytes:
    """The cells as a Parquet file with columns of any type, text that is no text, and what pandas leaves behind."""
    try:
        frame = pd.read_csv(io.BytesIO(content), sep=None, engine="python", on_bad_lines="skip")
    except (ValueError, csv.Error):  # no table any more
        return content
    frame.columns = [str(name) for name in frame.columns]
    written = io.BytesIO()
    try:
        table = pa.Table.from_pandas(frame, preserve_index=bool(rng.random() < 0.2))
        if rng.random() < 0.5 and table.num_columns:
            at = int(rng.integers(table.num_columns))
            column = _CASTS[int(rng.integers(len(_CASTS)))](table.column(at))
            name = table.column_names[int(rng.integers(table.num_columns)) if rng.random() < 0.2 else at]
            table = table.set_column(at, name, column)
        if rng.random() < 0.2:
            table = table.replace_schema_metadata({"pandas": ["{no", "[1]", "{}", "null"][int(rng.integers(4))]})
        pq.write_table(table, written, row_group_size=int(rng.integers(1, 100)))
    except (pa.ArrowException, OverflowError, ValueError):  # what cannot be written as Parquet stays text
        return content
    return written.getvalue()


def _bad_text(column: pa.ChunkedArray) -> pa.Array:
    """Bytes that say they are UTF-8 and are not."""
    binary = pa.array([b"\xff\xfe" if k % 3 == 0 else b"ok" for k in range(len(column))], pa.binary())
    return pa.Array.from_buffers(pa.string(), len(binary), binary.buffers())


_CASTS: tuple[Callable[[pa.ChunkedArray], Any], ...] = (
    _bad_text,
    lambda column: pa.nulls(len(column)),
    lambda column: pa.array([[k] for k in range(len(column))], pa.list_(pa.int64())),
    lambda column: pa.array([{"a": k} for k in range(len(column))]),
    lambda column: pa.array([b"x%d" % k for k in range(len(column))], pa.binary()),
    lambda column: pa.array([k % 2 == 0 for k in range(len(column))]),
    lambda column: pa.array([2**63 + k for k in range(len(column))], pa.uint64()),
    lambda column: pa.array([decimal.Decimal(k) for k in range(len(column))], pa.decimal128(38, 20)),
    lambda column: pa.array(list(range(len(column))), pa.timestamp("ns", tz="Europe/Berlin")),
    lambda column: pa.array([2**62] * len(column), pa.timestamp("us")),
    lambda column: pa.array([0] * len(column), pa.duration("s")),
    lambda column: pa.array([float("nan")] * len(column), pa.float32()),
    lambda column: pa.array(["x" * 300_000] * len(column)).dictionary_encode(),
)


def _place(content: bytes, rng: np.random.Generator) -> int:
    return int(rng.integers(0, len(content) + 1))


def _piece(content: bytes, rng: np.random.Generator) -> tuple[int, int]:
    start = _place(content, rng)
    return start, min(len(content), start + int(rng.integers(1, 200)))


def _insert_nasty(content: bytes, rng: np.random.Generator) -> bytes:
    at = _place(content, rng)
    return content[:at] + _NASTY[int(rng.integers(len(_NASTY)))] + content[at:]


def _replace_field(content: bytes, rng: np.random.Generator) -> bytes:
    """A field, as delimiters and blanks cut it, becomes something nasty."""
    start = _place(content, rng)
    ends = [content.find(mark, start) for mark in (b",", b";", b" ", b"\t", b"\n", b":")]
    end = min((place for place in ends if place >= 0), default=len(content))
    begin = max(content.rfind(mark, 0, start) for mark in (b",", b";", b" ", b"\t", b"\n", b":")) + 1
    return content[:begin] + _NASTY[int(rng.integers(len(_NASTY)))] + content[max(begin, end) :]


def _flip(content: bytes, rng: np.random.Generator) -> bytes:
    changed = bytearray(content)
    for _ in range(int(rng.integers(1, 9)) if changed else 0):
        changed[int(rng.integers(len(changed)))] = int(
            rng.integers(256) if rng.random() < 0.3 else rng.integers(32, 127)
        )
    return bytes(changed)


def _drop(content: bytes, rng: np.random.Generator) -> bytes:
    start, end = _piece(content, rng)
    return content[:start] + content[end:]


def _repeat(content: bytes, rng: np.random.Generator) -> bytes:
    start, end = _piece(content, rng)
    return content[:end] + content[start:end] * int(rng.integers(1, 20)) + content[end:]


def _truncate(content: bytes, rng: np.random.Generator) -> bytes:
    return content[: _place(content, rng)]


def _splice(content: bytes, rng: np.random.Generator) -> bytes:
    """A piece of another file amid this one."""
    other = list(seed_files().values())[int(rng.integers(len(seed_files())))]
    (start, end), at = _piece(other, rng), _place(content, rng)
    return content[:at] + other[start:end] + content[at:]


def _shuffle_lines(content: bytes, rng: np.random.Generator) -> bytes:
    lines = content.splitlines(keepends=True)
    return b"".join(lines[k] for k in rng.permutation(len(lines)))


def _recode(content: bytes, rng: np.random.Generator) -> bytes:
    text = content.decode("utf-8", "replace")
    return text.encode(["utf-16", "utf-32", "latin-1", "utf-8-sig"][int(rng.integers(4))], "replace")


_CHANGES: tuple[Callable[[bytes, np.random.Generator], bytes], ...] = (
    *(_insert_nasty, _insert_nasty, _replace_field, _replace_field, _replace_field, _flip, _flip, _drop, _drop),
    *(_repeat, _truncate, _splice, _shuffle_lines, _recode),
)


def _pick(options: tuple[Any, ...], rng: np.random.Generator) -> Any:
    return options[int(rng.integers(len(options)))]


_ODD_OPTIONS: tuple[tuple[str, tuple[Any, ...]], ...] = (
    ("encoding", _ENCODINGS),
    ("delimiter", _SIGNS),
    ("decimal", _SIGNS),
    ("header", (True, False)),
    ("format", ("csv", "letor", "trec", "parquet")),
)


def _read(content: bytes, name: str, rng: np.random.Generator) -> None:
    """Look at the file as the upload form does, then read it, mostly as it is meant and sometimes in another way."""
    odd = {option: _pick(values, rng) for option, values in _ODD_OPTIONS if rng.random() < 0.05}
    try:
        preview = preview_table(_file(content, name), **odd)
    except SpofrError as error:
        readable(error)
        preview = None
    options: dict[str, Any] = dict(_ROLES[name]) if rng.random() < 0.8 else {}
    names = [] if preview is None else [column for column in preview.head.columns if column]
    for role in ("query", "item", "group", "score", "relevance", "rank", "time", "slices", "click", "position"):
        if names and rng.random() < 0.05:
            options[role] = names[int(rng.integers(len(names)))]
    if {"score", "rank"} <= {*options}:
        del options["rank"]
    options |= {"missing": _pick(("error", "own_group", "exclude", "exclude"), rng), "insist": bool(rng.random() < 0.9)}
    options["features"] = _pick((None, None, "auto"), rng)
    if rng.random() < 0.1:
        options["qrels"] = mutated(b"".join(f"q{i // 5} 0 d{i} {i % 2}\n".encode() for i in range(60)), rng)
    if rng.random() < 0.1 or ("item_groups" in options and rng.random() < 0.5):
        options["item_groups"] = mutated(_ROLES["run.trec"]["item_groups"], rng)
    read_dataset(_file(content, name), **(options | odd))


def _file(content: bytes, name: str) -> io.BytesIO:
    file = io.BytesIO(content)
    file.name = name
    return file


def readable(error: SpofrError) -> None:
    """Raise for a message that is empty or too long to read."""
    if not 0 < len(str(error).strip()) <= LONGEST_MESSAGE:
        raise AssertionError(f"a message of {len(str(error)):,} characters: {str(error)[:80]!r}")


def try_one(number: int, ends: Counter[str] | None = None) -> Failure | None:
    """The mutated file of this number through its reader; the same number is the same try everywhere.

    `ends` counts how tries end: as a dataset, or in an error that is meant.
    """
    rng = np.random.default_rng([7, number])
    names = list(seed_files())
    name = names[int(rng.integers(len(names)))]
    content = packed(mutated(seed_files()[name], rng), name, rng)

    def failed(what: str) -> Failure:
        return Failure(number, "read_dataset", name, what)

    def read() -> None:
        try:
            _read(content, name, rng)
        except SpofrError:
            if ends is not None:
                ends["error"] += 1
            raise
        if ends is not None:
            ends["dataset"] += 1

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of pandas, about the damage
        return bounded(read, failed)


def bounded(act: Callable[[], object], failed: Callable[[str], Failure]) -> Failure | None:
    """What is wrong with how this ends: another error than ours, a message that nobody can read, or too much time."""

    def late(*_: object) -> None:
        raise TooSlow

    before = signal.signal(signal.SIGPROF, late)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)  # of the processor: a machine may be busy with other things
    try:
        act()
    except SpofrError as error:
        try:
            readable(error)
        except AssertionError as unreadable:
            return failed(str(unreadable))
    except TooSlow:
        return failed(f"more than {SECONDS} seconds of the processor")
    except BaseException as error:  # noqa: BLE001 - whatever it is, it is a finding
        where = error.__traceback__
        while where is not None and where.tb_next is not None:
            where = where.tb_next
        place = "" if where is None else f"{Path(where.tb_frame.f_code.co_filename).name}:{where.tb_lineno}"
        return failed(f"{type(error).__name__} at {place}: {str(error)[:160]}")
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
    return None
