"""A log of impressions on the Data page: proposed, mapped, audited, kept, and refused in one sentence."""

from __future__ import annotations

import shlex

import pandas as pd
import pytest
from typer.testing import CliRunner

from spofr_core.cli import app as shell
from spofr_core.fairness import Fairness
from spofr_core.serving import audit_shown, read_shown
from tests.dashboard.apps import charts, plain, rerun, shown
from tests.dashboard.test_uploads import GOOD, add, press, uploaded

ODD = ("=1+1", "<b>x", "女", "שלום")


def frame(*, position: str = "slot") -> pd.DataFrame:
    """Queries shown two to six times and once; in some of them one group is always on top."""
    rows = []
    for q in range(12):
        for k in range(1 if q == 11 else 2 + q % 5):
            for place in range(4):
                group = ("f", "m")[(place + (k if q % 3 else 0)) % 2]
                day = f"2024-05-{1 + (q + 7 * k) % 28:02d}"
                rows.append([f"{ODD[q % 4]} {q}", f"s{k}", place, f"ad{place}", group, day])
    return pd.DataFrame(rows, columns=["keyword", "session", position, "ad", "gender", "day"])


def boxes(app) -> dict[str, str]:
    return {box.label: box.value for box in app.selectbox}


def test_a_log_is_proposed_guessed_and_audited():
    app = uploaded("log.csv", frame().to_csv(index=False))
    labels = ("Query (required)", "Impression or session (required)", "Position (required)", "Item", "Group (required)")
    assert [boxes(app)[label] for label in labels] == ["keyword", "session", "slot", "ad", "gender"]
    assert boxes(app)["Time of the impression"] == "day"
    press(app, "Audit what was shown")
    assert [error.value for error in app.error] == []
    direct = audit_shown(read_shown(frame()), Fairness(delta=0.05))
    words = plain(" ".join(text.value for text in app.markdown))
    queries = direct.summary["queries"]
    assert f"Of {queries['judged']} queries shown twice or more (at least 2 times), {queries['hold']} hold" in words
    assert "1 query seen once is judged together only" in words
    values = {metric.label: metric.value for metric in app.metric}
    assert values["Impressions"] == str(direct.summary["impressions"])
    assert values["Hold delta"] == f"{queries['hold']} of {queries['judged']}"
    drawn = [trace for figure in charts(app) for trace in figure["data"] if trace.get("name") == "exceeds it"]
    assert len(drawn[0]["customdata"]) == queries["judged"] - queries["hold"]
    assert not any("<b>" in text for text in drawn[0]["customdata"])
    assert app.session_state["choices"].data == "hiring"


@pytest.mark.parametrize("quota", ["1@10", ""])
def test_a_log_is_not_silently_spared_what_is_asked_of_every_list(quota):
    app = add(shown("data", quota=quota), "log.csv", frame().to_csv(index=False))
    press(app, "Audit what was shown")
    told = [info.value for info in app.info if "judged by delta alone" in info.value]
    assert len(told) == bool(quota)


def test_the_command_of_the_page_says_the_same(tmp_path, monkeypatch):
    app = press(uploaded("log.csv", frame().to_csv(index=False)), "Audit what was shown")
    command = next(code.value for code in app.code if "--shown" in code.value)
    frame().to_csv(tmp_path / "log.csv", index=False)
    monkeypatch.chdir(tmp_path)
    found = CliRunner().invoke(shell, shlex.split(command)[1:])
    assert found.exit_code == 0, found.output
    sentence = next(text.value for text in app.markdown if "shown twice or more" in text.value)
    assert plain(sentence).strip("*") in found.output


def test_no_item_and_no_time_is_none_of_either():
    app = uploaded("log.csv", frame().to_csv(index=False))
    for box in app.selectbox:
        if box.label in ("Item", "Time of the impression"):
            box.set_value("(none)")
    press(rerun(app), "Audit what was shown")
    assert not any("Over time" in header.value for header in app.subheader)
    words = shlex.split(next(code.value for code in app.code if "--shown" in code.value))
    assert "--no-guess" in words
    assert not {"--item", "--time"} & {*words}


def test_a_log_stays_until_it_is_closed_and_opens_from_a_link():
    app = press(uploaded("log.csv", frame().to_csv(index=False)), "Audit what was shown")
    content = app.session_state["choices"].log
    same = {"visitor": app.session_state["visitor"]}
    again = shown("data", state=same, log=content)
    assert any("What was shown" in header.value for header in again.header)
    next(button for button in again.button if button.label == "Close the log").click()
    rerun(again)
    assert again.session_state["choices"].log == ""
    assert not any("What was shown" in header.value for header in again.header)
    stranger = shown("data", log="0123456789abcdef")
    assert "not among your files" in stranger.info[0].value


def test_another_delta_judges_the_same_log_anew_and_merit_is_refused_in_a_sentence():
    app = press(uploaded("log.csv", frame().to_csv(index=False)), "Audit what was shown")
    content = app.session_state["choices"].log
    same = {"visitor": app.session_state["visitor"]}
    strict = shown("data", state=same, log=content, delta=0.0)
    values = {metric.label: metric.value for metric in strict.metric}
    direct = audit_shown(read_shown(frame()), Fairness(delta=0.0)).summary["queries"]
    assert values["Hold delta"] == f"{direct['hold']} of {direct['judged']}"
    assert "has no relevance" in shown("data", state=same, log=content, notion="merit").error[0].value


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda f: f.assign(ad="same"), "is shown twice in impression"),
        (lambda f: f.assign(slot=f["slot"].where(f["ad"] != "ad2", -3)), "is -3 at row"),
        (lambda f: f.assign(gender=f["gender"].where(f["ad"] != "ad2")), "shown items have no group"),
    ],
)
def test_what_is_no_log_is_told_and_changes_nothing(change, message):
    app = press(uploaded("log.csv", change(frame()).to_csv(index=False)), "Audit what was shown")
    assert message in plain(app.error[0].value)
    assert app.session_state["choices"].log == ""


def test_an_ordinary_table_is_not_taken_for_a_log():
    app = uploaded("mine.csv", GOOD)
    assert "Ranked by (required)" in boxes(app)
    press(app)
    assert app.session_state["choices"].data.startswith("upload-")
