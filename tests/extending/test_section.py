"""A section registered from outside is in every report, escaped."""

from __future__ import annotations

from pathlib import Path


def test_the_report_has_it(shell, tmp_path: Path):
    shell("sample section", "audit", "--sample", "bakeries", "--delta", "0.02", "--html", "report.html")
    page = (tmp_path / "shell" / "report.html").read_text("utf-8")
    assert "Whom to ask" in page
    assert "Ask the ranking team &lt;ranking@example.org&gt;." in page
