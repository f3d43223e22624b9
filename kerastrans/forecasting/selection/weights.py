"""Which models to average: chosen one after the other, by what each adds on held-out forecasts."""

import numpy as np

ROUNDS = 25


def greedy_weights(forecasts, loss, rounds=ROUNDS):
    """Weights of the models whose mean has the least loss, found greedily.

    One model after the other is added to the mean, with replacement: the one that makes its loss
    least. The first is the best single model, and the best of all rounds is kept, so that the mean
    is never worse than its best member on the forecasts that it was chosen by.

    Args:
        forecasts: list of arrays of one shape.
        loss: function of such an array, a float; NaN for a forecast that is not finite.
        rounds: int, models that are added.

    Returns:
        Array `(len(forecasts),)` of weights, whose sum is 1, and their loss.

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
