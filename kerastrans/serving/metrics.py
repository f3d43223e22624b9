"""Metrics of the service in the text format of Prometheus."""

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    exposition,
)

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
WINDOWS = (1, 2, 4, 8, 16, 32, 64, 128, 256)


class Metrics:
    """Metrics of one application.

    Example:
        >>> metrics = Metrics()
        >>> metrics.observe("/health", 200, 0.02)
        >>> 'kerastrans_requests_total{route="/health",status="200"} 1.0' in metrics.text().decode()
        True
    """

    content_type = exposition.CONTENT_TYPE_LATEST

    def __init__(self):
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        options = {"namespace": "kerastrans", "registry": self.registry}
        self._requests = Counter("requests", "Answered requests.", ["route", "status"], **options)
        self._seconds = Histogram(
            "request_seconds", "Seconds to an answer.", ["route"], buckets=SECONDS, **options
        )
        self.windows = Histogram(
            "batch_windows", "Windows in a call of the model.", buckets=WINDOWS, **options
        )
        self.waiting = Gauge("waiting_windows", "Windows that wait for the model.", **options)
        self.ready = Gauge("ready", "1 if the model is compiled.", **options)

    def observe(self, route, status, seconds):
        """Count a request.

        Args:
            route: str, path of the route, not of the request.
            status: int, HTTP status.
            seconds: float, from the request to the end of its answer.
        """
        self._requests.labels(route, str(status)).inc()
        self._seconds.labels(route).observe(seconds)

    def text(self):
        """Return all metrics as bytes."""
        return exposition.generate_latest(self.registry)
