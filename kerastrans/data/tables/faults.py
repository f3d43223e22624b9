"""Faults of one file, and how columns and lines are named in them."""

MAX_FAULTS = 10  # number of faults that an error shows


class Faults:
    """The faults of one file, collected so that one error can name them all.

    Args:
        name: Name of the file in the error.
        unit: "line" of a text, or "row" of another file.
    """

    def __init__(self, name, unit="line"):
        self.name = name
        self.unit = unit
        self.messages = []
        self.count = 0

    def add(self, message):
        """Add one fault."""
        self.add_lines([None], lambda _: message)

    def add_lines(self, lines, describe):
        """Add one fault for each of these lines of the file; only the first ones are described."""
        for line in lines[: max(0, MAX_FAULTS - len(self.messages))]:
            self.messages.append((line or 0, describe(line)))
        self.count += len(lines)

    def check(self):
        """Raise ValueError if there are any faults."""
        lines = [
            f"{self.unit} {line}: {text}" if line else text for line, text in sorted(self.messages)
        ]
        if self.count == 1:
            raise ValueError(f"{self.name}: {lines[0]}")
        if self.count:
            more = self.count - len(lines)
            lines += [f"and {more} more"] if more else []
            raise ValueError("\n  ".join([f"{self.name} has {self.count} faults:", *lines]))

    def stop(self, message):
        """Add a fault after which nothing else can be checked, and raise ValueError."""
        self.add(message)
        self.check()
