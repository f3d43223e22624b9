"""Named sizes of the architectures: those of the papers and of the authors' scripts."""

from pathlib import Path

import pytest

from kerastrans import zoo
from kerastrans.models import architecture, registry
from kerastrans.models.architecture import HORIZONS
from tests.helpers.architectures import lengths_of

SETTINGS = sorted((Path(architecture.__file__).parent / "settings").glob("*.toml"))
TRAINING = {
    "context_length",
    "batch_size",
    "learning_rate",
    "epochs",
    "patience",
    "schedule",
    "decay",
    "first_rate",
    "rise",
    "beta_1",
    "loss",
    "hyperparameters",
}
SCRIPTS = [
    (name, size)
    for name in zoo.names()
    for size, hyperparameters in zoo.info(name).sizes.items()
    if size == "paper" or hyperparameters
]


@pytest.mark.parametrize("path", SETTINGS, ids=lambda path: path.stem)
def test_settings_name_their_source_and_known_hyperparameters(path):
    assert path.read_text().startswith("# ")
    entry = zoo.info(path.stem)
    for dataset in ("etth1", *(size.rpartition("_")[0] for size in list(entry.sizes)[2:])):
        settings = entry.settings(dataset, 96)
        assert set(settings) <= TRAINING
        registry.check_hyperparameters(path.stem, settings["hyperparameters"])


def test_settings_of_dataset_and_horizon_replace_the_general_ones():
    settings = zoo.info("itransformer").settings("etth1", 720)
    assert settings["hyperparameters"]["d_model"] == 512
    assert settings["hyperparameters"]["num_heads"] == 8
    assert settings["learning_rate"] == 0.0001
    assert zoo.info("dlinear").settings("illness", 24)["context_length"] == 104
    with pytest.raises(ValueError, match="nbeats has no settings of a script"):
        zoo.info("nbeats").settings("etth1", 96)
    with pytest.raises(ValueError, match=r"unknown.*'etth3'"):
        zoo.info("dlinear").settings("etth3", 96)


@pytest.mark.parametrize("size", ["ETTh1_96", "", 3, ["paper"]])
def test_what_is_not_a_size_is_refused(size):
    with pytest.raises(ValueError, match="softs has no size"):
        zoo.build("softs", 8, 4, 1, size=size)


def test_sizes_are_those_of_all_horizons_of_a_script_or_of_the_named_ones():
    sizes = zoo.info("dlinear").sizes
    assert list(sizes)[:4] == ["laptop", "paper", "etth1_96", "etth1_192"]
    assert {"illness_24", "exchange_rate_720"} <= set(sizes)
    assert "illness_96" not in sizes
    kernels = [zoo.info("xlstm_mixer").sizes[f"etth1_{n}"].get("kernel_size") for n in HORIZONS]
    assert kernels == [None, 4, 4, None]
    assert list(zoo.info("nbeats").sizes) == ["laptop", "paper", "interpretable"]
    assert zoo.info("moderntcn").sizes["etth1_96"]["widths"] == (64,)  # TOML has lists
    assert zoo.info("pattn").sizes["etth1_720"]["num_heads"] == 16


@pytest.mark.slow
@pytest.mark.exhaustive
@pytest.mark.parametrize(("name", "size"), SCRIPTS)
def test_every_size_can_be_built_at_its_lengths(name, size):
    lengths = lengths_of(name, size)
    assert zoo.build(name, *lengths, 7, size=size).output_shape == (None, lengths[1], 7)
