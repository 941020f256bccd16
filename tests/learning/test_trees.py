"""Boosted trees: their gradients, what LightGBM makes of them, their files, and every method that takes them."""

import json
import re
import subprocess
import sys

import numpy as np
import pytest
from scipy.special import expit, log_softmax

from spofr_core.errors import ConfigError, DataError, SpofrError
from spofr_core.fairness import Discount, Fairness
from spofr_core.learning import PredictThenOptimize, export_onnx, load_model, make_estimator
from spofr_core.learning.losses import LOSSES
from spofr_core.learning.losses.lambda_rank import LambdaRank
from spofr_core.learning.losses.relevance import Logistic
from spofr_core.learning.losses.within_groups import ListNetWithinGroups
from spofr_core.learning.scorers.tree_text import Forest, constant_tree, read_tree
from spofr_core.learning.scorers.trees import TreeScorer
from tests.learning.toy import lists_of, numeric_gradient, toy_data

FAIRNESS = Fairness(delta=0.02)
QUICK = {"scorer": "trees", "max_steps": 25, "leaf_items": 5, "learning_rate": 0.2}
STUMP = (
    "num_leaves=3\nnum_cat=0\nsplit_feature=1 0\nsplit_gain=2 1\nthreshold=0.5 -1\ndecision_type=2 2\nleft_child=1 -1\n"
    "right_child=-2 -3\nleaf_value=0.25 -0.5 2\nleaf_weight=1 1 1\nleaf_count=1 1 1\ninternal_value=0 0\n"
    "internal_weight=3 2\ninternal_count=3 2\nis_linear=0\nshrinkage=0.1"
)


@pytest.fixture(scope="module")
def train():
    return toy_data(60, n_groups=3)


@pytest.fixture(scope="module")
def validation():
    return toy_data(30, n_groups=3, seed=1)


def text_of(model):
    return model.learned.scorer.arrays()["model"].tobytes()


@pytest.mark.parametrize("per_list", [False, True])
@pytest.mark.parametrize("name", ["listnet", "listnet-within-groups", "logistic", "lambdarank"])
def test_gradient_and_curvature_are_those_of_the_value(name, per_list):
    data = toy_data(10, n_groups=3)
    lists = lists_of(data.replace(relevance=data.relevance * np.random.default_rng(1).integers(1, 4, data.n_items)))
    batch = lists.batch(np.flatnonzero(lists.label_totals > 0)[[2, 0, 1]])
    loss = LOSSES[name].build(lists, Discount(), per_list)
    scores = np.random.default_rng(0).normal(size=int(batch.offsets[-1]))
    value, gradient = loss.value_and_gradient(scores, batch)
    assert value > 0
    np.testing.assert_allclose(
        gradient, numeric_gradient(lambda s: loss.value_and_gradient(s, batch)[0], scores), atol=1e-6
    )
    second = [numeric_gradient(lambda s, i=i: loss.value_and_gradient(s, batch)[1][i], scores)[i] for i in range(6)]
    np.testing.assert_allclose(loss.curvature(scores, batch)[:6], second, atol=1e-6)


@pytest.mark.parametrize("per_list", [False, True])
def test_within_groups_is_listnet_on_lists_that_were_split_by_group(per_list):
    """Each group of each list as a list of its own; ListNet itself, divided by all labels of the whole list."""
    data = toy_data(12, n_groups=3)
    lists = lists_of(data)
    queries = np.flatnonzero(lists.label_totals > 0)[::-1]
    batch = lists.batch(queries)
    scores = np.random.default_rng(0).normal(size=int(batch.offsets[-1]))
    value, gradient = ListNetWithinGroups(lists, per_list=per_list).value_and_gradient(scores, batch)
    expected, slopes = 0.0, np.zeros(len(scores))
    for b, q in enumerate(queries):
        here = np.arange(batch.offsets[b], batch.offsets[b + 1])
        labels, codes = (
            data.relevance[data.offsets[q] : data.offsets[q + 1]],
            data.groups[lists.offsets[q] :][: len(here)],
        )
        for code in np.unique(codes):
            own = codes == code
            log_shares = log_softmax(scores[here[own]])
            weight = 1 / labels.sum() if per_list else 1.0
            expected -= weight * labels[own] @ log_shares
            slopes[here[own]] = weight * (labels[own].sum() * np.exp(log_shares) - labels[own])
    assert value == pytest.approx(expected)
    np.testing.assert_allclose(gradient, slopes, atol=1e-12)


def test_within_groups_does_not_care_for_what_all_items_of_a_group_share():
    data = toy_data(6, n_groups=2)
    lists = lists_of(data)
    batch = lists.batch(np.flatnonzero(lists.label_totals > 0))
    scores = np.random.default_rng(0).normal(size=int(batch.offsets[-1]))
    codes = np.concatenate([data.groups[data.offsets[q] : data.offsets[q + 1]] for q in batch.queries])
    loss = ListNetWithinGroups(lists)
    one, other = (loss.value_and_gradient(s, batch) for s in (scores, scores + 1000.0 * codes))
    assert one[0] == pytest.approx(other[0])
    np.testing.assert_allclose(one[1], other[1], atol=1e-9)


def test_within_groups_of_one_item_is_refused():
    data = toy_data(6, lengths=(3, 3))
    alone = data.with_groups(np.tile(np.arange(3), 6), ("a", "b", "c"))
    with pytest.raises(DataError, match=r"no training list has two of them. Take the loss 'listnet'"):
        PredictThenOptimize(FAIRNESS, loss="listnet-within-groups", max_steps=2).fit(alone)


def test_lambda_rank_by_hand():
    """Two items in the wrong order: the cost of the swap is 1 - 1/log2(3), and the ideal DCG is 1."""
    data = toy_data(1, lengths=(2, 2))
    lists = lists_of(data.replace(relevance=np.array([0.0, 1.0])))
    value, gradient = LambdaRank(Discount()).value_and_gradient(np.array([2.0, 1.0]), lists.batch(np.array([0])))
    cost = 1 - 1 / np.log2(3)
    assert value == pytest.approx(cost * np.log(1 + np.e))
    np.testing.assert_allclose(gradient, cost * expit(1) * np.array([1, -1]))
    assert np.isfinite(
        LambdaRank(Discount()).value_and_gradient(np.array([2000.0, -2000.0]), lists.batch(np.array([0])))[0]
    )


def test_logistic_trees_begin_at_the_log_odds_and_take_newton_steps():
    """A leaf moves its items by -rate * sum g / sum h, and a feature that tells all is split by first."""
    data = toy_data(40, n_groups=2)
    told = data.replace(
        features=np.column_stack([data.relevance, np.zeros(data.n_items)]), feature_names=("told", "nothing")
    )
    lists = lists_of(told)
    scorer = TreeScorer(2, leaf_items=1)
    scorer.start(0.5)
    batch = lists.batch(np.arange(len(lists)))
    scorer.step(Logistic(), batch)
    share = data.relevance.mean()
    base = np.log(share / (1 - share))
    scores = scorer.scores(np.array([[1, 0], [0, 0]], dtype=np.float32))
    h = share * (1 - share)
    np.testing.assert_allclose(scores, base + 0.5 * np.array([(1 - share) / h, -share / h]), rtol=1e-5)
    assert scorer.n_trees == 2  # the constant one, and this


def test_items_in_several_lists_count_as_often():
    """The gradient of a row is the sum over its items: doubling every list changes nothing but that sum."""
    lists = lists_of(toy_data(30))
    scores = []
    for each in (lists, lists.take(np.repeat(np.arange(30), 2))):
        scorer = TreeScorer(5, leaf_items=1)
        scorer.start(0.1)
        scorer.step(Logistic(), each.batch(np.arange(len(each))))
        scores.append(lists.scores(scorer))
    np.testing.assert_allclose(*scores, rtol=1e-5)


def test_lightgbm_reads_the_text_and_predicts_the_same(train, validation):
    import lightgbm

    model = PredictThenOptimize(FAIRNESS, **QUICK).fit(train, validation)
    scorer = model.learned.scorer
    assert scorer.n_trees > 5
    booster = lightgbm.Booster(model_str=text_of(model).decode())
    assert booster.num_trees() == scorer.n_trees
    features = model.learned.scaler.transform(validation.features)
    np.testing.assert_allclose(booster.predict(features, raw_score=True), scorer.scores(features), rtol=1e-12)


@pytest.mark.parametrize(
    ("method", "settings"),
    [
        ("pto", {"loss": "listnet"}),
        ("pto", {"loss": "logistic"}),
        ("pto", {"loss": "lambdarank"}),
        ("pto", {"loss": "listnet-within-groups"}),
        ("pto", {"loss": "logistic", "estimates": "calibrated"}),
        ("spofr", {}),
        ("spofr", {"warm_up": "logistic", "margin": 0.0}),
        ("spofr", {"warm_up": "none"}),
        ("spofr", {"loss": "fenchel-young", "margin": 0.0}),
        ("unfair", {"loss": "lambdarank"}),
        ("spofr", {"warm_up": "listnet-within-groups"}),
    ],
)
def test_every_loss_teaches_trees_which_are_saved_read_and_resumed(method, settings, train, validation, tmp_path):
    settings = {**QUICK, **settings, "seed": 3}
    model = make_estimator(method, FAIRNESS, **settings).fit(train, validation)
    assert model.report.best["validation_dcg"] > model.report.history[0]["validation_dcg"]
    model.save(tmp_path / "m")
    again = load_model(tmp_path / "m")
    np.testing.assert_array_equal(again.estimates(validation), model.estimates(validation))
    if method != "unfair":
        for policy in again.policies(validation):
            assert max(abs(v) for v in policy.violations.values()) <= 0.02 + 1e-9
    names = {path.name for path in (tmp_path / "m").iterdir()}
    assert names == {"model.json", "model.safetensors", "model_card.md", "trees.txt"}

    def kill(progress):
        if progress.kind == "epoch" and progress.epoch == 13:  # the last state is that after the tenth
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        make_estimator(method, FAIRNESS, **settings).fit(train, validation, [kill], checkpoint=tmp_path / "c")
    seen = []
    resumed = make_estimator(method, FAIRNESS, **settings)
    resumed.fit(train, validation, [lambda progress: seen.append(progress.step)], checkpoint=tmp_path / "c")
    assert seen[0] == 10
    assert text_of(resumed) == text_of(model)
    assert [m["objective"] for m in resumed.report.history] == [m["objective"] for m in model.report.history]


def test_a_seed_repeats_to_the_last_bit_and_another_differs(train, validation):
    texts = [text_of(PredictThenOptimize(FAIRNESS, seed=s, **QUICK).fit(train, validation)) for s in (0, 0, 1)]
    assert texts[0] == texts[1] != texts[2]


def test_the_margin_keeps_the_first_stage(train, validation):
    settings = {**QUICK, "warm_up": "logistic"}
    kept = make_estimator("spofr", FAIRNESS, margin=1e9, **settings).fit(train, validation)
    first = make_estimator("pto", FAIRNESS, **QUICK, loss="logistic").fit(train, validation)
    assert text_of(kept) == text_of(first)


def test_scores_in_another_process_are_the_same(train, validation, tmp_path):
    model = PredictThenOptimize(FAIRNESS, loss="lambdarank", **QUICK).fit(train, validation)
    model.save(tmp_path / "m")
    code = (
        "import sys, numpy as np; from spofr_core.learning import load_model; from tests.learning.toy import toy_data\n"
        "data = toy_data(30, n_groups=3, seed=1); model = load_model(sys.argv[1])\n"
        "assert 'lightgbm' not in sys.modules\n"
        "sys.stdout.buffer.write(model.policies(data).expectation(np.linspace(1, 0, 9)).tobytes())"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path / "m")], capture_output=True, check=True)
    expected = model.policies(validation).expectation(np.linspace(1, 0, 9))
    np.testing.assert_array_equal(np.frombuffer(done.stdout), expected)


def test_trees_that_see_nothing_stay_constant(train, validation):
    blind = {"features": np.zeros((train.n_items, 1)), "feature_names": ("x",)}
    with pytest.warns(UserWarning, match="smaller leaves"):
        model = PredictThenOptimize(FAIRNESS, loss="logistic", **QUICK).fit(train.replace(**blind))
    assert model.learned.scorer.n_trees <= 1


@pytest.mark.parametrize("method", ["fultr", "deltr"])
def test_methods_that_stay_networks_say_so(method):
    with pytest.raises(ConfigError, match="DELTR and FULTR learn with a network; scorer 'trees' is for SPOFR"):
        make_estimator(method, FAIRNESS, scorer="trees")


def test_defaults_follow_the_scorer_and_what_is_chosen_stays():
    trees = PredictThenOptimize(FAIRNESS, scorer="trees").settings
    assert (trees.learning_rate, trees.validate_every, trees.patience) == (0.05, 5, 10)
    assert PredictThenOptimize(FAIRNESS, scorer="trees", learning_rate=1e-3).settings.learning_rate == 1e-3
    assert PredictThenOptimize(FAIRNESS).settings.learning_rate == 1e-3
    assert PredictThenOptimize.from_config(PredictThenOptimize(FAIRNESS, **QUICK).to_config()).settings.leaf_items == 5


def test_trees_are_not_exported_to_onnx(train, validation, tmp_path):
    with pytest.raises(SpofrError, match="'trees' cannot be exported to ONNX"):
        export_onnx(PredictThenOptimize(FAIRNESS, **QUICK).fit(train, validation), tmp_path / "x.onnx")


# -- files ---------------------------------------------------------------------------------------------


def test_a_tree_by_hand():
    forest = Forest(2, [constant_tree(1.0), read_tree(STUMP, 2, "t")])
    scores = np.zeros(4)
    features = np.array([[-1, 0.5], [-0.9, 0.5], [-1, 0.6], [9, 9]], dtype=np.float32)
    forest.add_to(scores, features)
    np.testing.assert_array_equal(scores, [1.25, 3.0, 0.5, 0.5])
    again = np.zeros(4)
    Forest.from_text(forest.to_text(), 2).add_to(again, features)
    np.testing.assert_array_equal(again, scores)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("left_child=1 -1", "left_child=0 -1"), "is no tree"),
        (("left_child=1 -1", "left_child=1 -2"), "is no tree"),
        (("left_child=1 -1", "left_child=9999999999 -1"), "is no tree"),
        (("left_child=1 -1", "left_child=99999999999999999999 -1"), "no number|is no tree"),
        (("split_feature=1 0", "split_feature=2 0"), "a feature that is not there"),
        (("split_feature=1 0", "split_feature=-1 0"), "a feature that is not there"),
        (("threshold=0.5 -1", "threshold=nan -1"), "not 2 finite ones"),
        (("threshold=0.5 -1", "threshold=0.5"), "1 numbers as threshold, not 2"),
        (("leaf_value=0.25 -0.5 2", "leaf_value=0.25 -0.5 2 3"), "4 numbers as leaf_value, not 3"),
        (("leaf_value=0.25 -0.5 2", "leaf_value=0.25 x 2"), "leaf_value that is no number"),
        (("leaf_count=1 1 1", "leaf_count=1 1"), "2 numbers as leaf_count"),
        (("decision_type=2 2", "decision_type=1 2"), "another kind than 'at most'"),
        (("num_cat=0", "num_cat=1"), "has num_cat '1'"),
        (("is_linear=0", "is_linear=1"), "has is_linear '1'"),
        (("num_leaves=3", "num_leaves=2000000000"), "has 2000000000 leaves"),
        (("num_leaves=3", "num_leaves=0"), "has 0 leaves"),
        (("shrinkage=0.1", "cat_threshold=5"), "has the line 'cat_threshold=5'"),
        (("shrinkage=0.1", "num_leaves=3"), "has the line 'num_leaves=3'"),
    ],
)
def test_a_hostile_tree_is_refused_in_a_sentence(change, words):
    assert change[0] in STUMP
    with pytest.raises(DataError, match=f"The trees of the model are damaged: .*({words}).*Save the model again"):
        read_tree(STUMP.replace(*change), 2, "tree 0")


def test_a_line_of_millions_of_words_is_refused_before_any_is_read():
    with pytest.raises(DataError, match="1000003 numbers as leaf_value, not 3"):  # not: that is no number
        read_tree(STUMP.replace("leaf_value=", "leaf_value=" + "x " * 1_000_000), 2, "tree 0")


def test_what_is_no_forest_is_refused():
    text = Forest(2, [read_tree(STUMP, 2, "t")] * 2).to_text()
    for damaged in ("", "tree", text.replace("end of trees", "end"), text.replace("Tree=1", "Tree=7"), text[9:]):
        with pytest.raises(DataError, match="The trees of the model are damaged"):
            Forest.from_text(damaged, 2)
    with pytest.raises(DataError, match="not about 3 features"):
        Forest.from_text(text, 3)


def test_leaves_whose_sum_is_no_number_are_refused():
    steep = STUMP.replace("leaf_value=0.25", "leaf_value=1e308")
    text = Forest(2, [read_tree(steep, 2, "t")] * 2).to_text()
    with pytest.raises(DataError, match="leaves are so large that scores would overflow"):
        Forest.from_text(text, 2)


def test_cut_anywhere_it_is_refused_or_the_same():
    whole = Forest(2, [read_tree(STUMP, 2, "t")]).to_text()
    end = whole.index("end of trees") + len("end of trees")
    for cut in range(0, end, 7):
        with pytest.raises(DataError, match="damaged"):
            Forest.from_text(whole[:cut], 2)


def test_a_damaged_file_is_refused(train, validation, tmp_path):
    PredictThenOptimize(FAIRNESS, **QUICK).fit(train, validation).save(tmp_path)
    path, header = tmp_path / "trees.txt", json.loads((tmp_path / "model.json").read_text())
    content = path.read_bytes()
    path.write_bytes(content[:-30])
    with pytest.raises(DataError, match=r"trees.txt \(.* bytes\) is not the file that was saved.*truncated or was"):
        load_model(tmp_path)
    path.unlink()
    with pytest.raises(DataError, match=r"trees.txt cannot be read"):
        load_model(tmp_path)
    path.write_bytes(content)
    (tmp_path / "model.json").write_text(json.dumps({**header, "texts_sha256": ["x"]}))
    with pytest.raises(DataError, match="truncated or was replaced"):
        load_model(tmp_path)
    # with a digest that is right the text itself is looked at
    import hashlib

    hostile = re.sub(rb"left_child=\d+", b"left_child=0", content, count=1)
    path.write_bytes(hostile)
    digest = {"trees.txt": hashlib.sha256(hostile).hexdigest()}
    (tmp_path / "model.json").write_text(json.dumps({**header, "texts_sha256": digest}))
    with pytest.raises(DataError, match="The trees of the model are damaged"):
        load_model(tmp_path)
    path.write_bytes(b"\xff\xfe")
    digest = {"trees.txt": hashlib.sha256(b"\xff\xfe").hexdigest()}
    (tmp_path / "model.json").write_text(json.dumps({**header, "texts_sha256": digest}))
    with pytest.raises(DataError, match="no ASCII text"):
        load_model(tmp_path)
