"""The fair-ranking programme, its solvers, and the policies that they return."""

from spofr_core.policy.sorting import tied_expectation

__all__ = ["tied_expectation"]
