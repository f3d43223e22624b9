"""Written by tools/checks/stubs.py from kerastrans/lessons/__init__.py."""

from kerastrans.lessons.capstone import sales as sales
from kerastrans.lessons.capstone.sales import load_capstone as load_capstone
from kerastrans.lessons.capstone import rubric as rubric
from kerastrans.lessons.capstone.rubric import Criterion as Criterion, Scorecard as Scorecard
from kerastrans.lessons.capstone import score as score
from kerastrans.lessons.capstone.score import score_capstone as score_capstone
from kerastrans.lessons import course as course
from kerastrans.lessons.course import check as check, hint as hint, numbers as numbers, solution as solution
from kerastrans.lessons import exercise as exercise
from kerastrans.lessons.exercise import Exercise as Exercise, Verdict as Verdict
