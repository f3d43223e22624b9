"""What the service does with a CSV, in this process, and functions for its other processes."""

import json
import os
import threading

from kerastrans.serving import Settings, tables


def forecast_csv(forecaster, body, read=None, settings=None, **options):
    """The answer of `/v1/forecast` to a CSV."""
    columns = tables.Columns.of(forecaster)
    table = tables.read_csv(body, columns, settings or Settings(), read or {})
    with tables.refusing():
        known = {"future": table.future, "static": table.static}
        rows = forecaster.predict(table.frame, **known, **options)
    return json.loads(tables.write_answer(rows, "forecast", history=table.history))


def hang(*_):
    """Never return."""
    threading.Event().wait()


def end(*_):
    """End the process, as one that has no memory left."""
    os._exit(1)


def pid():
    return os.getpid()


def refuse():
    raise tables.RequestError("too large", 413)
