"""Margins of gates: by how much something may be worse."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from spofr_core.errors import ConfigError
from spofr_core.evaluation.comparing.quantities import EXPOSURE


def checked_margins(
    tolerate: Mapping[str, float], gates: Sequence[str], names: Callable[[Sequence[str]], list[str]]
) -> dict[str, float]:
    """The margin of each row.

    Parameters
    ----------
    tolerate : mapping of str to float
        By names as people write them.
    gates : sequence of str
        The rows that are asked about.
    names : callable
        From texts to the rows that they stand for.

    Raises
    ------
    ConfigError
        For a margin that is no number of 0 or more, for one of no gate, and for two of the same row.
    """
    margins: dict[str, float] = {}
    said: dict[str, str] = {}
    for text, margin in tolerate.items():
        if isinstance(margin, bool) or not isinstance(margin, int | float) or not 0 <= margin < math.inf:
            raise ConfigError(f"The margin of {text!r} is {margin!r}; give a number of 0 or more, such as 0.005.")
        gated = [name for name in names([text]) if name in gates]
        if not gated:
            listed = ", ".join(repr(gate) for gate in gates) or "none"
            raise ConfigError(f"{text!r} has a margin and is no gate; the gates are {listed}.")
        for name in gated:
            if name in said:
                raise ConfigError(f"{said[name]!r} and {text!r} are margins of the same row; give one.")
            if name.startswith(f"{EXPOSURE}:") and margin >= 1:
                raise ConfigError(
                    f"The margin of {text!r} is {margin!r}; a group has no more than all to lose: give a share of what "
                    "it gets, such as 0.05."
                )
            margins[name], said[name] = float(margin), text
    return margins
