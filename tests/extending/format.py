"""A file format of one's own: Feather, which pandas and R write."""

import io

import pandas as pd

from spofr_core.data import FORMATS, Format, FrameTable, Limits, Raw, Table, TextOptions


class Feather(Format):
    """What ``frame.to_feather(path)`` writes."""

    name = "feather"
    label = "Feather"
    suffixes = (".feather",)

    def sniff(self, raw: Raw) -> bool:
        return raw.head.startswith(b"ARROW1")

    def open(self, raw: Raw, limits: Limits, options: TextOptions) -> Table:
        return FrameTable(pd.read_feather(io.BytesIO(raw.data)), limits, raw.name)


FORMATS.register(Feather())
