"""Which sign begins the fraction of a number, and which ones group its thousands."""

import io

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spofr_core.data import partition_folder, read_dataset
from spofr_core.data.formats.decimal_signs import fits, plain_number
from spofr_core.errors import DataError

ROLES = {"query": "q", "item": "d", "group": "g", "score": "score"}


def frame(scores, **others):
    columns = {"q": "x", "d": range(len(scores)), "g": list("fm" * len(scores))[: len(scores)], "score": scores}
    return pd.DataFrame(columns | others)


def as_parquet(table):
    content = io.BytesIO()
    table.to_parquet(content)
    return content.getvalue()


FORMS = {
    "semicolons": lambda table: table.to_csv(index=False, sep=";").encode(),
    "commas": lambda table: table.to_csv(index=False).encode(),
    "Parquet": as_parquet,
    "frame": lambda table: table,
}
TELLING = [
    (["4,752", "0,5"], [4.752, 0.5]),
    (["4,752", "12,3"], [4.752, 12.3]),
    (["4,752", "0.5"], [4752, 0.5]),
    (["4,752", "1,234,567"], [4752, 1234567]),
    (["9,72e+2", "12"], [972, 12]),
    (["9,72E-2", "-1,5"], [0.0972, -1.5]),
    (["1.234,5", "7"], [1234.5, 7]),
    (["1.234,5", "2.345"], [1234.5, 2345]),
    (["1,234.5", "7"], [1234.5, 7]),
    (["1,234.5", "2,345"], [1234.5, 2345]),
    (["1 234,5", "7"], [1234.5, 7]),
    (["1\u202f234,5", "1\u00a0234"], [1234.5, 1234]),
    (["1'234.5", "7"], [1234.5, 7]),
    (["1\u2019234", "7"], [1234, 7]),
    (["1.234.567", "7"], [1234567, 7]),
    (["0,125", "4,752"], [0.125, 4.752]),
    (["1.234", "4.752"], [1.234, 4.752]),
    (["1234,567", "4,752"], [1234.567, 4.752]),
]


@pytest.mark.parametrize(("texts", "numbers"), TELLING)
@pytest.mark.parametrize("form", FORMS)
def test_a_column_decides_its_decimal_sign(form, texts, numbers):
    assert read_dataset(FORMS[form](frame(texts)), **ROLES).score.tolist() == numbers
    for sign in ",.":  # what a column says counts more
        if texts != ["1.234", "4.752"]:
            assert read_dataset(FORMS[form](frame(texts)), decimal=sign, **ROLES).score.tolist() == numbers


@pytest.mark.parametrize("form", FORMS)
def test_what_nothing_decides_is_asked_about(form):
    source = FORMS[form](frame(["4,752", "3,120", "12"]))
    with pytest.raises(
        DataError, match=r"'4,752' at row \d, and nothing in the file says whether that is 4.752 or 4752"
    ) as asked:
        read_dataset(source, **ROLES)
    assert asked.value.question == "decimal"
    assert read_dataset(source, decimal=",", **ROLES).score.tolist() == [4.752, 3.12, 12]
    thousands = read_dataset(source, decimal=".", **ROLES)
    assert thousands.score.tolist() == [4752, 3120, 12]
    assert any("'4,752' was read as 4752." in note for note in thousands.notes)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("other", "number"), [("0,5", 4.752), ("0.5", 4752)])
def test_another_column_of_the_file_decides(form, other, number):
    data = read_dataset(FORMS[form](frame(["4,752", "3,120"], other=[other, "1"])), **ROLES)
    assert data.score[0] == number
    words = ("was read as", "have a decimal comma")
    if form != "commas" or number != 4.752:
        assert any(word in note for note in data.notes for word in words)


def test_text_is_no_column_of_numbers():
    with pytest.raises(DataError, match=r"4\.752 or 4752"):
        read_dataset(frame(["4,752", "3,120"], other=["0,5", "version 2"]), **ROLES)


@pytest.mark.parametrize(
    "texts", [["1,23,456", "7"], ["1.2.3", "7"], ["1,2.3,4", "7"], ["1.234,5", "1,234.5"], ["$5", "7"]]
)
def test_what_no_sign_reads_is_refused(texts):
    for form in FORMS.values():
        with pytest.raises(DataError, match=r"a number is needed|no decimal sign reads both"):
            read_dataset(form(frame(texts)), **ROLES)


@given(
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(",."),
    st.sampled_from(["", " ", "'", "\u202f", "swap"]),
)
def test_numbers_written_with_signs_are_read_back(number, sign, group):
    group = {"swap": "," if sign == "." else "."}.get(group, group)
    written = f"{number:,.6f}".replace(",", "\x00").replace(".", sign).replace("\x00", group)
    assert fits(written, sign)
    assert float(plain_number(written, sign)) == float(f"{number:.6f}")


def test_whole_numbers_beyond_doubles_keep_their_order():
    texts = ["9.007.199.254.740.993,0", "9.007.199.254.740.992,0", "1,5"]
    assert read_dataset(frame(texts), **ROLES).score.tolist() == [-1, -2, -3]


def test_parts_of_a_folder_have_one_sign(tmp_path):
    for number, scores in enumerate((["4,752", "3,120"], ["0,5", "7"])):
        table = frame(scores, relevance=["-1,250", "1"] if number else ["-2,5", "0"])
        table.assign(q=f"x{number}").to_parquet(tmp_path / f"{number}.parquet")
    scratch = tmp_path.parent / f"{tmp_path.name}-scratch"
    scratch.mkdir()
    parts = partition_folder(tmp_path, scratch, ROLES | {"relevance": "relevance"}, min_parts=8)
    assert sorted(np.concatenate([part.read().score for part in parts])) == [0.5, 3.12, 4.752, 7]
    assert parts.label_shift == 2.5
    for number, scores in enumerate((["4,752", "3,120"], ["6,543", "7"])):
        frame(scores).to_parquet(tmp_path / f"{number}.parquet")
    with pytest.raises(DataError, match="decimal=','"):
        partition_folder(tmp_path, scratch, ROLES)


def test_parts_of_a_folder_say_how_a_comma_was_read(tmp_path):
    frame(["4,752", "3,120"]).to_parquet(tmp_path / "0.parquet")
    for sign, number in ((",", "4.752"), (".", "4752")):
        scratch = tmp_path.parent / f"{tmp_path.name}-{number}"
        scratch.mkdir()
        parts = partition_folder(tmp_path, scratch, ROLES | {"decimal": sign}, min_parts=8)
        assert f"In column 'score' of the folder, '4,752' was read as {number}." in parts.notes
    frame(["0,5", "7"]).assign(q=["x1", "y1"]).to_parquet(tmp_path / "1.parquet")  # what the column says counts more
    scratch = tmp_path.parent / f"{tmp_path.name}-decided"
    scratch.mkdir()
    parts = partition_folder(tmp_path, scratch, ROLES | {"decimal": "."}, min_parts=8)
    assert sorted(np.concatenate([part.read().score for part in parts])) == [0.5, 3.12, 4.752, 7]
