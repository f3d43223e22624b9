"""The public names, which are imported on first use."""

from .capstone import sales as sales
from .capstone.sales import load_capstone as load_capstone
from .capstone import rubric as rubric
from .capstone.rubric import Criterion as Criterion, Scorecard as Scorecard
from .capstone import score as score
from .capstone.score import score_capstone as score_capstone
from . import course as course
from .course import check as check, hint as hint, numbers as numbers, solution as solution
from . import exercise as exercise
from .exercise import Exercise as Exercise, Verdict as Verdict
