"""Scorers learned from features and labels: SPOFR and its rivals behind one estimator protocol."""

from spofr_core.learning.anchors import Unfair, UnfairSettings, Uniform
from spofr_core.learning.callbacks import JsonLines, ProgressBar
from spofr_core.learning.config import TrainingSettings
from spofr_core.learning.deltr import DELTR, DELTRSettings
from spofr_core.learning.estimator import Estimator, Learned
from spofr_core.learning.events import Callback, FitReport, Progress, StopTraining
from spofr_core.learning.fultr import FULTR, FULTRSettings
from spofr_core.learning.onnx import export_onnx
from spofr_core.learning.plackett_luce import PlackettLucePolicies
from spofr_core.learning.problems import CollapsedScores, LearningWarning, TrainingDiverged
from spofr_core.learning.programme import ProgrammeEstimator
from spofr_core.learning.pto import PredictThenOptimize, PredictThenOptimizeSettings
from spofr_core.learning.registry import METHODS, load_model, make_estimator, method_named
from spofr_core.learning.sorting import SortedPolicies
from spofr_core.learning.spofr import SPOFR, SPOFRSettings

__all__ = [
    "DELTR",
    "FULTR",
    "METHODS",
    "SPOFR",
    "Callback",
    "CollapsedScores",
    "DELTRSettings",
    "Estimator",
    "FULTRSettings",
    "FitReport",
    "JsonLines",
    "Learned",
    "LearningWarning",
    "PlackettLucePolicies",
    "PredictThenOptimize",
    "PredictThenOptimizeSettings",
    "ProgrammeEstimator",
    "Progress",
    "ProgressBar",
    "SPOFRSettings",
    "SortedPolicies",
    "StopTraining",
    "TrainingDiverged",
    "TrainingSettings",
    "Unfair",
    "UnfairSettings",
    "Uniform",
    "export_onnx",
    "load_model",
    "make_estimator",
    "method_named",
]
