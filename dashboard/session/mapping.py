"""How a file is read: which column is what, as the reader of the page has said it."""

from __future__ import annotations

import hashlib
import json
from typing import Annotated, Any, Literal

from pydantic import Field

from spofr_core.config import StrictModel
from spofr_core.data import NegativeLabels

GroupWay = Literal["column", "quantiles", "crossing", "each_item"]


class Mapping(StrictModel):
    """Which column is what. Empty text: none, or what the format knows by itself.

    Parameters
    ----------
    query, item, ranked_by, relevance : str
        Columns.
    is_rank : bool
        Whether 1 is the top of `ranked_by`; otherwise the highest is.
    way, group, quantiles
        Where the groups come from: one column, several crossed, or one cut into this many quantiles; or there are none,
        and each item is on its own.
    missing : {"error", "keep", "exclude", "own_group", "drop"}
        What becomes of items without a group; "drop" removes their rows, and those of groups that are left out.
    join_alike : bool, optional
        Whether queries and groups that are written alike are the same; None where nobody was asked.
    encoding : str
        Of the text; empty to find out.
    decimal : str
        The decimal sign of numbers where the file does not decide it; empty where nobody was asked.
    header : bool, optional
        Whether the first row holds the names of the columns; None to find out.
    sheet : str
        Of a workbook, or key of a JSON document, where several hold tables.
    group_names : dict
        Names of groups in the file to those that they get; equal ones are one group.
    leave_out : tuple of str
        Groups in the file whose items belong to no group.
    negative_labels : {"shift", "clip"}
        What becomes of relevance below 0.
    unused : tuple of str
        Columns that no scorer learns from.
    insist : bool
        Whether its owner has said that `ranked_by` is what `is_rank` says, although it looks otherwise.
    slices : tuple of str
        Columns about the query, such as its country, that it can be sliced by.
    time : str
        Column of the time of the query.
    is_log : bool
        Whether it is a log of impressions: a row per item that was shown, its position in `ranked_by`.
    impression : str
        Column of the impressions or sessions of a log.
    """

    query: str = ""
    item: str = ""
    ranked_by: str = ""
    is_rank: bool = False
    relevance: str = ""
    way: GroupWay = "column"
    group: tuple[str, ...] = ()
    quantiles: Annotated[int, Field(ge=2, le=10)] = 2
    missing: Literal["error", "keep", "exclude", "own_group", "drop"] = "error"
    negative_labels: NegativeLabels = "shift"
    join_alike: bool | None = None
    encoding: str = ""
    decimal: Literal["", ",", "."] = ""
    header: bool | None = None
    sheet: str = ""
    group_names: dict[str, str] = Field(default_factory=dict)
    leave_out: tuple[str, ...] = ()
    unused: tuple[str, ...] = ()
    insist: bool = False
    slices: tuple[str, ...] = ()
    time: str = ""
    is_log: bool = False
    impression: str = ""

    @property
    def key(self) -> str:
        """The same reading, the same short name."""
        said = self.to_dict()
        for name in ("slices", "time", "is_log", "impression", "decimal", "sheet"):
            # Links and files of before there were slices, logs and sheets go by the name without them.
            if not said[name]:
                del said[name]
        if self.join_alike is None:
            del said["join_alike"]
        if self.negative_labels == "shift":
            del said["negative_labels"]
        return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()[:6]

    @property
    def chosen(self) -> bool:
        """Whether anything was chosen."""
        some = self.query or self.item or self.ranked_by or self.relevance or self.group
        return bool(some or self.each_item)

    @property
    def each_item(self) -> bool:
        """Whether each item is on its own."""
        return self.way == "each_item"

    def missing_fields(self, known: tuple[str, ...] = ()) -> list[str]:
        """Required fields of the page that are empty, under the names that they have there."""
        fields = {"column": "Group", "quantiles": "Number to cut", "crossing": "Columns to cross"}
        group = fields.get(self.way, "")
        grouped = self.each_item or self.group
        required = {"Query": self.query or "query" in known, "Ranked by": self.ranked_by, group: grouped}
        if self.is_log:
            required = {"Query": self.query, "Impression or session": self.impression}
            required |= {"Position": self.ranked_by, group: grouped}
        return [label for label, filled in required.items() if not filled]

    def options(self) -> dict[str, Any]:
        """The keyword arguments of `read_dataset`."""
        ranked = {"rank" if self.is_rank else "score": self.ranked_by}
        named = {"query": self.query, "item": self.item, **ranked, "relevance": self.relevance}
        given: dict[str, Any] = {role: column for role, column in named.items() if column}
        if self.each_item:
            given["each_item"] = True
        else:
            given["group"] = self.group[0] if len(self.group) == 1 else list(self.group)
        if self.way == "quantiles":
            given["group_quantiles"] = self.quantiles
        if self.missing != "error" and not self.each_item:
            given |= {"drop_rows": True} if self.missing == "drop" else {"missing": self.missing}
        if self.negative_labels != "shift":
            given["negative_labels"] = self.negative_labels
        if self.join_alike is not None:
            given["join_alike"] = self.join_alike
        if self.header is not None:
            given["header"] = self.header
        if self.sheet:
            given["sheet"] = self.sheet
        if self.group_names:
            given["group_names"] = dict(self.group_names)
        if self.leave_out:
            given["leave_out_groups"] = list(self.leave_out)
        if self.insist:
            given["insist"] = True
        if self.decimal:
            given["decimal"] = self.decimal
        if self.encoding:
            given["encoding"] = self.encoding
        if self.slices:
            given["slices"] = list(self.slices)
        if self.time:
            given["time"] = self.time
        return given | {"guess": False}

    def log_options(self) -> dict[str, Any]:
        """The keyword arguments of `read_shown`."""
        given = self.options()
        for name in ("insist", "drop_rows", "slices", "relevance", "negative_labels", "score", "rank"):
            given.pop(name, None)
        return {**given, "impression": self.impression, "position": self.ranked_by}
