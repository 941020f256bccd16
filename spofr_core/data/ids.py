"""Ids as given: strings stay strings, integers stay integers, and both stay small and fast."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from spofr_core.splitmix import GOLDEN, splitmix64_in_place

IdArray = npt.NDArray[Any]
_Ints = npt.NDArray[np.integer[Any]]

BLANKS = "".join(
    chr(code)
    for code in (
        0x00, *range(0x09, 0x0E), *range(0x1C, 0x21), 0x85, 0xA0, 0xAD, 0x061C, 0x1680, 0x180E, *range(0x2000, 0x2010),
        *range(0x2028, 0x2030), *range(0x205F, 0x2070), 0x3000, 0xFEFF,
    )
)  # fmt: skip
"""White space and what has no width (byte order marks, marks of direction): around an id or a name it means nothing.

NUL is one of them: arrays of numpy forget it at the end of a text.
"""
_BLOCK = 1 << 14
_WIDE = 64  # characters: what a Python object costs beside its text


def plain(value: Any) -> Any:
    """An id as the Python value that it stands for, so that messages and JSON read well; an odd one as its text."""
    if isinstance(value, np.generic):
        value = value.item()
    return value if isinstance(value, str | int | float | bool) or value is None else str(value)


def bare(text: str) -> str:
    """An id or a name without the blanks around it."""
    return text.strip(BLANKS)


def label_text(value: object) -> str | None:
    """A label as text: 3.0 is "3", and what is missing is None."""
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return None
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def to_ids(column: pa.ChunkedArray) -> IdArray:
    """An Arrow column as a numpy array: int64, float64 or strings of fixed width.

    Text that holds nothing but integers in their usual spelling becomes int64; "007" stays text.
    """
    if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
        return np.asarray(column.to_numpy())
    integers = _as_integers(column)
    return _strings(column) if integers is None else integers


def id_texts(ids: IdArray) -> IdArray:
    """Ids as text, to look them up or to show them."""
    if ids.dtype.kind == "U":
        return ids
    texts = [label_text(value) or "" for value in ids.tolist()] if ids.dtype.kind in "fO" else []
    return string_array(texts) if texts else ids.astype(np.str_)


def string_array(texts: Sequence[str]) -> IdArray:
    """Texts as an array: of fixed width, which is fast, unless a long one would make all others as wide as itself."""
    lengths = [len(text) for text in texts]
    if max(lengths, default=0) * len(lengths) <= 2 * sum(lengths) + _WIDE * len(lengths):
        return np.array(texts, dtype=np.str_)
    return np.array(texts, dtype=object)


def first_odd_one(ids: IdArray) -> str | None:
    """The first id that is no whole number in a column that begins with one: a sign of two kinds of id in it."""
    if ids.dtype.kind != "U" or not len(ids) or not str(ids[0]).isdecimal():
        return None
    odd = ~np.strings.isdecimal(ids)
    return str(ids[np.argmax(odd)]) if odd.any() else None


def factorize(column: pa.ChunkedArray) -> tuple[npt.NDArray[np.int32], pa.Array]:
    """Codes in order of first appearance, and the distinct values. Missing values get the code -1.

    So it is for a column that is a dictionary already, whatever its order and with values that no row has.
    """
    known_before = pa.types.is_dictionary(column.type)
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    if column.num_chunks == 0:
        return np.zeros(0, dtype=np.int32), pa.array([], type=column.type.value_type)
    # Every chunk has a dictionary of its own; only these are brought together, never the rows.
    merged = pa.concat_arrays([chunk.dictionary for chunk in column.chunks]).dictionary_encode()
    code_of = np.append(np.asarray(merged.indices, dtype=np.int32), np.int32(-1))
    codes = np.empty(len(column), dtype=np.int32)
    first = known = 0
    for chunk in column.chunks:
        missing = len(code_of) - 1 - known
        indices = chunk.indices.fill_null(missing) if chunk.indices.null_count else chunk.indices
        codes[first : first + len(chunk)] = code_of[known:][np.asarray(indices)]
        first, known = first + len(chunk), known + len(chunk.dictionary)
    if not known_before:
        return codes, merged.dictionary
    place = np.full(len(merged.dictionary) + 1, len(codes))
    place[codes[::-1]] = np.arange(len(codes) - 1, -1, -1)  # the first row is written last
    order = np.argsort(place[:-1])[: np.count_nonzero(place[:-1] < len(codes))]
    again = np.full(len(place), -1, dtype=np.int32)
    again[order] = np.arange(len(order), dtype=np.int32)
    return again[codes], merged.dictionary.take(pa.array(order))


def has_duplicates(ids: IdArray, query_codes: npt.NDArray[np.integer[Any]]) -> npt.NDArray[np.bool_] | None:
    """Rows whose item occurred before in the same query, or None when there is no such row.

    A 64-bit hash of (query, item) is sorted first; only when two are equal, by chance or in earnest, are the
    ids themselves compared.
    """
    keys = _hashes(ids)
    for first in range(0, len(keys), _BLOCK):
        block = slice(first, first + _BLOCK)
        keys[block] ^= (query_codes[block].astype(np.uint64) + np.uint64(1)) * GOLDEN
    splitmix64_in_place(keys)
    keys.sort()
    if not np.any(keys[1:] == keys[:-1]):
        return None
    duplicated = pd.DataFrame({"query": query_codes, "item": ids}).duplicated().to_numpy()
    return duplicated if duplicated.any() else None


def _as_integers(column: pa.ChunkedArray) -> npt.NDArray[np.int64] | None:
    """The integers that the text spells, or None when one of them is no integer in its usual spelling."""
    first = column.chunk(0)[0].as_py() if column.num_chunks and len(column.chunk(0)) else ""
    if not first.lstrip("-").isdecimal():
        return None
    try:
        numbers = column.cast(pa.int64()).to_numpy()
    except pa.ArrowInvalid:
        return None
    # No text is shorter than the usual spelling of its number, so equal totals mean equal spellings.
    powers = np.array([10**k for k in range(1, 19)], dtype=np.uint64)
    digits = np.searchsorted(powers, np.abs(numbers).astype(np.uint64), side="right") + 1 + (numbers < 0)
    written = pc.sum(pc.binary_length(column)).as_py()
    return numbers if int(digits.sum()) == written else None


def _strings(column: pa.ChunkedArray) -> IdArray:
    """Arrow strings as a numpy string array; ASCII, the common case, without a Python object per string."""
    chunks = [_bytes_of(chunk) for chunk in column.chunks if len(chunk)]
    width = max((int(lengths.max()) for _, _, lengths in chunks), default=0)
    if width == 0 or width > _WIDE or any(content.max(initial=0) >= 128 for content, _, _ in chunks):
        return string_array(column.to_pylist())
    out = np.empty((len(column), width), dtype=np.uint32)
    first = 0
    for content, starts, lengths in chunks:
        _spread(content, starts, lengths, out[first : first + len(starts)])
        first += len(starts)
    return out.view(f"U{width}").ravel()


def _bytes_of(strings: pa.Array) -> tuple[npt.NDArray[np.uint8], _Ints, _Ints]:
    """The bytes of all strings in a row, where each begins, and how long it is."""
    kind = np.int64 if pa.types.is_large_string(strings.type) else np.int32
    ends = np.frombuffer(strings.buffers()[1], dtype=kind)[strings.offset : strings.offset + len(strings) + 1]
    content = np.frombuffer(strings.buffers()[2] or b"", dtype=np.uint8)[ends[0] : ends[-1]]
    return content, ends[:-1] - ends[0], np.diff(ends)


def _spread(
    content: npt.NDArray[np.uint8],
    starts: _Ints,
    lengths: _Ints,
    out: npt.NDArray[np.uint32],
) -> None:
    """Write each string into its row of `out`, one code point per entry, zeros behind it."""
    width = out.shape[1]
    windows = np.lib.stride_tricks.sliding_window_view(np.append(content, np.zeros(width, np.uint8)), width)
    inside = np.arange(width)
    for first in range(0, len(starts), _BLOCK):
        block = slice(first, first + _BLOCK)
        np.multiply(windows[starts[block]], inside < lengths[block, None], out=out[block], casting="unsafe")


def _hashes(ids: IdArray) -> npt.NDArray[np.uint64]:
    if ids.dtype.kind in "iu":
        keys = ids.astype(np.uint64)
        splitmix64_in_place(keys)
        return keys
    if ids.dtype.kind != "U" or ids.itemsize == 0:
        return np.asarray(pd.util.hash_array(ids, categorize=False), dtype=np.uint64)
    characters = np.ascontiguousarray(ids).view(np.uint32).reshape(len(ids), -1)
    keys = np.zeros(len(ids), dtype=np.uint64)
    for first in range(0, len(ids), _BLOCK):
        block = slice(first, first + _BLOCK)
        part = keys[block]
        for column in characters[block].T:
            part *= GOLDEN
            part += column
            part ^= part >> np.uint64(29)
    return keys
