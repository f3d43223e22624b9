"""Toto 2.0: attention over time and variates with causal patch scaling (Datadog, 2026).

Paper: https://arxiv.org/abs/2605.20119
Code: https://github.com/DataDog/toto
Weights: https://huggingface.co/Datadog/Toto-2.0-22m
"""

import keras

from kerastrans.models.pretrained.arrays import DECILES, few_sizes
from kerastrans.models.pretrained.checkpoint import assign, read_sizes, refuse_others
from kerastrans.models.pretrained.grouped_model import GroupedModel
from kerastrans.models.pretrained.toto.decoding import decode
from kerastrans.models.pretrained.toto.network import TotoStack, toto_layers
from kerastrans.utils.validation import (
    check_at_most,
    check_divides,
    check_non_negative,
    check_positive,
    check_positive_integers,
)

# Keys that only a configuration of Toto has.
TOTO_KEYS = ("layer_group_size", "num_variate_layers_per_group", "variate_layer_first")
MAX_PATCHES = 8192  # largest number of patches of history and horizon


def reads(config):
    """Return whether a configuration, which names no architecture, is one of Toto 2.0."""
    return config.keys() >= set(TOTO_KEYS)


def load(config, tensors):
    """Load the model of a published checkpoint, see `kerastrans.models.pretrained.load`."""
    config = read(config)
    layer = toto_layers(config)
    model = Toto(TotoStack(layer, config), config)
    assign(tensors, layer.layout())
    return model


def read(config):
    """Check a configuration and return it with its defaults."""
    names = ("patch_size", "d_model", "num_heads", "num_layers", *TOTO_KEYS[:2])
    read_sizes(config, *names)
    width, heads = config["d_model"], config["num_heads"]
    given = {name: value for name, value in config.items() if value is not None}
    key_dim = given.get("qk_dim", width // heads)
    config = {
        "attn_bias": False,
        "d_ff": (8 * width // 3 + 7) // 8 * 8,
        "mlp_bias": False,
        "norm_eps": 5e-5,
        "num_groups": heads,
        "per_dim_scale": False,
        "qk_dim": key_dim,
        "qk_norm": True,
        "use_xpos": False,
        "v_dim": key_dim,
        **given,
    }
    read_sizes(config, "d_ff", "num_groups", "qk_dim", "v_dim")
    check_divides(layer_group_size=config["layer_group_size"], num_layers=config["num_layers"])
    check_divides(num_groups=config["num_groups"], num_heads=heads)
    if config["qk_dim"] % 4:  # half of it is rotated, in pairs
        raise ValueError(f"qk_dim must be a multiple of 4, got {config['qk_dim']}.")
    refuse_others(
        config,
        norm_include_weight=(False,),
        num_output_patches=(1,),
        pre_norm=(True,),
        qk_norm=(False,),
    )
    return config


class Toto(GroupedModel):
    """Toto 2.0; the variates of a series and its covariates attend to each other.

    A patch is scaled by the values observed up to its end. A horizon of several blocks is forecast
    block by block, each after the medians of the previous blocks. The last patch of a history
    counts as observed: missing values in it are replaced by the last observed value.

    Attributes:
        block_length: int, number of steps that are forecast at once, in whole patches; None for
            the whole horizon.
        min_observed: int, number of values that a scale requires, see
            `kerastrans.models.pretrained.toto.scaling.patch_scales`.
        limit: float, largest distance of a forecast from the observed values, in scales; None for
            no limit.

    Source: Khwaja et al., Datadog (2026), the `toto-2` package.
    """

    option_names = ("block_length", "min_observed", "limit")
    equivariance = "affine"  # of patches that deviate by more than `scaling.MIN_SCALE`

    def __init__(self, stack, config, block_length=None, min_observed=8, limit=1e4):
        self.patch_length = config["patch_size"]
        if block_length is not None:
            check_positive_integers(block_length=block_length)
            check_divides(patch_size=self.patch_length, block_length=block_length)
        check_non_negative(min_observed=min_observed)
        if limit is not None:
            check_positive(limit=limit)
        self.stack, self.config = stack, config
        self.block_length, self.min_observed, self.limit = block_length, min_observed, limit
        patches = keras.Input((1, 2, 2 * self.patch_length), name="patches")
        valid = keras.Input((1, 2), dtype="bool", name="valid")
        network = keras.Model([patches, valid], stack(patches, valid, 1)[0], name="toto")
        super().__init__(network, DECILES, MAX_PATCHES // 2 * self.patch_length)

    def _with(self, **options):
        present = {name: getattr(self, name) for name in self.option_names}
        return type(self)(self.stack, self.config, **{**present, **options})

    def padded_length(self, length):
        """Return a padded length that adds an even number of patches.

        The number is even because the middle of all positions, which xPos measures from, is rounded
        down.
        """
        count = -(-length // self.patch_length)
        size = few_sizes(count)
        return (size + (size - count) % 2) * self.patch_length

    def padded_lengths(self, lengths):
        return [self.padded_length(min(self.max_context, length)) for length in lengths]

    def quantiles(self, history, prediction_length, known=None):
        lengths = (history.shape[2], prediction_length)
        patches = sum(-(-length // self.patch_length) for length in lengths)
        check_at_most(**{"patches of history and horizon": patches, "positions": MAX_PATCHES})
        return decode(self, history, prediction_length, known)
