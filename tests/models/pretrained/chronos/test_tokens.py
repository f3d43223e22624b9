import numpy as np

from kerastrans.models.pretrained.chronos.tokens import ValueTokens

# Centres -1, 0 and 1 are the tokens 3, 4 and 5.
TOKENS = ValueTokens(-1.0, 1.0, num_tokens=6, num_special=2, padding=0, end=1)


def test_values_become_the_tokens_of_their_bins():
    history = np.array([[2.0, -2.0, 0.2, np.nan, 3.8], [9.0, 9.0, -9.0, np.nan, 9.0]])
    tokens, visible, scale = TOKENS.encode(history)
    np.testing.assert_allclose(scale, [2.0, 9.0])
    np.testing.assert_array_equal(tokens, [[5, 3, 4, 0, 5, 1], [5, 5, 3, 0, 5, 1]])
    np.testing.assert_array_equal(visible, tokens != 0)


def test_an_edge_is_in_the_bin_above_it():
    tokens, _, _ = TOKENS.encode(np.array([[0.5, 1.5, -0.5, -1.5]]))
    np.testing.assert_array_equal(tokens[0, :4], [5, 5, 4, 3])


def test_a_history_without_size_has_scale_one():
    _, _, scale = TOKENS.encode(np.array([[0.0, 0.0], [np.nan, np.nan]]))
    np.testing.assert_array_equal(scale, [1.0, 1.0])


def test_tokens_become_the_centres_of_their_bins():
    values = TOKENS.decode(np.array([[3, 4, 5, 0]]), np.array([10.0]))
    np.testing.assert_array_equal(values, [[-10.0, 0.0, 10.0, -10.0]])


def test_without_an_end():
    tokens, visible, _ = ValueTokens(-1.0, 1.0, 6, 2, 0, None).encode(np.ones((1, 3)))
    assert tokens.shape == visible.shape == (1, 3)
