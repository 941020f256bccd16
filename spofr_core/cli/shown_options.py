"""`spofr audit LOG --shown`: what readers were shown, from a log of impressions."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from spofr_core.cli.options import DataOptions, FairnessOptions
from spofr_core.cli.shell_output import emit_json
from spofr_core.cli.slice_options import SliceOptions, print_slices, print_table
from spofr_core.errors import ConfigError
from spofr_core.fairness import Fairness


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
        str | None, typer.Option(help="With --shown: column of the impression or session. [default: by its name]")
    ] = None
    state: Annotated[
        Path | None,
        typer.Option(help="With --shown: the counters of `spofr serve`, to see whether each impression is in the log."),
    ] = None

    def audit(
        self,
        source: DataOptions,
        ask: FairnessOptions,
        cut: SliceOptions,
        *,
        seed: int,
        json_: str | None,
        csv: Path | None,
    ) -> bool:
        """Read, audit, and say what was found; whether all of it holds."""
        from spofr_core.serving import audit_shown, check_counters, read_shown

        if cut.slices or cut.where or cut.slice_measure:
            raise ConfigError("--shown takes --time and --window, but no --slice, --where or --slice-measure.")
        if ask.quota is not None:
            raise ConfigError("--shown takes no quota; audit the lists or the policies themselves to have it counted.")
        log = read_shown(self._file(source), **self._mapping(source), **_given(time=cut.time))
        result = audit_shown(log, ask.build(source, None), seed=seed)
        summary = dict(result.summary)
        said_time = cut.time is not None or cut.window is not None
        if said_time or log.times is not None:
            summary["time"] = result.over_time(cut.window or "auto").summary
        check = None if self.state is None else check_counters(log, self.state)
        if check is not None:
            summary["counters"] = {**check._asdict(), "ok": check.ok}
        if csv is not None:
            result.to_csv(csv)
        emit_json(summary, json_)
        if json_ != "-":
            _print(summary, result.fairness, said_time=said_time)
            if check is not None:
                typer.echo(check.sentence())
            for note in summary["notes"]:
                typer.echo(f"note: {note}")
        return result.ok and (check is None or check.ok)

    def _file(self, source: DataOptions) -> Path:
        if source.file is None:
            raise ConfigError("--shown needs a log; name its file or folder.")
        if not source.file.exists():
            raise ConfigError(f"There is no log at {str(source.file)!r}; name a file, or a folder of Parquet parts.")
        if source.file.is_dir() and not any(source.file.rglob("*.parquet")):
            raise ConfigError(
                f"The folder {str(source.file)!r} has no Parquet part yet; a service that runs writes one every few "
                "seconds."
            )
        return source.file

    def _mapping(self, source: DataOptions) -> dict[str, Any]:
        known = source.mapping()
        roles = {"position": known.pop("rank", None), "impression": self.impression}
        unfit = [name for name in known if name not in _TAKEN]
        if unfit:
            raise ConfigError(f"--shown takes no --{unfit[0].replace('_', '-')}; leave it out.")
        return {**known, **_given(**roles)}


_TAKEN = (
    "query", "item", "group", "group_quantiles", "group_names", "leave_out_groups", "missing", "join_alike",
    "format", "delimiter", "encoding", "decimal", "header", "sheet", "guess",
)  # fmt: skip
"""Options about the data that a log has as well."""


def _given(**options: Any) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}


def _print(summary: dict[str, Any], fairness: Fairness, *, said_time: bool) -> None:
    from spofr_core.serving import shown_groups, shown_sentences

    for sentence in shown_sentences(summary, fairness):
        typer.echo(sentence)
    print_table(*shown_groups(summary["groups"], fairness))
    if summary["once"] and summary["queries"]["once"] < summary["queries"]["shown"]:
        typer.echo("seen once, taken together:")
        print_table(*shown_groups(summary["once"], fairness))
    if said_time:
        print_slices({"time": summary["time"]})
