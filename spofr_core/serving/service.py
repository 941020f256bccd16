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
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, closing, suppress
from typing import Any, TypeVar

import numpy as np
from fastapi import FastAPI, Request, Response
from pydantic import ValidationError
from starlette.requests import ClientDisconnect

from spofr_core.data.ids import BLANKS
from spofr_core.errors import DataError, SpofrError
from spofr_core.fairness import Fairness
from spofr_core.parent import end_with_parent
from spofr_core.serving.connections import CLOSED
from spofr_core.serving.counter_store import CounterStore
from spofr_core.serving.impression_log import record_of, shown_text, write_parts
from spofr_core.serving.lottery import FloatArray, OnFailure, no_policy, sorted_lottery
from spofr_core.serving.own_hosts import OwnHosts
from spofr_core.serving.recent import Recent
from spofr_core.serving.request import RankRequest, complaints
from spofr_core.serving.reranker import Ranked, Reranker
from spofr_core.serving.seldom import Seldom
from spofr_core.serving.service_metrics import ServiceMetrics
from spofr_core.serving.service_page import service_page
from spofr_core.serving.service_settings import ServiceSettings

_LOGGER = logging.getLogger("uvicorn.error")
_MOST_DELTAS = 32
_PATIENCE = 30.0
"""Seconds that a worker which ends waits for another one that is writing the log."""
_Name = TypeVar("_Name", str, str | None)
_NO_GUARANTEE = {"spofr-guaranteed": "false"}
"""What an answer says that is sorted by score."""
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
        self._trouble: str | None = None
        self._failed_lately = False
        self.cache = Recent(settings.cache_bytes)
        self.seldom = Seldom()
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
        sent, query = [item.id for item in asked.items], asked.query
        items, groups = _bare(sent, "items.{}.id"), self._groups(asked)
        asked.query = None if query is None else _bare([query], "query")[0]
        scores = [item.score for item in asked.items]
        start = time.perf_counter()
        ranked = self._rank(asked, items, groups, scores)
        self.metrics.seconds.observe(time.perf_counter() - start)
        self.metrics.shown.labels(ranked.how).inc()
        if ranked.anew:
            self.metrics.anew.inc()
        return {
            "query": query,
            "ranking": [sent[i] for i in ranked.ranking.tolist()],
            "policy": ranked.policy,
            "index": ranked.index,
            "probability": ranked.probability,
            "impressions": ranked.impressions,
            "delta": ranked.delta,
            "bound": None if ranked.bound == float("inf") else ranked.bound,
            "guaranteed": ranked.how != "sorted",
            "how": ranked.how,
            "reason": ranked.reason,
            "anew": ranked.anew,
        }

    def _groups(self, asked: RankRequest) -> Sequence[str | None] | None:
        """The group of each item; None where the service takes each item on its own, whatever group it has."""
        if self.settings.each_item:
            self._check_size(alone=len(asked.items))
            return None
        groups = _bare([item.group for item in asked.items], "items.{}.group")
        if self.settings.missing == "error" and None in groups:
            field = f"items.{groups.index(None)}.group"
            message = f"'{field}': it is missing; add it, or start the service with --missing keep."
            raise Refused(422, [{"field": field, "message": message}])
        self._check_size(items=len(groups), groups=len({*groups} - {None}))
        return groups

    def _rank(
        self, asked: RankRequest, items: list[str], groups: Sequence[str | None] | None, scores: list[float]
    ) -> Ranked:
        def record(ranked: Ranked) -> str:
            key = (ranked.policy, ranked.index)
            shown: str | None = self.cache.get(key) if ranked.policy else None
            if shown is None:
                shown = shown_text(ranked, items, items if groups is None else groups, scores)
                if ranked.policy:
                    self.cache.put(key, shown, sys.getsizeof(shown))
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
        except sqlite3.Error as error:  # a full disk, for instance
            self.fail(f"The counters cannot be written ({error}).")
            _LOGGER.error("The counters cannot be written (%s): no list keeps delta.", error)
            if self.settings.otherwise == "refuse":
                raise Refused(503, [{"field": "", "message": f"The counters cannot be written ({error})."}]) from error
            return self._by_score(values, "the counters cannot be written")
        except Exception:  # whatever breaks, readers are shown a ranking; it is counted and written down
            self.fail("A list could not be ranked; the log of the service says why.")
            if self.settings.otherwise == "refuse" and not self.settings.strict:
                raise
            _LOGGER.exception("A list could not be ranked within delta.")
            return self._by_score(values, "the service failed; its log says why", record)
        return ranked

    def fail(self, trouble: str) -> None:
        """Count that a list could not be kept within delta, and be degraded for it until `flush` finds all well."""
        self.metrics.failed.inc()
        self._degrade(trouble)

    def _degrade(self, trouble: str | None) -> None:
        self._trouble, self._failed_lately = trouble, trouble is not None
        self.metrics.degraded.set(trouble is not None)

    def _by_score(self, scores: FloatArray, reason: str, record: Callable[[Ranked], str] | None = None) -> Ranked:
        if self.settings.strict:
            raise Refused(503, [{"field": "items", "message": f"Nothing is guaranteed of this list: {reason}."}])
        order = sorted_lottery("", scores, reason).rankings[0].astype(np.int64)
        ranked = Ranked(order, 0, 1.0, "", 1, 0.0, float("inf"), "sorted", reason)
        if self._keeps_log and record is not None:
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
            ways: dict[str, OnFailure] = {"sort": "raise" if self.settings.strict else "sort", "relax": "relax"}
            known = Reranker(
                fairness,
                discount=self.settings.discount,
                on_infeasible=ways.get(self.settings.otherwise, "raise"),
                seed=self._seed,
                counters=self.store,
                cache=self.cache,
                missing=self.settings.missing,
            )
            if len(self._rerankers) >= _MOST_DELTAS:
                self._rerankers.pop(next(key for key in self._rerankers if key is not None))
            self._rerankers[delta] = known
        return known

    async def keep_log(self) -> None:
        """Write the log, and tidy up, again and again; at once what an earlier service has left."""
        while True:
            self.metrics.cache.set(self.cache.bytes)
            self.seldom.tell()
            await asyncio.to_thread(self.flush)
            await asyncio.sleep(self.settings.flush_seconds)

    def flush(self, *, patience: float = 0.0) -> None:
        """Write what waits for the log; what cannot be written now, or is being written by another worker, waits on.

        Nothing is degraded any more where all of it succeeds and no list has failed since the last time.
        """
        failed, self._failed_lately = self._failed_lately, False
        try:
            with closing(CounterStore(self.settings.state)) as own:  # a connection that no reader waits for
                if self.settings.log is not None:
                    write_parts(own, self.settings.log, patience=patience)
                own.tidy()
                if self._trouble is not None:
                    own.try_to_write()
                    if not failed and not self._failed_lately:
                        self._degrade(None)
        except (OSError, sqlite3.Error, SpofrError) as error:
            _LOGGER.error("The log of impressions cannot be written; they are kept with the counters (%s).", error)
            self._degrade("The log of impressions cannot be written; the log of the service says why.")

    def health(self) -> dict[str, Any]:
        """What the service is asked to hold, and what waits for the log; not ok while any worker is degraded."""
        told = {"fairness": self.settings.fairness.to_dict(), "otherwise": self.settings.otherwise}
        try:
            waiting, trouble = self.store.waiting(), self._trouble
        except sqlite3.Error as error:
            waiting, trouble = None, f"The counters cannot be read: {error}."
        if trouble is None and self.metrics.degraded_workers():
            trouble = "Another worker of this service is degraded; /metrics counts them."
        well = {"ok": trouble is None, "status": "ok" if trouble is None else "degraded"}
        return {**well, **({} if trouble is None else {"reason": trouble}), **told, "waiting_for_the_log": waiting}


def make_app(settings: ServiceSettings) -> FastAPI:
    """The application, for uvicorn or any other server."""
    service = Service(settings)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[dict[str, Any]]:
        loggers = [_LOGGER, logging.getLogger("asyncio")]
        for logger in loggers:
            logger.addFilter(service.seldom)
        writer = asyncio.create_task(service.keep_log())
        yield {CLOSED: service.metrics.closed}
        writer.cancel()
        with suppress(asyncio.CancelledError):
            await writer
        await asyncio.to_thread(service.flush, patience=_PATIENCE)
        service.store.close()
        for logger in loggers:
            logger.removeFilter(service.seldom)

    # The pages that FastAPI brings load scripts from elsewhere; ours needs nothing.
    app = FastAPI(title="spofr serve", version="1", docs_url=None, redoc_url=None, lifespan=lifespan)
    app.add_middleware(OwnHosts, names=settings.hosts, origins=True)

    @app.post("/rank", openapi_extra={"requestBody": _BODY}, summary="The ranking to show now")
    async def rank(request: Request) -> Response:
        try:
            _check_token(request, settings.token)
            _check_kind(request)
            answer = service.answer(await _body(request, settings.most_bytes))
        except ClientDisconnect:
            return Response(status_code=400)  # nobody is there to read it
        except Refused as refused:
            service.metrics.refused.labels(str(refused.status)).inc()
            return _json({"detail": refused.detail}, refused.status)
        return _json(answer, headers=None if answer["guaranteed"] else _NO_GUARANTEE)

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
        service.metrics.cache.set(service.cache.bytes)
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


def _check_kind(request: Request) -> None:
    """A page of a stranger can send forms and plain text here, but JSON only if the browser may ask first."""
    kind = request.headers.get("content-type", "")
    if kind.partition(";")[0].strip().lower() != "application/json":
        seen = f"it is {kind[:60]!r}" if kind else "it is missing"
        message = f"The header 'Content-Type' must say what the body is, and {seen}; send 'application/json'."
        raise Refused(415, [{"field": "content-type", "message": message}])


def _bare(names: Sequence[_Name], field: str) -> list[_Name]:
    """Ids and names as they are read from the log: without the blanks around them."""
    found = [name and name.strip(BLANKS) for name in names]
    if "" in found:
        place = found.index("")
        field = field.format(place)
        raise Refused(422, [{"field": field, "message": f"'{field}' is {names[place]!r}; give at least one letter."}])
    return found


async def _body(request: Request, most: int) -> bytes:
    pieces, size = [], 0
    async for piece in request.stream():
        size += len(piece)
        if size > most:
            message = f"The request has more than {most:,} bytes; send a shorter list."
            raise Refused(413, [{"field": "body", "message": message}])
        pieces.append(piece)
    return b"".join(pieces)


def _json(content: dict[str, Any], status: int = 200, *, headers: dict[str, str] | None = None) -> Response:
    return Response(json.dumps(content, ensure_ascii=False), status, headers, media_type="application/json")
