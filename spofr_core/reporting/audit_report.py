"""The report of an audit: one HTML page that needs nothing but itself."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from spofr_core.evaluation import AuditResult
from spofr_core.reporting.group_styles import group_styles
from spofr_core.reporting.stylesheet import STYLESHEET
from spofr_core.reporting.svg_charts import exposure_chart, share_chart, violation_chart
from spofr_core.reporting.words import (
    caveats,
    counted,
    delta_text,
    exposure_sentence,
    interval,
    limits_of,
    name_text,
    number,
    verdict,
)

_VERSIONED = ("spofr", "numpy", "scipy", "pandas")


@dataclass(frozen=True, kw_only=True)
class Provenance:
    """Where an audit came from and how to make it again; what is None is left out of the report.

    Parameters
    ----------
    source : str, optional
        What was read: a file name, or the name of a bundled sample.
    fingerprint : str, optional
        `RankingDataset.fingerprint`.
    command : str, optional
        Shell line that reproduces the audit.
    python : str, optional
        Python lines that reproduce it.
    """

    source: str | None = None
    fingerprint: str | None = None
    command: str | None = None
    python: str | None = None


def audit_html(result: AuditResult, *, provenance: Provenance | None = None) -> str:
    """A self-contained HTML report of an audit.

    It needs no network and no script, follows the light or dark preference of its reader, and prints to A4. All names
    that come from the data are escaped.

    Parameters
    ----------
    result : AuditResult
    provenance : Provenance, optional
        Source, fingerprint and the lines that reproduce the audit.

    Returns
    -------
    str
        The page.
    """
    summary, provenance = result.summary, provenance or Provenance()
    sections = [
        _header(summary),
        _facts(summary),
        _charts(result),
        _section("Groups", _group_table(summary)),
        _section("Queries furthest from fair", _worst_table(summary)),
        _section(
            "Counted apart", _items(caveats(summary)) or "<p>Nothing was left out, and every query was judged.</p>"
        ),
        _infeasible(summary),
        _section("What this does not show", _items(limits_of(summary))),
        _definitions(summary),
        _provenance(summary, provenance),
    ]
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        f"<title>{escape('Exposure audit: ' + verdict(summary))}</title>\n<style>{STYLESHEET}</style>\n</head>\n"
        f"<body>\n<main>\n{''.join(sections)}</main>\n</body>\n</html>\n"
    )


def _header(summary: Mapping[str, Any]) -> str:
    spoken = exposure_sentence(summary)
    lead = f'<p class="lead">{escape(spoken)}</p>' if spoken else ""
    return f'<header><p class="kind">Exposure audit</p><h1>{escape(verdict(summary))}.</h1>{lead}</header>'


def _facts(summary: Mapping[str, Any]) -> str:
    queries, violation, utility = summary["queries"], summary["violation"], summary["utility"]
    items = sum(group["items"] for group in summary["groups"].values())
    facts = [
        ("Queries", f"{queries['total']:,}", f"{queries['applicable']:,} judged"),
        ("Items", f"{items:,}", counted(len(summary["groups"]), "group", "groups")),
        ("Mean violation", number(violation["mean"]), f"95 % CI {interval(violation['mean_ci'])}"),
        (
            "Largest violation",
            number(violation["max"]),
            f"95 % of queries within {number(violation['quantiles']['0.95'])}",
        ),
    ]
    if utility:
        facts.append(("DCG", number(utility["dcg"]), f"95 % CI {interval(utility['dcg_ci'])}"))
        facts.append((f"nDCG@{utility['cutoff']}", number(utility["ndcg"]), f"95 % CI {interval(utility['ndcg_ci'])}"))
    shown = (
        f"<div><dt>{escape(k)}</dt><dd>{escape(v)}<small>{escape(more)}</small></dd></div>" for k, v, more in facts
    )
    return f'<dl class="facts">{"".join(shown)}</dl>'


def _charts(result: AuditResult) -> str:
    summary, table = result.summary, result.table
    groups = summary["groups"]
    names = list(groups)
    items = sum(group["items"] for group in groups.values())
    total = sum(group["items"] * (group["exposure_mean"] or 0.0) for group in groups.values())
    exposure = exposure_chart(names, [groups[name]["exposure_mean"] for name in names], total / max(items, 1))
    drawn = [
        _figure(
            "Exposure by group", "Mean exposure per item, over all lists; the line is the mean of all items.", exposure
        )
    ]
    if summary["queries"]["applicable"]:
        delta = summary["delta"] if isinstance(summary["delta"], float | int) else None
        steps = result.fair_share()
        curve = share_chart(steps["delta"].to_numpy(), steps["share"].to_numpy(), delta, summary["range"]["largest"])
        drawn.append(
            _figure("Share of queries that hold delta", "Each step is a query; the dot is the delta asked for.", curve)
        )
        signed = np.where(table.applicable[:, None], table.violation, np.nan)
        spread = violation_chart(names, signed, delta)
        drawn.append(
            _figure(
                "Violations by group", "Each group's signed violation over the queries; shaded: within delta.", spread
            )
        )
    return "".join(drawn)


def _figure(title: str, caption: str, svg: str) -> str:
    return f"<figure><figcaption><h2>{escape(title)}</h2><p>{escape(caption)}</p></figcaption>{svg}</figure>"


def _group_table(summary: Mapping[str, Any]) -> str:
    styles = group_styles(list(summary["groups"]))
    rows = [
        (
            f'<span style="color:{styles[name].colour}">{styles[name].glyph}</span> {escape(name_text(name))}',
            f"{group['items']:,}",
            f"{group['queries']:,}",
            number(group["exposure_mean"]),
            number(group["violation_mean"]),
        )
        for name, group in summary["groups"].items()
    ]
    return _table(("Group", "Items", "Queries", "Mean exposure", "Mean signed violation"), rows)


def _worst_table(summary: Mapping[str, Any]) -> str:
    if not summary["worst"]:
        return "<p>No query could be judged.</p>"
    rows = [
        (escape(name_text(w["query"])), escape(name_text(w["group"])), number(w["violation"])) for w in summary["worst"]
    ]
    return _table(("Query", "Group", "Signed violation"), rows, left=2)


def _infeasible(summary: Mapping[str, Any]) -> str:
    infeasible = summary["infeasible"]
    if not infeasible["count"]:
        return ""
    rows = [(escape(name_text(q["query"])), number(q["min_delta"])) for q in infeasible["queries"]]
    listed = "" if len(rows) == infeasible["count"] else f"<p>The {len(rows)} hardest of {infeasible['count']:,}.</p>"
    return _section(
        "Queries that cannot hold this delta", listed + _table(("Query", "Smallest delta that would do"), rows)
    )


def _definitions(summary: Mapping[str, Any]) -> str:
    terms = [
        ("Question asked", f"{escape(summary['definition'])} Here {escape(delta_text(summary['delta']))}."),
        ("Formula", f"<code>{escape(summary['formula'])}</code> for every group g present in the list"),
        ("Exposure of position j", f"<code>{escape(summary['position_bias'])}</code>"),
        (
            "e_g and e",
            "mean over the items of group g, and over all items of the list, of the expected exposure; "
            "items with equal scores share their positions evenly",
        ),
        ("Violation", "the signed difference inside the bars of the formula; the largest in size counts for the query"),
        ("Worth of position j", f"<code>{escape(summary['discount'])}</code>, linear gains, for DCG"),
        ("Intervals", "Wilson score for shares, bootstrap over queries for means; both at 95 %"),
        (
            "Range of delta",
            f"{number(summary['range']['smallest'])} is the smallest that every query can hold, "
            f"above {number(summary['range']['largest'])} nothing is forbidden",
        ),
    ]
    if summary["merits"]:
        merits = ", ".join(f"{name_text(name)} {number(merit)}" for name, merit in summary["merits"].items())
        terms.insert(2, ("Merit mu_g", escape(merits) + "; mu is the mean merit of the list's own items"))
    return _section("Definitions", _described(terms))


def _provenance(summary: Mapping[str, Any], provenance: Provenance) -> str:
    terms = []
    if provenance.source:
        terms.append(("Data", escape(provenance.source)))
    if provenance.fingerprint:
        terms.append(("Fingerprint", f"<code>sha256:{escape(provenance.fingerprint)}</code>"))
    terms.append(("Versions", escape(", ".join(_versions()))))
    terms.append(("Summary schema", str(summary["schema"])))
    code = "".join(
        f"<h3>{title}</h3><pre>{escape(lines)}</pre>"
        for title, lines in (("In a shell", provenance.command), ("In Python", provenance.python))
        if lines
    )
    return _section("Where this comes from", _described(terms) + code)


def _versions() -> Iterable[str]:
    yield f"Python {platform.python_version()}"
    for package in _VERSIONED:
        try:
            yield f"{package} {version(package)}"
        except PackageNotFoundError:
            yield f"{package} (not installed as a package)"


def _section(title: str, content: str) -> str:
    return f"<section><h2>{escape(title)}</h2>{content}</section>"


def _items(sentences: Sequence[str]) -> str:
    return "<ul>" + "".join(f"<li>{escape(sentence)}</li>" for sentence in sentences) + "</ul>" if sentences else ""


def _described(terms: Sequence[tuple[str, str]]) -> str:
    return "<dl>" + "".join(f"<dt>{escape(term)}</dt><dd>{html}</dd>" for term, html in terms) + "</dl>"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> str:
    """A table whose cells are markup already; all but the first `left` columns are numbers."""

    def line(cells: Sequence[str], tag: str) -> str:
        kinds = ("" if place < left else ' class="n"' for place in range(len(cells)))
        return (
            "<tr>" + "".join(f"<{tag}{kind}>{cell}</{tag}>" for cell, kind in zip(cells, kinds, strict=True)) + "</tr>"
        )

    return f"<table><thead>{line(head, 'th')}</thead><tbody>{''.join(line(row, 'td') for row in rows)}</tbody></table>"
