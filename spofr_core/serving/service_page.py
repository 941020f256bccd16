"""The page that explains a running service; it loads nothing from anywhere."""

from __future__ import annotations

import json
from html import escape
from typing import Any

from spofr_core.serving.service_settings import ServiceSettings

_STYLE = """
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif }
body { max-width: 46rem; margin: 2rem auto; padding: 0 1rem }
pre { overflow-x: auto; padding: .75rem; border: 1px solid #8886; border-radius: 6px; font-size: .85rem }
h2 { margin-top: 2rem; font-size: 1.1rem }
"""
_EXAMPLE = {
    "query": "nurse, Leeds",
    "items": [
        {"id": "ad-1", "group": "men", "score": 0.9},
        {"id": "ad-2", "group": "women", "score": 0.8},
        {"id": "ad-3", "group": "men", "score": 0.4},
    ],
}


def service_page(schema: dict[str, Any], settings: ServiceSettings) -> str:
    """Every path of the OpenAPI description, and a request to copy."""
    asked = settings.fairness
    token = " -H 'authorization: Bearer TOKEN'" if settings.token else ""
    command = f"curl{token} -H 'content-type: application/json' -d '{json.dumps(_EXAMPLE)}' http://127.0.0.1:8000/rank"
    paths = "".join(
        f"<h2>{escape(verb.upper())} {escape(path)}</h2><p>{escape(about.get('summary', ''))}</p>{_body(about)}"
        for path, verbs in schema["paths"].items()
        for verb, about in verbs.items()
    )
    return (
        f"<!doctype html><html lang='en'><head><meta charset='utf-8'><title>spofr serve</title>"
        f"<meta name='viewport' content='width=device-width'><style>{_STYLE}</style></head><body>"
        f"<h1>spofr serve</h1><p>{escape(asked.definition)} delta is {escape(asked.delta_text)}.</p>"
        f"<pre>{escape(command)}</pre>{paths}<p><a href='openapi.json'>openapi.json</a></p></body></html>"
    )


def _body(about: dict[str, Any]) -> str:
    content = about.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
    return f"<pre>{escape(json.dumps(content, indent=2))}</pre>" if content else ""
