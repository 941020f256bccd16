"""The state of an unfinished fit in one file, replaced as a whole."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from spofr_core.errors import DataError, first_line
from spofr_core.files import parse_json, write_whole

FILE_NAME = "checkpoint.safetensors"


class Checkpoint:
    """Saves and reads the state of a fit: arrays, and plain values in the header of the same file.

    Parameters
    ----------
    directory : path
        Created when needed.
    identity : str
        Of the fit: method, settings and data. A checkpoint of another fit is refused.
    """

    def __init__(self, directory: str | Path, identity: str) -> None:
        self.path = Path(directory) / FILE_NAME
        self._identity = identity

    def write(self, arrays: dict[str, NDArray[Any]], plain: dict[str, Any]) -> None:
        """Replace the checkpoint; whoever is killed meanwhile leaves the old one or the new one, whole."""
        text = json.dumps(_without_infinities(plain), allow_nan=False)
        content = save(arrays, metadata={"identity": self._identity, "plain": text})
        write_whole(self.path, content, durable=False)  # every epoch writes one; the run itself is kept with care

    def read(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]] | None:
        """The last state, or None if there is none.

        Raises
        ------
        DataError
            When the file is damaged or belongs to another fit.
        """
        if not self.path.exists():
            return None
        try:
            with safe_open(self.path, framework="np") as file:
                metadata = file.metadata() or {}
                arrays = {name: np.array(file.get_tensor(name)) for name in file.keys()}  # noqa: SIM118 - not a dict
        except (SafetensorError, OSError) as error:
            raise DataError(f"The checkpoint {self.path} cannot be read ({error}): delete it to start over.") from error
        if metadata.get("identity") != self._identity:
            raise DataError(
                f"The checkpoint {self.path} belongs to a fit with other data, settings or another version: "
                "delete it to start over, or give the fit a directory of its own."
            )
        try:
            return arrays, parse_json(metadata["plain"])
        except (KeyError, ValueError) as error:
            raise self.damaged(error) from error

    def damaged(self, why: Exception) -> DataError:
        """The refusal of a state that nothing can continue from."""
        return DataError(f"The checkpoint {self.path} is damaged ({first_line(why)}): delete it to start over.")


def _without_infinities(plain: dict[str, Any]) -> dict[str, Any]:
    """JSON knows no infinity: the objective of a fit that was never validated becomes null."""
    position = {
        name: None if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in plain["position"].items()
    }
    return {**plain, "position": position}
