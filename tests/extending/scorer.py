"""A scorer of one's own: a weight for each feature, moved by plain gradient descent."""

from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from spofr_core.learning import SCORERS, Scorer, TrainingSettings


class LinearScorer(Scorer):
    """score = weights . features. Any loss teaches it: all it sees is the gradient in the scores."""

    name = "linear"

    def __init__(self, weights: np.ndarray) -> None:
        self.weights = weights
        self.learning_rate = 0.0

    @classmethod
    def build(cls, n_features: int, settings: TrainingSettings) -> Self:
        return cls(np.zeros(n_features))

    @classmethod
    def from_arrays(cls, architecture: Mapping[str, Any], arrays: dict[str, np.ndarray]) -> Self:
        return cls(arrays["weights"])

    def architecture(self) -> dict[str, Any]:
        return {"n_features": len(self.weights)}

    def arrays(self) -> dict[str, np.ndarray]:
        return {"weights": self.weights.copy()}

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        self.weights = arrays["weights"].copy()

    def scores(self, features: np.ndarray) -> np.ndarray:
        return features @ self.weights

    def start(self, learning_rate: float) -> None:
        self.learning_rate = learning_rate

    def apply_gradient(self, features: np.ndarray, gradient: np.ndarray) -> None:
        self.weights -= self.learning_rate * (features.T @ gradient)


SCORERS.register(LinearScorer)
