"""Small HTTP service for a trained forecaster; requires the extra `serve`."""

from kerastrans.serving.app import create_app
from kerastrans.serving.server import serve

__all__ = ["create_app", "serve"]
