"""A LightGBM ranker, trained on a bundled sample and audited in three lines (`pip install lightgbm`)."""

import lightgbm

from spofr_core import Fairness, audit, load_sample
from spofr_core.reporting import verdict

splits = load_sample("hiring")
train, test = splits.train, splits.test
booster = lightgbm.LGBMRanker(n_estimators=60, num_leaves=7, random_state=0, n_jobs=1, verbose=-1)
booster.fit(train.features, train.relevance, group=train.list_lengths)

ranked = test.with_scores(booster.predict(test.features))
result = audit(ranked, Fairness(delta=0.1, unit="share"))
print(verdict(result.summary))

# Prints:
# Between group female and group male there is no difference in exposure that these queries can show.
# In 65 of 100 queries the difference from the list's mean exceeds the tolerance of 10 %.
