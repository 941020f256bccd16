"""Which column is what: all that is missing is asked for at once, and what has two roles is remarked."""

from __future__ import annotations

import pickle

import pandas as pd
import pytest

from spofr_core.data import check_mapped_twice, read_dataset
from spofr_core.errors import DataError, SpofrError

FRAME = pd.DataFrame({"a": [1, 1, 2], "b": ["x", "y", "x"], "c": ["f", "m", "f"], "d": [0.3, 0.2, 0.1]})


def refusal(**options: object) -> DataError:
    with pytest.raises(DataError) as caught:
        read_dataset(FRAME, **options)
    return caught.value


def test_all_that_is_missing_is_named_at_once() -> None:
    error = refusal()
    assert error.fields == ("query", "group")
    assert "Which columns of the DataFrame are the query and the group?" in str(error)
    assert "Name them: query='...', group='...'." in str(error)
    assert error.plain.endswith("Choose a column for 'Query' and for 'Group'.")
    assert refusal(group="c").fields == ("query",)
    assert refusal(query="a").fields == ("group",)


@pytest.mark.parametrize("role", ["item", "group", "score", "relevance"])
def test_a_query_column_is_nothing_else(role: str) -> None:
    error = refusal(**({"query": "a", "group": "c"} | {role: "a"}))
    assert error.fields == ("query", role)
    assert f"as the query and as the {role}" in str(error)
    assert error.plain == str(error)


def test_a_column_with_two_roles_is_remarked() -> None:
    data = read_dataset(FRAME, query="a", group="c", score="d", relevance="d")
    said = "Column 'd' has more than one role here: it is the score and the relevance. Is that meant?"
    assert said in check_mapped_twice({"score": "d", "relevance": "d", "group": ["c", "b"]})
    assert any(note.startswith("Column 'd' has more than one role here") for note in data.notes)
    cut = read_dataset(FRAME, query="a", group="d", group_quantiles=2, score="d")
    assert any("'d' has more than one role" in note for note in cut.notes)
    crossed = read_dataset(FRAME, query="a", item="b", group=["b", "c"], score="d")
    assert any(
        "Column 'b' has more than one role here: it is the item and the group." in note for note in crossed.notes
    )
    assert not any("one role" in note for note in read_dataset(FRAME, query="a", group="c", score="d").notes)


@pytest.mark.parametrize(
    ("text", "options", "fields"),
    [
        ("qid,doc,group\n1,a,f\n1,b,\n", {}, ("missing",)),
        ('qid,doc,group,score\n1,a,f,"4,752"\n1,b,m,1\n', {}, ("decimal",)),
        ("qid,doc,group\n1,André,f\n".encode("latin-1"), {}, ("encoding",)),
        ("qid,doc,group\n1,a,f,3\n", {}, ("delimiter",)),
        ("f,1\nm,2\nf,3\n", {}, ("header",)),
        ("2 qid:1 1:0.5\n0 qid:1 1:0.2\n", {}, ("group",)),
        ("a,b\n1,f\n", {}, ("query", "group")),
    ],
)
def test_messages_for_pages_have_no_python_in_them(
    text: str | bytes, options: dict[str, str], fields: tuple[str, ...]
) -> None:
    with pytest.raises(DataError) as caught:
        read_dataset(text if isinstance(text, bytes) else text.encode(), **options)
    error = caught.value
    assert error.fields == fields
    assert "=" not in error.plain
    assert error.plain != str(error)
    copy = pickle.loads(pickle.dumps(error))  # noqa: S301  # our own
    assert (str(copy), copy.plain, copy.fields, copy.question) == (str(error), error.plain, fields, error.question)


def test_every_error_has_a_form_for_pages() -> None:
    assert SpofrError("so").plain == "so"
    assert DataError("What is wrong.", mend="Say a='b'.", on_page="Choose b.").plain == "What is wrong. Choose b."
    assert str(DataError("What is wrong.", mend="Say a='b'.")) == "What is wrong. Say a='b'."
