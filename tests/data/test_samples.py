"""The bundled data: the files as published, the lists as documented."""

from __future__ import annotations

import gzip
import hashlib
from pathlib import Path

import numpy as np
import pytest

from spofr_core.data import (
    SAMPLES,
    RankingDataset,
    Sample,
    adult_lists,
    hiring_csv,
    load_hiring,
    load_sample,
    mslr_fold,
    read_dataset,
    sample_path,
)
from spofr_core.data.samples import bundled as samples
from spofr_core.data.samples.adult import read_people as read_adult
from spofr_core.data.samples.german_credit import read_people
from spofr_core.data.samples.mslr import read_pages
from spofr_core.errors import ConfigError, DataError


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def parts(splits: object) -> list[RankingDataset]:
    return [splits.train, splits.validation, splits.test]


def test_the_files_are_the_published_ones() -> None:
    german = sample_path("german_credit/german.data").read_bytes()
    assert digest(german) == "b21f3d81db8071257d5ff1deaeba1fd4303b62712e6fcc9715c7a86202cb5871"
    notice = (sample_path("hiring.csv").parents[1] / "NOTICE").read_text()
    for name in ("train", "test"):
        content = gzip.decompress(sample_path(f"mslr/msn1.fold1.{name}.5k.txt.gz").read_bytes())
        assert digest(content) in notice
    assert digest(german) in notice


def test_hiring_is_what_the_generator_makes() -> None:
    assert sample_path("hiring.csv").read_bytes().decode() == hiring_csv()
    assert hiring_csv(searches=3) == "".join(
        hiring_csv().splitlines(keepends=True)[: hiring_csv(searches=3).count("\n")]
    )


def test_hiring_for_audits_and_for_learning() -> None:
    data = load_hiring()
    assert len(data) == 500
    assert data.list_lengths.min() >= 12
    assert data.list_lengths.max() <= 30
    assert data.group_names == ("female", "male")
    assert data.features.shape[1] == 8
    by_gender = [data.relevance[data.groups == code].mean() for code in (0, 1)]
    assert abs(by_gender[0] - by_gender[1]) < 0.05  # relevance does not depend on gender
    share, signed = delta_fair(data, 0.05)
    assert 0.5 < share < 0.8
    assert signed < -0.01  # women get less than their share
    assert load_hiring("region").n_groups == 4
    assert load_hiring(8).n_groups == 8
    guessed = read_dataset(sample_path("hiring.csv"))
    assert guessed.query_ids.tolist() == data.query_ids.tolist()
    assert guessed.group_names == data.group_names
    assert guessed.score.tolist() == data.score.tolist()


def test_what_is_known_of_hiring_searches_changes_nothing_that_is_learned_from() -> None:
    shown = SAMPLES["hiring"].audit_data()
    assert set(shown.attributes) == {"job_family"}
    assert set(shown.attributes["job_family"]) == {"care", "office", "sales", "engineering", "management"}
    assert str(shown.times.min()) >= "2024-01-01"
    assert str(shown.times.max()) < "2025-01-01"
    learned = load_hiring()  # stored runs go by the name of this data
    assert learned.fingerprint == "ace1851a8ddfc218b395a2f84c60d486c96c4dbf46ac35017a63289b93e1a8b6"
    assert not learned.attributes
    assert learned.times is None
    recipe = SAMPLES["hiring"].recipe("gender")
    assert "slices=['job_family'], time='date'" in recipe.python
    assert recipe.arguments[-4:] == ("--slice", "job_family", "--time", "date")


def delta_fair(data: RankingDataset, delta: float) -> tuple[float, float]:
    """Share of lists in which max_g |e_g - e| <= delta with v_j = 1/(1+j), and the mean gap of the first group."""
    gaps = []
    for part in data:
        v = 1 / (1 + np.arange(1, part.n_items + 1))
        exposure = np.empty(part.n_items)
        exposure[np.argsort(-part.score, kind="stable")] = v
        gaps.append([exposure[part.groups == g].mean() - v.mean() for g in (0, 1) if (part.groups == g).any()])
    worst = np.array([max(map(abs, gap)) for gap in gaps])
    return float(np.mean(worst <= delta)), float(np.mean([gap[0] for gap in gaps]))


def test_hiring_splits_by_query_with_standardised_features() -> None:
    splits = load_sample("hiring", seed=4)
    assert [len(part) for part in parts(splits)] == [300, 100, 100]
    assert not set(splits.train.query_ids.tolist()) & set(splits.test.query_ids.tolist())
    np.testing.assert_allclose(splits.train.features.std(axis=0), 1)
    assert splits.test.score is not None


def test_the_template_reads_without_a_word() -> None:
    data = read_dataset(sample_path("template.csv"))
    assert len(data) == 2
    assert data.score is not None
    assert data.relevance is not None


def test_german_people() -> None:
    people = read_people(sample_path("german_credit/german.data"))
    assert people.features.shape == (1000, 58)
    assert len(set(people.feature_names)) == 58
    assert people.good.sum() == 700
    woman = people.features[:, people.feature_names.index("woman")]
    assert woman.sum() == 310
    assert people.features[:, people.feature_names.index("purpose=A43")].sum() == 280
    assert "purpose=A47" not in people.feature_names
    assert people.features[0, people.feature_names.index("amount")] == 1169


def test_german_lists() -> None:
    splits = load_sample("german-credit", test_lists=700)
    assert [len(part) for part in parts(splits)] == [500, 500, 700]
    people = [set(part.item_ids.tolist()) for part in parts(splits)]
    assert not people[0] & people[1]
    assert not people[0] & people[2]
    assert not people[1] & people[2]
    assert [len(some) for some in people] == pytest.approx([350, 350, 300], abs=3)
    whole = read_people(sample_path("german_credit/german.data"))
    for part in parts(splits):
        assert set(part.list_lengths.tolist()) == {20}
        assert set(np.add.reduceat(part.relevance, part.offsets[:-1]).tolist()) == {2}
        np.testing.assert_array_equal(part.relevance == 1, whole.good[part.item_ids - 1])
        a43 = whole.features[part.item_ids - 1, whole.feature_names.index("purpose=A43")]
        np.testing.assert_array_equal(part.groups == 0, a43 == 1)
        for one in part[:50]:
            assert len(set(one.item_ids.tolist())) == 20
        # the order within a list tells nothing: relevant items are everywhere
        place = np.arange(part.n_items) % 20
        assert abs(place[part.relevance == 1].mean() - 9.5) < 0.6


def test_german_split_is_stratified_and_scaling_is_that_of_training_people() -> None:
    splits = load_sample("german-credit", seed=3, lists=2000)
    people = read_people(sample_path("german_credit/german.data"))
    a43 = people.features[:, people.feature_names.index("purpose=A43")] == 1
    train = np.unique(splits.train.item_ids) - 1
    for good in (True, False):
        for radio in (True, False):
            cell = (people.good == good) & (a43 == radio)
            assert abs(cell[train].sum() / cell.sum() - 0.35) < 0.01
    duration = people.feature_names.index("duration")
    low, high = np.quantile(people.features[train, duration], [0.25, 0.75])
    np.testing.assert_allclose(
        splits.test.features[:, duration], people.features[splits.test.item_ids - 1, duration] / (high - low)
    )
    one_hot = splits.test.features[:, people.feature_names.index("purpose=A43")]
    assert set(one_hot.tolist()) == {0, 1}


@pytest.mark.parametrize(
    ("groups", "n", "masked"), [("purpose", 2, 48), ("gender", 2, 57), ("age", 2, 57), (2, 2, 48), (5, 5, 57)]
)
def test_german_groups_and_masking(groups: object, n: int, masked: int) -> None:
    splits = load_sample("german-credit", groups=groups, lists=20, mask_group=True)
    assert splits.train.n_groups == n
    assert splits.test.group_names == splits.train.group_names
    assert len(splits.train.feature_names) == masked


def test_mslr_pages() -> None:
    train = read_pages(sample_path("mslr/msn1.fold1.train.5k.txt.gz"))
    test = read_pages(sample_path("mslr/msn1.fold1.test.5k.txt.gz"))
    assert (len(train.query_ids), len(test.query_ids)) == (23, 29)
    assert (train.dropped, test.dropped) == (20, 14)
    raw = read_dataset(sample_path("mslr/msn1.fold1.train.5k.txt.gz"), group="133", group_quantiles=2)
    row = train.rows[0]
    assert raw.item_ids[row] == row + 1
    np.testing.assert_allclose(train.features[0, 10], np.log1p(raw.features[row, 10]))
    np.testing.assert_allclose(train.features[0, 9], raw.features[row, 9])
    assert np.all(np.logical_or.reduceat(train.relevant, train.offsets[:-1]))


def test_mslr_lists() -> None:
    splits = load_sample("mslr", lists=60, test_lists=90)
    assert [len(part) for part in parts(splits)] == [60, 60, 90]
    queries = [{str(name).split("/")[0] for name in part.query_ids} for part in parts(splits)]
    assert not queries[0] & queries[1]
    assert len(queries[0] | queries[1]) == 23
    for part in parts(splits):
        assert part.list_lengths.max() == 20
        relevant = np.add.reduceat(part.relevance, part.offsets[:-1])
        assert relevant.min() >= 1
        assert relevant.max() == 3
        assert len(set(part.query_ids.tolist())) == len(part)
        assert any("values equal a threshold" in note for note in part.notes)
        place = np.arange(part.n_items) - np.repeat(part.offsets[:-1], part.list_lengths)
        assert abs(place[part.relevance == 1].mean() - 9.5) < 1.8
    assert splits.test.group_spec.thresholds == splits.train.group_spec.thresholds
    assert splits.test.score is None


def test_mslr_scaling_and_thresholds_are_those_of_training_pages() -> None:
    splits = load_sample("mslr", lists=2000, seed=2)
    pages = read_pages(sample_path("mslr/msn1.fold1.train.5k.txt.gz"))
    ids = {int(str(name).split("/")[0]) for name in splits.train.query_ids}
    kept = np.repeat([query in ids for query in pages.query_ids.tolist()], np.diff(pages.offsets))
    low, high = np.quantile(pages.features[kept], [0.05, 0.95], axis=0)
    scale = np.where(high > low, high - low, 1)
    test = read_pages(sample_path("mslr/msn1.fold1.test.5k.txt.gz"))
    by_row = {int(row): k for k, row in enumerate(test.rows)}
    chosen = [by_row[item - 1] for item in splits.test.item_ids[:200].tolist()]
    np.testing.assert_allclose(splits.test.features[:200], test.features[chosen] / scale)
    threshold = np.quantile(pages.features[kept, 132], 0.4)
    assert splits.train.group_spec.thresholds == (threshold,)
    np.testing.assert_array_equal(splits.test.groups[:200], test.features[chosen, 132] >= threshold)


@pytest.mark.parametrize("k", range(2, 8))
def test_mslr_groups(k: int) -> None:
    splits = load_sample("mslr", groups=k, lists=30, mask_group=True)
    assert splits.train.n_groups == k
    assert splits.test.group_names == splits.train.group_names
    assert "133" not in splits.train.feature_names
    assert len(splits.train.feature_names) == 135


def test_a_fold_folder(tmp_path: Path) -> None:
    chunk = gzip.decompress(sample_path("mslr/msn1.fold1.train.5k.txt.gz").read_bytes())
    (tmp_path / "train.txt").write_bytes(chunk)
    (tmp_path / "vali.txt.gz").write_bytes(sample_path("mslr/msn1.fold1.test.5k.txt.gz").read_bytes())
    with pytest.raises(DataError, match=r"has no test\.txt"):
        mslr_fold(tmp_path)
    (tmp_path / "test.txt").write_bytes(chunk)
    splits = load_sample("mslr", folder=tmp_path)
    assert [len(part) for part in parts(splits)] == [23, 29, 23]  # one list from each usable query


def test_adult_people() -> None:
    for name, digest in (("adult.data", "5b002646"), ("adult.test", "a2a9044b")):
        content = gzip.decompress(sample_path(f"adult/{name}.gz").read_bytes())
        assert hashlib.sha256(content).hexdigest().startswith(digest)  # unchanged, as NOTICE says
    people = read_adult(sample_path("adult"))
    assert people.shape == (48_842, 16)
    assert people.earns_more.sum() == 11_687
    assert people.sex.value_counts().to_dict() == {"Male": 32_650, "Female": 16_192}
    first, last = people.iloc[0], people.iloc[-1]
    assert (first.age, first.occupation, first.gain, first.earns_more) == (39, "Adm-clerical", np.log1p(2174), 0)
    assert (last.age, last.workclass, last.hours, last.earns_more) == (35, "Self-emp-inc", 60, 1)


@pytest.mark.parametrize(
    ("groups", "n", "hidden"),
    [
        (None, 2, ["sex"]),
        ("marital_status", 3, ["marital_status"]),
        ("race", 5, ["race"]),
        (["sex", "marital_status"], 6, ["sex", "marital_status"]),
        ("sex+race", 10, ["sex", "race"]),
        (3, 3, ["marital_status"]),
    ],
)
def test_adult_lists_are_of_different_people_balanced_and_blind_to_the_group(groups, n, hidden) -> None:
    splits = load_sample("adult", groups=groups, lists=30, test_lists=40, seed=5)
    assert [len(part) for part in parts(splits)] == [30, 30, 40]
    people = read_adult(sample_path("adult"))
    everyone = [set(part.item_ids.tolist()) for part in parts(splits)]
    assert sum(map(len, everyone)) == len(set().union(*everyone))
    for part in parts(splits):
        assert set(part.list_lengths.tolist()) == {20}
        assert part.n_groups == n
        counts = np.stack([np.bincount(one.groups, minlength=n) for one in part])
        assert counts.max() - counts.min() == (1 if 20 % n else 0)
        assert np.ptp(counts.sum(axis=0)) <= 1 + len(part) % n  # what is left over goes round
        assert part.relevance.tolist() == people.earns_more[part.item_ids - 1].tolist()
        for one in part[:10]:
            assert len(set(one.item_ids.tolist())) == 20
    names = splits.train.feature_names
    seen = {name.partition("=")[0] for name in names}
    assert not seen & {*hidden, "relationship", "income", "weight"}
    assert {"age", "gain", "occupation"} <= seen
    age = splits.test.features[:, names.index("age")] / people.age[splits.test.item_ids - 1]
    assert np.ptp(age) < 1e-12  # divided by one number, that of the training people


def test_adult_groups_and_feature_sets() -> None:
    by_status = load_sample("adult", groups="marital_status", lists=20, features="work")
    raw = read_adult(sample_path("adult")).marital_status[by_status.test.item_ids - 1].to_numpy()
    named = np.array(by_status.test.group_names)[by_status.test.groups]
    assert set(raw[named == "never married"]) == {"Never-married"}
    assert {value.split("-")[0] for value in raw[named == "married"]} == {"Married"}
    assert set(raw[named == "was married"]) <= {"Divorced", "Separated", "Widowed"}
    seen = {name.partition("=")[0] for name in by_status.train.feature_names}
    assert seen == {"age", "education_years", "occupation", "hours"}
    assert SAMPLES["adult"].group_count("sex+race") == 10
    scored = load_sample("adult", lists=20, score="logging").test
    assert scored.score is not None
    with pytest.raises(ConfigError, match=r"'features' of Adult must be one of \['all', 'work'\], got 'some'"):
        load_sample("adult", features="some")
    with pytest.raises(ConfigError, match="'features' is for 'adult'; 'mslr' has its own features"):
        load_sample("mslr", features="work")
    for wrong in ("sex+sex", "age", []):
        with pytest.raises(ConfigError, match="'groups' of Adult must be of 'sex', 'marital_status', 'race'"):
            adult_lists(sample_path("adult"), groups=wrong)
    with pytest.raises(ConfigError, match="'adult' has 2, 3, 5, 6, 10 groups, got 4"):
        load_sample("adult", groups=4)
    with pytest.raises(ConfigError, match="2 lists of 9 cannot be drawn with as many of each of 10 groups"):
        adult_lists(sample_path("adult"), groups="sex+race", lists=(2, 2, 2), list_length=9)


def test_seeds_and_scores() -> None:
    first, again, other = (load_sample("german-credit", seed=seed, lists=30) for seed in (0, 0, 1))
    assert first.test.fingerprint == again.test.fingerprint != other.test.fingerprint
    scored = load_sample("german-credit", lists=30, score="logging")
    assert scored.test.score is not None
    assert any("linear ranker trained on 1 %" in note for note in scored.test.notes)
    assert first.test.score is None


def test_refusals(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(
        ConfigError, match=r"must be one of \['german-credit', 'mslr', 'hiring', 'adult'\], got 'letor'"
    ):
        load_sample("letor")
    with pytest.raises(ConfigError, match="'purpose', 'gender', 'age'"):
        load_sample("german-credit", groups="race")
    with pytest.raises(ConfigError, match="number of groups"):
        load_sample("mslr", groups="race")
    with pytest.raises(ConfigError, match=r"2 \(gender\), 4 \(region\)"):
        load_sample("hiring", groups=3)
    with pytest.raises(ConfigError, match="its own lists"):
        load_sample("hiring", lists=3)
    with pytest.raises(ConfigError, match="'folder' is for 'mslr'"):
        load_sample("hiring", folder=tmp_path)
    monkeypatch.setattr(samples, "__file__", str(tmp_path / "a" / "b" / "samples.py"))
    with pytest.raises(DataError, match=r"sample_data/hiring\.csv is missing"):
        load_sample("hiring")


@pytest.mark.parametrize(
    ("name", "asked"),
    [
        ("german-credit", (0.05, "absolute")),
        ("mslr", (0.05, "absolute")),
        ("hiring", (0.1, "share")),
        ("adult", (0.1, "share")),
    ],
)
def test_every_sample_says_which_delta_it_opens_with(name: str, asked: tuple[float, str]) -> None:
    assert (SAMPLES[name].delta, SAMPLES[name].unit) == asked
    assert (Sample.delta, Sample.unit) == (0.1, "share")  # of files and of samples that say nothing else


@pytest.mark.parametrize("name", ["adult", "german-credit", "mslr", "hiring"])
@pytest.mark.parametrize("groups", ["", [], True, 1.5, {"sex": 1}, [1], [["sex"]]])
def test_groups_that_are_neither_names_nor_a_number_are_refused(name, groups):
    with pytest.raises(ConfigError, match=r"'groups' is .*; give the name of a column, several names, or a number"):
        load_sample(name, groups=groups)


@pytest.mark.parametrize("lists", [0, -3, 2.5, "7", True, 10**9])
@pytest.mark.parametrize("option", ["lists", "test_lists"])
def test_lists_are_counted_in_whole_numbers(option, lists):
    with pytest.raises(ConfigError, match=f"'{option}' is {lists!r}; give an integer from 1 to 1,000,000"):
        load_sample("adult", **{option: lists})


def test_a_set_of_features_is_a_name():
    with pytest.raises(ConfigError, match="give the name of a set of them"):
        load_sample("adult", features=["work"])


@pytest.mark.parametrize(
    ("name", "options", "sources", "reused"),
    [
        ("german-credit", {"lists": 50}, (350, 350, 300), True),
        ("german-credit", {"lists": 10}, (350, 350, 300), False),
        ("mslr", {"lists": 30}, (16, 7, 29), True),
        ("adult", {"lists": 20}, (19_384, 14_804, 14_654), False),
        ("hiring", {}, None, False),
    ],
)
def test_lists_say_of_how_few_people_or_queries_they_are_drawn(name, options, sources, reused):
    splits = load_sample(name, **options)
    assert splits.sources == sources == splits.map(lambda part: part).sources
    said = [note for note in splits.test.notes if "an interval over lists" in note]
    assert len(said) == reused
    if reused:
        assert f"{options['lists']} lists are drawn from the same {sources[2]} " in said[0]
    assert (
        SAMPLES[name].sources_text(splits).startswith("" if sources is None else f"{sources[0]:,}, {sources[1]:,} and ")
    )
