"""Greedy weights of an ensemble, by its loss on held-out forecasts."""

import numpy as np

ROUNDS = 25


def greedy_weights(forecasts, loss, rounds=ROUNDS):
    """Return greedily selected weights that minimise the loss of the weighted mean of forecasts.

    In each round, the forecast that reduces the loss of the mean most is added, with replacement.
    The first one is the best single forecast, and the weights of the best round are returned, so
    that the mean is never worse than its best member on these forecasts.

    Args:
        forecasts: List of arrays of the same shape.
        loss: Function from such an array to a float, NaN if a forecast is not finite.
        rounds: int, number of forecasts to add.

    Returns:
        Array `(len(forecasts),)` of weights that sum to 1, and the loss of the weighted mean.

    Source: Caruana et al. (2004), "Ensemble selection from libraries of models".

    Example:
        >>> weights, loss = greedy_weights([np.ones(3), -np.ones(3)], lambda x: abs(x).mean())
        >>> weights.tolist(), float(loss)
        ([0.5, 0.5], 0.0)
    """
    counts = np.zeros(len(forecasts))
    total, best, best_counts = 0.0, np.inf, None
    for _ in range(rounds):
        losses = [loss((total + x) / (counts.sum() + 1)) for x in forecasts]
        chosen = int(np.nanargmin(losses))
        counts[chosen] += 1
        total = total + forecasts[chosen]
        if losses[chosen] < best:
            best, best_counts = losses[chosen], counts.copy()
    return best_counts / best_counts.sum(), best
