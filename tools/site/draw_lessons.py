"""Draw the pictures of the lessons as SVG, in the style of the architectures' graphs.

python -m tools.site.draw_lessons  # docs/images/lessons/
"""

from pathlib import Path

import numpy as np

from tools.site.graph_svg import draw, draw_grids

FOLDER = Path(__file__).parents[2] / "docs/images/lessons"

HEAD_NUMBERS = (1, 2, 3, 4)

ARCHITECTURE = (
    [
        ("input", "history", "6 x 12"),
        ("weights", "projection", "6 x 64"),
        ("sum", "add positions", "6 x 64"),
        ("weights", "self-attention, add to input", "encoder block"),
        ("weights", "feed-forward, add to input", "encoder block"),
        ("sum", "memory", "6 x 64"),
        ("input", "steps so far", "time x 12"),
        ("weights", "projection", "time x 64"),
        ("sum", "add positions", "time x 64"),
        ("weights", "causal self-attention, add to input", "decoder block"),
        ("weights", "cross-attention, add to input", "decoder block"),
        ("weights", "feed-forward, add to input", "decoder block"),
        ("weights", "projection", "time x 12"),
        ("output", "next steps", "time x 12"),
    ],
    [(i, i + 1) for i in (0, 1, 2, 3, 4, 6, 7, 8, 9, 10, 11, 12)] + [(5, 10)],
)
HEAD = (
    [
        ("input", "inputs", "time x width"),
        ("weights", "project to queries", "time x key_dim"),
        ("weights", "project to keys", "time x key_dim"),
        ("weights", "project to values", "time x value_dim"),
        ("sum", "products of queries and keys", "time x time"),
        ("sum", "divide by root of key_dim", "time x time"),
        ("input", "mask, True is visible", "time x time"),
        ("sum", "hide where the mask is False", "time x time"),
        ("sum", "softmax over the keys", "time x time, rows sum to 1"),
        ("output", "weighted sum of values", "time x value_dim"),
    ],
    [(0, 1), (0, 2), (0, 3), (1, 4), (2, 4), (4, 5), (5, 7), (6, 7), (7, 8), (8, 9), (3, 9)],
)
HEADS = (
    [
        ("input", "inputs", "time x 32"),
        ("weights", "project to queries, keys and values", "3 x time x 32"),
        *[
            ("sum", f"head {i}: columns {8 * i - 7} to {8 * i}", "attention, time x 8")
            for i in HEAD_NUMBERS
        ],
        ("sum", "join the heads", "time x 32"),
        ("weights", "output projection", "time x 32"),
        ("output", "result", "time x 32"),
    ],
    [
        (0, 1),
        *[(1, 1 + i) for i in HEAD_NUMBERS],
        *[(1 + i, 6) for i in HEAD_NUMBERS],
        (6, 7),
        (7, 8),
    ],
)
DECODING = (
    [
        ("input", "history", "read once"),
        ("weights", "encoder", "run once"),
        ("sum", "keys and values of the history", "once, then kept"),
        ("input", "output of step t - 1", "one step"),
        ("weights", "query, key, value of step t", "one step"),
        ("sum", "cache: keys and values", "steps 1 to t"),
        ("weights", "self-attention", "over 1 to t"),
        ("weights", "cross-attention", "over the history"),
        ("weights", "feed-forward, projection", "one step"),
        ("output", "output of step t", "the next input"),
    ],
    [(0, 1), (1, 2), (3, 4), (4, 5), (4, 6), (5, 6), (6, 7), (2, 7), (7, 8), (8, 9)],
)


def main():
    """Write all pictures."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, content in {
        "architecture": draw(*ARCHITECTURE, "An encoder-decoder Transformer"),
        "head": draw(*HEAD, "One head of attention"),
        "heads": draw(*HEADS, "Four heads of attention"),
        "decoding": draw(*DECODING, "Decoding at step t with a cache"),
        "masks": draw_grids(masks(), "Masks of six steps"),
    }.items():
        (FOLDER / f"{name}.svg").write_text(content)


def masks():
    """Dict of title -> mask `(query, key)`, True for visible."""
    look_ahead = np.tril(np.ones((6, 6), bool))
    padding = np.ones((6, 6), bool) & (np.arange(6) < 4)
    return {
        "look-ahead": look_ahead,
        "padding, 4 of 6 valid": padding,
        "both": look_ahead & padding,
        "inverted by mistake": ~look_ahead,
    }


if __name__ == "__main__":
    main()
