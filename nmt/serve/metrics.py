"""Metrics for Prometheus, without addresses, keys or text."""

import os
from collections.abc import Callable
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest, multiprocess

from nmt.serve.engine import Watcher
from nmt.serve.jobs import Recipe

SECONDS = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30)
SENTENCES = (1, 2, 4, 8, 16, 32, 64, 128, 256)


class Metrics(Watcher):
    """The metrics of this process. Processes that share a port write theirs to files in PROMETHEUS_MULTIPROC_DIR."""

    def __init__(self, queued: Callable[[], int], name_of: Callable[[Recipe], str]) -> None:
        registry = CollectorRegistry()
        self.registry, self.name_of = registry, name_of
        self.requests = Counter("nmt_requests", "Requests", ["route", "status"], registry=registry)
        self.seconds = Histogram("nmt_request_seconds", "Time to answer", ["route"], registry=registry, buckets=SECONDS)
        self.refused = Counter("nmt_refused", "Requests refused", ["reason"], registry=registry)
        self.sentences = Counter("nmt_sentences", "Sentences searched", ["model"], registry=registry)
        self.pieces = Counter("nmt_source_pieces", "Source pieces searched", ["model"], registry=registry)
        self.batch = Histogram(
            "nmt_batch_sentences", "Sentences searched together", registry=registry, buckets=SENTENCES
        )
        self.search = Histogram(
            "nmt_search_seconds", "Time to search a batch", ["model"], registry=registry, buckets=SECONDS
        )
        self.hits = Counter("nmt_cache_hits", "Sentences found in the cache", registry=registry)
        self.misses = Counter("nmt_cache_misses", "Sentences not found in the cache", registry=registry)
        self.waiting = Gauge(
            "nmt_queue_pieces", "Source pieces that wait", registry=registry, multiprocess_mode="livesum"
        )
        self.queued = queued

    def answered(self, route: str, status: int, seconds: float) -> None:
        """Called after each request."""
        self.requests.labels(route, str(status)).inc()
        self.seconds.labels(route).observe(seconds)
        if status in REASONS:
            self.refused.labels(REASONS[status]).inc()

    def searched(self, recipe: Recipe, sentences: int, pieces: int, seconds: float) -> None:
        name = self.name_of(recipe)
        self.sentences.labels(name).inc(sentences)
        self.pieces.labels(name).inc(pieces)
        self.batch.observe(sentences)
        self.search.labels(name).observe(seconds)

    def looked_up(self, hits: int, misses: int) -> None:
        self.hits.inc(hits)
        self.misses.inc(misses)

    def text(self) -> bytes:
        """The metrics of all processes that share the port, in Prometheus' format."""
        self.waiting.set(self.queued())
        registry: Any = self.registry
        if "PROMETHEUS_MULTIPROC_DIR" in os.environ:
            registry = CollectorRegistry()
            multiprocess.MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        return generate_latest(registry)


REASONS = {400: "bad_request", 403: "key", 413: "too_large", 429: "limit", 503: "busy"}
