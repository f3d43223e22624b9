"""The server process: a socket on this machine, and uvicorn."""

import socket

from kerastrans.serving.app import create_app
from kerastrans.utils.validation import import_extra


def serve(forecaster, name, host="127.0.0.1", port=8501, **limits):
    """Serve a trained forecaster until interrupted.

    Args:
        forecaster: `kerastrans.Forecaster`, trained.
        name: str, of the model in the routes.
        host: address to listen on; by default only this machine reaches it.
        port: int; 0 for any that is free.
        **limits: of `create_app`.

    Raises:
        ImportError: the extra `serve` is missing. OSError: the port is in use.
    """
    uvicorn = import_extra("uvicorn", "the service", "serve")
    app = create_app(forecaster, name, **limits)
    with _listen(host, port) as listening:
        address = "{}:{}".format(*listening.getsockname()[:2])
        print(f"kerastrans serves {name} on http://{address}", flush=True)
        config = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=5)
        uvicorn.Server(config).run(sockets=[listening])


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
