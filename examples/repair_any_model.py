"""A model trained elsewhere (a pipeline; a booster or a torch module likewise) ends in the programme in three lines."""

from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from spofr_core import Fairness, load_sample, repair
from spofr_core.reporting import verdict

splits = load_sample("adult", features="work")
model = make_pipeline(StandardScaler(), LogisticRegression())
model.fit(splits.train.features, splits.train.relevance)

held_out, test = (part.with_scores(model.decision_function(part.features)) for part in (splits.validation, splits.test))
result = repair(test, Fairness(delta=0.05, unit="share"), calibrate=held_out)  # .policies have their certificates
result.after.to_html("report.html")
print(verdict(result.after.summary), result.maximised)

# Prints:
# Group Female gets 6 % less exposure than group Male. All 500 queries stay within the tolerance of 5 %.
# Maximised is the DCG of relevance estimated from the scores by logistic calibration, fitted to the labels of
# other data.
