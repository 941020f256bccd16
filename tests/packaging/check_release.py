"""Install a built wheel or sdist into an empty environment and use it: `check_release.py FILE...`.

What it requires comes from the registry that pip is set up with; nothing is taken from the checkout, and nothing is
signed or sent anywhere.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import tempfile
import venv
from pathlib import Path

AUDITED = (
    "from spofr_core import Fairness, audit, load_sample\n"
    "import spofr_core\n"
    "from importlib.metadata import version\n"
    "queries = audit(load_sample('hiring').test, Fairness(delta='10%')).summary['queries']\n"
    "print(version('spofr'), spofr_core.__file__, queries['fair'], queries['judged'], sep='\\n')\n"
)


def check(built: Path, expected: str) -> None:
    """Install, import, ask the doctor, audit; any failure ends the check with its output."""
    with tempfile.TemporaryDirectory(prefix="spofr-release-") as name:
        folder = Path(name)
        venv.create(folder / "venv", with_pip=True)
        base = {"base": str(folder / "venv"), "platbase": str(folder / "venv")}
        scripts = Path(sysconfig.get_path("scripts", "venv", vars=base))
        kept = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
        environment = {**kept, "SPOFR_HOME": str(folder / "home")}

        def run(*command: object) -> str:
            done = subprocess.run(
                [str(part) for part in command],
                cwd=folder,
                env=environment,
                capture_output=True,
                text=True,
                check=False,
            )
            if done.returncode != 0:
                raise SystemExit(f"{built.name}: {command[0]} ended with {done.returncode}\n{done.stdout}{done.stderr}")
            return done.stdout

        run(scripts / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", built.resolve())
        version, package, fair, judged = run(scripts / "python", "-c", AUDITED).splitlines()
        assert version == expected, f"{built.name} says that it is {version}, not {expected}"
        assert Path(package).is_relative_to(folder.resolve()), f"{built.name}: spofr was imported from elsewhere"
        assert (fair, judged) == ("13", "100"), f"{built.name}: {fair} of {judged} lists hold delta, not 13 of 100"
        run(scripts / "spofr", "doctor")
        told = run(scripts / "spofr", "audit", "--sample", "hiring", "--delta", "10%")
        assert "81 of 500 judged queries hold delta" in told, told
    print(f"{built.name}: installed, imported, examined and used in an empty environment.")


def main() -> None:
    """Check each file; the version is the one in pyproject.toml."""
    import tomllib

    root = Path(__file__).resolve().parents[2]
    version = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    for name in sys.argv[1:]:
        check(Path(name), version)


if __name__ == "__main__":
    main()
