"""Parsing LETOR lines such as ``2 qid:10 1:0.5 3:2 # docid``.

Three readers, each for what the one before it cannot take. Files in which every line lists the same features (all
the public LETOR sets) are a table in disguise and read as one; sparse lines go through scikit-learn; what neither
reads is gone through line by line, which also finds the line to blame.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.csv as pacsv

from spofr_core.data.limits import Limits
from spofr_core.errors import DataError
from spofr_core.files import format_size

_BLOCK = 1 << 26
_MAX_FEATURE = 1_000_000
_MAX_DIGITS = 9
_COMMENT = re.compile(rb"#([^\r\n]*)")
_COMMENT_LINE = re.compile(rb"(?m)^[ \t]*#[^\n]*(\n|\Z)")
_NAMED_ID = re.compile(r"\bdoc(?:id|no|_id)?\s*[=:]\s*(\S+)", re.IGNORECASE)


@dataclass(frozen=True, eq=False)
class LetorLines:
    """What the lines hold, a row per item; `item_ids` is None unless every line has a comment."""

    labels: npt.NDArray[np.float64]
    query_ids: pa.ChunkedArray
    item_ids: pa.ChunkedArray | None
    features: npt.NDArray[np.float64]
    feature_names: tuple[str, ...]


def parse_letor(text: pa.Buffer, name: str, limits: Limits) -> LetorLines:
    """Parse all lines of UTF-8 text, ended by line feeds; `DataError` names the first line that does not parse."""
    if _begins_regular(bytes(text.slice(0, min(text.size, 1 << 18)))):
        lines = _parse_regular(text)
        if lines is not None:
            return lines
    content = bytes(text)
    return _parse_sparse(content, limits) or parse_each(content, name, limits)


def _begins_regular(head: bytes) -> bool:
    """Whether the first lines list the same features: a cheap look that spares sparse files a futile attempt."""
    lines = [line.split(b"#", 1)[0].split() for line in head.splitlines()[:50]][:-1] or [head.split(b"#", 1)[0].split()]
    listed = {tuple(entry.partition(b":")[0] for entry in fields[2:]) for fields in lines if fields}
    return len(listed) == 1


def _parse_regular(buffer: pa.Buffer) -> LetorLines | None:
    """Lines that all list the same features: read as a table, in blocks; None if a line differs."""
    columns: list[str] | None = None
    pieces: list[tuple[npt.NDArray[np.float64], pa.ChunkedArray, list[bytes] | None, npt.NDArray[np.float64]]] = []
    for block in _blocks(buffer):
        comments = None
        if b"#" in block:
            block = _COMMENT_LINE.sub(b"", block)
            comments = _COMMENT.findall(block)
            block = _COMMENT.sub(b"", block)
        block = _one_blank_between(block)
        if not block:
            continue
        if columns is None:
            columns = _regular_columns(block)
        piece = None if columns is None else _parse_block(block, columns)
        if piece is None:
            return None
        labels, query_ids, features = piece
        pieces.append((labels, query_ids, comments, features))
    if columns is None or not pieces:
        return None
    rows = sum(len(labels) for labels, *_ in pieces)
    features, names = _without_gaps([features for *_, features in pieces], [int(name) for name in columns[3::2]])
    comments = [text for _, _, some, _ in pieces for text in some or ()]
    return LetorLines(
        labels=np.concatenate([labels for labels, *_ in pieces]),
        query_ids=pa.chunked_array([chunk for _, ids, _, _ in pieces for chunk in ids.chunks]),
        item_ids=_item_ids([text.decode() for text in comments]) if len(comments) == rows else None,
        features=features,
        feature_names=tuple(map(str, names)),
    )


def _without_gaps(
    blocks: list[npt.NDArray[np.float64]], numbers: list[int]
) -> tuple[npt.NDArray[np.float64], list[int]]:
    """One matrix with a column for every feature number from 1 (or 0) up; those never listed are 0, as everywhere."""
    names = list(range(min([1, *numbers]), max(numbers) + 1))
    features = blocks[0] if len(blocks) == 1 else np.concatenate(blocks)
    if names == numbers:
        return features, names
    full = np.zeros((len(features), len(names)))
    full[:, np.array(numbers) - names[0]] = features
    return full, names


def _one_blank_between(block: bytes) -> bytes:
    """Colons and tabs as blanks, and none at the end of a line. Plain replacements: a regex is ten times slower."""
    block = block.replace(b":", b" ").replace(b"\t", b" ").replace(b"\r\n", b"\n")
    while b" \n" in block:
        block = block.replace(b" \n", b"\n")
    return block.strip()


def _blocks(buffer: pa.Buffer) -> Iterator[bytes]:
    """Pieces of about 64 MB that end at a line end."""
    start, size = 0, buffer.size
    while start < size:
        piece = bytes(buffer.slice(start, min(_BLOCK, size - start)))
        if start + len(piece) < size:
            end = piece.rfind(b"\n") + 1
            if end:
                piece = piece[:end]
        yield piece
        start += len(piece)


def _regular_columns(block: bytes) -> list[str] | None:
    """The fields of the first line as column names: label, "qid", its value, then feature number and value in turn."""
    fields = block.split(b"\n", 1)[0].decode("ascii", "replace").split(" ")
    numbers = fields[3::2]
    if len(fields) < 5 or len(fields) % 2 == 0 or fields[1] != "qid" or len(set(numbers)) < len(numbers):
        return None
    if not all(_is_feature(number) and int(number) <= 10 * len(numbers) for number in numbers):
        return None
    values = [f"value of {number}" for number in numbers]
    return ["label", "qid", "query", *(name for pair in zip(numbers, values, strict=True) for name in pair)]


def _parse_block(
    block: bytes, columns: list[str]
) -> tuple[npt.NDArray[np.float64], pa.ChunkedArray, npt.NDArray[np.float64]] | None:
    numbers = columns[3::2]
    types = {name: pa.int32() if name in set(numbers) else pa.float64() for name in columns}
    types["qid"] = types["query"] = pa.dictionary(pa.int32(), pa.string())
    try:
        table = pacsv.read_csv(
            pa.BufferReader(block),
            read_options=pacsv.ReadOptions(column_names=columns),
            parse_options=pacsv.ParseOptions(delimiter=" ", quote_char=False),
            convert_options=pacsv.ConvertOptions(column_types=types, null_values=[], strings_can_be_null=False),
        )
    except pa.ArrowInvalid:
        return None
    same = all(np.all(table[number].to_numpy() == int(number)) for number in numbers)
    if not same or table["qid"].unique().to_pylist() != ["qid"]:
        return None
    features = np.empty((table.num_rows, len(numbers)))
    for k, number in enumerate(numbers):
        features[:, k] = table[f"value of {number}"].to_numpy()
    return table["label"].to_numpy(), table["query"], features


def _is_feature(number: str) -> bool:
    """Whether a text is a feature number: digits, and not so many that they are no number that anything is called."""
    return number.isascii() and number.isdecimal() and len(number) <= _MAX_DIGITS


def _parse_sparse(text: bytes, limits: Limits) -> LetorLines | None:
    """scikit-learn's reader, which takes whole-number query ids and sorted features; None if it refuses."""
    from sklearn.datasets import load_svmlight_file  # here: it takes a second to import

    try:
        matrix, labels, query_ids = load_svmlight_file(io.BytesIO(text), query_id=True, zero_based=True)
    except (ValueError, OverflowError):
        return None
    if len(query_ids) != len(labels) or len(labels) == 0:
        return None
    if matrix.shape[1] > _MAX_FEATURE + 1:
        return None
    _check_cells(matrix.shape[0], matrix.shape[1] - 1, limits)
    used = 1 if matrix.shape[1] > 1 and matrix[:, 0].nnz == 0 else 0
    comments = [line.partition(b"#")[2].decode() for line in _data_lines(text)] if b"#" in text else []
    return LetorLines(
        labels=labels,
        query_ids=pa.chunked_array([pa.array(query_ids)]),
        item_ids=_item_ids(comments) if comments else None,
        features=matrix[:, used:].toarray(),
        feature_names=tuple(str(k) for k in range(used, matrix.shape[1])),
    )


def _check_cells(lines: int, highest: int, limits: Limits) -> None:
    if 8 * lines * (highest + 1) > limits.file_bytes:
        raise DataError(
            f"{lines:,} lines with feature numbers up to {highest:,} are too much for a full table, which would take "
            f"more than {format_size(limits.file_bytes, '.4g')}, the limit here. Split the file by query, or number "
            "the features from 1 without gaps.",
            mend="Or raise the limit: limits=Limits(file_bytes=...).",
        )


def parse_each(text: bytes, name: str, limits: Limits, widest: int | None = None) -> LetorLines:
    """Line by line: for query ids that are text, to say which line is wrong, and for a preview.

    With feature numbers above `widest` only features that occur get a column, and only so many.
    """
    labels: list[float] = []
    query_ids: list[str] = []
    comments: list[str] = []
    rows: list[dict[int, float]] = []
    for number, line in enumerate(text.splitlines(), 1):
        content, _, comment = line.partition(b"#")
        if not content.strip():
            continue
        label, query_id, features = _parse_line(content, number, name)
        labels.append(label)
        query_ids.append(query_id)
        comments.append(comment.decode())
        rows.append(features)
    if not rows:
        raise DataError(f"{name} has no rows: only blank lines and comments.")
    present = sorted({feature for row in rows for feature in row})
    highest = present[-1] if present else 0
    if widest is not None and highest > widest:
        names = present[:widest]
    else:
        _check_cells(len(rows), highest, limits)
        names = list(range(min(1, present[0]) if present else 1, highest + 1))
    column = {feature: k for k, feature in enumerate(names)}
    dense = np.zeros((len(rows), len(names)))
    for row, features in zip(dense, rows, strict=True):
        for feature, value in features.items():
            if feature in column:
                row[column[feature]] = value
    return LetorLines(
        labels=np.array(labels),
        query_ids=pa.chunked_array([pa.array(query_ids, pa.large_string())]),
        item_ids=_item_ids(comments),
        features=dense,
        feature_names=tuple(map(str, names)),
    )


def _parse_line(content: bytes, number: int, name: str) -> tuple[float, str, dict[int, float]]:
    def broken(what: str) -> DataError:
        shown = content.strip().decode()
        shown = shown if len(shown) <= 80 else shown[:77] + "..."
        return DataError(
            f"Line {number} of {name} does not parse: {what}, in {shown!r}. "
            "A line reads: label qid:ID feature:value ... # item id (feature numbers from 1).",
            row=number,
        )

    fields = [field.decode() for field in content.split()]  # bytes part at blanks alone, text at U+00A0 too
    try:
        label = float(fields[0])
    except ValueError:
        raise broken(f"the label {fields[0]!r} is not a number") from None
    if len(fields) < 2 or not fields[1].startswith("qid:") or len(fields[1]) == 4:
        raise broken(f"'qid:...' is due behind the label, got {fields[1] if len(fields) > 1 else 'nothing'!r}")
    features: dict[int, float] = {}
    for entry in fields[2:]:
        key, colon, value = entry.partition(":")
        if not colon or not (key.isascii() and key.isdecimal()):
            raise broken(f"{entry!r} is not feature:value")
        try:
            amount = float(value)
        except ValueError:
            raise broken(f"the value {value!r} of feature {key} is not a number") from None
        if not _is_feature(key) or int(key) > _MAX_FEATURE:
            raise broken(f"feature number {key} is above {_MAX_FEATURE:,}")
        if int(key) in features:
            raise broken(f"feature {key} occurs twice")
        features[int(key)] = amount
    return label, fields[1][4:], features


def _data_lines(text: bytes) -> Iterator[bytes]:
    return (line for line in text.splitlines() if line.split(b"#", 1)[0].strip())


def _item_ids(comments: list[str]) -> pa.ChunkedArray | None:
    """The id in each comment: after "docid =" where that is said, else the first word."""
    ids = []
    for comment in comments:
        named = _NAMED_ID.search(comment)
        words = comment.split(None, 1)
        if named is None and not words:
            return None
        ids.append(named.group(1) if named else words[0])
    return pa.chunked_array([pa.array(ids, pa.large_string())])
