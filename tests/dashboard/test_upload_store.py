"""Uploads on disk: whose they are, how long they stay, and that nothing is left of one that was forgotten."""

from __future__ import annotations

import hashlib
import io
import stat
import time

import pytest

from dashboard.jobs.job_board import JobBoard
from dashboard.session import upload_store
from dashboard.session.mapping import Mapping
from dashboard.session.stored_uploads import dataset_of_upload, forget_expired, forget_upload, write_upload
from dashboard.session.upload_store import UploadStore
from dashboard.session.uploads import accept_upload, check_complete, open_upload
from spofr_core.cli.commands.dashboard_command import kept_for
from spofr_core.errors import ConfigError, DataError
from spofr_core.experiments import RunStore, private_runs, upload_bytes, upload_days
from spofr_core.files import DiskFull, write_json, write_whole

ROWS = b"q,i,who,points,age,relevance\n" + b"".join(
    b"%d,%d,%s,%d,%d,%d\n" % (q, k, b"xy"[k % 2 : k % 2 + 1], 9 - k, 20 + k, k % 3 == 0)
    for q in range(6)
    for k in range(5)
)
MAPPING = Mapping(query="q", item="i", ranked_by="points", relevance="relevance", group=("who",))
DAY = 24 * 3600


def files_below(folder):
    return sorted(path for path in folder.rglob("*") if path.is_file())


def holding(folder, content: bytes):
    """Files that hold these bytes anywhere."""
    return [path for path in files_below(folder) if content in path.read_bytes()]


@pytest.fixture
def store(own_home):
    return UploadStore(own_home, "me")


def added(store, content=ROWS, name="people.csv"):
    return store.add(io.BytesIO(content), name)


def test_bytes_and_mapping_come_back_as_they_were(store, own_home):
    upload = added(store)
    assert store.path(upload).read_bytes() == ROWS
    assert upload.sha256 == hashlib.sha256(ROWS).hexdigest()
    loaded = accept_upload(store, upload, MAPPING)
    (again,) = UploadStore(own_home, "me").uploads()
    assert again.mapping == MAPPING
    assert open_upload(store, again).data.fingerprint == loaded.data.fingerprint
    assert loaded.address == f"upload-{again.key}"
    assert loaded.title == "people.csv"


def test_only_the_user_of_the_server_can_read_them(store, own_home):
    added(store)
    for path in (own_home / "visitors").rglob("*"):
        allowed = stat.S_IMODE(path.stat().st_mode)
        assert allowed == (0o700 if path.is_dir() else 0o600), path


def test_another_visitor_with_the_same_file_has_their_own(store, own_home):
    other = UploadStore(own_home, "you")
    accept_upload(store, added(store), MAPPING)
    assert other.uploads() == []
    theirs = added(other, name="theirs.csv")
    assert theirs.mapping is None
    forget_upload(own_home, "you", theirs.content)
    assert [upload.name for upload in store.uploads()] == ["people.csv"]
    assert other.uploads() == []


def test_the_address_names_content_and_reading(store):
    first = accept_upload(store, added(store), MAPPING)
    other = accept_upload(store, store.uploads()[0], MAPPING.model_copy(update={"missing": "exclude"}))
    assert first.content == other.content
    assert first.address != other.address
    assert added(store, ROWS + b"7,7,x,1,1,0\n").content != first.content


def test_a_reading_that_fails_changes_nothing(store):
    accept_upload(store, added(store), MAPPING)
    before = store.uploads()[0]
    with pytest.raises(DataError):
        accept_upload(store, before, MAPPING.model_copy(update={"ranked_by": "who"}))
    assert store.uploads()[0].mapping == MAPPING


def test_the_same_content_again_is_one_file_that_is_read_as_before(store):
    accept_upload(store, added(store), MAPPING)
    again = added(store, name="renamed.csv")
    assert again.mapping == MAPPING
    assert [path.name for path in files_below(store.folder)] == ["renamed.csv", "upload.json"]


@pytest.mark.parametrize(
    "name", ["../../etc/passwd", "a/b.csv", "upload.json", ".", "x" * 500 + ".csv", "日本.csv.gz", ""]
)
def test_no_name_leads_out_of_the_folder(store, own_home, name):
    upload = added(store, name=name)
    assert store.path(upload).resolve().is_relative_to(store.folder.resolve())
    assert [found.name for found in store.uploads()] == [name]
    store.remove(upload.content)
    assert files_below(own_home) == []


@pytest.mark.parametrize("content", ["..", "../../x", "", "0" * 15, "g" * 16])
def test_no_address_leads_out_of_the_folder(store, own_home, content):
    (own_home / "x").write_text("mine")
    added(store)
    assert store.get(content) is None
    store.remove(content)
    assert (own_home / "x").exists()
    assert len(store.uploads()) == 1


def test_large_files_go_to_the_disk_in_pieces(store, monkeypatch):
    monkeypatch.setattr(upload_store, "_PIECE", 7)
    asked = []

    class Watched(io.BytesIO):
        def read(self, size=-1):
            asked.append(size)
            return super().read(size)

    upload = store.add(Watched(ROWS), "people.csv")
    assert store.path(upload).read_bytes() == ROWS
    assert set(asked) == {7}


def test_what_does_not_fit_is_refused_and_says_what_is_there(store, monkeypatch):
    monkeypatch.setenv("SPOFR_UPLOAD_MB", "0.01")
    assert upload_bytes() == 10485
    with pytest.raises(DataError, match=r"big.csv holds 10\.3 kB, more than the 10\.2 kB"):
        added(store, bytes(10_500), "big.csv")
    added(store, bytes(6000), "one.csv")
    with pytest.raises(DataError, match=r"two.csv holds 4\.9 kB, and your other files take .* Forget one"):
        added(store, bytes(5001), "two.csv")
    added(store, bytes(6000), "one.csv")  # in place of itself
    assert [upload.name for upload in store.uploads()] == ["one.csv"]


def test_a_full_disk_is_one_sentence(store, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(upload_store, "write_whole", full)
    with pytest.raises(DiskFull, match="is full"):
        added(store)
    assert store.uploads() == []


def test_a_disk_that_refuses_is_one_sentence(own_home):
    (own_home / "visitors").write_text("in the way")
    with pytest.raises(DataError, match=r"people.csv cannot be kept on this machine: "):
        added(UploadStore(own_home, "me"))


@pytest.mark.parametrize("value", ["soon", "0", "-3", "nan", "inf"])
def test_a_setting_that_makes_no_sense_is_one_sentence(monkeypatch, value):
    monkeypatch.setenv("SPOFR_UPLOAD_DAYS", value)
    with pytest.raises(ConfigError, match=f"SPOFR_UPLOAD_DAYS is '{value}'"):
        upload_days()


def test_the_shell_sets_days_and_megabytes(monkeypatch):
    for name, value in kept_for(2.5, 300).items():
        monkeypatch.setenv(name, value)
    assert (upload_days(), upload_bytes()) == (2.5, 300 * 2**20)
    assert kept_for(None, None) == {}


DAMAGE = {
    "no record": lambda folder: (folder / "upload.json").unlink(),
    "no bytes": lambda folder: next((folder / "file").iterdir()).unlink(),
    "cut bytes": lambda folder: next((folder / "file").iterdir()).write_bytes(ROWS[:40]),
    "cut record": lambda folder: (folder / "upload.json").write_text('{"name": "peo'),
    "odd record": lambda folder: (folder / "upload.json").write_text('{"name": 3, "other": []}'),
    "a list": lambda folder: (folder / "upload.json").write_text("[]"),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_what_is_damaged_is_no_upload_and_can_be_forgotten_or_uploaded_again(store, own_home, damage):
    upload = added(store)
    DAMAGE[damage](store.folder / upload.content)
    assert store.uploads() == []
    assert store.damaged() == [upload.content]
    assert added(store).content == upload.content
    assert store.damaged() == []
    DAMAGE[damage](store.folder / upload.content)
    forget_upload(own_home, "me", upload.content)
    assert files_below(own_home) == []


def test_bytes_that_were_changed_are_not_taken_for_the_upload(store):
    upload = added(store)
    accept_upload(store, upload, MAPPING)
    store.path(upload).write_bytes(ROWS.replace(b"x", b"z"))
    with pytest.raises(DataError, match="was changed on the disk"):
        open_upload(store, store.uploads()[0])


def learned_from(store, own_home, *, status):
    """A job on an upload, with the copy that it learns from, a sweep and a run."""
    source = accept_upload(store, added(store), MAPPING)
    dataset, place = dataset_of_upload(source, own_home, "me")
    write_upload(source, place)
    write_json(
        own_home / "jobs" / "j1" / "job.json",
        {"job": "j1", "visitor": "me", "title": "t", "spec": {"dataset": dataset}, "runs": [],
         "store": str(place), "created": 1.0},
    )  # fmt: skip
    write_json(own_home / "jobs" / "j1" / "state.json", {"status": status, "launched": time.time()})
    RunStore(place).remember_sweep("s", {"dataset": dataset}, [])
    write_whole(place / "data" / "other" / "other.parquet", b"of no job")
    return source


def test_forgetting_leaves_nothing(store, own_home, monkeypatch):
    source = learned_from(store, own_home, status="done")
    assert holding(own_home, b"9,20")  # the check can fail
    assert list((private_runs(own_home, "me") / "data").rglob("people.parquet"))
    forget_upload(own_home, "me", source.content)
    assert files_below(own_home) == []
    assert JobBoard(own_home).jobs("me") == []


def test_a_file_that_a_job_works_on_stays_until_it_ends(store, own_home):
    source = learned_from(store, own_home, status="queued")
    with pytest.raises(ConfigError, match="A job is at work on this file"):
        forget_upload(own_home, "me", source.content)
    forget_expired(own_home, time.time() + 400 * DAY)
    assert len(store.uploads()) == 1


def test_forgetting_one_leaves_the_other(store, own_home):
    mine = learned_from(store, own_home, status="done")
    other = accept_upload(store, added(store, ROWS.replace(b"x", b"z"), "other.csv"), MAPPING)
    forget_upload(own_home, "me", other.content)
    assert [upload.content for upload in store.uploads()] == [mine.content]
    assert len(JobBoard(own_home).jobs("me")) == 1
    assert list((private_runs(own_home, "me") / "data").rglob("people.parquet"))


def test_files_expire_some_days_after_they_were_last_opened(store, own_home, monkeypatch):
    monkeypatch.setenv("SPOFR_UPLOAD_DAYS", "2")
    upload = added(store)
    accept_upload(store, upload, MAPPING)
    now = time.time()
    store.change(store.uploads()[0], opened=now - 3 * DAY)
    open_upload(store, store.uploads()[0])  # who opens it keeps it
    assert store.uploads()[0].expires == pytest.approx(now + 2 * DAY, abs=60)
    forget_expired(own_home, now + 1.9 * DAY)
    assert len(store.uploads()) == 1
    forget_expired(own_home, now + 2.1 * DAY)
    assert files_below(own_home) == []


def test_all_that_is_missing_is_named_at_once():
    with pytest.raises(DataError) as raised:
        check_complete(Mapping())
    assert str(raised.value) == (
        "Please choose a column for Query, Ranked by and Group: without them there is no audit."
    )
    with pytest.raises(DataError, match="Please choose a column for Number to cut: without it"):
        check_complete(Mapping(ranked_by="a", way="quantiles"), known=("query",))
    check_complete(MAPPING)
