"""Write the parts of the documents that come from results: `python docs/make_tables.py`.

A part of quality.md, quality_tables.md or reproduction.md stands between `<!-- begin NAME -->` and `<!-- end NAME -->`,
a number of the study in a sentence between `<!--= QUESTION -->` and `<!--/-->` (benchmarks/quality_numbers.py reads the
question); README.md has some too. Everything else in them is written by hand. The full lists of the reproduction are
reproduction/small.md and paper.md.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from spofr_core.experiments.paper.findings import Finding
from spofr_core.experiments.paper.findings_text import VERDICTS, full_list, one_line

DOCS = Path(__file__).resolve().parent
RESULTS = DOCS.parent / "benchmarks" / "results" / "quality.jsonl"
FIGURES = {
    "tradeoff": "Figure 2: utility against delta",
    "grid": "Figure 3: every trained model",
    "guarantee": "Figure 4: guarantees query by query",
    "multigroup": "Figure 5: more groups",
    "sizes": "Figure 6: the size of the training set",
    "runtime": "Table 2: run time",
}


def documents() -> dict[Path, str]:
    """Every file that is written here, as it should read."""
    sys.path.insert(0, str(DOCS.parent / "benchmarks"))
    try:
        from quality_answers import Results, answers
        from quality_numbers import number
    finally:
        sys.path.pop(0)
    lines = [json.loads(line) for line in RESULTS.read_text("utf-8").splitlines()]
    found = {scale: read_findings(scale) for scale in ("small", "paper")}
    reproduction, tables, results = DOCS / "reproduction.md", answers(lines), Results(lines)
    made = {
        page: with_numbers(with_parts(page.read_text("utf-8"), tables), lambda asked: number(results, asked))
        for page in (DOCS / "quality.md", DOCS / "quality_tables.md", DOCS.parent / "README.md")
    } | {
        reproduction: with_parts(reproduction.read_text("utf-8"), {"claims": claims(found["small"], found["paper"])}),
    }
    for scale, findings in found.items():
        head = f"# Every number of the reproduction, `--scale {scale}`\n\n"
        head += "What they come to: [The paper, run again](../reproduction.md).\n"
        made[DOCS / "reproduction" / f"{scale}.md"] = f"{head}\n{full_list(findings)}"
    return made


def read_findings(scale: str) -> list[Finding]:
    """The findings that `spofr reproduce` wrote at this scale."""
    plain = json.loads((DOCS / "reproduction" / f"findings-{scale}.json").read_text("utf-8"))
    return [Finding(**finding) for finding in plain["findings"]]


def claims(small: list[Finding], paper: list[Finding]) -> str:
    """Figure by figure: the picture, and each claim with its verdicts and a line of numbers at the paper's size."""
    sketched = {(finding.figure, finding.claim, finding.data): finding for finding in small}
    elsewhere = {(finding.figure, finding.claim): finding for finding in paper if finding.data}
    blocks, heading = [], ""
    for finding in (each for each in paper if not each.data):
        if finding.figure != heading:
            heading = finding.figure
            blocks.append(f"### {FIGURES[heading]}")
            if (DOCS / "reproduction" / f"{heading}.png").exists():
                blocks.append(f"![{FIGURES[heading]}](reproduction/{heading}.png)")
        sketch = sketched[finding.figure, finding.claim, finding.data]
        beside = "" if sketch.verdict == finding.verdict else f" (Small: {VERDICTS[sketch.verdict].lower()}.)"
        block = f"**{finding.claim}** {VERDICTS[finding.verdict]}.{beside}\n{_sentence(one_line(finding.numbers))}"
        other = elsewhere.get((finding.figure, finding.claim))
        if other is not None:
            block += f"\nOn Adult: {VERDICTS[other.verdict].lower()}. {_sentence(one_line(other.numbers))}"
        blocks.append(block)
    return "\n\n".join(blocks)


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def with_parts(text: str, parts: Mapping[str, str]) -> str:
    """The document with these parts in place of those that it has.

    Raises
    ------
    KeyError
        When it asks for a part that there is not.
    """
    pattern = re.compile(r"(<!-- begin (.+?) -->\n).*?(<!-- end \2 -->)", flags=re.DOTALL)
    return pattern.sub(lambda found: f"{found[1]}\n{parts[found[2]]}\n\n{found[3]}", text)


def with_numbers(text: str, number: Callable[[str], str]) -> str:
    """The document with the answers to its questions in place of what stands behind them."""
    pattern = re.compile(r"(<!--= (.+?) -->).*?(<!--/-->)")
    return pattern.sub(lambda found: f"{found[1]}{number(found[2])}{found[3]}", text)


if __name__ == "__main__":
    for path, text in documents().items():
        path.write_text(text, "utf-8")
