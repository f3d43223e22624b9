"""Series with covariates as arrays, grouped into tasks whose rows inform each other."""

import dataclasses

import numpy as np

from kerastrans.models.pretrained.arrays import as_tasks, left_padded


@dataclasses.dataclass
class Task:
    """Variates and covariates that are forecast together.

    Attributes:
        target: `(variates, time)`, the variates to forecast.
        past: `(columns, time)`, covariates with a known past only.
        future: Pair of the past `(columns, time)` and the future `(columns, prediction_length)` of
            covariates with a known future.
    """

    target: np.ndarray
    past: np.ndarray
    future: tuple[np.ndarray, np.ndarray]

    @property
    def sizes(self):
        """Numbers of variates, past covariates and future covariates."""
        return len(self.target), len(self.past), len(self.future[0])


def read_tasks(series, prediction_length, past_covariates=None, future_covariates=None):
    """Check series and covariates, and return them as one `Task` per series.

    Raises:
        ValueError: If a series is invalid, see `arrays.as_tasks`.
        ValueError: If covariates have a wrong number of series, a wrong length, an infinite value,
            or a future without a past.
    """
    targets = as_tasks(series)
    pasts = _list_covariates("past_covariates", past_covariates, len(targets))
    futures = _list_covariates("future_covariates", future_covariates, len(targets))
    tasks = []
    for number, (target, past, future) in enumerate(zip(targets, pasts, futures, strict=True)):
        missing = sorted(set(future) - set(past))
        if missing:
            raise ValueError(f"series {number}: past_covariates lack the past of {missing[0]!r}.")
        past_of_future = {name: past[name] for name in future}
        past_only = {name: past[name] for name in past if name not in future}
        steps = target.shape[-1]
        tasks.append(
            Task(
                target,
                _stack_columns(number, past_only, steps, target.dtype),
                (
                    _stack_columns(number, past_of_future, steps, target.dtype),
                    _stack_columns(number, future, prediction_length, target.dtype),
                ),
            )
        )
    return tasks


def joined(tasks, most):
    """Join consecutive tasks into larger ones of about `most` rows each."""
    groups, rows = [[]], 0
    for task in tasks:
        if rows >= most:
            groups, rows = [*groups, []], 0
        groups[-1].append(task)
        rows += sum(task.sizes)
    return [_join(group) for group in groups]


def alike(tasks, lengths, most):
    """Group the tasks of equal sizes into batches of at most about `most` rows.

    Args:
        tasks: List of `Task`.
        lengths: List of int, the lengths that their histories are padded to.
        most: int, maximum number of rows per batch.

    Yields:
        The common sizes `(length, variates, past, future)`, and a list of numbers of tasks.
    """
    numbers = {}
    for number, (task, length) in enumerate(zip(tasks, lengths, strict=True)):
        numbers.setdefault((length, *task.sizes), []).append(number)
    for common, members in numbers.items():
        step = max(1, most // sum(common[1:]))
        for first in range(0, len(members), step):
            yield common, members[first : first + step]


def stacked(tasks, length, max_context):
    """Stack tasks of equal sizes into the inputs of a model, a dict by name."""

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
    """Join tasks into one with the rows of all, aligned at their last step."""
    steps = max(task.target.shape[-1] for task in tasks)

    def rows(part):
        return np.concatenate([left_padded(part(task), steps) for task in tasks])

    future = np.concatenate([task.future[1] for task in tasks])
    return Task(
        rows(lambda task: task.target),
        rows(lambda task: task.past),
        (rows(lambda task: task.future[0]), future),
    )


def _list_covariates(name, covariates, count):
    """Return one dict of covariates per series, empty if there are none."""
    if covariates is None:
        return [{}] * count
    covariates = list(covariates)
    if len(covariates) != count or not all(isinstance(columns, dict) for columns in covariates):
        raise ValueError(f"{name} must be a list of {count} dicts, one for each series.")
    return covariates


def _stack_columns(number, columns, steps, dtype):
    """Check a dict of covariates and return it as an array `(columns, steps)`."""
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
