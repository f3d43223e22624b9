"""Settings of the service: its limits, and who may reach it."""

from dataclasses import asdict, dataclass, field

from kerastrans.utils.validation import check_positive, check_positive_integers


def _setting(default, text):
    return field(default=default, metadata={"help": text})


@dataclass(frozen=True)
class Settings:
    """Settings of the service, which its metadata show and the command line's options set.

    Attributes:
        hosts: Names that are accepted in the Host header, in addition to localhost and addresses.
        allow_origin: Origins, such as "https://example.org", whose pages may read the answers; "*"
            is any.
        max_bytes: int, maximum size of a request's body.
        max_batch: int, maximum number of windows in a request and in a call of the model.
        max_waiting: int, maximum number of windows that wait for the model.
        max_columns: int, maximum number of columns of a CSV that the model does not need.
        max_series: int, maximum number of series of a CSV.
        max_cells: int, maximum number of cells of a CSV, its lines times its columns.
        max_values: int, maximum number of forecast values in an answer to a CSV: series times
            steps times sample paths.
        max_steps: int, maximum number of steps that a request can ask for.
        max_levels: int, maximum number of levels, and of values of `exceeds`, in a request.
        max_connections: int, maximum number of connections. An additional one replaces the oldest
            one that has not sent a complete request.
        body_timeout: float, seconds until a request's body must be complete.
        csv_timeout: float, seconds to read a CSV, and to wait for a process that reads it.
        csv_processes: int, number of processes that read CSV files.
        warm_up: bool, whether the model is compiled at start for all sizes of batches.
        access_log: bool, whether each request is logged on stderr.

    Raises:
        ValueError: If a limit is not above 0, or `max_waiting` is below `max_batch`.

    Example:
        >>> Settings(max_series=10).max_series
        10
    """

    hosts: tuple = _setting((), "names under which clients reach this machine")
    allow_origin: tuple = _setting(
        (), "origins whose pages may read the answers, such as https://a.org"
    )
    max_bytes: int = _setting(2**23, "maximum size of a request's body, in bytes")
    max_batch: int = _setting(
        256, "maximum number of windows in a request and in a call of the model"
    )
    max_waiting: int = _setting(4096, "maximum number of windows that wait for the model")
    max_columns: int = _setting(
        1000, "maximum number of columns of a CSV that the model does not need"
    )
    max_series: int = _setting(1000, "maximum number of series of a CSV")
    max_cells: int = _setting(1_000_000, "maximum number of cells of a CSV")
    max_values: int = _setting(1_000_000, "maximum number of forecast values in an answer to a CSV")
    max_steps: int = _setting(1024, "maximum number of steps that a request can ask for")
    max_levels: int = _setting(
        100, "maximum number of levels, and of values of `exceeds`, in a request"
    )
    max_connections: int = _setting(100, "maximum number of connections")
    body_timeout: float = _setting(30.0, "seconds until a request's body must be complete")
    csv_timeout: float = _setting(20.0, "seconds to read a CSV, and to wait for a process")
    csv_processes: int = _setting(2, "number of processes that read CSV files")
    warm_up: bool = _setting(True, "compile the model at start for all sizes of batches")
    access_log: bool = _setting(True, "log each request on stderr")

    def __post_init__(self):
        for name in ("hosts", "allow_origin"):
            if isinstance(given := getattr(self, name), str):
                raise ValueError(f"{name} must be a list of names, got {given!r}.")
            object.__setattr__(self, name, tuple(given))
        values = asdict(self)
        flags = "hosts", "allow_origin", "warm_up", "access_log"
        seconds = {name: values[name] for name in values if name.endswith("_timeout")}
        check_positive(**seconds)
        check_positive_integers(
            **{name: x for name, x in values.items() if name not in (*flags, *seconds)}
        )
        if self.max_waiting < self.max_batch:
            raise ValueError(
                f"max_waiting must be at least max_batch={self.max_batch}, got {self.max_waiting}."
            )
