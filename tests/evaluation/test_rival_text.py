"""Rivals as people write them."""

from __future__ import annotations

import pytest

from spofr_core.errors import ConfigError
from spofr_core.evaluation import Rival, parse_rival


@pytest.mark.parametrize(
    ("text", "rival", "title"),
    [
        ("score=new_score", Rival(score="new_score"), "new_score"),
        (" score = new score ", Rival(score="new score"), "new score"),
        ('score="new, improved"', Rival(score="new, improved"), "new, improved"),
        ("score=a=b", Rival(score="a=b"), "a=b"),
        ("rank=place", Rival(rank="place"), "place"),
        ("repair", Rival(repair=True), "repair"),
        ("repair,delta=5%", Rival(repair=True, delta="5%"), "repair, delta 5 %"),
        ('delta="a=5%,b=10%"', Rival(delta="a=5%,b=10%"), "delta a 5 %, b 10 %"),
        ("file=C:\\data\\new.csv", Rival(file="C:\\data\\new.csv"), "new.csv"),
        ("model=runs/x", Rival(model="runs/x"), "model x"),
        ("notion=merit", Rival(notion="merit"), "notion merit"),
        ("group=sex,group=region", Rival(group=("sex", "region")), "by sex and region"),
        ("score=s,name=the new one", Rival(score="s", name="the new one"), "the new one"),
    ],
)
def test_a_rival_is_what_differs(text, rival, title):
    assert parse_rival(text) == rival
    assert parse_rival(text).title == title


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "--with is empty; write score=new_score"),
        (" , ", "--with is empty"),
        ("new_score", "'new_score' is not known; write score="),
        ("repair=yes", "'repair=yes' is not known"),
        ("score=", "'score' has no value; write score="),
        ("score=a,score=b", "names 'score' twice"),
        ('score="a', "a double quote is not closed"),
        ("score=a,rank=b", "a score or a rank, not both"),
        ("model=m,score=b", "by the model 'm' or by a column, not by both"),
        ("name=x", "must differ in something"),
        ("delta=little", "delta is 'little'; give a number"),
        ("notion=parity", "must be one of ['exposure', 'merit', 'gap'], got 'parity'"),
    ],
)
def test_bad_rivals_are_one_sentence(text, message):
    with pytest.raises(ConfigError) as caught:
        parse_rival(text, "--with")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
