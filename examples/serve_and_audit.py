"""The service, asked for 30 rankings of each of 5 lists, and an audit of what it showed."""

import json
import tempfile
import threading
import time
import urllib.request
from pathlib import Path

import uvicorn

from spofr_core import Fairness, load_sample
from spofr_core.serving import ServiceSettings, audit_shown, make_app, read_shown

lists = load_sample("hiring").test.to_frame().groupby("query_id", sort=False)
fairness = Fairness(delta="10%")
with tempfile.TemporaryDirectory() as name:
    folder = Path(name)
    settings = ServiceSettings(fairness=fairness, state=folder / "counters", log=folder / "shown")
    server = uvicorn.Server(uvicorn.Config(make_app(settings), port=0, log_level="warning"))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.05)
    address = f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}/rank"
    for query, rows in list(lists)[:5]:
        items = [{"id": row.item_id, "group": row.group, "score": row.score} for row in rows.itertuples()]
        for _ in range(30):
            body = json.dumps({"query": query, "items": items}).encode()
            asked = urllib.request.Request(address, body, {"content-type": "application/json"})
            urllib.request.urlopen(asked).read()
    server.should_exit = True
    thread.join()
    queries = audit_shown(read_shown(folder / "shown"), fairness).summary["queries"]
print(f"{queries['within']} of {queries['promised']} queries were shown within delta and the bound of their schedule.")

# Prints:
# 5 of 5 queries were shown within delta and the bound of their schedule.
