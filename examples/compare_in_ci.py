"""A gate for a pipeline: a new ranker may not be worse for any group, nor find less; exit code 1 if it is."""

import sys

from spofr_core import Fairness, audit, compare, read_dataset
from spofr_core.data import sample_path
from spofr_core.reporting import comparison_headline

columns = {"query": "search_id", "item": "candidate_id", "group": "gender", "relevance": "relevance"}
fairness = Fairness(delta="10%")
now = audit(read_dataset(sample_path("hiring.csv"), score="score", **columns), fairness)
new = audit(read_dataset(sample_path("hiring.csv"), score="test_score", **columns), fairness)
comparison = compare({"now": now, "new": new})
print(comparison_headline(comparison.summary))

table = comparison.table.set_index("name")
worse = [name for name in ("exposure_ratio", "ndcg") if table.loc[name, "verdict"] == "worse"]
print("Worse:", ", ".join(worse) or "nothing")
sys.exit(1 if worse else 0)

# Prints:
# new gives group female 20 % more exposure than now (95 % CI 18 to 23).
# 140 of 500 queries keep within the tolerance of 10 %, instead of 81 now. nDCG@10 is higher by 0.03.
# Worse: nothing
