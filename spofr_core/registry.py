"""Registries: every notion, measure, method, scorer, sample, format, page and command is one object with a name.

Everything that lists such things (shell help, sidebar, Train page, charts, reports, tables) iterates over a registry,
so whatever is registered is found everywhere. Entries of one's own come from plug-ins: modules named in SPOFR_PLUGINS
(with commas between them), or in the entry points of an installed package under the group "spofr.plugins". They are
imported before the first look into any registry, in every process, workers and background jobs included.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator, Mapping
from importlib.metadata import entry_points
from threading import RLock
from typing import Generic, Protocol, TypeVar

from spofr_core.errors import ConfigError

PLUGINS = "SPOFR_PLUGINS"
ENTRY_POINTS = "spofr.plugins"


class Named(Protocol):
    """What can be registered: anything with a name."""

    @property
    def name(self) -> str:
        """Its name in settings, commands and files."""
        ...


T = TypeVar("T", bound=Named)


class Registry(Generic[T]):
    """Objects of one kind by their names, in the order of every list of them.

    Parameters
    ----------
    kind : str
        What they are called in messages, such as "method".
    builtin : mapping of str to str
        Name of each entry that comes with the package, and the module that registers it. It is imported when the entry
        is first asked for: names alone cost nothing.
    """

    def __init__(self, kind: str, builtin: Mapping[str, str]) -> None:
        self.kind = kind
        self._builtin = dict(builtin)
        self._entries: dict[str, T] = {}

    def register(self, entry: T) -> T:
        """Add an entry; returns it.

        Raises
        ------
        ConfigError
            When another entry has that name.
        """
        known = self._entries.get(entry.name)
        if known is not None and known is not entry:
            raise ConfigError(f"There is a {self.kind} {entry.name!r} already; give yours another name.")
        self._entries[entry.name] = entry
        return entry

    def unregister(self, name: str) -> None:
        """Take out an entry that `register` added."""
        self._entries.pop(name, None)

    @property
    def names(self) -> tuple[str, ...]:
        """All names, without loading what they stand for: those of the package first."""
        load_plugins()
        return (*self._builtin, *(name for name in self._entries if name not in self._builtin))

    def __getitem__(self, name: str) -> T:
        if name not in self:
            raise ConfigError(self.refusal(name))
        if name not in self._entries:
            importlib.import_module(self._builtin[name])
        return self._entries[name]

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)

    def values(self) -> list[T]:
        """All entries, loaded."""
        return [self[name] for name in self.names]

    def refusal(self, name: object) -> str:
        """The sentence for a name that is not known."""
        return f"'{self.kind}' must be one of {list(self.names)}, got {name!r}."

    def listed(self) -> str:
        """The names for a sentence: "a, b or c"."""
        *most, last = self.names
        return f"{', '.join(most)} or {last}" if most else last


class _Loading:
    """Whether plug-ins were imported in this process: once, by whoever comes first; the others wait."""

    lock = RLock()
    begun = False


def load_plugins() -> None:
    """Import the plug-ins, once per process.

    Raises
    ------
    ConfigError
        When one cannot be imported.
    """
    if _Loading.begun:
        return
    with _Loading.lock:
        if _Loading.begun:
            return
        _Loading.begun = True  # a plug-in may look into a registry while it is imported
        try:
            for module in filter(None, (name.strip() for name in os.environ.get(PLUGINS, "").split(","))):
                _import(module, f"{PLUGINS} names")
            for point in entry_points(group=ENTRY_POINTS):
                _import(point.module, "an installed package brings")
        except ConfigError:
            _Loading.begun = False  # whoever asks next is told the same
            raise


def _import(module: str, who: str) -> None:
    try:
        importlib.import_module(module)
    except ImportError as error:
        raise ConfigError(
            f"The plug-in {module!r} that {who} cannot be imported ({error}); "
            "install it, or put its folder on PYTHONPATH."
        ) from error
