"""What pyproject.toml cannot say: the wheel takes along the samples and the theme, which lie beside the packages."""

from __future__ import annotations

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

ROOT = Path(__file__).resolve().parent
TAKEN_ALONG = {"sample_data": "spofr_core/sample_data", ".streamlit": "dashboard/.streamlit"}


class BuildWithData(build_py):
    """The packages, and the folders that they read; an editable install reads them where they are."""

    def run(self) -> None:
        """Build, then copy."""
        super().run()
        if not self.editable_mode:
            for folder, target in TAKEN_ALONG.items():
                shutil.copytree(ROOT / folder, Path(self.build_lib) / target, dirs_exist_ok=True)


setup(cmdclass={"build_py": BuildWithData})
