"""The service: what a request may say, what is answered when fairness cannot be had, and who may ask."""

from __future__ import annotations

import json

import pytest

from spofr_core.data import UNKNOWN
from spofr_core.errors import ConfigError
from spofr_core.fairness import Fairness
from spofr_core.policy import fair_policy
from spofr_core.serving import audit_shown, check_counters, read_shown
from spofr_core.serving.impression_log import write_parts
from spofr_core.serving.service import Refused, Service, make_app
from spofr_core.serving.service_page import service_page
from spofr_core.serving.service_settings import ServiceSettings

LIST = {
    "query": "q",
    "items": [
        {"id": name, "group": group, "score": score}
        for name, group, score in zip("vwxyz", "aaabb", (0.9, 0.8, 0.7, 0.2, 0.1), strict=True)
    ],
}


def service(tmp_path, **settings) -> Service:
    return Service(ServiceSettings(**{"fairness": Fairness(delta=0.03), "state": tmp_path / "counters", **settings}))


def asked(found: Service, **changes):
    return found.answer(json.dumps({**LIST, **changes}).encode())


def refused(found: Service, body) -> dict[str, str]:
    with pytest.raises(Refused) as refusal:
        found.answer(body if isinstance(body, bytes) else json.dumps(body).encode())
    assert refusal.value.status == 422
    return {entry["field"]: entry["message"] for entry in refusal.value.detail}


def test_an_answer_is_a_ranking_of_the_policy_with_its_bound(tmp_path):
    found = service(tmp_path)
    policy = fair_policy([0.9, 0.8, 0.7, 0.2, 0.1], list("aaabb"), Fairness(delta=0.03))
    rankings = [["vwxyz"[i] for i in ranking] for ranking in policy.rankings]
    answers = [asked(found) for _ in range(20)]
    for t, answer in enumerate(answers, start=1):
        assert answer["ranking"] == rankings[answer["index"]]
        assert answer["probability"] == pytest.approx(policy.probabilities[answer["index"]])
        assert (answer["impressions"], answer["how"], answer["delta"]) == (t, "fair", 0.03)
        assert answer["bound"] == pytest.approx(answers[0]["bound"] / t)
    assert {answer["policy"] for answer in answers} == {answers[0]["policy"]}
    assert asked(found, query=None)["bound"] is None
    text = found.metrics.text().decode()
    assert 'spofr_impressions_total{how="fair"} 21.0' in text


def test_a_request_may_bring_its_own_delta(tmp_path):
    found = service(tmp_path)
    first = asked(found)
    free = asked(found, delta=1.0)
    assert (free["delta"], free["ranking"], free["anew"]) == (1.0, list("vwxyz"), True)
    assert free["policy"] != first["policy"]
    for k in range(60):
        asked(found, delta=0.5 + k / 100)
    assert len(found._rerankers) <= 33


def item(**changes):
    return {**LIST, "items": [*LIST["items"][:1], {**LIST["items"][1], **changes}]}


@pytest.mark.parametrize(
    ("body", "field", "message"),
    [
        (b"{", "body", "the body is no JSON"),
        (b"[]", "body", "give an object"),
        ({}, "items", "it is missing; add it"),
        ({**LIST, "items": []}, "items", "give at least one item"),
        ({**LIST, "detla": 0.1}, "detla", "nobody knows this field; leave it out"),
        ({**LIST, "delta": -0.1}, "delta", "'delta' is -0.1; give a larger number: it must be at least 0"),
        (item(score="0.8"), "items.1.score", "'items.1.score' is '0.8'; give a number"),
        (item(score=None), "items.1.score", "'items.1.score' is null; give a number"),
        (item(score=1e301), "items.1.score", "give a smaller number"),
        (item(group=""), "items.1.group", "give at least one letter"),
        (item(group="x" * 600), "items.1.group", "give at most 512 letters"),
        (item(id="v"), "items", "The item id 'v' occurs twice"),
        ({**LIST, "items": LIST["items"] * 300}, "items", "has 1500 items; this service takes at most 1000"),
        (json.dumps(LIST).replace("0.9", "NaN").encode(), "items.0.score", "give a finite number"),
    ],
)
def test_bad_input_names_the_field_and_the_remedy(tmp_path, body, field, message):
    found = refused(service(tmp_path), body)
    assert message in found[field]


def test_too_many_groups_are_refused(tmp_path):
    items = [{"id": k, "group": k, "score": k} for k in range(25)]
    assert "has 25 groups; this service takes at most 20" in refused(service(tmp_path), {"items": items})["items"]


def test_numbers_are_names_too_and_odd_names_are_only_names(tmp_path):
    names = ["<script>", "=1+1", "女", "'; DROP TABLE counters; --", "\u0001\u0000\u0001"]
    items = [{"id": name, "group": name[:1], "score": k} for k, name in enumerate(names)]
    found = service(tmp_path, log=tmp_path / "log")
    answer = found.answer(
        json.dumps({"query": names[3], "items": [*items, {"id": 7, "group": 1, "score": 3}]}).encode()
    )
    assert sorted(answer["ranking"]) == sorted([*names, "7"])
    found.flush()
    assert [path.suffix for path in (tmp_path / "log").iterdir()] == [".parquet"]


def test_blanks_around_ids_and_names_mean_nothing_as_in_a_file(tmp_path):
    """The log is read without them, so whatever differed by them alone would be one there and two in the counters."""
    found = service(tmp_path, log=tmp_path / "log")
    first = asked(found)
    items = [{**each, "id": f"{each['id']}\u200b", "group": f" {each['group']}\u0000"} for each in LIST["items"]]
    for count, query in enumerate(["q", "q ", "q\u0000", "\ufeffq"], 2):
        answer = asked(found, query=query, items=items)
        assert (answer["query"], answer["policy"], answer["impressions"]) == (query, first["policy"], count)
        assert sorted(answer["ranking"]) == [each["id"] for each in items]  # as they were sent
    found.flush()
    assert check_counters(read_shown(tmp_path / "log"), tmp_path / "counters").ok
    double = [{**LIST["items"][0], "id": "v "}, *LIST["items"]]
    assert "occurs twice" in refused(found, {**LIST, "items": double})["items"]
    for field, body in {
        "query": {"query": " "},
        "items.0.id": {"items": [{**LIST["items"][0], "id": "\u0000"}]},
        "items.0.group": {"items": [{**LIST["items"][0], "group": "\u200b"}]},
    }.items():
        assert "give at least one letter" in refused(found, {**LIST, **body})[field]


@pytest.mark.parametrize(
    ("given", "label"),
    [("true", "true"), ("false", "false"), ("7", "7"), ("0.5", "0.5"), ("1e5", "100000"), ("-2.0", "-2")],
)
def test_what_is_no_text_but_can_be_a_label_is_one(tmp_path, given, label):
    """A group `true` in JSON is the group "true" of a CSV file: the same policy, and the same counters."""
    found, body = service(tmp_path), json.dumps(LIST).replace('"b"', '"GROUP"').replace('"v"', '"ID"')
    plain = found.answer(body.replace("GROUP", label).replace("ID", label).encode())
    typed = found.answer(body.replace('"GROUP"', given).replace('"ID"', given).encode())
    assert (typed["policy"], typed["impressions"]) == (plain["policy"], 2)
    assert label in typed["ranking"]
    assert found.answer(body.replace('"q"', given).encode())["query"] == label


@pytest.mark.parametrize(
    ("place", "given", "said"),
    [
        ("id", "null", "'items.1.id' is null; give a text."),
        ("id", "[1]", "'items.1.id' is [1]; give a text."),
        ("group", '{"a": 1}', "'items.1.group' is {'a': 1}; give a text."),
        ("id", "NaN", "'items.1.id' is nan; give a text."),
        ("group", "-1e999", "'items.1.group' is -inf; give a text."),
        ("group", "null", "'items.1.group': it is missing; add it, or start the service with --missing keep."),
        ("score", "true", "'items.1.score' is true; give a number."),
    ],
)
def test_what_cannot_be_a_label_is_refused_with_its_place(tmp_path, place, given, said):
    body = json.dumps(item(**{place: "HERE"})).replace('"HERE"', given)
    assert refused(service(tmp_path), body.encode()) == {f"items.1.{place}": said}


IMPOSSIBLE = Fairness(delta=0.0, notion="merit", merits={"a": 0.0, "b": 5.0})


@pytest.mark.parametrize("otherwise", ["sort", "relax", "refuse"])
def test_what_is_answered_where_no_policy_holds_delta_is_a_setting(tmp_path, otherwise):
    found = service(tmp_path, fairness=IMPOSSIBLE, otherwise=otherwise, log=tmp_path / "log")
    if otherwise == "refuse":
        assert "No policy of query" in refused(found, LIST)["items"]
        return
    answer = asked(found)
    assert answer["how"] == {"sort": "sorted", "relax": "relaxed"}[otherwise]
    if otherwise == "sort":
        assert (answer["ranking"], answer["bound"]) == (list("vwxyz"), None)
        assert "the smallest that one could hold is" in answer["reason"]
    assert found.store.waiting() == 1
    assert f'spofr_impressions_total{{how="{answer["how"]}"}} 1.0' in found.metrics.text().decode()


@pytest.mark.parametrize(("otherwise", "status"), [("sort", 503), ("refuse", 422), ("relax", None)])
def test_a_strict_service_sorts_nothing_by_score(tmp_path, otherwise, status):
    """What can be relaxed is guaranteed within the delta that the answer says; what cannot is not answered."""
    found = service(tmp_path, fairness=IMPOSSIBLE, otherwise=otherwise, strict=True)
    if status is None:
        answer = asked(found)
        assert (answer["how"], answer["guaranteed"]) == ("relaxed", True)
    unknown = [{"id": k, "group": "new", "score": k} for k in range(3)] + [{"id": 3, "group": "a", "score": 1}]
    with pytest.raises(Refused) as refusal:
        asked(found, **({} if status else {"items": unknown}))
    assert refusal.value.status == (status or 503)
    assert found.health()["ok"]  # nothing is broken: it is the list
    assert 'how="sorted"} 0.0' in found.metrics.text().decode()


@pytest.mark.parametrize("otherwise", ["sort", "relax"])
def test_a_group_that_nobody_told_of_is_sorted_marked_and_logged(tmp_path, otherwise):
    found = service(tmp_path, fairness=IMPOSSIBLE, otherwise=otherwise, log=tmp_path / "log")
    items = [{"id": k, "group": "new", "score": k} for k in range(3)] + [{"id": 3, "group": "a", "score": 1}]
    answer = asked(found, items=items)
    assert (answer["how"], answer["ranking"][0]) == ("sorted", "2")
    assert "No merit is given for group 'new'" in answer["reason"]
    assert found.store.waiting() == 1


def test_readers_get_a_ranking_even_when_the_counters_are_gone(tmp_path):
    found = service(tmp_path, log=tmp_path / "log")
    found.store.close()
    answer = asked(found)
    assert (answer["how"], answer["ranking"], answer["guaranteed"]) == ("sorted", list("vwxyz"), False)
    assert "spofr_failures_total 1.0" in found.metrics.text().decode()
    assert not found.health()["ok"]
    assert "The counters cannot be read" in found.health()["reason"]


def test_settings_go_through_the_environment_and_hide_the_token(tmp_path, monkeypatch):
    settings = ServiceSettings(
        fairness=Fairness(delta="10%"), state=tmp_path / "counters", log=tmp_path / "log", token="secret"
    )
    for name, value in settings.to_environment().items():
        monkeypatch.setenv(name, value)
    assert ServiceSettings.from_environment() == settings
    assert "secret" not in repr(settings)
    assert "secret" not in settings.to_environment()["SPOFR_SERVICE"]
    with pytest.raises(ConfigError, match="plain letters"):
        ServiceSettings(fairness=Fairness(delta=0.1), state=tmp_path, token="ü")


def test_the_page_of_the_service_loads_nothing_from_elsewhere(tmp_path):
    settings = ServiceSettings(fairness=Fairness(delta="10%"), state=tmp_path / "counters")
    page = service_page(make_app(settings).openapi(), settings)
    assert "POST /rank" in page
    assert "delta is 10 %" in page
    assert not any(mark in page for mark in ("<script", "<link", "src=", "https:"))


def test_each_item_on_its_own_needs_no_groups(tmp_path):
    found = service(tmp_path, each_item=True, most_alone=5, log=tmp_path / "log")
    bare = [{"id": item["id"], "score": item["score"]} for item in LIST["items"]]
    answer = asked(found, items=bare)
    assert answer["how"] == "fair"
    assert sorted(answer["ranking"]) == list("vwxyz")
    policy = fair_policy([0.9, 0.8, 0.7, 0.2, 0.1], range(5), Fairness(delta=0.03))
    assert answer["probability"] in [pytest.approx(p) for p in policy.probabilities]
    assert asked(found)["policy"] == answer["policy"]  # a group that comes along changes nothing
    longer = [*bare, {"id": "u", "score": 0.0}]
    assert (
        "6 items, each on its own; this service takes at most 5 (--most-alone)"
        in refused(found, {"query": "q", "items": longer})["items"]
    )
    with pytest.raises(ConfigError, match="A gap is between two groups"):
        service(tmp_path, each_item=True, fairness=Fairness(delta=0.1, notion="gap"))


def test_a_group_that_was_forgotten_is_asked_for(tmp_path):
    bare = [*LIST["items"][:2], {"id": "x", "score": 0.5}]
    words = "'items.2.group': it is missing; add it, or start the service with --missing keep."
    assert refused(service(tmp_path), {"items": bare}) == {"items.2.group": words}


def test_an_item_whose_group_is_null_keeps_its_place_in_answer_log_and_audit(tmp_path):
    found = service(tmp_path, missing="keep", log=tmp_path / "log")
    items = [*LIST["items"][:2], {"id": "x", "group": None, "score": 0.7}, *LIST["items"][3:]]
    groups = ["a", "a", None, "b", "b"]
    policy = fair_policy([0.9, 0.8, 0.7, 0.2, 0.1], groups, Fairness(delta=0.03), missing="keep")
    answers = [asked(found, items=items) for _ in range(12)]
    for answer in answers:
        assert answer["ranking"] == ["vwxyz"[i] for i in policy.rankings[answer["index"]]]
    assert answers[0]["policy"] != asked(found)["policy"]
    (tmp_path / "log").mkdir(exist_ok=True)
    write_parts(found.store, tmp_path / "log")
    log = read_shown(tmp_path / "log", missing="keep")
    assert (log.groups == UNKNOWN).sum() == 12
    shown = audit_shown(log, Fairness(delta=0.03)).queries.iloc[0]
    assert shown["within"]
