"""Options that several commands share, declared once: where the data is, what is asked of it, who does the work."""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from spofr_core.data import (
    EACH_ITEM,
    FORMATS,
    SAMPLES,
    RankingDataset,
    Sample,
    Splits,
    format_labels,
    load_sample,
    read_dataset,
)
from spofr_core.errors import ConfigError
from spofr_core.fairness import (
    NOTIONS,
    Delta,
    Fairness,
    PositionBias,
    Quota,
    Unit,
    group_merits,
    parse_delta,
    parse_quota,
)
from spofr_core.files import parse_json

SettingsOption = Annotated[
    list[str] | None, typer.Option("--set", help="A setting of the method as 'name=value'; repeat for more.")
]

MeasureOption = Annotated[
    list[str] | None,
    typer.Option("--measure", help="A measure by its name, such as NDKL, Skew@10 or AWRF(target=uniform); repeat."),
]

SlackOption = Annotated[
    int | None,
    typer.Option(
        help="Quota of every ranking that may be shown: in each prefix, a group has at most this many items more or "
        "fewer than its share, rounded either way."
    ),
]
TopOption = Annotated[
    int | None, typer.Option(help="With --quota-slack: prefixes up to this one. [default: the whole list]")
]
MinimumOption = Annotated[
    list[str] | None,
    typer.Option(help="Least items of a group in every ranking that may be shown, as 'women@10=2'; repeat for more."),
]


@dataclass(frozen=True, kw_only=True)
class DataOptions:
    """Which table is read, and which column is what."""

    file: Annotated[Path | None, typer.Argument(help=f"{format_labels()}; also .gz.")] = None
    sample: Annotated[str | None, typer.Option(help=f"A bundled dataset instead of a file: {SAMPLES.listed()}.")] = None
    query: Annotated[str | None, typer.Option(help="Column of query ids.")] = None
    item: Annotated[str | None, typer.Option(help="Column of item ids.")] = None
    group: Annotated[
        list[str] | None, typer.Option(help="Column of the group; give it twice or more to cross columns.")
    ] = None
    score: Annotated[str | None, typer.Option(help="Column of scores, higher is better.")] = None
    rank: Annotated[str | None, typer.Option(help="Column of ranks (1 is the top), in place of a score.")] = None
    relevance: Annotated[str | None, typer.Option(help="Column of relevance labels.")] = None
    features: Annotated[
        list[str] | None,
        typer.Option(
            help="Column of a feature for learning; repeat for more. 'auto': all that can be learned from. "
            "Of the sample adult: 'all' or 'work'."
        ),
    ] = None
    leave_out_feature: Annotated[
        list[str] | None, typer.Option(help="A column that is no feature all the same; repeat for more.")
    ] = None
    quantiles: Annotated[
        int | None, typer.Option(help="Cut the (numeric) group column into this many groups at its quantiles.")
    ] = None
    against_rest: Annotated[
        str | None, typer.Option(help="Two groups: this value of the group column, and all others.")
    ] = None
    each_item: Annotated[
        bool,
        typer.Option("--each-item", help="No groups: each item on its own, compared with the others of its list."),
    ] = False
    rename_group: Annotated[
        list[str] | None,
        typer.Option(help="What a group is to be called, as '0=men'; repeat for more, the same name twice merges."),
    ] = None
    leave_out_group: Annotated[
        list[str] | None,
        typer.Option(help="A group whose items keep their places and belong to no group; repeat for more."),
    ] = None
    missing: Annotated[
        str,
        typer.Option(
            help="Items without a group: 'error'; 'keep' their places with an unknown group; 'exclude': they keep "
            "their places and belong to none; or 'own_group'."
        ),
    ] = "error"
    drop_rows: Annotated[
        bool | None,
        typer.Option("--drop-rows", help="Remove the rows of items that belong to no group: those below them move up."),
    ] = None
    negative_labels: Annotated[
        str | None,
        typer.Option(
            help="Relevance below 0: 'shift' (the lowest counts as 0 in nDCG and merits, DCG takes any number) or "
            "'clip' (it counts as 0 everywhere). [default: shift]"
        ),
    ] = None
    join_alike: Annotated[
        bool | None,
        typer.Option(
            "--join-alike/--no-join-alike",
            help="Whether queries and groups are the same that differ only by case, or as '1' and '1.0' do.",
        ),
    ] = None
    format: Annotated[str | None, typer.Option(help=f"{FORMATS.listed()}, where it is not found out.")] = None
    encoding: Annotated[str | None, typer.Option(help="Text encoding, where it is not UTF-8.")] = None
    delimiter: Annotated[str | None, typer.Option(help="Delimiter of the columns, where it is not found out.")] = None
    decimal: Annotated[str | None, typer.Option(help="Decimal sign of numbers, where it is not found out.")] = None
    header: Annotated[
        bool | None,
        typer.Option(help="Whether the first row holds column names; without them: 'column 1', 'column 2', ..."),
    ] = None
    sheet: Annotated[
        str | None, typer.Option(help="Sheet of a workbook, or key of a JSON document, where several hold tables.")
    ] = None
    insist: Annotated[
        bool, typer.Option("--insist", help="Take --score or --rank as it is named, whatever the column looks like.")
    ] = False
    guess: Annotated[
        bool, typer.Option("--guess/--no-guess", help="Whether columns that are not named go by their usual names.")
    ] = True
    qrels: Annotated[Path | None, typer.Option(help="TREC qrels with the relevance of a run.")] = None
    item_groups: Annotated[Path | None, typer.Option(help="Table item, group for a TREC run.")] = None
    groups: Annotated[
        str | None, typer.Option(help="How a bundled dataset is grouped: a number of groups, or a name such as gender.")
    ] = None

    @property
    def source(self) -> str:
        """How the data is named in summaries and reports."""
        return f"sample {self.sample}" if self.sample else str(self.file)

    @property
    def folder(self) -> Path | None:
        """The folder of Parquet files, if it is one that is read."""
        if self.file is None or not self.file.is_dir():
            return None
        self.check_one_source()
        return self.file

    @property
    def usual_delta(self) -> tuple[float, Unit]:
        """What is asked of this data where nobody names a delta."""
        opening = Sample if self.sample is None else SAMPLES[self.sample]
        return opening.delta, opening.unit

    def read(self, **changes: Any) -> RankingDataset:
        """The file, or what an audit of the sample opens on."""
        self.check_one_source()
        if self.sample is not None:
            if self.each_item and self.groups is not None:
                raise ConfigError("--groups and --each-item both say how items are grouped; name one.")
            if self.features is not None:
                raise ConfigError(
                    f"--features says what a model learns from; the ranking of the sample {self.sample} is there "
                    "already and does not depend on it. Leave it out here."
                )
            return SAMPLES[self.sample].grouped_data(EACH_ITEM if self.each_item else self._grouping)
        if self.file is None:
            raise ConfigError(f"Name a FILE, or a bundled dataset with --sample ({SAMPLES.listed()}).")
        return read_dataset(self.file, **(self.mapping() | changes))

    def splits(self, *, seed: int = 0) -> Splits:
        """Train, validation and test parts of the sample, or of the file split by query."""
        self.check_one_source()
        if self.sample is not None:
            groups = SAMPLES[self.sample].groups_of(self._grouping)
            return load_sample(self.sample, groups=groups, seed=seed, features=self.feature_set)
        return self.read().split(seed=seed)

    @property
    def feature_set(self) -> str | None:
        """What a scorer may see, of a sample that offers a choice."""
        if self.features is None:
            return None
        if len(self.features) > 1:
            raise ConfigError(f"--features is given {len(self.features)} times; a sample takes one set of them.")
        return self.features[0]

    @property
    def _grouping(self) -> str | None:
        """As a text also where it comes from the file of a run, in which it may be a number."""
        return None if self.groups is None else str(self.groups)

    def check_one_source(self) -> None:
        """Refuse a file and a sample at once, and what says something about the one that is not there."""
        if self.sample is not None and self.file is not None:
            raise ConfigError(f"Both the file {str(self.file)!r} and --sample {self.sample} are given; name one.")
        if self.file is not None and self.groups is not None:
            raise ConfigError(
                f"--groups {self.groups} is for a bundled dataset; name the column of the groups with --group."
            )
        unused = [name for name in _OF_FILES if getattr(self, name) not in (None, [])]
        if self.sample is not None and unused:
            option = f"--{unused[0].replace('_', '-')}"
            instead = ": say how it is grouped with --groups" if unused[0] == "group" else ", so leave it out"
            raise ConfigError(f"{option} is for a file; the sample {self.sample} has columns of its own{instead}.")

    def mapping(self) -> dict[str, Any]:
        """The keyword arguments of `read_dataset` that these options stand for."""
        group = self.group[0] if self.group and len(self.group) == 1 else self.group
        given = {
            "query": self.query,
            "item": self.item,
            "group": group,
            "score": self.score,
            "rank": self.rank,
            "relevance": self.relevance,
            "features": "auto" if self.features == ["auto"] else self.features,
            "leave_out_features": self.leave_out_feature,
            "group_quantiles": self.quantiles,
            "group_against_rest": self.against_rest,
            "each_item": self.each_item or None,
            "group_names": dict(map(_new_name, self.rename_group)) if self.rename_group else None,
            "leave_out_groups": self.leave_out_group,
            "drop_rows": self.drop_rows or None,
            "negative_labels": self.negative_labels,
            "join_alike": self.join_alike,
            "format": self.format,
            "encoding": self.encoding,
            "delimiter": self.delimiter,
            "decimal": self.decimal,
            "header": self.header,
            "sheet": self.sheet,
            "insist": self.insist or None,
            "guess": None if self.guess else False,
            "qrels": self.qrels,
            "item_groups": self.item_groups,
        }
        return {name: value for name, value in given.items() if value is not None} | {"missing": self.missing}


_OF_FILES = (
    "query", "item", "group", "score", "rank", "relevance", "leave_out_feature", "quantiles", "against_rest",
    "rename_group", "leave_out_group", "drop_rows", "negative_labels", "join_alike", "format", "encoding", "delimiter",
    "decimal", "header", "sheet", "qrels", "item_groups",
)  # fmt: skip
"""Options that say how a file is read: a sample would ignore them without a word."""


@dataclass(frozen=True, kw_only=True)
class FairnessOptions:
    """What is asked of every list."""

    delta: Annotated[
        str | None,
        typer.Option(
            help="Largest violation allowed: 10% is a share of the list's mean exposure, 0.05 an exposure; or one per "
            "group as 'a=10%,b=5%'. [default: 10%; for the samples of the paper 0.05]"
        ),
    ] = None
    notion: Annotated[str, typer.Option(help=f"{NOTIONS.listed()}.")] = "exposure"
    merit: Annotated[
        list[str] | None,
        typer.Option(help="Merit of a group as 'group=1.5', repeated; without it, from the relevance labels."),
    ] = None
    power: Annotated[float, typer.Option(help="Position bias 1/(shift + j)^power.")] = 1.0
    shift: Annotated[float, typer.Option(help="Position bias 1/(shift + j)^power; 0 is the released SPOFR code.")] = 1.0
    exposure_cutoff: Annotated[
        int | None, typer.Option(help="Positions beyond it are not shown and get no exposure.")
    ] = None
    quota_slack: SlackOption = None
    quota_top: TopOption = None
    quota_min: MinimumOption = None

    def of_folder(self, source: DataOptions) -> Fairness:
        """The settings for a folder, which is read in one piece only where its labels say the merits."""
        return self.build(source, source.read() if self._needs_merits and not self.merit else None)

    def build(self, source: DataOptions, labels: RankingDataset | None) -> Fairness:
        """The settings for data of this source; merits that are not given are computed from the labels of `labels`."""
        merits = self.merits
        if self._needs_merits and merits is None and labels is not None:
            merits = group_merits(labels)
        delta, unit = self.asked(source)
        return Fairness(
            delta=delta,
            unit=unit,
            notion=self.notion,
            merits=merits,
            position_bias=self.position_bias,
            every_ranking=self.quota,
        )

    @property
    def _needs_merits(self) -> bool:
        return NOTIONS[self.notion].needs_merits

    def of_model(self, trained: Fairness) -> Fairness:
        """What a model was trained for, with another delta or quota if one is given.

        Raises
        ------
        ConfigError
            When another notion, other merits or another exposure model are asked for.
        """
        had = {
            "notion": trained.notion,
            "merit": None,
            "power": trained.position_bias.power,
            "shift": trained.position_bias.shift,
            "exposure_cutoff": trained.position_bias.cutoff,
        }
        for field in dataclasses.fields(self):
            given = getattr(self, field.name)
            if field.name in had and given not in (field.default, had[field.name]):
                option = f"--{field.name.replace('_', '-')}"
                raise ConfigError(
                    f"{option} is {given!r}, but a model is asked about what it was trained for; leave {option} out, "
                    "or train a model with it."
                )
        asked = trained if self.delta is None else trained.with_delta(*parse_delta(self.delta, "--delta"))
        return asked if self.quota is None else asked.with_quota(self.quota)

    @property
    def merits(self) -> dict[str, float] | None:
        """The merits that were named, for the notion that has some."""
        named = dict(_merit(text) for text in self.merit or ())
        return named if named and self._needs_merits else None

    @property
    def quota(self) -> Quota | None:
        """What must hold in every ranking that may be shown."""
        return parse_quota(self.quota_slack, self.quota_top, self.quota_min)

    @property
    def position_bias(self) -> PositionBias:
        """The exposure of each position."""
        return PositionBias(power=self.power, shift=self.shift, cutoff=self.exposure_cutoff)

    def asked(self, source: DataOptions) -> tuple[Delta, Unit]:
        """delta, or one for each group, and its unit; where none is named, what is usual for the data."""
        return source.usual_delta if self.delta is None else parse_delta(self.delta, "--delta")


def _new_name(text: str) -> tuple[str, str]:
    name, sign, new = text.rpartition("=")
    if not sign or not name.strip() or not new.strip():
        raise ConfigError(f"--rename-group is {text!r}; write old=new, such as 0=men.")
    return name.strip(), new.strip()


def parse_settings(pairs: Sequence[str] | None) -> dict[str, Any]:
    """`name=value` pairs of `--set`; a value is read as JSON where it is JSON, and as text otherwise."""
    settings: dict[str, Any] = {}
    for text in pairs or ():
        name, sign, value = text.partition("=")
        if not sign:
            raise ConfigError(f"--set is {text!r}; write name=value, such as max_steps=500.")
        try:
            settings[name.strip()] = parse_json(value)
        except ValueError:
            settings[name.strip()] = value
    return settings


def _merit(text: str) -> tuple[str, float]:
    name, sign, value = text.rpartition("=")
    try:
        if sign and name.strip():
            return name.strip(), float(value)
    except ValueError:
        pass
    raise ConfigError(f"--merit is {text!r}; write group=number, such as women=1.5.")


def with_options(**groups: type[Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Replace each named parameter of a command by the options that its dataclass declares."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        hints = get_type_hints(command, include_extras=True)
        own = [p for p in inspect.signature(command).parameters.values() if p.name not in groups]
        parameters = [p.replace(annotation=hints[p.name], kind=inspect.Parameter.KEYWORD_ONLY) for p in own]
        for group in groups.values():
            types = get_type_hints(group, include_extras=True)
            for field in dataclasses.fields(group):
                parameters.append(
                    inspect.Parameter(
                        field.name, inspect.Parameter.KEYWORD_ONLY, default=field.default, annotation=types[field.name]
                    )
                )

        @functools.wraps(command)
        def wrapper(**values: Any) -> None:
            built = {
                name: group(**{field.name: values.pop(field.name) for field in dataclasses.fields(group)})
                for name, group in groups.items()
            }
            command(**values, **built)

        wrapper.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        wrapper.__annotations__ = {p.name: p.annotation for p in parameters}
        del wrapper.__wrapped__  # Typer would read the command's own signature through it
        return wrapper

    return decorate
