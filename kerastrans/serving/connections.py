"""A limit on connections under which those that wait make room for those that come."""

import itertools

from uvicorn.protocols.http.h11_impl import H11Protocol

_arrivals = itertools.count()


class LimitedConnection(H11Protocol):
    """One connection of at most `max_connections`.

    Where there are as many, a new one takes the place of the oldest that this server waits for: it
    has sent nothing, or half a request, or has its answer. So nobody holds the others up by opening
    connections. One whose answer is being computed stays; where all do, the new one is closed.

    It reads three names of uvicorn's that are not documented: `connections` and `cycle` of
    `H11Protocol`, and `more_body` and `response_complete` of a cycle.

    Args:
        max_connections: int, at least 1.
        **options: of `H11Protocol`.
    """

    def __init__(self, *, max_connections, **options):
        super().__init__(**options)
        self.max_connections = max_connections
        self.arrival = next(_arrivals)

    def connection_made(self, transport):
        """Take the connection, in the place of another where there are too many."""
        others = [x for x in self.connections if x.is_waiting]
        full = len(self.connections) >= self.max_connections
        super().connection_made(transport)
        if full:
            leaving = min(others, key=lambda x: x.arrival, default=self)
            self.connections.discard(leaving)
            leaving.transport.abort()

    @property
    def is_waiting(self):
        """Whether it is the client's turn to send."""
        return self.cycle is None or self.cycle.response_complete or self.cycle.more_body
