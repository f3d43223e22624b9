"""Exercises of lesson 4."""

import numpy as np

from kerastrans.lessons.exercise import Exercise, known_mistakes


def decoder_inputs(sequences):
    """Return the decoder's inputs under teacher forcing: zeros, then all steps but the last."""
    start = np.zeros_like(sequences[:, :1])
    return np.concatenate([start, sequences[:, :-1]], axis=1)


def generate(model, history, num_steps):
    """Generate steps with model.predict, each from a start of zeros and the outputs before it."""
    generated = np.zeros((len(history), 1, history.shape[2]))  # the start token
    for _ in range(num_steps):
        outputs = model.predict([history, generated], verbose=0)
        generated = np.concatenate([generated, outputs[:, -1:]], axis=1)
    return generated[:, 1:]


def best_errors(num_steps):
    """Under teacher forcing, return the smallest possible error of each step.

    The encoder has no positions; the values are independent and have a variance of 1.
    """
    left = num_steps - np.arange(num_steps)
    return 1 - 1 / left


def ideal_weights(num_steps, backwards):
    """Return the cross-attention (output step, input step) of a perfect copy, or a backward one."""
    weights = np.eye(num_steps)
    return weights[::-1] if backwards else weights


class _Model:
    """A replacement for a trained decoder: its output is the mean of all inputs, plus a step."""

    def predict(self, inputs, **options):
        history, steps = map(np.asarray, inputs)
        if len(steps) != len(history):
            raise ValueError(f"each of the {len(history)} histories needs its own start token")
        counts = np.arange(1, steps.shape[1] + 1)[:, None]
        return steps.cumsum(axis=1) / counts + history[:, : steps.shape[1]]

    __call__ = predict


SEQUENCES = np.random.default_rng(0).standard_normal((2, 6, 3))

EXERCISES = (
    Exercise(
        "4.1",
        decoder_inputs,
        known_mistakes("4.1"),
        (
            "The first input is the start token, a step of zeros.",
            "np.zeros_like(sequences[:, :1]) has the shape of one step.",
            "np.concatenate([start, sequences[:, :-1]], axis=1)",
        ),
        cases=((SEQUENCES,),),
        why="teacher_forcing_pairs returns these inputs, and their targets.",
    ),
    Exercise(
        "4.2",
        generate,
        known_mistakes("4.2"),
        (
            "Begin with one step of zeros, and call model.predict([history, steps]) in a loop.",
            "Append only the last step of the outputs to `steps`.",
            "steps = np.concatenate([steps, outputs[:, -1:]], axis=1), then return steps[:, 1:].",
        ),
        cases=((_Model(), SEQUENCES, 6), (_Model(), SEQUENCES, 3)),
        why="model.generate compiles this loop, with a cache.",
    ),
    Exercise(
        "4.3",
        best_errors,
        {
            "This is the best error when it generates; under teacher forcing it sees the true "
            "earlier steps and can leave them out.": lambda n: np.full(n, 1 - 1 / n),
            "This is the error of the answer 0; the mean of what is left is better.": np.ones,
            "It gets easier, not harder: fewer steps are left to choose from.": (
                lambda n: best_errors(n)[::-1]
            ),
            "1 / n is the variance of the mean; the error of one value from it is 1 - 1 / n.": (
                lambda num_steps: 1 / (num_steps - np.arange(num_steps))
            ),
        },
        (
            "The encoder's output is then a set, and the decoder sees the true earlier steps.",
            "It leaves them out: the best forecast is the mean of the n steps that are left.",
            "One of n values differs from their mean by 1 - 1 / n in mean square.",
        ),
        cases=((6,), (3,)),
        why="The last step is known exactly, as the only one that is left.",
    ),
    Exercise(
        "4.4",
        ideal_weights,
        {
            "Backwards, the first output is the last input.": lambda n, _: np.eye(n),
            "Forwards and backwards are exchanged.": lambda n, back: ideal_weights(n, not back),
            "This is a mask: the weights of a step sum to 1, and only one input is needed.": (
                lambda n, _: np.tril(np.ones((n, n)))
            ),
            "All inputs are weighted alike: a mean is not a copy.": (
                lambda n, _: np.full((n, n), 1 / n)
            ),
        },
        (
            "Each row has a single 1: at the input step that the output step repeats.",
            "Forwards it is the identity.",
            "np.eye(num_steps), or np.eye(num_steps)[::-1] backwards.",
        ),
        cases=((6, False), (6, True)),
        why="The picture of this lesson is a soft version of it.",
    ),
    Exercise(
        "4.5",
        "projection",
        {
            "The width is the same 12 with d_model=12, and the error falls below 0.3 with the "
            "projection.": "width",
            "20 epochs leave it at 0.9: more training does not help.": "epochs",
        },
        (
            "Change one thing at a time: what else differs between d_model=None and d_model=64?",
            "d_model=12 has the same width of 12, with the projection.",
            "Compare d_model=None with d_model=12, both for 20 epochs.",
        ),
        why="Without it, the values drown the positions: no query can find its step.",
        question=(
            "d_model=None leaves the input projection out and generates an error of 0.9. "
            "What does it lack: 'projection', 'width' or 'epochs'?"
        ),
    ),
)
