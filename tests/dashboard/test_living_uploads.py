"""A file of one's own outlives the page that it was uploaded on: refreshed, in a second tab, read in another way."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
import yaml

from dashboard.session.choices import Choices
from dashboard.session.mapping import Mapping
from dashboard.session.projects.desk import Desk
from dashboard.session.projects.project import (
    Project,
    is_project,
    project_bytes,
    project_name,
    project_of,
    read_project,
)
from dashboard.session.stored_uploads import forget_expired, forget_uploads
from dashboard.session.upload_store import UploadStore
from spofr_core.data import read_dataset
from spofr_core.errors import ConfigError, DataError
from spofr_core.experiments import SweepSpec, load_splits
from tests.dashboard.apps import plain, rerun, shown, titles
from tests.dashboard.test_uploads import GOOD, add, kept, press, uploaded

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures"
RANKS = "search,person,place,who,contacted\n" + "".join(
    f"s{q},p{q}{k},{k + 1},{'fm'[(q + k) % 2]},{int(k < 2)}\n" for q in range(8) for k in range(6)
)


@pytest.fixture(autouse=True)
def _own(own_home):
    """Each test looks at a disk of its own."""


def token(app):
    return {"visitor": app.session_state["visitor"]}


def store_of(app, home):
    (visitor,) = (home / "visitors").iterdir()
    return UploadStore(home, visitor.name)


def toasts(app):
    return [plain(toast.value) for toast in app.toast]


def button(app, key):
    app.button(key=key).click()
    return rerun(app)


def choose(app, **boxes):
    for label, value in boxes.items():
        app.selectbox(key=f"map-{label.replace('_', ' ')}").set_value(value)
        rerun(app)
    return app


def test_a_refresh_and_a_second_tab_open_the_same_file():
    app = press(uploaded("mine.csv", GOOD))
    link = app.session_state["choices"].data
    assert link == kept(app).address != "upload"
    again = shown("audit", state=token(app), data=link, delta=0.03, query="q1")
    assert kept(again).data.fingerprint == kept(app).data.fingerprint
    seen = again.session_state["choices"]
    assert (seen.data, seen.delta, seen.query) == (link, 0.03, "q1")
    assert toasts(again) == []
    assert shown("data", state=token(app), data=link).radio(key="data-sample").value is None, "it is no sample"


def test_a_refresh_in_the_middle_of_reading_loses_nothing():
    app = choose(uploaded("mine.csv", GOOD), Relevance="(none)", Group="doc")
    again = shown("data", state=token(app))
    values = [again.selectbox(key=f"map-{label}").value for label in ("Query", "Relevance", "Group")]
    assert values == ["qid", "(none)", "doc"]
    assert again.session_state["choices"].data == "hiring"


@pytest.mark.parametrize("state", [{}, {"visitor": "0" * 32}])
def test_somebody_elses_link_shows_a_sample_and_says_why(state):
    app = press(uploaded("mine.csv", GOOD))
    other = shown("audit", state=state, data=app.session_state["choices"].data)
    assert other.session_state["choices"].data == "hiring"
    assert toasts(other) == [
        "The link speaks of an uploaded file, which only the browser that uploaded it can see, while it is kept. "
        "Here is a bundled sample instead."
    ]


def test_two_visitors_with_the_same_file_see_their_own():
    mine, theirs = uploaded("mine.csv", GOOD), uploaded("theirs.csv", GOOD)
    for app, name, other in ((mine, "mine", "theirs"), (theirs, "theirs", "mine")):
        shown_text = " ".join(text.value for text in app.markdown)
        assert name in shown_text
        assert other not in shown_text


@pytest.mark.parametrize("damage", ["cut", "deleted", "changed"])
def test_what_is_damaged_on_the_disk_is_one_sentence_and_a_sample(own_home, damage):
    app = press(uploaded("mine.csv", GOOD))
    store = store_of(app, own_home)
    path = store.path(store.uploads()[0])
    {"cut": lambda: path.write_bytes(b"qid"), "deleted": path.unlink,
     "changed": lambda: path.write_text(GOOD.replace("q0", "q9"))}[damage]()  # fmt: skip
    again = shown("audit", state=token(app), data=app.session_state["choices"].data)
    assert again.session_state["choices"].data == "hiring"
    (said,) = toasts(again)
    assert "pload it again" in said
    page = shown("data", state=token(app))
    if damage != "changed":
        assert any("damaged on this machine" in text.value for text in page.markdown)


def test_a_reading_is_changed_without_uploading_again(own_home):
    app = press(uploaded("mine.csv", GOOD))
    before = app.session_state["choices"].data
    app = press(shown("data", state=token(app), data=before), "Change how it is read")
    choose(app, Group="rel")
    assert kept(app).address == before  # until it is read
    press(app)
    assert (
        kept(app).data.fingerprint
        == read_dataset(
            GOOD.encode(), query="qid", item="doc", score="model_score", relevance="rel", group="rel"
        ).fingerprint
    )
    assert app.session_state["choices"].data != before
    (upload,) = store_of(app, own_home).uploads()
    assert upload.mapping.group == ("rel",)
    stale = shown("audit", state=token(app), data=before)
    assert kept(stale).address == app.session_state["choices"].data
    assert toasts(stale) == ["mine.csv is read in another way by now."]


def test_a_change_can_be_left_undone(own_home):
    app = press(uploaded("mine.csv", GOOD))
    app = press(shown("data", state=token(app), data=app.session_state["choices"].data), "Change how it is read")
    button(choose(app, Group="rel"), "wizard-leave")
    (upload,) = store_of(app, own_home).uploads()
    assert (upload.draft, upload.mapping.group) == (None, ("sex",))


def test_a_wrong_file_beside_one_that_is_being_read_is_one_sentence():
    app = add(uploaded("mine.csv", GOOD), "picture.csv", b"\x89PNG\r\n\x1a\n" + bytes(range(256)))
    assert "is a PNG picture" in plain(app.error[0].value)
    assert app.selectbox(key="map-Query").value == "qid"


def test_one_file_is_read_at_a_time_and_the_other_later(own_home):
    app = add(uploaded("first.csv", GOOD), "second.csv", GOOD.replace("q0", "z0"))
    assert [plain(head.value) for head in app.header if "Reading" in head.value] == ["Reading second.csv"]
    button(app, "wizard-leave")
    assert not any("Reading" in head.value for head in app.header)
    assert len(store_of(app, own_home).uploads()) == 2
    press(app, "Say how it is read")
    assert any("Reading" in head.value for head in app.header)


def test_forget_asks_and_then_leaves_nothing(own_home):
    app = press(uploaded("secret.csv", GOOD.replace("q0", "hush")))
    app = shown("data", state=token(app), data=app.session_state["choices"].data)
    content = kept(app).content
    holding = lambda: [path for path in own_home.rglob("*") if path.is_file() and b"hush" in path.read_bytes()]  # noqa: E731
    button(app, f"forget-file-{content}")
    assert any("Forget secret" in plain(warning.value) for warning in app.warning)
    assert holding()
    button(app, f"forget-not-{content}")
    assert holding()
    button(app, f"forget-file-{content}")
    button(app, f"forget-sure-{content}")
    assert holding() == []
    assert not list((own_home / "visitors").rglob("*"))
    assert "uploaded" not in app.session_state
    assert app.session_state["choices"].data == "hiring"
    assert not any("secret" in text.value for text in app.markdown)


def test_several_files_are_listed_and_one_is_opened():
    app = press(uploaded("first.csv", GOOD))
    first = kept(app).address
    app = press(add(shown("data", state=token(app)), "second.csv", GOOD.replace("q0", "z0")))
    assert kept(app).address != first
    app = shown("data", state=token(app), data=kept(app).address)
    listed = [plain(text.value) for text in app.markdown if "kept until" in text.value]
    assert len(listed) == 2
    assert "second.csv" in next(line for line in listed if "on the screen" in line)
    button(app, f"open-{first.split('-')[1]}")
    assert app.session_state["choices"].data == first


def test_all_that_is_missing_is_said_at_once_in_the_words_of_the_page():
    rows = "".join(f"{k // 4},{k * 37 % 11 / 8},{k * k % 5}\n" for k in range(40))
    app = press(uploaded("odd.csv", f"alpha,beta,gamma\n{rows}"))
    assert [plain(error.value) for error in app.error] == [
        "Please choose a column for Query, Ranked by and Group: without them there is no audit."
    ]


def test_a_rank_under_another_name_is_proposed_and_a_score_asked_about():
    app = uploaded("portal.csv", RANKS)
    assert app.selectbox(key="map-Ranked by").value == "place"
    assert app.toggle(key="map-is-rank").value is True
    choose(app, Group="who")
    app.toggle(key="map-is-rank").set_value(False)
    press(rerun(app))
    assert app.error == []
    assert any("looks like a rank" in plain(warning.value) for warning in app.warning)
    assert "uploaded" not in app.session_state
    button(app, "wizard-rank")
    assert kept(app).data.score.max() == -1
    assert kept(app).data.n_items == 48


def test_who_says_that_higher_is_better_is_believed():
    app = choose(uploaded("portal.csv", RANKS), Group="who")
    app.toggle(key="map-is-rank").set_value(False)
    button(press(rerun(app)), "wizard-score")
    assert kept(app).data.score.max() == 6
    assert "--insist" in kept(app).arguments


ALIKE = GOOD.replace("q1,d10,m", "q1,d10,M").replace("q2,", "Q1 ,")


@pytest.mark.parametrize(("key", "queries", "groups"), [("wizard-join", 5, 2), ("wizard-apart", 6, 3)])
def test_names_that_are_written_alike_are_asked_about(key: str, queries: int, groups: int):
    alike = ALIKE.replace("Q1 ,d2", "Q1 ,e2")
    app = press(uploaded("alike.csv", alike))
    assert app.error == []
    assert any("'q1' (5 rows) and 'Q1' (5 rows) in column 'qid'" in plain(warning.value) for warning in app.warning)
    button(app, key)
    data = kept(app).data
    assert (len(data), data.n_groups) == (queries, groups)
    assert ("--join-alike" in kept(app).arguments) == (key == "wizard-join")
    assert ("--no-join-alike" in kept(app).arguments) == (key == "wizard-apart")
    press(app, "Change how it is read")
    app.segmented_control(key="map-join-alike").set_value(key != "wizard-join")
    press(rerun(app))
    assert len(kept(app).data) == 11 - queries


@pytest.mark.parametrize(("key", "other", "top"), [("wizard-comma", ".", 5.252), ("wizard-thousands", ",", 5252)])
def test_a_comma_that_may_be_two_things_is_asked_about(key: str, other: str, top: float):
    rows = [row.split(",") for row in GOOD.splitlines()]
    text = "\n".join(
        ";".join((*row[:3], row[3].replace(".", ",").replace(",25", ",252").replace("0,", "5,"), row[4]))
        for row in rows
    )
    app = uploaded("open.csv", text)
    assert app.selectbox(key="map-Ranked by").value == "model_score"
    press(app)
    assert any(".252 or" in plain(warning.value) for warning in app.warning), app.warning
    button(app, key)
    assert kept(app).data.score.max() == top
    assert "--decimal" in kept(app).arguments
    press(app, "Change how it is read")
    app.segmented_control(key="map-decimal").set_value(other)
    press(rerun(app))
    assert kept(app).data.score.max() in {5.252, 5252} - {top}


def test_another_column_is_a_rank_only_if_it_looks_like_one():
    app = choose(uploaded("portal.csv", RANKS), Ranked_by="contacted")
    assert app.toggle(key="map-is-rank").value is False
    choose(app, Ranked_by="place")
    assert app.toggle(key="map-is-rank").value is True


def test_a_file_without_column_names_is_asked_about_and_every_row_read():
    content = (FIXTURES / "experts.csv").read_bytes()
    app = uploaded("experts.csv", content)
    assert "The first row of experts.csv looks like" in plain(app.warning[0].value)
    press(app)
    assert [plain(error.value) for error in app.error] == [
        "Please say whether the first row holds column names: without that there is no audit."
    ]
    header = next(group for group in app.button_group if group.key == "map-header")
    header.set_value(False)
    press(rerun(app))
    assert kept(app).data.n_items == content.count(b"\n")
    assert "--no-header" in kept(app).arguments


CODED = "q,item,points,who,rel,age,same\n" + "".join(
    f"q{q},i{q}{k},{(5 * k + q) % 7 + 0.25},{(q + k) % 4},{k % 2},{20 + (3 * q + k) % 9},1\n"
    for q in range(8)
    for k in range(6)
)


def test_groups_are_renamed_merged_and_left_out(own_home):
    app = choose(uploaded("coded.csv", CODED), Query="q", Ranked_by="points", Group="who", Relevance="rel")
    assert any("The groups are called 0, 1, 2 and 3 in the file" in plain(text.value) for text in app.caption)
    app.session_state["map-groups-open"] = True
    rerun(app)
    names = [box for box in app.text_input if (box.key or "").startswith("map-name-")]
    assert [plain(box.label) for box in names] == [f"{group} is called" for group in "0123"]
    for place, name in enumerate(["men", "women", "men"]):
        app.text_input(key=f"map-name-{place}").set_value(name)
    app.checkbox(key="map-kept-3").set_value(False)
    press(rerun(app))
    raw = read_dataset(CODED.encode(), query="q", group="who", score="points").group_sizes
    assert kept(app).data.group_sizes == {"men": raw["0"] + raw["2"], "women": raw["1"]}
    assert sum(kept(app).data.excluded.values()) == raw["3"]
    (upload,) = store_of(app, own_home).uploads()
    assert upload.mapping.group_names == {"0": "men", "1": "women", "2": "men"}
    words = kept(app).arguments
    assert [words[k + 1] for k, word in enumerate(words) if word == "--rename-group"] == ["0=men", "1=women", "2=men"]
    again = shown("audit", state=token(app), data=kept(app).address)
    assert kept(again).data.fingerprint == kept(app).data.fingerprint
    app = press(shown("data", state=token(app), data=kept(app).address), "Change how it is read")
    app.session_state["map-groups-open"] = True
    rerun(app)
    assert [app.text_input(key=f"map-name-{place}").value for place in range(4)] == ["men", "women", "men", "3"]
    assert app.checkbox(key="map-kept-3").value is False


def test_merging_all_groups_into_one_is_refused_in_one_sentence():
    app = choose(uploaded("coded.csv", CODED), Query="q", Ranked_by="points", Group="rel")
    app.session_state["map-groups-open"] = True
    rerun(app)
    for place in (0, 1):
        app.text_input(key=f"map-name-{place}").set_value("all")
    press(rerun(app))
    assert "keep at least two apart" in plain(app.error[0].value)


def test_features_are_left_out_by_the_owner_and_by_themselves_with_a_note():
    app = choose(uploaded("coded.csv", CODED), Query="q", Ranked_by="points", Group="who", Relevance="rel")
    assert set(app.multiselect(key="map-unused").options) == {"age", "same"}
    press(app)
    page = shown("data", state={**token(app), "features-open": True}, data=kept(app).address)
    assert any(plain(text.value) == "1 column: age." for text in page.markdown)
    assert any("Not among the features" in plain(text.value) and "'same'" in plain(text.value) for text in page.caption)
    app = press(page, "Change how it is read")
    app.multiselect(key="map-unused").set_value(["age"])
    press(rerun(app))
    page = shown("data", state={**token(app), "features-open": True}, data=kept(app).address)
    assert any("no features to learn from" in plain(info.value) for info in page.info)


def test_the_sweep_for_a_shell_reads_the_visitors_own_file(tmp_path):
    app = choose(uploaded("coded.csv", CODED), Query="q", Ranked_by="points", Group="who", Relevance="rel")
    press(app)
    page = shown("train", state={**token(app), "train-shell": True}, data=kept(app).address)
    spec = yaml.safe_load(page.code[-1].value)
    assert spec["dataset"]["file"] == "coded.csv"
    (tmp_path / "coded.csv").write_text(CODED, "utf-8")
    spec["dataset"]["file"] = str(tmp_path / "coded.csv")
    splits = load_splits(SweepSpec.from_dict(spec).runs()[0])
    parts = (splits.train, splits.validation, splits.test)
    assert sum(part.n_items for part in parts) == kept(app).data.n_items
    assert {part.feature_names for part in parts} == {("age",)}
    assert splits.train.group_names == kept(app).data.group_names


def test_one_column_chosen_twice_is_remarked():
    app = choose(uploaded("mine.csv", GOOD), Relevance="model_score")
    assert any("model_score is chosen twice: Ranked by and Relevance" in plain(text.value) for text in app.caption)


def test_a_setting_that_makes_no_sense_is_one_sentence_on_the_page(monkeypatch):
    monkeypatch.setenv("SPOFR_UPLOAD_DAYS", "soon")
    app = shown("data")
    assert [plain(error.value)[:30] for error in app.error] == ["SPOFR_UPLOAD_DAYS is 'soon'; g"]


# -- projects ------------------------------------------------------------------------------------------


def project_text(home, app) -> dict:
    (upload,) = store_of(app, home).uploads()
    file = {"name": upload.name, "size": upload.size, "sha256": upload.sha256, "mapping": upload.mapping.to_dict()}
    return {
        "format": "spofr project", "version": 1, "file": file, "fingerprint": kept(app).data.fingerprint,
        "delta": 0.2, "unit": "share", "notion": "exposure", "shift": 0.0, "notes": "Ask the <team>.",
    }  # fmt: skip


def test_a_project_opens_data_reading_delta_and_notes(own_home):
    app = press(uploaded("mine.csv", GOOD))
    project = json.dumps(project_text(own_home, app))
    app = add(shown("data", state=token(app)), "audit.json", project)
    seen = app.session_state["choices"]
    assert (seen.data, seen.delta, seen.unit, seen.shift) == (kept(app).address, 0.2, "share", 0.0)
    (upload,) = store_of(app, own_home).uploads()
    assert upload.notes == "Ask the <team>."
    page = shown("data", state=token(app), data=seen.data)
    assert page.text_area[0].value == "Ask the <team>."
    page.text_area[0].set_value("Asked.")
    rerun(page)
    assert shown("data", state=token(app), data=seen.data).text_area[0].value == "Asked."


def test_a_saved_project_says_what_is_on_the_screen_and_nothing_of_the_machine(own_home):
    app = press(uploaded("mine.csv", GOOD))
    (upload,) = store_of(app, own_home).uploads()
    seen = Choices(data=kept(app).address, delta=0.2, unit="share", notion="gap", shift=0.0, top=3)
    project = project_of(kept(app), seen, upload, "noted")
    content = project_bytes(project)
    assert read_project(content) == project
    assert (project.delta, project.unit, project.notion, project.shift, project.top) == (0.2, "share", "gap", 0.0, 3)
    assert (project.fingerprint, project.file.sha256) == (kept(app).data.fingerprint, upload.sha256)
    assert str(own_home).encode() not in content
    assert len(content) < 2000
    assert project_name(project) == "mine-project.json"
    with pytest.raises(ConfigError, match="can be saved in a project"):
        project_of(kept(app), seen, None, "")


def test_a_project_asks_for_its_file_and_takes_no_other(own_home):
    first = press(uploaded("mine.csv", GOOD))
    project = json.dumps(project_text(own_home, first))
    app = add(shown("data"), "audit.json", project)
    assert any("The project is about 'mine.csv'" in plain(info.value) for info in app.info)
    add(app, "other.csv", GOOD.replace("q0", "z0"))
    assert "uploaded" not in app.session_state
    assert any("The project is about" in plain(info.value) for info in app.info)
    add(app, "renamed.csv", GOOD)
    assert kept(app).data.fingerprint == kept(first).data.fingerprint
    assert app.session_state["choices"].delta == 0.2


def test_a_project_that_waits_for_its_file_outlives_a_refresh_until_it_is_left(own_home):
    first = press(uploaded("mine.csv", GOOD))
    project = json.dumps(project_text(own_home, first))
    app = add(shown("data"), "audit.json", project)
    again = shown("data", state=token(app))
    assert any("The project is about 'mine.csv'" in plain(info.value) for info in again.info)
    assert not shown("data").info  # of another visitor
    add(again, "mine.csv", GOOD)
    assert again.session_state["choices"].delta == 0.2
    assert not shown("data", state=token(app)).info
    other = add(shown("data"), "audit.json", project)
    other.button(key="project-leave").click()
    rerun(other)
    assert not shown("data", state=token(other)).info
    assert not list(own_home.rglob("desk.json"))


@pytest.mark.parametrize("own", [False, True])
def test_notes_are_one_text_on_the_report_page_and_in_the_project(own, own_home):
    app = press(uploaded("mine.csv", GOOD)) if own else shown("data")
    seen = {"data": kept(app).address} if own else {"data": "hiring", "slice": "job_family:sales"}
    report = shown("report", state=token(app), **seen)
    (field,) = report.text_area
    field.set_value("Asked twice.")
    rerun(report)
    data = shown("data", state=token(app), **seen)
    (field,) = data.text_area
    assert field.value == "Asked twice."
    assert any("2 words; kept" in caption.value for caption in data.caption)
    field.set_value("Asked three times.")
    rerun(data)
    assert shown("report", state=token(app), **seen).text_area[0].value == "Asked three times."
    assert shown("report", state=token(app), data="german-credit").text_area[0].value == ""
    assert shown("report", data="hiring").text_area[0].value == ""  # somebody else's


def test_a_desk_is_gone_when_it_is_empty_damaged_or_old(tmp_path):
    desk = Desk(tmp_path, "me")
    desk.put(auditor="Ada", notes={"hiring": "Asked."})
    assert Desk(tmp_path, "me").papers().auditor == "Ada"
    assert desk.path.stat().st_mode & 0o077 == 0
    assert Desk(tmp_path, "other").papers().nothing
    forget_uploads(tmp_path, "me", set())  # as when the last file is forgotten
    forget_expired(tmp_path, time.time() + 6 * 24 * 3600)
    assert desk.papers().notes == {"hiring": "Asked."}
    forget_expired(tmp_path, time.time() + 400 * 24 * 3600)
    assert not desk.path.exists()
    desk.put(auditor="Ada")
    desk.path.write_text('{"auditor": 3}')
    assert desk.papers().nothing
    desk.put(auditor="Ada")
    desk.put(auditor="")
    assert not desk.path.exists()


def test_a_project_on_a_sample_needs_no_file():
    data = shown("data", data="german-credit")
    assert titles(data)
    fingerprint = "0" * 64
    text = {"format": "spofr project", "version": 1, "sample": "german-credit", "fingerprint": fingerprint,
            "delta": 0.03, "unit": "absolute", "notion": "exposure"}  # fmt: skip
    app = add(shown("data"), "p.json", json.dumps(text))
    assert app.session_state["choices"].data == "german-credit"
    assert app.session_state["choices"].delta == 0.03
    assert any("read differently today" in said for said in toasts(app))


GOOD_PROJECT = {
    "format": "spofr project", "version": 1, "sample": "hiring", "fingerprint": "a" * 64,
    "delta": 0.1, "unit": "share", "notion": "exposure",
}  # fmt: skip


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"version": 2}, "has version 2"),
        ({"notion": "best"}, "notion 'best', which is not here"),
        ({"sample": "nowhere"}, "sample 'nowhere', which is not here"),
        ({"delta": -1}, "cannot be used"),
        ({"delta": float("nan")}, "cannot be used"),
        ({"path": "/home/x"}, "no setting 'path'"),
        ({"fingerprint": "../x"}, "cannot be used"),
        ({"format": "other"}, "not a project file"),
    ],
)
def test_a_project_that_cannot_be_used_is_one_sentence(change, said):
    with pytest.raises(DataError, match=said):
        read_project(json.dumps(GOOD_PROJECT | change).encode())
    assert read_project(json.dumps(GOOD_PROJECT).encode()) == Project(**GOOD_PROJECT)


def test_a_cut_project_is_one_sentence_on_the_page():
    app = add(shown("data"), "p.json", json.dumps(GOOD_PROJECT)[:60])
    assert [plain(error.value) for error in app.error] == [
        "The project file is damaged: it is no JSON any more. Save the project again."
    ]
    assert not is_project(b"qid,doc\n1,2\n")


def test_a_mapping_reads_back_from_json_and_names_itself():
    mapping = Mapping(query="q", group=("a", "b"), way="crossing", header=False, group_names={"0": "men"})
    assert Mapping.from_dict(json.loads(json.dumps(mapping.to_dict()))) == mapping
    assert mapping.key != mapping.model_copy(update={"group_names": {}}).key
