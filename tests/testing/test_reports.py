import pytest

from kerastrans.testing import CheckReport, CheckResult
from kerastrans.testing.reports import NotApplicable, run_checks


def passes(case):
    pass


def fails(case):
    assert case > 3, f"{case} is at most 3\nand a second line"


def raises(case):
    raise KeyError("width")


def does_not_apply(case):
    raise NotApplicable("no decoder")


CHECKS = {"first": passes, "too small": fails, "broken": raises, "decoding": does_not_apply}


def test_every_check_runs_and_the_report_is_a_table():
    report = run_checks("mine", {**CHECKS, "last": passes}, 2)
    assert str(report) == (
        "mine: 2 passed, 2 failed, 1 not applicable\n"
        "first      passed\n"
        "too small  failed          2 is at most 3\n"
        "broken     failed          KeyError: 'width'\n"
        "decoding   not applicable  no decoder\n"
        "last       passed"
    )
    assert report["broken"] == CheckResult("broken", "failed", "KeyError: 'width'")


def test_failures_are_raised_together():
    report = run_checks("mine", CHECKS, 2)
    message = "mine fails 2 checks:\ntoo small: 2 is at most 3\nbroken: KeyError: 'width'"
    with pytest.raises(AssertionError) as error:
        report.raise_for_failures()
    assert str(error.value) == message
    CheckReport("mine", (CheckResult("first", "passed"),)).raise_for_failures()


def test_after_the_first_check_has_failed_no_other_applies():
    report = run_checks("mine", {"contract": fails, "seed": passes}, 1)
    assert report["seed"] == CheckResult("seed", "not applicable", "contract failed")


def test_checks_are_skipped_by_name():
    report = run_checks("mine", CHECKS, 2, skip=["broken"])
    assert report["broken"] == CheckResult("broken", "not applicable", "skipped")
    with pytest.raises(ValueError, match=r"skip must name checks of .*, got \['brocken'\]"):
        run_checks("mine", CHECKS, 2, skip=["brocken"])
