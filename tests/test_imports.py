"""What an import loads, and that our classes are registered whichever room is imported first."""

import ast
import compileall
import importlib
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from types import SimpleNamespace

import keras
import pytest

import kerastrans
from kerastrans import heads, zoo
from kerastrans.models import architecture
from kerastrans.models.parts.ensemble import Median
from kerastrans.text import TokenAccuracy
from kerastrans.utils.lazy import Later

ROOT = Path(__file__).parents[1]
ROOMS = (
    "kerastrans",
    "kerastrans.cli.main",
    "kerastrans.data",
    "kerastrans.datasets",
    "kerastrans.decoding.generation",
    "kerastrans.decoding.inspection",
    "kerastrans.decoding.samplers",
    "kerastrans.evaluation",
    "kerastrans.evaluation.backtesting",
    "kerastrans.export",
    "kerastrans.forecasting.conformal.intervals",
    "kerastrans.forecasting.forecaster",
    "kerastrans.forecasting.presets.catalog",
    "kerastrans.forecasting.selection.tuning",
    "kerastrans.heads",
    "kerastrans.layers",
    "kerastrans.layers.attention.cached_attention",
    "kerastrans.models",
    "kerastrans.layers.transformer.blocks",
    "kerastrans.models.patchtst",
    "kerastrans.models.registry",
    "kerastrans.serving",
    "kerastrans.testing",
    "kerastrans.text",
    "kerastrans.text.metrics",
    "kerastrans.utils.precision",
    "kerastrans.zoo",
)

LIGHT = "import sys, kerastrans; print(sorted({'keras', 'tensorflow', 'jax'} & set(sys.modules)))"
LOAD = """
import importlib, sys
for module in sys.argv[2].split():
    importlib.import_module(module)
import keras
from pathlib import Path
for path in sorted(Path(sys.argv[1]).glob("*.keras")):
    keras.saving.load_model(path)
    print(path.stem)
"""
# `make contract` imports every room first; the slow tier what most users do, in both orders.
SLOW = ("kerastrans kerastrans.heads", "keras kerastrans")
"""The first imports of a process, in order."""
ORDERS = [
    *(pytest.param(room, marks=pytest.mark.slow) for room in SLOW),
    *(
        pytest.param(room, marks=[pytest.mark.slow, pytest.mark.exhaustive])
        for room in sorted({*ROOMS} - {*SLOW})
    ),
]


def run(code, *arguments):
    """Lines that a fresh process prints."""
    command = [sys.executable, "-c", code, *arguments]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.splitlines()


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A model of each kind of class that a file may hold: layers, heads, losses, metrics."""
    folder = tmp_path_factory.mktemp("models")
    layers = zoo.build("patchtst", 12, 4, 1, patch_length=4, d_model=8, num_heads=2, ff_dim=8)
    layers.save(folder / "layers.keras")
    head = heads.MixtureHead(2)
    likelihood = zoo.build("rlinear", 12, 4, 1, head=head)
    likelihood.compile("adam", heads.NegativeLogLikelihood(head))
    likelihood.save(folder / "likelihood.keras")
    quantiles = zoo.build("rlinear", 12, 4, 1, head="quantiles")
    quantiles.compile("adam", heads.of(quantiles).loss())
    quantiles.save(folder / "quantiles.keras")
    tokens = kerastrans.build_seq2seq_transformer(
        8, 8, d_model=8, num_heads=2, ff_dim=8, num_encoder_blocks=1, num_decoder_blocks=1
    )
    tokens.compile("adam", keras.losses.SparseCategoricalCrossentropy(), [TokenAccuracy()])
    tokens.save(folder / "tokens.keras")
    return folder


@pytest.mark.parametrize("arguments", [(), ("serve",), ("-m", "pytest"), ("zoo", "--help")])
def test_the_package_alone_imports_no_keras_whatever_the_command(arguments):
    assert run(LIGHT, *arguments) == ["[]"]


@pytest.mark.parametrize("order", ORDERS)
def test_model_files_load_whatever_was_imported_first(order, files):
    assert run(LOAD, str(files), order) == ["layers", "likelihood", "quantiles", "tokens"]


def test_each_class_that_is_saved_with_a_model_is_known_before_it_is_imported():
    objects = {}
    saving = SimpleNamespace(get_custom_objects=lambda: objects)
    kerastrans._register(SimpleNamespace(saving=saving))
    saved = {name: module for module, name in _registered_classes()}
    assert len(saved) > 90
    found = {name: vars(objects[f"kerastrans>{name}"])["_module"] for name in saved}
    assert found == saved


REGISTERING = {
    "serializable",
    "keras.saving.register_keras_serializable(package='kerastrans')",
}


def _registered_classes():
    """Yield module and name of each class that a decorator registers."""
    for path in sorted((ROOT / "kerastrans").rglob("*.py")):
        for node in ast.parse(path.read_text()).body:
            marks = [ast.unparse(mark) for mark in getattr(node, "decorator_list", ())]
            if {
                "serializable",
                "keras.saving.register_keras_serializable(package='kerastrans')",
            } & {*marks}:
                yield ".".join(path.relative_to(ROOT).with_suffix("").parts), node.name


@pytest.mark.slow
def test_published_weights_load_before_anything_imported_keras():
    folder = ROOT / "saved_models" / "kerastrans_zero_2"
    code = f"from kerastrans.models import pretrained; pretrained.load({str(folder)!r})"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_class_is_imported_when_its_stand_in_is_first_used():
    stand_in = Later("kerastrans.models.parts.ensemble", "Median")
    config = keras.saving.serialize_keras_object(Median(name="middle"))
    restored = stand_in.from_config(config["config"])
    assert type(restored) is Median
    assert restored.name == "middle"


def test_every_public_name_can_be_imported():
    for name in kerastrans.__all__:
        assert getattr(kerastrans, name) is not None
    assert set(kerastrans.__all__) <= set(dir(kerastrans))


def test_rooms_have_the_modules_that_others_read_from_them_in_a_new_process():
    read, missing = set(), []
    for path in (ROOT / "kerastrans").rglob("*.py"):
        nodes = list(ast.walk(ast.parse(path.read_text())))
        rooms = {
            name.asname or name.name: f"{node.module}.{name.name}"
            for node in nodes
            if isinstance(node, ast.ImportFrom) and node.module.startswith("kerastrans")
            for name in node.names
            if (ROOT / node.module.replace(".", "/") / name.name / "__init__.py").exists()
        }
        names = [node for node in nodes if isinstance(node, ast.Name)]
        for name in {x.id for x in names if isinstance(x.ctx, ast.Store)}:
            rooms.pop(name, None)  # a variable of the same name
        read |= {
            (rooms[node.value.id], node.attr)
            for node in nodes
            if isinstance(node, ast.Attribute) and getattr(node.value, "id", None) in rooms
        }
    for room, name in read:
        module = importlib.import_module(room)
        # What is listed is imported on first use; other modules are there only if another did it.
        is_module = isinstance(getattr(module, name, None), type(ast))
        if name not in getattr(module, "__all__", ()) and (is_module or not hasattr(module, name)):
            missing.append((room, name))
    assert len(read) > 20
    assert missing == []


def archived(folder):
    """The package in a zip archive, as some tools install it."""
    with zipfile.ZipFile(folder / "package.zip", "w") as archive:
        for path in (ROOT / "kerastrans").rglob("*"):
            if path.is_file() and path.suffix != ".pyc":
                archive.write(path, path.relative_to(ROOT))
    return folder / "package.zip"


def compiled(folder):
    """The package without its sources, as `compileall -b` and PyInstaller leave it."""
    unwanted = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "kerastrans", folder / "kerastrans", ignore=unwanted)
    assert compileall.compile_dir(folder, quiet=1, legacy=True)
    for path in folder.rglob("*.py"):
        path.unlink()
    return folder


NAMES = """
import sys
sys.path.insert(0, sys.argv[1])
import kerastrans
from kerastrans import zoo
assert kerastrans.__file__.startswith(sys.argv[1])
assert "keras" not in sys.modules
print(*zoo.names(), *zoo.info("softs").sizes)

def read(module, seen):
    for name in module.__all__:
        found = getattr(module, name)
        place = getattr(found, "__name__", "")
        if hasattr(found, "__all__") and place.startswith("kerastrans") and place not in seen:
            seen.add(place)
            read(found, seen)

seen = set()
if sys.argv[2:]:
    read(kerastrans, seen)
print(*seen)
"""


def test_the_zoo_is_listed_from_an_archive(tmp_path):
    names, _ = run(NAMES, str(archived(tmp_path)))
    assert names.split() == [*zoo.names(), *zoo.info("softs").sizes]


@pytest.mark.slow
@pytest.mark.parametrize("install", [archived, compiled])
def test_all_public_names_work_from_an_archive_and_without_sources(install, tmp_path):
    names, seen = run(NAMES, str(install(tmp_path)), "read")
    assert names.split() == [*zoo.names(), *zoo.info("softs").sizes]
    assert {"kerastrans.layers", "kerastrans.serving", "kerastrans.zoo"} <= set(seen.split())


def test_entries_are_the_same_without_sources(tmp_path, monkeypatch):
    known = [vars(zoo.info(name)) for name in zoo.names()]
    monkeypatch.setattr(architecture, "files", lambda package: tmp_path)
    assert [vars(architecture.read_architecture(x["name"])) for x in known] == known


def test_a_path_that_never_was_is_not_found():
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("kerastrans.forecasting.nothing")
