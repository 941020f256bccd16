"""Writes fairsearch_values.json: tables of minimum counts as fairsearchcore 1.0.4 makes them.

fairsearchcore's keys have a hash that is no whole number, which Python refuses: it is rounded here, which changes no
result. Run in an environment of its own:

    python -m venv peer && peer/bin/pip install pandas==1.5.3 numpy==1.24.4 scipy==1.10.1
    peer/bin/pip install --no-deps fairsearchcore==1.0.4      # or put its source on PYTHONPATH
    peer/bin/python tests/measures/peers/fairsearch_values.py
"""

import json
import warnings
from pathlib import Path

import fairsearchcore
from fairsearchcore import fail_prob

CASES = [(10, 0.5, 0.1), (10, 0.3, 0.1), (20, 0.4, 0.1), (20, 0.2, 0.05), (30, 0.6, 0.1), (50, 0.3, 0.05)]


def main() -> None:
    """Compute all cases."""
    warnings.simplefilter("ignore")
    key = fail_prob.LegalAssignmentKey
    exact = key.__hash__
    key.__hash__ = lambda self: int(exact(self))
    rows = []
    for k, p, alpha in CASES:
        test = fairsearchcore.Fair(k, p, alpha)
        plain, adjusted = test.create_unadjusted_mtable(), test.create_adjusted_mtable()
        rows.append(
            {
                "k": k,
                "p": p,
                "alpha": alpha,
                "unadjusted": plain,
                "unadjusted_failure": test.compute_fail_probability(plain),
                "adjusted": adjusted,
                "adjusted_failure": test.compute_fail_probability(adjusted),
            }
        )
    Path(__file__).with_suffix(".json").write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
