"""Options that say who counts as selected, and what the shell prints about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from spofr_core.errors import ConfigError

if TYPE_CHECKING:
    from spofr_core.data import RankingDataset
    from spofr_core.evaluation import SelectionRates
    from spofr_core.policy import RankingPolicies

MEDIAN = "median"


@dataclass(frozen=True, kw_only=True)
class SelectionOptions:
    """Who is selected from each list, for selection rates and impact ratios."""

    top_k: Annotated[
        int | None,
        typer.Option(help="Add selection rates and impact ratios: the first k of each list count as selected."),
    ] = None
    threshold: Annotated[
        str | None,
        typer.Option(help=f"The same, of those with this score or more; '{MEDIAN}' counts those above the median."),
    ] = None

    @property
    def asked(self) -> bool:
        """Whether anything is said."""
        return self.top_k is not None or self.threshold is not None

    def of_data(self, data: RankingDataset, policies: RankingPolicies | None, *, seed: int) -> SelectionRates:
        """Of a dataset, or of the policies of its lists."""
        from spofr_core.evaluation import selection_rates

        return selection_rates(data, policies=policies, seed=seed, **self._arguments)

    def of_folder(self, folder: Path, **how: Any) -> SelectionRates:
        """Of a folder of Parquet files, part by part; `how` as for `audit_folder`."""
        from spofr_core.evaluation import folder_selection_rates

        return folder_selection_rates(folder, **self._arguments, **how)

    @property
    def _arguments(self) -> dict[str, Any]:
        if self.top_k is not None and self.threshold is not None:
            raise ConfigError(
                f"Both --top-k {self.top_k} and --threshold {self.threshold} are given; select by position or by score."
            )
        if self.threshold is None:
            return {"k": self.top_k}
        if self.threshold.strip().lower() == MEDIAN:
            return {}
        try:
            return {"threshold": float(self.threshold)}
        except ValueError:
            raise ConfigError(f"--threshold is {self.threshold!r}; give a score, such as 0.7, or '{MEDIAN}'.") from None


def print_selection(selection: Mapping[str, Any]) -> None:
    """The tables and findings under the names of the rules."""
    from spofr_core.reporting import selected_sentence, selection_sentences, selection_tables

    typer.echo(selected_sentence(selection))
    printed: list[list[str]] = []
    kind = selection["kind"]
    for rule in selection["rules"]:
        typer.echo(f"{rule['title']} ({rule['source']})")
        lines = []
        for (_, table), sentence in zip(selection_tables(rule), selection_sentences(rule, kind), strict=True):
            lines += [*_aligned([[str(cell) for cell in row] for row in (table.head, *table.rows)]), sentence]
        for line in ["The same numbers as above."] if lines in printed else lines:
            typer.echo(f"  {line}")
        printed.append(lines)
    for note in selection["notes"]:
        typer.echo(f"note: {note}")
    for sentence in selection["not_said"]:
        typer.echo(f"not said: {sentence}")


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Names and words at the left, numbers at the right."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = []
    for name, words, *numbers in rows:
        cells = [f"{cell:>{width}}" for cell, width in zip(numbers, widths[2:], strict=True)]
        lines.append("  ".join([f"{name:{widths[0]}}", f"{words:{widths[1]}}", *cells]))
    return lines
