"""Solution of small linear systems by a fixed number of conjugate-gradient steps."""

from keras import ops

_SMALLEST = 1e-20  # divisor if a residual is zero


def solve_by_conjugate_gradients(matrices, targets, steps):
    """Solve `matrices @ x = targets` for symmetric, positive definite matrices.

    The steps are sums and products only: exported formats have no operator that solves a system.
    The more the eigenvalues of a matrix cluster, the fewer steps are needed, at most as many as it
    has rows.

    Args:
        matrices: `(..., size, size)`.
        targets: `(..., size)`.
        steps: int, number of steps.

    Returns:
        Tensor of the shape of the targets.

    Source: Hestenes, Stiefel (1952), "Methods of conjugate gradients for solving linear systems".
    """
    x, residual, direction = ops.zeros_like(targets), targets, targets
    size = ops.sum(ops.square(residual), axis=-1, keepdims=True)
    for _ in range(steps):
        product = ops.matmul(matrices, direction[..., None])[..., 0]
        curvature = ops.sum(direction * product, axis=-1, keepdims=True)
        length = size / ops.maximum(curvature, _SMALLEST)
        x = x + length * direction
        residual = residual - length * product
        next_size = ops.sum(ops.square(residual), axis=-1, keepdims=True)
        direction = residual + next_size / ops.maximum(size, _SMALLEST) * direction
        size = next_size
    return x
