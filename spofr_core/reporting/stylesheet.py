"""How a report looks on a screen, in the dark, and on paper."""

from __future__ import annotations

STYLESHEET = """
:root { --ink: #1d2430; --quiet: #5b6573; --line: #d9dee5; --paper: #ffffff; --tint: #f3f5f8; --accent: #1f5f99; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e9ee; --quiet: #a3adba; --line: #333b47; --paper: #14181f; --tint: #1c222b; --accent: #7fb6e6; }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
main { max-width: 52rem; margin: 0 auto; padding: 2.5rem 1.25rem 4rem; }
.kind { margin: 0; color: var(--quiet); font-size: .8rem; letter-spacing: .08em; text-transform: uppercase; }
h1 { margin: .3rem 0 .6rem; font-size: 1.8rem; line-height: 1.25; font-weight: 650; text-wrap: balance;
  overflow-wrap: anywhere; }
h2 { margin: 0 0 .4rem; font-size: 1.1rem; font-weight: 650; }
h3 { margin: 1rem 0 .3rem; font-size: .95rem; }
.lead { margin: 0; font-size: 1.1rem; color: var(--quiet); overflow-wrap: anywhere; }
section, figure { margin: 2.4rem 0 0; padding: 1.2rem 0 0; border-top: 1px solid var(--line); break-inside: avoid; }
figcaption p { margin: 0 0 .8rem; color: var(--quiet); font-size: .9rem; }
.facts { display: grid; grid-template-columns: repeat(auto-fit, minmax(9.5rem, 1fr)); gap: .8rem; margin: 1.8rem 0 0; }
.facts div { background: var(--tint); border-radius: 8px; padding: .7rem .9rem; }
.facts dt { color: var(--quiet); font-size: .8rem; font-weight: 400; }
.facts dd { margin: 0; font-size: 1.3rem; font-weight: 600; font-variant-numeric: tabular-nums; }
.facts small { display: block; font-size: .75rem; font-weight: 400; color: var(--quiet); }
dl { margin: 0; }
dt { font-weight: 600; margin-top: .6rem; }
dd { margin: 0; overflow-wrap: anywhere; }
ul { margin: .3rem 0 0; padding-left: 1.2rem; }
li { margin: .25rem 0; overflow-wrap: anywhere; }
table { width: 100%; border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .93rem; }
th { text-align: left; font-weight: 600; color: var(--quiet); }
th, td { padding: .38rem .5rem .38rem 0; border-bottom: 1px solid var(--line); overflow-wrap: anywhere; }
.n { text-align: right; white-space: nowrap; }
th, th.n { white-space: normal; overflow-wrap: normal; }
pre { background: var(--tint); border-radius: 8px; padding: .9rem 1rem; overflow-x: auto;
  white-space: pre-wrap; font-size: .85rem; }
code, pre { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
code { font-size: .9em; }
svg { display: block; width: 100%; height: auto; }
svg text { font: 13px system-ui, -apple-system, "Segoe UI", Roboto, Arial, sans-serif; fill: var(--ink); }
svg text.quiet { fill: var(--quiet); font-size: 12px; }
svg text.strong { font-weight: 650; }
svg .axis { stroke: var(--line); stroke-width: 1; }
svg .rule { stroke: var(--ink); stroke-width: 1.2; stroke-dasharray: 4 3; }
svg .curve { fill: none; stroke: var(--accent); stroke-width: 2; }
svg .mark { fill: var(--accent); }
svg .band { fill: var(--accent); fill-opacity: .13; }
@media (max-width: 34rem) {
  h1 { font-size: 1.35rem; }
  figure { overflow-x: auto; }
  svg { min-width: 32rem; }
}
@media print {
  @page { size: A4; margin: 16mm; }
  :root { --ink: #000000; --quiet: #444444; --line: #bbbbbb; --paper: #ffffff; --tint: #f3f5f8; --accent: #1f5f99; }
  body { font-size: 10.5pt; }
  main { max-width: none; padding: 0; }
  section, figure { margin-top: 1.2rem; }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
}
"""
