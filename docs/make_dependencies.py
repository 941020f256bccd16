"""`make audit-dependencies`: writes docs/dependencies.md from what is installed, then asks for known vulnerabilities.

Licences are read from each package's own metadata; why a package is here is said below, and a requirement without a
reason is refused. Vulnerabilities are asked of the package index that pip uses, package by package. What could not be
asked is said, and the exit code tells the three apart: 0 none is known, 1 some are, 2 nobody could be asked.
"""

from __future__ import annotations

import json
import re
import sys
import urllib.error
import urllib.request
from collections import defaultdict
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "dependencies.md"

WHY = {
    "cachetools": "bounded memories of solvers and of prepared data",
    "dask": "sweeps over several machines: the tasks",
    "distributed": "sweeps over several machines: scheduler and workers",
    "fastapi": "the service: routes and their checks",
    "filelock": "one process at a time writes a run",
    "jinja2": "the report, from templates that escape by themselves",
    "lightgbm": "the scorer that is made of trees, fitted",
    "numba": "the exact solver and the proof, compiled",
    "numpy": "arrays, everywhere",
    "ortools": "GLOP: second solver, and the peer in benchmarks",
    "pandas": "tables in and out",
    "plotly": "charts on the pages",
    "prometheus-client": "counters of the service, for monitoring",
    "psutil": "whether the process that holds a run still lives; memory in benchmarks",
    "pyarrow": "Parquet, and fast CSV",
    "pydantic": "settings that are checked where they are made",
    "python-calamine": "Excel workbooks: the cells",
    "pyyaml": "sweeps as files",
    "rich": "progress bars in the shell",
    "safetensors": "weights of models, without pickle",
    "scikit-learn": "LETOR files, isotonic calibration, the ranker behind simulated clicks",
    "scipy": "reference programmes, intervals, assignment in proofs",
    "streamlit": "the pages",
    "torch": "the scorer that is a network, and its training",
    "typer": "the shell",
    "uvicorn": "the service: the server below it",
    "authlib": "tests of the login, which is an extra (`spofr[login]`)",
    "axe-playwright-python": "tests: rules of accessibility, on every page",
    "fairranktune": "tests: another library's measures",
    "hypothesis": "tests: properties over generated lists",
    "ir-measures": "tests: another library's measures",
    "jsonschema": "tests: documents against docs/schema",
    "mlflow-skinny": "tests: the tracker that results can be logged to",
    "oidc-provider-mock": "tests: somebody who vouches for visitors",
    "onnx": "tests: exported networks",
    "onnxruntime": "tests: exported networks give the same scores",
    "openpyxl": "tests: workbooks as people and programmes write them",
    "playwright": "tests and benchmarks: a real browser",
    "pytest": "tests",
    "pytest-timeout": "tests: none hangs",
    "pytest-xdist": "tests: two at a time",
    "websockets": "tests: clients of the pages that are no browsers",
    "xgboost-cpu": "tests: another library's ranker in the examples",
    "mypy": "types",
    "pandas-stubs": "types of pandas",
    "ruff": "lint and format",
    "scipy-stubs": "types of SciPy",
    "types-cachetools": "types of cachetools",
    "types-psutil": "types of psutil",
    "types-pyyaml": "types of PyYAML",
    "build": "the wheel and the sdist",
    "setuptools": "the wheel and the sdist",
}


def required(name: str) -> dict[str, str]:
    """Pinned versions of a file of requirements, by the name as it is written there."""
    lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
    return dict(line.split("==") for line in lines if "==" in line)


def licence(found: Distribution) -> str:
    """What the package says of its own licence, in a few words."""
    told = found.metadata.get("License-Expression") or ""
    classified = [
        line.split(" :: ")[-1] for line in found.metadata.get_all("Classifier") or [] if line.startswith("License ::")
    ]
    plain = (found.metadata.get("License") or "").strip().splitlines()
    short = plain[0].strip() if plain and len(plain[0]) <= 60 else ""
    return told or ", ".join(classified) or short or "not said; see its files"


def needed_by(roots: list[str]) -> dict[str, set[str]]:
    """Packages that the roots bring along on this machine, with those that ask for them."""
    asked: dict[str, set[str]] = defaultdict(set)
    waiting, seen = [canonicalize_name(name) for name in roots], set()
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        for line in distribution(name).requires or []:
            wanted = Requirement(line)
            if wanted.marker is None or wanted.marker.evaluate({"extra": ""}):
                inner = canonicalize_name(wanted.name)
                asked[inner].add(distribution(name).metadata["Name"])
                waiting.append(inner)
    return {name: by for name, by in asked.items() if name not in map(canonicalize_name, roots)}


def table(wanted: dict[str, str]) -> list[str]:
    rows = ["| package | version | licence | why it is here |", "|---|---|---|---|"]
    for name, version in wanted.items():
        rows.append(f"| {name} | {version} | {licence(distribution(name))} | {WHY[canonicalize_name(name)]} |")
    return rows


def page() -> str:
    """docs/dependencies.md as it should be."""
    runtime, development = required("requirements.txt"), required("requirements-dev.txt")
    brought = needed_by(list(runtime))
    rows = ["| package | licence | asked for by |", "|---|---|---|"]
    for name in sorted(brought):
        try:
            found = distribution(name)
        except PackageNotFoundError:  # a marker of another platform
            continue
        rows.append(f"| {found.metadata['Name']} | {licence(found)} | {', '.join(sorted(brought[name]))} |")
    parts = [
        "# What it stands on",
        "Written by `make audit-dependencies` from what is installed; licences are what each package says of itself. "
        "The same command asks the package index for known vulnerabilities of all of them, and says so when nobody "
        "could be asked.",
        "## To run",
        "\n".join(table(runtime)),
        "## Brought along by these",
        "\n".join(rows),
        "## To test and to build",
        "\n".join(table(development)),
    ]
    return "\n\n".join(parts) + "\n"


def vulnerabilities(packages: list[str]) -> tuple[dict[str, list[str]], list[str]]:
    """Known vulnerabilities by package, and the packages that nobody could be asked about."""
    from pip._internal.models.index import PyPI  # the index that pip itself falls back to

    found: dict[str, list[str]] = {}
    unknown = []
    for name in packages:
        version = distribution(name).version
        try:
            with urllib.request.urlopen(f"{PyPI.pypi_url}/{name}/{version}/json", timeout=20) as answer:
                known = json.loads(answer.read())["vulnerabilities"]
        except (urllib.error.URLError, OSError, ValueError, KeyError):
            unknown.append(f"{name} {version}")
            continue
        if current := [entry["id"] for entry in known if not entry.get("withdrawn")]:
            found[f"{name} {version}"] = current
    return found, unknown


def main() -> int:
    PAGE.write_text(page(), encoding="utf-8")
    packages = re.findall(r"^\| ([\w.-]+) \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    found, unknown = vulnerabilities(sorted({name for name in packages if name != "package"}))
    print(f"docs/dependencies.md is written: {len(packages) - 3} packages.")
    for name, known in found.items():
        print(f"{name}: {', '.join(known)}")
    if unknown:
        print(
            f"The index could not be asked about {len(unknown)} of them ({', '.join(unknown[:3])}"
            f"{', ...' if len(unknown) > 3 else ''}): whether those have known vulnerabilities is not known. Run this "
            "where the index answers, or look with `pip-audit -r requirements.txt`."
        )
    if found:
        return 1
    if unknown:
        return 2
    print("No vulnerability of any of them is known to the index.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
