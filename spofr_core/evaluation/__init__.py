"""Audits and measures: per query first, aggregates second."""

from spofr_core.evaluation.audit import AuditedModel, AuditResult, audit
from spofr_core.evaluation.calibrating.calibrated_scores import CalibratedScores, calibrated_scores
from spofr_core.evaluation.calibrating.face_value import prices_at_face_value
from spofr_core.evaluation.calibrating.reliability import CalibrationGain, calibration_gain, reliability
from spofr_core.evaluation.comparing.compared_names import named_measures
from spofr_core.evaluation.comparing.comparison import Comparison, compare
from spofr_core.evaluation.comparing.rival_text import Rival, parse_rival
from spofr_core.evaluation.exact_tradeoff import EXACT_DELTAS, exact_tradeoff
from spofr_core.evaluation.folder_audit import Map, audit_folder
from spofr_core.evaluation.folder_repair import repair_folder
from spofr_core.evaluation.fronts import best_at_violation, grid_search, lead_at_violation
from spofr_core.evaluation.guarantees import GUARANTEE_DELTAS, LEVELS, guarantees, run_shares
from spofr_core.evaluation.intervals import bootstrap_mean, wilson
from spofr_core.evaluation.items.item_effort import item_repair_seconds
from spofr_core.evaluation.measurement import Measurement, measure_exposure
from spofr_core.evaluation.measuring.folder_measures import measure_folder
from spofr_core.evaluation.measuring.named_measures import Measured, measure
from spofr_core.evaluation.query_table import JudgedTable, QueryTable
from spofr_core.evaluation.repair import Repair, repair, repair_table
from spofr_core.evaluation.seeds import over_seeds, paired_difference, sign_of
from spofr_core.evaluation.selection import RULES, SelectionRule
from spofr_core.evaluation.selection.folder_rates import folder_selection_rates
from spofr_core.evaluation.selection.rates import SelectionRates, selection_rates
from spofr_core.evaluation.slicing.crossing import Crossing
from spofr_core.evaluation.slicing.over_time import Change, OverTime, over_time
from spofr_core.evaluation.slicing.query_values import HasQueryValues, QueryValues, values_of
from spofr_core.evaluation.slicing.slice_exposure import SlicedExposure, sliced_exposure
from spofr_core.evaluation.slicing.sliced_result import SlicedResult, Slicing, sliced_result
from spofr_core.evaluation.slicing.slices import Slices, slices
from spofr_core.evaluation.slicing.windows import Window, Windows, checked_window
from spofr_core.evaluation.summary import SmallGroups
from spofr_core.evaluation.tracking.mlflow_log import log_to_mlflow
from spofr_core.evaluation.tradeoffs import (
    achieved_tradeoff,
    asked_and_achieved,
    method_difference,
    multi_group,
    price_of_fairness,
    run_times,
    tradeoff,
    training_sizes,
)
from spofr_core.evaluation.units import carried_delta
from spofr_core.fairness import TOLERANCE

__all__ = [
    "EXACT_DELTAS",
    "GUARANTEE_DELTAS",
    "LEVELS",
    "RULES",
    "TOLERANCE",
    "AuditResult",
    "AuditedModel",
    "CalibratedScores",
    "CalibrationGain",
    "Change",
    "Comparison",
    "Crossing",
    "HasQueryValues",
    "JudgedTable",
    "Map",
    "Measured",
    "Measurement",
    "OverTime",
    "QueryTable",
    "QueryValues",
    "Repair",
    "Rival",
    "SelectionRates",
    "SelectionRule",
    "SlicedExposure",
    "SlicedResult",
    "Slices",
    "Slicing",
    "SmallGroups",
    "Window",
    "Windows",
    "achieved_tradeoff",
    "asked_and_achieved",
    "audit",
    "audit_folder",
    "best_at_violation",
    "bootstrap_mean",
    "calibrated_scores",
    "calibration_gain",
    "carried_delta",
    "checked_window",
    "compare",
    "exact_tradeoff",
    "folder_selection_rates",
    "grid_search",
    "guarantees",
    "item_repair_seconds",
    "lead_at_violation",
    "log_to_mlflow",
    "measure",
    "measure_exposure",
    "measure_folder",
    "method_difference",
    "multi_group",
    "named_measures",
    "over_seeds",
    "over_time",
    "paired_difference",
    "parse_rival",
    "price_of_fairness",
    "prices_at_face_value",
    "reliability",
    "repair",
    "repair_folder",
    "repair_table",
    "run_shares",
    "run_times",
    "selection_rates",
    "sign_of",
    "sliced_exposure",
    "sliced_result",
    "slices",
    "tradeoff",
    "training_sizes",
    "values_of",
    "wilson",
]
