"""A forecast is the same by every door, or is refused by name; see tools/checks/lattice.py."""

import functools

import pytest

from tools.checks import lattice

make = functools.cache(lambda kind: lattice.KINDS[kind]())


def check(kind, door, folder):
    cells = lattice.measure(make(kind), door, folder)
    if isinstance(cells, str):
        assert (kind, door) in REFUSED, cells
        assert REFUSED[kind, door] in cells
        return
    assert (kind, door) not in REFUSED
    assert set(cells) == set(lattice.WIDE)
    beyond = {name: difference for name, (difference, limit) in cells.items() if difference > limit}
    assert not beyond


REFUSED = {
    ("combined", "cloned and refitted"): "was made by kerastrans.combine",
    ("selected", "cloned and refitted"): "was made by kerastrans.select",
    ("fine-tuned", "cloned and refitted"): "fit has trained the weights of kerastrans_zero",
}


@pytest.mark.parametrize("door", lattice.PYTHON)
def test_the_doors_of_python_agree(door, tmp_path):
    check("trained", door, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("door", lattice.PYTHON)
@pytest.mark.parametrize("kind", [kind for kind in lattice.KINDS if kind != "trained"])
def test_the_doors_of_python_agree_for_every_kind(kind, door, tmp_path):
    check(kind, door, tmp_path)


@pytest.mark.slow
@pytest.mark.tensorflow
@pytest.mark.parametrize("door", lattice.FILES)
@pytest.mark.parametrize("kind", ["trained", "published"])
def test_files_agree(kind, door, tmp_path):
    check(kind, door, tmp_path)
