"""Capstone of the course: made sales with a held-back end, a rubric and its scorer."""
