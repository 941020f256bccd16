"""Ids and names: blanks around them mean nothing, and those that are written alike are asked about."""

import io
import subprocess
import sys
import unicodedata

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from spofr_core.cli import app
from spofr_core.data import partition_folder, read_dataset
from spofr_core.data.ids import BLANKS, bare
from spofr_core.data.reading.spelling import alike_keys
from spofr_core.errors import DataError
from spofr_core.evaluation import audit, audit_folder, compare
from spofr_core.fairness import Fairness
from spofr_core.learning import PredictThenOptimize
from spofr_core.policy import Policies, fair_policies
from spofr_core.serving import read_shown

ROLES = {"query": "q", "item": "d", "group": "g", "score": "score"}
MAIN = "from spofr_core.cli import main; main()"
NARROW = "\u200b"
QUERIES = ["q1", "q1 ", "\ufeffq1", "q1\u00a0", "q2", f"{NARROW}q2", "q2", " q2"]


def frame(**changed):
    columns = {"q": ["q1"] * 4 + ["q2"] * 4, "d": list("abcd") * 2, "g": list("fmfm") * 2}
    columns |= {"score": [0.4, 0.3, 0.2, 0.1, 0.25, 0.35, 0.45, 0.15], "s": ["DE"] * 4 + ["AT"] * 4}
    return pd.DataFrame(columns | changed)


def as_parquet(table, **how):
    content = io.BytesIO()
    table.to_parquet(content, **how)
    return content.getvalue()


FORMS = {
    "CSV": lambda table: table.to_csv(index=False).encode(),
    "Parquet": as_parquet,
    "frame": lambda table: table,
    "categories": lambda table: table.astype(dict.fromkeys("qdgs", "category")),
    "Parquet with categories": lambda table: as_parquet(table.astype(dict.fromkeys("qdgs", "category"))),
}


@pytest.mark.parametrize("form", FORMS)
def test_blanks_around_ids_and_names_mean_nothing(form):
    blurred = frame(q=QUERIES, g=[f" {g}\u3000" for g in "fmfmfmfm"], d=[f"{d}\t" for d in "abcdabcd"])
    blurred["s"] += "\u2060"
    clean = read_dataset(FORMS[form](frame()), slices=["s"], **ROLES)
    data = read_dataset(FORMS[form](blurred), slices=["s"], **ROLES)
    assert data.fingerprint == clean.fingerprint
    assert data.query_ids.tolist() == ["q1", "q2"]
    assert [*data.attributes["s"]] == [*clean.attributes["s"]]
    (note,) = set(data.notes) - set(clean.notes)
    assert note.startswith("Blanks around ids and names were left out: ")
    assert {"8 in column 'g'", "5 in column 'q'", "8 in column 's'", "8 in column 'd'"} == {
        part.strip(" .") for part in note.split(":")[1].split(",")
    }


@pytest.mark.parametrize("mark", ["\0", "\u00ad", "\u061c"])
def test_marks_that_nobody_sees_are_blanks_too(mark):
    """Arrays of numpy forget a NUL at the end of a text: two ids would look the same, and be two."""
    blurred = frame(q=["q1", f"q1{mark}", f"{mark}q1", "q1", *["q2"] * 4], d=[f"{d}{mark}" for d in "abcdabcd"])
    data = read_dataset(blurred, **ROLES)
    assert data.fingerprint == read_dataset(frame(), **ROLES).fingerprint
    assert "2 in column 'q'" in str(data.notes)


def test_an_id_that_is_all_blanks_is_missing():
    for column, what in (("q", "query id"), ("d", "item id")):
        with pytest.raises(DataError, match=f"{what} is missing in column '{column}'.* at row 3"):
            read_dataset(frame(**{column: ["x", f"\u00a0{NARROW}", *"cdefgh"]}).to_csv().encode(), **ROLES)


@given(st.text(), st.text(BLANKS, max_size=3), st.text(BLANKS, max_size=3))
def test_ids_are_alike_whatever_the_case_the_form_and_the_blanks(text, before, after):
    (first,) = alike_keys(pa.array([bare(text)])).to_pylist()
    for form in ("NFC", "NFD", "NFKC", "NFKD"):
        again = bare(unicodedata.normalize(form, before + text + after))
        assert alike_keys(pa.array([again])).to_pylist() == [first]
    assert alike_keys(pa.array([bare(first)])).to_pylist() == [first]


@given(st.lists(st.integers(-(10**20), 10**20), unique=True), st.integers(0, 3), st.integers(0, 3))
def test_numbers_are_alike_where_they_are_equal(numbers, zeros, places):
    padded = [f"{'-' if n < 0 else ''}{'0' * zeros}{abs(n)}.{'0' * places}" for n in numbers]
    assert alike_keys(pa.array(padded, pa.string())).to_pylist() == [str(n) for n in numbers]


PAIRS = [
    ("1", "1.0"), ("1", "01"), ("1", "+1"), ("1.5", "1.50"), ("Female", "female"), ("Zo\u00e9", "Zoe\u0301"),
    ("m", "\uff4d"), ("stra\u00dfe", "STRASSE"), ("New York", "New\u00a0York"), ("New York", "New  York"),
    ("male", f"ma{NARROW}le"), ("male", "ma\u00adle"), ("\u2764", "\u2764\ufe0f"), ("\u0130", "i\u0307"),
]  # fmt: skip
DIFFERENT = [("1", "10"), ("1.5", "15"), ("a", "\u00e4"), ("1", "1a"), ("0.10", "10"), ("100", "1"), ("a b", "ab")]


@pytest.mark.parametrize(("one", "other"), PAIRS)
@pytest.mark.parametrize("column", ["q", "g", "s"])
def test_what_is_written_alike_is_asked_about(one, other, column):
    values = {"q": [one, one, one, other, *["q2"] * 4], "s": [one] * 4 + [other] * 4}
    values["g"] = [one, "z", one, "z", "z", other, one, "z"]
    table = frame(**{column: values[column]})
    for form in FORMS.values():
        with pytest.raises(DataError, match="join_alike=True makes them one each, join_alike=False") as asked:
            read_dataset(form(table), slices=["s"], **ROLES)
        assert asked.value.question == "alike"
        assert f"({values[column].count(one)} rows) and " in str(asked.value)
        assert f"in column '{column}'" in str(asked.value)
        apart = read_dataset(form(table), slices=["s"], join_alike=False, **ROLES)
        joined = read_dataset(form(table), slices=["s"], join_alike=True, **ROLES)
        alone = form(frame(**{column: [one if value == other else value for value in values[column]]}))
        assert joined.fingerprint == read_dataset(alone, slices=["s"], **ROLES).fingerprint
        seen = {"q": len, "g": lambda data: data.n_groups, "s": lambda data: len(set(data.attributes["s"]))}[column]
        assert seen(apart) == seen(joined) + 1
        assert any("kept apart" in note for note in apart.notes)
        assert any("are one each" in note for note in joined.notes)


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_what_is_different_is_not_asked_about(one, other):
    data = read_dataset(frame(g=[one, other] * 4), **ROLES)
    assert data.group_names == tuple(sorted((one, other)))


def test_five_pairs_are_listed_and_the_others_counted():
    table = frame(g=["a", "A", "b", "B", "c", "C", "d", "D"], q=["q", "Q"] * 4, s=["s", "S"] * 4)
    with pytest.raises(DataError) as asked:
        read_dataset(table, slices=["s"], **ROLES)
    assert str(asked.value).count(" and '") == 5
    assert "; and 1 more. Say" in str(asked.value)


def test_what_means_nothing_is_like_nothing():
    data = read_dataset(frame(g=["NA", "na", "None", "none", "f", "m", "f", "m"]), missing="exclude", **ROLES)
    assert set(data.group_names) == {"f", "m", "na", "none"}


def test_ids_of_numbers_are_what_they_are():
    assert len(read_dataset(frame(q=[1.0] * 4 + [2.0] * 4), **ROLES)) == 2
    assert len(read_dataset(frame(q=pd.Categorical(["x"] * 4 + ["z"] * 4, ["x", "X", "z"])), **ROLES)) == 2


def test_a_test_part_is_asked_about_names_of_the_training_part():
    spec = read_dataset(frame(g=["Women", "men"] * 4), **ROLES).group_spec
    test = frame(g=["women", "men"] * 4)
    with pytest.raises(DataError, match=r"'women' \(4 rows\) and 'Women' \(0 rows\)"):
        read_dataset(test, **(ROLES | {"group": spec}))
    joined = read_dataset(test, join_alike=True, **(ROLES | {"group": spec}))
    assert joined.group_names == ("Women", "men")
    both = read_dataset(frame(g=["Women", "women"] * 4), join_alike=False, **ROLES).group_spec
    assert read_dataset(frame(g=["women", "Women"] * 4), **(ROLES | {"group": both})).group_names == both.names


def test_names_that_were_each_given_another_are_settled():
    data = read_dataset(frame(g=["F", "f", "m", "m"] * 2), group_names={"F ": "women", "f": "women"}, **ROLES)
    assert data.group_sizes == {"women": 4, "m": 4}
    left = read_dataset(frame(g=["f", "m", "x", "f"] * 2), leave_out_groups=["x\u00a0"], **ROLES)
    assert left.group_names == ("f", "m")
    rest = read_dataset(frame(g=["f", "m", "x", "f"] * 2), group_against_rest=" f", **ROLES)
    assert rest.group_sizes["f"] == 4


def test_items_of_a_table_of_groups_and_of_judgments_are_found():
    groups = pd.DataFrame({"d": ["a ", "b", "\ufeffc", "d"], "g": ["f", "m ", "f", "m"]})
    looked_up = read_dataset(frame().drop(columns="g"), query="q", item="d", score="score", item_groups=groups)
    assert looked_up.fingerprint == read_dataset(frame(), **ROLES).fingerprint
    groups.loc[0, "g"] = "F"
    with pytest.raises(DataError, match=r"'F' .* and 'f'"):
        read_dataset(frame().drop(columns="g"), query="q", item="d", score="score", item_groups=groups)
    judged = read_dataset(frame(), qrels=io.BytesIO("q1 0 a\u00a0 2\nq2 0 \ufeffa 1\n".encode()), **ROLES)
    assert judged.relevance.sum() == 3


def test_a_folder_is_asked_as_a_whole(tmp_path):
    parts = [
        frame(),
        frame(q=["Q1"] * 4 + ["q2 "] * 4, d=list("efgh") * 2, g=list("fmfM") * 2, s=["de"] * 4 + ["AT"] * 4),
    ]
    for number, part in enumerate(parts):
        part.to_parquet(tmp_path / f"{number}.parquet")
    options = ROLES | {"slices": ["s"]}
    for read in (
        lambda **how: read_dataset(tmp_path, **options, **how),
        lambda **how: in_parts(tmp_path, options | how),
    ):
        with pytest.raises(DataError) as asked:
            read()
        for pair in (
            "'m' (6 rows) and 'M' (2 rows)",
            "'q1' (4 rows) and 'Q1' (4 rows)",
            "'DE' (4 rows) and 'de' (4 rows)",
        ):
            assert pair in str(asked.value)
        assert len(read(join_alike=True)) == 2
        assert len(read(join_alike=False)) == 3
    whole = audit(read_dataset(tmp_path, **options, join_alike=True), Fairness(delta=0.1)).summary
    folder = audit_folder(
        tmp_path, Fairness(delta=0.1), rows_per_part=4, mapping=options | {"join_alike": True}
    ).summary
    assert folder["groups"] == whole["groups"]
    assert folder["queries"] == whole["queries"]
    assert any("4 in column 'q'" in note for note in folder["notes"])


def in_parts(folder, options):
    scratch = folder.parent / f"{folder.name}-{len(options)}-{options.get('join_alike')}"
    scratch.mkdir()
    found = partition_folder(folder, scratch, options, min_parts=8)
    return np.concatenate([part.read().query_ids for part in found])


def test_a_log_is_read_the_same_way():
    log = pd.DataFrame(
        {
            "q": ["x", "x ", "X", "y"],
            "impression": ["1", "1\u00a0", "1", "1"],
            "position": [1, 2, 3, 1],
            "item": ["a", "b ", "c", "d"],
            "g": ["f", "m", "f ", "m"],
        }
    )
    roles = {"query": "q", "impression": "impression", "position": "position", "item": "item", "group": "g"}
    with pytest.raises(DataError, match=r"'x' \(2 rows\) and 'X' \(1 row\)"):
        read_shown(log, **roles)
    joined, apart = (read_shown(log, join_alike=join, **roles) for join in (True, False))
    assert (len(joined), joined.query_names) == (2, ("x", "y"))
    assert (len(apart), apart.query_names) == (3, ("x", "X", "y"))
    assert any(
        "1 in column 'g', 1 in column 'q', 1 in column 'impression', 1 in column 'item'" in n for n in joined.notes
    )


def test_the_shell_asks_and_is_told(tmp_path):
    path = tmp_path / "t.csv"
    frame(g=["f", "m", "F", "m"] * 2).to_csv(path, index=False)
    said = ["audit", str(path), "--query", "q", "--item", "d", "--group", "g", "--score", "score", "--delta", "90%"]
    asked = subprocess.run([sys.executable, "-c", MAIN, *said], capture_output=True, text=True, check=False)
    assert asked.returncode == 2
    assert "--join-alike makes them one each, --no-join-alike keeps them apart" in asked.stderr
    assert CliRunner().invoke(app, [*said, "--join-alike"]).exit_code == 0
    assert "kept apart: 'f' (2 rows) and 'F' (2 rows)" in CliRunner().invoke(app, [*said, "--no-join-alike"]).output


def test_rankings_that_are_compared_say_what_was_not_paired(tmp_path):
    first = audit(read_dataset(frame(), **ROLES), Fairness(delta=0.1))
    half = audit(read_dataset(frame(q=["q1"] * 4 + ["Q2"] * 4, g=["f", "M"] * 4), **ROLES), Fairness(delta=0.1))
    notes = compare({"now": first, "new": half}).summary["rivals"]["new"]["notes"]
    assert any("queries 'q2' and 'Q2' are written alike, but were not paired" in note for note in notes)
    assert any("groups 'm' and 'M' are written alike" in note for note in notes)
    other = audit(read_dataset(frame(q=["Q1"] * 4 + ["Q2"] * 4), **ROLES), Fairness(delta=0.1))
    with pytest.raises(DataError, match="'q1' and 'Q1' and 1 more such queries are written alike"):
        compare({"now": first, "new": other})
    whole, doubles = (
        audit(read_dataset(frame(q=q), **ROLES), Fairness(delta=0.1))
        for q in (["1"] * 4 + ["2"] * 4, [1.0] * 4 + [2.0] * 4)
    )
    assert compare({"now": whole, "new": doubles}).summary["rivals"]["new"]["queries"]["both"] == 2


def test_parts_whose_groups_are_written_alike_are_not_trained_on_together():
    train, validation = (
        read_dataset(frame(g=g, rel=[0, 1] * 4), relevance="rel", features=["score"], **ROLES)
        for g in (["f", "m"] * 4, ["F", "m"] * 4)
    )
    with pytest.raises(DataError, match="training part has a group 'f' and the validation part 'F'"):
        PredictThenOptimize(Fairness(delta=0.1), max_epochs=1).fit(train, validation)


def test_a_table_of_policies_names_queries_and_items_with_blanks():
    data = read_dataset(frame(), **ROLES)
    policies = fair_policies(data, Fairness(delta="10%"))
    table = policies.to_frame()
    table["query_id"] += " "
    table["item_id"] = NARROW + table["item_id"]
    again = Policies.from_frame(table, data, Fairness(delta="10%"))
    assert again.to_frame().equals(policies.to_frame())
