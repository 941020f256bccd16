"""A file format of one's own: JSON lines, a row a line."""

import io

import pandas as pd

from spofr_core.data import FORMATS, Format, FrameTable, Limits, Raw, Table, TextOptions


class JsonLines(Format):
    """``{"query": 1, "item": "a", "group": "x", "score": 0.5}`` on each line."""

    name = "jsonl"
    label = "JSON lines"
    suffixes = (".jsonl",)

    def sniff(self, raw: Raw) -> bool:
        return raw.head.lstrip().startswith(b"{")

    def open(self, raw: Raw, limits: Limits, options: TextOptions) -> Table:
        return FrameTable(pd.read_json(io.BytesIO(raw.data), lines=True), limits, raw.name)


FORMATS.register(JsonLines())
