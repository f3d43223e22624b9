"""Each exercise: the stub fails, known mistakes are named, the solution passes."""

import inspect
import re

import numpy as np
import pytest

from kerastrans import lessons, text
from kerastrans.evaluation.scores import metrics
from kerastrans.lessons import exercise
from kerastrans.lessons.course import find_exercise

NUMBERS = lessons.numbers()


def stub_of(solution):
    if isinstance(solution, str):
        return None
    if inspect.isclass(solution):
        return type("Stub", (solution,), {"call": lambda self, x: None})

    def stub(*arguments):
        pass

    return stub


@pytest.mark.parametrize("number", NUMBERS)
def test_solution_passes_and_stub_and_mistakes_do_not(number):
    exercise = find_exercise(number)
    verdict = lessons.check(number, lessons.solution(number))
    assert verdict, verdict
    assert verdict.message == exercise.why != ""
    stub = lessons.check(number, stub_of(exercise.solution))
    assert not stub
    assert stub.message not in exercise.mistakes
    if not isinstance(exercise.solution, str) and number != "2b.2":
        assert "does not return anything yet" in stub.message
    assert len(exercise.mistakes) >= 2
    for message, mistake in exercise.mistakes.items():
        assert repr(lessons.check(number, mistake)) == f"{number}: not yet. {message}"


@pytest.mark.parametrize("number", NUMBERS)
def test_three_hints_do_not_repeat_each_other(number):
    hints = [lessons.hint(number, step) for step in (1, 2, 3)]
    assert len(set(hints)) == 3
    assert lessons.hint(number) == hints[0]


def test_numbers_are_those_of_their_lessons():
    for lesson in ("2", "2b"):
        count = len(lessons.numbers(lesson))
        assert lessons.numbers(lesson) == [f"{lesson}.{i}" for i in range(1, count + 1)]
    assert len(NUMBERS) == len(set(NUMBERS)) > 30
    assert all(find_exercise(number).task.endswith((".", "?")) for number in NUMBERS)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda q, k, v, mask: (q @ k.T)[:, :2], r"returns shape \(4, 2\), expected \(4, 3\)"),
        (lambda q, k, v, mask: q @ k.T @ v, r"returns -?\d.* at index \(0, 0\), expected"),
        (lambda q, k, v, mask: q @ k, r"raises ValueError: matmul"),
        (lambda q, k: None, r"raises TypeError: .* takes 2 positional arguments but 4"),
        (lambda q, k, v, mask: (q, k), r"returns 2 arrays, expected 1"),
    ],
)
def test_other_mistakes_are_described(answer, message):
    verdict = lessons.check("2.1", answer)
    assert not verdict
    assert re.search(message, verdict.message), verdict.message
    assert verdict.message.endswith(". kerastrans.lessons.hint('2.1') helps.")


def test_errors_of_layers_are_one_line_without_arguments():
    class TableIsTooLong(lessons.solution("2b.1")):
        def call(self, inputs):
            return inputs + self.encoding

    message = lessons.check("2b.1", TableIsTooLong).message
    assert re.search(r"\[?2, ?4, ?6\D.* \D?8, ?6", message)
    assert "\n" not in message
    assert "\x1b" not in message
    assert "Arguments received" not in message


def test_models_of_exercises_are_called_as_keras_models_are():
    def sees_future(model, inputs):
        before = model(inputs, training=False)
        for step in range(1, inputs.shape[1]):
            changed = inputs.copy()
            changed[:, step:] += 1
            after = model.predict(changed, verbose=0)
            if np.abs(after - before)[:, :step].max() > 1e-6:
                return True
        return False

    assert lessons.check("3.4", sees_future)


def test_answers_of_another_kind_are_refused():
    expected = r"Exercise 2.1 expects a function attention\(queries, keys, values, mask\), got "
    with pytest.raises(TypeError, match=expected + "the class int"):
        lessons.check("2.1", int)
    with pytest.raises(TypeError, match=expected + "ndarray"):
        lessons.check("2.1", np.ones(3))
    with pytest.raises(TypeError, match=r"expects a class MultiHeadAttention\(num_heads, key_dim"):
        lessons.check("2b.2", lambda x: x)
    with pytest.raises(ValueError, match="one of 'larger', 'smaller', 'the same', got 'worse'"):
        lessons.check("5.3", "worse")


@pytest.mark.parametrize("number", ["2", "12.1", ".1", None])
def test_unknown_numbers_are_refused(number):
    with pytest.raises(ValueError, match=rf"expected a number such as '2\.1'.*got {number!r}"):
        lessons.hint(number)


def test_unknown_lessons_and_steps_are_refused():
    with pytest.raises(ValueError, match=r"lesson 2 has 2\.1, 2\.2, 2\.3, 2\.4, got '2\.9'"):
        lessons.check("2.9", None)
    with pytest.raises(ValueError, match="step: expected 1 to 3, got 4"):
        lessons.hint("2.1", 4)
    with pytest.raises(ValueError, match=r"lesson: expected one of 0, 1, 2, 2b, .*, got '12'"):
        lessons.numbers("12")


def test_a_check_leaves_its_cases_alone():
    def overwrites(queries, keys, values, mask):
        mask[:] = True
        return lessons.solution("2.1")(queries, keys, values, mask)

    for _ in range(2):
        assert "The mask is ignored" in lessons.check("2.1", overwrites).message
    assert lessons.check("2.1", lessons.solution("2.1"))


def test_solutions_agree_with_the_package():
    rng = np.random.default_rng(1)
    train, targets, forecasts = rng.standard_normal((3, 20))
    expected = metrics.mase(targets[:, None], forecasts[:, None], train[:, None], 7)
    assert lessons.solution("5.2")(targets, forecasts, train, 7) == pytest.approx(expected)
    words = ["he", "ran", "to", "the", "house"], ["he", "ran", "home", "to", "his", "house"]
    expected = text.bleu(*map(" ".join, words), 2)
    assert lessons.solution("6.3")(*words, 2) == pytest.approx(expected)
    assert lessons.solution("2.4")(24, 8, 3, 3, 24) == 2400
    assert lessons.solution("2.4")(24, 8, 3, 4, 32) == 3056


def test_hidden_scores_of_any_size_do_not_reach_the_softmax():
    mask = np.array([[True, True, False], [False, False, False]])
    found = lessons.solution("2.2")(np.array([[0.0, 1.0, 800.0], [1.0, 2.0, 3.0]]), mask)
    np.testing.assert_allclose(found, [[0.26894, 0.73106, 0.0], [0.0, 0.0, 0.0]], atol=1e-5)


def test_angles_in_float32_are_right():
    def by_division(positions, dim):
        rates = np.float32(10000) ** (np.arange(0, dim, 2, "float32") / np.float32(dim))
        angles = positions[:, None].astype("float32") / rates
        return as_pairs(angles, dim)

    def by_product(positions, dim):
        rates = (10000 ** -(np.arange(0, dim, 2) / dim)).astype("float32")
        return as_pairs(positions[:, None].astype("float32") * rates, dim)

    def as_pairs(angles, dim):
        return np.stack([np.sin(angles), np.cos(angles)], -1).reshape(-1, dim).astype("float16")

    for answer in (by_division, by_product):
        verdict = lessons.check("8.1", answer)
        assert verdict, verdict


def test_answers_that_are_wrong_at_one_place_are_not_right():
    def refuses_an_exact_fit(words, vocabulary, num_steps):
        if len(words) + 1 >= num_steps:
            raise ValueError("too long")
        return lessons.solution("6.2")(words, vocabulary, num_steps)

    def looks_at_both_ends(model, inputs):
        before = model(inputs)
        for step in (1, inputs.shape[1] - 1):
            changed = inputs.copy()
            changed[:, step:] += 1
            if np.abs(model(changed) - before)[:, :step].max() > 1e-6:
                return True
        return False

    assert not lessons.check("6.2", refuses_an_exact_fit)
    assert not lessons.check("5b.3", lambda low, high, x: ((low < x) & (x <= high)).mean())
    assert not lessons.check("3.4", looks_at_both_ends)


def test_arrays_in_a_list_words_in_a_list_numbers_and_objects_are_answers():
    for number in ("5.1", "7.2"):
        right = lessons.solution(number)
        assert lessons.check(number, lambda *x, right=right: list(right(*x)))
    assert lessons.check(2.1, lessons.solution("2.1"))
    with pytest.raises(ValueError, match="expects one of 'larger'"):
        lessons.check("5.3", ["worse"])

    class Answer:
        def __call__(self, *arguments):
            raise TypeError("not this")

    assert "Answer raises TypeError: not this" in lessons.check("2.1", Answer()).message


def test_best_errors_of_a_set_are_those_of_teacher_forcing():
    values = np.random.default_rng(0).standard_normal((40_000, 6))
    left = np.stack([values[:, step:].mean(axis=1) for step in range(6)], axis=1)
    forced = np.square(values - left).mean(axis=0)  # the true earlier steps are left out
    np.testing.assert_allclose(forced, lessons.solution("4.3")(6), atol=0.02)
    generated = np.square(values - values.mean(axis=1, keepdims=True)).mean(axis=0)
    np.testing.assert_allclose(generated, 1 - 1 / 6, atol=0.02)
    verdict = lessons.check("4.3", lambda n: np.full(n, 1 - 1 / n))
    assert "This is the best error when it generates" in verdict.message


def test_other_errors_refuse_too_and_are_shown_where_nothing_is_to_be_refused():
    def lookup(table, length):
        if length >= len(table):
            raise AssertionError
        return table[:length]

    assert lessons.check("1.2", lookup).message.startswith(
        "For arguments (shape (6, 2), 6), lookup raises AssertionError. kera"
    )


def test_a_mistake_changes_code_that_its_solution_has():
    mistakes = exercise.changes("It is one too high.\n    size => size + 1\n    1) => 2)")
    assert mistakes == {"It is one too high.": [("size", "size + 1"), ("1)", "2)")]}
    solution = lessons.solution("3.3")
    with pytest.raises(ValueError, match=r"window_mask does not have 'sizes'"):
        exercise.Exercise("0.0", solution, exercise.changes("Wrong.\n    sizes => 1"), ("", "", ""))
