"""The fair-ranking programme, its solvers, and the policies that they return."""

from spofr_core.policy.api import fair_policies, fair_policy, repair
from spofr_core.policy.certificate import read_certificates, write_certificates
from spofr_core.policy.curve import UtilityCurve, utility_curve
from spofr_core.policy.decompose import Decomposition, decompose
from spofr_core.policy.policies import Policies
from spofr_core.policy.policy import Policy
from spofr_core.policy.programme import LinearConstraint, PreparedLists, Programme, prepare
from spofr_core.policy.solvers import SOLVERS, Solution, Solver, make_solver
from spofr_core.policy.sorting import tied_expectation
from spofr_core.policy.tables import read_table
from spofr_core.policy.verify import Verification, verify
from spofr_core.policy.verify_file import verify_file
from spofr_core.policy.weights import WeightSolver, fair_weights, solve_weights

__all__ = [
    "SOLVERS",
    "Decomposition",
    "LinearConstraint",
    "Policies",
    "Policy",
    "PreparedLists",
    "Programme",
    "Solution",
    "Solver",
    "UtilityCurve",
    "Verification",
    "WeightSolver",
    "decompose",
    "fair_policies",
    "fair_policy",
    "fair_weights",
    "make_solver",
    "prepare",
    "read_certificates",
    "read_table",
    "repair",
    "solve_weights",
    "tied_expectation",
    "utility_curve",
    "verify",
    "verify_file",
    "write_certificates",
]
