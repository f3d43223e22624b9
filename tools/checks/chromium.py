"""Pages in a headless Chromium that is installed, from a server of a folder on this machine."""

import contextlib
import functools
import http.server
import importlib.util
import shutil
import threading

EXECUTABLE = shutil.which("chromium") or shutil.which("chromium-browser")


def missing():
    """Return what has to be installed to open pages, None if nothing is missing."""
    if EXECUTABLE is None:
        return "no Chromium is installed (apt-get install chromium)"
    if importlib.util.find_spec("playwright") is None:
        return "no playwright is installed (pip install playwright)"
    return None


@contextlib.contextmanager
def serve_folder(folder):
    """Serve the files of a folder on a free port, and give the address, which ends in a slash."""
    handler = functools.partial(_QuietHandler, directory=folder)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()


@contextlib.contextmanager
def launch():
    """Give a browser of playwright, which is closed at the end."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=EXECUTABLE, args=["--no-sandbox"])
        yield browser
        browser.close()


@contextlib.contextmanager
def open_page(address):
    """Give a page at an address; raise AssertionError at the end if a script of it failed."""
    with launch() as browser:
        page, errors = browser.new_page(), []
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(address)
        yield page
        assert not errors, errors


class _QuietHandler(http.server.SimpleHTTPRequestHandler):
    """Handler that does not log requests."""

    def log_message(self, *_):
        pass
