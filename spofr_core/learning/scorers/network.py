"""The network: one multilayer perceptron on each item's features."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
import torch

from spofr_core.errors import DataError
from spofr_core.learning.scorers.scorer import SCORERS, Arrays, Features, FloatArray, Scorer

if TYPE_CHECKING:
    from spofr_core.learning.lists import Batch
    from spofr_core.learning.losses.relevance import Loss
    from spofr_core.learning.training_settings import TrainingSettings


class NetworkScorer(Scorer):
    """ReLU layers and a linear score, trained by AdamW.

    Parameters
    ----------
    n_features : int
    widths : tuple of int
        Of the hidden layers; () is a linear scorer.
    weight_decay : float
    seed : int
        Of the initial weights.
    """

    name = "network"
    when_collapsed = ("a wider network (hidden=(32,))",)

    def __init__(self, n_features: int, widths: tuple[int, ...], *, weight_decay: float = 0.0, seed: int = 0) -> None:
        self.network = build_network(n_features, widths, seed)
        self._n_features, self._widths, self._weight_decay = n_features, widths, weight_decay
        self._optimizer: torch.optim.Optimizer | None = None

    @classmethod
    def build(cls, n_features: int, settings: TrainingSettings) -> Self:
        """A network with the hidden layers of the settings."""
        widths = layer_widths(n_features, settings.hidden)
        return cls(n_features, widths, weight_decay=settings.weight_decay, seed=settings.seed)

    @classmethod
    def from_arrays(cls, architecture: Mapping[str, Any], arrays: Arrays) -> Self:
        """The network with these weights."""
        n_features, widths = architecture["n_features"], tuple(architecture["widths"])
        inner = zip((*widths, 1), (n_features, *widths), strict=True)
        said = sorted(shape for pair in inner for shape in (pair, pair[:1]))
        there = sorted(array.shape for array in arrays.values())
        if said != there:  # before anything of the size that is said is made
            raise DataError(f"the network should have weights of the shapes {said}, and has {there}")
        scorer = cls(n_features, widths)
        scorer.restore(arrays)
        return scorer

    def architecture(self) -> dict[str, Any]:
        """Number of features and widths of the hidden layers."""
        return {"n_features": self._n_features, "widths": list(self._widths)}

    def arrays(self) -> Arrays:
        """The weights by the names that torch gives them."""
        return {name: tensor.detach().clone().numpy() for name, tensor in self.network.state_dict().items()}

    def restore(self, arrays: Arrays) -> None:
        """Take over these weights."""
        self.network.load_state_dict({name: torch.from_numpy(array) for name, array in arrays.items()})

    def scores(self, features: Features) -> FloatArray:
        """The network's output, as doubles."""
        with torch.no_grad():
            return np.asarray(self.network(torch.from_numpy(features)).double().numpy())

    def start(self, learning_rate: float) -> None:
        """A new optimiser."""
        self._optimizer = torch.optim.AdamW(
            self.network.parameters(), lr=learning_rate, weight_decay=self._weight_decay, fused=True
        )

    def step(self, loss: Loss, batch: Batch) -> float:
        """The loss hands its gradient straight to the network: no second pass over the features."""
        optimizer = self._started()
        optimizer.zero_grad()
        value = loss.backward(self.network(batch.features), batch)
        if math.isfinite(value):
            optimizer.step()
        return value

    def apply_gradient(self, features: Features, gradient: FloatArray) -> None:
        """A step of the optimiser with this gradient in the scores."""
        optimizer = self._started()
        optimizer.zero_grad()
        scores = self.network(torch.from_numpy(features))
        scores.backward(torch.from_numpy(gradient).to(scores.dtype))
        optimizer.step()

    def optimiser_arrays(self) -> Arrays:
        """Moments and number of steps of each parameter."""
        state = self._started().state_dict()["state"]
        return {f"{index}.{slot}": t.clone().numpy() for index, slots in state.items() for slot, t in slots.items()}

    def restore_optimiser(self, arrays: Arrays) -> None:
        """Go on from these moments."""
        slots: dict[int, dict[str, torch.Tensor]] = {}
        for name, array in arrays.items():
            index, _, slot = name.partition(".")
            slots.setdefault(int(index), {})[slot] = torch.from_numpy(array)
        optimizer = self._started()
        optimizer.load_state_dict({**optimizer.state_dict(), "state": slots})

    def onnx_nodes(self, features: str, scores: str) -> tuple[list[Any], Arrays]:
        """The layers, in single precision."""
        from onnx import helper

        state = self.arrays()
        names = sorted({name.split(".")[0] for name in state}, key=int)
        constants: Arrays = {"flat": np.array([-1], dtype=np.int64)}
        nodes, layer = [], features
        for depth, name in enumerate(names):
            constants |= {f"{kind}{depth}": state[f"{name}.{kind}"] for kind in ("weight", "bias")}
            total = f"sum{depth}"
            nodes.append(helper.make_node("Gemm", [layer, f"weight{depth}", f"bias{depth}"], [total], transB=1))
            if depth < len(names) - 1:
                layer = f"layer{depth + 1}"
                nodes.append(helper.make_node("Relu", [total], [layer]))
        nodes.append(helper.make_node("Reshape", [total, "flat"], [scores]))
        return nodes, constants

    def _started(self) -> torch.optim.Optimizer:
        if self._optimizer is None:
            raise RuntimeError("start() comes before the first step.")
        return self._optimizer


def layer_widths(n_features: int, hidden: tuple[int, ...] | Literal["halving"]) -> tuple[int, ...]:
    """Widths of the hidden layers; "halving" ends at 2 or 3, before the single score."""
    if hidden != "halving":
        return tuple(hidden)
    widths = []
    width = n_features // 2
    while width > 1:
        widths.append(width)
        width //= 2
    return tuple(widths)


def build_network(n_features: int, widths: tuple[int, ...], seed: int) -> torch.nn.Sequential:
    """ReLU layers of these widths and a linear score, initialised from `seed` without touching torch's global state."""
    layers: list[torch.nn.Module] = []
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        for inputs, outputs in zip((n_features, *widths[:-1]), widths, strict=False):
            layers += [torch.nn.Linear(inputs, outputs), torch.nn.ReLU()]
        layers += [torch.nn.Linear(widths[-1] if widths else n_features, 1), torch.nn.Flatten(start_dim=0)]
    return torch.nn.Sequential(*layers)


SCORERS.register(NetworkScorer)
