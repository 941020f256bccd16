"""Nothing listens to strangers by accident: the address, the login file, and what is told of them."""

from __future__ import annotations

import subprocess
import sys

import pytest
from typer.testing import CliRunner

from spofr_core.cli import app
from spofr_core.cli.commands import dashboard_command
from spofr_core.cli.listening import is_loopback, own_names
from spofr_core.cli.login_file import login_providers
from spofr_core.errors import ConfigError

GOOD = """
[auth]
redirect_uri = "https://audits.example.org/oauth2callback"
cookie_secret = "0123456789abcdef0123456789abcdef"
client_id = "spofr"
client_secret = "hush"
server_metadata_url = "https://id.example.org/.well-known/openid-configuration"
"""


@pytest.fixture
def started(monkeypatch):
    """What would have been started, instead of starting it."""
    seen = []

    class Server:
        def __init__(self, command, *, cwd, env):
            seen.append((command, env))

        def wait(self):
            return 0

    monkeypatch.setattr(dashboard_command.subprocess, "Popen", Server)
    monkeypatch.setattr(dashboard_command.signal, "signal", lambda *_: None)
    return seen


@pytest.fixture
def login_file(tmp_path):
    path = tmp_path / "login.toml"
    path.write_text(GOOD)
    return path


def dashboard(*arguments):
    return CliRunner().invoke(app, ["dashboard", *map(str, arguments)])


@pytest.mark.parametrize("address", ["127.0.0.1", "127.8.9.1", "::1", "localhost"])
def test_this_machine_alone_is_loopback(address):
    assert is_loopback(address)


@pytest.mark.parametrize("address", ["0.0.0.0", "::", "192.168.1.4", "localhost.example.org", "127.0.0.1.example", ""])
def test_everything_else_is_not(address):
    assert not is_loopback(address)


@pytest.mark.parametrize("command", [["dashboard", "--headless"], ["serve"]])
def test_a_shell_that_opens_to_strangers_is_told_why_not_in_one_sentence(command):
    told = subprocess.run(
        [sys.executable, "-c", "from spofr_core.cli import main; main()", *command, "--address", "0.0.0.0"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert told.returncode == 2
    assert told.stdout == ""
    assert told.stderr.count("\n") == 1
    assert told.stderr.startswith("spofr: --address is '0.0.0.0': whoever can reach it could use this without being")
    assert "--i-know" in told.stderr


def test_nothing_is_started_for_strangers(started):
    assert isinstance(dashboard("--address", "0.0.0.0").exception, ConfigError)
    assert started == []


@pytest.mark.parametrize("arguments", [[], ["--address", "::1"], ["--address", "0.0.0.0", "--i-know"]])
def test_loopback_needs_nothing_and_whoever_knows_may(arguments, started):
    assert dashboard(*arguments).exit_code == 0
    ((command, _),) = started
    assert command[command.index("--server.address") + 1] == (arguments[1] if arguments else "127.0.0.1")


def test_errors_are_shown_without_internals_whatever_the_environment_says(started, monkeypatch):
    monkeypatch.setenv("STREAMLIT_CLIENT_SHOW_ERROR_DETAILS", "full")
    dashboard()
    ((command, _),) = started
    assert command[command.index("--client.showErrorDetails") + 1] == "none"


def test_pages_of_others_are_not_answered_whatever_the_environment_says(started, monkeypatch):
    monkeypatch.setenv("STREAMLIT_SERVER_ENABLE_CORS", "false")
    dashboard()
    ((command, _),) = started
    said = {option: command[command.index(f"--server.{option}") + 1] for option in ("enableCORS", "enableAgentApi")}
    assert said == {"enableCORS": "true", "enableAgentApi": "false"}
    assert command[command.index("--server.enableXsrfProtection") + 1] == "true"


def test_a_login_opens_the_door_and_the_server_knows_of_it(started, login_file):
    assert dashboard("--address", "0.0.0.0", "--login", login_file).exit_code == 0
    ((command, environment),) = started
    assert environment["SPOFR_LOGIN"] == "default"
    assert command[command.index("--secrets.files") + 1] == str(login_file)


def test_several_providers_have_a_name_each(login_file):
    head, rest = GOOD.split("client_id", 1)
    login_file.write_text(f"{head}[auth.google]\nclient_id{rest}[auth.work]\nclient_id{rest}")
    assert login_providers(login_file) == ["google", "work"]


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("[auth]", "[other]", "has no section [auth]"),
        ("[auth]", "[auth", "is not TOML"),
        ("https://audits", "http://audits", "redirect_uri in [auth]"),
        ("/oauth2callback", "/", "followed by /oauth2callback"),
        ("0123456789abcdef", "", "openssl rand -hex 32"),
        ('client_secret = "hush"', "client_secret = 3", "lacks client_secret"),
        ('client_id = "spofr"', "", "lacks client_id"),
    ],
)
def test_a_file_that_nobody_could_log_in_with_is_told_before_the_start(old, new, told, login_file, started):
    login_file.write_text(GOOD.replace(old, new))
    found = dashboard("--address", "0.0.0.0", "--login", login_file)
    assert isinstance(found.exception, ConfigError)
    assert told in str(found.exception)
    assert "hush" not in str(found.exception)
    assert started == []


def names(command):
    return [command[i + 1] for i, word in enumerate(command) if word == "--server.allowedHosts"]


def test_only_this_machine_and_the_names_that_are_given_are_answered(started, login_file, monkeypatch):
    monkeypatch.setenv("STREAMLIT_SERVER_ALLOWED_HOSTS", "*")
    dashboard()
    dashboard("--host-name", "audits.example.org", "--host-name", "*.example.net")
    dashboard("--login", login_file)
    loopback = ["localhost", "127.0.0.1", "::1"]
    assert [names(command) for command, _ in started] == [
        loopback,
        [*loopback, "audits.example.org", "*.example.net"],
        [*loopback, "audits.example.org"],
    ]


def test_a_server_for_others_knows_the_numbers_of_this_machine():
    found = own_names("0.0.0.0", [])
    assert "127.0.0.1" in found
    assert "0.0.0.0" not in found
    assert own_names("10.0.0.7", ["box"])[-2:] == ["10.0.0.7", "box"]


@pytest.mark.parametrize("name", ["https://audits.example.org", "audits.example.org:443", "*", "a b", "", "a/b"])
def test_a_name_is_a_name_alone(name):
    with pytest.raises(ConfigError, match="give a name alone, without https:// and port"):
        own_names("127.0.0.1", [name])
