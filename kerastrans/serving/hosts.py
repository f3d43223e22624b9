"""Check of the Host header, which protects the server against DNS rebinding."""

import ipaddress

from kerastrans.serving.answers import send_error


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
