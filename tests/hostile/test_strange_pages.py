"""Who may talk to the dashboard: its own pages. A real server, and clients that speak Streamlit's websocket to it."""

from __future__ import annotations

import re
import socket
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.exceptions import InvalidStatus
from websockets.sync.client import ClientConnection, connect

from dashboard.session.accounts.own_page import is_own_page
from tests.browser import server

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with server.dashboard(tmp_path_factory.mktemp("dashboard") / "log") as url:
        yield url


def opened(address: str, origin: str | None) -> ClientConnection:
    return connect(
        address.replace("http", "ws") + "/_stcore/stream", origin=origin, subprotocols=["streamlit"], max_size=None
    )


def under_the_name(address: str, name: str) -> ClientConnection:
    """What a page of this name opens, if the name leads to this server."""
    port = int(address.rpartition(":")[2])
    here = socket.create_connection(("127.0.0.1", port))
    own = f"//{name}:{port}"
    return connect(f"ws:{own}/_stcore/stream", sock=here, origin=f"http:{own}", subprotocols=["streamlit"])


def answered(address: str, origin: str | None, query: str = "") -> str:
    """Everything that a page says, as one text, to whoever asks from this origin."""
    with opened(address, origin) as socket:
        asked = BackMsg()
        asked.rerun_script.query_string = query
        socket.send(asked.SerializeToString())
        said = []
        while True:
            message = ForwardMsg.FromString(socket.recv(timeout=120))
            said.append(str(message))
            if message.WhichOneof("type") == "script_finished":
                return "".join(said)


def test_its_own_page_is_answered(address: str) -> None:
    said = answered(address, address)
    assert "hold delta" in said
    assert "not answered" not in said


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "https://evil.example:8501", "null", "http://127.0.0.1.evil.io"]
)
def test_a_page_of_a_stranger_gets_no_connection(address: str, origin: str) -> None:
    with pytest.raises(InvalidStatus, match="403"):
        opened(address, origin)


@pytest.mark.parametrize("name", ["evil.example", "127.0.0.1.evil.io", "localhost.evil.io"])
def test_a_foreign_name_that_points_here_gets_no_connection(address: str, name: str) -> None:
    """DNS rebinding: for the browser the stranger's page and this server are one place; it still says which name."""
    with pytest.raises(InvalidStatus, match="403"), under_the_name(address, name):
        pass


def test_this_machine_is_known_by_its_usual_name(address: str) -> None:
    with under_the_name(address, "localhost") as connection:
        assert connection.subprotocol == "streamlit"


@pytest.mark.parametrize("origin", ["http://localhost:3000", "http://127.0.0.1:1", "http://0.0.0.0:80"])
def test_a_page_of_another_port_is_told_nothing(address: str, origin: str) -> None:
    said = answered(address, origin, "data=hiring")
    assert "not answered" in said
    assert "quer" not in said
    assert "plotly_chart" not in said


def test_a_program_without_a_page_is_answered(address: str) -> None:
    assert "hold delta" in answered(address, None)


@pytest.mark.parametrize(
    "query",
    ["delta=nan", "delta=inf", "delta=1e400", "delta=-0.0&unit=share", "quota=1e9@1e9", "k=%00&data=../../etc/passwd"],
)
def test_numbers_that_are_none_in_an_address(address: str, query: str) -> None:
    said = answered(address, address, query)
    assert "hold delta" in said
    assert "exception" not in said


def test_an_address_of_ten_megabytes(address: str) -> None:
    said = answered(address, address, "delta=0.05&data=" + "9" * 10_000_000)
    assert "hold delta" in said
    assert len(said) < 5_000_000


def test_what_is_served_over_http_is_for_its_own_pages(address: str) -> None:
    """No other page may read answers, and nothing takes orders without a page."""
    for path in ("/_stcore/health", "/_stcore/host-config", "/media/x.csv", "/_stcore/agent/openapi.json"):
        asked = urllib.request.Request(address + path, headers={"Origin": "http://evil.example"})
        try:
            with urllib.request.urlopen(asked, timeout=30) as answer:
                headers, content = answer.headers, answer.read().decode()
        except urllib.error.HTTPError as refusal:
            headers, content = refusal.headers, refusal.read().decode()
        assert headers.get("Access-Control-Allow-Origin") is None, path
        assert not re.search(r"streamlit\.app", content), path


def test_nothing_that_is_taken_away_has_an_address() -> None:
    """Streamlit serves its own kinds of downloads and pictures to whoever knows their address: pages have none."""
    served = re.compile(r"\.(download_button|image|audio|video|pdf|logo)\(")
    pages = (Path(__file__).resolve().parents[2] / "dashboard").rglob("*.py")
    assert [str(path) for path in pages if served.search(path.read_text())] == []


@pytest.mark.parametrize(
    ("origin", "host", "own"),
    [
        (None, "127.0.0.1:8501", True),
        ("http://127.0.0.1:8501", "127.0.0.1:8501", True),
        ("https://audits.example.org", "audits.example.org", True),
        ("https://Audits.example.org", "audits.example.org", True),
        ("http://localhost:8501", "127.0.0.1:8501", False),
        ("http://127.0.0.1:8502", "127.0.0.1:8501", False),
        ("https://[::1", "[::1]:8501", False),
        ("null", "127.0.0.1:8501", False),
        ("http://127.0.0.1:8501", "", False),
    ],
)
def test_a_page_is_known_by_its_address(origin: str | None, host: str, own: bool) -> None:
    headers = {"Host": host} | ({} if origin is None else {"Origin": origin})
    assert is_own_page(headers) is own
