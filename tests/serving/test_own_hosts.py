"""A service that was reached under a stranger's name says nothing: what a name is, and the application around it."""

from __future__ import annotations

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from spofr_core.fairness import Fairness
from spofr_core.serving.own_hosts import is_own_host, is_own_origin
from spofr_core.serving.service import make_app
from spofr_core.serving.service_settings import ServiceSettings

NAMES = ["localhost", "audits.example.org", "*.example.net"]


@pytest.mark.parametrize(
    "host",
    [
        "localhost",
        "localhost:8000",
        "LocalHost.",
        "127.0.0.1:8000",
        "[::1]:8000",
        "10.0.0.7",
        "audits.example.org:443",
        "a.example.net",
        "a.b.example.net",
    ],
)
def test_numbers_and_given_names_are_ours(host):
    assert is_own_host(host, NAMES)


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "127.0.0.1.evil.io",
        "localhost.evil.io",
        "evil.io:8000",
        "",
        "localhost:port",
        "[::1",
        "a@localhost",
        "localhost/evil.io",
        "example.net",
        "badexample.net",
        "xaudits.example.org",
    ],
)
def test_everything_else_is_a_stranger(host):
    assert not is_own_host(host, NAMES)


@pytest.mark.parametrize(
    ("origin", "host"),
    [
        ("http://localhost:8000", "localhost:8000"),
        ("http://10.0.0.7:8000", "10.0.0.7:8000"),
        ("http://[::1]:8000", "[::1]:8000"),
        ("https://audits.example.org", "127.0.0.1:8000"),
        ("https://a.example.net:8443", "10.0.0.7"),
    ],
)
def test_pages_of_the_host_that_was_asked_and_of_given_names_are_ours(origin, host):
    assert is_own_origin(origin, host, NAMES)


@pytest.mark.parametrize(
    "origin",
    [
        *("null", "", "https://evil.example", "http://10.0.0.8:8000"),
        *("http://localhost.evil.io", "http://[::1", "localhost"),
    ],
)
def test_all_other_pages_are_strangers(origin):
    assert not is_own_origin(origin, "10.0.0.7:8000", NAMES)


def answered(app, path, *hosts, **more):
    """Status and text of what the application answers to GET; without HTTP between."""
    sent = []

    async def receive():
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message):
        sent.append(message)

    scope = {"type": "http", "http_version": "1.1", "method": "GET", "scheme": "http", "path": path, "root_path": ""}
    scope |= {"raw_path": path.encode(), "query_string": b"", "headers": [(b"host", host.encode()) for host in hosts]}
    scope["headers"] += [(name.encode(), value.encode()) for name, value in more.items()]
    with ThreadPoolExecutor(1) as elsewhere:  # a browser's test may have left a loop in this thread
        elsewhere.submit(lambda: asyncio.run(app(scope, receive, send))).result()
    return sent[0]["status"], b"".join(message.get("body", b"") for message in sent).decode()


@pytest.fixture(scope="module")
def app(tmp_path_factory):
    state = tmp_path_factory.mktemp("service") / "counters"
    return make_app(ServiceSettings(fairness=Fairness(delta=0.25), state=state))


@pytest.mark.parametrize("path", ["/health", "/metrics", "/docs", "/openapi.json", "/rank", "/nothing"])
def test_a_foreign_name_that_points_here_is_told_nothing(app, path):
    status, said = answered(app, path, "evil.example:8000")
    assert status == 421
    (told,) = json.loads(said)["detail"]
    assert told["field"] == "host"
    assert told["message"] == (
        "This service does not answer to 'evil.example:8000'; start it with --host-name and that name."
    )


@pytest.mark.parametrize("path", ["/health", "/metrics", "/rank", "/nothing"])
def test_pages_of_strangers_are_told_nothing(app, path):
    status, said = answered(app, path, "localhost:8000", origin="https://evil.example")
    assert status == 403
    (told,) = json.loads(said)["detail"]
    assert told == {
        "field": "origin",
        "message": "Pages of 'https://evil.example' are not answered here; --host-name can name their host.",
    }
    assert answered(app, "/health", "localhost:8000", origin="http://localhost:8000")[0] == 200


def test_two_names_are_two_chances_to_be_a_stranger(app):
    assert answered(app, "/health", "localhost", "evil.example")[0] == 421


@pytest.mark.parametrize("hosts", [["localhost:8000"], ["127.0.0.1"], []])
def test_this_machine_is_answered_and_a_program_that_names_no_host(app, hosts):
    status, said = answered(app, "/health", *hosts)
    assert status == 200
    assert '"delta": 0.25' in said


def test_a_long_name_is_not_repeated_at_length(app):
    assert len(answered(app, "/health", "e" * 50_000)[1]) < 400
