"""The file that a login needs: who vouches for visitors (OpenID Connect), checked before the server starts."""

from __future__ import annotations

import tomllib
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from spofr_core.errors import ConfigError

CALLBACK = "/oauth2callback"
_LEAST_SECRET = 32
_PROVIDER = ("client_id", "client_secret", "server_metadata_url")


def login_providers(path: Path) -> list[str]:
    """The providers that a file describes; "default" is one that stands in `[auth]` itself.

    Raises
    ------
    ConfigError
        When visitors could not log in with it.
    """
    auth = _auth_section(path)
    _check_redirect(path, auth.get("redirect_uri"))
    secret = auth.get("cookie_secret")
    if not isinstance(secret, str) or len(secret) < _LEAST_SECRET:
        raise ConfigError(
            f"cookie_secret in [auth] of {str(path)!r} signs who is logged in, and is missing or shorter than "
            f"{_LEAST_SECRET} characters; put in what `openssl rand -hex 32` prints."
        )
    sections = {name: part for name, part in auth.items() if isinstance(part, dict) and name != "client_kwargs"}
    providers = sections or {"default": auth}
    for name, part in providers.items():
        _check_provider(path, name, part)
    if find_spec("authlib") is None:
        raise ConfigError("A login needs the package Authlib: pip install 'spofr[login]'.")
    return list(providers)


def login_host(path: Path) -> str:
    """The name under which visitors who have logged in come back, in a file that `login_providers` has read."""
    return str(urlsplit(_auth_section(path)["redirect_uri"]).hostname)


def _auth_section(path: Path) -> dict[str, Any]:
    try:
        auth = tomllib.loads(path.read_text("utf-8")).get("auth")
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{str(path)!r} is not TOML ({error}); docs/deploy.md shows such a file.") from error
    if not isinstance(auth, dict):
        raise ConfigError(f"{str(path)!r} has no section [auth]; docs/deploy.md shows such a file.")
    return auth


def _check_redirect(path: Path, redirect: Any) -> None:
    """A provider sends visitors back there, with proof of who they are in the address: not in the clear."""
    parts = urlsplit(redirect if isinstance(redirect, str) else "")
    local = parts.hostname in ("localhost", "127.0.0.1", "::1")
    if (
        parts.path.endswith(CALLBACK)
        and parts.hostname
        and (parts.scheme == "https" or (parts.scheme, local) == ("http", True))
    ):
        return
    raise ConfigError(
        f"redirect_uri in [auth] of {str(path)!r} is {redirect!r}; give the public https address of the dashboard "
        f"followed by {CALLBACK}, such as 'https://audits.example.org{CALLBACK}'."
    )


def _check_provider(path: Path, name: str, part: dict[str, Any]) -> None:
    section = "[auth]" if name == "default" else f"[auth.{name}]"
    if "_" in name or "," in name:
        raise ConfigError(f"The provider {name!r} in {str(path)!r} needs a name without underscores and commas.")
    missing = [key for key in _PROVIDER if not isinstance(part.get(key), str) or not part[key]]
    if missing:
        raise ConfigError(
            f"{section} of {str(path)!r} lacks {', '.join(missing)}; the provider of the login gives you them."
        )
