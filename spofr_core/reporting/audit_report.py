"""The report of an audit: one HTML page that needs nothing but itself."""

from __future__ import annotations

import datetime
import platform
import re
from collections.abc import Iterable, Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from markupsafe import Markup

from spofr_core.fairness import Unit
from spofr_core.reporting.chart_frames import (
    Audited,
    exposure_bars,
    groups_left_out,
    mark_at,
    share_note,
    share_steps,
    violations_by_group,
)
from spofr_core.reporting.items.item_words import each_item, item_name
from spofr_core.reporting.palette import group_styles
from spofr_core.reporting.repair_words import repair_sentence
from spofr_core.reporting.report_sections import (
    SECTIONS,
    Code,
    Content,
    Fact,
    GroupCell,
    Provenance,
    Report,
    Section,
    Table,
    Term,
    page_from,
)
from spofr_core.reporting.svg_charts import exposure_chart, share_chart, violation_chart
from spofr_core.reporting.wording.phrases import (
    counted,
    delta_text,
    direction_text,
    interval,
    name_text,
    number,
    off_text,
    violation_text,
)
from spofr_core.reporting.wording.plain_words import plain_summary
from spofr_core.reporting.wording.unknown_words import exposure_range
from spofr_core.reporting.words import caveats, limits_of, verdict, verdict_details

LONGEST_NOTES = 600
"""Letters of the auditor's notes on the first page, which has to fit one sheet."""
_ON_CARDS = ("dcg", "ndcg", "pairwise")
_VERSIONED = ("spofr", "numpy", "scipy", "pandas")


def audit_html(
    result: Audited,
    *,
    provenance: Provenance | None = None,
    repaired: Audited | None = None,
    relaxed: int = 0,
    comparison: Mapping[str, Any] | None = None,
    quota: Mapping[str, Any] | None = None,
    ranks: bool = False,
) -> str:
    """A self-contained HTML report of an audit.

    It needs no network and no script, follows the light or dark preference of its reader, and prints to A4. All names
    that come from the data are escaped.

    Parameters
    ----------
    result : AuditResult
    provenance : Provenance, optional
        Source, fingerprint, date, auditor, notes and the lines that reproduce the audit.
    repaired : AuditResult, optional
        The audit of the repair (`Repair.after`), for the sentence that says what it changes.
    relaxed : int
        Queries that the repair could not bring within delta.
    comparison : mapping, optional
        `Comparison.summary`, for the section that compares this ranking with others.
    quota : mapping, optional
        `Repair.summary["quota"]`, for what the quota costs.
    ranks : bool
        Whether the repair started from ranks: `Repair.ranks`.

    Returns
    -------
    str
        The page: the sections in `SECTIONS`, in their order.
    """
    report = Report(result, provenance or Provenance(), repaired, relaxed, comparison, quota, ranks)
    placed = [(section, section.content(report)) for section in SECTIONS.values()]
    sections = [(section, content) for section, content in placed if content is not None]
    return page_from(
        "audit_report.html.j2",
        verdict=verdict(result.summary),
        details=verdict_details(result.summary),
        first=[pair for pair in sections if pair[0].first_page],
        sections=[pair for pair in sections if not pair[0].first_page],
        markup=Markup,
    )


def report_name(summary: Mapping[str, Any], provenance: Provenance, ending: str = "html") -> str:
    """A file name that says what is inside: "spofr-audit-hiring-exposure-delta-10pct-2026-11-16.html"."""
    delta = summary["delta"]
    if isinstance(delta, Mapping):
        asked = "by-group"
    else:
        asked = f"{100 * delta:.6g}pct" if summary["unit"] == "share" else f"{delta:.6g}"
    day = _day(provenance).isoformat()
    return f"spofr-audit-{file_words(provenance.source)}-{summary['notion']}-delta-{asked}-{day}.{ending}"


def file_words(source: str | None) -> str:
    """What was read, as part of a file name."""
    known = (source or "data").replace("\\", "/").rsplit("/", 1)[-1]
    known = re.sub(r"\.(csv|tsv|txt|parquet|json|gz|zip|xlsx?)\b", "", known)
    return re.sub(r"[\W_]+", "-", known.lower()).strip("-")[:40].rstrip("-") or "data"


def _day(provenance: Provenance) -> datetime.date:
    return provenance.date or datetime.date.today()


def _about(report: Report) -> Content:
    summary, given = report.summary, report.provenance
    sizes = ", ".join([counted(summary["queries"]["total"], "query", "queries"), *_sizes(summary)])
    quota = summary["quota"]
    also = "" if quota is None else f" In every ranking that may be shown: {name_text(quota['text'], 200)}."
    terms = [
        Term("Data", f"{name_text(given.source or 'not named', 120)}: {sizes}"),
        Term("Date", _day(given).isoformat()),
        Term("Auditor", name_text(given.auditor or "not named", 120)),
        Term("Question asked", f"{summary['definition']} Here {delta_text(summary['delta'], summary['unit'])}.{also}"),
        Term("Repair", _repair(report)),
    ]
    if given.fingerprint:
        terms.insert(1, Term("Fingerprint", code=f"sha256:{given.fingerprint}"))
    if given.notes and given.notes.strip():
        terms.append(Term("Notes", name_text(given.notes.strip(), LONGEST_NOTES)))
    return Content(terms=terms)


def _sizes(summary: Mapping[str, Any]) -> tuple[str, str]:
    """How many items, and of how many groups."""
    if each_item(summary):
        return counted(summary["items"]["total"], "item", "items"), "each on its own"
    groups = summary["groups"]
    items = sum(group["items"] for group in groups.values()) + summary.get("unknown", {"items": 0})["items"]
    return counted(items, "item", "items"), counted(len(groups), "group", "groups")


def _repair(report: Report) -> str:
    if report.repaired is None:
        return "Not computed here; “spofr repair” says what it would change."
    return repair_sentence(
        report.summary, report.repaired.summary, report.relaxed, quota=report.quota, ranks=report.ranks
    )


def _plain(report: Report) -> Content:
    return Content(sentences=plain_summary(report.summary, report.repaired.summary if report.repaired else None))


def _facts(report: Report) -> Content:
    summary, unit = report.summary, report.summary["unit"]
    queries, violation, utility = summary["queries"], summary["violation"], summary["utility"]
    items, grouped = _sizes(summary)
    furthest = "item" if each_item(summary) else "group"
    facts = [
        Fact("Queries", f"{queries['total']:,}", f"{queries['judged']:,} judged"),
        Fact("Items", items.split(" ", 1)[0], grouped),
        Fact(
            "Mean violation",
            violation_text(violation["mean"], unit),
            f"95 % CI {interval(violation['mean_ci'], unit)}; of the {furthest} furthest off in each list",
        ),
        *_furthest(summary),
    ]
    if utility:
        facts.append(Fact("DCG", number(utility["dcg"]), f"95 % CI {interval(utility['dcg_ci'])}"))
        label = summary["measures"]["ndcg"]["label"]
        facts.append(Fact(label, number(utility["ndcg"]), f"95 % CI {interval(utility['ndcg_ci'])}"))
    # What a plug-in measures has a card too; those above are in the summary under their own names.
    for name, measure in summary.get("measures", {}).items():
        if name not in _ON_CARDS:
            facts.append(Fact(measure["label"], number(measure["mean"]), f"95 % CI {interval(measure['ci'])}"))
    return Content(facts=facts)


def _furthest(summary: Mapping[str, Any]) -> list[Fact]:
    """The largest violation of a group that is not small, with its direction."""
    if not summary["worst"]:
        return []
    worst, within = summary["worst"][0], summary["violation"]["quantiles"]["0.95"]
    size, unit = violation_text(abs(worst["violation"]), summary["unit"]), summary["unit"]
    said = _whose(worst, unit)
    return [Fact("Largest violation", size, f"{said}; 95 % of queries within {violation_text(within, unit)}")]


def _whose(worst: Mapping[str, Any], unit: Unit) -> str:
    """Whose exposure is off, and which way."""
    if worst.get("item") is not None:
        return f"{item_name(worst['item'])} {off_text(worst['violation'], unit)}"
    return direction_text(worst["group"], worst["violation"], unit)


def _exposure(report: Report) -> Content | None:
    summary = report.summary
    if not summary["queries"]["applicable"] or each_item(summary):
        return None
    return Content(
        caption=_drawn(
            "Mean exposure per item, drawn relative to the mean of the lists that the items are in (the line), over "
            f"lists with two groups or more.{_UNKNOWN if 'unknown' in summary else ''}",
            summary,
        ),
        svg=exposure_chart(exposure_bars(summary)),
    )


_UNKNOWN = (
    " The bars are of the items whose group is known; the line with two ends across each says between what it lies, "
    "whatever the unknown groups are."
)


def _share(report: Report) -> Content | None:
    summary = report.summary
    if not summary["queries"]["applicable"]:
        return None
    steps, delta = report.result.fair_share(), _one_delta(summary)
    mark = None if delta is None else mark_at(steps, delta, summary["unit"])
    return Content(
        caption=f"The share of queries that hold each delta. {share_note(steps)} Drawn as far as a tenth of them could "
        "exceed it. The dot is the delta asked for.",
        svg=share_chart(share_steps(steps, delta or 0.0), mark, summary["unit"]),
    )


def _violations(report: Report) -> Content | None:
    summary = report.summary
    if not summary["queries"]["applicable"] or each_item(summary):
        return None
    delta = _one_delta(summary)
    return Content(
        caption=_drawn("Each group's signed violation over the queries; shaded: within delta.", summary),
        svg=violation_chart(violations_by_group(report.result, delta), delta, summary["unit"]),
    )


def _one_delta(summary: Mapping[str, Any]) -> float | None:
    """delta where it is the same for all groups."""
    return summary["delta"] if isinstance(summary["delta"], float | int) else None


def _drawn(caption: str, summary: Mapping[str, Any]) -> str:
    return f"{caption} {groups_left_out(summary)}".rstrip()


def _groups(report: Report) -> Content | None:
    if each_item(report.summary) or not report.summary["queries"]["applicable"]:
        return None
    styles, unit = group_styles(list(report.summary["groups"])), report.summary["unit"]
    unknown = "unknown" in report.summary
    rows = [
        (
            GroupCell(name_text(name), styles[name].glyph, styles[name].colour),
            f"{group['compared']:,}",
            f"{group['compared_queries']:,}",
            f"{number(group['exposure_mean'])} ({interval(group['exposure_ci'])})",
            f"{off_text(group['violation_mean'], unit)} ({interval(group['violation_ci'], unit)})",
            *((exposure_range(report.summary, name),) if unknown else ()),
            "small" if group["small"] else "",
        )
        for name, group in report.summary["groups"].items()
    ]
    ranged = ("Whatever the unknown groups are, mean exposure",) if unknown else ()
    return Content(
        caption="In brackets: 95 % intervals over queries; of violations below 0 for too little, above 0 for too much.",
        table=Table(("Group", "Items", "Queries", "Mean exposure", "Mean violation", *ranged, ""), rows),
    )


def _measures(report: Report) -> Content | None:
    measures = report.summary["measures"]
    if not measures:
        return None
    rows = [
        (
            f"{row['label']} ({row['unit']})" if row["unit"] else row["label"],
            number(row["mean"]),
            interval(row["ci"]),
            f"{row['n']:,}",
            row["better"] or "-",
        )
        for row in measures.values()
    ]
    return Content(table=Table(("Measure", "Mean", "95 % CI", "Queries", "Better"), rows))


def _worst(report: Report) -> Content:
    worst = report.summary["worst"]
    if not worst:
        two = "two items" if each_item(report.summary) else "two groups that are large enough to be compared"
        return Content(caption=f"There is no query with {two}.")
    unit = report.summary["unit"]
    rows = [
        (
            name_text(row["query"]),
            _whose(row, unit),
            number(row["exposure"]),
            number(row["mean_exposure"]),
        )
        for row in worst
    ]
    whose = "The item's exposure" if each_item(report.summary) else "The group's exposure"
    head = ("Query", "Whose exposure is off, and which way", whose, "The list's mean")
    return Content(table=Table(head, rows, left=2))


def _counted_apart(report: Report) -> Content:
    sentences = caveats(report.summary)
    return Content(
        sentences=sentences, caption="" if sentences else "Nothing was left out, and every query was judged."
    )


def _infeasible(report: Report) -> Content | None:
    infeasible = report.summary["infeasible"]
    if not infeasible["count"]:
        return None
    unit = report.summary["unit"]
    rows = [(name_text(query["query"]), violation_text(query["min_delta"], unit)) for query in infeasible["queries"]]
    cut = "" if len(rows) == infeasible["count"] else f"The {len(rows)} hardest of {infeasible['count']:,}."
    return Content(caption=cut, table=Table(("Query", "Smallest delta that would do"), rows))


def _limits(report: Report) -> Content:
    return Content(sentences=limits_of(report.summary))


def _definitions(report: Report) -> Content:
    summary, unit = report.summary, report.summary["unit"]
    alone, ties = each_item(summary), "items with equal scores share their positions evenly"
    who = "item i of the list, if it has two or more" if alone else "group g present in the list"
    means = "the expected exposure of item i, and its mean over all items of the list"
    if not alone:
        means = "mean over the items of group g, and over all items of the list, of the expected exposure"
    terms = [
        Term("Formula", f" for every {who}", code=summary["formula"]),
        Term("Exposure of position j", code=summary["position_bias"]),
        Term("e_i and e" if alone else "e_g and e", f"{means}; {ties}"),
        Term(
            "Violation",
            "the signed difference inside the bars of the formula; the largest in size counts for the query",
        ),
        Term("Worth of position j", ", linear gains, for DCG", code=summary["discount"]),
        Term("Intervals", "Wilson score for shares, bootstrap over queries for means; both at 95 %"),
        Term(
            "Range of delta",
            f"{violation_text(summary['range']['smallest'], unit)} is the smallest that every query can hold, "
            f"above {violation_text(summary['range']['largest'], unit)} nothing is forbidden",
        ),
    ]
    if summary["quota"] is not None:
        terms.append(Term("Quota", _QUOTA))
    if summary["merits"]:
        merits = ", ".join(f"{name_text(name)} {number(merit)}" for name, merit in summary["merits"].items())
        shifted = f" (from labels, those of labels + {summary['label_shift']:.4g})" if "label_shift" in summary else ""
        terms.insert(1, Term("Merit mu_g", f"{merits}{shifted}; mu is the mean merit of the list's own items"))
    return Content(terms=terms)


_QUOTA = (
    "a group of n_g among n items has a share of k n_g / n in the first k, rounded down or up; a count may differ from "
    "that by the number allowed, in every ranking that may be shown, ties in every order included"
)


def _provenance(report: Report) -> Content:
    given = report.provenance
    terms = [Term("Versions", ", ".join(versions())), Term("Summary schema", str(report.summary["schema"]))]
    code = [Code("In a shell", given.command or ""), Code("In Python", given.python or "")]
    code = [lines for lines in code if lines.lines]
    steps = [_SAME_NUMBERS] if code else []
    if report.repaired is not None:
        steps.append(_PROOF)
        code += [Code("The repair, and its check", given.proof)] if given.proof else []
    return Content(caption=" ".join(steps), terms=terms, code=code)


_SAME_NUMBERS = (
    "Whoever has the data can repeat this with the lines below: where the fingerprint on the first page of the new "
    "report is the same, so is the data, and so are the numbers."
)
_PROOF = (
    "That the repair holds delta, and that nothing within delta is better, need not be believed: spofr repair writes "
    "it down with a proof for each list, and spofr verify checks all of it from the data, without a solver."
)


def versions() -> Iterable[str]:
    """Python and the packages whose version may change a number."""
    yield f"Python {platform.python_version()}"
    for package in _VERSIONED:
        try:
            yield f"{package} {version(package)}"
        except PackageNotFoundError:
            yield f"{package} (not installed as a package)"


for _section in (
    Section("about", "What was audited", _about, first_page=True),
    Section("plain", "In plain words", _plain, first_page=True),
    Section("facts", "", _facts, first_page=True),
    Section("exposure", "Exposure by group", _exposure),
    Section("share", "Share of queries that hold delta", _share),
    Section("violations", "Violations by group", _violations),
    Section("groups", "Groups", _groups),
    Section("measures", "Measures", _measures),
    Section("worst", "Queries furthest from fair", _worst),
    Section("counted-apart", "Counted apart", _counted_apart),
    Section("infeasible", "Queries that cannot hold this delta", _infeasible),
    Section("limits", "What this does not show", _limits),
    Section("definitions", "Definitions", _definitions),
    Section("provenance", "How to check this", _provenance),
):
    SECTIONS.register(_section)
