"""Small HTTP service for a trained forecaster; requires the extra `serve`."""

from kerastrans.utils.lazy import names_of

__getattr__, __dir__, __all__ = names_of(
    __name__, {"app": ("create_app",), "server": ("serve",), "settings": ("Settings",)}
)
