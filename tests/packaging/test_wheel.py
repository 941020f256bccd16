"""The wheel, installed into an environment without a checkout: samples, shell and dashboard from an empty folder."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import tomllib
import zipfile
from pathlib import Path

import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.sync.client import connect

from tests.browser.server import free_port, wait_until_healthy

ROOT = Path(__file__).resolve().parents[2]
BUILT_FROM = ("spofr_core", "dashboard", "sample_data", ".streamlit", "pyproject.toml", "setup.py", "requirements.txt")
BUILT_FROM += ("README.md", "LICENSE", "NOTICE", "MANIFEST.in")


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Without the paths that lead to the checkout."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return {**kept, "SPOFR_HOME": str(tmp_path_factory.mktemp("home"))}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from a copy: a build leaves files behind, and those of an older checkout would be packed too."""
    folder = tmp_path_factory.mktemp("wheel")
    for name in BUILT_FROM:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", "*.nb[ic]"))
        else:
            shutil.copy(ROOT / name, folder / name)
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder / "dist")]
    built = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stdout + built.stderr
    assert "Package would be ignored" not in built.stdout + built.stderr
    return next((folder / "dist").glob("*.whl"))


@pytest.fixture(scope="module")
def bin_folder(wheel: Path, environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with nothing but the wheel; what the wheel requires is read from the environment of the tests."""
    folder = tmp_path_factory.mktemp("venv")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    purelib = sysconfig.get_path("purelib", "venv", vars={"base": str(folder), "platbase": str(folder)})
    # Lines of this file are folders to search; the .pth files in them, the editable install's too, are not followed.
    (Path(purelib) / "requirements.pth").write_text(sysconfig.get_path("purelib") + "\n")
    scripts = Path(sysconfig.get_path("scripts", "venv", vars={"base": str(folder), "platbase": str(folder)}))
    pip = [sys.executable, "-m", "pip", "--python", str(scripts / "python"), "install", "--quiet", "--no-deps"]
    subprocess.run([*pip, "--no-index", str(wheel)], env=environment, check=True)
    _copy_kernels(Path(purelib))
    return scripts


def _copy_kernels(site: Path) -> None:
    """Take along what the checkout has compiled, if it has: it counts as compiled from sources of the same age."""
    for compiled in (ROOT / "spofr_core").rglob("*.nb[ic]"):
        folder = compiled.parents[1]
        installed = site / folder.relative_to(ROOT)
        (installed / "__pycache__").mkdir(exist_ok=True)
        shutil.copy2(compiled, installed / "__pycache__")
        for source in folder.glob("*.py"):
            shutil.copystat(source, installed / source.name)


def test_the_wheel_holds_every_file_that_the_packages_read(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        packed = set(archive.namelist())
    beside = {"sample_data": "spofr_core/sample_data", ".streamlit": "dashboard/.streamlit"}
    folders = {"spofr_core": "spofr_core", "dashboard": "dashboard", **beside}
    for folder, target in folders.items():
        for path in (ROOT / folder).rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts and path.suffix not in (".nbi", ".nbc"):
                assert f"{target}/{path.relative_to(ROOT / folder).as_posix()}" in packed


def test_samples_and_the_shell_work_from_an_empty_folder(
    bin_folder: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    script = (
        "import spofr_core\n"
        "from spofr_core import load_sample\n"
        "from spofr_core.data import sample_path\n"
        "print(spofr_core.__file__, len(load_sample('hiring').test), sample_path('hiring.csv'), sep='\\n')\n"
    )
    command = [str(bin_folder / "python"), "-c", script]
    said = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True).stdout
    package, lists, hiring = said.splitlines()
    assert not Path(package).is_relative_to(ROOT)
    assert lists == "100"
    command = [
        str(bin_folder / "spofr"),
        "audit",
        hiring,
        "--group",
        "gender",
        "--delta",
        "0.05",
        "--html",
        "report.html",
    ]
    said = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True).stdout
    assert "326 of 500 judged queries hold delta = 0.05: 65.2 %" in said
    assert "326 of 500" in (tmp_path / "report.html").read_text("utf-8")


def test_the_dashboard_answers_with_its_theme(bin_folder: Path, environment: dict[str, str], tmp_path: Path) -> None:
    port, log, folder = free_port(), tmp_path / "log.txt", tmp_path / "empty"
    folder.mkdir()
    command = [str(bin_folder / "spofr"), "dashboard", "--headless", "--port", str(port)]
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, cwd=folder, env=environment, stdout=output, stderr=output, start_new_session=True
        )
    try:
        wait_until_healthy(f"http://127.0.0.1:{port}/_stcore/health", process, log)
        theme = _theme(f"127.0.0.1:{port}")
    finally:
        os.killpg(process.pid, signal.SIGINT)
        process.wait(timeout=30)
    asked = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text("utf-8"))["theme"]
    assert (theme.light.primary_color, theme.dark.primary_color) == (
        asked["light"]["primaryColor"],
        asked["dark"]["primaryColor"],
    )
    assert theme.body_font == asked["font"]


def _theme(address: str):
    """The theme that the server tells a browser which opens the first page."""
    hello = BackMsg()
    hello.rerun_script.query_string = ""
    with connect(f"ws://{address}/_stcore/stream", origin=f"http://{address}", subprotocols=["streamlit"]) as socket:
        socket.send(hello.SerializeToString())
        while True:
            message = ForwardMsg.FromString(socket.recv(timeout=60))
            if message.WhichOneof("type") == "new_session":
                return message.new_session.custom_theme
