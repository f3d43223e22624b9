"""Description of how a file was read, so that a related file is read in the same way."""

from dataclasses import asdict, dataclass

from kerastrans.data.time.date_formats import describe_format

READ_AS = "read_as"  # key of a frame's attrs
_SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}


@dataclass(frozen=True)
class Reading:
    """Inferred or given properties of a file.

    Attributes:
        sep: Separator of the columns; None for Parquet and Excel.
        decimal: Decimal sign; None if no cell has one.
        encoding: Encoding of the text.
        date_column: Name of the date column.
        date_format: Format of the dates, see `kerastrans.data.time.dates.parse_dates`.
        timezone: Time zone of the time stamps, or None.
        freq: Frequency of the time stamps; None if it is not known.
    """

    sep: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    date_column: str | None = None
    date_format: str | None = None
    timezone: str | None = None
    freq: str | None = None

    def __str__(self):
        """Return the line that the command line shows."""
        parts = [
            self.sep and f"{_SEPARATORS.get(self.sep, repr(self.sep))} between columns",
            self.decimal and f"decimal {'comma' if self.decimal == ',' else 'point'}",
            self.date_column and f"dates in {self.date_column!r}",
            self.date_format and describe_format(self.date_format),
            self.freq and f"frequency {self.freq}",
            self.timezone,
            self.encoding if self.encoding not in (None, "utf-8", "utf-8-sig") else None,
        ]
        return "read as: " + ", ".join(filter(None, parts))

    def to_dict(self):
        """Return the reading as a dict for JSON and for the attrs of a frame."""
        return {name: value for name, value in asdict(self).items() if value is not None}


def read_as_of(frame):
    """Return the dict of how a frame of `read_table` was read; None for other frames."""
    return getattr(frame, "attrs", {}).get(READ_AS)


def reading_of(frame):
    """Return the `Reading` of a frame of `read_table`; None for other frames."""
    stored = read_as_of(frame)
    return None if stored is None else Reading(**stored)
