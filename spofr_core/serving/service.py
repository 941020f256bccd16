"""The HTTP service: `POST /rank` answers what to show now; `/health`, `/metrics`, `/docs` and `/openapi.json`."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import secrets
import signal
import sqlite3
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing, suppress
from typing import Any

import numpy as np
from fastapi import FastAPI, Request, Response
from pydantic import ValidationError

from spofr_core.errors import DataError, SpofrError
from spofr_core.fairness import Fairness
from spofr_core.parent import end_with_parent
from spofr_core.serving.counter_store import CounterStore
from spofr_core.serving.impression_log import record_of, shown_text, write_parts
from spofr_core.serving.lottery import FloatArray, OnFailure, no_policy, sorted_lottery
from spofr_core.serving.own_hosts import OwnHosts
from spofr_core.serving.recent import Recent
from spofr_core.serving.request import RankRequest, complaints
from spofr_core.serving.reranker import Ranked, Reranker
from spofr_core.serving.service_metrics import ServiceMetrics
from spofr_core.serving.service_page import service_page
from spofr_core.serving.service_settings import ServiceSettings

_LOGGER = logging.getLogger("uvicorn.error")
_MOST_DELTAS = 32
_MOST_SHOWN = 5_000
_PATIENCE = 30.0
"""Seconds that a worker which ends waits for another one that is writing the log."""
_BODY = {"required": True, "content": {"application/json": {"schema": RankRequest.model_json_schema()}}}


class Refused(Exception):
    """A request that is not answered with a ranking."""

    def __init__(self, status: int, detail: list[dict[str, Any]]) -> None:
        super().__init__(detail)
        self.status, self.detail = status, detail


class Service:
    """What one worker does, without HTTP."""

    def __init__(self, settings: ServiceSettings) -> None:
        self.settings = settings
        self.store = CounterStore(settings.state)
        self.metrics = ServiceMetrics()
        self._seed = self.store.seed
        self._rerankers: dict[float | None, Reranker] = {}
        self._keeps_log = settings.log is not None
        self._shown: Recent[str] = Recent(_MOST_SHOWN)
        # The first list ever solved loads what was compiled; no reader should wait for that.
        for groups in (["a", "b"], ["a", "b", "c"]):
            Reranker(Fairness(delta=0.0)).rank(np.arange(float(len(groups))), groups)
        Reranker(Fairness(delta=0.0)).rank(np.arange(12.0), None)

    def answer(self, body: bytes) -> dict[str, Any]:
        """The ranking to show now.

        Raises
        ------
        Refused
            When the request cannot be used.
        """
        try:
            asked = RankRequest.model_validate_json(body)
        except ValidationError as error:
            raise Refused(422, complaints(error)) from error
        items, groups = [item.id for item in asked.items], self._groups(asked)
        scores = [item.score for item in asked.items]
        start = time.perf_counter()
        ranked = self._rank(asked, items, groups, scores)
        self.metrics.seconds.observe(time.perf_counter() - start)
        self.metrics.shown.labels(ranked.how).inc()
        if ranked.anew:
            self.metrics.anew.inc()
        return {
            "query": asked.query,
            "ranking": [items[i] for i in ranked.ranking.tolist()],
            "policy": ranked.policy,
            "index": ranked.index,
            "probability": ranked.probability,
            "impressions": ranked.impressions,
            "delta": ranked.delta,
            "bound": None if ranked.bound == float("inf") else ranked.bound,
            "how": ranked.how,
            "reason": ranked.reason,
            "anew": ranked.anew,
        }

    def _groups(self, asked: RankRequest) -> list[str] | None:
        """The group of each item; None where the service takes each item on its own, whatever group it has."""
        if self.settings.each_item:
            self._check_size(alone=len(asked.items))
            return None
        groups = [item.group for item in asked.items if item.group is not None]
        if len(groups) < len(asked.items):
            place = next(k for k, item in enumerate(asked.items) if item.group is None)
            field = f"items.{place}.group"
            raise Refused(422, [{"field": field, "message": f"'{field}': it is missing; add it."}])
        self._check_size(items=len(groups), groups=len(set(groups)))
        return groups

    def _rank(self, asked: RankRequest, items: list[str], groups: list[str] | None, scores: list[float]) -> Ranked:
        def record(ranked: Ranked) -> str:
            key = (ranked.policy, ranked.index)
            shown = self._shown.get(key) if ranked.policy else None
            if shown is None:
                shown = shown_text(ranked, items, items if groups is None else groups, scores)
                if ranked.policy:
                    self._shown.put(key, shown)
            return record_of(asked.query, ranked, shown)

        values = np.array(scores)
        try:
            reranker = self._reranker(asked.delta)
            ranked = reranker.rank_and_record(values, groups, asked.query, items, record if self._keeps_log else None)
            if asked.query is None and self._keeps_log:
                self.store.keep(record(ranked))
        except DataError as error:
            raise Refused(422, [{"field": error.column or "items", "message": str(error)}]) from error
        except SpofrError as error:
            if self.settings.otherwise == "refuse":
                raise Refused(422, [{"field": "items", "message": str(error)}]) from error
            return self._by_score(values, no_policy(error), record)
        except sqlite3.Error as error:  # a full disk, for instance: once a request, so in one line
            if self.settings.otherwise == "refuse":
                raise Refused(503, [{"field": "", "message": f"The counters cannot be written ({error})."}]) from error
            _LOGGER.error("The counters cannot be written (%s): a list is shown sorted by score.", error)
            self.metrics.failed.inc()
            return self._by_score(values, "the counters cannot be written", record)
        except Exception:  # whatever breaks, readers are shown a ranking; it is counted and written down
            if self.settings.otherwise == "refuse":
                raise
            _LOGGER.exception("A list could not be ranked within delta; it is shown sorted by score.")
            self.metrics.failed.inc()
            return self._by_score(values, "the service failed; its log says why", record)
        return ranked

    def _by_score(self, scores: FloatArray, reason: str, record: Callable[[Ranked], str]) -> Ranked:
        order = sorted_lottery("", scores, reason).rankings[0].astype(np.int64)
        ranked = Ranked(order, 0, 1.0, "", 1, 0.0, float("inf"), "sorted", reason)
        if self._keeps_log:
            try:
                self.store.keep(record(ranked))
            except sqlite3.Error as error:
                _LOGGER.error("An impression sorted by score could not be logged (%s).", error)
        return ranked

    def _check_size(self, **sizes: int) -> None:
        for what, count in sizes.items():
            most = getattr(self.settings, f"most_{what}")
            if count > most:
                counted = "items, each on its own" if what == "alone" else what
                message = f"The list has {count} {counted}; this service takes at most {most} (--most-{what})."
                raise Refused(422, [{"field": "items", "message": message}])

    def _reranker(self, delta: float | None) -> Reranker:
        known = self._rerankers.get(delta)
        if known is None:
            fairness = self.settings.fairness if delta is None else self.settings.fairness.with_delta(delta)
            ways: dict[str, OnFailure] = {"sort": "sort", "relax": "relax", "refuse": "raise"}
            known = Reranker(
                fairness,
                discount=self.settings.discount,
                on_infeasible=ways[self.settings.otherwise],
                seed=self._seed,
                counters=self.store,
            )
            if len(self._rerankers) >= _MOST_DELTAS:
                self._rerankers.pop(next(key for key in self._rerankers if key is not None))
            self._rerankers[delta] = known
        return known

    async def keep_log(self) -> None:
        """Write the log, and tidy up, again and again; at once what an earlier service has left."""
        while True:
            await asyncio.to_thread(self.flush)
            await asyncio.sleep(self.settings.flush_seconds)

    def flush(self, *, patience: float = 0.0) -> None:
        """Write what waits for the log; what cannot be written now, or is being written by another worker, waits on."""
        try:
            with closing(CounterStore(self.settings.state)) as own:  # a connection that no reader waits for
                if self.settings.log is not None:
                    write_parts(own, self.settings.log, patience=patience)
                own.tidy()
        except (OSError, sqlite3.Error, SpofrError):
            _LOGGER.exception("The log of impressions cannot be written; they are kept with the counters.")

    def health(self) -> dict[str, Any]:
        """What the service is asked to hold, and what waits for the log; not ok where the counters cannot be read."""
        told = {"fairness": self.settings.fairness.to_dict(), "otherwise": self.settings.otherwise}
        try:
            return {"ok": True, **told, "waiting_for_the_log": self.store.waiting()}
        except sqlite3.Error as error:
            return {"ok": False, **told, "reason": f"The counters cannot be read: {error}."}


def make_app(settings: ServiceSettings) -> FastAPI:
    """The application, for uvicorn or any other server."""
    service = Service(settings)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        writer = asyncio.create_task(service.keep_log())
        yield
        writer.cancel()
        with suppress(asyncio.CancelledError):
            await writer
        await asyncio.to_thread(service.flush, patience=_PATIENCE)
        service.store.close()

    # The pages that FastAPI brings load scripts from elsewhere; ours needs nothing.
    app = FastAPI(title="spofr serve", version="1", docs_url=None, redoc_url=None, lifespan=lifespan)
    app.add_middleware(OwnHosts, names=settings.hosts)

    @app.post("/rank", openapi_extra={"requestBody": _BODY}, summary="The ranking to show now")
    async def rank(request: Request) -> Response:
        try:
            _check_token(request, settings.token)
            answer = service.answer(await _body(request, settings.most_bytes))
        except Refused as refused:
            service.metrics.refused.labels(str(refused.status)).inc()
            return _json({"detail": refused.detail}, refused.status)
        return _json(answer)

    @app.get("/health", summary="Whether the service answers, and what it is asked to hold")
    async def health() -> Response:
        told = service.health()
        return _json(told, 200 if told["ok"] else 503)

    @app.get("/metrics", summary="Counters for Prometheus")
    async def metrics(request: Request) -> Response:
        try:
            _check_token(request, settings.token)
        except Refused as refused:
            return _json({"detail": refused.detail}, refused.status)
        return Response(service.metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")

    @app.get("/docs", include_in_schema=False)
    async def docs() -> Response:
        return Response(service_page(app.openapi(), settings), media_type="text/html; charset=utf-8")

    return app


def app_from_environment() -> FastAPI:
    """What each worker of `spofr serve` runs."""
    sys.setswitchinterval(0.0005)  # who writes the log gives way to readers ten times as soon
    # A worker whose parent was killed would answer, and hold the port, for ever: it ends in peace instead.
    end_with_parent(lambda: os.kill(os.getpid(), signal.SIGTERM))
    return make_app(ServiceSettings.from_environment())


def _check_token(request: Request, token: str | None) -> None:
    given = request.headers.get("authorization", "")
    if token is not None and not secrets.compare_digest(given.encode(), f"Bearer {token}".encode()):
        message = "The token is missing or wrong; send the header 'Authorization: Bearer TOKEN'."
        raise Refused(401, [{"field": "authorization", "message": message}])


async def _body(request: Request, most: int) -> bytes:
    pieces, size = [], 0
    async for piece in request.stream():
        size += len(piece)
        if size > most:
            message = f"The request has more than {most:,} bytes; send a shorter list."
            raise Refused(413, [{"field": "body", "message": message}])
        pieces.append(piece)
    return b"".join(pieces)


def _json(content: dict[str, Any], status: int = 200) -> Response:
    return Response(json.dumps(content, ensure_ascii=False), status, media_type="application/json")
