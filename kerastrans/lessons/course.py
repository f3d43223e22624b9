"""All exercises by their numbers."""

import functools
import importlib
from typing import Any

from kerastrans.lessons.exercise import Verdict

MODULES = {
    "0": "ninety_minutes",
    "1": "positional_encoding",
    "2": "attention",
    "2b": "inside_a_block",
    "3": "masks",
    "4": "copy_task",
    "4b": "what_each_part_is_worth",
    "5": "forecasting",
    "5b": "direct_or_step_by_step",
    "5c": "more_than_one_series",
    "5d": "honest_evaluation",
    "6": "translation",
    "7": "cached_decoding",
    "8": "mixed_precision",
    "9": "production",
}


def check(number: str, answer: Any) -> Verdict:
    """Check an answer to an exercise.

    Args:
        number: str, number of the exercise, such as "2.1".
        answer: Function, layer class or word that the exercise asks for. None or `...` for a word
            that is not chosen yet.

    Returns:
        `Verdict`: whether the answer is correct, and if not, what is wrong with it.

    Raises:
        TypeError: If the answer is not what the exercise asks for, such as a class instead of a
            function.
        ValueError: If there is no such exercise, or a word is not one of the choices.

    Example:
        >>> import numpy as np
        >>> def window_mask(size, width):
        ...     steps = np.arange(size)
        ...     return steps[:, None] - steps < width
        >>> check("3.3", window_mask)
        3.3: not yet. The window lets a step see the steps after it.
    """
    return find_exercise(number).judge(answer)


def hint(number: str, step: int = 1) -> str:
    """Return a hint for an exercise.

    Args:
        number: str, number of the exercise.
        step: int, 1 to 3; hint 3 is nearly the solution.

    Returns:
        str.

    Raises:
        ValueError: If there is no such exercise or step.

    Example:
        >>> hint("2.1")
        'Write the scores first: one number per pair of a query and a key.'
    """
    hints = find_exercise(number).hints
    if step not in range(1, len(hints) + 1):
        raise ValueError(f"step: expected 1 to {len(hints)}, got {step!r}.")
    return hints[step - 1]


def solution(number: str) -> Any:
    """Return the solution of an exercise: a function, a layer class or a word.

    Args:
        number: str, number of the exercise; `inspect.getsource` shows the code of its solution.

    Raises:
        ValueError: If there is no such exercise.

    Example:
        >>> solution("1.1")(length=6, dim=4, base=10000).shape
        (6, 4)
    """
    return find_exercise(number).solution


def numbers(lesson: str | None = None) -> list[str]:
    """Return the numbers of all exercises, or those of one lesson.

    Args:
        lesson: str, number of the lesson.

    Returns:
        list of str, in the order of the course.

    Raises:
        ValueError: If there is no such lesson.

    Example:
        >>> numbers("1")
        ['1.1', '1.2', '1.3']
    """
    if lesson is None:
        return [number for lesson in MODULES for number in _exercises(lesson)]
    if lesson not in MODULES:
        raise ValueError(f"lesson: expected one of {', '.join(MODULES)}, got {lesson!r}.")
    return list(_exercises(lesson))


def find_exercise(number):
    """Return the `Exercise` of a number; raise ValueError if there is none."""
    lesson, separator, _ = str(number).rpartition(".")
    if lesson not in MODULES or not separator:
        raise ValueError(
            f"number: expected a number such as '2.1', of lesson {', '.join(MODULES)}, "
            f"got {number!r}."
        )
    exercises = _exercises(lesson)
    if str(number) not in exercises:
        raise ValueError(f"number: lesson {lesson} has {', '.join(exercises)}, got {number!r}.")
    return exercises[str(number)]


@functools.cache
def _exercises(lesson):
    """Dict of number -> `Exercise` of one lesson."""
    module = importlib.import_module(f"kerastrans.lessons.exercises.{MODULES[lesson]}")
    return {exercise.number: exercise for exercise in module.EXERCISES}
