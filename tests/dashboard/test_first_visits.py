"""First visits come one after the other; later ones do not wait."""

from __future__ import annotations

import subprocess
import sys
from threading import Barrier, Event, Thread
from uuid import uuid4

from dashboard.first_visits import alone_at_first


def test_first_visits_come_one_after_the_other() -> None:
    here: list[str] = []
    most: list[int] = []
    begin = Barrier(4)

    def visit(place: str) -> None:
        begin.wait()
        with alone_at_first(place):
            here.append(place)
            most.append(len(here))
            Event().wait(0.02)
            here.remove(place)

    places = [uuid4().hex] * 2 + [uuid4().hex, uuid4().hex]
    threads = [Thread(target=visit, args=(place,)) for place in places]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1, 1, 1, 1]


def test_later_visits_do_not_wait() -> None:
    known, leave = uuid4().hex, Event()
    with alone_at_first(known):
        pass

    def stay() -> None:
        with alone_at_first(uuid4().hex):
            leave.wait(20)

    other = Thread(target=stay)
    other.start()
    with alone_at_first(known):
        assert other.is_alive()
    leave.set()
    other.join()


def test_a_page_that_ends_early_was_visited() -> None:
    place, inside = uuid4().hex, []
    try:
        with alone_at_first(place):
            raise RuntimeError
    except RuntimeError:
        inside.append(place)
    other = Thread(target=lambda: alone_at_first(place).__enter__())
    other.start()
    other.join(timeout=20)
    assert not other.is_alive()


RACE = """
import sys
from importlib import import_module
from threading import Barrier, Thread
from dashboard.first_visits import alone_at_first
sys.setswitchinterval(1e-5)
ways = ["dashboard.views.train_page", "spofr_core.learning.models", "spofr_core.experiments.run_data",
        "dashboard.views.tradeoffs_page", "spofr_core.learning.methods.deltr", "spofr_core.learning.losses.links"]
begin, failed = Barrier(len(ways)), []
def visit(name):
    begin.wait()
    try:
        with alone_at_first(name):
            import_module(name)
    except Exception as error:
        failed.append(repr(error))
threads = [Thread(target=visit, args=(name,)) for name in ways]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
sys.exit("; ".join(failed) or 0)
"""


def test_visitors_of_a_fresh_server_meet_no_half_made_module() -> None:
    done = subprocess.run([sys.executable, "-c", RACE], capture_output=True, text=True, timeout=250, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
