"""The names this server answers to: no page elsewhere reaches it under a name of its own."""

import ipaddress
import json


class HostCheck:
    """An ASGI application that passes on the requests whose Host header is this server's.

    A page on another site can have its own name resolved to this machine (DNS rebinding), and
    then read what it asks here. An address cannot be rebound: addresses, and localhost, pass.

    Args:
        app: ASGI application.
        hosts: names that pass, without a port.
    """

    def __init__(self, app, hosts=()):
        self.app = app
        self.hosts = {"localhost", *(host.lower() for host in hosts)}

    async def __call__(self, scope, receive, send):
        """Pass the request on, or answer 400."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        given = [value.decode("latin-1") for key, value in scope["headers"] if key == b"host"]
        if len(given) == 1 and self._is_allowed(given[0]):
            await self.app(scope, receive, send)
            return
        error = f"the host {', '.join(given)!r} is not one of this server: see `hosts`."
        headers = [(b"content-type", b"application/json"), (b"connection", b"close")]
        await send({"type": "http.response.start", "status": 400, "headers": headers})
        await send({"type": "http.response.body", "body": json.dumps({"error": error}).encode()})

    def _is_allowed(self, host):
        name, colon, port = host.lower().rpartition(":")
        if not colon or not port.isdigit():  # no port; or the end of an IPv6 address
            name = host.lower()
        try:
            ipaddress.ip_address(name.removeprefix("[").removesuffix("]"))
        except ValueError:
            return name in self.hosts
        return True
