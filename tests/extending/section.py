"""A section of the report of one's own: whom to ask."""

from spofr_core.reporting import SECTIONS, Content, Report, Section


def contact(report: Report) -> Content:
    """Sentences and tables; they are escaped where they are drawn."""
    return Content(sentences=["Ask the ranking team <ranking@example.org>."])


SECTIONS.register(Section("contact", "Whom to ask", contact))
