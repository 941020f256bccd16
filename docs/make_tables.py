"""Write the parts of the documents that come from results: `python docs/make_tables.py`.

A part of quality.md, quality_tables.md or reproduction.md stands between `<!-- begin NAME -->` and `<!-- end NAME -->`,
a number in a sentence between `<!--= QUESTION -->` and `<!--/-->`: of the study (benchmarks/quality_numbers.py reads
the question), or of the reproduction and its data (`fact`); README.md has some too. Everything else in them is written
by hand. The full lists of the reproduction are reproduction/small.md and paper.md.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path

import numpy as np

from spofr_core.data import SAMPLES, Splits, load_sample
from spofr_core.experiments.paper.claim_rule import MARGIN
from spofr_core.experiments.paper.findings import CLAIMS, Finding
from spofr_core.experiments.paper.findings_text import VERDICTS, full_list, one_line
from spofr_core.experiments.paper.paper_sweeps import PAPER_SECONDS, SIZES

DOCS = Path(__file__).resolve().parent
RESULTS = DOCS.parent / "benchmarks" / "results" / "quality.jsonl"
LEAK = RESULTS.parent / "warm_start_leak.json"
FACTS = ("margin", "paper seconds", "drawn from", "merit", "merit sum", "share of ideal", "seconds", "difference")
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
    parts = {"claims": claims(found["small"], found["paper"]), "leak": leak(), "what is asked": what_is_asked()}

    def answer(asked: str) -> str:
        return fact(found["paper"], asked) if asked.partition(":")[0] in FACTS else number(results, asked)

    made = {
        page: with_numbers(with_parts(page.read_text("utf-8"), tables), answer)
        for page in (DOCS / "quality.md", DOCS / "quality_tables.md", DOCS.parent / "README.md")
    } | {
        reproduction: with_numbers(with_parts(reproduction.read_text("utf-8"), parts), answer),
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


def what_is_asked() -> str:
    """Each claim with what makes a number "as claimed"."""
    rows = [f"| {claim.text} | {claim.asked} |" for each in CLAIMS.values() for claim in each]
    return "\n".join(["| claim | a number is as claimed where |", "| --- | --- |", *rows])


def leak() -> str:
    """Mean DCG of a scorer that knows nothing, from `benchmarks/warm_start_leak.py --json`."""
    measured = json.loads(LEAK.read_text("utf-8"))
    names = list(measured[0]["dcg"])
    rows = [[f"delta {row['delta']:g}", *(f"{row['dcg'][name]['dcg']:.3f}" for name in names)] for row in measured]
    head = [[f"mean DCG of {measured[0]['lists']} lists", *names], ["---"] * (len(names) + 1)]
    return "\n".join("| " + " | ".join(row) + " |" for row in [*head, *rows])


def fact(findings: Sequence[Finding], asked: str) -> str:
    """A number of the reproduction at the paper's size, or of what it is run on.

    margin                       of the rule; "paper seconds": how many times as long an epoch takes in the paper
    drawn from: DATASET          how many people or queries the lists of its parts are drawn from
    merit: DATASET, GROUP        mean label of its items, "merit sum" the mean sum in a list; over the seeds
    share of ideal: DATASETS     the largest share of the ideal DCG of any method
    seconds: METHOD              per epoch, from the smallest training set to the largest; "SPOFR / FULTR": their ratio
    difference: ONE minus OTHER on DATASET

    Raises
    ------
    KeyError
        When the question cannot be read, or there is no answer to it.
    """
    kind, _, of = asked.partition(": ")
    if kind == "margin":
        return f"{MARGIN:.0%}".replace("%", " %")
    if kind == "paper seconds":
        return _range(
            [
                PAPER_SECONDS["spofr", n][0] / seconds
                for (who, n), (seconds, _) in PAPER_SECONDS.items()
                if who == "fultr"
            ],
            ".1f",
        )
    if kind == "drawn from":
        return SAMPLES[of].sources_text(_splits(of, 0))
    if kind in ("merit", "merit sum"):
        dataset, _, group = of.partition(", ")
        return f"{np.mean([_merit(dataset, group, seed, kind) for seed in range(SIZES['paper'].seeds)]):.2g}"
    numbers = [number for finding in findings for number in finding.numbers]
    if kind == "share of ideal":
        shares = re.findall(rf"(?m)^(?:{of.replace(', ', '|')}), .*: ([\d.]+)%.* of the ideal", "\n".join(numbers))
        return f"{max(map(float, shares)):.0f} %"
    if kind == "seconds":
        columns = [
            [float(seconds) for seconds in re.findall(rf"{name} ([\d.]+) s", "\n".join(numbers))]
            for name in of.split(" / ")
        ]
        values = columns[0] if len(columns) == 1 else [a / b for a, b in zip(*columns, strict=True)]
        return _range(values, ".2f")
    if kind == "difference":
        subject, _, dataset = of.partition(" on ")
        first, _, second = subject.partition(" minus ")
        told = [each for each in numbers if re.match(rf"{dataset}, .*: {first}(?: \(.*?\))? minus {second}", each)]
        if told:
            return one_line(told).partition(": ")[2].rstrip(".")
    raise KeyError(f"not a question about the reproduction: {asked!r}")


def _range(values: Sequence[float], digits: str) -> str:
    ends = list(dict.fromkeys(format(end, digits) for end in (min(values), max(values))))
    return " to ".join(ends)


@cache
def _splits(name: str, seed: int) -> Splits:
    return load_sample(name, seed=seed, lists=SIZES["paper"].data[name].lists)


def _merit(name: str, group: str, seed: int, kind: str) -> float:
    train = _splits(name, seed).train
    labels = np.asarray(train.relevance)[train.groups == train.group_names.index(group)]
    return float(labels.mean() if kind == "merit" else labels.sum() / len(train))


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
