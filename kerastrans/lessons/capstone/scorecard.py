"""Points of a capstone, line by line."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Criterion:
    """One line of the rubric.

    Attributes:
        name: str, what is scored.
        points: int, points of the answer.
        possible: int, most points of this line.
        message: str, what was measured, and what is wrong.

    Example:
        >>> Criterion("export", 0, 4, "The exported model is missing.").possible
        4
    """

    name: str
    points: int
    possible: int
    message: str


@dataclass(frozen=True)
class Scorecard:
    """Points of a capstone. Notebooks show it as one line per criterion.

    Attributes:
        criteria: tuple of `Criterion`.

    Example:
        >>> missing = Criterion("export", 0, 4, "The exported model is missing.")
        >>> card = Scorecard((Criterion("accuracy", 3, 6, "The skill is 10 %."), missing))
        >>> card
        accuracy    3 of 6   The skill is 10 %.
        export      0 of 4   The exported model is missing.
        total       3 of 10
        >>> card.points, card["accuracy"].message
        (3, 'The skill is 10 %.')
    """

    criteria: tuple[Criterion, ...]

    @property
    def points(self) -> int:
        """Sum of the points."""
        return sum(line.points for line in self.criteria)

    @property
    def possible(self) -> int:
        """Sum of the possible points."""
        return sum(line.possible for line in self.criteria)

    def __getitem__(self, name: str) -> Criterion:
        return {line.name: line for line in self.criteria}[name]

    def __repr__(self):
        rows = (*self.criteria, Criterion("total", self.points, self.possible, ""))
        return "\n".join(
            f"{x.name:10} {x.points:>2} of {x.possible:<3} {x.message}".rstrip() for x in rows
        )
