"""docs/dependencies.md has every requirement, with version, licence and reason; unasked is not taken for safe."""

from __future__ import annotations

import re
import sys
import urllib.error
from pathlib import Path

import pytest
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture
def dependencies(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    import make_dependencies

    yield make_dependencies
    sys.modules.pop("make_dependencies")


@pytest.mark.parametrize("name", ["requirements.txt", "requirements-dev.txt"])
def test_the_page_has_every_requirement(dependencies, name: str) -> None:
    page = (ROOT / "docs" / "dependencies.md").read_text()
    rows = {row[0]: row for row in re.findall(r"^\| ([\w.-]+) \| ([\d.]+) \| ([^|]+) \| ([^|]+) \|$", page, re.M)}
    for package, version in dependencies.required(name).items():
        assert package in rows, f"{package} is missing: make audit-dependencies"
        assert rows[package][1] == version, f"{package} has another version: make audit-dependencies"
        assert rows[package][3] == dependencies.WHY[canonicalize_name(package)]


def test_no_reason_is_left_over(dependencies) -> None:
    wanted = dependencies.required("requirements.txt") | dependencies.required("requirements-dev.txt")
    assert set(dependencies.WHY) == set(map(canonicalize_name, wanted))


@pytest.mark.parametrize(
    ("answer", "code", "words"),
    [
        (b'{"vulnerabilities": []}', 0, "No vulnerability of any of them is known"),
        (b'{"vulnerabilities": [{"id": "X-1"}, {"id": "X-0", "withdrawn": "2026"}]}', 1, "numpy 2.4.6: X-1\n"),
        (None, 2, "whether those have known vulnerabilities is not known"),
    ],
)
def test_asked_found_and_not_asked_are_told_apart(
    dependencies, monkeypatch, capsys, tmp_path, answer: bytes | None, code: int, words: str
) -> None:
    class Index:
        def __enter__(self):
            return self

        def __exit__(self, *_: object) -> None:
            pass

        def read(self) -> bytes | None:
            return answer

    def opened(*_: object, **options: object) -> Index:
        if answer is None:
            raise urllib.error.URLError("no network")
        return Index()

    monkeypatch.setattr(dependencies.urllib.request, "urlopen", opened)
    monkeypatch.setattr(dependencies, "PAGE", tmp_path / "page.md")
    monkeypatch.setattr(dependencies, "page", lambda: "| package | version |\n| numpy | 2.4.6 |\n")
    assert dependencies.main() == code
    assert words in capsys.readouterr().out
