"""Results of contract checks, as a plain report."""

from dataclasses import dataclass

PASSED, FAILED, NOT_APPLICABLE = "passed", "failed", "not applicable"


class NotApplicable(Exception):  # noqa: N818  not an error
    """Raised by a check that does not apply; its message is the reason."""


@dataclass(frozen=True)
class CheckResult:
    """Result of one check.

    Attributes:
        name: str, name of the check.
        status: "passed", "failed" or "not applicable".
        reason: str, one line; empty for a check that passed.

    Example:
        >>> CheckResult("shapes", "failed", "the output is (4, 6), expected (4, 6, 2)").status
        'failed'
    """

    name: str
    status: str
    reason: str = ""


@dataclass(frozen=True)
class CheckReport:
    """Results of all checks of one subject; `print` shows them as a table.

    Attributes:
        subject: str, name of the model or forecaster under test.
        results: tuple of `CheckResult`, in the order of the checks.

    Example:
        >>> report = CheckReport("mine", (CheckResult("shapes", "passed"),))
        >>> print(report)
        mine: 1 passed, 0 failed, 0 not applicable
        shapes  passed
        >>> report.raise_for_failures()
    """

    subject: str
    results: tuple

    @property
    def failures(self):
        """Tuple of the results that failed."""
        return tuple(result for result in self.results if result.status == FAILED)

    def raise_for_failures(self):
        """Raise AssertionError if a check failed.

        Raises:
            AssertionError: If a check failed; the message lists all failures with their reasons.
        """
        if self.failures:
            lines = [f"{result.name}: {result.reason}" for result in self.failures]
            raise AssertionError("\n".join([f"{self.subject} fails {len(lines)} checks:", *lines]))

    def __getitem__(self, name):
        """Return the result of the check with this name."""
        return {result.name: result for result in self.results}[name]

    def __str__(self):
        statuses = [result.status for result in self.results]
        counts = [f"{statuses.count(x)} {x}" for x in (PASSED, FAILED, NOT_APPLICABLE)]
        name_width = max(len(result.name) for result in self.results)
        status_width = max(map(len, statuses))
        rows = [
            f"{x.name:<{name_width}}  {x.status:<{status_width}}  {x.reason}".rstrip()
            for x in self.results
        ]
        return "\n".join([f"{self.subject}: {', '.join(counts)}", *rows])


def checks_of(*modules):
    """Return the checks that modules define, a dict of name -> function, in their order.

    A check is a function that begins with `check_`; the rest of it, in words, is its name.
    """
    return {
        name.removeprefix("check_").replace("_", " "): function
        for module in modules
        for name, function in vars(module).items()
        if name.startswith("check_") and function.__module__ == module.__name__
    }


def run_checks(subject, checks, case, skip=()):
    """Run every check, even if others fail.

    If the first check fails, the others are reported as not applicable.

    Args:
        subject: str, title of the report.
        checks: Dict of name -> function of `case`. It raises `NotApplicable` if the check does not
            apply, and any other exception if it fails.
        case: Object that the checks share.
        skip: Names of the checks to skip; or dict of such a name -> the reason.

    Returns:
        A `CheckReport`.

    Raises:
        ValueError: If `skip` contains an unknown name.
    """
    unknown = sorted(set(skip) - set(checks))
    if unknown:
        raise ValueError(f"skip must name checks of {sorted(checks)}, got {unknown}.")
    results = []
    for name, check in checks.items():
        if name in skip:
            reason = skip[name] if isinstance(skip, dict) else "skipped"
            results.append(CheckResult(name, NOT_APPLICABLE, reason))
        elif results and results[0].status == FAILED:
            results.append(CheckResult(name, NOT_APPLICABLE, f"{results[0].name} failed"))
        else:
            results.append(_run_check(name, check, case))
    return CheckReport(subject, tuple(results))


def not_exported(skip, export):
    """Return the checks to skip with their reasons; without `export`, that of files is one."""
    reasons = dict.fromkeys(skip, "skipped")
    return reasons if export else {"export": "give export=True", **reasons}


def _run_check(name, check, case):
    """Return the result of one check."""
    try:
        check(case)
    except NotApplicable as reason:
        return CheckResult(name, NOT_APPLICABLE, str(reason))
    except AssertionError as error:
        return CheckResult(name, FAILED, _first_line(error))
    except Exception as error:  # any exception of the user's code is reported
        return CheckResult(name, FAILED, f"{type(error).__name__}: {_first_line(error)}")
    return CheckResult(name, PASSED)


def _first_line(error):
    """Return the first line of an error's message, or the error's type if it is empty."""
    return next(iter(str(error).strip().splitlines()), type(error).__name__)
