"""`spofr audit LOG --shown`: what readers were shown, from a log of impressions."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from spofr_core.cli.options import DataOptions, FairnessOptions
from spofr_core.cli.shell_output import emit_json
from spofr_core.errors import ConfigError

if TYPE_CHECKING:
    from spofr_core.serving import ShownAudit


@dataclass(frozen=True, kw_only=True)
class ShownOptions:
    """A log of impressions in place of a table of lists."""

    shown: Annotated[
        bool,
        typer.Option(
            "--shown",
            help="FILE is a log of impressions (query, impression, position, item, group; a row per shown item): audit "
            "what was shown over time. --rank names the column of positions.",
        ),
    ] = False
    impression: Annotated[
        str | None, typer.Option(help="With --shown: column of the impression or session. [default: impression]")
    ] = None

    def audit(
        self, source: DataOptions, ask: FairnessOptions, *, seed: int, json_: str | None, csv: Path | None
    ) -> ShownAudit:
        """Read, audit, and say what was found."""
        from spofr_core.data import write_csv
        from spofr_core.reporting import listed
        from spofr_core.serving import audit_shown, read_shown

        if source.file is None:
            raise ConfigError("--shown needs a log; name its file or folder.")
        if source.group is not None and len(source.group) > 1:
            raise ConfigError(f"--group is {listed(source.group)}; a log of impressions takes one column of groups.")
        named = {
            "query": source.query,
            "impression": self.impression,
            "position": source.rank,
            "item": source.item,
            "group": source.group[0] if source.group else None,
        }
        log = read_shown(source.file, **{name: column for name, column in named.items() if column is not None})
        result = audit_shown(log, ask.build(source, None), seed=seed)
        if csv is not None:
            write_csv(result.queries, csv)
        emit_json(result.summary, json_)
        if json_ != "-":
            for sentence in shown_sentences(result):
                typer.echo(sentence)
        return result


def shown_sentences(result: ShownAudit) -> list[str]:
    """What was shown, in words: how much, what holds delta, what the schedule promised, and what was seen once."""
    from spofr_core.reporting import counted, interval, named, off_text, violation_text

    summary, unit = result.summary, result.fairness.unit
    queries = summary["queries"]
    told = [
        f"{counted(summary['impressions'], 'impression', 'impressions')} of "
        f"{counted(queries['shown'], 'query', 'queries')} were shown."
    ]
    if queries["judged"]:
        told.append(
            f"Of {counted(queries['judged'], 'query', 'queries')} shown twice or more (at least "
            f"{queries['least_impressions']:,} times), {queries['hold']:,} hold delta {result.fairness.delta_text} in "
            "what was really shown."
        )
        worst = summary["worst"]
        told.append(
            f"The furthest off is {worst['query']!r}: {named(worst['group'])} by "
            f"{violation_text(abs(worst['violation']), unit)} over {worst['impressions']:,} impressions."
        )
    if queries["promised"]:
        told.append(
            f"{queries['within_promise']:,} of {queries['promised']:,} are within delta and the bound of "
            "their schedule."
        )
    if queries["once"]:
        told.append(
            f"{counted(queries['once'], 'query', 'queries')} seen once are judged together only: of a single ranking "
            "nothing is promised."
        )
        told += [
            f"  {name}: {off_text(one['violation'], unit)} in the mean, 95 % CI {interval(one['ci'], unit)}, "
            f"n = {one['n']:,}"
            for name, one in summary["once"].items()
        ]
    if summary["sorted_by_score"]:
        told.append(
            f"{counted(summary['sorted_by_score'], 'impression was', 'impressions were')} sorted by score, because no "
            "policy could be had."
        )
    return told
