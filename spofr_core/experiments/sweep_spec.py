"""What a sweep is: a validated description, and the runs that it stands for."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import Field, field_validator, model_validator

from spofr_core.config import MOST_COUNT, StrictModel
from spofr_core.data import SAMPLES
from spofr_core.errors import ConfigError
from spofr_core.fairness import NOTIONS, PositionBias, Quota, Unit, format_delta, share_settings
from spofr_core.files import read_yaml
from spofr_core.learning import METHODS, SCORERS, method_named, with_scorer
from spofr_core.learning.training_settings import renamed_settings, settings_in_names

Groups = int | str | tuple[str, ...]
NotNegative = Annotated[float, Field(ge=0)]
Delta = NotNegative | dict[str, NotNegative]

DELTAS = (0.0, 0.01, 0.02, 0.03, 0.05, 0.1, 0.2, 0.4)
PENALTIES = (0.0, 1.0, 10.0, 100.0, 1000.0, 10000.0)
ID_LENGTH = 16
MOST_RUNS = 100_000
"""More is a slip of the pen: a sweep of the paper has some hundreds."""
_LATER = {"merits": None, "judged_at": None, "unit": "absolute", "every_ranking": None}
"""Settings of a run that the first stores did not have, and what they stood for then."""


def _named_by_text(content: Any) -> Any:
    """The same, with names that YAML takes for numbers, dates or truths as the text that they are."""
    if isinstance(content, dict):
        return {str(name): _named_by_text(value) for name, value in content.items()}
    return [_named_by_text(value) for value in content] if isinstance(content, list) else content


def rivals() -> tuple[str, ...]:
    """The methods that a comparison is about: all but the baselines, and none with other settings beside itself."""
    return tuple(m.name for m in METHODS.values() if m.role == "rival" and m.variant_of is None)


class DatasetSpec(StrictModel):
    """Which data: a bundled sample, or a file with the roles of its columns.

    Parameters
    ----------
    sample : str, optional
        One of `SAMPLES`.
    file : str, optional
        Anything that `read_dataset` reads, with features and relevance; it is split by query, 60/20/20.
    columns : dict
        Arguments of `read_dataset` for the file: query, item, group, relevance, features (without them, every
        numeric column that has no other role).
    folder : str, optional
        MSLR: a Fold folder of one's own in place of the bundled chunk.
    lists, test_lists : int, optional
        Lists per part of a sample, and of its test part.
    features : str, optional
        What a scorer may see, of a sample that offers a choice.
    """

    sample: str | None = None
    file: str | None = None
    columns: dict[str, Any] = Field(default_factory=dict)
    folder: str | None = None
    lists: int | None = Field(default=None, ge=1)
    test_lists: int | None = Field(default=None, ge=1)
    features: str | None = Field(default=None, exclude_if=lambda features: features is None)  # names of older runs stay

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if (self.sample is None) == (self.file is None):
            raise ValueError(f"name one source: 'sample' ({SAMPLES.listed()}) or 'file'.")
        if self.file is not None and (self.lists or self.test_lists or self.folder):
            raise ValueError("'lists', 'test_lists' and 'folder' are for samples; a file has its own lists.")
        if self.file is not None and self.features is not None:
            raise ValueError("'features' is for samples; those of a file are named under 'columns'.")
        if self.sample is not None and self.columns:
            raise ValueError("'columns' is for a file; a sample knows its own.")
        return self

    @property
    def label(self) -> str:
        """How tables and figures name it."""
        return self.sample if self.sample is not None else Path(self.file or "").name


class RunConfig(StrictModel):
    """Everything that one trained model depends on. Its hash is the name of the run.

    Parameters
    ----------
    dataset : DatasetSpec
    method : str
    delta : float or dict of group to float, optional
        Of the methods that can be asked for it; "10%" is a share.
    unit : "absolute" or "share"
        Of delta, of `judged_at` and of all violations that are measured.
    penalty : float, optional
        Of the methods that are steered by one.
    groups : int, str or tuple of str, optional
        As `load_sample` takes them; for a file the number of quantile groups. None: as the data has them.
    notion, position_bias
        Of the fairness that is asked for and measured.
    merits : dict of group to float, optional
        For notions that need them; without them, those of the training labels.
    judged_at : float or dict of group to float, optional
        delta at which a model that cannot be asked for one is reported.
    every_ranking : Quota, optional
        Held by the methods that hold delta, and measured of the others.
    clicks : int, optional
        Clicked impressions to learn from; None: the true labels.
    click_noise : float
        Probability that an examined irrelevant item is clicked.
    seed : int
        Of the training and of the clicks.
    data_seed : int
        Of the split and the lists.
    settings : dict
        All settings of the method but seed and penalty, written out.
    """

    dataset: DatasetSpec
    method: str
    delta: Delta | None = None
    penalty: float | None = Field(default=None, ge=0)
    groups: Groups | None = None
    notion: str = "exposure"
    position_bias: PositionBias = Field(default_factory=PositionBias)
    clicks: int | None = Field(default=None, ge=1, le=MOST_COUNT)
    click_noise: float = Field(default=0.0, ge=0, le=1)
    seed: int = Field(default=0, ge=0, lt=2**63)  # tables of runs hold it in 64 bits with a sign
    data_seed: int = Field(default=0, ge=0, lt=2**63)
    settings: dict[str, Any] = Field(default_factory=dict)
    merits: dict[str, float] | None = None
    judged_at: Delta | None = None
    unit: Unit = "absolute"
    every_ranking: Quota | None = None

    @classmethod
    def single(cls, dataset: DatasetSpec, method: str, settings: dict[str, Any], **more: Any) -> Self:
        """A run outside of a sweep, with all settings of the method written out as a sweep writes them.

        Raises
        ------
        ConfigError
            When there is no such method, or it does not know one of its settings.
        """
        full = full_settings(method, settings)
        return cls(dataset=dataset, method=method, penalty=full.pop("penalty", None), settings=full, **more)

    def to_dict(self) -> dict[str, Any]:
        """Plain dict, and what names the run: settings that came later are in it only where they are used."""
        content = super().to_dict()
        if self.every_ranking is not None:
            content["every_ranking"] = self.every_ranking.to_dict()
        return {name: value for name, value in content.items() if name not in _LATER or value != _LATER[name]}

    @model_validator(mode="before")
    @classmethod
    def _shares_as_numbers(cls, given: Any) -> Any:
        return share_settings(given, "delta", "judged_at")

    @field_validator("settings")
    @classmethod
    def _settings_of_now(cls, settings: dict[str, Any]) -> dict[str, Any]:
        before = {"mix": 0.0} if "margin" in settings and "mix" not in settings else {}  # there was a plain warm-up
        return renamed_settings(settings) | before

    @cached_property
    def run(self) -> str:
        """Name of the run: the beginning of the SHA-256 of the settings as canonical JSON."""
        return digest_of(self.to_dict() | {"settings": settings_in_names(self.settings)})[:ID_LENGTH]

    @cached_property
    def data_key(self) -> str:
        """The same for runs that use the same full-information data."""
        parts = {"dataset": self.dataset.to_dict(), "groups": _plain(self.groups), "data_seed": self.data_seed}
        return digest_of(parts)[:ID_LENGTH]

    @property
    def click_key(self) -> tuple[str, int | None, float, int]:
        """The same for runs that learn from the same clicks."""
        return (self.data_key, self.clicks, self.click_noise, self.seed)

    @property
    def title(self) -> str:
        """The run in a few words."""
        steered = [f"delta {format_delta(self.delta, self.unit)}"] if self.delta is not None else []
        steered += [f"penalty {self.penalty:g}"] if self.penalty is not None else []
        steered += [f"every ranking {self.every_ranking.text}"] if self.every_ranking is not None else []
        return ", ".join(
            [f"{with_scorer(self.method, self.settings)} on {self.dataset.label}", *steered, f"seed {self.seed}"]
        )


class SweepSpec(StrictModel):
    """Many runs: the product of grids.

    Methods that can be asked for a delta run once per delta, those that are steered by a penalty once per penalty, the
    others once; all of that for every number of groups, notion, training
    size and seed.

    Parameters
    ----------
    dataset : DatasetSpec
    methods : tuple of str
        All but the baselines by default.
    deltas, penalties : tuple of float
        deltas may be written as "5%", which makes them shares.
    unit : "absolute" or "share"
        Of the deltas, and of all violations that are measured.
    groups : tuple
        Numbers or names of groupings; None is the data's own.
    notions : tuple of str
        Names of `spofr_core.fairness.NOTIONS`.
    clicks : tuple of int or None
        Training sizes in clicked impressions; None: the true labels.
    click_noise : float
    seeds : tuple of int
        A number n stands for 0..n-1.
    data_seed : int, default 0
        All seeds share one split; a negative number gives each seed a split of its own.
    position_bias : PositionBias
    every_ranking : Quota, optional
        Held by the methods that hold delta, and measured of the others.
    training : dict
        Settings of all methods, such as max_steps or learning_rate.
    method_settings : dict of method to dict
        Settings of one method on top of these.
    scorers : tuple of str
        What gives the scores, one after the other; empty: as the settings say. DELTR and FULTR take networks alone.
    scorer_settings : dict of scorer to dict
        Settings of all methods with one scorer, on top of `training`.
    """

    dataset: DatasetSpec
    methods: tuple[str, ...] = Field(default_factory=rivals)
    deltas: tuple[float, ...] = DELTAS
    penalties: tuple[float, ...] = PENALTIES
    groups: tuple[Groups | None, ...] = (None,)
    notions: tuple[str, ...] = ("exposure",)
    clicks: tuple[int | None, ...] = (None,)
    click_noise: float = Field(default=0.0, ge=0, le=1)
    seeds: tuple[int, ...] = (0,)
    data_seed: int = 0
    position_bias: PositionBias = Field(default_factory=PositionBias)
    training: dict[str, Any] = Field(default_factory=dict)
    method_settings: dict[str, dict[str, Any]] = Field(default_factory=dict)
    unit: Unit = "absolute"
    scorers: tuple[str, ...] = Field(default=(), exclude_if=lambda scorers: not scorers)
    scorer_settings: dict[str, dict[str, Any]] = Field(default_factory=dict, exclude_if=lambda settings: not settings)
    every_ranking: Quota | None = Field(default=None, exclude_if=lambda quota: quota is None)

    @model_validator(mode="before")
    @classmethod
    def _shares_as_numbers(cls, given: Any) -> Any:
        return share_settings(given, "deltas")

    @field_validator("seeds", mode="before")
    @classmethod
    def _count_of_seeds(cls, given: Any) -> Any:
        if not isinstance(given, int) or isinstance(given, bool):
            return given
        if given > MOST_RUNS:
            raise ValueError(f"'seeds' is {given:,}, and a sweep has at most {MOST_RUNS:,} runs; give fewer.")
        return tuple(range(given))

    @field_validator("methods", "deltas", "penalties", "groups", "notions", "clicks", "scorers", mode="before")
    @classmethod
    def _one_value(cls, given: Any) -> Any:
        return (given,) if given is None or isinstance(given, str | int | float) else given

    @model_validator(mode="after")
    def _sensible(self) -> Self:
        for name in ("methods", "groups", "notions", "clicks", "seeds"):
            if not getattr(self, name):
                raise ValueError(f"the grid {name!r} is empty; give at least one value.")
        for notion in self.notions:
            if notion not in NOTIONS:
                raise ValueError(f"'notions' holds {notion!r}; each must be one of {list(NOTIONS)}.")
        for scorer in (*self.scorers, *self.scorer_settings):
            if scorer not in SCORERS:
                raise ValueError(f"a scorer must be one of {list(SCORERS)}, got {scorer!r}.")
        for method in (*self.methods, *self.method_settings):
            if method not in METHODS:
                raise ValueError(f"a method must be one of {list(METHODS)}, got {method!r}.")
        for name, steer in (("deltas", "delta"), ("penalties", "penalty")):
            grid = getattr(self, name)
            takers = [method for method in self.methods if METHODS[method].steered_by == steer]
            if takers and not grid:
                raise ValueError(f"the grid {name!r} is empty; {' and '.join(takers)} need at least one value.")
            below = [value for value in grid if value < 0]
            if below:
                raise ValueError(f"{name!r} holds {below[0]:g}; give numbers >= 0.")
        if any(count is not None and count < 1 for count in self.clicks):
            raise ValueError(f"'clicks' holds {min(c for c in self.clicks if c is not None)}; give 1 or more.")
        if any(seed < 0 for seed in self.seeds):
            raise ValueError(f"'seeds' holds {min(self.seeds)}; give numbers >= 0.")
        for name, chosen in (("training", self.training), *self.method_settings.items()):
            if self.scorers and "scorer" in chosen:
                raise ValueError(
                    f"'scorers' is {list(self.scorers)}, and the settings under {name!r} have the scorer "
                    f"{chosen['scorer']!r}: leave one of them out; a loss is named by 'loss'."
                )
        return self

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """Read a YAML file.

        Raises
        ------
        ConfigError
            When the file is not there, not YAML, or not a sweep.
        """
        place = Path(path)
        try:
            content = read_yaml(place)
        except OSError as error:
            raise ConfigError(f"The sweep {str(place)!r} cannot be read: {error.strerror}.") from error
        except ValueError as error:
            raise ConfigError(f"{str(place)!r} is not YAML: {' '.join(str(error).split())}") from error
        if not isinstance(content, dict):
            raise ConfigError(
                f"{str(place)!r} holds no settings; it needs at least 'dataset: {{sample: german-credit}}'."
            )
        return cls.from_dict(_named_by_text(content))

    def runs(self) -> tuple[RunConfig, ...]:
        """The runs, each once, those with the same data beside each other.

        Raises
        ------
        ConfigError
            When a method does not know one of its settings.
        """
        settings = {method: self._settings_by_scorer(method) for method in self.methods}
        cells = len(self.seeds) * len(self.groups) * len(self.clicks) * len(self.notions)
        count = cells * sum(len(list(self._steered(method))) * len(settings[method]) for method in self.methods)
        if count > MOST_RUNS:
            raise ConfigError(
                f"The sweep has {count:,} runs, more than the limit of {MOST_RUNS:,}: give fewer seeds, deltas or "
                "groups, or several sweeps into one store."
            )
        found: dict[str, RunConfig] = {}
        for seed, groups, clicks in product(self.seeds, self.groups, self.clicks):
            for notion, method in product(self.notions, self.methods):
                for (delta, penalty), chosen in product(self._steered(method), settings[method]):
                    config = RunConfig(
                        dataset=self.dataset,
                        method=method,
                        delta=delta,
                        penalty=penalty,
                        groups=groups,
                        notion=notion,
                        position_bias=self.position_bias,
                        clicks=clicks,
                        click_noise=self.click_noise,
                        seed=seed,
                        data_seed=seed if self.data_seed < 0 else self.data_seed,
                        settings=chosen,
                        unit=self.unit,
                        every_ranking=self.every_ranking,
                    )
                    found.setdefault(config.run, config)
        return tuple(found.values())

    def _steered(self, method: str) -> Iterator[tuple[float | None, float | None]]:
        steered_by = METHODS[method].steered_by
        if steered_by == "delta":
            yield from ((delta, None) for delta in self.deltas)
        elif steered_by == "penalty":
            yield from ((None, penalty) for penalty in self.penalties)
        else:
            yield None, None

    def _settings_by_scorer(self, method: str) -> list[dict[str, Any]]:
        """The settings of a method, once for each scorer that it takes."""
        if not self.scorers or not METHODS[method].learns:
            return [self._settings(method)]
        kept = [name for name in self.scorers if name == "network" or METHODS[method].scorers in ("any", name)]
        return [self._settings(method, name) for name in kept or self.scorers]

    def _settings(self, method: str, scorer: str | None = None) -> dict[str, Any]:
        """All settings written out, so that a run says what it did even when a default changes."""
        of_scorer = {} if scorer is None else {"scorer": scorer, **self.scorer_settings.get(scorer, {})}
        given = {**self.training, **of_scorer, **METHODS[method].recipe, **self.method_settings.get(method, {})}
        for name, grid in (("seed", "seeds"), ("penalty", "penalties")):
            if name in given:
                raise ConfigError(f"{name!r} is a grid of the sweep, not a setting: put it into {grid!r}.")
        full = full_settings(method, given)
        full.pop("penalty", None)
        return full


def full_settings(method: str, chosen: dict[str, Any]) -> dict[str, Any]:
    """All settings of a method but its seed, those that are not chosen at their defaults.

    Raises
    ------
    ConfigError
        When there is no such method, or it does not know one of its settings.
    """
    full = method_named(method).settings_type(**chosen).to_dict()
    full.pop("seed", None)
    return full


def digest_of(content: Any) -> str:
    """SHA-256 of plain values, the same whatever the order of keys."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def _plain(groups: Groups | None) -> Any:
    return list(groups) if isinstance(groups, tuple) else groups
