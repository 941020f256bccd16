"""What training wants known without stopping, and the one way in which it gives up."""

from __future__ import annotations

from spofr_core.errors import SpofrError


class LearningWarning(UserWarning):
    """Base class of the warnings of this package."""


class CollapsedScores(LearningWarning):
    """The network gives the items of most lists one and the same score: its ranking is a coin toss."""


class TrainingDiverged(SpofrError):
    """The loss is no longer a finite number."""
