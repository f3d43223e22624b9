import itertools

from tests.helpers.pairwise import pairwise

OPTIONS = {"head": ("point", "normal"), "loss": (None, "mae"), "scaler": (1, 2, 3), "fill": (0, 1)}


def is_allowed(row):
    return not (row["head"] == "normal" and row["loss"] == "mae")


def test_every_allowed_pair_of_values_occurs_in_few_rows():
    rows = pairwise(OPTIONS, is_allowed)
    seen = {pair for row in rows for pair in itertools.combinations(row.items(), 2)}
    every = (dict(zip(OPTIONS, row, strict=True)) for row in itertools.product(*OPTIONS.values()))
    allowed = [row for row in every if is_allowed(row)]
    assert seen == {pair for row in allowed for pair in itertools.combinations(row.items(), 2)}
    assert all(map(is_allowed, rows))
    assert len(rows) <= 9 < len(allowed) == 18
    assert rows == pairwise(OPTIONS, is_allowed)
