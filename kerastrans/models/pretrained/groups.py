"""Series with covariates as arrays, in groups whose rows inform each other."""

import dataclasses

import numpy as np

from kerastrans.models.pretrained.arrays import as_tasks, left_padded


@dataclasses.dataclass
class Task:
    """What is forecast together.

    Attributes:
        target: `(variates, time)`.
        past: `(columns, time)`, covariates of which the past alone is known.
        future: pair of the past `(columns, time)` and the future `(columns, prediction_length)` of
            the other covariates.
    """

    target: np.ndarray
    past: np.ndarray
    future: tuple[np.ndarray, np.ndarray]

    @property
    def sizes(self):
        """Numbers of variates, of past and of future covariates."""
        return len(self.target), len(self.past), len(self.future[0])


def read_tasks(series, prediction_length, past_covariates=None, future_covariates=None):
    """The series with their covariates, a `Task` each.

    Raises:
        ValueError: A series that is not as it should be, as `base.as_tasks` says.
        ValueError: Covariates of another number of series, of another length, infinite, or with a
            future and no past.
    """
    targets = as_tasks(series)
    pasts = _listed("past_covariates", past_covariates, len(targets))
    futures = _listed("future_covariates", future_covariates, len(targets))
    tasks = []
    for number, (target, past, future) in enumerate(zip(targets, pasts, futures, strict=True)):
        lacking = sorted(set(future) - set(past))
        if lacking:
            raise ValueError(f"series {number}: past_covariates lack the past of {lacking[0]!r}.")
        before = {name: past[name] for name in future}
        only = {name: past[name] for name in past if name not in future}
        steps = target.shape[-1]
        tasks.append(
            Task(
                target,
                _columns(number, only, steps, target.dtype),
                (
                    _columns(number, before, steps, target.dtype),
                    _columns(number, future, prediction_length, target.dtype),
                ),
            )
        )
    return tasks


def joined(tasks, most):
    """Tasks made one, as many in a row as have about `most` rows together."""
    groups, rows = [[]], 0
    for task in tasks:
        if rows >= most:
            groups, rows = [*groups, []], 0
        groups[-1].append(task)
        rows += sum(task.sizes)
    return [_join(group) for group in groups]


def alike(tasks, lengths, most):
    """What tasks have in common, and their numbers, at most about `most` rows at a time.

    Args:
        tasks: list of `Task`.
        lengths: list of int, to which their histories are padded.
        most: int.

    Yields:
        `(length, variates, past, future)`, and a list of numbers of tasks.
    """
    numbers = {}
    for number, (task, length) in enumerate(zip(tasks, lengths, strict=True)):
        numbers.setdefault((length, *task.sizes), []).append(number)
    for common, members in numbers.items():
        step = max(1, most // sum(common[1:]))
        for first in range(0, len(members), step):
            yield common, members[first : first + step]


def stacked(tasks, length, max_context):
    """The inputs by name of a model that was built for tasks of these sizes."""

    def stack(rows):
        return np.swapaxes(np.stack(list(rows)), 1, 2)

    def padded(values):
        return left_padded(values[:, -max_context:], length)

    futures = (np.concatenate([padded(x.future[0]), x.future[1]], axis=-1) for x in tasks)
    return {
        "history": stack(padded(task.target) for task in tasks),
        "past_covariates": stack(padded(task.past) for task in tasks),
        "future_covariates": stack(futures),
    }


def _join(tasks):
    """One task of the rows of all, which end at the same step."""
    steps = max(task.target.shape[-1] for task in tasks)

    def rows(part):
        return np.concatenate([left_padded(part(task), steps) for task in tasks])

    future = np.concatenate([task.future[1] for task in tasks])
    return Task(
        rows(lambda task: task.target),
        rows(lambda task: task.past),
        (rows(lambda task: task.future[0]), future),
    )


def _listed(name, covariates, count):
    """A dict a series, empty where there are no covariates."""
    if covariates is None:
        return [{}] * count
    covariates = list(covariates)
    if len(covariates) != count or not all(isinstance(columns, dict) for columns in covariates):
        raise ValueError(f"{name} must be a list of {count} dicts, one for each series.")
    return covariates


def _columns(number, columns, steps, dtype):
    """Covariates by name as `(columns, steps)`."""
    rows = []
    for name, values in columns.items():
        try:
            row = np.asarray(values, dtype)
        except (TypeError, ValueError):
            raise ValueError(f"series {number}: the covariate {name!r} must be numbers.") from None
        if row.shape != (steps,):
            raise ValueError(
                f"series {number}: the covariate {name!r} must have the shape ({steps},), got "
                f"{row.shape}."
            )
        if np.isinf(row).any():
            raise ValueError(f"series {number}: the covariate {name!r} has an infinite value.")
        rows.append(row)
    return np.stack(rows) if rows else np.empty((0, steps), dtype)
