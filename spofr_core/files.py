"""Files that are there whole or not at all, JSON, sizes for people, and one sentence when the disk is full."""

from __future__ import annotations

import errno
import json
import os
import stat
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from spofr_core.errors import ConfigError, SpofrError
from spofr_core.unfinished import unfinished_file

_FULL = (errno.ENOSPC, errno.EDQUOT)
_LARGEST_YAML = 2**20
_DEEPEST = 64
_TOO_DEEP = f"it is nested more than {_DEEPEST} levels deep"
_INPUTS: set[str] = set()
"""What this process has read as data, without links: nothing is written there."""


class DiskFull(SpofrError):
    """Nothing more can be written; what was written before is whole."""

    @property
    def plain(self) -> str:
        """For a page, whose reader has neither the disk nor a command to give."""
        return (
            "The disk where this dashboard keeps files is full: what was kept before is safe. Somebody has to free "
            "some space there; then try again."
        )


def write_whole(path: str | Path, content: bytes | Iterator[bytes], *, durable: bool = True, mode: int = 0o644) -> None:
    """Write a file so that it is there whole or not at all, whenever the process may die.

    A link stays a link: the file that it leads to is replaced. Pipes and devices are written through. A file that was
    read as data is refused.

    Large content comes in pieces. `durable`: also when the machine dies; it takes the disk a few milliseconds. `mode`:
    who may read it. What a process that was killed had begun is deleted with the next write of the same file.
    """
    try:
        with whole_file(path, durable=durable, mode=mode) as file:
            file.writelines(content if isinstance(content, Iterator) else (content,))
    except OSError as error:
        error.filename = str(path)  # what was asked for, not the hidden file beside it
        raise


@contextmanager
def whole_file(path: str | Path, *, durable: bool = True, mode: int = 0o644) -> Iterator[IO[bytes]]:
    """A file to write to, as `write_whole` does: it is there at the end of the block, if nothing goes wrong."""
    handle = _opened_through(Path(path))
    if handle is not None:
        with os.fdopen(handle, "wb") as stream:
            yield stream
        return
    target = Path(os.path.realpath(path))
    _refuse_input(target, path)
    target.parent.mkdir(parents=True, exist_ok=True)
    with unfinished_file(target) as (handle, temporary):
        with os.fdopen(handle, "wb", closefd=False) as file:
            yield file
        if durable:
            os.fsync(handle)
        os.fchmod(handle, mode)
        temporary.replace(target)


def _opened_through(path: Path) -> int | None:
    """A handle to a pipe, a device or what this process has open already (/dev/stdout); None for a file."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return None
    step = path
    while not (step.name.isdecimal() and os.path.realpath(step.parent) == f"/proc/{os.getpid()}/fd"):
        if not step.is_symlink():
            return None if stat.S_ISREG(mode) or stat.S_ISDIR(mode) else os.open(path, os.O_WRONLY)
        step = step.parent / step.readlink()
    sys.stdout.flush()  # what was printed before stands before it
    return os.dup(int(step.name))


def remember_input(path: str | os.PathLike[str]) -> None:
    """From now on this process does not write to this file."""
    _INPUTS.add(os.path.realpath(path))


def check_outputs(outputs: Iterable[str | Path], inputs: Iterable[str | Path]) -> None:
    """Refuse outputs onto a file that is read, into a folder that is read, and onto one another, before any work.

    Raises
    ------
    ConfigError
        With the path as it was given.
    """
    read, written = [Path(os.path.realpath(path)) for path in inputs], list[Path]()
    for output in outputs:
        target = Path(os.path.realpath(output))
        if target.exists() and not target.is_file() and not (target.is_fifo() and target in read):
            continue  # pipes and devices take all they are given, and a report gets a name of its own in a folder
        if any(_same(target, path) or _joins(target, path) for path in read):
            raise _is_read(output)
        if any(_same(target, path) for path in written):
            raise ConfigError(f"Two outputs go to the same file, {str(output)!r}: name another file for one of them.")
        written.append(target)


def _refuse_input(target: Path, given: str | Path) -> None:
    if not target.is_file():
        return
    linked = target.stat().st_nlink > 1
    if str(target) in _INPUTS or (linked and any(_same(target, Path(read)) for read in _INPUTS)):
        raise _is_read(given)


def _same(one: Path, other: Path) -> bool:
    return one == other or (one.is_file() and other.is_file() and one.samefile(other))


def _joins(target: Path, folder: Path) -> bool:
    """Whether it would be read with the Parquet files of a folder."""
    return target.suffix in (".parquet", "") and target.is_relative_to(folder) and folder.is_dir()


def _is_read(output: str | Path) -> ConfigError:
    return ConfigError(f"{str(output)!r} is read here, or lies in a folder that is: name another file to write to.")


def write_json(path: Path, content: dict[str, Any], *, mode: int = 0o644) -> None:
    """Replace a JSON file as a whole."""
    write_whole(path, (json.dumps(content, ensure_ascii=False, allow_nan=False) + "\n").encode("utf-8"), mode=mode)


def read_whole(path: Path) -> bytes:
    """The bytes of a file. What has no end, or waits for somebody to write (a device, a pipe), is never opened.

    Raises
    ------
    OSError
        When it cannot be read, or is no file.
    """
    mode = path.stat().st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise OSError(errno.EINVAL, "it is a device or a pipe, not a file", str(path))
    return path.read_bytes()


def parse_json(text: str | bytes) -> Any:
    """Plain values from JSON that anybody may have written.

    Raises
    ------
    ValueError
        Whatever is wrong with it, nested deeper than anything that this package writes included.
    """
    brackets = text.count("[") + text.count("{") if isinstance(text, str) else text.count(b"[") + text.count(b"{")
    try:
        content = json.loads(text)
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    if brackets > _DEEPEST and _deeper_than(content, _DEEPEST):
        raise ValueError(_TOO_DEEP)
    return content


def read_yaml(path: Path) -> Any:
    """Plain values from a small YAML file that anybody may have written.

    Raises
    ------
    OSError
        When it cannot be opened.
    ValueError
        When it is large, nested deeply, no YAML, or has references: a few lines of them can stand for gigabytes.
    """
    import yaml

    if path.stat().st_size > _LARGEST_YAML:
        raise ValueError(
            f"it holds {format_size(path.stat().st_size)}, and settings {format_size(_LARGEST_YAML)} at most"
        )
    text = path.read_text(encoding="utf-8")
    depth = 0
    try:
        for event in yaml.parse(text, Loader=yaml.SafeLoader):  # before anything is built from it
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth > _DEEPEST:
                raise ValueError(_TOO_DEEP)
            if isinstance(event, yaml.AliasEvent):
                raise ValueError(f"it refers to another place by *{event.anchor}: write the value out")
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from error


def _deeper_than(content: Any, depth: int) -> bool:
    level = [content]
    for _ in range(depth):
        level = [
            inner
            for value in level
            for inner in (value.values() if isinstance(value, dict) else value if isinstance(value, list) else ())
        ]
        if not level:
            return False
    return True


def read_json(path: Path) -> dict[str, Any] | None:
    """A JSON object, or None if there is none, or none that can be read."""
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - half the time of Path.read_bytes, and listings read thousands
            content = parse_json(file.read())
    except (OSError, ValueError):
        return None
    return content if isinstance(content, dict) else None


@contextmanager
def explain_full_disk(root: Path) -> Iterator[None]:
    """Turn the system's error for a full disk into `DiskFull`."""
    try:
        yield
    except OSError as error:
        if not is_full(error):
            raise
        raise DiskFull(
            f"The disk that holds {str(root)!r} is full: finished runs are safe. "
            "Free some space and give the same command again; it goes on where it stopped."
        ) from error


def is_full(error: object) -> bool:
    """Whether an error says that the disk, or the share of it, is full."""
    return isinstance(error, OSError) and error.errno in _FULL


def why_nothing_is_kept(error: OSError) -> str | None:
    """What the disk is where it takes nothing: "full" or "read-only"; None where an error says something else."""
    if is_full(error):
        return "full"
    return "read-only" if error.errno == errno.EROFS else None


def size_of(folder: Path) -> int:
    """Bytes of all files below a folder; files that vanish meanwhile count as nothing."""
    total = 0
    stack = [str(folder)]
    while stack:
        try:
            with os.scandir(stack.pop()) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        stack.append(entry.path)
                    else:
                        total += entry.stat(follow_symlinks=False).st_size
        except OSError:
            continue
    return total


def format_size(count: int, digits: str = ".1f") -> str:
    """Bytes for people."""
    for unit, size in (("GB", 2**30), ("MB", 2**20), ("kB", 2**10)):
        if count >= size:
            return f"{count / size:{digits}} {unit}"
    return f"{count} bytes"


def json_text(content: Any, path: str | Path | None = None) -> str:
    """Plain values as JSON text, also written to `path` if one is given."""
    text = json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False)
    if path is not None:
        write_whole(path, (text + "\n").encode("utf-8"))
    return text
