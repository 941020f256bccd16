"""`RunRecord`: what the store knows about a run, read from one small file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal, TypeGuard

from spofr_core.experiments.runs.run_lock import Owner
from spofr_core.experiments.runs.run_output import MEASURED, RESULT_COLUMNS
from spofr_core.experiments.sweep_spec import DatasetSpec, RunConfig
from spofr_core.learning import with_scorer

Status = Literal["running", "done", "failed", "interrupted"]


_FIELDS = {"run": str, "status": str, "config": dict, "data": str, "updated": int | float}
_NAME = re.compile(r"[\w-][\w.-]*")


def is_run_name(name: str) -> bool:
    """Whether a run may be called so: one plain folder, and no way out of the store."""
    return _NAME.fullmatch(name) is not None


def is_record(content: Mapping[str, Any] | None) -> TypeGuard[dict[str, Any]]:
    """Whether a `status.json` tells of a run: a damaged one does not."""
    return content is not None and all(isinstance(content.get(name), kind) for name, kind in _FIELDS.items())


class RunRecord:
    """A run as its `status.json` tells it."""

    def __init__(self, content: dict[str, Any]) -> None:
        self._content = content

    @property
    def run(self) -> str:
        """Name of the run."""
        return str(self._content["run"])

    @property
    def status(self) -> Status:
        """ "running", "done", "failed", or "interrupted": begun by a process that is no more, or that let it go."""
        status: Status = self._content["status"]
        if status == "running" and not Owner.from_dict(self._content["owner"]).alive:
            return "interrupted"
        return status

    @property
    def config(self) -> RunConfig:
        """What the run is of."""
        return RunConfig.from_dict(self._content["config"])

    @property
    def settings(self) -> dict[str, Any]:
        """The same as a plain dict, without checking it again."""
        content: dict[str, Any] = self._content["config"]
        return content

    @property
    def method(self) -> str:
        """The method as tables name it, with its scorer, and what its model is where a margin kept a warm-up."""
        settings = self.settings
        return with_scorer(settings["method"], settings.get("settings", {}), self.report.get("best"))

    @property
    def fingerprint(self) -> str:
        """Hash of the data that the run was begun with."""
        return str(self._content["data"])

    @property
    def reason(self) -> str | None:
        """Why it failed."""
        reason = self._content.get("reason")
        return None if reason is None else str(reason)

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of its numbers must know."""
        return tuple(self._content.get("notes", ()))

    @property
    def report(self) -> dict[str, Any]:
        """What happened in the fit."""
        report: dict[str, Any] = self._content.get("report", {})
        return report

    @property
    def versions(self) -> dict[str, str]:
        """Versions of the packages it was made with."""
        versions: dict[str, str] = self._content.get("versions", {})
        return versions

    @property
    def updated(self) -> float:
        """When its state last changed, in seconds since 1970."""
        return float(self._content["updated"])

    @property
    def measured(self) -> dict[str, Any]:
        """Results, empty until it is done."""
        measured: dict[str, Any] = self._content.get("measured", {})
        return measured

    def row(self) -> dict[str, Any]:
        """The row of the table of results."""
        settings, measured = self.settings, self.measured
        dataset = settings["dataset"]
        label = dataset["sample"] or DatasetSpec(file=dataset["file"]).label
        given = {name: settings[name] for name in ("method", "delta", "penalty", "notion", "clicks", "seed")}
        given["method"] = self.method
        if isinstance(given["delta"], dict):
            given["delta"] = None  # a table has room for one number; all of them are in the settings
        given["unit"] = settings.get("unit", "absolute")
        groups = measured.get("groups", settings["groups"] if isinstance(settings["groups"], int) else None)
        row = {"run": self.run, "dataset": label, "groups": groups, "status": self.status, **given}
        row |= {name: measured.get(name) for name in MEASURED}
        return {name: row[name] for name in RESULT_COLUMNS}

    def to_dict(self) -> dict[str, Any]:
        """Everything, plain."""
        return {**self._content, "status": self.status}
