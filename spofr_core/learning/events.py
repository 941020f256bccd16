"""What a fit tells while it runs, and what it leaves behind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any, Literal


@dataclass(frozen=True)
class Progress:
    """One message of a running fit. Numbers that do not apply are None.

    Attributes
    ----------
    kind : {"start", "validation", "epoch", "end"}
    method : str
    stage : str
        Which loss is being minimised; some methods have a warm-up.
    epoch, step : int
        Counted over all stages.
    max_steps : int
        Where the current stage ends at the latest, in steps of the fit.
    loss : float or None
        Mean training loss since the last message.
    validation_dcg : float or None
        Mean DCG of the method's own policies on the validation lists (inverse-propensity estimate if these are clicks).
    objective : float or None
        What early stopping watches: the DCG, minus the penalty if the method has one.
    regret : float or None
        DCG that the best policy allowed to this method would have had, minus `validation_dcg`.
    violation : float or None
        Mean over the applicable validation lists of the largest violation.
    max_violation : float or None
    fair_share : float or None
        Share of the applicable validation lists that hold delta.
    distinct_scores : float or None
        Mean over lists of the number of distinct scores; 1 is a collapsed network.
    score_spread : float or None
        Mean over lists of the standard deviation of the scores.
    improved : bool
        Whether these are the best weights so far.
    seconds, eta_seconds : float
        Time since the start, and at most until the end of the current stage.
    """

    kind: Literal["start", "validation", "epoch", "end"]
    method: str
    stage: str
    epoch: int
    step: int
    max_steps: int
    seconds: float
    eta_seconds: float | None = None
    loss: float | None = None
    validation_dcg: float | None = None
    objective: float | None = None
    regret: float | None = None
    violation: float | None = None
    max_violation: float | None = None
    fair_share: float | None = None
    distinct_scores: float | None = None
    score_spread: float | None = None
    improved: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Plain dict for JSON."""
        return asdict(self)


Callback = Callable[[Progress], object]
"""Called with each message. It may raise `StopTraining` to end the fit with the best weights so far."""


class StopTraining(Exception):
    """Raised by a callback to end a fit early; the model is usable."""


@dataclass(frozen=True)
class FitReport:
    """What happened in a fit; JSON-able with `to_dict`.

    Attributes
    ----------
    stopped : str
        Why it ended: "early stopping", "max_steps", "max_epochs", "callback".
    epochs : float
        Passes over the training lists; the last one of a stage counts as far as it went.
    best_step : int
        Step of the weights that were kept.
    best : dict
        The message of that step.
    counts : dict of str to int
        Lists and items used, and everything unusual about them: lists without a relevant item, with a single group,
        whose delta had to be relaxed; constant features.
    history : list of dict
        Every validation.
    notes : tuple of str
        The same in sentences, for people.
    """

    method: str
    stopped: str
    epochs: float
    steps: int
    best_step: int
    seconds: float
    best: dict[str, Any]
    counts: dict[str, int]
    data: dict[str, str]
    versions: dict[str, str]
    notes: tuple[str, ...] = ()
    history: list[dict[str, Any]] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """Plain dict for JSON."""
        return asdict(self) | {"notes": list(self.notes)}

    @classmethod
    def from_dict(cls, report: dict[str, Any]) -> FitReport:
        """Read back what `to_dict` gave."""
        return cls(**{**report, "notes": tuple(report["notes"])})
