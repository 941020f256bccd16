"""A pandas frame of what a ranker shows, audited: who gets the exposure, and in how many lists that breaks delta."""

import pandas as pd

from spofr_core import Fairness, audit, read_dataset
from spofr_core.data import sample_path
from spofr_core.reporting import verdict

frame = pd.read_csv(sample_path("hiring.csv"))  # any frame with a row per shown item
data = read_dataset(frame, query="search_id", item="candidate_id", group="gender", score="score")
result = audit(data, Fairness(delta="10%"))
queries = result.summary["queries"]
print(verdict(result.summary))
print(f"{queries['fair']} of {queries['judged']} lists hold delta.")

# Prints:
# Group female gets 28 % less exposure than group male.
# In 419 of 500 queries the difference from the list's mean exceeds the tolerance of 10 %.
# 81 of 500 lists hold delta.
