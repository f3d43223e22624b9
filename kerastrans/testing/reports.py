"""What a battery of checks found, as a plain report."""

from dataclasses import dataclass

PASSED, FAILED, NOT_APPLICABLE = "passed", "failed", "not applicable"


class NotApplicable(Exception):  # noqa: N818  not an error: there is nothing to check
    """Raised by a check that has nothing to look at; its message says why."""


@dataclass(frozen=True)
class CheckResult:
    """Result of one check.

    Attributes:
        name: str, what was checked.
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
        subject: str, name of what was checked.
        results: tuple of `CheckResult`, in the order in which the checks ran.

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
        """Do nothing if no check failed.

        Raises:
            AssertionError: a check failed; the message names each one with its reason.
        """
        if self.failures:
            lines = [f"{result.name}: {result.reason}" for result in self.failures]
            raise AssertionError("\n".join([f"{self.subject} fails {len(lines)} checks:", *lines]))

    def __getitem__(self, name):
        """The result of the check of this name."""
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


def run_checks(subject, checks, case, skip=()):
    """Run every check on `case`, whatever the others find.

    Where the first check fails there is nothing for the others to look at.

    Args:
        subject: str, for the title of the report.
        checks: dict of name -> function of `case`, which returns nothing, or raises
            `NotApplicable`, or any other exception where the check fails.
        case: what the checks share.
        skip: names of checks to leave out.

    Returns:
        A `CheckReport`.

    Raises:
        ValueError: a name in `skip` that is no check.
    """
    unknown = sorted(set(skip) - set(checks))
    if unknown:
        raise ValueError(f"skip must name checks of {sorted(checks)}, got {unknown}.")
    results = []
    for name, check in checks.items():
        if name in skip:
            results.append(CheckResult(name, NOT_APPLICABLE, "skipped"))
        elif results and results[0].status == FAILED:
            results.append(CheckResult(name, NOT_APPLICABLE, f"{results[0].name} failed"))
        else:
            results.append(_run_check(name, check, case))
    return CheckReport(subject, tuple(results))


def _run_check(name, check, case):
    try:
        check(case)
    except NotApplicable as reason:
        return CheckResult(name, NOT_APPLICABLE, str(reason))
    except AssertionError as error:
        return CheckResult(name, FAILED, _first_line(error))
    except Exception as error:  # whatever a user's code raises is a line of the report
        return CheckResult(name, FAILED, f"{type(error).__name__}: {_first_line(error)}")
    return CheckResult(name, PASSED)


def _first_line(error):
    return next(iter(str(error).strip().splitlines()), type(error).__name__)
