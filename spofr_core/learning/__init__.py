"""Scorers learned from features and labels: SPOFR and its rivals behind one estimator protocol."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spofr_core.lazy import lazy_names
from spofr_core.learning.losses import LOSSES, RelevanceLoss
from spofr_core.learning.methods import METHODS, Method, departures, method_title, told_apart, with_scorer
from spofr_core.learning.scorers import SCORERS, Scorer

if TYPE_CHECKING:
    from spofr_core.learning.callbacks import JsonLines, ProgressBar
    from spofr_core.learning.card_text import CARD_FILE, CardFacts, Figure, model_card
    from spofr_core.learning.estimator import Estimator, Learned
    from spofr_core.learning.events import Callback, FitReport, Progress, StopTraining
    from spofr_core.learning.lists import Batch
    from spofr_core.learning.losses.plackett_luce import PlackettLucePolicies
    from spofr_core.learning.losses.relevance import Loss
    from spofr_core.learning.methods.deltr import DELTR, DELTRSettings
    from spofr_core.learning.methods.fultr import FULTR, FULTRSettings
    from spofr_core.learning.methods.guaranteed import ProgrammeEstimator
    from spofr_core.learning.methods.predict_then_optimize import PredictThenOptimize, PredictThenOptimizeSettings
    from spofr_core.learning.methods.spofr import SPOFR, SPOFRSettings
    from spofr_core.learning.methods.unfair import Unfair, UnfairSettings
    from spofr_core.learning.methods.uniform import Uniform
    from spofr_core.learning.models import load_model, make_estimator, method_named
    from spofr_core.learning.problems import CollapsedScores, LearningWarning, TrainingDiverged
    from spofr_core.learning.scorers.onnx_export import export_onnx
    from spofr_core.learning.training_settings import TrainingSettings

_HOME = {
    "callbacks": ("JsonLines", "ProgressBar"),
    "estimator": ("Estimator", "Learned"),
    "events": ("Callback", "FitReport", "Progress", "StopTraining"),
    "lists": ("Batch",),
    "losses.relevance": ("Loss",),
    "losses.plackett_luce": ("PlackettLucePolicies",),
    "methods.deltr": ("DELTR", "DELTRSettings"),
    "methods.fultr": ("FULTR", "FULTRSettings"),
    "methods.guaranteed": ("ProgrammeEstimator",),
    "methods.predict_then_optimize": ("PredictThenOptimize", "PredictThenOptimizeSettings"),
    "methods.spofr": ("SPOFR", "SPOFRSettings"),
    "methods.unfair": ("Unfair", "UnfairSettings"),
    "methods.uniform": ("Uniform",),
    "card_text": ("CARD_FILE", "CardFacts", "Figure", "model_card"),
    "models": ("load_model", "make_estimator", "method_named"),
    "scorers.onnx_export": ("export_onnx",),
    "problems": ("CollapsedScores", "LearningWarning", "TrainingDiverged"),
    "training_settings": ("TrainingSettings",),
}

__all__ = [
    "CARD_FILE",
    "DELTR",
    "FULTR",
    "LOSSES",
    "METHODS",
    "SCORERS",
    "SPOFR",
    "Batch",
    "Callback",
    "CardFacts",
    "CollapsedScores",
    "DELTRSettings",
    "Estimator",
    "FULTRSettings",
    "Figure",
    "FitReport",
    "JsonLines",
    "Learned",
    "LearningWarning",
    "Loss",
    "Method",
    "PlackettLucePolicies",
    "PredictThenOptimize",
    "PredictThenOptimizeSettings",
    "ProgrammeEstimator",
    "Progress",
    "ProgressBar",
    "RelevanceLoss",
    "SPOFRSettings",
    "Scorer",
    "StopTraining",
    "TrainingDiverged",
    "TrainingSettings",
    "Unfair",
    "UnfairSettings",
    "Uniform",
    "departures",
    "export_onnx",
    "load_model",
    "make_estimator",
    "method_named",
    "method_title",
    "model_card",
    "told_apart",
    "with_scorer",
]


__getattr__ = lazy_names(__name__, _HOME)  # the names of the methods do not wait for torch
