"""From a path or an upload to bytes: decompressed, checked to be text where text is due."""

from __future__ import annotations

import codecs
import gzip
import io
import os
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa

from spofr_core.data.limits import Limits
from spofr_core.errors import DataError, first_line
from spofr_core.files import remember_input

Source = str | os.PathLike[str] | bytes | IO[bytes] | IO[str]

_PIECE = 1 << 20
_GZIP = b"\x1f\x8b"
_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose mark is the beginning of this one
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_KNOWN_BINARY = {
    b"%PDF": "a PDF",
    b"\x89PNG": "a PNG picture",
    b"\x80\x04\x95": "a pickle, which is never opened here: it can run code",
}
_PAGES = (b"<html", b"<!doctype html", b"<table")
_TEXT_CONTROLS = frozenset(b"\t\n\r\f\x1b")


@dataclass(frozen=True)
class Raw:
    """The bytes of a source.

    `name` is how messages call it; `suffix` the lower-case extension without ".gz".
    """

    name: str
    suffix: str
    data: pa.Buffer

    @property
    def head(self) -> bytes:
        """The first 64 kB."""
        return bytes(self.data.slice(0, min(self.data.size, 1 << 16)))


def text_head(raw: Raw) -> str:
    """The beginning as text, in the encoding that its byte order mark names; what is none is left out."""
    encoding = next((name for mark, name in _BOMS if raw.head.startswith(mark)), "utf-8")
    return raw.head.decode(encoding, "ignore")


def open_raw(source: Source, limits: Limits) -> Raw:
    """Read a path, bytes or file-like object; gzip is recognised by its first bytes."""
    name, data = _content_of(source, limits)
    if data.size >= 2 and bytes(data.slice(0, 2)) == _GZIP:
        data = _gunzip(data, name, limits)
    if data.size == 0:
        raise DataError(f"{name} is empty (0 bytes). Check that the export finished.")
    limits.check_bytes(data.size, name)
    return Raw(name=name, suffix=Path(name.lower().removesuffix(".gz")).suffix, data=data)


def _content_of(source: Source, limits: Limits) -> tuple[str, pa.Buffer]:
    if isinstance(source, bytes):
        return "the data", pa.py_buffer(source)
    if isinstance(source, (str, os.PathLike)):
        path = Path(source)
        if not path.exists():
            raise DataError(f"There is no file {str(path)!r}. Check the path.")
        if path.is_dir():
            raise DataError(
                f"{path.name} is a folder without Parquet files: give a file, or a folder of .parquet files."
            )
        if not path.is_file():  # a pipe has no size, and is read once
            with path.open("rb") as stream:
                return path.name, _all_of(stream, path.name, limits)
        size = path.stat().st_size
        limits.check_bytes(size, path.name)
        remember_input(path)
        return path.name, pa.memory_map(str(path)).read_buffer() if size else pa.py_buffer(b"")
    if not hasattr(source, "read"):
        raise DataError(
            f"A {type(source).__name__} cannot be read: give a path, bytes, a file opened for reading, or a DataFrame."
        )
    called = getattr(source, "name", "the uploaded file")
    if isinstance(source, io.FileIO | io.BufferedReader | io.TextIOWrapper) and isinstance(called, str):
        remember_input(called)
    name = Path(str(called)).name
    if hasattr(source, "seek"):
        source.seek(0)
    return name, _all_of(source, name, limits)


def _all_of(stream: Any, name: str, limits: Limits, packed: Any = None) -> pa.Buffer:
    """All that a stream has, in pieces: whoever asks a file for its limit at once is given that much memory.

    `packed` is the stream that it is unpacked from.
    """
    content = bytearray()
    while piece := stream.read(_PIECE):
        content += piece.encode() if isinstance(piece, str) else piece
        limits.check_bytes(len(content), name)
        if packed is not None:
            limits.check_expansion(packed.tell(), len(content), name)
    return pa.py_buffer(content)


def _gunzip(data: pa.Buffer, name: str, limits: Limits) -> pa.Buffer:
    try:
        packed = pa.BufferReader(data)
        with gzip.GzipFile(fileobj=packed) as stream:
            return _all_of(stream, name, limits, packed)
    except EOFError as error:
        raise DataError(
            f"{name} is a gzip file that ends too early ({data.size:,} compressed bytes): it is truncated. "
            "Copy or download it again; `gzip -t` tells whether it is whole."
        ) from error
    except (gzip.BadGzipFile, zlib.error) as error:
        raise DataError(f"{name} is a damaged gzip file ({error}). Copy or download it again.") from error


def as_utf8(raw: Raw, encoding: str | None = None) -> tuple[pa.Buffer, str | None]:
    """The text of a source in UTF-8, without byte order mark, and the encoding if it was another one."""
    head = raw.head
    found = encoding or next((name for mark, name in _BOMS if head.startswith(mark)), None)
    if found == "utf-8-sig" and encoding is None:
        text = Raw(raw.name, raw.suffix, raw.data.slice(len(codecs.BOM_UTF8)))
        if text.data.size == 0:
            raise DataError(f"{raw.name} is empty (a byte order mark and nothing else).")
        _check_utf8(text)
        return text.data, found
    if found is None or found.lower().replace("_", "-") in ("utf-8", "utf8"):
        refuse_binary(raw)
        _check_utf8(raw)
        return raw.data, None
    try:
        codecs.lookup(found)
    except (LookupError, ValueError) as error:
        raise DataError(
            f"There is no encoding {found!r}; try 'utf-8', 'latin-1', 'cp1252' or 'utf-16'.", fields=("encoding",)
        ) from error
    try:
        return pa.py_buffer(bytes(raw.data).decode(found).encode()), found
    except UnicodeDecodeError as error:
        raise DataError(
            f"{raw.name} is not {found}: byte 0x{bytes(raw.data)[error.start]:02x} at offset {error.start:,} "
            "does not decode.",
            fields=("encoding",),
            mend="Give the encoding that it was saved in: encoding=...",
            on_page="Choose the encoding that it was saved in.",
        ) from error
    except (LookupError, ValueError) as error:  # encodings that are none of text, or decode to half characters
        raise DataError(
            f"{raw.name} cannot be read as {found!r} ({first_line(error)}); try 'utf-8', 'latin-1', 'cp1252' or "
            "'utf-16'.",
            fields=("encoding",),
        ) from error


def refuse_binary(raw: Raw) -> None:
    """Raise `DataError` for what cannot be text."""
    head = raw.head[:8192]
    kind = next((kind for magic, kind in _KNOWN_BINARY.items() if head.startswith(magic)), None)
    if head.lstrip().lower().startswith(_PAGES):
        kind = "a web page (HTML), whatever its name says"
    control = sum(1 for byte in head if byte < 32 and byte not in _TEXT_CONTROLS)
    if kind is None and 0 not in head and control <= len(head) // 20:
        return
    offset = next((i for i, byte in enumerate(head) if byte < 32 and byte not in _TEXT_CONTROLS), 0)
    what = kind or f"binary: byte 0x{head[offset]:02x} at offset {offset:,} is not text"
    raise DataError(
        f"{raw.name} is {what}. Export the table as CSV (UTF-8) or Parquet.",
        mend="" if kind else "UTF-16 text without a byte order mark needs encoding='utf-16-le' or 'utf-16-be'.",
    )


def _check_utf8(raw: Raw) -> None:
    """All bytes decode as UTF-8; ASCII, the common case, is seen at memory speed."""
    if np.frombuffer(raw.data, dtype=np.uint8).max() < 128:
        return
    decoder = codecs.getincrementaldecoder("utf-8")()
    done = 0
    try:
        for start in range(0, raw.data.size, 1 << 20):
            piece = bytes(raw.data.slice(start, min(1 << 20, raw.data.size - start)))
            pending = len(decoder.getstate()[0])
            done = start - pending
            decoder.decode(piece, final=start + len(piece) == raw.data.size)
    except UnicodeDecodeError as error:
        offset = done + error.start
        before = bytes(raw.data.slice(0, offset))
        line = before.count(b"\n") + 1
        byte = bytes(raw.data.slice(offset, 1))[0]
        around = bytes(raw.data.slice(max(0, offset - 12), min(24, raw.data.size - max(0, offset - 12))))
        shown = around.decode("latin-1").splitlines()
        raise DataError(
            f"{raw.name} is not UTF-8: byte 0x{byte:02x} at offset {offset:,}, line {line:,} "
            f"(near {max(shown, key=len)!r} when read as Latin-1).",
            row=line,
            fields=("encoding",),
            mend="Save it as UTF-8, or say what it is: encoding='latin-1' (or 'cp1252' for files from Windows).",
            on_page="Save it as UTF-8, or choose its encoding: Latin-1, or Windows-1252 for files from Windows.",
        ) from error
