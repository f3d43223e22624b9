import inspect
import re
import subprocess
import sys
from pathlib import Path

import keras
import numpy as np
import pytest

import kerastrans
from kerastrans import zoo
from kerastrans.models import registry
from kerastrans.models.architecture import EQUIVARIANCES, OPTIONS, TIERS
from tests.conftest import to_numpy

FURTHER_TAGS = {
    "mixes channels",
    "channel independent",
    "past covariates",
    "future covariates",
    "static covariates",
    "takes heads",
    "autoregressive",
}
PARITY = (Path(__file__).parents[2] / "docs" / "parity.md").read_text("utf-8")
PAPER = (
    r"https://(arxiv\.org/abs/\d{4}\.\d{4,5}|openreview\.net/forum\?id=\w+"
    r"|doi\.org/10\.\d+/\S+|otexts\.com/fpp3/\S+\.html)"
)
CODE = r"https://github\.com/[\w.-]+/[\w.-]+/tree/[0-9a-f]{7}"


def test_build_is_the_builder_with_the_same_arguments():
    keras.utils.set_random_seed(0)
    model = zoo.build("patchtst", 32, 8, 2, patch_length=8, d_model=8, name="mine")
    assert model.name == "mine"
    assert model.get_layer("embedding").units == 8
    again = kerastrans.models.build_patchtst_model(32, 8, 2, patch_length=8, d_model=8)
    assert again.count_params() == model.count_params()


def test_info_says_where_it_comes_from_and_what_it_takes():
    architecture = zoo.info("patchtst")
    assert (architecture.title, architecture.source, architecture.year) == (
        "PatchTST",
        "Nie et al.",
        2023,
    )
    assert architecture.defaults["patch_length"] == 16
    assert "context_length" not in architecture.defaults
    assert architecture.count_params(96, 24, 3, d_model=8) < architecture.count_params(96, 24, 3)
    assert zoo.info("cyclenet").inputs == ("history", "position")


def test_names_are_filtered_by_pattern_tags_and_size():
    assert zoo.names(pattern="*inear") == ["dlinear", "nlinear", "rlinear", "olinear"]
    tags = ["autoregressive", "future covariates"]
    found = zoo.names(tags, pattern="*_transformer")
    assert found == ["time_series_transformer", "decoder_transformer"]
    tiers = {tier: zoo.names(tier=tier) for tier in ("start with", "classics", "for comparison")}
    assert sorted(x for names in tiers.values() for x in names) == sorted(zoo.names())
    assert {*TIERS["start with"], *TIERS["classics"]} <= set(zoo.names())
    assert len(tiers["start with"]) == 8
    with pytest.raises(ValueError, match=r"tier must be .*'start with'.* got 'best'"):
        zoo.names(tier="best")
    sizes = {"context_length": 24, "prediction_length": 12, "num_channels": 1}
    nlinear = zoo.info("nlinear").count_params(*sizes.values())  # rlinear has two weights more
    assert zoo.names(pattern="*linear", max_parameters=nlinear, **sizes) == ["nlinear"]
    tiny = {"context_length": 4, "prediction_length": 2, "num_channels": 1}
    assert (
        zoo.names(pattern="p*tst", max_parameters=10**6, **tiny) == []
    )  # patches of 16 do not fit
    with pytest.raises(ValueError, match=r"no architecture fits the pattern 'patchts'.*'patchtst'"):
        zoo.names(pattern="patchts")
    with pytest.raises(ValueError, match="unknown tag 'atention': did you mean 'attention'"):
        zoo.names(["linear", "atention"])
    with pytest.raises(
        ValueError, match=r"^tag must be a tag such as .*, or a list of tags, got 5\.$"
    ):
        zoo.names(tag=5)
    with pytest.raises(ValueError, match=r"^pattern must be text such as '\*former', got 5\.$"):
        zoo.names(pattern=5)
    with pytest.raises(ValueError, match="max_parameters must be"):
        zoo.names(max_parameters=0)
    with pytest.raises(ValueError, match="context_length must be"):
        zoo.names(max_parameters=10, context_length=0)


def test_names_are_filtered_by_a_named_size_and_counted_at_it():
    assert zoo.names("linear", size="illness_24") == ["dlinear", "nlinear"]
    softs = zoo.info("softs")
    laptop, script = (
        softs.count_params(96, 96, 7, **softs.sizes[size]) for size in ("laptop", "etth1_720")
    )
    assert laptop < script
    assert zoo.names(pattern="softs", max_parameters=laptop) == ["softs"]
    assert zoo.names(pattern="softs", max_parameters=laptop, size="etth1_720") == []
    assert zoo.names(pattern="softs", max_parameters=script, size="etth1_720") == ["softs"]
    for size in ("etth1_69", "", 3, ["paper"]):
        with pytest.raises(ValueError, match="no architecture has the size"):
            zoo.names(size=size)


def test_listing_and_describing_imports_nothing_heavy():
    code = (
        "import sys; from kerastrans import zoo\n"
        "summaries = [zoo.info(name).summary for name in zoo.names()]\n"
        "zoo.info('nhits').defaults, zoo.info('nhits').search_space, zoo.names('linear')\n"
        "zoo.presets\n"
        "print({'keras', 'tensorflow', 'numpy', 'pandas'} & set(sys.modules), len(summaries))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [f"set() {len(zoo.names())}"]


@pytest.mark.parametrize("name", zoo.names())
def test_an_entry_agrees_with_the_builder_in_its_file(name):
    architecture = zoo.info(name)
    builder = getattr(kerastrans.models, f"build_{name}_model")
    assert architecture.builder is builder
    assert builder.__module__ == f"kerastrans.models.{name}"
    parameters = list(inspect.signature(builder).parameters.values())
    assert [parameter.name for parameter in parameters[:3]] == [
        "context_length",
        "prediction_length",
        "num_channels",
    ]
    assert architecture.parameters == {x.name: x.default for x in parameters[3:]}
    assert set(architecture.search_space) <= set(architecture.defaults)
    assert all(value > architecture.defaults[key] for key, value in architecture.paper.items())
    assert ("takes heads" in architecture.tags) == ("head" in architecture.parameters)
    native = any(tag.endswith(" covariates") for tag in architecture.tags)
    # Some builders take covariates themselves only with an option.
    assert native <= ("covariates" in architecture.parameters)
    assert not set(OPTIONS) & set(architecture.defaults)
    assert {*architecture.tags} <= {*registry.FAMILIES, *EQUIVARIANCES, *FURTHER_TAGS}
    assert len({"mixes channels", "channel independent"} & {*architecture.tags}) == 1


@pytest.mark.parametrize("name", zoo.names())
def test_a_file_begins_with_the_urls_of_its_paper_and_of_the_code_it_agrees_with(name):
    architecture = zoo.info(name)
    source = Path(kerastrans.models.__file__).with_name(f"{name}.py").read_text("utf-8")
    assert source.partition("\n")[2].startswith(f"\nPaper: {architecture.paper_url}\n")
    assert re.fullmatch(PAPER, architecture.paper_url)
    compared = re.findall(rf"^\| `{name}` \| \w+ \| \[.*?\]\((.*?)\)", PARITY, re.MULTILINE)
    if compared or architecture.license:
        assert re.fullmatch(CODE, architecture.code_url)
        assert architecture.code_url in compared
    else:
        assert not architecture.code_url


def test_names_are_in_the_order_of_families_and_years():
    entries = [zoo.info(name) for name in zoo.names()]
    order = [(registry.FAMILIES.index(x.tags[0]), x.year) for x in entries]
    assert order == sorted(order)
    assert zoo.names()[:4] == [
        "last_value",
        "moving_average",
        "seasonal_naive",
        "linear_regression",
    ]


def test_tags_filter_the_names():
    autoregressive = ["time_series_transformer", "decoder_transformer"]
    assert zoo.names("autoregressive") == [*autoregressive, "deepar"]
    native = ["nbeats", "nhits", "tsmixer", autoregressive[0], "tft", autoregressive[1], "timexer"]
    assert zoo.names(tag="past covariates") == native
    assert zoo.names(tag="future covariates") == [*native, "deepar"]
    assert zoo.names("convolution") == ["tcn", "micn", "timesnet", "moderntcn", "xpatch"]
    apart, mixed = zoo.names("channel independent"), zoo.names("mixes channels")
    assert sorted(apart + mixed) == sorted(zoo.names())
    assert mixed == [name for name in zoo.names() if zoo.info(name).mixes_channels]
    with pytest.raises(ValueError, match="unknown tag 'recurent': did you mean 'recurrent'"):
        zoo.names("recurent")


def test_the_direct_transformer_is_not_the_lesson_s_which_decodes_step_by_step():
    assert "transformer" not in zoo.names()
    assert zoo.info("direct_transformer").builder is not kerastrans.build_transformer_model


def test_unknown_names_suggest_the_nearest():
    with pytest.raises(ValueError, match="unknown model 'PatchTSD': did you mean 'patchtst'"):
        zoo.info("PatchTSD")
    with pytest.raises(ValueError, match="unknown model 'zzz': known are last_value, "):
        zoo.build("zzz", 8, 4, 1)
    message = "patchtst has no hyperparameter 'patch_len': did you mean 'patch_length'"
    with pytest.raises(ValueError, match=message):
        zoo.build("patchtst", 32, 8, 2, patch_len=8)
    with pytest.raises(AttributeError, match="no attribute 'build_zzz_model'"):
        kerastrans.models.build_zzz_model  # noqa: B018


def build_repeat(context_length, prediction_length, num_channels, *, steps=1):
    history = keras.Input((context_length, num_channels), name="history")
    mean = keras.ops.mean(history[:, -steps:], axis=1, keepdims=True)
    return keras.Model(history, keras.ops.repeat(mean, prediction_length, axis=1), name="repeat")


def test_a_builder_of_the_user_is_built_as_one_of_the_zoo():
    model = registry.build(build_repeat, 8, 4, 2, steps=3)
    history = np.arange(16, dtype="float32").reshape(1, 8, 2)
    np.testing.assert_allclose(to_numpy(model(history)), [[[12, 13]] * 4])
    with_covariates = registry.build(build_repeat, 8, 4, 2, covariates={"future": (0,)})
    assert sorted(with_covariates.input) == ["future_covariates", "history"]
    message = "build_repeat has no hyperparameter 'step': did you mean 'steps'"
    with pytest.raises(ValueError, match=message):
        registry.build(build_repeat, 8, 4, 2, step=3)
    with pytest.raises(ValueError, match="build_repeat has no argument 'head'"):
        registry.build(build_repeat, 8, 4, 2, head="normal")


def test_a_builder_may_take_any_hyperparameter():
    def build_any(context_length, prediction_length, num_channels, **hyperparameters):
        sizes = context_length, prediction_length, num_channels
        return registry.build("dlinear", *sizes, **hyperparameters)

    assert registry.build(build_any, 8, 4, 2, name="mine").name == "mine"
    with pytest.raises(ValueError, match="dlinear has no hyperparameter 'hyperparameters'"):
        registry.build(build_any, 8, 4, 2, hyperparameters=5)


def test_a_builder_without_the_three_sizes_is_refused():
    def build_two(context_length, prediction_length): ...

    message = r"build_two must take .* num_channels, got \(context_length, prediction_length\)"
    with pytest.raises(ValueError, match=message):
        registry.build(build_two, 8, 4, 2)
    with pytest.raises(ValueError, match=message):
        registry.check_hyperparameters(build_two, {})


def test_a_builder_whose_model_breaks_the_contract_is_refused():
    def build_flat(context_length, prediction_length, num_channels):
        history = keras.Input((context_length, num_channels), name="history")
        return keras.Model(history, history[:, :, 0], name="flat")

    message = r"flat: output must have the shape \(batch, 4, 2\), got \(batch, 8\)"
    with pytest.raises(ValueError, match=message):
        registry.build(build_flat, 8, 4, 2)


def test_a_named_size_has_the_hyperparameters_of_the_paper():
    sizes = zoo.info("patchtst").sizes
    assert sizes["laptop"] == {}
    assert sizes["paper"] == {"d_model": 128, "num_heads": 16, "ff_dim": 256}
    lengths = (32, 8, 2)
    paper = zoo.build("patchtst", *lengths, size="paper", num_blocks=1)
    given = zoo.build("patchtst", *lengths, num_blocks=1, **sizes["paper"])
    assert paper.count_params() == given.count_params()
    smaller = zoo.build("patchtst", *lengths, size="paper", num_blocks=1, ff_dim=128)
    assert smaller.count_params() == paper.count_params() - 2 * 128 * 128 - 128
    assert zoo.build("dlinear", *lengths, size="laptop").count_params() == 2 * (32 * 8 + 8)
    with pytest.raises(ValueError, match=r"patchtst has no size 'huge': known are laptop"):
        zoo.build("patchtst", *lengths, size="huge")


def test_the_size_of_a_custom_builder_is_its_own():
    def build(context_length, prediction_length, num_channels, *, size="small"):
        assert size == "large"
        return zoo.build("dlinear", context_length, prediction_length, num_channels)

    assert zoo.build(build, 8, 4, 1, size="large").output_shape == (None, 4, 1)


def test_the_license_of_the_published_code_filters_the_names():
    assert zoo.names("linear", license="MIT") == ["timebase"]
    assert zoo.info("xpatch").license == "Apache-2.0"
    assert zoo.info("last_value").license == ""
    with pytest.raises(ValueError, match=r"license must be.*Apache-2.0.*GPL"):
        zoo.names(license="GPL")
