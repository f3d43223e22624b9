"""A small HTTP service around a trained forecaster; needs the extra `serve`."""

from kerastrans.serving.app import create_app
from kerastrans.serving.server import serve

__all__ = ["create_app", "serve"]
