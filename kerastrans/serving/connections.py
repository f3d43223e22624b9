"""Limit on the number of connections, with idle connections making room for new ones."""

import itertools

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from kerastrans.serving.answers import HEADERS, error_body

_arrivals = itertools.count()


class LimitedConnection(H11Protocol):
    """HTTP connection of a server that has at most `max_connections`.

    If the limit is reached, a new connection replaces the oldest one that waits for its client,
    because it has received no complete request or has already been answered. Therefore a client
    cannot block others by opening connections. Connections whose answer is being computed are kept;
    if all are, the new connection is closed.

    What is not HTTP is answered with an error in the form of all others.

    The class uses undocumented attributes of uvicorn: `connections`, `cycle`, `conn`, `transport`
    and `send_400_response` of `H11Protocol`, and `more_body` and `response_complete` of a cycle.

    Args:
        max_connections: int, at least 1.
        **options: Arguments of `H11Protocol`.
    """

    def __init__(self, *, max_connections, **options):
        super().__init__(**options)
        self.max_connections = max_connections
        self.arrival = next(_arrivals)

    def connection_made(self, transport):
        """Accept the connection, closing another one if there are too many."""
        idle = [x for x in self.connections if x.is_waiting]
        full = len(self.connections) >= self.max_connections
        super().connection_made(transport)
        if full:
            leaving = min(idle, key=lambda x: x.arrival, default=self)
            self.connections.discard(leaving)
            leaving.transport.abort()

    @property
    def is_waiting(self):
        """True if the server waits for the client to send."""
        return self.cycle is None or self.cycle.response_complete or self.cycle.more_body

    def send_400_response(self, msg):
        """Answer what is not HTTP, and close the connection."""
        if self.cycle is not None:
            self.cycle.disconnected = True  # no second answer to a request whose body is not HTTP
        body = error_body(msg)
        headers = {"content-type": "application/json", "content-length": str(len(body))}
        headers = [*headers.items(), *HEADERS.items(), ("connection", "close")]
        answer = h11.Response(status_code=400, headers=headers, reason=b"Bad Request")
        for event in (answer, h11.Data(data=body), h11.EndOfMessage()):
            self.transport.write(self.conn.send(event))
        self.transport.close()
