"""Selection rates and impact ratios as named rules ask for them: who is selected, and in which categories."""

from spofr_core.evaluation.selection.selection_rule import SelectionRule
from spofr_core.registry import Registry

RULES: Registry[SelectionRule] = Registry(
    "rule",
    {
        "four-fifths": "spofr_core.evaluation.selection.four_fifths",
        "local-law-144": "spofr_core.evaluation.selection.local_law_144",
    },
)
"""The rules under which rates are compared, in the order of the report."""

__all__ = ["RULES", "SelectionRule"]
