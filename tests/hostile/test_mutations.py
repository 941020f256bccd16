"""Models, certificates, settings and requests with a few bytes changed: what they say, or one sentence."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from spofr_core import Fairness, PredictThenOptimize, fair_policies, load_model, load_sample, read_dataset
from spofr_core.errors import SpofrError
from spofr_core.experiments import SweepSpec
from spofr_core.learning.model_files import HEADER_FILE, WEIGHTS_FILE
from spofr_core.policy.proof.file_verification import verify_file
from spofr_core.serving.service import Refused, Service
from spofr_core.serving.service_settings import ServiceSettings

ROOT = Path(__file__).resolve().parents[2]
TRIES = 120


@pytest.fixture
def mutated(monkeypatch: pytest.MonkeyPatch) -> Callable[[bytes, np.random.Generator], bytes]:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import fuzzing

    return fuzzing.mutated


def tried(read: Callable[[bytes], object], whole: bytes, mutated: Callable[..., bytes]) -> tuple[int, int]:
    """How many of the mutated copies were read, and refused in a sentence; anything else is raised."""
    read(whole)
    good = bad = longest = 0
    for seed in range(TRIES):
        content = mutated(whole, np.random.default_rng(seed))
        try:
            read(content)
            good += 1
        except (SpofrError, Refused) as refusal:
            longest = max(longest, len(str(refusal)))
            bad += 1
    assert longest < 2_000
    return good, bad


@pytest.fixture(scope="module", params=["network", "trees"])
def model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model")
    data = load_sample("hiring")
    found = PredictThenOptimize(Fairness(delta=0.1), scorer=request.param, max_steps=2, seed=0)
    found.fit(data.train[:20], data.validation[:20]).save(folder)
    return folder


@pytest.mark.filterwarnings("default")
def test_headers_of_models(model: Path, tmp_path: Path, mutated: Callable[..., bytes]) -> None:
    folder = shutil.copytree(model, tmp_path / "copy")

    def read(content: bytes) -> None:
        (folder / HEADER_FILE).write_bytes(content)
        load_model(folder)

    _, refused = tried(read, (model / HEADER_FILE).read_bytes(), mutated)
    assert refused > TRIES / 3


@pytest.mark.filterwarnings("default")
def test_weights_of_models(model: Path, tmp_path: Path, mutated: Callable[..., bytes]) -> None:
    """Safetensors, and the trees in them as LightGBM writes them; the digest is right, for whoever alters can count."""
    folder = shutil.copytree(model, tmp_path / "copy")
    header = json.loads((model / HEADER_FILE).read_text())

    def read(content: bytes) -> None:
        (folder / WEIGHTS_FILE).write_bytes(content)
        digest = hashlib.sha256(content).hexdigest()
        (folder / HEADER_FILE).write_text(json.dumps(header | {"weights_sha256": digest}))
        load_model(folder)

    _, refused = tried(read, (model / WEIGHTS_FILE).read_bytes(), mutated)
    assert refused > TRIES / 3


@pytest.mark.parametrize("name", ["policies.jsonl", "policies.csv", "policies.parquet"])
def test_policies_and_certificates(tmp_path: Path, mutated: Callable[..., bytes], name: str) -> None:
    data, fairness = read_dataset(ROOT / "tests/fixtures/twelve.csv")[:3], Fairness(delta=0.05)
    policies = fair_policies(data, fairness)
    if name.endswith(".jsonl"):
        (tmp_path / name).write_text("".join(json.dumps(policy.certificate) + "\n" for policy in policies))
    else:
        policies.write(tmp_path / name)
    whole = (tmp_path / name).read_bytes()
    held = []

    def read(content: bytes) -> None:
        (tmp_path / name).write_bytes(content)
        held.append(verify_file(tmp_path / name, data, fairness).ok)

    read_again, refused = tried(read, whole, mutated)
    assert held[0]
    assert refused + held.count(False) > TRIES / 2
    assert read_again + refused == TRIES


def test_settings_of_sweeps(tmp_path: Path, mutated: Callable[..., bytes]) -> None:
    whole = b"dataset: {sample: hiring}\nmethods: [unfair, spofr]\ndeltas: [0.05, 0.1]\nseeds: [0, 1]\n"

    def read(content: bytes) -> None:
        (tmp_path / "sweep.yaml").write_bytes(content)
        SweepSpec.read(tmp_path / "sweep.yaml")

    assert tried(read, whole, mutated)[1] > TRIES / 3


def test_requests_to_the_service(tmp_path: Path, mutated: Callable[..., bytes]) -> None:
    items = [{"id": f"d{k}", "group": "ab"[k % 2], "score": k / 7} for k in range(6)]
    whole = json.dumps({"query": "q", "delta": 0.05, "items": items}).encode()
    service = Service(ServiceSettings(fairness=Fairness(delta=0.03), state=tmp_path / "counters"))

    def read(content: bytes) -> None:
        answer = service.answer(content)
        assert "the service failed" not in str(answer["reason"]), answer

    assert tried(read, whole, mutated)[1] > TRIES / 3
