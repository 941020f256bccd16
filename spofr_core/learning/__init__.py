"""Scorers learned from features and labels: SPOFR and its rivals behind one estimator protocol."""

from spofr_core.learning.callbacks import JsonLines, ProgressBar
from spofr_core.learning.estimator import Estimator, Learned
from spofr_core.learning.events import Callback, FitReport, Progress, StopTraining
from spofr_core.learning.losses.plackett_luce import PlackettLucePolicies
from spofr_core.learning.methods.baselines import Unfair, UnfairSettings, Uniform
from spofr_core.learning.methods.deltr import DELTR, DELTRSettings
from spofr_core.learning.methods.fultr import FULTR, FULTRSettings
from spofr_core.learning.methods.guaranteed import ProgrammeEstimator
from spofr_core.learning.methods.predict_then_optimize import PredictThenOptimize, PredictThenOptimizeSettings
from spofr_core.learning.methods.registry import METHODS, load_model, make_estimator, method_named
from spofr_core.learning.methods.sorted_by_score import SortedPolicies
from spofr_core.learning.methods.spofr import SPOFR, SPOFRSettings
from spofr_core.learning.onnx_export import export_onnx
from spofr_core.learning.problems import CollapsedScores, LearningWarning, TrainingDiverged
from spofr_core.learning.training_settings import TrainingSettings

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
