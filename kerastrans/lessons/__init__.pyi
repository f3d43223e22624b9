"""Written by tools/checks/stubs.py from kerastrans/lessons/__init__.py."""

from kerastrans.lessons import course as course
from kerastrans.lessons.course import check as check, hint as hint, numbers as numbers, solution as solution
from kerastrans.lessons import exercise as exercise
from kerastrans.lessons.exercise import Exercise as Exercise, Verdict as Verdict
