"""Form of all answers: accepted hosts, security headers, errors as JSON, and their metrics."""

import asyncio
import base64
import hashlib
import ipaddress
import json
import logging
import re
import time
from importlib.resources import files

logger = logging.getLogger(__name__)
PAGE = (files(__package__) / "page.html").read_text("utf-8")
MAX_MESSAGE = 1000  # characters of an error, which may quote the request


def _hashes(tag):
    """Return the sources of the page's elements of this tag for a content security policy."""
    parts = re.findall(rf"<{tag}>(.*?)</{tag}>", PAGE, re.DOTALL)
    codes = (base64.b64encode(hashlib.sha256(x.encode()).digest()).decode() for x in parts)
    return " ".join(f"'sha256-{code}'" for code in codes)


# Answers are data, and the page runs its own script only.
HEADERS = {
    "content-security-policy": (
        f"default-src 'none'; script-src {_hashes('script')}; style-src {_hashes('style')}; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "cache-control": "no-store",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}
_HEADERS = [(name.encode(), value.encode()) for name, value in HEADERS.items()]


def error_body(message):
    """Return `{"error": message}` as bytes, with a long message cut."""
    text = message if len(message) <= MAX_MESSAGE else f"{message[:MAX_MESSAGE]} ..."
    return json.dumps({"error": text}).encode()


async def send_error(send, message, status, headers=()):
    """Send an error as an answer.

    Args:
        send: ASGI function.
        message: str.
        status: int, HTTP status.
        headers: Mapping of additional headers.
    """
    body = error_body(message)
    given = {"content-type": "application/json", "content-length": str(len(body)), **dict(headers)}
    pairs = [(name.encode(), value.encode()) for name, value in given.items()]
    await send({"type": "http.response.start", "status": status, "headers": pairs})
    await send({"type": "http.response.body", "body": body})


class Answers:
    """ASGI application that adds security headers, turns exceptions into errors, and counts.

    Args:
        app: ASGI application.
        metrics: `Metrics`.
    """

    def __init__(self, app, metrics):
        self.app = app
        self.metrics = metrics

    async def __call__(self, scope, receive, send):
        """Answer a request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started, status = time.perf_counter(), None

        async def send_answer(message):
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message = {**message, "headers": [*message.get("headers", ()), *_HEADERS]}
            await send(message)

        try:
            await self.app(scope, receive, send_answer)
        except asyncio.CancelledError:  # the server stops
            if status is not None:
                raise
            asyncio.current_task().uncancel()
            await send_error(send_answer, "the service is stopping.", 503, {"connection": "close"})
        except Exception:
            logger.exception("no answer to %r", scope["path"])
            if status is not None:
                raise
            await send_error(send_answer, "internal error, which the log describes.", 500)
        finally:
            route = getattr(scope.get("route"), "path", "other")
            self.metrics.observe(route, status or 500, time.perf_counter() - started)


class HostCheck:
    """ASGI application that only accepts requests whose Host header names this server.

    A page on another site can make its own name resolve to this machine (DNS rebinding), and could
    then read the answers to its requests. Addresses cannot be rebound, so addresses and localhost
    are always accepted.

    Args:
        app: ASGI application.
        hosts: Additional names to accept, without a port.
    """

    def __init__(self, app, hosts=()):
        self.app = app
        self.hosts = {"localhost", *(host.lower() for host in hosts)}

    async def __call__(self, scope, receive, send):
        """Forward the request, or answer with status 400."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        given = [value.decode("latin-1") for key, value in scope["headers"] if key == b"host"]
        if len(given) == 1 and self._is_allowed(given[0]):
            await self.app(scope, receive, send)
            return
        error = f"the host {', '.join(given)!r} is not one of this server: see `hosts`."
        await send_error(send, error, 400, {"connection": "close"})

    def _is_allowed(self, host):
        """Return whether a Host header is an address or one of the accepted names."""
        name, colon, port = host.lower().rpartition(":")
        if not colon or not port.isdigit():  # without a port, or the end of an IPv6 address
            name = host.lower()
        try:
            ipaddress.ip_address(name.removeprefix("[").removesuffix("]"))
        except ValueError:
            return name in self.hosts
        return True
