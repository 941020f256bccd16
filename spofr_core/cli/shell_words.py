"""Messages in the words of a shell: the package speaks of keyword arguments, a shell has options."""

from __future__ import annotations

import re

_OPTIONS = {
    "query": "--query",
    "item": "--item",
    "group": "--group",
    "score": "--score",
    "rank": "--rank",
    "relevance": "--relevance",
    "protected": "--protected",
    "missing": "--missing",
    "time": "--time",
    "encoding": "--encoding",
    "delimiter": "--delimiter",
    "decimal": "--decimal",
    "sheet": "--sheet",
    "item_groups": "--item-groups",
    "negative_labels": "--negative-labels",
    "group_quantiles": "--quantiles",
    "group_against_rest": "--against-rest",
}
# "write group=number" and "such as group=women" are what a value looks like.
_SETTING = re.compile(rf"(?<!write )(?<!such as )\b({'|'.join(_OPTIONS)})=('[^']*'|[\w.]+)")
_PHRASES = (
    ("on_infeasible='relax'", "--relax"),
    ("header=False", "--no-header"),
    ("header=True", "--header"),
    ("insist=True", "--insist"),
    ("join_alike=True", "--join-alike"),
    ("join_alike=False", "--no-join-alike"),
    ("drop_rows=True", "--drop-rows"),
    ("group_quantiles needs", "--quantiles needs"),
    ("group_against_rest needs", "--against-rest needs"),
    ("leave out group_quantiles, or each_item", "leave out --quantiles, or --each-item"),
    ("leave out group_against_rest, or each_item", "leave out --against-rest, or --each-item"),
    ("leave out group_names, or each_item", "leave out --rename-group, or --each-item"),
    ("leave out leave_out_groups, or each_item", "leave out --leave-out-group, or --each-item"),
    ("leave out group, or each_item", "leave out --group, or --each-item"),
    ("with each item on its own there are none: leave it out", "with --each-item there are none: leave it out"),
    ("Use notion='exposure'.", "Leave out --notion."),
    ("use notion='exposure'", "use --notion exposure"),
    ("GroupSpec: ", ""),
    ("(allow_relaxed=False)", "(see --allow-relaxed)"),
    ("(optimal=True)", "(see --no-optimal)"),
    ("'negative_labels' must", "--negative-labels must"),
    ("leave_out_groups leaves", "--leave-out-group leaves"),
    ("limits=Limits(", "in Python, limits=Limits("),
    (", or give policies=fair_policies(...)", ""),
    (", or use data.with_scores(scores)", ""),
    ("audit(..., measures=[...]) adds measures by their names", "--measure adds measures by their names"),
    ("map a score or rank column", "map a score or rank column (--score, --rank)"),
)


def in_shell_words(message: str) -> str:
    """The message with `decimal=','` as `--decimal ','`, and so on for all that a command takes."""
    for python, shell in _PHRASES:
        message = message.replace(python, shell)
    return _SETTING.sub(lambda found: f"{_OPTIONS[found[1]]} {found[2]}", message)
