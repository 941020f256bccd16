"""The report where each item is on its own: how exposure is spread over items, in place of groups."""

from __future__ import annotations

from spofr_core.reporting.items.item_frames import ItemBins, item_bins, item_rows
from spofr_core.reporting.items.item_words import HOW_COUNTED, each_item
from spofr_core.reporting.report_sections import SECTIONS, Content, Report, Section, Table
from spofr_core.reporting.svg_charts import WIDTH, Scale, svg_drawing, svg_rect, svg_text, ticks
from spofr_core.reporting.wording.phrases import number


def _items(report: Report) -> Content | None:
    if not each_item(report.summary):
        return None
    bins = item_bins(report.result)
    if bins is None:
        return None
    shaded = " Shaded: what delta allows." if bins.within is not None else ""
    return Content(
        caption="How many items get how many times the mean exposure of their list (1, the line). Marked: what 5 %, "
        f"half and 95 % of the items get at most.{shaded} {HOW_COUNTED}",
        svg=item_chart(bins),
        table=Table(("Items", "Times the list's mean"), item_rows(report.summary)),
    )


def item_chart(bins: ItemBins) -> str:
    """The histogram of items (`item_bins`) as bars, with its quantiles marked."""
    height, left, bottom, top = 250, 52, 44, 34
    x = Scale(0.0, float(bins.edges[-1]), left, WIDTH - 20)
    floor, tallest = height - bottom, max(int(bins.items.max()), 1)
    y = Scale(0.0, float(tallest), floor, top)
    parts = []
    if bins.within is not None:
        low, high = (x(min(end, float(bins.edges[-1]))) for end in bins.within)
        parts.append(svg_rect(low, top, max(high - low, 1), floor - top, 'class="band"'))
    edges = [x(float(edge)) for edge in bins.edges]
    for start, end, count in zip(edges, edges[1:], bins.items.tolist(), strict=False):
        if count:
            parts.append(svg_rect(start, y(count), max(end - start - 0.6, 0.6), floor - y(count), 'class="bar"'))
    for tick in ticks(0.0, float(bins.edges[-1]), 6):
        parts.append(svg_text(x(tick), floor + 18, number(tick), anchor="middle", css="quiet"))
    for tick in ticks(0.0, float(tallest), 3):
        parts.append(svg_text(left - 8, y(tick) + 4, f"{tick:,.0f}", anchor="end", css="quiet"))
    parts.append(f'<line class="axis" x1="{left}" x2="{WIDTH - 20}" y1="{floor}" y2="{floor}"/>')
    parts.append(f'<line class="rule" x1="{x(1.0):.1f}" x2="{x(1.0):.1f}" y1="{top}" y2="{floor}"/>')
    marks = {"5 %": bins.low, "half": bins.median, "95 %": bins.high}
    for place, (name, value) in enumerate(marks.items()):
        parts.append(f'<circle class="mark" cx="{x(value):.1f}" cy="{floor}" r="4"/>')
        said = f"{name} at most {number(value)}"
        parts.append(svg_text(left + (WIDTH - left - 20) * place / 3, 14, said, css="strong"))
    caption = "times the mean exposure of the list; upwards: items"
    parts.append(svg_text((left + WIDTH) / 2, height - 6, caption, anchor="middle", css="quiet"))
    described = ", ".join(f"{name} of the items get at most {number(value)}" for name, value in marks.items())
    return svg_drawing(height, f"Items by how many times their list's mean exposure they get: {described}.", parts)


SECTIONS.register(Section("items", "Exposure by item", _items))
