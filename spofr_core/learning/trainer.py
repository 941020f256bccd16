"""The one training loop: stages of minimising a loss, validation, early stopping, resumption."""

from __future__ import annotations

import contextlib
import math
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spofr_core.errors import SpofrError
from spofr_core.learning.checkpoint import Checkpoint
from spofr_core.learning.events import Callback, Progress, StopTraining
from spofr_core.learning.lists import Batch, Lists
from spofr_core.learning.losses.relevance import Loss
from spofr_core.learning.problems import TrainingDiverged
from spofr_core.learning.scorers import Scorer
from spofr_core.learning.training_settings import TrainingSettings
from spofr_core.learning.validation import Reading, Validator

Weights = dict[str, NDArray[Any]]


@dataclass(frozen=True, eq=False)
class Stage:
    """One loss, minimised until validation stops improving. A later stage starts from the best weights so far.

    What a stage with a `margin` finds replaces the weights that it started from only if the utility on the validation
    lists is higher by that many standard errors. Without one, a stage that is `anew` keeps the best of its own weights,
    even where those that it started from are better.
    """

    name: str
    loss: Loss
    lists: Lists
    learning_rate: float
    max_steps: int
    max_epochs: int | None = None
    margin: float = 0.0
    anew: bool = False


@dataclass
class _Position:
    """Where a fit stands: plain numbers, saved with every checkpoint."""

    stage: int = 0
    epoch: int = 0
    step: int = 0
    stage_epoch: int = 0
    stage_step: int = 0
    best_step: int = 0
    best_objective: float = -math.inf
    since_best: int = 0
    start_step: int = 0
    seconds: float = 0.0
    skipped: float = 0.0
    stopped: str = ""


@dataclass(frozen=True, eq=False)
class Outcome:
    """What the loop hands back: the scorer holds the chosen weights."""

    stopped: str
    epochs: float
    steps: int
    best_step: int
    seconds: float
    best: dict[str, Any]
    history: list[dict[str, Any]]
    notes: tuple[str, ...] = ()


class Trainer:
    """Runs the stages of a method on a scorer.

    The order of the lists in an epoch, and all sampling, derive from the seed and the number of the epoch alone. Hence
    a fit that was killed continues from its last checkpoint (one per epoch; of trees, one in ten) to the same weights,
    bit by bit on one thread.

    Parameters
    ----------
    method : str
        Name for the messages.
    scorer : Scorer
        Changed in place; holds the best weights in the end, the last ones without a validator.
    stages : sequence of Stage
    settings : TrainingSettings
    validator : Validator, optional
    callbacks : sequence of callables
    checkpoint : Checkpoint, optional
        Where to save after each epoch, and to continue from.
    """

    def __init__(
        self,
        method: str,
        scorer: Scorer,
        stages: Sequence[Stage],
        settings: TrainingSettings,
        *,
        validator: Validator | None = None,
        callbacks: Sequence[Callback] = (),
        checkpoint: Checkpoint | None = None,
    ) -> None:
        self._method = method
        self._scorer = scorer
        self._stages = list(stages)
        self._settings = settings
        self._validator = validator
        self._callbacks = callbacks
        self._checkpoint = checkpoint
        self._at = _Position()
        self._best = self._start = scorer.arrays()
        self._history: list[dict[str, Any]] = []
        scorer.start(self._stages[0].learning_rate)
        self._recent: list[float] = []
        self._notes: tuple[str, ...] = ()

    # -- the loop ------------------------------------------------------------------------------------

    def run(self) -> Outcome:
        """Train until the last stage ends."""
        saved = self._checkpoint.read() if self._checkpoint is not None else None
        if self._checkpoint is not None and saved is not None:
            try:
                self._restore(*saved)
            except (SpofrError, LookupError, TypeError, ValueError, RuntimeError) as error:
                raise self._checkpoint.damaged(error) from error
        self._started = time.perf_counter() - self._at.seconds
        try:
            self._tell("start")
            if saved is None:
                self._validate()
                self._begin()
            while self._at.stage < len(self._stages) and self._at.stopped != "callback":
                reason = self._epoch(self._stages[self._at.stage])
                if reason:
                    self._next_stage(reason)
                if reason or self._at.stage_epoch % self._scorer.checkpoint_every == 0:
                    self._save()
                self._tell("epoch")
        except StopTraining:
            self._at.stopped = "callback"
        if self._validator is not None:
            self._scorer.restore(self._chosen(self._validator))
        self._scorer.finish()
        with contextlib.suppress(StopTraining):
            self._tell("end")
        at = self._at
        best: dict[str, Any] = next((m for m in reversed(self._history) if m["step"] == at.best_step), {})
        passes = at.epoch - at.skipped
        return Outcome(at.stopped, passes, at.step, at.best_step, self._elapsed(), best, self._history, self._notes)

    def _epoch(self, stage: Stage) -> str:
        """One pass over the lists; returns why the stage ends, or an empty text if it goes on."""
        at, settings = self._at, self._settings
        order = np.random.default_rng([settings.seed, at.epoch]).permutation(len(stage.lists))
        stage.loss.start_epoch(int(np.random.SeedSequence([settings.seed, at.epoch, 1]).generate_state(1)[0]))
        at.epoch += 1
        at.stage_epoch += 1
        before, batches = at.stage_step, iter(self._scorer.batches(stage.lists, order, settings.batch_size))
        try:
            for batch in batches:
                self._step(stage.loss, batch)
                if self._validator is not None and at.stage_step % settings.validate_every == 0:
                    if not self._validate():
                        at.since_best += 1
                        if at.since_best % max(1, settings.patience // 4) == 0:
                            stage.loss.stalled()
                    if at.since_best >= settings.patience:
                        return "early stopping"
                if at.stage_step >= stage.max_steps:
                    return "max_steps"
        finally:
            left = sum(1 for _ in batches)
            at.skipped += left / max(1, at.stage_step - before + left)
        if stage.max_epochs is not None and at.stage_epoch >= stage.max_epochs:
            return "max_epochs"
        return ""

    def _step(self, loss: Loss, batch: Batch) -> None:
        value = self._scorer.step(loss, batch)
        if not math.isfinite(value):
            stage = self._stages[self._at.stage]
            raise TrainingDiverged(
                f"The loss is {value} in epoch {self._at.epoch}, step {self._at.step + 1} of stage "
                f"{stage.name!r}: lower the learning rate ({stage.learning_rate:g}), or scale labels and features down."
            )
        self._recent.append(value)
        self._at.step += 1
        self._at.stage_step += 1

    def _next_stage(self, reason: str) -> None:
        """Go on with the next loss, from the best weights so far."""
        at = self._at
        if self._validator is not None and at.stage_step % self._settings.validate_every:
            self._validate()
        at.stopped = reason
        at.stage += 1
        at.stage_epoch = at.stage_step = at.since_best = 0
        if at.stage < len(self._stages):
            self._start, at.start_step = self._best, at.best_step
            if self._validator is not None:
                self._scorer.restore(self._best)
            self._scorer.start(self._stages[at.stage].learning_rate)
            self._begin()

    def _begin(self) -> None:
        """Forget how good the weights are that a stage starts from, where only its own may be kept."""
        if self._stages[self._at.stage].anew:
            self._at.best_objective = -math.inf

    def _chosen(self, validator: Validator) -> Weights:
        """The best weights, or those that the last stage started from if it does not beat them by its margin."""
        at, margin = self._at, self._stages[-1].margin
        in_earlier_stage = at.stage < len(self._stages) - 1
        if in_earlier_stage or not margin:
            return self._best
        name, kept = self._stages[-1].name, f"the weights of {self._stages[-2].name!r} were kept."
        if at.best_step == at.start_step:
            self._notes = (f"No step of {name} was better on the validation lists: {kept}",)
            return self._best
        scores = []
        for weights in (self._best, self._start):
            self._scorer.restore(weights)
            scores.append(validator.lists.scores(self._scorer))
        gain, error = validator.gain(*scores)
        if gain >= margin * error:
            return self._best
        at.best_step = at.start_step
        self._notes = (
            f"{name} gained {gain:.4f} of utility on the validation lists, {gain / error:.1f} standard errors and less "
            f"than the {margin:g} asked for: {kept}",
        )
        return self._start

    # -- validation and messages ---------------------------------------------------------------------

    def _validate(self) -> bool:
        """Measure the weights; keep them if they are the best so far."""
        if self._validator is None:
            return False
        at = self._at
        reading = self._validator.read(self._scorer)
        improved = reading.objective > at.best_objective
        if improved:
            at.best_objective, at.best_step, at.since_best = reading.objective, at.step, 0
            self._best = self._scorer.arrays()
        self._tell("validation", reading, improved=improved)
        return improved

    def _tell(self, kind: Any, reading: Reading | None = None, *, improved: bool = False) -> None:
        at = self._at
        stage = self._stages[min(at.stage, len(self._stages) - 1)]
        finished = kind == "end" or at.stage >= len(self._stages)
        left = 0 if finished else max(0, stage.max_steps - at.stage_step)
        elapsed = self._elapsed()
        measured = asdict(reading) if reading is not None else {}
        measured.pop("collapsed", None)
        message = Progress(
            kind=kind,
            method=self._method,
            stage=stage.name,
            epoch=at.epoch,
            step=at.step,
            max_steps=at.step + left,
            seconds=elapsed,
            eta_seconds=elapsed / at.step * left if at.step else None,
            loss=float(np.mean(self._recent)) if self._recent else None,
            improved=improved,
            **measured,
        )
        if kind in ("validation", "epoch"):
            self._recent.clear()
        if kind == "validation":
            self._history.append(message.to_dict())
        for callback in self._callbacks:
            callback(message)

    def _elapsed(self) -> float:
        return time.perf_counter() - self._started

    # -- interruption --------------------------------------------------------------------------------

    def _save(self) -> None:
        if self._checkpoint is None:
            return
        self._at.seconds = self._elapsed()
        parts = {self._scorer.name: self._scorer.arrays(), "best": self._best, "start": self._start}
        parts["optimizer"] = self._scorer.optimiser_arrays()
        if self._at.stage < len(self._stages):
            parts["loss"] = self._stages[self._at.stage].loss.state()
        arrays = {f"{part}.{name}": array for part, named in parts.items() for name, array in named.items()}
        self._checkpoint.write(arrays, {"position": asdict(self._at), "history": self._history})

    def _restore(self, arrays: Weights, plain: dict[str, Any]) -> None:
        position = dict(plain["position"])
        if position["best_objective"] is None:
            position["best_objective"] = -math.inf
        self._at = _Position(**position)
        self._history = plain["history"]
        parts: dict[str, Weights] = defaultdict(dict)
        for name, array in arrays.items():
            part, _, rest = name.partition(".")
            parts[part][rest] = array
        for weights in (parts["start"], parts["best"], parts[self._scorer.name]):  # the last stay; all can be used
            self._scorer.restore(weights)
        self._best, self._start = parts["best"], parts["start"]
        if self._at.stage >= len(self._stages):
            return
        stage = self._stages[self._at.stage]
        self._scorer.start(stage.learning_rate)
        self._scorer.restore_optimiser(parts["optimizer"])
        stage.loss.restore(parts["loss"])
