"""One exercise: its solution, the mistakes it recognises, and its hints."""

import functools
import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import numpy as np

# An answer refuses its arguments by any of them.
REFUSALS = (ValueError, IndexError, AssertionError)


class _EmptyAnswerError(Exception):
    """The function of a student does not return anything yet."""


@dataclass(frozen=True)
class Verdict:
    """Result of a check; true if the answer is correct. Notebooks show it as one line.

    Attributes:
        number: str, number of the exercise.
        passed: bool, whether the answer is correct.
        message: str, what is wrong with the answer, or why it is correct.

    Example:
        >>> Verdict("2.1", False, "You divided by d, not by its root.")
        2.1: not yet. You divided by d, not by its root.
        >>> bool(Verdict("2.1", True, ""))
        True
    """

    number: str
    passed: bool
    message: str

    def __bool__(self):
        return self.passed

    def __repr__(self):
        return f"{self.number}: {'correct' if self.passed else 'not yet'}. {self.message}".rstrip()


@dataclass(frozen=True)
class Exercise:
    """One exercise of a lesson.

    The answer is run on the cases and compared with the solution. If it differs, it is compared
    with the mistakes, so that a known mistake is called by its name.

    Attributes:
        number: str, number of the lesson and of the exercise, such as "2.1".
        solution: The correct function, layer class or word.
        mistakes: dict of message -> wrong answer of the same kind as the solution, or `changes` of
            the solution's code.
        hints: tuple of three str, from a nudge to nearly the solution.
        cases: tuple of tuples, arguments of the answer.
        why: str, what a correct answer shows.
        question: str, what a word answers; the docstring of a function or class is its task.
        run: function of an answer and the arguments of a case, which returns the outcome.

    Example:
        >>> double = Exercise(
        ...     "0.1", lambda x: 2 * x, {"This is x squared.": lambda x: x * x},
        ...     ("Add.", "Add x.", "Return x + x."), cases=((3.0,),),
        ... )
        >>> double.judge(lambda x: x**2)
        0.1: not yet. This is x squared.
    """

    number: str
    solution: Any
    mistakes: dict[str, Any]
    hints: tuple[str, str, str]
    cases: tuple = ()
    why: str = ""
    question: str = ""
    run: Callable = lambda answer, *case: answer(*case)

    def __post_init__(self):
        for message, mistake in self.mistakes.items():
            if isinstance(mistake, list):
                self.mistakes[message] = _changed(self.solution, mistake)

    def judge(self, answer: Any) -> Verdict:
        """Compare an answer with the solution, then with the known mistakes.

        Args:
            answer: Function, layer class or word, as the solution is.

        Returns:
            `Verdict`.

        Raises:
            TypeError: If the answer is not of the solution's kind.
            ValueError: If a word is not one of the choices.
        """
        self._check_kind(answer)
        if isinstance(self.solution, str):
            return self._judge_word(answer)
        try:
            found = self._outcomes(answer)
        except Exception as error:
            return self._failed(self._with_hint(f"{_name_of(answer)} {_raised(error)}"))
        if all(map(_same, found, self._expected)):
            return Verdict(self.number, True, self.why)
        for message, outcomes in self._mistaken.items():
            if all(map(_same, found, outcomes)):
                return self._failed(message)
        message = self._first_difference(_name_of(answer), found, self._expected)
        return self._failed(message if None in found else self._with_hint(message))

    @property
    def task(self):
        """Task of the student, or the question that a word answers."""
        return self.question or inspect.getdoc(self.solution)

    @property
    def expected(self):
        """Description of a valid answer."""
        if isinstance(self.solution, str):
            choices = sorted({self.solution, *self.mistakes.values()})
            return f"one of {', '.join(map(repr, choices))}"
        kind = "a class" if inspect.isclass(self.solution) else "a function"
        return f"{kind} {self.solution.__name__}{inspect.signature(self.solution)}"

    def _check_kind(self, answer):
        if isinstance(self.solution, str):
            if answer not in [None, ..., self.solution, *self.mistakes.values()]:
                raise ValueError(f"Exercise {self.number} expects {self.expected}, got {answer!r}.")
            return
        kinds = inspect.isclass(answer), inspect.isclass(self.solution)
        if not callable(answer) or kinds[0] != kinds[1]:
            given = f"the class {answer.__name__}" if kinds[0] else f"{type(answer).__name__}"
            raise TypeError(f"Exercise {self.number} expects {self.expected}, got {given}.")

    def _judge_word(self, answer):
        if answer in (None, ...):
            return self._failed(f"The answer is missing; it is {self.expected}.")
        messages = {word: message for message, word in self.mistakes.items()}
        return Verdict(self.number, answer == self.solution, messages.get(answer, self.why))

    @functools.cached_property
    def _expected(self):
        """Outcomes of the solution."""
        return self._outcomes(self.solution)

    @functools.cached_property
    def _mistaken(self):
        """Dict of message -> outcomes of the mistake."""
        return {message: self._outcomes(x) for message, x in self.mistakes.items()}

    def _outcomes(self, answer):
        """Outcome of each case: a tuple of arrays, or the error if it is refused."""
        return [_outcome(self.run, answer, case) for case in self.cases]

    def _first_difference(self, name, found, expected):
        for case, got, right in zip(self.cases, found, expected, strict=True):
            if not _same(got, right):
                return f"For {_described(case)}, {name} {_difference(got, right)}"
        raise AssertionError("the outcomes are equal")

    def _with_hint(self, message):
        """The message about a mistake that is not a known one, with a way on."""
        end = "" if message.endswith(".") else "."
        return f"{message}{end} kerastrans.lessons.hint({self.number!r}) helps."

    def _failed(self, message):
        return Verdict(self.number, False, message)


def _outcome(run, answer, case):
    copies = [x.copy() if isinstance(x, np.ndarray) else x for x in case]
    try:
        result = run(answer if inspect.isclass(answer) else _not_empty(answer), *copies)
    except _EmptyAnswerError:
        return None
    except REFUSALS as error:
        return error
    if result is None or result is ...:
        return None
    # Several arrays may be in a list, too.
    is_list = isinstance(result, list) and any(isinstance(x, np.ndarray) for x in result)
    parts = tuple(result) if is_list or isinstance(result, tuple) else (result,)
    return tuple(np.asarray(part) for part in parts)


def _name_of(answer):
    return getattr(answer, "__name__", type(answer).__name__)


def _not_empty(answer):
    """The function, which raises an error if it returns nothing yet."""

    def call(*arguments):
        result = answer(*arguments)
        if result is None or result is ...:
            raise _EmptyAnswerError
        return result

    return call


def _same(found, expected):
    if not isinstance(found, tuple) or not isinstance(expected, tuple):
        return isinstance(found, REFUSALS) and isinstance(expected, REFUSALS)
    return len(found) == len(expected) and all(map(_same_array, found, expected))


def _same_array(found, expected):
    if found.shape != expected.shape or (found.dtype.kind in "OU") != (expected.dtype.kind in "OU"):
        return False
    if expected.dtype.kind in "OU":
        return bool((found == expected).all())
    return bool(_close(found, expected).all())


def _described(case):
    return f"arguments ({', '.join(map(_short, case))})"


def _short(value):
    if isinstance(value, np.ndarray):
        return f"shape {value.shape}"
    if isinstance(value, tuple):
        return f"({', '.join(map(_short, value))})"
    return _name_of(value) if callable(value) else f"{value!r:.40}"


def _raised(error):
    """What an error says: without colours, and without the list of arguments that Keras adds."""
    text = re.sub(r"\x1b\[[0-9;]*m", "", str(error)).partition("Arguments received by")[0]
    return f"raises {type(error).__name__}: {' '.join(text.split())}".rstrip(": ")


def _difference(found, expected):
    """Say in words how an outcome differs from the expected one."""
    if found is None:
        return "does not return anything yet."
    if isinstance(found, REFUSALS):
        return _raised(found)
    if isinstance(expected, REFUSALS):
        return f"is expected to raise a ValueError, such as: {expected}"
    if len(found) != len(expected):
        return f"returns {len(found)} arrays, expected {len(expected)}."
    for got, right in zip(found, expected, strict=True):
        if got.shape != right.shape:
            return f"returns shape {got.shape}, expected {right.shape}."
        if not _same_array(got, right):
            index = tuple(np.argwhere(np.atleast_1d(_unequal(got, right)))[0])
            values = (np.atleast_1d(x)[index] for x in (got, right))
            got, right = (f"{x:.4g}" if x.dtype.kind == "f" else str(x) for x in values)
            return f"returns {got} at index {tuple(map(int, index))}, expected {right}."
    raise AssertionError("the outcomes are equal")


def _unequal(found, expected):
    if {found.dtype.kind, expected.dtype.kind} & set("OU"):
        return found != expected
    return ~_close(found, expected)


def _close(found, expected):
    """Return which numbers are equal up to their rounding: by one step of float16."""
    rtol, atol = (2e-3, 1e-4) if expected.dtype == np.float16 else (1e-4, 1e-6)
    return np.isclose(found, expected, rtol=rtol, atol=atol, equal_nan=True)


def changes(text):
    """Dict of message -> changes of the solution, of a text that has a line for each message.

    Indented lines below it, `old => new`, say which code of the solution the mistake replaces.
    """
    found, message = {}, ""
    for line in text.strip().splitlines():
        if line.startswith("    "):
            old, _, new = line[4:].replace("\\n", "\n").partition(" =>")
            found[message].append((old, new.removeprefix(" ")))
        else:
            message, found[line] = line, []
    return found


def known_mistakes(*numbers):
    """The `changes` that mistakes.txt lists under the numbers of exercises."""
    text = (files(__package__) / "mistakes.txt").read_text("utf-8")
    sections = dict(
        re.findall(r"^\[([^\]]+)\]\n(.+?)\n*(?=^\[|\Z)", text, re.MULTILINE | re.DOTALL)
    )
    return changes("\n".join(sections[number] for number in numbers))


def _changed(solution, replacements):
    """The solution with parts of its code replaced."""
    source = inspect.getsource(solution)
    for old, new in replacements:
        if old not in source:
            raise ValueError(f"{solution.__name__} does not have {old!r}.")
        source = source.replace(old, new)
    names = dict(vars(inspect.getmodule(solution)))
    exec(source, names)
    return names[solution.__name__]
