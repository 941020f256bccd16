"""A log of impressions of this visitor: kept with its file, read once in a session, audited at each delta."""

from __future__ import annotations

import json
import shlex
import time

import streamlit as st

from dashboard.session.choices import Choices, choices, choose, written
from dashboard.session.mapping import Mapping
from dashboard.session.upload_store import Upload, UploadStore
from dashboard.session.uploads import LIMITS, shell_arguments
from spofr_core.errors import ConfigError
from spofr_core.fairness import NOTIONS, Fairness, written_delta
from spofr_core.serving import ShownAudit, ShownLog, audit_shown, read_shown

_KEPT = "shown-log"


def accept_log(store: UploadStore, upload: Upload, mapping: Mapping) -> None:
    """Read an upload as a log, and put what was shown on the screen; nothing changes where it cannot be read.

    Raises
    ------
    DataError
        When the file is not what the mapping says.
    """
    read = upload.model_copy(update={"mapping": mapping})
    _keep(read, read_shown(store.checked_path(upload), limits=LIMITS, **mapping.log_options()))
    store.change(upload, mapping=mapping, draft=None, opened=time.time())
    choose(log=upload.content)


def chosen_log(store: UploadStore) -> Upload | None:
    """The log that is looked at; None where there is none, or none that this visitor has."""
    wanted = choices().log
    upload = store.get(wanted) if wanted else None
    return upload if upload is not None and upload.mapping is not None and upload.mapping.is_log else None


def log_of(store: UploadStore, upload: Upload) -> ShownLog:
    """The log as its owner said that it is read."""
    kept = st.session_state.get(_KEPT)
    if kept is not None and kept[0] == upload.key:
        found: ShownLog = kept[1]
        return found
    mapping = upload.mapping or Mapping()
    with st.spinner("Reading the log"):
        log = read_shown(store.checked_path(upload), limits=LIMITS, **mapping.log_options())
    _keep(upload, log)
    store.change(upload, opened=time.time())
    return log


def _keep(upload: Upload, log: ShownLog) -> None:
    st.session_state[_KEPT] = (upload.key, log)


def audited_log(upload: Upload, log: ShownLog, asked: Choices) -> ShownAudit:
    """The audit of a log by what the sidebar asks.

    Raises
    ------
    ConfigError
        When it asks for merits, which a log does not have.
    """
    if NOTIONS[asked.notion].needs_merits:
        raise ConfigError("A log of impressions has no relevance: choose another notion than merit in the sidebar.")
    fairness = Fairness(delta=asked.delta, unit=asked.unit, notion=asked.notion, position_bias=asked.position_bias)
    return _audited(log, fairness, upload.key, json.dumps(fairness.to_dict(), sort_keys=True))


@st.cache_resource(max_entries=8, show_spinner="Adding up what was shown")
def _audited(_log: ShownLog, _fairness: Fairness, key: str, asked: str) -> ShownAudit:
    return audit_shown(_log, _fairness)


def log_command(upload: Upload, asked: Choices) -> str | None:
    """`spofr audit ... --shown` that says the same; None where no command does."""
    read = shell_arguments(upload.name, (upload.mapping or Mapping()).log_options())
    if read is None:
        return None
    given = ["spofr", "audit", *read, "--shown", "--delta", written_delta(asked.delta, asked.unit)]
    given += ["--notion", asked.notion] if asked.notion != Choices.notion else []
    given += ["--power", written(asked.power)] if asked.power != 1 else []
    given += ["--shift", written(asked.shift)] if asked.shift != 1 else []
    given += ["--exposure-cutoff", str(asked.top)] if asked.top else []
    return shlex.join(given)
