"""How data gets in: one file a format."""

from spofr_core.data.formats.format import Format, TextOptions
from spofr_core.registry import Registry

__all__ = ["FORMATS", "Format", "TextOptions", "format_labels"]

FORMATS: Registry[Format] = Registry(
    "format",
    {
        "csv": "spofr_core.data.formats.csv_text",
        "parquet": "spofr_core.data.formats.parquet",
        "letor": "spofr_core.data.formats.letor",
        "trec": "spofr_core.data.formats.trec",
        "json": "spofr_core.data.formats.json_text",
        "excel": "spofr_core.data.formats.excel_files.excel",
    },
)
"""Every format by its name."""


def format_labels() -> str:
    """The formats for a sentence: "CSV/TSV, Parquet, ... or TREC run"."""
    *most, last = [each.label for each in FORMATS.values()]
    return f"{', '.join(most)} or {last}" if most else last
