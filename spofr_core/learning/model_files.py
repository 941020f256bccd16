"""A model on disk: `model.safetensors` (weights, scaler), `model.json` (all the rest), maybe texts. Never pickle."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load, save

from spofr_core.errors import DataError
from spofr_core.files import parse_json, read_whole, write_whole

FORMAT = "spofr-model"
FORMAT_VERSION = 1
WEIGHTS_FILE, HEADER_FILE = "model.safetensors", "model.json"


@dataclass(frozen=True, eq=False)
class ModelFile:
    """The content of a model directory."""

    header: dict[str, Any]
    arrays: dict[str, NDArray[Any]]

    def part(self, name: str) -> dict[str, NDArray[Any]]:
        """The arrays whose names begin with this, without it."""
        prefix = f"{name}."
        return {key.removeprefix(prefix): array for key, array in self.arrays.items() if key.startswith(prefix)}


def versions() -> dict[str, str]:
    """Versions of what a trained model depends on."""
    return {name: version(name) for name in ("spofr", "torch", "numpy", "numba", "lightgbm")}


def write_model(
    directory: str | Path,
    header: dict[str, Any],
    arrays: dict[str, NDArray[Any]],
    texts: dict[str, bytes] | None = None,
) -> None:
    """Write all files, each replaced as a whole; the header comes last and carries the digests of the others."""
    place = Path(directory)
    weights, texts = save(arrays), texts or {}
    full = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "weights_sha256": hashlib.sha256(weights).hexdigest(),
        **({"texts_sha256": {name: hashlib.sha256(text).hexdigest() for name, text in texts.items()}} if texts else {}),
        **header,
    }
    text = json.dumps(full, indent=2, ensure_ascii=False, allow_nan=False)
    for name, content in ((WEIGHTS_FILE, weights), *texts.items(), (HEADER_FILE, text.encode() + b"\n")):
        write_whole(place / name, content)


def read_model(directory: str | Path) -> ModelFile:
    """Read both files and check that they belong together.

    Raises
    ------
    DataError
        When a file is missing, truncated, altered, or of another format version.
    """
    place = Path(directory)
    header = _read_header(place / HEADER_FILE)
    path = place / WEIGHTS_FILE
    try:
        weights = read_whole(path)
    except OSError as error:
        raise DataError(f"The weights {path} cannot be read ({error.strerror}): save the model again.") from error
    if hashlib.sha256(weights).hexdigest() != header.get("weights_sha256"):
        raise DataError(
            f"{path} ({len(weights)} bytes) is not the file that was saved with {HEADER_FILE}: "
            "it is truncated or was replaced. Save the model again."
        )
    try:
        return ModelFile(header, {name: np.array(array) for name, array in load(weights).items()})
    except SafetensorError as error:
        raise DataError(f"{path} is not a safetensors file ({error}).") from error


def read_text_file(directory: str | Path, name: str, header: dict[str, Any]) -> NDArray[np.uint8]:
    """The bytes of a text that was saved beside the weights, if they are those that the header knows.

    Raises
    ------
    DataError
        When the file is missing or altered.
    """
    path = Path(directory) / name
    try:
        content = read_whole(path)
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror}): save the model again.") from error
    known = header.get("texts_sha256")
    if not isinstance(known, dict) or hashlib.sha256(content).hexdigest() != known.get(name):
        raise DataError(
            f"{path} ({len(content)} bytes) is not the file that was saved with {HEADER_FILE}: "
            "it is truncated or was replaced. Save the model again."
        )
    return np.frombuffer(content, dtype=np.uint8)


def _read_header(path: Path) -> dict[str, Any]:
    try:
        header = parse_json(read_whole(path))
    except OSError as error:
        raise DataError(
            f"There is no model in {path.parent} ({path.name}: {error.strerror}); give the directory of a saved model."
        ) from error
    except ValueError as error:
        raise DataError(f"{path} is not valid JSON ({error}): it is truncated or damaged.") from error
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise DataError(f"{path} does not describe a model of this package; its 'format' must be {FORMAT!r}.")
    if header.get("format_version") != FORMAT_VERSION:
        written_by = header.get("versions")
        release = written_by.get("spofr", "unknown") if isinstance(written_by, dict) else "unknown"
        raise DataError(
            f"{path} has format version {header.get('format_version')!r}, this package reads "
            f"{FORMAT_VERSION}: it was written by version {release} of the package; read it with that "
            "one, or train it again."
        )
    return header
