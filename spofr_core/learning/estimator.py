"""The estimator protocol: everything that methods share. A method adds its losses and a way from scores to policies."""

from __future__ import annotations

import json
import warnings
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from spofr_core.data import GroupSpec, RankingDataset
from spofr_core.data.calibration import Calibration, calibration_from_dict
from spofr_core.data.groups.regrouping import in_groups_of
from spofr_core.errors import ConfigError, DataError, SpofrError, first_line
from spofr_core.fairness import Discount, Fairness
from spofr_core.files import write_whole
from spofr_core.learning.card_text import CARD_FILE, model_card
from spofr_core.learning.checkpoint import Checkpoint
from spofr_core.learning.decisions import Decision
from spofr_core.learning.events import Callback, FitReport
from spofr_core.learning.lists import IntArray, Lists, feature_table, merge_repeats, repeats, training_parts
from spofr_core.learning.losses.relevance import Loss
from spofr_core.learning.model_files import ModelFile, read_model, read_text_file, versions, write_model
from spofr_core.learning.problems import CollapsedScores
from spofr_core.learning.scorers import SCORERS, Scorer
from spofr_core.learning.scorers.scaling import Scaler
from spofr_core.learning.trainer import Outcome, Stage, Trainer
from spofr_core.learning.training_settings import TrainingSettings, settings_in_names
from spofr_core.learning.validation import Penalty, Validator, score_spread
from spofr_core.policy import RankingPolicies
from spofr_core.policy.programme import OnInfeasible

FloatArray = NDArray[np.float64]

_DAMAGE = (SpofrError, LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RuntimeError)
"""What comes of fields that are missing, of other types, shapes or sizes. A memory that is full is no damaged file."""


@dataclass(frozen=True, eq=False)
class Learned:
    """What a fit leaves in an estimator."""

    scorer: Scorer
    scaler: Scaler
    feature_names: tuple[str, ...]
    group_names: tuple[str, ...]
    group_spec: GroupSpec | None
    report: FitReport
    calibration: Calibration | None = None


class Estimator(ABC):
    """A method that learns to rank from features and labels.

    Parameters
    ----------
    fairness : Fairness
        What is asked of the policies, or measured if the method cannot be asked.
    discount : Discount, optional
        Worth of positions; DCG by default.
    **settings
        The fields of `settings_type`; unknown ones are refused.
    """

    method: ClassVar[str]
    settings_type: ClassVar[type[TrainingSettings]] = TrainingSettings

    def __init__(self, fairness: Fairness, *, discount: Discount | None = None, **settings: Any) -> None:
        if not isinstance(fairness, Fairness):
            raise ConfigError(
                f"'fairness' must be a Fairness, got {type(fairness).__name__}; for example Fairness(delta=0.05)."
            )
        self.fairness = fairness
        self.discount = discount or Discount()
        self.settings = self.settings_type(**settings)
        self._learned: Learned | None = None

    # -- what a method adds --------------------------------------------------------------------------

    @abstractmethod
    def _stages(self, lists: Lists) -> list[Stage]:
        """The losses to minimise, in turn."""

    @abstractmethod
    def _decision(self, lists: Lists) -> Decision:
        """How this method ranks these lists, for validation."""

    @abstractmethod
    def policies(
        self, data: RankingDataset, fairness: Fairness | None = None, *, on_infeasible: OnInfeasible = "raise"
    ) -> RankingPolicies:
        """The policies of this method for the lists of `data`; see the class for what is guaranteed.

        Parameters
        ----------
        data : RankingDataset
            With the features of the training data; labels are not looked at.
        fairness : Fairness, optional
            Another delta, notion or exposure model than the one of this estimator, of a method that can be asked.
        on_infeasible : {"raise", "relax"}
            What happens to a list that cannot meet delta, where delta is held: `InfeasibleFairness`, or the smallest
            delta that it can meet.
        """

    def _best_worth(self, lists: Lists, decision: Decision) -> FloatArray:
        """Pi w of the best policies that knowing the labels would allow."""
        return decision.expectations(lists.labels.numpy().astype(np.float64))[0]

    def _penalty(self, lists: Lists) -> Penalty | None:
        """What early stopping subtracts from the DCG."""
        return None

    def _calibration(self, lists: Lists, scorer: Scorer) -> Calibration | None:
        """From the scores on these lists to what the method ranks by, where that has to be learned afterwards."""
        return None

    def _counts(self, lists: Lists) -> dict[str, int]:
        """Further things about the training lists that the report must tell."""
        return {}

    # -- learning ------------------------------------------------------------------------------------

    def fit(
        self,
        train: RankingDataset,
        validation: RankingDataset | None = None,
        callbacks: Sequence[Callback] = (),
        *,
        checkpoint: str | Path | None = None,
    ) -> Self:
        """Train the scorer.

        Parameters
        ----------
        train : RankingDataset
            With features and relevance (true labels, or inverse-propensity labels from clicks).
        validation : RankingDataset, optional
            For early stopping. Without it a share of the training queries is held out (`validation_share`).
        callbacks : sequence of callables
            Each is called with every `Progress`.
        checkpoint : path, optional
            Directory to save the state in after each epoch. If it holds the state of the same fit, that is continued.

        Returns
        -------
        Self
            `report` tells what happened.
        """
        RankingDataset.require(train, "train")
        if validation is not None:
            RankingDataset.require(validation, "validation")
        train, validation, told = training_parts(train, validation)
        notes = [*self._promises(), *told]
        columns = self._columns(train)
        table, rows = feature_table(train)
        scaler = Scaler.fit(table[:, columns], np.bincount(rows, minlength=len(table)), self.settings.scaling)
        lists = Lists.of(train, scaler, columns)
        if not np.any(lists.label_totals > 0):
            raise DataError(
                f"None of the {len(train)} training lists has a relevant item: there is no order to learn.",
                column="relevance",
            )
        if float(lists.labels.min()) == float(lists.labels.max()):
            raise DataError(
                f"All {train.n_items:,} training items have the relevance {np.asarray(train.relevance)[0]:g}: there is "
                "no order to learn. Choose a column of labels that differ.",
                column="relevance",
            )
        if validation is None:
            lists, held_out = self._hold_out(lists, notes)
        else:
            held_out = self._judges(
                Lists.of(in_groups_of(validation, train), scaler, self._columns(validation, train)), notes
            )
        scorer = self._scorer_type.build(len(columns), self.settings)
        outcome = Trainer(
            self.method,
            scorer,
            self._stages(lists),
            self.settings,
            validator=None if held_out is None else self._validator(merge_repeats(held_out)),
            callbacks=callbacks,
            checkpoint=None if checkpoint is None else Checkpoint(checkpoint, self._identity(train, validation)),
        ).run()
        counts = self._all_counts(lists, held_out, scaler)
        self._learned = Learned(
            scorer=scorer,
            scaler=scaler,
            feature_names=tuple(train.feature_names[k] for k in columns),
            group_names=train.group_names,
            group_spec=train.group_spec,
            report=self._report(outcome, counts, notes, train, validation),
            calibration=self._calibration(lists if held_out is None else held_out, scorer),
        )
        self._warn_if_collapsed(lists)
        return self

    def _promises(self) -> list[str]:
        """What has to be said of a demand that the method cannot meet."""
        quota = self.fairness.every_ranking
        if quota is None:
            return []
        return [f"{type(self).__name__} has no guarantee and cannot hold the quota ({quota.text}); audits measure it."]

    def _validator(self, lists: Lists) -> Validator:
        decision = self._decision(lists)
        best = self._best_worth(lists, decision)
        return Validator(lists, decision, self.fairness, best, self._penalty(lists))

    @staticmethod
    def _judges(lists: Lists, notes: list[str]) -> Lists | None:
        """The validation lists, unless every order is worth the same to them: the first weights would be the best."""
        if lists.labels_differ.any():
            return lists
        notes.append(
            "In each of the validation lists all items are equally relevant, so that they cannot tell which weights "
            "are better: those of the last step were kept."
        )
        return None

    def _hold_out(self, lists: Lists, notes: list[str]) -> tuple[Lists, Lists | None]:
        """Split lists off for validation; copies of one list stay together."""
        owner = repeats(lists)
        n_distinct = int(owner.max()) + 1
        wanted = round(self.settings.validation_share * n_distinct)
        chosen = np.random.default_rng([self.settings.seed, 2**31]).permutation(n_distinct)[:wanted]
        held = np.isin(owner, chosen)
        kept = lists.label_totals[~held]
        if not wanted or not np.any(kept > 0) or not np.any(lists.labels_differ[held]):
            notes.append("No validation lists: the weights of the last step were kept.")
            return lists, None
        notes.append(f"{int(held.sum())} of {len(lists)} training lists were held out for validation.")
        return lists.take(np.flatnonzero(~held)), lists.take(np.flatnonzero(held))

    def _teaching(self, lists: Lists) -> Lists:
        """The lists with a relevant item: the others say nothing about the order."""
        relevant = lists.label_totals > 0
        return lists if bool(relevant.all()) else lists.take(np.flatnonzero(relevant))

    def _stage(
        self, name: str, loss: Loss, lists: Lists, learning_rate: float | None = None, margin: float = 0.0
    ) -> Stage:
        s, lists = self.settings, self._teaching(lists) if loss.needs_relevant else lists
        return Stage(name, loss, lists, learning_rate or s.learning_rate, s.max_steps, s.max_epochs, margin)

    # -- using ---------------------------------------------------------------------------------------

    @property
    def learned(self) -> Learned:
        """The outcome of `fit` or `load`."""
        if self._learned is None:
            raise SpofrError(f"This {type(self).__name__} is not trained yet: call fit(train) or load a saved model.")
        return self._learned

    @property
    def report(self) -> FitReport:
        """What happened in the fit."""
        return self.learned.report

    def scores(self, data: RankingDataset) -> FloatArray:
        """Scores of all items, flat, higher is better. Labels of `data` are never looked at.

        They are in the order of the dataset: ``pd.Series(scores, index=frame.index[data.rows])`` has that of the frame.
        """
        RankingDataset.require(data)
        learned = self.learned
        columns = self._columns_by_name(data, learned.feature_names)
        table, rows = feature_table(data)
        return learned.scorer.scores(learned.scaler.transform(table[:, columns]))[rows]

    def estimates(self, data: RankingDataset) -> FloatArray:
        """What this method ranks by, flat: estimates of relevance, made from the scores."""
        return self.scores(data)

    @property
    def _scorer_type(self) -> type[Scorer]:
        return SCORERS[self.settings.scorer]

    def save(self, directory: str | Path) -> None:
        """Write the model: `model.safetensors`, `model.json`, of trees the text of LightGBM, and a card for people."""
        learned = self.learned
        of_scorer = learned.scorer.arrays()
        texts = {file: of_scorer.pop(name).tobytes() for name, file in learned.scorer.text_files.items()}
        arrays = {f"{learned.scorer.name}.{name}": array for name, array in of_scorer.items()}
        arrays |= {"scaler.center": learned.scaler.center, "scaler.spread": learned.scaler.spread}
        header = {
            **self.to_config(),
            "architecture": learned.scorer.architecture(),
            "feature_names": list(learned.feature_names),
            "constant_features": list(learned.scaler.constant),
            "group_names": list(learned.group_names),
            "group_spec": None if learned.group_spec is None else learned.group_spec.to_dict(),
            "versions": learned.report.versions,
            "report": learned.report.to_dict(),
        }
        if learned.calibration is not None:
            header["calibration"] = learned.calibration.to_dict()
        write_model(directory, header, arrays, texts)
        write_whole(Path(directory) / CARD_FILE, model_card(self).encode("utf-8"))

    @classmethod
    def load(cls, directory: str | Path) -> Self:
        """Read a model that `save` wrote.

        Raises
        ------
        DataError
            When the files are missing, damaged, of another format version, or of another method.
        """
        file = read_model(directory)
        header = file.header
        if header.get("method") != cls.method:
            raise DataError(
                f"{directory} holds a model of the method {header.get('method')!r}, not {cls.method!r}: "
                "load it with load_model, which finds the method by itself."
            )
        try:
            model = cls.from_config(header)
            model._learned = model._read_learned(file, directory)
        except _DAMAGE as error:
            raise DataError(
                f"The model in {directory} is damaged or was altered ({type(error).__name__}: {first_line(error)}): "
                "take a copy that is whole, or train it again."
            ) from error
        return model

    def _read_learned(self, file: ModelFile, directory: str | Path) -> Learned:
        header, kind, scaler = file.header, self._scorer_type, file.part("scaler")
        names = tuple(map(str, header["feature_names"]))
        size = header["architecture"]["n_features"]
        named = len(names) == size or (not names and size == 1)  # who learns nothing scores by one constant
        if {scaler["center"].shape, scaler["spread"].shape} != {(size,)} or not named:
            raise DataError(f"the scaler, the scorer and the {len(names)} features do not belong together")
        if len(set(names)) < size and names:
            raise DataError(f"two of the {size} features have the same name")
        texts = {name: read_text_file(directory, text, header) for name, text in kind.text_files.items()}
        calibration = header.get("calibration")
        return Learned(
            scorer=kind.from_arrays(header["architecture"], file.part(kind.name) | texts),
            scaler=Scaler(scaler["center"], scaler["spread"], tuple(header["constant_features"])),
            feature_names=names,
            group_names=tuple(map(str, header["group_names"])),
            group_spec=None if header["group_spec"] is None else GroupSpec.from_dict(header["group_spec"]),
            report=FitReport.from_dict(header["report"]),
            calibration=None if calibration is None else calibration_from_dict(calibration),
        )

    def to_config(self) -> dict[str, Any]:
        """Method, fairness, discount and settings as a plain dict; `from_config` reads it."""
        return {
            "method": self.method,
            "fairness": self.fairness.to_dict(),
            "discount": self.discount.to_dict(),
            "settings": self.settings.to_dict(),
        }

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Self:
        """An untrained estimator from what `to_config` gave."""
        fairness = Fairness.from_dict(config["fairness"])
        return cls(fairness, discount=Discount.from_dict(config["discount"]), **config["settings"])

    def __repr__(self) -> str:
        changed = self.settings.model_dump(exclude_defaults=True)
        shown = "".join(f", {name}={value!r}" for name, value in changed.items())
        return f"{type(self).__name__}(delta={self.fairness.delta!r}, notion={self.fairness.notion!r}{shown})"

    # -- details -------------------------------------------------------------------------------------

    def _columns(self, data: RankingDataset, train: RankingDataset | None = None) -> IntArray:
        """Columns of the features that the scorer sees."""
        reference = train or data
        _need_features(reference)
        unknown = [name for name in self.settings.exclude_features if name not in reference.feature_names]
        if unknown:
            raise ConfigError(
                f"exclude_features names {unknown[0]!r}, but the features are {_few(reference.feature_names)}."
            )
        names = [name for name in reference.feature_names if name not in self.settings.exclude_features]
        if not names:
            raise DataError("All features are excluded: the scorer needs at least one.", column="features")
        return self._columns_by_name(data, tuple(names))

    @staticmethod
    def _columns_by_name(data: RankingDataset, names: tuple[str, ...]) -> IntArray:
        _need_features(data)
        place = {name: k for k, name in enumerate(data.feature_names)}
        missing = [name for name in names if name not in place]
        if missing:
            raise DataError(
                f"The model was trained on {len(names)} features; {len(missing)} of them are missing here, first "
                f"{missing[0]!r}. The data has {len(place)} features: {_few(data.feature_names)}.",
                column="features",
            )
        return np.array([place[name] for name in names], dtype=np.int64)

    def _identity(self, train: RankingDataset, validation: RankingDataset | None) -> str:
        data = [train.fingerprint, None if validation is None else validation.fingerprint]
        config = self.to_config() | {"settings": settings_in_names(self.settings.to_dict())}
        return json.dumps({**config, "data": data, "versions": versions()}, sort_keys=True)

    def _all_counts(self, lists: Lists, held_out: Lists | None, scaler: Scaler) -> dict[str, int]:
        return {
            "training_lists": len(lists),
            "training_items": int(lists.offsets[-1]),
            "validation_lists": 0 if held_out is None else len(held_out),
            "lists_without_relevant_item": int(np.sum(lists.label_totals <= 0)),
            "single_group_lists": int(np.sum((lists.group_counts > 0).sum(axis=1) == 1)),
            "constant_features": len(scaler.constant),
            **self._counts(lists),
        }

    def _report(
        self,
        outcome: Outcome,
        counts: dict[str, int],
        notes: list[str],
        train: RankingDataset,
        validation: RankingDataset | None,
    ) -> FitReport:
        data = {"train": train.fingerprint}
        if validation is not None:
            data["validation"] = validation.fingerprint
        return FitReport(
            method=self.method,
            stopped=outcome.stopped,
            epochs=outcome.epochs,
            steps=outcome.steps,
            best_step=outcome.best_step,
            seconds=outcome.seconds,
            best=outcome.best,
            counts=counts,
            data=data,
            versions=versions(),
            notes=(*notes, *outcome.notes, *_sentences(counts)),
            history=outcome.history,
        )

    def _warn_if_collapsed(self, lists: Lists) -> None:
        """Look at the scores of (up to 500) training lists."""
        sample = lists if len(lists) <= 500 else lists.take(np.arange(500))
        _, _, collapsed = score_spread(sample.scores(self.learned.scorer), sample.offsets)
        if collapsed <= 0.5:
            return
        remedies = ", ".join(("another seed", *self.learned.scorer.when_collapsed))
        text = (
            f"The scorer gives all items the same score in {collapsed:.0%} of the training lists: its rankings "
            f"are coin tosses. Try {remedies} or a smaller learning rate."
        )
        learned = self.learned
        self._learned = replace(learned, report=replace(learned.report, notes=(*learned.report.notes, text)))
        warnings.warn(text, CollapsedScores, stacklevel=3)


_COUNTED = {
    "lists_without_relevant_item": "Training lists without a relevant item",
    "single_group_lists": "Training lists with a single group, of which nothing is asked",
    "constant_features": "Features that are constant in the training data and carry no information",
    "lists_without_quota": "Training lists without a ranking that meets the quota, trained without it",
    "relaxed_lists": "Training lists that cannot meet delta, trained with the smallest one that they can meet",
}


def _sentences(counts: dict[str, int]) -> list[str]:
    return [f"{what}: {counts[name]:,}." for name, what in _COUNTED.items() if counts.get(name)]


def _need_features(data: RankingDataset) -> None:
    if not data.feature_names:
        raise DataError("The data has no features: map feature columns to learn or apply a scorer.", column="features")


def _few(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:8])
    return shown + (", ..." if len(names) > 8 else "")


def refuse_fairness(model: Estimator, fairness: Fairness | None) -> None:
    """Methods without a constraint cannot be asked for a delta after training."""
    if fairness is not None:
        raise ConfigError(
            f"{type(model).__name__} cannot be asked for a delta: its policies are what its training made of them. "
            "Give its scores to fair_policies, or use SPOFR or PredictThenOptimize."
        )
