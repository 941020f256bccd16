"""Mappings that nobody can write to, and that travel to workers and back with whatever holds them."""

from __future__ import annotations

import copyreg
from collections.abc import Mapping
from types import MappingProxyType
from typing import TypeVar

V = TypeVar("V")


def read_only(mapping: Mapping[str, V]) -> MappingProxyType[str, V]:
    """A copy that cannot be changed."""
    return MappingProxyType(dict(mapping))


# Python does not pickle them by itself.
copyreg.pickle(MappingProxyType, lambda proxy: (read_only, (dict(proxy),)))
