"""The server process: a socket on this machine, and uvicorn."""

import functools
import socket

from kerastrans.serving.app import create_app
from kerastrans.utils.validation import check_positive_integers, import_extra

MAX_CONNECTIONS = 100


def serve(
    forecaster,
    name,
    host="127.0.0.1",
    port=8501,
    *,
    max_connections=MAX_CONNECTIONS,
    hosts=(),
    **limits,
):
    """Serve a trained forecaster until interrupted.

    Args:
        forecaster: `kerastrans.Forecaster`, trained.
        name: str, of the model in the routes.
        host: address to listen on; by default only this machine reaches it.
        port: int; 0 for any that is free.
        max_connections: int; a further one takes the place of the oldest that has not sent a
            whole request.
        hosts: names under which others reach this machine, besides `host`.
        **limits: of `create_app`: max_batch, max_bytes, body_timeout.

    Raises:
        ImportError: the extra `serve` is missing.
        ValueError: no port, host or name, or a limit below 1.
        OSError: the port is in use, or the host is not this machine's.

    Example:
        >>> from kerastrans import presets
        >>> serve(presets.load("nhits_nyc_departures_24"), "flights")  # doctest: +SKIP
        kerastrans serves flights on http://127.0.0.1:8501
    """
    check_address(host, port)
    app = create_app(forecaster, name, hosts=(host, *hosts), **limits)
    server = create_server(app, max_connections)
    with _listen(host, port) as listening:
        address = "{}:{}".format(*listening.getsockname()[:2])
        print(f"kerastrans serves {name} on http://{address}", flush=True)
        server.run(sockets=[listening])


def create_server(app, max_connections=MAX_CONNECTIONS):
    """The uvicorn server of an application, whose connections are limited.

    Args:
        app: of `create_app`.
        max_connections: int, see `serve`.

    Raises:
        ImportError: the extra `serve` is missing.
        ValueError: a limit below 1.
    """
    uvicorn = import_extra("uvicorn", "the service", "serve")
    from kerastrans.serving.connections import LimitedConnection

    check_positive_integers(max_connections=max_connections)
    protocol = functools.partial(LimitedConnection, max_connections=max_connections)
    options = {"ws": "none", "log_level": "warning", "timeout_graceful_shutdown": 5}
    return uvicorn.Server(uvicorn.Config(app, http=protocol, **options))


def check_address(host, port):
    """Raise ValueError unless these are a host's name or address, and a port.

    Args:
        host: str; empty would mean every address of this machine.
        port: int from 0 to 65535.
    """
    if not isinstance(host, str) or not host:
        raise ValueError(f"host must be a name or an address, got {host!r}.")
    if isinstance(port, bool) or not isinstance(port, int) or not 0 <= port <= 65535:
        raise ValueError(f"port must be an integer from 0 to 65535, got {port!r}.")


def _listen(host, port):
    listening = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        listening.listen(2048)
    except OSError as error:
        listening.close()
        raise OSError(
            f"cannot listen on {host}:{port}: {error.strerror}; give another port."
        ) from None
    return listening
