"""Pages from templates: what stands in them is text unless it is marked as markup, and nothing may be missing."""

from __future__ import annotations

from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from spofr_core.reporting import palette


@cache
def environment() -> Environment:
    """Where `templates/*` beside this file are found."""
    made = Environment(
        loader=PackageLoader("spofr_core.reporting"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.globals["palette"] = palette
    return made


def page_from(template: str, **content: Any) -> str:
    """A page: the template of this name with its content."""
    return environment().get_template(template).render(**content)
