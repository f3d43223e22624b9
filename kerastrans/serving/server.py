"""Server process of the service: a socket on this machine, and uvicorn."""

import errno
import functools
import os
import socket

from kerastrans.serving.app import create_app
from kerastrans.serving.settings import Settings
from kerastrans.utils.validation import check_positive_integers, import_extra

HOSTS = "KERASTRANS_HOSTS"  # environment variable
_LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "access": {
            "()": "uvicorn.logging.AccessFormatter",
            "fmt": '%(asctime)s %(client_addr)s "%(request_line)s" %(status_code)s',
            "use_colors": False,
        },
        "error": {"format": "%(asctime)s %(levelname)s %(message)s"},
    },
    "handlers": {
        name: {"class": "logging.StreamHandler", "formatter": name, "stream": "ext://sys.stderr"}
        for name in ("access", "error")
    },
    "loggers": {
        "uvicorn.access": {"handlers": ["access"], "level": "INFO", "propagate": False},
        "uvicorn.error": {"handlers": ["error"], "level": "WARNING", "propagate": False},
        "kerastrans.serving": {"handlers": ["error"], "level": "WARNING"},
    },
}


def serve(forecaster, name, host="127.0.0.1", port=8501, **settings):
    """Serve a trained forecaster until interrupted.

    Args:
        forecaster: Trained `kerastrans.Forecaster`.
        name: str, name of the model in the routes.
        host: str, address to listen on; by default it can only be reached from this machine.
        port: int, port to listen on; 0 for any free port.
        **settings: Attributes of `kerastrans.serving.Settings`. The hosts are in addition to
            `host` and to those of the environment variable KERASTRANS_HOSTS, with commas.

    Raises:
        ImportError: If the extra `serve` is not installed.
        ValueError: If the port, host or name is invalid, or a limit is below 1.
        OSError: If the port is in use, or the host is not an address of this machine.

    Example:
        >>> from kerastrans import presets
        >>> serve(presets.load("nhits_nyc_departures_24"), "flights")  # doctest: +SKIP
        kerastrans serves flights on http://127.0.0.1:8501
    """
    check_address(host, port)
    used = Settings(**settings)
    hosts = host, *used.hosts, *filter(None, os.environ.get(HOSTS, "").split(","))
    app = create_app(forecaster, name, **settings | {"hosts": hosts})
    server = create_server(app, used.max_connections, access_log=used.access_log)
    with _listen(host, port) as listening:
        address, port = listening.getsockname()[:2]
        address = f"[{address}]" if ":" in address else address  # of IPv6
        print(f"kerastrans serves {name} on http://{address}:{port}", flush=True)
        server.run(sockets=[listening])


def create_server(app, max_connections=Settings.max_connections, *, access_log=False):
    """Create the uvicorn server of an application, with a limit on its connections.

    Args:
        app: Application returned by `create_app`.
        max_connections: int, see `kerastrans.serving.Settings`.
        access_log: bool, whether each request is logged on stderr.

    Raises:
        ImportError: If the extra `serve` is not installed.
        ValueError: If the limit is below 1.
    """
    uvicorn = import_extra("uvicorn", "the service", "serve")
    from kerastrans.serving.connections import LimitedConnection

    check_positive_integers(max_connections=max_connections)
    protocol = functools.partial(LimitedConnection, max_connections=max_connections)
    options = {"ws": "none", "timeout_graceful_shutdown": 5, "server_header": False}
    options |= {"log_config": _LOGGING, "access_log": access_log}
    return uvicorn.Server(uvicorn.Config(app, http=protocol, **options))


def check_address(host, port):
    """Raise ValueError unless the host is a name or an address and the port is valid.

    Args:
        host: str. An empty str is refused, because it would mean every address of this machine.
        port: int from 0 to 65535.
    """
    if not isinstance(host, str) or not host:
        raise ValueError(f"host must be a name or an address, got {host!r}.")
    if isinstance(port, bool) or not isinstance(port, int) or not 0 <= port <= 65535:
        raise ValueError(f"port must be an integer from 0 to 65535, got {port!r}.")


def _listen(host, port):
    """Return a listening socket."""
    listening = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        listening.listen(2048)
    except (OSError, TypeError) as error:  # the latter for a text that is not a name
        listening.close()
        code = getattr(error, "errno", None)
        other = "port" if code in (errno.EADDRINUSE, errno.EACCES) else "host"
        why = getattr(error, "strerror", "not a name of a machine")
        raise OSError(f"cannot listen on {host}:{port}: {why}; choose another {other}.") from None
    return listening
