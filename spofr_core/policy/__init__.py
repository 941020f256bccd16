"""The fair-ranking programme, its solvers, and the policies that they return."""

from spofr_core.policy.decomposition import Decomposition, decompose
from spofr_core.policy.lotteries import Lotteries, sorted_lotteries
from spofr_core.policy.optimal import fair_policies, fair_policy
from spofr_core.policy.plain_sort import SortedPolicies, tied_expectation
from spofr_core.policy.policies import Policies
from spofr_core.policy.policy import Policy, most_probable
from spofr_core.policy.policy_table import policy_document, read_table
from spofr_core.policy.present_order import keep_present_order
from spofr_core.policy.programme import LinearConstraint, OnInfeasible, PreparedLists, Programme, prepare
from spofr_core.policy.proof.certificate import gap_text, read_certificates, write_certificates
from spofr_core.policy.proof.file_verification import verify_file
from spofr_core.policy.proof.prefixes import PrefixLimits, prefix_limits
from spofr_core.policy.proof.verdicts import Verification
from spofr_core.policy.proof.verification import verify
from spofr_core.policy.quotas import draws_within, sorts_within
from spofr_core.policy.ranking_policies import RankingPolicies
from spofr_core.policy.showing.sampling import PERIODS, Sampled, sampled_violations, schedule_bound, shown_violations
from spofr_core.policy.showing.schedule import Schedule, moved_at_most, plain_draw, shares_of
from spofr_core.policy.solvers.solver import SOLVERS, Solution, Solver, make_solver
from spofr_core.policy.solvers.weights import WeightSolver, fair_weights, solve_weights
from spofr_core.policy.tradeoff_curve import UtilityCurve, utility_curve

__all__ = [
    "PERIODS",
    "SOLVERS",
    "Decomposition",
    "LinearConstraint",
    "Lotteries",
    "OnInfeasible",
    "Policies",
    "Policy",
    "PrefixLimits",
    "PreparedLists",
    "Programme",
    "RankingPolicies",
    "Sampled",
    "Schedule",
    "Solution",
    "Solver",
    "SortedPolicies",
    "UtilityCurve",
    "Verification",
    "WeightSolver",
    "decompose",
    "draws_within",
    "fair_policies",
    "fair_policy",
    "fair_weights",
    "gap_text",
    "keep_present_order",
    "make_solver",
    "most_probable",
    "moved_at_most",
    "plain_draw",
    "policy_document",
    "prefix_limits",
    "prepare",
    "read_certificates",
    "read_table",
    "sampled_violations",
    "schedule_bound",
    "shares_of",
    "shown_violations",
    "solve_weights",
    "sorted_lotteries",
    "sorts_within",
    "tied_expectation",
    "utility_curve",
    "verify",
    "verify_file",
    "write_certificates",
]
