"""The scorer as an ONNX graph, for use without this package. Needs the optional package `onnx`."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from spofr_core.errors import SpofrError
from spofr_core.learning.estimator import Estimator
from spofr_core.learning.scorers.scaling import LIMIT

_OPSET = 17


def export_onnx(model: Estimator, path: str | Path) -> None:
    """Write scaling and scorer as one graph: input "features" (items, F) double, output "scores" (items,) float.

    The input has the features of `model.learned.feature_names`, raw and in that order. Scaling is done in double
    precision, as in `Estimator.scores`; a network in single.

    Raises
    ------
    SpofrError
        When the scorer cannot be exported, or the package `onnx` is not installed.
    """
    try:
        from onnx import TensorProto, checker, helper, numpy_helper, save
    except ImportError as error:
        raise SpofrError("Exporting to ONNX needs the package 'onnx': pip install onnx.") from error
    learned = model.learned
    layers, constants = learned.scorer.onnx_nodes("layer0", "scores")
    constants |= {
        "center": learned.scaler.center,
        "spread": learned.scaler.spread,
        "low": np.array(-LIMIT),
        "high": np.array(LIMIT),
    }
    nodes = [
        helper.make_node("Sub", ["features", "center"], ["centered"]),
        helper.make_node("Div", ["centered", "spread"], ["scaled"]),
        helper.make_node("Clip", ["scaled", "low", "high"], ["limited"]),
        helper.make_node("Cast", ["limited"], ["layer0"], to=TensorProto.FLOAT),
        *layers,
    ]
    n_features = len(learned.scaler.center)
    graph = helper.make_graph(
        nodes,
        "scorer",
        [helper.make_tensor_value_info("features", TensorProto.DOUBLE, ["items", n_features])],
        [helper.make_tensor_value_info("scores", TensorProto.FLOAT, ["items"])],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", _OPSET)], producer_name="spofr")
    proto.ir_version = min(proto.ir_version, 10)  # runtimes lag behind the newest version
    helper.set_model_props(proto, {"method": model.method, "features": "\n".join(learned.feature_names)})
    checker.check_model(proto)
    save(proto, str(path))
